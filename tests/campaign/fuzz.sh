#!/usr/bin/env bash
# Runs every fuzz target for so many seconds and prints its executions:
#
#   tests/campaign/fuzz.sh [SECONDS [TARGET…]]
#
# By default 60 seconds each, and inputs of up to 1,024 bytes (FUZZ_LENGTH). Needs cargo-fuzz
# (`cargo install cargo-fuzz`) and a C++ compiler; the stable toolchain is enough. What the fuzzer learned stays in
# target/fuzz/corpus, a crash in target/fuzz/crashes: make it a test beside the code, then mend it. Ends with 1 when a
# target found one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

seconds="${1:-60}"
shift || true
only=" $* "
folder="${CARGO_TARGET_DIR:-$PWD/target}/fuzz"
found=0
# The flags of sanitizers and coverage are those of a nightly compiler.
export RUSTC_BOOTSTRAP=1

# Executions and crashes of one target.
run_target() {
  local crate="$1" target="$2" corpus="$folder/corpus/$2" crashes="$folder/crashes/$2" log="$folder/$2.log"
  mkdir -p "$corpus" "$crashes"
  local options=(-max_total_time="$seconds" -artifact_prefix="$crashes/" -print_final_stats=1 -max_len="${FUZZ_LENGTH:-1024}" -timeout=20)
  [ ! -f "$crate/fuzz/$target.dict" ] || options+=(-dict="$crate/fuzz/$target.dict")
  local result=passed seeds="$crate/fuzz/seeds/$target"
  [ ! -d "$seeds" ] || cp -n "$seeds"/* "$corpus/"
  cargo fuzz run --fuzz-dir "$crate/fuzz" --target-dir "$folder/build" --sanitizer none "$target" "$corpus" -- \
    "${options[@]}" >"$log" 2>&1 || { result="FAILED, see $log"; found=1; }
  local executions
  executions="$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")"
  printf '%-14s %12s executions  %s\n' "$target" "${executions:-0}" "$result"
}

for crate in crates/wire crates/detect .; do
  [ -d "$crate/fuzz" ] || continue
  for target in "$crate"/fuzz/fuzz_targets/*.rs; do
    target="$(basename "$target" .rs)"
    [ "$only" = "  " ] || [[ "$only" == *" $target "* ]] || continue
    run_target "$crate" "$target"
  done
done
exit "$found"
