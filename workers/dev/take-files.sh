# Takes the files of a folder in a worker that run-remote.sh runs, and has it run them: all of them, or what has changed.
#
#   sh -c "$(cat take-files.sh)" podyard BEFORE AFTER <ARCHIVE
#
# BEFORE names the state that the files belong on, or is `none`: the archive has everything. The archive holds `content/`, the list `remove`
# with a path a line, and last `complete`. A copy that is cut off changes nothing. Exit code 75: not yet; 76: another state.
set -e
own=.podyard-dev
if [ ! -e "$own/pid" ]; then echo "the worker takes no files yet" >&2; exit 75; fi
if [ "$1" != none ] && [ "$(cat "$own/state" 2>/dev/null)" != "$1" ]; then echo "the worker has other files" >&2; exit 76; fi
part="$own/part-$$"
trap 'rm -rf -- "$part"' EXIT
trap 'exit 1' HUP INT TERM
mkdir -- "$part"
tar -x -p -o -f - -C "$part"
if [ ! -e "$part/complete" ]; then echo "the copy was cut off" >&2; exit 1; fi
rm -f "$own/state"
while IFS= read -r path; do rm -rf -- "$path"; done <"$part/remove"
place() {
  set --
  for each in * .[!.]* ..?*; do
    if [ -e "$each" ] || [ -L "$each" ]; then set -- "$@" "$each"; fi
  done
  if [ $# -gt 0 ]; then tar -c -f - -- "$@"; fi
}
if [ -n "$(ls -A "$part/content")" ]; then (cd "$part/content" && place) | tar -x -p -o -f -; fi
echo "$2" >"$own/state"
: >"$own/again"
while [ -e "$own/again" ]; do
  kill -HUP "$(cat "$own/pid")"
  sleep 0.02
done
