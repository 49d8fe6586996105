#!/bin/sh
# `npm start` and `npm run demo`: the program as it was last built, which starts in half the time, or from its sources if one of
# them is newer. scripts/start.ts builds it once the server is ready.
set -eu
cd "$(dirname "$0")/.."
sh scripts/setup.sh
main=src/main.ts
if sh scripts/build-stale.sh --is-built program; then main=dist/main.js; fi
NODE_COMPILE_CACHE=node_modules/.cache/podyard exec node --max-semi-space-size=16 scripts/start.ts "$main" "$@"
