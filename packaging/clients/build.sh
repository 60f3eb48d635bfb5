#!/usr/bin/env bash
# Builds the Python and the npm package and prints their paths:
#
#   packaging/clients/build.sh [PROGRAM [FOLDER]]
#
# PROGRAM prints the OpenAPI document that types and operations are made from; without it the program is built first.
# The packages go to FOLDER, by default target/clients. Needs Python 3.11 with flit_core and datamodel-code-generator,
# and Node.js with npm and openapi-typescript, in PATH; tests/run.sh installs them into target/test-env.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. packaging/program.sh
. packaging/system.sh

needs_client_tools
if [ $# -lt 1 ]; then
  cargo build --locked --bin monitor
fi
program="${1:-target/debug/monitor}"
mkdir -p "${2:-target/clients}"
folder="$(cd "${2:-target/clients}" && pwd)"
# Archives get the time of the last commit, so that the packages are reproducible.
SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}"
export SOURCE_DATE_EPOCH
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cp -r packaging/clients/python packaging/clients/npm "$work"
module="$work/python/monitor_gateway_client"
for package in python npm; do
  cp LICENSE packaging/clients/NOTICE "$work/$package"
done

run_program "$program" openapi --analysis >"$work/openapi.json"
python3 packaging/clients/operations.py "$work/openapi.json" "$work/calls.json" \
  "$module/operations.py" "$work/npm/operations.js"
datamodel-codegen --input "$work/calls.json" --input-file-type openapi --output "$module/types.py" \
  --output-model-type typing.TypedDict --target-python-version 3.11 --use-union-operator --use-standard-collections \
  --formatters builtin --disable-timestamp --disable-warnings \
  --custom-file-header '"""What calls take and return. Made by packaging/clients/build.sh."""'
openapi-typescript "$work/calls.json" --output "$work/npm/schema.d.ts" >/dev/null

(cd "$work/python" && python3 -m flit_core.wheel --outdir "$folder" >/dev/null)
(cd "$work/npm" && npm pack --silent --pack-destination "$folder" >/dev/null)
ls "$folder"/*.whl "$folder"/*.tgz
