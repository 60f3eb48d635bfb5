#!/usr/bin/env bash
# Mutation testing: changes the code of a module in one place at a time and sees whether a unit test notices.
#
#   tests/campaign/mutants.sh [MODULE…]
#
# Modules: json sse auth headers decide block spool mask checksums (by default all). Needs cargo-mutants
# (`cargo install cargo-mutants`). What was missed is listed under target/mutants/MODULE/mutants.out/missed.txt:
# write a test for it, or say in docs/development.md why none can be.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

folder="${CARGO_TARGET_DIR:-$PWD/target}/mutants"

# Package and files of a module.
module() {
  case "$1" in
    json) echo monitor-wire 'crates/wire/src/json/**' ;;
    sse) echo monitor-wire 'crates/wire/src/sse/**' ;;
    mask) echo monitor-detect crates/detect/src/dataclean/{mask,overlap,numbering,span}.rs ;;
    checksums) echo monitor-detect crates/detect/src/dataclean/checksum.rs ;;
    auth) echo monitor-gateway src/gateway/auth.rs ;;
    headers) echo monitor-gateway src/gateway/headers.rs ;;
    decide) echo monitor-gateway src/gateway/exchange/decide.rs src/gateway/exchange/verdict.rs ;;
    block) echo monitor-gateway src/gateway/exchange/block.rs ;;
    spool) echo monitor-gateway src/spool/{record_codec,segment,segment_index,ack_log,sequence}.rs src/spool/{frames,recovery}/*.rs ;;
    *) echo "no module $1" >&2; exit 2 ;;
  esac
}

[ $# -gt 0 ] || set -- json sse auth headers decide block spool mask checksums
for name in "$@"; do
  read -r package files <<<"$(module "$name")"
  options=()
  for file in $files; do options+=(--file "$file"); done
  mkdir -p "$folder/$name"
  # Unit tests alone: those of the whole program would take hours for each room.
  cargo mutants --jobs 1 --package "$package" --output "$folder/$name" --minimum-test-timeout 60 \
    "${options[@]}" ${MUTANTS_OPTIONS:-} -- --lib >"$folder/$name/log" 2>&1 || true
  printf '%-10s %s\n' "$name" "$(tail -n 1 "$folder/$name/log")"
done
