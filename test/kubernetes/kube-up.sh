#!/bin/bash
# kube-up.sh [IMAGE.tar...]   starts a real one-node Kubernetes 1.20.2 for tests, built only from Debian 12's packages. Needs
# root and cgroup v1 (or hybrid). `--check` prints what is missing on one line, or nothing; `--is-built` exits with 0 if the
# programs are there. Prints the path of a kubeconfig.
# Called again, it only imports the images. kube-down.sh stops the cluster and removes its traces.
#
# kube-up.sh --add-node [IMAGE.tar...]   adds `node2` to it, with containers, a disk cache of images and a network of pods of its own. What is
# below /srv there is in KUBE_STATE/node2/srv. It ends with the cluster, or by kube-down.sh --remove-node.
#
#   KUBE_CACHE  (~/.cache/kube-one)   the programs, and the image docker.io/local/busybox:1; built by the first call, and when the recipe changed
#   KUBE_STATE  (/var/tmp/kube-one)   the data, keys and log/ of this cluster
#   KUBE_FOR    a process that uses the cluster: `kube-down.sh --leave PID` stops it when the last user has left.
#               Without it the cluster counts as started by hand and keeps running.
#   KUBE_BUILD  `only` builds the programs and starts nothing
#
# Everything runs in its own network, pid and mount namespaces. The API is at https://10.231.0.2:6443, pods are in 10.231.1.0/24 and
# services in 10.231.2.0/24; pods reach this machine at 10.231.0.1. There is no DNS, no registry and no Internet access.
set -euo pipefail
CACHE=$(realpath -m "${KUBE_CACHE:-${HOME:-/root}/.cache/kube-one}")
STATE=$(realpath -m "${KUBE_STATE:-/var/tmp/kube-one}")
NAME=kube-one
NET=10.231
HERE=$(dirname "$(readlink -f "$0")")
export KUBE_CACHE=$CACHE KUBE_STATE=$STATE KUBECONFIG=$STATE/kubeconfig PATH=$CACHE/bin:/usr/sbin:/usr/bin:/sbin:/bin

missing() {
  local program
  [ "$(id -u)" = 0 ] || { echo 'root'; return; }
  [ -e /sys/fs/cgroup/memory/cgroup.procs ] || { echo 'control groups of version 1 (this machine has version 2 alone)'; return; }
  for program in curl flock ip nsenter openssl setsid unshare; do
    command -v $program >/dev/null || { echo "the program $program"; return; }
  done
  is_built || grep -qs '^VERSION_CODENAME=bookworm' /etc/os-release || echo 'Debian 12, out of whose packages it is built'
}

