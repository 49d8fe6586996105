#!/bin/sh
# Makes node_modules fit package-lock.json and makes sure that its Node is the one Podyard needs. Called first by the npm
# scripts; does nothing, in a few milliseconds, when both are so already. With --stamp it only notes that node_modules
# fits now: npm calls it so after it changed the folder (the script "dependencies" in package.json).
set -eu
cd "$(dirname "$0")/.."

NODE_MAJOR=24
STAMP=node_modules/.podyard-setup

say() { printf 'setup: %s\n' "$*"; }

has_right_node() {
  case "$(node_modules/.bin/node --version 2>/dev/null)" in v$NODE_MAJOR.*) return 0 ;; *) return 1 ;; esac
}

# The machine's own programs, without those that npm puts before them and that an installation is about to replace.
machine_path() {
  printf '%s' "$PATH" | tr ':' '\n' | grep -v '/node_modules/' | paste -s -d ':' -
}

install_packages() {
  if ! command -v npm >/dev/null 2>&1; then
    say "npm is missing: install Node.js 20 or newer from your system or https://nodejs.org, then try again." >&2
    exit 1
  fi
  say "installing the packages of package-lock.json, which takes half a minute or so the first time"
  started=$(date +%s)
  # Warnings about the machine's own Node are beside the point: it only runs npm.
  if ! PATH=$(machine_path) npm ci --no-audit --no-fund --loglevel=error; then
    say "npm could not install the packages; its message is above." >&2
    exit 1
  fi
  say "installed in $(($(date +%s) - started)) s"
}

# npm may have been told not to run install scripts, and the one of the package "node" is what fetches the program.
repair_node() {
  say "the package node brought no Node.js $NODE_MAJOR; fetching it now"
  (cd node_modules/node && PATH=$(machine_path) npm_config_ignore_scripts=false node installArchSpecificPackage.js) >/dev/null || true
  mkdir -p node_modules/.bin
  ln -sf ../node/bin/node node_modules/.bin/node
  has_right_node && return 0
  own=$(PATH=$(machine_path) command -v node || true)
  case "$("$own" --version 2>/dev/null)" in
    v$NODE_MAJOR.*)
      say "using the machine's own $own"
      ln -sf "$own" node_modules/.bin/node
      ;;
    *)
      say "Podyard needs Node.js $NODE_MAJOR, and the package node has none that runs on this machine. Install it, then try again." >&2
      exit 1
      ;;
  esac
}

if [ "${1:-}" = --stamp ]; then
  cp package-lock.json "$STAMP"
  exit 0
fi
cmp -s package-lock.json "$STAMP" 2>/dev/null || install_packages
has_right_node || repair_node
cmp -s package-lock.json "$STAMP" 2>/dev/null || cp package-lock.json "$STAMP"
