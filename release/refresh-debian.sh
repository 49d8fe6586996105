#!/bin/sh
# sh release/refresh-debian.sh    pins the newest Debian packages that the image takes its libraries from, in
# release/debian-packages.txt. Needs a Debian or Ubuntu with the package debian-archive-keyring. apt checks the archive's
# signatures, in a state of its own: nothing is installed, and the machine's own sources do not matter. Run it before a release.
set -eu
cd "$(dirname "$0")"

SUITE=trixie
KEYS=/usr/share/keyrings/debian-archive-keyring.gpg

state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
mkdir -p "$state/etc/apt/preferences.d" "$state/etc/apt/apt.conf.d" "$state/var/lib/apt/lists/partial" "$state/var/cache/apt/archives/partial" "$state/var/lib/dpkg"
: >"$state/var/lib/dpkg/status"
cat >"$state/etc/apt/sources.list" <<LIST
deb [signed-by=$KEYS] http://deb.debian.org/debian $SUITE main
deb [signed-by=$KEYS] http://deb.debian.org/debian $SUITE-updates main
deb [signed-by=$KEYS] http://deb.debian.org/debian-security $SUITE-security main
LIST
cat >"$state/apt.conf" <<CONF
Dir "$state";
Dir::State::status "$state/var/lib/dpkg/status";
APT::Architecture "amd64";
APT::Architectures { "amd64"; "arm64"; };
Acquire::Languages "none";
APT::Sandbox::User "root";
CONF
export APT_CONFIG="$state/apt.conf"

# pin NAME ARCHITECTURE: prints the line of the newest version
pin() {
  version=$(apt-cache show --no-all-versions "$1:$2" | sed -n 's/^Version: //p')
  found=$(apt-get download --print-uris "$1:$2" | tr -d "'")
  hash=${found##*SHA256:}
  [ "${#hash}" = 64 ] || { echo "refresh-debian.sh: apt names no SHA-256 of $1 for $2" >&2 && exit 1; }
  echo "$1 $2 $version $hash ${found%% *}"
}

apt-get update -qq
{
  echo "# Debian packages in the image: name, architecture, version, SHA-256, address. Written by release/refresh-debian.sh."
  echo "# As of $(date -u +%Y%m%dT%H%M%SZ)"
  pin ca-certificates all
  for architecture in amd64 arm64; do
    for name in gcc-14-base libc6 libgcc-s1 libstdc++6; do pin "$name" "$architecture"; done
  done
} >"$state/packages"
mv "$state/packages" debian-packages.txt
cat debian-packages.txt
