#!/bin/sh
# setup-tests.sh NEED...   prepares this machine for test suites that need more than Node.js. NEED is one of
#   programs     Python, tmux, curl and jq, for the example workers and the commands in the documentation; spin and gcc, for
#                the model of the lease protocol; faketime, PostgreSQL 15, PgBouncer and nginx, for wrong clocks and what an
#                operator may put behind and in front of Podyard
#   containers   a container engine, docker-compose, ip, a private registry and BusyBox
#   podman       Podman as root, on a socket and with a storage of its own (scripts/podman-up.sh)
#   browser      Chromium, and tmux
#   release      debootstrap, and namespaces for what is installed in its trees; shellcheck and systemd-analyze for the installer;
#                skopeo and a registry, which the release is published in; QEMU, which runs programs for arm64
#   cluster      the programs of a Kubernetes cluster, built once from Debian's source package (test/kubernetes/kube-up.sh)
# As root on Debian or Ubuntu, installs and starts what is missing. Elsewhere prints what is missing; the tests that need it are
# skipped. With CI=true a missing part is a failure. The cluster needs Debian 12 and cgroup v1; elsewhere set
# PODYARD_TEST_KUBECONFIG to another cluster, or to `none`.
set -eu
cd "$(dirname "$0")/.."

DOCKERD_LOG=${TMPDIR:-/tmp}/podyard-dockerd.log
WAIT_SECONDS=60
missing=''

say() { printf 'setup: %s\n' "$*"; }

may_install() {
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1
}

# $1: program, $2: Debian's packages of it, separated by blanks
need_program() {
  command -v "$1" >/dev/null 2>&1 && return 0
  if may_install; then
    say "installing $2"
    [ -n "${is_updated:-}" ] || apt-get update -qq || true
    is_updated=yes
    # Run level 1: the tests start what they need, and a service of the package may want a port of this machine.
    RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $2 >/dev/null && return 0
  fi
  missing="$missing $1"
  say "missing: $1 (on Debian and Ubuntu: apt-get install $2)"
}

# Debian's package would also create and start a cluster of its own.
need_postgres() {
  if [ ! -x /usr/lib/postgresql/15/bin/postgres ] && may_install && [ ! -e /etc/postgresql-common/createcluster.conf ]; then
    mkdir -p /etc/postgresql-common
    echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
  fi
  need_program /usr/lib/postgresql/15/bin/postgres postgresql-15
}

start_engine() {
  if [ -d /run/systemd/system ] && systemctl start docker >/dev/null 2>&1; then return 0; fi
  # Without systemd the control groups may not be mounted.
  [ -e /sys/fs/cgroup/cgroup.controllers ] || [ -d /sys/fs/cgroup/memory ] || mount -t cgroup2 none /sys/fs/cgroup || true
  say "starting dockerd, which logs to $DOCKERD_LOG"
  (cd / && setsid dockerd >>"$DOCKERD_LOG" 2>&1 </dev/null &)
}

need_engine() {
  node scripts/engine-answers.ts && return 0
  if may_install; then
    # dockerd needs iptables, which its package only recommends.
    need_program dockerd docker.io
    need_program iptables iptables
    if command -v dockerd >/dev/null 2>&1; then
      start_engine
      node scripts/engine-answers.ts "$WAIT_SECONDS" && return 0
      say "dockerd did not answer within $WAIT_SECONDS s; see $DOCKERD_LOG"
    fi
  fi
  missing="$missing container-engine"
  say "missing: a container engine that answers this user (Docker or Podman)"
}

need_podman() {
  need_program podman 'podman runc netavark aardvark-dns'
  need_program /bin/busybox busybox-static
  need_program iptables iptables
  command -v podman >/dev/null 2>&1 && [ "$(id -u)" = 0 ] && sh scripts/podman-up.sh && return 0
  missing="$missing podman"
  say "missing: Podman as root (scripts/podman-up.sh)"
}

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
  say "missing: a Kubernetes cluster. To start one, this machine needs $lacks; PODYARD_TEST_KUBECONFIG can name another, or be \`none\`"
}

for need; do
  case "$need" in
    programs)
      need_program python3 python3
      need_program tmux tmux
      need_program curl curl
      need_program jq jq
      need_program spin spin
      need_program gcc 'gcc libc6-dev'
      need_program git git
      need_program ssh-keygen openssh-client
      need_program faketime faketime
      need_postgres
      need_program /usr/sbin/pgbouncer pgbouncer
      need_program /usr/sbin/nginx nginx-light
      need_program s3cmd s3cmd
      need_program rclone rclone
      ;;
    containers)
      need_program docker-registry docker-registry
      need_program /bin/busybox busybox-static
      need_program ip iproute2
      docker compose version >/dev/null 2>&1 || need_program docker-compose docker-compose
      need_engine
      ;;
    podman) need_podman ;;
    release)
      need_program debootstrap debootstrap
      need_program ip iproute2
      need_program shellcheck shellcheck
      need_program systemd-analyze systemd
      need_program openssl openssl
      need_program skopeo skopeo
      need_program qemu-aarch64-static qemu-user-static
      if may_install && command -v debootstrap >/dev/null 2>&1; then
        say "making trees of Debian 11, 12 and 13 in .cache, once"
        node test/release/make-trees.ts || missing="$missing trees-of-Debian"
      fi
      ;;
    browser)
      need_program chromium chromium
      need_program tmux tmux
      ;;
    cluster) need_cluster ;;
    *)
      say "unknown: $need" >&2
      exit 2
      ;;
  esac
done

if [ -n "$missing" ] && [ "${CI:-}" = true ]; then
  say "in CI nothing may be missing:$missing" >&2
  exit 1
fi
