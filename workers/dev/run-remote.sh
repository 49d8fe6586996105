# Runs the handler of a folder whose files come later, and runs it anew whenever others have come: the worker of `podyard dev --remote`.
#
#   sh -c "$(cat run-remote.sh)" podyard in-turn|overlap COMMAND…
#
# take-files.sh tells it of new files by SIGHUP and the file `again`, which it removes. A handler that is told to end (SIGTERM) finishes its job
# while the new one already takes the next; with `in-turn` the new program waits for the end of the old one, which has its port. A program
# that ends by itself while it has jobs fails them and runs again at once, one that has none after the next change.
mode=$1
shift
own=.podyard-dev
rm -rf "$own" && mkdir "$own" || exit 1
if [ -d .podyard/venv/bin ]; then PATH="$PWD/.podyard/venv/bin:$PATH"; fi
if [ -d .podyard/python ]; then export PYTHONPATH="$PWD/.podyard/python${PYTHONPATH:+:$PYTHONPATH}"; fi
# Python takes compiled code for that of a file that was saved twice in a second and has the same size.
export PATH="$PWD/node_modules/.bin:$PATH" PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
child= nap= ending=

end_old() {
  kill -TERM "$child" 2>/dev/null || return 0
  [ "$mode" = in-turn ] || return 0
  tries=0
  while kill -0 "$child" 2>/dev/null; do
    tries=$((tries + 1))
    if [ "$tries" -gt 100 ]; then kill -KILL "$child" 2>/dev/null; fi
    sleep 0.05
  done
}

# The server reads the last lines in the worker's log, up to the one with the reason.
in_javascript='
import fs from "node:fs";
const [, reason, started] = process.argv;
const since = Math.round(Date.now() - fs.statSync(started).mtimeMs);
const url = `${process.env.RUNPOD_WEBHOOK_PING}&${new URLSearchParams({ status: "ended", reason, since, log: "true" })}`;
const headers = { authorization: process.env.RUNPOD_AI_API_KEY };
const answer = await fetch(url, { headers, signal: AbortSignal.timeout(10_000) });
console.log((await answer.json()).jobs.length);'
in_python='
import json, os, sys, time
from urllib.parse import urlencode
from urllib.request import Request, urlopen
_, reason, started = sys.argv
since = round((time.time() - os.stat(started).st_mtime) * 1000)
url = os.environ["RUNPOD_WEBHOOK_PING"] + "&" + urlencode({"status": "ended", "reason": reason, "since": since, "log": "true"})
with urlopen(Request(url, headers={"Authorization": os.environ["RUNPOD_AI_API_KEY"]}), timeout=10) as answer:
    print(len(json.load(answer)["jobs"]))'

# Fails the jobs of a program that has ended, for which the server would wait until their lease is over, and prints how many there were.
# Of programs that can ask, an image is sure to have only the language of its code.
fail_jobs() {
  if command -v node >/dev/null; then
    node --input-type=module -e "$in_javascript" "$1" "$own/started"
  else
    python -c "$in_python" "$1" "$own/started"
  fi 2>/dev/null || echo 0
}

start() {
  : >"$own/started"
  "$@" &
  child=$!
}

run() {
  [ -e "$own/again" ] || return 0
  rm -f "$own/again"
  if [ -n "$child" ]; then
    echo "… files have changed: running the new code"
    end_old
  fi
  start "$@"
}

end() {
  ending=1
  for each in $child $nap; do kill -TERM "$each" 2>/dev/null; done
}

trap 'run "$@"' HUP
trap end TERM INT
echo $$ >"$own/pid.new" && mv "$own/pid.new" "$own/pid" || exit 1
while [ -z "$ending" ]; do
  if [ -z "$child" ]; then
    sleep 5 & # a signal that comes just before the wait is not missed for longer
    nap=$!
    wait "$nap"
    kill "$nap" 2>/dev/null
    continue
  fi
  one=$child
  wait "$one"
  status=$?
  if [ -n "$ending" ] || [ "$child" != "$one" ] || kill -0 "$one" 2>/dev/null; then continue; fi
  how="exit code $status"
  if [ "$status" -gt 128 ]; then how=$(kill -l "$status" 2>/dev/null) && how="SIG$how" || how="exit code $status"; fi
  reason="The program ended ($how)"
  echo "! $reason"
  failed=$(fail_jobs "$reason")
  if [ -n "$ending" ] || [ "$child" != "$one" ]; then continue; fi
  child=
  case $failed in
    0) echo "! It runs again when you save a file" ;;
    1) echo "! Its job has failed with it: it runs again" && start "$@" ;;
    *) echo "! Its $failed jobs have failed with it: it runs again" && start "$@" ;;
  esac
done
wait
exit 0
