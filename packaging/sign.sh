#!/usr/bin/env bash
# Signs packages for whoever installs them:
#
#   packaging/sign.sh KEY PACKAGE…
#
# Writes SHA256SUMS beside the first package, with its detached signature SHA256SUMS.asc by the OpenPGP KEY.
# To check: gpg --verify SHA256SUMS.asc SHA256SUMS && sha256sum --check SHA256SUMS
set -euo pipefail
key="${1:?usage: packaging/sign.sh KEY PACKAGE…}"
shift
folder="$(dirname "${1:?usage: packaging/sign.sh KEY PACKAGE…}")"
for package in "$@"; do
  (cd "$(dirname "$package")" && sha256sum "$(basename "$package")")
done >"$folder/SHA256SUMS"
gpg --batch --yes --local-user "$key" --armor --output "$folder/SHA256SUMS.asc" --detach-sign "$folder/SHA256SUMS"
echo "$folder/SHA256SUMS.asc"
