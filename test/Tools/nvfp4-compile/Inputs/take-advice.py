# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Asks for strategies that are refused, and then for the nearest ones that the errors name."""
import re
import subprocess
import sys

MODULE = """
!a = !grouped_scaled_gemm.scaled<16x512, nvfp4>
!b = !grouped_scaled_gemm.scaled<512x512, nvfp4>
func.func @f(%a: !a, %b: !b, %c: tensor<16x512xf32>) -> tensor<16x512xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<16x512xf32>)
      {strategy = #grouped_scaled_gemm.strategySTRATEGY} -> tensor<16x512xf32>
  return %d : tensor<16x512xf32>
}
"""
COMMON = ["cluster_m = 16", "cluster_m = 2", "cluster_n = 2", "split_k = 2", "scheduler = launch_control",
          "scheduler = dynamic_counter", "stages = 40", "dynamic_n = true"]
STRATEGIES = {
    "sm_100a": ["<m = 128, n = 100, k = 256>", "<m = 128, n = 104, k = 256, swap_ab = true>",
                "<m = 256, n = 64, k = 256, ctas = 2>", "<m = 64, n = 128, k = 128>",
                "<m = 128, n = 128, k = 256, epilogue_n = 128>", "<m = 128, n = 256, k = 256, scale_stages = 5>"]
               + [f"<m = 128, n = 128, k = 256, {other}>" for other in COMMON],
    "sm_90a": ["<m = 100, n = 128, k = 128>", "<m = 128, n = 64, k = 256>", "<m = 248, n = 128, k = 256>",
               "<m = 128, n = 128, k = 128, ctas = 2>", "<m = 96, n = 256, k = 256, stages = 4>"]
              + [f"<m = 128, n = 128, k = 128, {other}>" for other in COMMON],
}


def compile(tool, target, strategy):
    return subprocess.run([tool, "-", f"--target={target}", "--emit=ptx", "-o", "-"], capture_output=True, text=True,
                          input=MODULE.replace("STRATEGY", strategy))


for target, strategies in STRATEGIES.items():
    for strategy in strategies:
        refused = compile(sys.argv[1], target, strategy)
        advice = re.search(r"nearest (?:legal strategy|one) is (<[^>]*>)", refused.stderr)
        if refused.returncode == 0 or not advice:
            sys.exit(f"{target} {strategy}: expected to be refused with the nearest strategy\n{refused.stderr}")
        taken = compile(sys.argv[1], target, advice[1])
        if taken.returncode != 0:
            sys.exit(f"{target} {strategy}: {advice[1]} is refused\n{taken.stderr}")
    print(f"{target}: {len(strategies)} taken")
