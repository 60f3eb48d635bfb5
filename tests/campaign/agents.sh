#!/usr/bin/env bash
# What coding agents show of each kind of answer, and how often they call (docs/agents.md):
#
#   tests/campaign/agents.sh [FOLDER]
#
# Installs Codex and opencode in the versions below, from the npm registry, into FOLDER (by default
# target/test-env/agents), holds both packages to their checksums, and runs tests/clients/coding_agents/table.rs with
# them. Each agent has a home of its own, and proxies that nobody runs: it reaches loopback only. Installing them is
# taking their licenses: Codex is under Apache-2.0, opencode under MIT. Needs npm, openssl, and Linux on x86-64.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

folder="${1:-target/test-env/agents}"
mkdir -p "$folder"
folder="$(cd "$folder" && pwd)"
CODEX="@openai/codex@0.169.0-linux-x64"
CODEX_SHA512="o05NyAOCDygSPRo1yinzxvkRSdmsZyBD9E7mbpmjRanSfM8lypqWtQgEo4XfNkwhuCR2aFu8mlGOsQGFXVbVww=="
OPENCODE="opencode-linux-x64@1.18.33"
OPENCODE_SHA512="q/t/3p2CTxOT9y2kvjesb/LZab2+1eqlhhWA02Be6mjTtmYtNBcBsrI5yDo4Fw7ZSPBW2oyMIGMNRqiKQjiAWw=="

if [ "$(uname -sm)" != "Linux x86_64" ]; then
  echo "the pinned packages are for Linux on x86-64" >&2
  exit 1
fi

# Fetches a package, unless that one is there, and unpacks it if it is the pinned one.
install() {
  local name="$1" package="$2" checksum="$3" archive found
  [ "$(cat "$folder/$name.installed" 2>/dev/null)" = "$package $checksum" ] && return
  rm -rf "${folder:?}/$name" "$folder/$name.installed"
  mkdir -p "$folder/$name"
  archive="$(npm pack --silent --pack-destination "$folder/$name" "$package")"
  archive="$folder/$name/$archive"
  found="$(openssl dgst -sha512 -binary "$archive" | openssl base64 -A)"
  if [ "$found" != "$checksum" ]; then
    echo "$package is not the pinned package: sha512-$found" >&2
    exit 1
  fi
  tar -xzf "$archive" -C "$folder/$name" --strip-components=1
  rm "$archive"
  echo "$package $checksum" >"$folder/$name.installed"
}

install codex "$CODEX" "$CODEX_SHA512"
install opencode "$OPENCODE" "$OPENCODE_SHA512"

export MONITOR_TEST_CODEX="$folder/codex/vendor/x86_64-unknown-linux-musl/bin/codex"
export MONITOR_TEST_OPENCODE="$folder/opencode/bin/opencode"
# One after the other: both begin slowly on a busy machine.
cargo test --workspace --test clients coding_agents::table -- --include-ignored --nocapture --test-threads=1
