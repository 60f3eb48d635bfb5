#!/usr/bin/env bash
# Mutation testing: changes the code of a module in one place at a time and sees whether a test notices.
#
#   tests/campaign/mutants.sh [MODULE…]
#
# Modules: json sse auth headers decide block spool mask checksums (by default all). Needs cargo-mutants
# (`cargo install cargo-mutants`) and Python. What no test noticed is printed: write a test for it, or name it in
# .cargo/mutants.toml with the reason why none can be written. tests/campaign/mutants.py says how it works.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

folder="$PWD/target/mutants"

# Package, files and tests of a module: unit tests, then tests of suites, which start the program. The spool's simulation
# is left out: it alone takes longer than all others.
module() {
  case "$1" in
    json) echo monitor-wire 'crates/wire/src/json/**' -- json:: ;;
    sse) echo monitor-wire 'crates/wire/src/sse/**' -- sse:: ;;
    mask) echo monitor-detect 'crates/detect/src/dataclean/{mask,overlap,numbering,span}.rs' -- dataclean:: ;;
    checksums) echo monitor-detect crates/detect/src/dataclean/checksum.rs -- dataclean::checksum ;;
    auth) echo monitor-gateway src/gateway/auth.rs -- gateway::auth ;;
    headers) echo monitor-gateway src/gateway/headers.rs -- gateway::headers ;;
    decide) echo monitor-gateway 'src/gateway/exchange/{decide,verdict}.rs' -- gateway::exchange \
      -- gateway sync:: -- gateway judged:: replace:: redact:: replay:: \
      -- gateway hold_back message_forms:: policies:: long_verdicts:: attachments_kept:: telemetry:: gone:: ;;
    block) echo monitor-gateway 'src/gateway/exchange/block/*.rs' -- gateway::exchange ;;
    spool) echo monitor-gateway 'src/spool/{record_codec,segment,segment_index,ack_log,sequence}.rs' \
      'src/spool/{frames,recovery}/*.rs' -- spool:: --skip spool::simulation ;;
    *) echo "no module $1" >&2; exit 2 ;;
  esac
}

python="$folder/python/bin/python"
if [ ! -x "$python" ]; then
  python3 -m venv "$folder/python"
  "$folder/python/bin/pip" install --quiet tree-sitter==0.26.1 tree-sitter-rust==0.24.2
fi
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$folder/build}"

[ $# -gt 0 ] || set -- json sse auth headers decide block spool mask checksums
set -f
for name in "$@"; do
  read -r -a options <<<"$(module "$name")"
  echo "== $name"
  # The tree is changed, so it is a copy.
  rm -rf "$folder/tree"
  mkdir -p "$folder/tree"
  git ls-files -z --cached --others --exclude-standard | tar --create --null --files-from - | tar --extract -C "$folder/tree"
  "$python" tests/campaign/mutants.py "$folder/tree" "${options[0]}" "$folder/$name.json" "${options[@]:1}"
done
