# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Debian packages by purpose, and how the missing ones get installed. Debian 12
# carries LLVM 22 in its security suite, Debian 13 in the main one. CUDA is in
# neither: tests that need ptxas are gated by a lit feature.

# Without -dev packages that LLVM's CMake files name (libzstd and others): only
# LLVM's static components need them, which the wheel alone links.
NVFP4_BUILD_PACKAGES=(
  ca-certificates git
  clang-22 lld-22 cmake ninja-build ccache
  llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools
  libomp-22-dev libgtest-dev libbenchmark-dev nlohmann-json3-dev libdlpack-dev
  python3 python3-venv
)
# Further packages for scripts/build-wheel: archives that LLVM's ask for.
NVFP4_WHEEL_PACKAGES=(zlib1g-dev libzstd-dev)
# Packages for scripts/check: TableGen and the .td files of MLIR.
NVFP4_CHECK_PACKAGES=(
  git python3 clang-format-22 llvm-22 libmlir-22-dev mlir-22-tools
)
# python3-psutil lets lit stop a test that hangs.
NVFP4_TEST_PACKAGES=(clang-format-22 python3-psutil)
# Further packages of a preset.
preset_packages() {
  case $1 in
    asan | fuzz) echo libclang-rt-22-dev ;;
    gcc) echo g++-12 ;;
  esac
}

package_is_installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# ensure_packages PACKAGE...
ensure_packages() {
  command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
    die "expected a Debian 12 or 13 system with apt-get; elsewhere install LLVM and MLIR 22.1, CMake 3.25 and Ninja by hand, then run cmake --preset default"
  local missing=() package
  for package in "$@"; do
    package_is_installed "$package" || missing+=("$package")
  done
  [ "${#missing[@]}" -gt 0 ] || return 0

  local as_root=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null ||
      die "these packages are missing and neither root nor sudo is at hand: ${missing[*]} (install them with: apt-get install --no-install-recommends ${missing[*]})"
    as_root=(sudo)
  fi
  say "installing ${#missing[@]} packages: ${missing[*]}"
  quietly apt-update "${as_root[@]}" apt-get update ||
    die "apt-get update failed"
  quietly apt-install "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "${missing[@]}" ||
    die "could not install: ${missing[*]}"
}
