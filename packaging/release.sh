#!/usr/bin/env bash
# Builds the files of a release and prints their folder:
#
#   packaging/release.sh [--folder FOLDER] [--url URL] [--key KEY] [amd64|arm64|PROGRAM…]
#
# For each architecture (by default both) it cross-builds the program for glibc 2.28 and newer, and says how long
# that took; a PROGRAM is one that is built already. Into FOLDER, by default target/release-files, go
#   monitor_gateway_client-VERSION-py3-none-any.whl      the Python package (packaging/clients/build.sh)
#   monitor-gateway-client-VERSION.tgz                   the npm package
#   monitor-gateway_VERSION_ARCHITECTURE.deb             the Debian package (packaging/deb.sh)
#   monitor-gateway-VERSION-linux-ARCHITECTURE.tar.gz    program, configuration, units, documentation, licenses
#   monitor-gateway-VERSION-linux-ARCHITECTURE.cdx.json  the bill of materials (CycloneDX)
#   monitor.rb        a Homebrew formula, if URL says from where the archives will be downloaded
#   SHA256SUMS        checksums of all of these
#   SHA256SUMS.asc    their signature, if KEY names an OpenPGP key (packaging/sign.sh)
# and the files of a release that was there go. It needs what packaging/deb.sh and packaging/clients/build.sh need,
# installs missing Debian packages where it is root, and says what is missing. The same programs give the same files.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. packaging/program.sh
. packaging/system.sh

usage() {
  sed -n '4s/^# *//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}

name=monitor-gateway
version="$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)"
folder="${CARGO_TARGET_DIR:-target}/release-files"
url=""
key=""
while [ $# -gt 0 ]; do
  case "$1" in
  --folder | --url | --key)
    [ $# -ge 2 ] || usage
    declare "${1#--}=$2"
    shift 2
    ;;
  -*) usage ;;
  *) break ;;
  esac
done
[ $# -gt 0 ] || set -- amd64 arm64
SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}"
export SOURCE_DATE_EPOCH

# What the archive has beside the program: the same files as the package, laid out to be used where it is unpacked.
archive() {
  local architecture="$1" package="$2" top="$name-$version-linux-$1" work
  work="$(mktemp -d "$folder/work.XXXXXX")"
  dpkg-deb -x "$package" "$work/package"
  mkdir -p "$work/$top/bin" "$work/$top/share"
  mv "$work/package/usr/bin/monitor" "$work/$top/bin/"
  local part
  for part in man bash-completion zsh fish; do
    mv "$work/package/usr/share/$part" "$work/$top/share/"
  done
  cp "$work/package/usr/share/doc/$name/sbom.cdx.json" "$folder/$top.cdx.json"
  cp -R conf systemd docs LICENSE NOTICE README.md CHANGELOG.md SECURITY.md "$work/$top/"
  chmod -R u=rwX,go=rX "$work/$top"
  # The program as it will be used: it runs, and accepts the configuration that lies beside it.
  local role
  for role in all gateway analysis; do
    UPSTREAM_URL=http://127.0.0.1:9 MONITOR_DATA_DIR="$work/data" run_program "$work/$top/bin/monitor" check \
      --role "$role" --config "$work/$top/conf/$role.yaml" >/dev/null
  done
  tar --create --directory "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
    --format=ustar "$top" | gzip "-${TAR_COMPRESSION:-9}n" >"$folder/$top.tar.gz"
  rm -rf "$work"
}

# The section of the formula for one architecture.
formula_section() {
  local file="$name-$version-linux-$1.tar.gz" section=on_intel
  [ "$1" = amd64 ] || section=on_arm
  printf '  %s do\n    url "%s"\n    sha256 "%s"\n  end\n\n' "$section" "$url/$file" \
    "$(sha256sum "$folder/$file" | cut -d' ' -f1)"
}

formula() {
  local architecture
  for architecture in "$@"; do
    formula_section "$architecture"
  done >"$folder/work.sections"
  sed -e 1,2d -e "s|@URL@|$url|; s|@VERSION@|$version|" -e "/@ARCHIVES@/{r $folder/work.sections" -e 'd}' \
    packaging/homebrew/monitor.rb >"$folder/monitor.rb"
  rm "$folder/work.sections"
}

# Before hours of building.
needs_client_tools
mkdir -p "$folder"
rm -rf "$folder/$name"[-_]* "$folder/${name//-/_}"_client-* "$folder/monitor.rb" "$folder"/SHA256SUMS*
trap 'rm -rf "$folder"/work.*' EXIT
architectures=()
for wanted in "$@"; do
  case "$wanted" in
  amd64 | arm64) program="$(packaging/build.sh "$wanted")" ;;
  *) program="$wanted" ;;
  esac
  architecture="$(architecture "$program")"
  package="$(packaging/deb.sh "$program" "$folder")"
  archive "$architecture" "$package"
  architectures+=("$architecture")
done
# Every architecture has the same API, so one of the programs is enough.
packaging/clients/build.sh "$program" "$folder" >/dev/null
[ -z "$url" ] || formula "${architectures[@]}"
files=("$folder/$name"[-_]* "$folder/${name//-/_}"_client-*)
[ -z "$url" ] || files+=("$folder/monitor.rb")
if [ -n "$key" ]; then
  packaging/sign.sh "$key" "${files[@]}" >/dev/null
else
  (cd "$folder" && sha256sum "${files[@]##*/}" >SHA256SUMS)
fi
echo "$folder"