# Debian's packages -> $CACHE/{bin,lib,busybox.tar}. Nothing is installed on the machine.
build() (
  work=$CACHE/build
  rm -rf "$work"
  mkdir -p "$work"/{lists,debs,bin,lib,fs/bin,fs/tmp,gp/src/k8s.io,sources.d}
  cd "$work"
  # The machine's own sources of packages, with those of source packages added.
  for file in /etc/apt/sources.list.d/*.sources; do [ ! -e "$file" ] || sed 's/^Types: deb$/Types: deb deb-src/' "$file" >"sources.d/${file##*/}"; done
  [ ! -s /etc/apt/sources.list ] || sed -n 'p; s/^deb /deb-src /p' /etc/apt/sources.list >sources.d/main.list
  apt="apt-get -qq -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts=$work/sources.d -o Dir::State::Lists=$work/lists -o Dir::Cache=$work/debs -o APT::Sandbox::User=root"
  $apt update
  $apt download golang-1.19-{go,src} golang-github-modern-go-reflect2-dev etcd-server containerd runc containernetworking-plugins iptables libnftnl11 busybox-static
  $apt source --download-only kubernetes
  for file in *.deb; do dpkg -x "$file" root; done
  tar xf kubernetes_*.orig.tar.gz
  mv kubernetes-[0-9]* gp/src/k8s.io/kubernetes

  cd gp/src/k8s.io/kubernetes
  export GOROOT=$work/root/usr/lib/go-1.19 GOPATH=$work/gp GOCACHE=$work/gocache GO111MODULE=off GOFLAGS='' CGO_ENABLED=0 GOGC=400
  export PATH=$GOROOT/bin:$PATH
  # The reflect2 of the source package crashes with this Go.
  rm -r vendor/github.com/modern-go/reflect2
  mv "$work/root/usr/share/gocode/src/github.com/modern-go/reflect2" vendor/github.com/modern-go/
  # The kubelet looks more often for what has ended or is to be removed: a deleted pod is gone after 1 to 2 s, not after 4 to 60.
  sed -i 's|^const syncPeriod = 10 \* time.Second|const syncPeriod = time.Second / 4|' pkg/kubelet/status/status_manager.go
  sed -i 's|\(plegRelistPeriod = time.Second\) \* 1$|\1 / 4|; s|\(housekeepingPeriod = time.Second\) \* 2$|\1 / 2|; s|\(ContainerGCPeriod = time.\)Minute|\1Second|' pkg/kubelet/kubelet.go
  sed -i 's|\(GetPodStatusRetryDuration =\) 2 \* time.Second|\1 time.Second / 4|' pkg/kubelet/volumemanager/volume_manager.go
  # A program that ignores SIGTERM has at least 1 s, not 2.
  sed -i 's/minimumGracePeriodInSeconds = 2/minimumGracePeriodInSeconds = 1/' pkg/kubelet/kuberuntime/kuberuntime_manager.go
  # One that is deleted before it was seen to run ends at once, not after the grace of its spec.
  sed -i 's/\(pk.killPod(apiPod, runningPod, nil, \)nil)/\1new(int64))/' pkg/kubelet/kubelet_pods.go
  # The one generated file that the source package lacks.
  api=$(grep -rl --include=*.go '+k8s:openapi-gen=' pkg staging/src/k8s.io | grep -v -e code-generator -e sample-apiserver | xargs -n1 dirname | sort -u)
  nice -n 19 go run ./vendor/k8s.io/kube-openapi/cmd/openapi-gen -O zz_generated.openapi -p k8s.io/kubernetes/pkg/generated/openapi \
    -r "$work/openapi.report" -h vendor/k8s.io/code-generator/hack/boilerplate.go.txt \
    -i "$(sed 's#^staging/src#vendor#; s#^#k8s.io/kubernetes/#' <<<"$api" | paste -sd,)"
  version=''
  for package in component-base client-go/pkg; do
    for value in Version=v1.20.2 Major=1 Minor=20; do version+=" -X k8s.io/kubernetes/vendor/k8s.io/$package/version.git$value"; done
  done
  nice -n 19 go build -tags 'providerless dockerless' -gcflags=all=-dwarf=false -ldflags "-s -w$version" -o "$work/bin/" ./cmd/kube{-apiserver,-controller-manager,-scheduler,-proxy,let}

  cd "$work/root"
  mv usr/bin/{etcd,containerd,containerd-shim-runc-v2,ctr} usr/sbin/{runc,xtables-nft-multi} usr/lib/cni/{bridge,host-local,loopback,portmap} "$work/bin/"
  for name in iptables iptables-save iptables-restore; do ln -s xtables-nft-multi "$work/bin/$name"; done
  mv usr/lib/*/lib*.so.* usr/lib/*/xtables "$work/lib/"

  cd "$work"
  mv root/bin/busybox fs/bin/
  for name in $(fs/bin/busybox --list | grep -vx busybox); do ln -s busybox "fs/bin/$name"; done
  tar -C fs -cf layer.tar .
  cat >config.json <<E
{"architecture": "amd64", "os": "linux", "config": {"Cmd": ["sleep", "infinity"], "Env": ["PATH=/bin"]},
 "rootfs": {"type": "layers", "diff_ids": ["sha256:$(sha256sum <layer.tar | cut -c-64)"]}}
E
  echo '[{"Config": "config.json", "RepoTags": ["local/busybox:1"], "Layers": ["layer.tar"]}]' >manifest.json
  tar -cf "$CACHE/busybox.tar" manifest.json config.json layer.tar
  rm -rf "$CACHE/lib" "$CACHE/bin"
  recipe >bin/recipe
  mv lib "$CACHE/lib"
  mv bin "$CACHE/bin"
  cd /
  rm -rf "$work"
)

recipe() { declare -f build | sha256sum; }
is_built() { [ "$(cat "$CACHE/bin/recipe" 2>/dev/null)" = "$(recipe)" ]; }

