# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table and the picture of a run, beside what this machine can do at best."""

import time

import numpy as np


class Limits:
    """Measured rates of this machine: float32 matrix product (GFLOP/s) and memory read (GB/s)."""

    def __init__(self, layer):
        a = np.ones((1024, 1024), np.float32)
        a @ a
        self.gflops = 2 * 1024**3 / min(timed(lambda: a @ a) for _ in range(5)) * 1e-9
        block = np.ones(1 << 26, np.float32)
        block.sum()
        self.bandwidth = block.nbytes / min(timed(block.sum) for _ in range(3)) * 1e-9
        self.weight_bytes = sum(layer[n].nbytes for n in ("w13.values", "w13.scales", "w2.values", "w2.scales"))
        self.weight_milliseconds = self.weight_bytes / self.bandwidth * 1e-6


def timed(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def print_table(stages, limits):
    print(f"\n{'stage':<18}{'ms':>9}{'GFLOP/s':>10}{'error/bound':>13}{'vs float64':>12}  result")
    for s in stages:
        speed = f"{s.flops / s.milliseconds * 1e-6:.0f}" if s.flops else ""
        bound = "" if s.bound_ratio is None else f"{s.bound_ratio:.3f}"
        print(f"{s.name:<18}{s.milliseconds:>9.3f}{speed:>10}{bound:>13}{s.error:>12.1e}  {s.note}")
    whole = stages[-1]
    print(f"\nThis machine: float32 BLAS {limits.gflops:.0f} GFLOP/s, memory read {limits.bandwidth:.0f} GB/s.")
    print(f"The layer's products in float32 BLAS would take {whole.flops / limits.gflops * 1e-6:.2f} ms; reading its "
          f"{limits.weight_bytes / 1e6:.1f} MB of weights once takes {limits.weight_milliseconds:.2f} ms; "
          f"the layer took {whole.milliseconds:.2f} ms.")


def draw(stages, limits, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5))
    parts = stages[:-1]
    names = [s.name for s in parts]
    floor = 1e-17
    left.barh(names, [max(s.error, floor) for s in parts], color="tab:blue")
    left.axvline(2.0**-9, color="tab:gray", linestyle=":", label="half a bf16 ulp")
    left.set_xscale("log")
    left.set_xlim(floor, 1)
    left.set_xlabel("relative L2 error against float64 (no bar: exact)")
    left.set_title("Error of each stage on its own inputs")
    left.legend()
    left.invert_yaxis()
    whole = stages[-1]
    bars = [(s.name, s.milliseconds, "tab:blue") for s in parts]
    bars.append(("whole layer", whole.milliseconds, "tab:green"))
    bars.append(("float32 BLAS, products", whole.flops / limits.gflops * 1e-6, "tab:gray"))
    bars.append(("reading the weights", limits.weight_milliseconds, "tab:gray"))
    right.barh([b[0] for b in bars], [b[1] for b in bars], color=[b[2] for b in bars])
    right.set_xlabel("milliseconds (gray: this machine's limits)")
    right.set_title("Time of each stage")
    right.invert_yaxis()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
