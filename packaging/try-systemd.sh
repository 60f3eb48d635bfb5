#!/usr/bin/env bash
# Boots a fresh small Debian in a container, and runs the Debian package there as a service:
#
#   packaging/try-systemd.sh PACKAGE.deb [FOLDER]
#
# A start, a call over TLS with a key of the group monitor-tls, reloads that succeed and that are refused,
# upgrades close after each other, a process that is killed and one that hangs, a restore that is put in service, a
# stop: each as systemd does it. The system is made by debootstrap in FOLDER, as in try-deb.sh. Needs root, curl,
# Python 3 and openssl; takes about two minutes.
set -euo pipefail

package="$(realpath "$1")"
. "$(dirname "${BASH_SOURCE[0]}")/system.sh"
system="${2:-}"
temporary=""
if [ -z "$system" ]; then
  temporary="$(mktemp -d)"
  system="$temporary/system"
fi
container=""
model=""

end() {
  [ -z "$model" ] || kill "$model" 2>/dev/null || true
  if [ -n "$container" ]; then
    kill -TERM "$container" 2>/dev/null || true
    wait "$container" 2>/dev/null || true
  fi
  [ -z "$temporary" ] || rm -rf "$temporary"
}
trap end EXIT

fail() {
  echo "$*" >&2
  inside journalctl -u monitor --no-pager -o cat | grep -v mon_ | tail -n 30 >&2 || true
  exit 1
}

inside() {
  nsenter -t "$leader" -m -u -i -p -C -- \
    /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "$@"
}

# The small system has no program for signals; its shell does.
signal() {
  inside sh -c 'kill "$@"' sh "$@"
}

# A property of the service.
property() {
  inside systemctl show monitor -p "$1" --value
}

# Tries a command for half a minute.
soon() {
  local what="$1"
  shift
  for _ in $(seq 300); do
    ! "$@" >/dev/null 2>&1 || return 0
    sleep 0.1
  done
  fail "not within half a minute: $what"
}

# The serial number of the certificate that is shown.
shown() {
  openssl s_client -connect "127.0.0.1:$gateway" </dev/null 2>/dev/null | openssl x509 -noout -serial
}

certificate() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost -keyout "$system/etc/monitor/new.pem" -out "$system/etc/monitor/cert.pem" 2>/dev/null
  cat "$system/etc/monitor/new.pem" >"$system/etc/monitor/key.pem"
  rm "$system/etc/monitor/new.pem"
}

# One call; whether its status is 200.
answers() {
  local status
  status="$(curl -sS --noproxy '*' --cacert "$system/etc/monitor/cert.pem" -o /dev/null -w '%{http_code}' \
    "https://localhost:$gateway/v1/chat/completions" --connect-to "::127.0.0.1:" -H "X-Monitor-Api-Key: $key" \
    -H 'Content-Type: application/json' -d '{"model":"demo-small","messages":[{"role":"user","content":"Hello"}]}')"
  [ "$status" = 200 ]
}

call() {
  answers || fail "a call was not answered"
}

# A model server whose streams take five seconds; prints its port.
slow_model() {
  python3 -u -c '
import http.server, json, time
class Model(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        stream = asked.get("stream", False)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if stream else "application/json")
        self.end_headers()
        if not stream:
            answer = {"role": "assistant", "content": "Hello"}
            self.wfile.write(json.dumps({"choices": [{"index": 0, "message": answer}]}).encode())
            return
        for number in range(25):
            delta = {"choices": [{"index": 0, "delta": {"content": "word "}}]}
            self.wfile.write(b"data: %s\n\n" % json.dumps(delta).encode())
            time.sleep(0.2)
        self.wfile.write(b"data: [DONE]\n\n")
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
print(server.server_port)
server.serve_forever()'
}

stream() {
  curl -sSN --noproxy '*' --cacert "$system/etc/monitor/cert.pem" "https://localhost:$gateway/v1/chat/completions" \
    --connect-to "::127.0.0.1:" -H "X-Monitor-Api-Key: $key" -H 'Content-Type: application/json' \
    -d '{"model":"slow","stream":true,"messages":[{"role":"user","content":"Hello"}]}'
}

is_other_than() {
  [ "$(property MainPID)" != "$1" ] && [ "$(property MainPID)" != 0 ]
}

restarts() {
  [ "$(property NRestarts)" = "$1" ] || fail "restarted $(property NRestarts) times, not $1"
}

needs systemd-nspawn=systemd-container
fresh_system "$system" systemd-sysv,dbus
say "boot"
systemd-nspawn -D "$system" --boot --register=no --keep-unit --link-journal=no --console=pipe \
  </dev/null >"$system/boot.log" 2>&1 &
