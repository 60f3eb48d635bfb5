#!/usr/bin/env bash
# Compares builds of the program: how long a build takes, how large it is, and what a call costs (CPU per
# call, and its instructions where valgrind is installed; from the gateway's bench):
#
#   benches/profiles.sh [PROFILE | NAME=PROGRAM] ...
#
# PROFILE is a profile of Cargo.toml, built from nothing in a folder of its own below target/profiles, which
# takes many minutes; PROGRAM is a file that was built before, such as that of the last release. Without
# arguments: release and dist. All are measured by turns, with one and the same bench.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

ROUNDS="${ROUNDS:-2}"
CASES=(${CASES:-1k sse})
if command -v valgrind >/dev/null; then
  CASES+=(instructions)
fi
if [ $# -eq 0 ]; then
  set -- release dist
fi

declare -A programs
for build in "$@"; do
  name="${build%%=*}"
  if [ "$name" != "$build" ]; then
    programs[$name]="$(realpath "${build#*=}")"
  else
    folder="target/profiles/$name"
    rm -rf "$folder"
    begin="$(date +%s)"
    CARGO_TARGET_DIR="$folder" cargo build --profile "$name" --locked --bin monitor
    printf '%s: built in %d s\n' "$name" "$(($(date +%s) - begin))"
    programs[$name]="$(realpath "$folder/$name/monitor")"
  fi
  printf '%s: %d KiB\n' "$name" "$(($(stat -c %s "${programs[$name]}") >> 10))"
done
cargo bench --locked --bench gateway --no-run
for round in $(seq "$ROUNDS"); do
  for build in "$@"; do
    name="${build%%=*}"
    printf '\n%s, round %d\n' "$name" "$round"
    MONITOR_BENCH_PROGRAM="${programs[$name]}" cargo bench --locked --bench gateway -- "${CASES[@]}"
  done
done
