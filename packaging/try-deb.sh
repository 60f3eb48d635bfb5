#!/usr/bin/env bash
# Installs the Debian package into a fresh small system, runs it there, and removes it again:
#
#   packaging/try-deb.sh PACKAGE.deb [FOLDER]
#
# The system is made by debootstrap from the archive that this machine's apt uses, in FOLDER (a temporary one
# unless given, removed at the end; one that has a system already is used as it is). It has the architecture of the
# package: a foreign one is emulated by qemu, which takes minutes. DEBIAN_RELEASE names another release than this
# machine's, such as an old one. Needs root, curl and Python 3; installs debootstrap and qemu where they are missing.
set -euo pipefail

package="$(realpath "$1")"
system="${2:-}"
temporary=""
if [ -z "$system" ]; then
  temporary="$(mktemp -d)"
  system="$temporary/system"
fi
serving=""
next=""

end() {
  local process
  for process in $serving $next; do
    kill -KILL "$process" 2>/dev/null || true
  done
  end_emulation
  [ -z "$temporary" ] || rm -rf "$temporary"
}

. "$(dirname "${BASH_SOURCE[0]}")/program.sh"
. "$(dirname "${BASH_SOURCE[0]}")/system.sh"
trap end EXIT

inside() {
  chroot "$system" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "$@"
}

# Every file but what packages' tools and this script write of their own.
files() {
  (cd "$system" && find . -xdev \( -path ./proc -o -path ./dev -o -path ./tmp -o -path ./var/lib/dpkg \
    -o -path ./var/lib/apt -o -path ./var/cache -o -path ./var/log \) -prune -o -print | sort)
}

architecture="$(dpkg-deb -f "$package" Architecture)"
! is_foreign "$architecture" || emulate "$architecture"
fresh_system "$system" "" "$architecture"

# Has the application block what the call below holds: qemu's emulation of connections lacks an option that the
# gateway sets (IP_BIND_ADDRESS_NO_PORT), so that no emulated gateway reaches a model server, and answers itself.
block() {
  local token application
  token="$(inside monitor token create --name try --scope ingest,read,admin --data-dir /var/lib/monitor/all)"
  local api=(curl -sSf --noproxy "*" -H "Authorization: Bearer $token") url="http://127.0.0.1:$analysis/applications"
  application="$("${api[@]}" "$url" | grep -o '"id":"[^"]*"' | head -n 1 | cut -d '"' -f 4)"
  "${api[@]}" "$url/$application/policy" -o "$system/tmp/policy" -X PATCH -H 'Content-Type: application/json' \
    -H 'If-Match: "1"' -d '{"policy": {"app_mode": "sync", "phrase": "I cannot help with that."}}'
}

files >"$system/tmp/before"
cp "$package" "$system/tmp/monitor.deb"

say "install"
inside dpkg -i /tmp/monitor.deb
inside monitor --version
for role in all gateway analysis; do
  inside UPSTREAM_URL=http://127.0.0.1:9 monitor check --role "$role" --config "/etc/monitor/$role.yaml" | head -n 1
done

say "start, one call, upgrade, stop"
read -r gateway analysis operations < <(free_ports 3)
mkdir -p "$system/var/lib/monitor/all"
inside "GATEWAY_LISTEN=127.0.0.1:$gateway" "ANALYSIS_LISTEN=127.0.0.1:$analysis" \
  "OPERATIONS_LISTEN=127.0.0.1:$operations" monitor all --config /etc/monitor/all.yaml --data-dir /var/lib/monitor/all >"$system/tmp/out" 2>"$system/tmp/err" &
serving=$!
for _ in $(seq 600); do
  key="$(grep -o 'mon_[A-Za-z0-9_-]*' "$system/tmp/out" | head -n 1 || true)"
  [ -n "$key" ] && break
  kill -0 "$serving" 2>/dev/null || break
  sleep 0.1
done
[ -n "$key" ] || { grep -v mon_ "$system/tmp/err" >&2; exit 1; }
! is_foreign "$architecture" || block
curl -sSf --noproxy '*' "http://127.0.0.1:$gateway/v1/chat/completions" -H "X-Monitor-Api-Key: $key" \
  -H 'Content-Type: application/json' \
  -d '{"model":"demo-small","messages":[{"role":"user","content":"My card is 4111 1111 1111 1111"}]}' |
  head -c 160
echo
inside monitor upgrade --config /etc/monitor/all.yaml --data-dir /var/lib/monitor/all >"$system/tmp/upgraded"
cat "$system/tmp/upgraded"
next="$(grep -o '[0-9]\+' "$system/tmp/upgraded" | head -n 1)"
wait "$serving"
serving=""
kill -TERM "$next"
for _ in $(seq 300); do
  kill -0 "$next" 2>/dev/null || break
  sleep 0.1
done
! kill -0 "$next" 2>/dev/null || { echo "it does not stop" >&2; exit 1; }
next=""

say "purge"
inside dpkg --purge monitor-gateway
files >"$system/tmp/after"
left="$(comm -13 "$system/tmp/before" "$system/tmp/after")"
printf '%s\n' "$left" | grep -v '^\./var/lib/monitor' | grep . && {
  echo "the package left more than data" >&2
  exit 1
}
say "left are data alone: $(printf '%s\n' "$left" | grep -c .) files and folders below /var/lib/monitor"
