# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The parts that every script of this folder shares: paths, progress lines,
# and commands that are silent unless they fail. Source it; do not run it.
#
# NVFP4_PRESET names a preset of CMakePresets.json; default where it is unset.
#
#   say TEXT              one progress line
#   die TEXT              a reason on stderr, exit 1
#   quietly NAME CMD...   runs CMD with its output in build/logs/NAME.log; on
#                         failure prints the end of the log and the command

set -euo pipefail

NVFP4_SOURCE_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
NVFP4_PRESET=${NVFP4_PRESET:-default}
case $NVFP4_PRESET in
  default) NVFP4_BUILD_DIR=$NVFP4_SOURCE_DIR/build ;;
  *) NVFP4_BUILD_DIR=$NVFP4_SOURCE_DIR/build/$NVFP4_PRESET ;;
esac
NVFP4_LOG_DIR=$NVFP4_BUILD_DIR/logs
cd "$NVFP4_SOURCE_DIR"
# A clone that belongs to another user (a mounted folder in a container) is
# read all the same.
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory
export GIT_CONFIG_VALUE_0=$NVFP4_SOURCE_DIR

say() { printf '[%4ds] %s\n' "$SECONDS" "$*"; }

die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# logged LOG CMD... : runs CMD into LOG; every 30 seconds shows how far it got.
logged() {
  local log=$1 rc=0 ticker
  shift
  : >"$log"
  # The sleep outlives the ticker for a moment and must not hold our stdout.
  (while sleep 30 >/dev/null 2>&1; do
    say "  ... $(tail -n 1 "$log" | tr -d '\r' | cut -c 1-100)"
  done) &
  ticker=$!
  "$@" >"$log" 2>&1 </dev/null || rc=$?
  kill "$ticker" 2>/dev/null
  wait "$ticker" 2>/dev/null || true
  return "$rc"
}

quietly() {
  local name=$1 rc=0
  shift
  mkdir -p "$NVFP4_LOG_DIR"
  local log=$NVFP4_LOG_DIR/$name.log
  logged "$log" "$@" || rc=$?
  if [ "$rc" != 0 ]; then
    {
      printf -- '---- last lines of %s\n' "$log"
      tail -n 60 "$log"
      printf -- '---- exit status %d from: %s\n' "$rc" "$*"
    } >&2
  fi
  return "$rc"
}

# Jobs that fit this machine: one per core, but 1.5 GB of memory for each,
# which is what a translation unit full of MLIR headers takes at worst.
jobs_that_fit() {
  local cores memory_kb by_memory
  cores=$(nproc)
  memory_kb=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
  by_memory=$((memory_kb / 1500000))
  [ "$by_memory" -ge 1 ] || by_memory=1
  [ "$by_memory" -lt "$cores" ] && echo "$by_memory" || echo "$cores"
}
