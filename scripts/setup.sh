#!/bin/sh
# Installs the packages of package-lock.json and the Node.js that Podyard needs, unless both are there. Every npm script calls it
# first; when there is nothing to do it takes a few milliseconds. With --stamp it only records that node_modules is up to date:
# npm calls it that way after changing the folder (the script "dependencies" in package.json).
set -eu
cd "$(dirname "$0")/.."

NODE_MAJOR=24
STAMP=node_modules/.podyard-setup

say() { printf 'setup: %s\n' "$*"; }

has_right_node() {
  case "$(node_modules/.bin/node --version 2>/dev/null)" in v$NODE_MAJOR.*) return 0 ;; *) return 1 ;; esac
}

# PATH without the folders that npm adds, whose programs an installation is about to replace.
machine_path() {
  printf '%s' "$PATH" | tr ':' '\n' | grep -v '/node_modules/' | paste -s -d ':' -
}

install_packages() {
  if ! command -v npm >/dev/null 2>&1; then
    say "npm is missing: install Node.js 20 or newer from your system or https://nodejs.org and try again." >&2
    exit 1
  fi
  say "installing packages, which takes about half a minute the first time"
  started=$(date +%s)
  # Warnings about the system's Node.js do not matter: it only runs npm.
  if ! PATH=$(machine_path) npm ci --include=optional --no-audit --no-fund --loglevel=error; then
    say "npm could not install the packages; see its message above." >&2
    exit 1
  fi
  say "installed in $(($(date +%s) - started)) s"
}

# npm has no Node.js for this machine, or one that does not run on it (musl).
use_own_node() {
  own=$(PATH=$(machine_path) command -v node || true)
  case "$("$own" --version 2>/dev/null)" in
    v$NODE_MAJOR.*)
      say "using $own"
      mkdir -p node_modules/.bin
      ln -sf "$own" node_modules/.bin/node
      ;;
    *)
      say "Podyard needs Node.js $NODE_MAJOR, and npm has none for this machine. Install it and try again." >&2
      exit 1
      ;;
  esac
}

if [ "${1:-}" = --stamp ]; then
  cp package-lock.json "$STAMP"
  exit 0
fi
cmp -s package-lock.json "$STAMP" 2>/dev/null || install_packages
has_right_node || use_own_node
cmp -s package-lock.json "$STAMP" 2>/dev/null || cp package-lock.json "$STAMP"
