# What a built program says of itself, and how to run one of another architecture; sourced by the other scripts of
# this folder. Needs binutils.

# Debian's name of the architecture that a program is for.
architecture() {
  local machine
  machine="$(LC_ALL=C readelf -h "$1" 2>/dev/null | sed -n 's/^ *Machine: *//p')"
  case "$machine" in
  "Advanced Micro Devices X86-64") echo amd64 ;;
  AArch64) echo arm64 ;;
  "")
    echo "$1 is no Linux program" >&2
    return 1
    ;;
  *)
    echo "$1 is for $machine: packages are made for amd64 and arm64" >&2
    return 1
    ;;
  esac
}

# The name that tools have for an architecture: x86_64, aarch64.
machine() {
  case "$1" in
  amd64) echo x86_64 ;;
  arm64) echo aarch64 ;;
  esac
}

is_foreign() {
  [ "$1" != "$(dpkg --print-architecture)" ]
}

# The strip, objcopy, ... of an architecture.
binutil() {
  local name
  name="$(machine "$1")-linux-gnu-$2"
  if is_foreign "$1" || command -v "$name" >/dev/null; then echo "$name"; else echo "$2"; fi
}

# Runs PROGRAM with arguments: one of another architecture under qemu, with the C library of that architecture.
run_program() {
  local architecture machine
  architecture="$(architecture "$1")"
  if is_foreign "$architecture"; then
    machine="$(machine "$architecture")"
    "qemu-$machine-static" -L "/usr/$machine-linux-gnu" "$@"
  else
    "$@"
  fi
}

# COMMAND=PACKAGE of what packaging a program of an architecture needs.
packaging_tools() {
  local machine
  echo dpkg-deb=dpkg readelf=binutils python3=python3
  if is_foreign "$1"; then
    machine="$(machine "$1")"
    echo "$machine-linux-gnu-objcopy=binutils-${machine/_/-}-linux-gnu" \
      "qemu-$machine-static=qemu-user-static" "/usr/$machine-linux-gnu/lib/libc.so.6=libc6-$1-cross"
  fi
}

# The Debian packages with the libraries that a program requires, in the form of the field Depends.
required_packages() {
  local library version packages=()
  while read -r library; do
    case "$library" in
    libc.so.6)
      version="$(LC_ALL=C readelf -VW "$1" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1 | cut -d_ -f2)"
      packages+=("libc6 (>= $version)")
      ;;
    # Parts of the C library.
    libm.so.6 | libpthread.so.0 | libdl.so.2 | librt.so.1 | ld-linux-*.so.*) ;;
    libgcc_s.so.1) packages+=(libgcc-s1) ;;
    *)
      echo "$1 requires $library: packaging/program.sh names no package for it" >&2
      return 1
      ;;
    esac
  done < <(LC_ALL=C readelf -dW "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
  printf '%s\n' "${packages[@]}" | sort | paste -sd, | sed 's/,/, /g'
}
