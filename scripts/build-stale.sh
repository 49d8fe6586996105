#!/bin/sh
# Builds the web console and the documentation, each only if one of its sources is newer than its last build: `sh
# scripts/build-stale.sh [console] [docs]`, both by default. When there is nothing to build it takes a few milliseconds.
set -eu
cd "$(dirname "$0")/.."

# is_stale BUILT SOURCE…: files, and folders with all that is in them
is_stale() {
  built=$1
  shift
  [ ! -f "$built" ] || [ -n "$(find "$@" -type f -newer "$built" ! -name '*.gen.ts' ! -name '*.test.ts' -print -quit)" ]
}

for part in ${*:-console docs}; do
  case $part in
    console) if is_stale dist/console/index.html console/src console/*.*; then node console/build.ts; fi ;;
    docs) if is_stale dist/docs/index.html docs api deploy scripts/build-docs.ts scripts/docs-sections.ts scripts/docs; then node scripts/build-docs.ts; fi ;;
    *) echo "build-stale.sh: no part named $part" >&2 && exit 2 ;;
  esac
done
