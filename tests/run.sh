#!/usr/bin/env bash
# Installs what the tests need and is missing, then runs all of them. Needs cargo, a C compiler and make;
# everything it installs goes under target/test-env, or the folder that MONITOR_TEST_ENVIRONMENT names, but for the
# browser, PostgreSQL, libfaketime, sslscan, systemd, binutils, valgrind, nginx, HAProxy, Prometheus, Python's venv
# module and Node.js, which come from the system's packages when this runs as root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

environment="${MONITOR_TEST_ENVIRONMENT:-$PWD/target/test-env}"
target="${CARGO_TARGET_DIR:-target}"
policy=/usr/sbin/policy-rc.d
mkdir -p "$environment"

# System packages need apt and root: without them this says what is missing, and ends.
must_install() {
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "missing: $*; install it and run this again" >&2
    exit 1
  fi
}

# Installs system packages, quietly.
packages() {
  must_install "$@"
  if [ -z "${packages_listed:-}" ]; then
    apt-get update -qq >/dev/null
    packages_listed=1
  fi
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

find_postgres() {
  ls /usr/lib/postgresql/*/bin/initdb 2>/dev/null | tail -n 1 | grep .
}

# The server's programs alone: the tests make and end their own clusters.
install_postgres() {
  packages postgresql-common
  echo 'create_main_cluster = false' >>/etc/postgresql-common/createcluster.conf
  packages postgresql
}

# Installs packages of services without starting them. However this ends, the file that forbids starts goes.
without_services() {
  must_install "$@"
  if [ -e "$policy" ]; then
    packages "$@"
    return
  fi
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
  packages "$@"
  rm "$policy"
  trap - EXIT
}

find_faketime() {
  ls /usr/lib/*/faketime/libfaketimeMT.so.1 2>/dev/null | grep .
}

find_browser() {
  command -v chromium || command -v chromium-browser || command -v google-chrome
}

# Runs an installation when its list has changed since the last one that succeeded.
unless_installed() {
  local list="$1" stamp="$2"
  shift 2
  if ! cmp -s "$list" "$stamp"; then
    "$@"
    cp "$list" "$stamp"
  fi
}

# Makes an environment of Python from a list of packages.
install_python() {
  local folder="$1" list="$2"
  rm -rf "$folder"
  python3 -m venv "$folder"
  "$folder/bin/pip" install --quiet --disable-pip-version-check -r "$list"
}

# Makes a folder with npm packages from a list of them.
install_node() {
  local folder="$1" list="$2"
  rm -rf "$folder"
  mkdir -p "$folder"
  cp "$list" "$folder/"
  (cd "$folder" && npm install --silent --no-audit --no-fund)
}

# Libraries of Python and Node.js that the tests call the program with.
install_libraries() {
  unless_installed tests/clients/requirements.txt "$environment/python.installed" \
    install_python "$environment/python" tests/clients/requirements.txt
  # Earlier major versions of openai, with libraries that need them, and libraries that need older ones of others.
  for name in openai-1 openai-2 semantic-kernel; do
    unless_installed "tests/clients/requirements-$name.txt" "$environment/python-$name.installed" \
      install_python "$environment/python-$name" "tests/clients/requirements-$name.txt"
  done
  unless_installed tests/clients/package.json "$environment/node.installed" \
    install_node "$environment/node" tests/clients/package.json
  # Linters of the OpenAPI documents, generators of clients, and the frameworks that the packages have middleware for.
  unless_installed tests/contract/requirements.txt "$environment/contract-python.installed" \
    install_python "$environment/contract-python" tests/contract/requirements.txt
  unless_installed tests/contract/package.json "$environment/contract-node.installed" \
    install_node "$environment/contract-node" tests/contract/package.json
}

{ command -v cc && command -v make; } >/dev/null || packages gcc libc6-dev make
cargo fmt --version >/dev/null 2>&1 || rustup component add rustfmt
cargo clippy --version >/dev/null 2>&1 || rustup component add clippy
python3 -c 'import venv, ensurepip' 2>/dev/null || packages python3 python3-venv
command -v npm >/dev/null || packages nodejs npm
# Most of their time is the network's: the lints go on meanwhile.
install_libraries &
libraries=$!
find_browser >/dev/null || packages chromium
find_postgres >/dev/null || install_postgres
find_faketime >/dev/null || packages faketime
command -v systemd-analyze >/dev/null || packages systemd
command -v sslscan >/dev/null || packages sslscan
# Second readers of HTTP/1, which the tests start themselves: installing them starts no service.
command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || without_services nginx-light
command -v haproxy >/dev/null || [ -x /usr/sbin/haproxy ] || without_services haproxy
# promtool checks and tries the alert rules; the server that comes with it is not started.
command -v promtool >/dev/null || without_services prometheus
# The Debian package is built, taken apart again, and installed in a system of its own.
command -v dpkg-deb >/dev/null || packages dpkg
[ "$(id -u)" != 0 ] || command -v debootstrap >/dev/null || packages debootstrap
command -v curl >/dev/null || packages curl
# Without the symbols of the C library valgrind starts no program.
{ command -v valgrind && [ -e /usr/lib/debug/.build-id ]; } >/dev/null || packages valgrind libc6-dbg
{ command -v readelf && command -v objcopy && command -v strip; } >/dev/null || packages binutils

export MONITOR_TEST_PYTHON="$environment/python/bin/python"
export MONITOR_TEST_PYTHON_OPENAI_1="$environment/python-openai-1/bin/python"
export MONITOR_TEST_PYTHON_OPENAI_2="$environment/python-openai-2/bin/python"
export MONITOR_TEST_PYTHON_SEMANTIC_KERNEL="$environment/python-semantic-kernel/bin/python"
export MONITOR_TEST_NODE_DIR="$environment/node"
export MONITOR_TEST_CONTRACT_PYTHON="$environment/contract-python/bin/python"
export MONITOR_TEST_CONTRACT_NODE_DIR="$environment/contract-node"
MONITOR_TEST_CHROMIUM="$(find_browser)"
export MONITOR_TEST_CHROMIUM

# A first build is quicker without incremental compilation, which saves time in later builds only.
[ -d "$target/debug" ] || export CARGO_INCREMENTAL=0
cargo fmt --all --check
cargo clippy --workspace --all-targets -- -D warnings
wait "$libraries"
# Everything, those tests too that need what was installed above, but for two of docs/development.md: coding agents,
# which tests/campaign/agents.sh installs, and `cargo install`, which builds the libraries once more for ten minutes.
cargo test --workspace -- --include-ignored --skip coding_agents::table --skip cargo_install::
# The package in a fresh system, where this may make one.
if [ "$(id -u)" = 0 ]; then
  packaging/try-deb.sh "$(DEB_COMPRESSION=none packaging/deb.sh "$target/debug/monitor" "$environment/debian")"
fi
# Models from a folder: a runtime of their own, so only what needs it.
cargo test --features onnx -p monitor-detect --lib -- onnx
# With --workspace as above: else cargo chooses other features of libraries, and builds them again.
cargo test --workspace --features onnx --test detect onnx::
cargo test --workspace --bench gateway --bench analysis --bench ops --bench json --bench policy
# Fails where a call costs more instructions than before. Only the crates of this workspace are built again, optimized.
cargo counted gateway -- gate
