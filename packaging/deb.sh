#!/usr/bin/env bash
# Builds the Debian package of a program and prints its path:
#
#   packaging/deb.sh [--architecture amd64|arm64] [PROGRAM [FOLDER]]
#
# Without PROGRAM it builds the program first (packaging/build.sh): for this machine, or for the architecture
# named. The header of PROGRAM says its architecture; one that contradicts --architecture is refused, and so is
# a program of another version. The package goes to FOLDER, by default target/debian. Needs cargo, a C compiler,
# binutils, Python 3 and dpkg-deb; for a foreign program also binutils of its architecture, qemu-user-static and
# its C library (Debian: binutils-aarch64-linux-gnu, libc6-arm64-cross). It says which package is missing.
# DEB_MAINTAINER ("NAME <ADDRESS>") and DEB_HOMEPAGE name who answers for the package and where it is described.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. packaging/program.sh
. packaging/system.sh

asked=""
if [ "${1:-}" = --architecture ]; then
  asked="${2:?usage: packaging/deb.sh [--architecture amd64|arm64] [PROGRAM [FOLDER]]}"
  shift 2
  [ -n "$(machine "$asked")" ] || { echo "unknown architecture $asked: use amd64 or arm64" >&2; exit 2; }
fi
[ $# -ge 1 ] || set -- "$(packaging/build.sh ${asked:+"$asked"})"
program="$1"
folder="${2:-target/debian}"
architecture="$(architecture "$program")"
if [ -n "$asked" ] && [ "$asked" != "$architecture" ]; then
  echo "$program is for $architecture, not for $asked" >&2
  exit 1
fi
read -ra tools < <(packaging_tools "$architecture")
needs "${tools[@]}"
name=monitor-gateway
target="$(machine "$architecture")-unknown-linux-gnu"
version="$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)"
[ "$(run_program "$program" --version 2>/dev/null || true)" = "monitor $version" ] || {
  echo "$program is not monitor $version: build it from this source" >&2
  exit 1
}
depends="$(required_packages "$program")"
# Files get the time of the last commit, so that the package is reproducible.
SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}"
export SOURCE_DATE_EPOCH
mkdir -p "$folder"
root="$(mktemp -d "$folder/root.XXXXXX")"
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"

place() {
  install -D -m "$1" "$2" "$root/$3"
}

# Compresses without a name or a time, as Debian packages require.
compressed() {
  gzip -9n "$root/$1"
}

program_and_what_it_prints() {
  install -d "$root/usr/bin"
  "$(binutil "$architecture" strip)" -o "$root/usr/bin/monitor" "$program"
  # The crates in it, in the section where scanners for known weaknesses look for them.
  packaging/sbom.py --auditable --target "$target" >"$root/crates"
  "$(binutil "$architecture" objcopy)" --add-section .dep-v0="$root/crates" \
    --set-section-flags .dep-v0=noload,readonly "$root/usr/bin/monitor"
  rm "$root/crates"
  chmod 755 "$root/usr/bin/monitor"
  install -d "$root/usr/share/man/man1" "$root/usr/share/zsh/vendor-completions"
  install -d "$root/usr/share/bash-completion/completions" "$root/usr/share/fish/vendor_completions.d"
  run_program "$program" man "$root/usr/share/man/man1"
  gzip -9n "$root"/usr/share/man/man1/*
  run_program "$program" completions bash >"$root/usr/share/bash-completion/completions/monitor"
  run_program "$program" completions zsh >"$root/usr/share/zsh/vendor-completions/_monitor"
  run_program "$program" completions fish >"$root/usr/share/fish/vendor_completions.d/monitor.fish"
}

# For each role a configuration file, and a file for secrets that only root can read.
configuration() {
  local role
  for role in all gateway analysis; do
    place 644 "conf/$role.yaml" "etc/monitor/$role.yaml"
    place 600 packaging/deb/env "etc/monitor/$role.env"
  done
  (cd "$root" && find etc -type f -printf '/%p\n' | sort) >"$root/DEBIAN/conffiles"
  local unit
  for unit in systemd/*.service; do
    place 644 "$unit" "usr/lib/systemd/system/$(basename "$unit")"
  done
  place 644 packaging/deb/sysusers usr/lib/sysusers.d/monitor-gateway.conf
}

documents() {
  local documents="usr/share/doc/$name"
  place 644 packaging/deb/copyright "$documents/copyright"
  place 644 NOTICE "$documents/NOTICE"
  local page
  for page in README.md CHANGELOG.md SECURITY.md docs/*.md; do
    place 644 "$page" "$documents/$page"
    compressed "$documents/$page"
  done
  place 644 conf/grafana/monitor.json "$documents/grafana/monitor.json"
  place 644 conf/prometheus/alerts.yaml "$documents/prometheus/alerts.yaml"
  packaging/sbom.py --target "$target" >"$root/$documents/sbom.cdx.json"
  {
    echo "$name ($version) unstable; urgency=medium"
    echo
    echo "  * Version $version."
    echo
    echo " -- $maintainer  $(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")"
  } >"$root/$documents/changelog"
  compressed "$documents/changelog"
}

# As Debian counts it, from the lengths of the files alone: what they take on a disk differs by its format.
installed_kib() {
  find "$root" -path "$root/DEBIAN" -prune -o -printf '%y %s\n' |
    awk '{ kib += $1 == "f" ? int(($2 + 1023) / 1024) : 1 } END { print kib }'
}

control() {
  local script
  for script in postinst prerm postrm; do
    place 755 "packaging/deb/$script" "DEBIAN/$script"
  done
  (cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
  cat >"$root/DEBIAN/control" <<END
Package: $name
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $(installed_kib)
Depends: $depends
Recommends: ca-certificates
Section: net
Priority: optional
Description: gateway and analysis backend for calls of language models
 A reverse proxy for calls in the reference chat API format: each call is
 registered before and after the model answers, checked for sensitive data,
 and stored. With it come the analysis API and its web pages, units for
 systemd, a dashboard and alert rules.
END
  [ -z "${DEB_HOMEPAGE:-}" ] || echo "Homepage: $DEB_HOMEPAGE" >>"$root/DEBIAN/control"
}

maintainer="${DEB_MAINTAINER:-Monitor Gateway maintainers <maintainers@monitor-gateway.invalid>}"
mkdir "$root/DEBIAN"
program_and_what_it_prints
configuration
documents
control
package="$folder/${name}_${version}_${architecture}.deb"
find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group -Z"${DEB_COMPRESSION:-xz}" --build "$root" "$package" >/dev/null
echo "$package"
