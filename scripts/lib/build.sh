# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Configuring and building with the preset NVFP4_PRESET.

configure() {
  say "configuring"
  quietly configure cmake --preset "$NVFP4_PRESET" ||
    die "cmake could not configure"
}

# build WHAT TARGET... : WHAT names the progress line and the log.
build() {
  local what=$1
  shift
  say "building $what"
  quietly "build-$what" ninja -C "$NVFP4_BUILD_DIR" -j "$(jobs_that_fit)" "$@" ||
    die "could not build $what"
}
