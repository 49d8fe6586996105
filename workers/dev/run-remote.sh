# Runs the handler of a folder whose files come later, and runs it anew whenever others have come: the worker of `podyard dev --remote`.
#
#   sh -c "$(cat run-remote.sh)" podyard in-turn|overlap COMMAND…
#
# take-files.sh tells it of new files by SIGHUP and the file `again`, which it removes. A handler that is told to end (SIGTERM) finishes its job
# while the new one already takes the next; with `in-turn` the new program waits for the end of the old one, which has its port.
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

run() {
  [ -e "$own/again" ] || return 0
  rm -f "$own/again"
  if [ -n "$child" ]; then
    echo "… files have changed: running the new code"
    end_old
  fi
  "$@" &
  child=$!
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
    continue
  fi
  one=$child
  wait "$one"
  status=$?
  if [ -n "$ending" ] || [ "$child" != "$one" ] || kill -0 "$one" 2>/dev/null; then continue; fi
  echo "! The program ended (exit code $status): it runs again when you save a file"
  child=
done
wait
exit 0
