#!/usr/bin/env bash
# Compares release profiles of the gateway: how long a build takes, how large the program is, and what a
# call costs (CPU per call, and its instructions where valgrind is there; from the gateway's bench):
#
#   benches/profiles.sh [NAME=LTO,CODEGEN_UNITS ...]
#
# Without arguments: thin LTO with four codegen units and with one, and fat LTO. Each is built in a folder of
# its own below target/profiles, from nothing, which takes many minutes each; then all are measured by turns.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

ROUNDS=2
CASES=(1k sse)
if command -v valgrind >/dev/null; then
  CASES+=(instructions)
fi
if [ $# -eq 0 ]; then
  set -- thin-4=thin,4 thin-1=thin,1 fat-1=fat,1
fi

# Cargo with one profile's settings.
with_profile() {
  local name="${1%%=*}" settings="${1#*=}"
  shift
  CARGO_TARGET_DIR="target/profiles/$name" CARGO_PROFILE_RELEASE_LTO="${settings%,*}" \
    CARGO_PROFILE_RELEASE_CODEGEN_UNITS="${settings#*,}" cargo "$@"
}

for profile in "$@"; do
  name="${profile%%=*}"
  folder="target/profiles/$name"
  begin="$(date +%s)"
  with_profile "$profile" build --release --locked --bin monitor
  built="$(($(date +%s) - begin))"
  with_profile "$profile" bench --locked --bench gateway --no-run
  bytes="$(stat -c %s "$folder/release/monitor")"
  printf '%s: built in %d s, %d MiB\n' "$name" "$built" "$((bytes >> 20))"
done
for round in $(seq "$ROUNDS"); do
  for profile in "$@"; do
    printf '\n%s, round %d\n' "${profile%%=*}" "$round"
    with_profile "$profile" bench --locked --bench gateway -- "${CASES[@]}"
  done
done