# Process 1 of a node's namespaces. The first node has the control plane, too.
inside() {
  local number=$1 own=$STATE pods=$NET.1 group=$NAME
  [ "$number" = 1 ] || { own=$STATE/node$number pods=$NET.3 group=$NAME/node$number; }
  read -r pid _ </proc/self/stat
  echo "$pid" >"$own/pid"
  mount --make-rshared /
  mount -t proc proc /proc
  mount -t tmpfs -o mode=755 tmpfs /run
  for dir in /var/log/pods /var/log/containers /var/lib/cni; do
    mkdir -p $dir "$own$dir"
    mount --bind "$own$dir" $dir
  done
  if [ "$number" != 1 ]; then
    mkdir -p "$own/srv"
    mount --bind "$own/srv" /srv
  fi
  # The kubelet writes these settings: it gets copies, and those of the machine stay unchanged.
  for setting in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
    echo "${setting#*=}" >"$own/${setting##*/}"
    mount --bind "$own/${setting##*/}" "/proc/sys/${setting%=*}"
  done
  # Pods run in /kube-one/kubepods of every hierarchy, those of the second node in /kube-one/node2/kubepods, everything else in /kube-one/sys.
  for dir in /sys/fs/cgroup/*/; do
    [[ -e $dir/cgroup.procs && $dir != */unified/ ]] || continue
    mkdir -p "$dir/$NAME/sys" "$dir/$group"
    for file in {$NAME,$NAME/sys,$group}/cpuset.{cpus,mems}; do
      [ ! -e "$dir/$file" ] || cat "$dir/${file##*/}" >"$dir/$file"
    done
    echo 1 >"$dir/$NAME/sys/cgroup.procs"
  done

  # Root may lack CAP_SYS_RESOURCE, hence restrict_oom_score_adj.
  cat >"$own/containerd.toml" <<E
version = 2
root = "$own/containerd"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "docker.io/local/busybox:1"
  restrict_oom_score_adj = true
  cni = {bin_dir = "$CACHE/bin", conf_dir = "$own"}
  registry = {config_path = "$STATE/registries"}
E
  cat >"$own/pods.conflist" <<E
{"cniVersion": "0.4.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "cni$((number - 1))", "isGateway": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "dataDir": "/run/cni", "ranges": [[{"subnet": "$pods.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
E
  export LD_LIBRARY_PATH=$CACHE/lib XTABLES_LIBDIR=$CACHE/lib/xtables # for iptables
  local tls="--tls-cert-file=$STATE/cert.pem --tls-private-key-file=$STATE/key.pem --client-ca-file=$STATE/cert.pem --cert-dir=$STATE/certs"
  [ "$number" != 1 ] || control
  keep containerd -c "$own/containerd.toml"
  # A pod deleted before it was seen running is checked again only at the next synchronization.
  keep kubelet $tls --kubeconfig="$KUBECONFIG" --hostname-override="node$number" --node-ip=$NET.0.2 --port=$((10248 + 2 * number)) --healthz-port=0 \
    --container-runtime=remote --container-runtime-endpoint=unix:///run/containerd/containerd.sock \
    --root-dir="$own/kubelet" --volume-plugin-dir="$STATE/flex" --cgroup-root="/$group" --enforce-node-allocatable= --fail-swap-on=false --oom-score-adj=0 \
    --node-status-update-frequency=1s --sync-frequency=5s --anonymous-auth=false --authentication-token-webhook --authorization-mode=Webhook --read-only-port=0 \
    --cluster-dns=$NET.0.1 --cluster-domain=cluster.local --resolv-conf=/dev/null \
    --image-gc-high-threshold=100 --eviction-hard='memory.available<100Mi,nodefs.available<1%,imagefs.available<1%'
  wait
}

control() {
  ip link set lo up
  ip link set eth0 up
  ip addr add $NET.0.2/30 dev eth0
  echo 1 >/proc/sys/net/ipv4/ip_forward
  keep etcd --data-dir "$STATE/etcd"
  keep kube-apiserver $tls --etcd-servers=http://127.0.0.1:2379 --advertise-address=$NET.0.2 --service-cluster-ip-range=$NET.2.0/24 \
    --authorization-mode=RBAC --allow-privileged --feature-gates=BoundServiceAccountTokenVolume=true --kubelet-preferred-address-types=InternalIP \
    --service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$STATE/cert.pem" --service-account-signing-key-file="$STATE/key.pem" \
    --kubelet-client-certificate="$STATE/cert.pem" --kubelet-client-key="$STATE/key.pem" --kubelet-certificate-authority="$STATE/cert.pem"
  # A fake node has no kubelet to renew its lease, so it stays Ready only during the grace period.
  keep kube-controller-manager --kubeconfig="$KUBECONFIG" --root-ca-file="$STATE/cert.pem" --leader-elect=false --port=0 --cert-dir="$STATE/certs" \
    --flex-volume-plugin-dir="$STATE/flex" --node-monitor-grace-period=24h
  keep kube-scheduler --kubeconfig="$KUBECONFIG" --leader-elect=false --port=0 --cert-dir="$STATE/certs"
  keep kube-proxy --kubeconfig="$KUBECONFIG" --hostname-override=node1 --cluster-cidr=$NET.1.0/24 --oom-score-adj=0 --conntrack-max-per-core=0 \
    --conntrack-tcp-timeout-established=0 --conntrack-tcp-timeout-close-wait=0
}

