/** The scripts that a copy runs in a pod or worker: with sh, tar, mkdir, mv and rm, which even small images have. */

/** The names in the archive that is sent there. The second comes last: tar takes an archive that ends between two files for whole. */
export const CONTENT = 'content';
export const COMPLETE = 'complete';

/**
 * Unpacks its input as `$1`, or as `$2` in that folder. Everything is unpacked under another name first, so that a copy that is cut off
 * leaves nothing under the final one. A copy that was cut off is removed by a program without the marker (execution.ts): removing a large
 * folder takes longer than a marked program has before it is killed. SIGPIPE is ignored: if stderr has no reader, a shell that reports
 * tar's failure there would die before it has removed anything.
 */
export const RECEIVE = `set -e
trap '' PIPE
target=$1
case "$target" in */) target="$target$2" ;; *) if [ -d "$target" ]; then target="$target/$2"; fi ;; esac
case "$target" in */*) folder=\${target%/*}/ ;; *) folder=./ ;; esac
mkdir -p -- "$folder"
part="$folder.podyard-copy-$$"
trap 'rm -rf -- "$part"' EXIT
trap 'trap - EXIT; unset PODYARD_EXEC; rm -rf -- "$part" </dev/null >/dev/null 2>&1 & exit 1' HUP INT TERM
mkdir -- "$part"
tar -x -p -o -f - -C "$part"
if [ ! -e "$part/${COMPLETE}" ]; then echo "the copy was cut off" >&2; exit 1; fi
if [ -d "$target" ]; then echo "$target is a folder that exists: remove it, or name another destination" >&2; exit 1; fi
mv -f -- "$part/${CONTENT}" "$target"`;

export const SEND = `path=$1
if [ ! -e "$path" ]; then echo "$path: no such file or folder" >&2; exit 1; fi
while [ "$path" != / ] && [ "$path" != "\${path%/}" ]; do path=\${path%/}; done
case "$path" in */*) cd -- "\${path%/*}/" ;; esac && exec tar -c -f - -- "\${path##*/}"`;
