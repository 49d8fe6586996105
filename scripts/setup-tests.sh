#!/bin/sh
# Makes what the tests need of the machine: a container engine, a private registry, a browser, Python and a
# terminal (tmux), jq for the commands of the documentation, and the programs of a Kubernetes cluster. On Debian and
# Ubuntu root installs and starts what is missing; elsewhere this says what is missing, and the tests that need it are
# skipped and say so. With CI=true a missing part is a failure. The cluster of our own (test/kubernetes/kube-up.sh) needs
# Debian 12 and control groups of version 1: where these are not, PODYARD_TEST_KUBECONFIG names another one, or says `none`.
set -eu
cd "$(dirname "$0")/.."

DOCKERD_LOG=${TMPDIR:-/tmp}/podyard-dockerd.log
WAIT_SECONDS=60
missing=''

say() { printf 'setup: %s\n' "$*"; }

may_install() {
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1
}

# $1: program, $2: Debian's package of it
need_program() {
  command -v "$1" >/dev/null 2>&1 && return 0
  if may_install; then
    say "installing $2"
    [ -n "${is_updated:-}" ] || apt-get update -qq || true
    is_updated=yes
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$2" >/dev/null && return 0
  fi
  missing="$missing $1"
  say "missing: $1 (on Debian and Ubuntu: apt-get install $2)"
}

engine_answers() {
  node scripts/engine-answers.ts
}

start_engine() {
  if [ -d /run/systemd/system ] && systemctl start docker >/dev/null 2>&1; then return 0; fi
  # Without systemd nobody may have mounted the control groups.
  [ -e /sys/fs/cgroup/cgroup.controllers ] || [ -d /sys/fs/cgroup/memory ] || mount -t cgroup2 none /sys/fs/cgroup || true
  say "starting dockerd, which logs to $DOCKERD_LOG"
  setsid dockerd >>"$DOCKERD_LOG" 2>&1 </dev/null &
}

need_engine() {
  engine_answers && return 0
  if may_install; then
    # dockerd wants the firewall's program, and the engine's package only recommends some of what it runs on.
    need_program dockerd docker.io
    need_program iptables iptables
    if command -v dockerd >/dev/null 2>&1; then
      start_engine
      waited=0
      while [ "$waited" -lt "$WAIT_SECONDS" ]; do
        engine_answers && return 0
        sleep 1
        waited=$((waited + 1))
      done
      say "dockerd did not answer within $WAIT_SECONDS s; $DOCKERD_LOG tells why"
    fi
  fi
  missing="$missing container-engine"
  say "missing: a container engine that answers this user (Docker or Podman); tests with containers are skipped"
}

# Its programs are built from Debian's source package, once, and kept.
need_cluster() {
  if [ -n "${PODYARD_TEST_KUBECONFIG:-}" ]; then return 0; fi
  need_program ip iproute2
  need_program openssl openssl
  need_program curl curl
  lacks=$(test/kubernetes/kube-up.sh --check)
  if [ -z "$lacks" ]; then
    test/kubernetes/kube-up.sh --is-built || say "building Kubernetes for the tests, which takes four to six minutes, once"
    KUBE_BUILD=only test/kubernetes/kube-up.sh && return 0
    lacks='a build that succeeds'
  fi
  missing="$missing cluster"
  say "missing: a Kubernetes cluster. One of our own needs $lacks; PODYARD_TEST_KUBECONFIG can name another, or be \`none\`"
}

need_program python3 python3
need_program docker-registry docker-registry
need_program chromium chromium
docker compose version >/dev/null 2>&1 || need_program docker-compose docker-compose
need_program tmux tmux
need_program jq jq
need_program curl curl
need_engine
need_cluster

if [ -n "$missing" ] && [ "${CI:-}" = true ]; then
  say "in CI nothing may be missing:$missing" >&2
  exit 1
fi
