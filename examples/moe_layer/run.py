#!/usr/bin/env python3
# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles layer.mlir, runs it on a CPU (or its products on a GPU or in the
simulator) and checks every stage.

Each stage runs on the bytes that the stage before it produced and is checked
twice: by nvfp4-run against the reference interpreter with its derived bound,
and here against float64 numpy (oracle.py), which shares nothing with either.
At the end the whole layer must give the very bits of its stages.

Prints a table and writes moe_layer.png. Exits non-zero on any mismatch.
"""

import argparse
import dataclasses
import pathlib
import re
import subprocess
import sys
import time

import ml_dtypes
import numpy as np

import generate
import oracle
from nvfp4_numpy import dequantize, quantize_activation
from stack import Checkpoint, stack

HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass
class Stage:
    name: str
    milliseconds: float
    bound_ratio: float  # largest error / derived bound, by nvfp4-run
    error: float  # relative L2 error against float64 numpy
    note: str
    flops: float = 0.0


class Runner:
    def __init__(self, build, work, repeats, device, target):
        self.tool = build / "bin" / "nvfp4-run"
        self.work = work
        self.repeats = repeats
        self.device = [f"--device={device}"] + ([f"--target={target}"] if target else [])

    def __call__(self, entry, inputs, outputs):
        """Runs one function; returns (arrays, milliseconds, error / bound)."""
        paths = [self.work / f"{name}.npy" for name in outputs]
        command = [str(self.tool), str(HERE / "layer.mlir"), f"--entry={entry}", *self.device,
                   "--inputs=" + ",".join(str(i) for i in inputs), "--check=reference",
                   f"--time={self.repeats}", "--outputs=" + ",".join(map(str, paths))]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{result.stdout}{result.stderr}")
        elapsed = re.search(r"median ([0-9.]+) ms", result.stdout)
        ratios = [float(r) for r in re.findall(r"\(([0-9.eE+-]+) of its bound\)", result.stdout)]
        if not elapsed or not ratios:
            sys.exit(f"cannot read the output of nvfp4-run:\n{result.stdout}")
        return [np.load(p) for p in paths], float(elapsed[1]), max(ratios)


def relative_error(actual, expected):
    return float(np.linalg.norm(actual - expected) / max(np.linalg.norm(expected), 1e-300))


def as_bf16(array):
    return array.view(ml_dtypes.bfloat16).astype(np.float64)


def as_scales(array):
    return array.view(ml_dtypes.float8_e4m3fn).astype(np.float64)


def expect(condition, message):
    if not condition:
        sys.exit(f"moe_layer: {message}")


def run_stages(run, work, layer, tokens):
    """Runs the stages one after another and checks each against numpy."""
    stages = []
    weights_file = work / "layer.safetensors"
    x = work / "tokens.safetensors:tokens"

    def out(name):
        return work / f"{name}.npy"

    def weight(name):
        return f"{weights_file}:{name}"

    (logits,), ms, ratio = run("router", [x, weight("router")], ["logits"])
    error = relative_error(logits, oracle.router(tokens, layer["router"]))
    # As many roundings to f32 as there are terms, which add up like independent ones; four times that.
    limit = 4 * np.sqrt(layer["router"].shape[1]) * 2.0**-24
    expect(error < limit, f"router: relative error {error:.1e}, expected < {limit:.1e}")
    stages.append(Stage("router", ms, ratio, error, "f32 sums"))

    (weights, experts), ms, ratio = run("route", [out("logits")], ["weights", "experts"])
    expected_weights, expected_experts = oracle.route(logits)
    expect(np.array_equal(experts, expected_experts), "route: experts differ from numpy")
    error = relative_error(weights, expected_weights)
    # Roundings to f32: of the argument of exp and so of the sum, by as much as arguments differ; of exp, 4 units in
    # the last place, twice; of sum and quotient.
    spread = np.log(expected_weights.max(1) / expected_weights.min(1)).max()
    limit = (2 * spread + 2 * 8 + oracle.TOP_K + 1) * 2.0**-24
    expect(error < limit, f"route: relative error {error:.1e}, expected < {limit:.1e}")
    stages.append(Stage("route", ms, ratio, error, f"top-{oracle.TOP_K} equal"))

    (ends, token_of_row, row_of_slot), ms, ratio = run("sort", [out("experts")], ["ends", "token_of_row", "row_of_slot"])
    for actual, expected in zip((ends, token_of_row, row_of_slot), oracle.sort(experts, ends.size)):
        expect(np.array_equal(actual, expected), "sort: order differs from numpy")
    stages.append(Stage("sort", ms, ratio, 0.0, "order equal"))

    (q, qs), ms, ratio = run("quantize", [x, out("token_of_row"), weight("w13.encode")], ["q", "qs"])
    expected_q, expected_qs = oracle.quantize(tokens, token_of_row, layer["w13.encode"][0])
    expect(np.array_equal(q.view(np.uint8), expected_q) and np.array_equal(as_scales(qs), expected_qs),
           "quantize: bytes differ from numpy")
    stages.append(Stage("quantise", ms, ratio, 0.0, "bytes equal"))

    (h, hs), ms, ratio = run("gate_up", [out("q"), out("qs"), out("ends"), weight("w13.values"), weight("w13.scales"),
                                         weight("w13.alpha"), weight("w2.encode")], ["h", "hs"])
    q, h = q.view(np.uint8), h.view(np.uint8)
    encode2 = layer["w2.encode"][0]
    exact = oracle.gate_up(q, as_scales(qs), ends, layer["w13.values"], layer["w13.scales"].astype(np.float64), layer["w13.alpha"])
    expected_h, expected_hs = quantize_activation(exact, encode2)
    actual_h = dequantize(h, as_scales(hs)) / np.float64(encode2)
    error = relative_error(actual_h, dequantize(expected_h, expected_hs) / np.float64(encode2))
    equal = float(np.mean(h == expected_h))
    expect(equal > 0.999, f"gate_up: only {equal:.4%} of the bytes equal numpy")
    flops = 2.0 * q.shape[0] * layer["w13.values"].shape[1] * q.shape[1] * 2
    stages.append(Stage("gate/up + SwiGLU", ms, ratio, error, f"{equal:.3%} bytes equal", flops))

    np.save(out("rows"), np.array(q.shape[0], np.int64))
    (y,), ms, ratio = run("down", [out("h"), out("hs"), f"index:{q.shape[0]}", out("ends"), weight("w2.values"),
                                   weight("w2.scales"), weight("w2.alpha")], ["y"])
    y = as_bf16(y)
    error = relative_error(y, oracle.down(h, as_scales(hs), ends, layer["w2.values"],
                                          layer["w2.scales"].astype(np.float64), layer["w2.alpha"]))
    # Half a unit in the last place of bf16 is 2^-9, and sums in f32 are off by far less.
    expect(error < 2.0**-8, f"down: relative error {error:.1e}, expected < 2^-8 (bf16)")
    flops = 2.0 * h.shape[0] * layer["w2.values"].shape[1] * h.shape[1] * 2
    stages.append(Stage("down", ms, ratio, error, "bf16 rounding", flops))

    (combined,), ms, ratio = run("combine", [out("y"), out("row_of_slot"), out("weights")], ["combined"])
    error = relative_error(as_bf16(combined), oracle.combine(y, row_of_slot, weights))
    expect(error < 2.0**-8, f"combine: relative error {error:.1e}, expected < 2^-8 (bf16)")
    stages.append(Stage("combine", ms, ratio, error, "bf16 rounding"))

    (whole,), ms, ratio = run("layer", [x, weight("router")] + [weight(f"w13.{p}") for p in ("values", "scales", "alpha", "encode")]
                              + [weight(f"w2.{p}") for p in ("values", "scales", "alpha", "encode")], ["whole"])
    expect(np.array_equal(whole.view(np.uint16), combined.view(np.uint16)), "the layer differs from its stages")
    stages.append(Stage("whole layer", ms, ratio, 0.0, "same bits as the stages", stages[4].flops + stages[5].flops))
    return stages


def machine_limits():
    """Measured limits: float32 matrix product (GFLOP/s) and memory read (GB/s)."""
    a = np.ones((1024, 1024), np.float32)
    a @ a
    best = min(timed(lambda: a @ a) for _ in range(5))
    block = np.ones(1 << 26, np.float32)
    block.sum()
    read = min(timed(block.sum) for _ in range(3))
    return 2 * 1024**3 / best * 1e-9, block.nbytes / read * 1e-9


def timed(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def print_table(stages, gflops, bandwidth, weight_bytes):
    print(f"\n{'stage':<18}{'ms':>9}{'GFLOP/s':>10}{'error/bound':>13}{'vs float64':>12}  result")
    for s in stages:
        speed = f"{s.flops / s.milliseconds * 1e-6:.0f}" if s.flops else ""
        print(f"{s.name:<18}{s.milliseconds:>9.3f}{speed:>10}{s.bound_ratio:>13.3f}{s.error:>12.1e}  {s.note}")
    whole = stages[-1]
    print(f"\nThis machine: float32 BLAS {gflops:.0f} GFLOP/s, memory read {bandwidth:.0f} GB/s.")
    print(f"The layer's products in float32 BLAS would take {whole.flops / gflops * 1e-6:.2f} ms; reading its "
          f"{weight_bytes / 1e6:.1f} MB of weights once takes {weight_bytes / bandwidth * 1e-6:.2f} ms; "
          f"the layer took {whole.milliseconds:.2f} ms.")


def draw(stages, gflops, bandwidth, weight_bytes, path):
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
    bars.append(("float32 BLAS, products", whole.flops / gflops * 1e-6, "tab:gray"))
    bars.append(("reading the weights", weight_bytes / bandwidth * 1e-6, "tab:gray"))
    right.barh([b[0] for b in bars], [b[1] for b in bars], color=[b[2] for b in bars])
    right.set_xlabel("milliseconds (gray: this machine's limits)")
    right.set_title("Time of each stage")
    right.invert_yaxis()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build-dir", type=pathlib.Path, default=HERE.parents[1] / "build")
    parser.add_argument("--output", type=pathlib.Path, help="directory (default: <build>/moe_layer)")
    parser.add_argument("--naming", choices=["modelopt", "compressed-tensors"], default="modelopt")
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--repeats", type=int, help="calls to time (default: 5, one on sim)")
    parser.add_argument("--device", choices=["cpu", "sim", "cuda"], default="cpu",
                        help="where products run: on sim and cuda as kernels")
    parser.add_argument("--target", choices=["sm_100a", "sm_90a"],
                        help="whose kernels they are (default: what the device is; sim is sm_100a)")
    args = parser.parse_args()
    build = args.build_dir.resolve()
    work = (args.output or build / "moe_layer").resolve()

    print(f"Writing tokens and a checkpoint ({args.naming} naming) ...")
    generate.write_inputs(work, args.naming, args.tokens, seed=0)
    layer = stack(Checkpoint(work / "checkpoint.safetensors"))
    from safetensors.numpy import save_file

    save_file(layer, work / "layer.safetensors")
    tokens = generate.read_tokens(work)
    experts, rows, half = layer["w13.values"].shape
    print(f"{args.tokens} tokens, {experts} experts (top {oracle.TOP_K}), hidden {2 * half}, width {rows // 2}.")
    ratio = layer["w13.alpha"][:, 0] / layer["w13.alpha"][:, 1]
    print(f"Global scales of gate and up differ by factors of {ratio.min():.2f} to {ratio.max():.2f}.")
    print(f"Compiling and running each stage on {args.device}, checking it against exact arithmetic ...")
    repeats = args.repeats or (1 if args.device == "sim" else 5)
    stages = run_stages(Runner(build, work, repeats, args.device, args.target), work, layer, tokens)

    gflops, bandwidth = machine_limits()
    weight_bytes = sum(layer[n].nbytes for n in ("w13.values", "w13.scales", "w2.values", "w2.scales"))
    print_table(stages, gflops, bandwidth, weight_bytes)
    draw(stages, gflops, bandwidth, weight_bytes, work / "moe_layer.png")
    print(f"Picture: {work / 'moe_layer.png'}")
    print("moe_layer: all stages agree with exact arithmetic")


if __name__ == "__main__":
    main()
