# A fresh minimal Debian system to try a package in; sourced by the other scripts of this folder.

say() {
  printf '%s\n' "== $*"
}

# Archive and release, as this machine's apt has them: the first with packages of the distribution's main part.
archive() {
  apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT) $(CREATED_BY)' |
    awk '$3 == "main" && $4 == "Packages" && $2 !~ /-/ { print $1, $2; exit }'
}

# Installs Debian packages that are missing on this machine: COMMAND=PACKAGE ..., or FILE=PACKAGE with a path.
# Without root it names the missing one and ends.
needs() {
  local pair
  for pair in "$@"; do
    [ -e "${pair%%=*}" ] || command -v "${pair%%=*}" >/dev/null || install_package "${pair#*=}"
  done
}

install_package() {
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "missing: $1; install it and run this again" >&2
    exit 1
  fi
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1" >/dev/null
}

# Ends unless everything is there that makes the packages of packaging/clients.
needs_client_tools() {
  local tool missing=()
  for tool in python3 npm datamodel-codegen openapi-typescript; do
    command -v "$tool" >/dev/null || missing+=("$tool")
  done
  python3 -c 'import flit_core' 2>/dev/null || missing+=(flit_core)
  [ ${#missing[@]} = 0 ] || {
    echo "missing: ${missing[*]}; tests/run.sh installs them into target/test-env: add contract-python/bin and" \
      "contract-node/node_modules/.bin there to PATH" >&2
    exit 1
  }
}

# Where the kernel keeps what runs programs of other machines.
binfmt=/proc/sys/fs/binfmt_misc
emulated=""

# Lets this machine run every program of an architecture, in chroots too, until `end_emulation`.
emulate() {
  local machine
  machine="$(machine "$1")"
  needs "qemu-$machine-static=qemu-user-static"
  [ -e "$binfmt/register" ] || mount -t binfmt_misc binfmt_misc "$binfmt"
  if [ ! -e "$binfmt/qemu-$machine" ]; then
    cat "/usr/lib/binfmt.d/qemu-$machine.conf" >"$binfmt/register"
    emulated="qemu-$machine"
  fi
}

end_emulation() {
  [ -z "$emulated" ] || echo -1 >"$binfmt/$emulated"
  emulated=""
}

# Makes one in FOLDER, unless there is one, with further packages (LIST, by commas), for this machine or an
# ARCHITECTURE that is emulated; nothing of ours is in it behind this. DEBIAN_RELEASE names another release than
# this machine's.
fresh_system() {
  local folder="$1" further="${2:-}" architecture="${3:-$(dpkg --print-architecture)}" uri release
  needs debootstrap=debootstrap
  if [ ! -x "$folder/usr/bin/dpkg" ]; then
    read -r uri release < <(archive)
    release="${DEBIAN_RELEASE:-$release}"
    say "a fresh $release for $architecture"
    rm -rf "$folder.new"
    debootstrap --variant=minbase "--arch=$architecture" ${further:+"--include=$further"} "$release" "$folder.new" "$uri" >"$folder.log" 2>&1 || {
      tail -n 20 "$folder.log" >&2
      rm -rf "$folder.new" "$folder.log"
      return 1
    }
    rm -rf "$folder" "$folder.log"
    mv "$folder.new" "$folder"
  fi
  # One that was made without them.
  local package
  for package in ${further//,/ }; do
    chroot "$folder" dpkg-query -W "$package" >/dev/null 2>&1 ||
      DEBIAN_FRONTEND=noninteractive chroot "$folder" apt-get install -y -qq --no-install-recommends "$package" >/dev/null
  done
  chroot "$folder" dpkg --purge monitor-gateway >/dev/null 2>&1 || true
  rm -rf "$folder"/var/lib/monitor "$folder"/var/lib/private/monitor "$folder"/var/log/journal "$folder"/etc/monitor
}

# Prints the given number of free loopback ports.
free_ports() {
  python3 -c '
import socket, sys
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(int(sys.argv[1]))]
print(*(one.getsockname()[1] for one in sockets))' "$1"
}
