# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Running gates and test runners, for scripts/check and scripts/test. The folder
# $results gets NAME.rc and NAME.log of each; scripts/lib/sum_results.py adds
# them up.

# check NAME CMD... : one gate or runner. Its exit status is kept for the sum,
# as a failure until it has ended; its output is shown whole on failure, and
# only the closing lines otherwise.
check() {
  local name=$1 rc=0
  shift
  say "$name"
  echo 1 >"$results/$name.rc"
  logged "$results/$name.log" "$@" || rc=$?
  echo "$rc" >"$results/$name.rc"
  if [ "$rc" = 0 ]; then
    closing_lines "$results/$name.log"
  else
    tail -n 400 "$results/$name.log"
    echo "---- exit status $rc from: $*"
  fi
}

# The summary of a runner, or the last lines of a gate.
closing_lines() {
  grep -E '^(Total Discovered Tests:|Testing Time:|  (Passed|Unsupported|Expectedly Failed|Excluded) *:|[0-9]+% tests passed|=*.*[0-9]+ passed.* in )' "$1" ||
    tail -n 6 "$1"
}