# Runs a program and restarts it whenever it ends.
keep() {
  while :; do
    "$@" || true
    sleep 0.3
  done >"$own/log/$1.log" 2>&1 &
}

# is_running FOLDER: of a node
is_running() { grep -qs -e --inside "/proc/$(cat "$1/pid" 2>/dev/null)/cmdline"; }

# begin NUMBER: starts process 1 of a node
begin() {
  setsid nsenter --net=/run/netns/$NAME unshare --mount --propagation slave --pid --fork "$HERE/kube-up.sh" --inside "$1" </dev/null >"$STATE/log/init$1.log" 2>&1 9>&- &
}

start() {
  "$HERE/kube-down.sh" --remains
  mkdir -p "$STATE/log" "$STATE/users"
  chmod 700 "$STATE"
  [ -z "${KUBE_FOR:-}" ] || touch "$STATE/ends-with-its-users"
  # One self-signed certificate serves as authority, server, client and service account key.
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /O=system:masters/CN=admin \
    -addext subjectAltName=IP:$NET.0.2,IP:$NET.2.1,IP:127.0.0.1,DNS:localhost,DNS:kubernetes.default.svc \
    -keyout "$STATE/key.pem" -out "$STATE/cert.pem" 2>/dev/null
  # JSON is YAML, too.
  cat >"$KUBECONFIG" <<E
{"apiVersion": "v1", "kind": "Config", "current-context": "$NAME",
 "clusters": [{"name": "$NAME", "cluster": {"server": "https://$NET.0.2:6443", "certificate-authority-data": "$(base64 -w0 "$STATE/cert.pem")"}}],
 "users": [{"name": "admin", "user": {"client-certificate-data": "$(base64 -w0 "$STATE/cert.pem")", "client-key-data": "$(base64 -w0 "$STATE/key.pem")"}}],
 "contexts": [{"name": "$NAME", "context": {"cluster": "$NAME", "user": "admin"}}]}
E
  ip netns add $NAME
  ip link add $NAME type veth peer name eth0 netns $NAME
  ip addr add $NET.0.1/30 dev $NAME
  ip link set $NAME up
  ip route add $NET.0.0/16 via $NET.0.2
  begin 1
}

get() { curl -sf --cacert "$STATE/cert.pem" --cert "$STATE/cert.pem" --key "$STATE/key.pem" "https://$NET.0.2:6443/api/v1/$1"; }
is_ready() { get "nodes/$1" | grep -q '"KubeletReady"' && get namespaces/default/serviceaccounts/default >/dev/null; }
await() {
  SECONDS=0
  until is_ready "$1"; do
    [ $SECONDS -lt 90 ] || { echo "$1 did not become ready; see $STATE/log" >&2; exit 1; }
    sleep 0.1
  done
}
# import FOLDER IMAGE.tar...: into a node
import() {
  local image pid
  pid=$(cat "$1/pid")
  shift
  for image; do nsenter -t "$pid" -m ctr -n k8s.io images import "$(readlink -f "$image")" >&2; done
}

case "${1:-}" in
  --inside) inside "$2"; exit ;;
  --check) missing; exit ;;
  --is-built) is_built; exit ;;
esac
lacks=$(missing)
[ -z "$lacks" ] || { echo "no cluster here: it needs $lacks" >&2; exit 1; }

mkdir -p "$(dirname "$STATE")"
exec 9<"$(dirname "$STATE")" # concurrent calls wait
flock 9
is_built || build >&2
[ "${KUBE_BUILD:-}" != only ] || exit 0
if [ "${1:-}" = --add-node ]; then
  shift
  if ! is_running "$STATE/node2"; then
    mkdir -p "$STATE/node2/log"
    begin 2
    set -- "$CACHE/busybox.tar" "$@"
  fi
  await node2
  import "$STATE/node2" "$@"
  exit
fi
if ! is_running "$STATE"; then
  start
  set -- "$CACHE/busybox.tar" "$@"
fi
[ -z "${KUBE_FOR:-}" ] || { mkdir -p "$STATE/users"; touch "$STATE/users/$KUBE_FOR"; }
await node1
import "$STATE" "$@"
echo "$KUBECONFIG"
