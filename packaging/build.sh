#!/usr/bin/env bash
# Builds the shipped program and prints its path:
#
#   packaging/build.sh [amd64|arm64]
#
# Without an architecture: for this machine and systems with its C library. With one: for every Linux of that
# architecture with glibc 2.28 or newer, on whatever machine this runs; zig is then the C compiler and the linker.
# Needs cargo, a C compiler, make and, with an architecture, rustup and Python 3 with its venv module. zig goes to
# the target folder. PROFILE names another profile than dist.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

C_LIBRARY=2.28
profile="${PROFILE:-dist}"
folder="${CARGO_TARGET_DIR:-target}"

# The program holds names of source files; the folders of this machine would make it another one elsewhere.
cargo_home="${CARGO_HOME:-$HOME/.cargo}"
export RUSTFLAGS="${RUSTFLAGS:-} --remap-path-prefix=$cargo_home=/cargo --remap-path-prefix=$PWD=/build"
export CFLAGS="${CFLAGS:-} -ffile-prefix-map=$cargo_home=/cargo -ffile-prefix-map=$PWD=/build"

# Puts the compiler of packaging/zig.txt on the path.
zig() {
  local tools="$folder/release-tools"
  if ! cmp -s packaging/zig.txt "$tools/installed"; then
    python3 -m venv --clear "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check -r packaging/zig.txt
    cp packaging/zig.txt "$tools/installed"
  fi
  PATH="$(realpath "$tools")/bin:$PATH"
}

case "${1:-}" in
"") target="" ;;
amd64) target=x86_64-unknown-linux-gnu ;;
arm64) target=aarch64-unknown-linux-gnu ;;
*)
  echo "unknown architecture $1: use amd64 or arm64" >&2
  exit 2
  ;;
esac
case "${1:-$(uname -m)}" in
# Kernels of this architecture have pages of 4, 16 or 64 KiB: the allocator runs where they are at most this large.
arm64 | aarch64) export JEMALLOC_SYS_WITH_LG_PAGE=16 ;;
esac

begin=$SECONDS
if [ -z "$target" ]; then
  cargo build --profile "$profile" --locked --bin monitor
else
  command -v rustup >/dev/null || {
    echo "missing: rustup, which has the standard library for $target; install it and run this again" >&2
    exit 1
  }
  zig
  rustup --quiet target add "$target"
  cargo zigbuild --profile "$profile" --locked --bin monitor --target "$target.$C_LIBRARY"
fi
echo "built in $(((SECONDS - begin) / 60)) min $(((SECONDS - begin) % 60)) s" >&2
echo "$folder/${target:+$target/}$profile/monitor"