container=$!
leader=""
for _ in $(seq 100); do
  leader="$(pgrep -P "$container" | head -n 1 || true)"
  [ -z "$leader" ] || ! inside systemctl is-system-running >/dev/null 2>&1 || break
  sleep 0.2
done
[ -n "$leader" ] || { cat "$system/boot.log" >&2; exit 1; }

say "install and start"
cp "$package" "$system/root/monitor.deb"
inside dpkg -i /root/monitor.deb >/dev/null
read -r gateway analysis operations < <(free_ports 3)
slow_model >"$system/root/slow" &
model=$!
soon "a model server" test -s "$system/root/slow"
slow="$(cat "$system/root/slow")"
touch "$system/etc/monitor/key.pem"
inside chgrp monitor-tls /etc/monitor/key.pem
chmod 640 "$system/etc/monitor/key.pem"
certificate
cat >"$system/etc/monitor/all.yaml" <<YAML
listen: {address: 127.0.0.1:$gateway, tls: {cert: /etc/monitor/cert.pem, key: /etc/monitor/key.pem}}
upstream: {url: "http://127.0.0.1:$slow"}
analysis: {listen: 127.0.0.1:$analysis}
operations: 127.0.0.1:$operations
YAML
inside systemctl start monitor || fail "it did not start"
printed() {
  inside journalctl -u monitor --no-pager -o cat | grep -o 'access key *mon_[A-Za-z0-9_-]*' | awk '{ print $3 }' | grep .
}
soon "its first access key" printed
key="$(printed)"
call

say "reload: a certificate, and a mistake"
before="$(shown)"
certificate
inside systemctl reload monitor || fail "it was not reloaded"
[ "$(shown)" != "$before" ] || fail "the certificate is the old one"
echo "nonsense: 1" >>"$system/etc/monitor/all.yaml"
! inside systemctl reload monitor 2>/dev/null || fail "a mistake was taken"
call
sed -i '$d' "$system/etc/monitor/all.yaml"

say "upgrade three times, close after each other, and wait for the watchdog"
for _ in 1 2; do
  main="$(property MainPID)"
  signal -QUIT "$main"
  soon "an upgrade" is_other_than "$main"
  call
  sleep 8
done
main="$(property MainPID)"
inside dpkg -i /root/monitor.deb >/dev/null
soon "an upgrade by the package" is_other_than "$main"
for _ in $(seq 35); do
  call
  sleep 1
done
restarts 0

say "stop with a stream under way"
stream >"$system/root/stream" &
streaming=$!
sleep 1
inside systemctl stop monitor
wait "$streaming" || fail "the stream was cut"
grep -q '\[DONE\]' "$system/root/stream" || fail "the stream has no end"
! inside journalctl -u monitor --no-pager -o cat | grep -q 'with signal SIGKILL' || fail "it was killed"
inside systemctl start monitor

say "stop right behind an upgrade, with a stream under way in the old process"
stream >"$system/root/stream" &
streaming=$!
sleep 1
main="$(property MainPID)"
signal -QUIT "$main"
soon "an upgrade" is_other_than "$main"
inside systemctl stop monitor
wait "$streaming" || fail "the stream was cut"
grep -q '\[DONE\]' "$system/root/stream" || fail "the stream has no end"
inside systemctl start monitor

say "killed, and hanging"
main="$(property MainPID)"
signal -KILL "$main"
soon "a restart" is_other_than "$main"
soon "an answer" answers
restarts 1
stream >/dev/null 2>&1 &
main="$(property MainPID)"
signal -QUIT "$main"
soon "an upgrade" is_other_than "$main"
signal -KILL "$(property MainPID)"
soon "an answer while the old process drained" answers
restarts 2
signal -STOP "$(property MainPID)"
sleep 34
soon "an answer" answers
restarts 3

say "back up, restore, and put the restored folder in service"
folder=/var/lib/private/monitor/all
monitor_records() {
  curl -sS --noproxy '*' "http://127.0.0.1:$analysis/records?limit=200" -H "Authorization: Bearer $key" |
    python3 -c 'import json, sys; print(len(json.load(sys.stdin)["records"]))'
}
has_records() {
  [ "$(monitor_records)" -gt 0 ]
}
soon "a record" has_records
inside systemctl stop monitor
inside monitor backup /root/backup --config /etc/monitor/all.yaml --data-dir "$folder" >/dev/null
inside mv "$folder" "$folder.before"
inside monitor restore /root/backup --config /etc/monitor/all.yaml --data-dir "$folder" >/dev/null
inside systemctl start monitor || fail "it did not start over the restored folder"
soon "an answer over the restored folder" answers
soon "the restored records" has_records
inside test -L /var/lib/monitor/all || fail "the folder is no link any more"

say "stop"
inside systemctl stop monitor
[ "$(property ActiveState) $(property Result)" = "inactive success" ] || fail "it did not stop in order"
say "done"
