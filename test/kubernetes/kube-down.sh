#!/bin/bash
# kube-down.sh               stops the cluster of kube-up.sh and removes its traces
# kube-down.sh --leave PID   the same, but only if no other process uses it and it was not started by hand
# kube-down.sh --remove-node   ends the node that kube-up.sh --add-node added
# kube-down.sh --remains     removes what a crashed cluster left; kube-up.sh calls it while it holds the lock
# Killing process 1 of the cluster's pid namespace kills all others.
STATE=$(realpath -m "${KUBE_STATE:-/var/tmp/kube-one}")
NAME=kube-one

if [ "${1:-}" != --remains ]; then
  [ -d "$STATE" ] || exit 0
  exec 9<"$(dirname "$STATE")"
  flock 9
fi
if [ "${1:-}" = --leave ]; then
  rm -f "$STATE/users/$2"
  [ -e "$STATE/ends-with-its-users" ] || exit 0
  for user in $(ls "$STATE/users"); do
    [ ! -d "/proc/$user" ] || exit 0
  done
fi

# end FOLDER: of a node
end() {
  local pid
  pid=$(cat "$1/pid" 2>/dev/null)
  grep -qs -e --inside "/proc/$pid/cmdline" || return 0
  kill -9 "$pid"
  while [ -d "/proc/$pid" ]; do sleep 0.05; done
}
end "$STATE/node2"
if [ "${1:-}" = --remove-node ]; then
  rm -rf "$STATE/node2"
  exit 0
fi
end "$STATE"
ip link del $NAME 2>/dev/null
ip netns del $NAME 2>/dev/null
find /sys/fs/cgroup/*/$NAME -depth -type d -exec rmdir {} + 2>/dev/null
# Moved away first, then removed, so that the next cluster never starts with a part of it if this is killed.
rm -rf "$STATE.ended"
[ ! -d "$STATE/log" ] || mv "$STATE" "$STATE.ended"
rm -rf "$STATE.ended"
rmdir /var/log/pods /var/log/containers /var/lib/cni 2>/dev/null
exit 0
