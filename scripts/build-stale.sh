#!/bin/sh
# Builds the program, the web console and the documentation, each only if one of its sources is newer than its last build:
# `sh scripts/build-stale.sh [program] [console] [docs]`, the latter two by default. When there is nothing to build it takes a few
# milliseconds. `sh scripts/build-stale.sh --is-built PART` builds nothing, and fails if PART would be built.
set -eu
cd "$(dirname "$0")/.."

# is_stale BUILT SOURCE…: files, and folders with all that is in them
is_stale() {
  built=$1
  shift
  [ ! -f "$built" ] || [ -n "$(find "$@" -type f -newer "$built" ! -name '*.gen.ts' ! -name '*.test.ts' -print -quit)" ]
}

# The time of dist/main.js is that of its sources: when its build began.
is_built() {
  case $1 in
    program) ! is_stale dist/main.js src scripts/build-program.ts node_modules/.podyard-setup ;;
    console) ! is_stale dist/console/index.html console/src console/*.* ;;
    docs) ! is_stale dist/docs/index.html docs api deploy scripts/build-docs.ts scripts/docs-sections.ts scripts/docs ;;
    *) echo "build-stale.sh: no part named $1" >&2 && exit 2 ;;
  esac
}

build() {
  case $1 in
    program) node scripts/build-program.ts ;;
    console) node console/build.ts ;;
    docs) node scripts/build-docs.ts ;;
  esac
}

if [ "${1:-}" = --is-built ]; then
  is_built "$2"
  exit
fi
for part in ${*:-console docs}; do
  if ! is_built "$part"; then build "$part"; fi
done
