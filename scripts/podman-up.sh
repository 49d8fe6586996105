#!/bin/sh
# podman-up.sh   starts Podman's service as root for the tests, on ${TMPDIR:-/tmp}/podyard-podman/podman.sock. Its images,
# containers and networks are in that folder too, so that neither Docker nor another Podman knows of them. Returns once it answers.
set -eu
cd "$(dirname "$0")/.."
HOME_DIR=${TMPDIR:-/tmp}/podyard-podman
SOCKET=unix://$HOME_DIR/podman.sock
WAIT_SECONDS=30

# $1: how many seconds to wait for it
answers() {
  DOCKER_HOST=$SOCKET node scripts/engine-answers.ts "$1"
}

hard_limit() {
  sed -n "s/^Max $1  *[^ ]*  *\([^ ]*\).*/\1/p" /proc/self/limits
}

answers 0 && exit 0
mkdir -p "$HOME_DIR/networks"
chmod 700 "$HOME_DIR"

# Podman raises limits as far as root usually may, but in a container root may not. Without systemd there is no journal. crun, its
# default, does not know control groups of both versions at once.
[ -d /sys/fs/cgroup/unified ] && runtime=runc || runtime=crun
processes=$(hard_limit processes)
files=$(hard_limit 'open files')
[ "$processes" != unlimited ] && [ "$processes" -lt 32768 ] || processes=32768
cat >"$HOME_DIR/containers.conf" <<CONF
[containers]
default_ulimits = ["nofile=$files:$files", "nproc=$processes:$processes"]
[engine]
runtime = "$(command -v $runtime >/dev/null 2>&1 && echo $runtime || echo runc)"
events_logger = "file"
CONF

# Docker takes registries on this machine without TLS, too.
cat >"$HOME_DIR/registries.conf" <<CONF
[[registry]]
location = "127.0.0.1"
insecure = true
CONF

# From /: in a folder that is deleted, it could start no container any more.
cd /
CONTAINERS_CONF=$HOME_DIR/containers.conf CONTAINERS_REGISTRIES_CONF=$HOME_DIR/registries.conf setsid podman \
  --root "$HOME_DIR/storage" --runroot "$HOME_DIR/run" --tmpdir "$HOME_DIR/tmp" --network-config-dir "$HOME_DIR/networks" \
  system service --time 0 "$SOCKET" >>"$HOME_DIR/log" 2>&1 </dev/null &

cd "$OLDPWD"
answers "$WAIT_SECONDS" && exit 0
echo "podman did not answer within $WAIT_SECONDS s; see $HOME_DIR/log" >&2
exit 1
