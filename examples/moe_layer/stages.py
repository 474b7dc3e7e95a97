# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The stages of layer.mlir, run one after another and checked against numpy."""

import dataclasses
import sys

import ml_dtypes
import numpy as np

import oracle
from nvfp4_numpy import dequantize, quantize_activation


@dataclasses.dataclass
class Stage:
    name: str
    milliseconds: float
    bound_ratio: float | None  # largest error / derived bound, where the interpreter is
    error: float  # relative L2 error against float64 numpy
    note: str
    flops: float = 0.0


def relative_error(actual, expected):
    return float(np.linalg.norm(actual - expected) / max(np.linalg.norm(expected), 1e-300))


def as_bf16(array):
    return array.view(ml_dtypes.bfloat16).astype(np.float64)


def as_scales(array):
    return array.view(ml_dtypes.float8_e4m3fn).astype(np.float64)


def expect(condition, message):
    if not condition:
        sys.exit(f"moe_layer: {message}")


def run_stages(run, layer, tokens):
    """Runs the stages one after another and checks each against numpy.

    run(entry, inputs, outputs) calls a function on what has these names, or on integers, and gives (arrays,
    milliseconds, error / bound or None); results keep the names `outputs` for the stages after it.
    """
    stages = []

    (logits,), ms, ratio = run("router", ["tokens", "router"], ["logits"])
    error = relative_error(logits, oracle.router(tokens, layer["router"]))
    # As many roundings to f32 as there are terms, which add up like independent ones; four times that.
    limit = 4 * np.sqrt(layer["router"].shape[1]) * 2.0**-24
    expect(error < limit, f"router: relative error {error:.1e}, expected < {limit:.1e}")
    stages.append(Stage("router", ms, ratio, error, "f32 sums"))

    (weights, experts), ms, ratio = run("route", ["logits"], ["weights", "experts"])
    expected_weights, expected_experts = oracle.route(logits)
    expect(np.array_equal(experts, expected_experts), "route: experts differ from numpy")
    error = relative_error(weights, expected_weights)
    # Roundings to f32: of the argument of exp and so of the sum, by as much as arguments differ; of exp, 4 units in
    # the last place, twice; of sum and quotient.
    spread = np.log(expected_weights.max(1) / expected_weights.min(1)).max()
    limit = (2 * spread + 2 * 8 + oracle.TOP_K + 1) * 2.0**-24
    expect(error < limit, f"route: relative error {error:.1e}, expected < {limit:.1e}")
    stages.append(Stage("route", ms, ratio, error, f"top-{oracle.TOP_K} equal"))

    (ends, token_of_row, row_of_slot), ms, ratio = run("sort", ["experts"], ["ends", "token_of_row", "row_of_slot"])
    for actual, expected in zip((ends, token_of_row, row_of_slot), oracle.sort(experts, ends.size)):
        expect(np.array_equal(actual, expected), "sort: order differs from numpy")
    stages.append(Stage("sort", ms, ratio, 0.0, "order equal"))

    (q, qs), ms, ratio = run("quantize", ["tokens", "token_of_row", "w13.encode"], ["q", "qs"])
    expected_q, expected_qs = oracle.quantize(tokens, token_of_row, layer["w13.encode"][0])
    expect(np.array_equal(q.view(np.uint8), expected_q) and np.array_equal(as_scales(qs), expected_qs),
           "quantize: bytes differ from numpy")
    stages.append(Stage("quantise", ms, ratio, 0.0, "bytes equal"))

    (h, hs), ms, ratio = run("gate_up", ["q", "qs", "ends", "w13.values", "w13.scales",
                                         "w13.alpha", "w2.encode"], ["h", "hs"])
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

    (y,), ms, ratio = run("down", ["h", "hs", q.shape[0], "ends", "w2.values",
                                   "w2.scales", "w2.alpha"], ["y"])
    y = as_bf16(y)
    error = relative_error(y, oracle.down(h, as_scales(hs), ends, layer["w2.values"],
                                          layer["w2.scales"].astype(np.float64), layer["w2.alpha"]))
    # Half a unit in the last place of bf16 is 2^-9, and sums in f32 are off by far less.
    expect(error < 2.0**-8, f"down: relative error {error:.1e}, expected < 2^-8 (bf16)")
    flops = 2.0 * h.shape[0] * layer["w2.values"].shape[1] * h.shape[1] * 2
    stages.append(Stage("down", ms, ratio, error, "bf16 rounding", flops))

    (combined,), ms, ratio = run("combine", ["y", "row_of_slot", "weights"], ["combined"])
    error = relative_error(as_bf16(combined), oracle.combine(y, row_of_slot, weights))
    expect(error < 2.0**-8, f"combine: relative error {error:.1e}, expected < 2^-8 (bf16)")
    stages.append(Stage("combine", ms, ratio, error, "bf16 rounding"))

    (whole,), ms, ratio = run("layer", ["tokens", "router"] + [f"{w}.{p}" for w in ("w13", "w2")
                                                            for p in ("values", "scales", "alpha", "encode")], ["whole"])
    expect(np.array_equal(whole.view(np.uint16), combined.view(np.uint16)), "the layer differs from its stages")
    stages.append(Stage("whole layer", ms, ratio, 0.0, "same bits as the stages", stages[4].flops + stages[5].flops))
    return stages
