# A fresh minimal Debian system to try a package in; sourced by the other scripts of this folder.

say() {
  printf '%s\n' "== $*"
}

# Archive and release, as this machine's apt has them: the first with packages of the distribution's main part.
archive() {
  apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT) $(CREATED_BY)' |
    awk '$3 == "main" && $4 == "Packages" && $2 !~ /-/ { print $1, $2; exit }'
}

# Installs Debian packages that are missing on this machine: COMMAND=PACKAGE ...
needs() {
  local pair
  for pair in "$@"; do
    command -v "${pair%%=*}" >/dev/null ||
      DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${pair#*=}" >/dev/null
  done
}

# Makes one in FOLDER, unless there is one, with further packages (LIST, by commas); nothing of ours is in it
# behind this.
fresh_system() {
  local folder="$1" further="${2:-}" uri release
  needs debootstrap=debootstrap
  if [ ! -x "$folder/usr/bin/dpkg" ]; then
    read -r uri release < <(archive)
    say "a fresh $release"
    rm -rf "$folder.new"
    debootstrap --variant=minbase ${further:+"--include=$further"} "$release" "$folder.new" "$uri" >"$folder.log" 2>&1 || {
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
