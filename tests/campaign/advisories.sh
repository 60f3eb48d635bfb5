#!/usr/bin/env bash
# Holds the crates of Cargo.lock to the advisories of RustSec, and to the lists of deny.toml:
#
#   tests/campaign/advisories.sh [CLONE]
#
# CLONE is a clone of the advisory database, for a machine without a way to it; the date of its last commit
# is printed. Without it cargo-deny fetches the database. Needs cargo-deny (`cargo install cargo-deny`).
# Exceptions stand in deny.toml, each with its reason.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

cargo deny --locked check bans licenses sources
if [ $# = 0 ]; then
  exec cargo deny --locked check advisories
fi

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
# Where cargo-deny keeps its copy of the database: the name holds a hash of its address.
git clone --quiet "$1" "$folder/advisory-db-3157b0e258782691"
touch "$folder/advisory-db-3157b0e258782691/.git/FETCH_HEAD"
sed "s|^\[advisories\]|[advisories]\ndb-path = \"$folder\"\ndb-urls = [\"https://github.com/rustsec/advisory-db\"]|" \
  deny.toml >"$folder/deny.toml"
git -C "$1" log -1 --format='advisories as of %cs, commit %h'
cargo deny --offline --locked --config "$folder/deny.toml" check advisories
