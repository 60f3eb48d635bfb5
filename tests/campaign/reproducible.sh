#!/usr/bin/env bash
# Builds the Debian package twice, from two checkouts in two folders, and compares the packages:
#
#   tests/campaign/reproducible.sh
#
# Takes as long as two builds of the shipped program. Prints the hash; ends with 1 when there are two.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

folder="$(mktemp -d "${TMPDIR:-/tmp}/reproducible.XXXXXX")"
trap 'rm -rf "$folder"' EXIT
unset CARGO_TARGET_DIR
packages=()
for name in first the-second; do
  git clone --quiet . "$folder/$name"
  packages+=("$folder/$name/$("$folder/$name/packaging/deb.sh" | tail -n 1)")
  # Room for the other one.
  find "$folder/$name/target/dist" -maxdepth 1 -name deps -exec rm -rf {} +
done
sha256sum "${packages[@]}"
cmp "${packages[@]}"
