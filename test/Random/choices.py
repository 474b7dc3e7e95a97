# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The axes of choice: a program is one value of each.

The first value of an axis is the plain one, to which shrinking returns. Nothing here says which values go together:
the verifier does.
"""

QUANTIZED = [f"{quantizer}:{fmt}" for quantizer, fmt in (
    ("cutlass", "nvfp4"), ("trtllm", "nvfp4"), ("te", "nvfp4"), ("modelopt", "nvfp4"), ("mega16", "nvfp4"),
    ("triton_nearest", "nvfp4"), ("four_over_six", "nvfp4"), ("ocp", "mxfp4"), ("ue8m0_up", "mxfp8_e4m3"),
    ("cutlass", "mxfp8_e5m2"), ("trtllm", "mxfp8_e4m3"), ("te", "nvfp4_e8m0"), ("cutlass", "mxfp4"),
    ("ocp", "nvfp4_e8m0"), ("ue8m0_up", "mxfp8_e5m2"))]
FORMATS = ["nvfp4", "mxfp4", "nvfp4_e8m0", "mxfp8_e4m3", "mxfp8_e5m2"]
GATES = [f"{granularity}, {order}" for granularity in ("halves", "1", "8", "16", "32", "64")
         for order in ("gate_first", "up_first")]
# Values of a strategy; `open` leaves the choice to the target.
STRATEGIES = {
    "open": "",
    "m128n64": "m = 128, n = 64, k = {k}", "m128n192": "m = 128, n = 192, k = {k}",
    "pair": "m = 256, n = 128, k = {k}, ctas = 2",
    "pair256": "m = 256, n = 256, k = {k}, ctas = 2",
    "swap8": "m = 128, n = 8, k = {k}, swap_ab = true",
    "swap32": "m = 128, n = 32, k = {k}, stages = 2, swap_ab = true",
    "swap_pair": "m = 256, n = 64, k = {k}, ctas = 2, swap_ab = true",
    "split2": "m = 128, n = 128, k = {k}, split_k = 2",
    "split_swap": "m = 128, n = 64, k = {k}, split_k = 3, swap_ab = true",
    "m8n256": "m = 8, n = 256, k = 128", "m96n256": "m = 96, n = 256, k = 128",
    "m192n128": "m = 192, n = 128, k = 128", "m64n256": "m = 64, n = 256, k = 256",
    "stages2": "m = 40, n = 256, k = 128, stages = 2"}

MATMUL = {
    # Groups and extents.
    "form": ["dense", "batched", "masked", "rows_ends", "rows_starts", "k_ends", "k_starts"],
    "align": [1, 4, 32, 128],
    "index": ["i32", "i64"],
    "sizes": ["few", "one", "mixed", "tile", "many", "zeros", "none"],
    "slack": ["none", "after"],
    "n": [64, 0, 1, 33, 128, 130, 256, 264],
    "k": [64, 0, 1, 15, 32, 33, 96, 135, 256, 288],
    "static": ["none", "nk", "all"],
    "weights": ["stacked", "discrete"],
    # Operands.
    "lhs": FORMATS + ["bf16", "f16"],
    "rhs": FORMATS,
    "lhs_layout": ["linear", "blocked", "blocked_8x4"],
    "lhs_starts": ["whole", "compact", "upper_bound"],
    "rhs_layout": ["linear", "blocked", "blocked_8x4"],
    "rhs_starts": ["whole", "compact"],
    "padding": ["zero", "nan"],
    "numbers": ["lattice", "random"],
    "storage": ["value", "parts", "memref"],
    # Epilogue.
    "alpha": ["none", "scalar", "group", "pair"],
    "beta": ["none", "scalar", "group"],
    "addend": ["none", "f32", "bf16", "f16"],
    "bias": ["none", "n:f32", "gn:f32", "gn:bf16", "n:f16"],
    "prob": ["none", "gemm", "bias", "pre_activation", "post_activation"],
    "activation": ["none", "identity", "relu", "relu2", "silu", "swiglu", "swiglu_oai", "geglu_tanh", "gelu_tanh", "reglu", "custom"],
    "gate": ["none"] + GATES,
    "params": ["none", "group"],
    "round": ["f32", "bf16"],
    "math": ["strict", "fast"],
    # Results.
    "out": ["f32", "bf16", "f16"] + QUANTIZED,
    "out_axis": ["columns", "rows"],
    "out_layout": ["linear", "blocked", "blocked_8x4"],
    "out_starts": ["whole", "compact", "upper_bound"],
    "out_mode": ["plain", "flush", "stochastic", "two_d"],
    "global": ["none", "scalar", "group"],
    "preact": ["none", "f32", "bf16", "f16"],
    "amax": ["no", "yes"],
    "tail": ["preserve", "zero"],
    # How it is run.
    "determinism": ["deterministic", "batch_invariant", "relaxed"],
    "strategy": list(STRATEGIES),
    "expected_rows": ["none", "1", "500"],
    "before": ["none", "quantize", "relayout", "matmul"],
    "after": ["none", "glu", "quantize", "dequantize", "matmul"],
    # A further quantised result: as it is, transposed, or with blocks across rows.
    "copy": ["none"] + QUANTIZED,
    "copy_form": ["rows", "columns", "across"],
    "copy_mode": ["plain", "flush", "stochastic", "two_d", "hadamard"],
    "copy_layout": ["linear", "blocked", "blocked_8x4"],
    "copy_starts": ["whole", "compact", "upper_bound"],
    "copy_global": ["none", "scalar", "group"],
    # The product is the gradient of an activation's result.
    "gradient": ["none", "identity", "relu", "relu2", "reglu", "swiglu"],
    "z": ["f32", "bf16", "f16"],
    "prob_out": ["no", "yes"],
    "row_scale": ["none", "row"],
}

LIST = {
    "sizes": ["even", "one", "zeros", "odd", "tiles"],
    "static": ["none", "k", "all"],
    "lhs": FORMATS,
    "rhs": FORMATS,
    "lhs_layout": ["linear", "blocked", "blocked_8x4"],
    "rhs_layout": ["linear", "blocked", "blocked_8x4"],
    "padding": ["zero", "nan"],
    "numbers": ["lattice", "random"],
    "storage": ["value", "parts", "memref"],
    "alpha": ["none", "scalar", "group"],
    "beta": ["none", "scalar", "group"],
    "out": ["f32", "bf16", "f16"],
    "determinism": ["deterministic", "batch_invariant", "relaxed"],
    "strategy": list(STRATEGIES),
}

SINGLE = {
    "op": ["quantize", "dequantize", "relayout", "glu", "hadamard"],
    "form": ["none", "batched", "masked", "rows_ends", "rows_starts", "k_ends", "k_starts"],
    "align": [1, 4, 32],
    "index": ["i32", "i64"],
    "sizes": ["few", "one", "mixed", "tile", "zeros", "none"],
    "slack": ["none", "after"],
    "n": [64, 0, 1, 33, 130, 256],
    "static": ["none", "all"],
    "format": FORMATS,
    "layout": ["linear", "blocked", "blocked_8x4"],
    "starts": ["whole", "compact", "upper_bound"],
    "to_layout": ["linear", "blocked", "blocked_8x4"],
    "to_starts": ["whole", "compact", "upper_bound"],
    "axis": ["columns", "rows"],
    "quantizer": ["cutlass", "trtllm", "te", "modelopt", "mega16", "triton_nearest", "four_over_six", "ocp", "ue8m0_up"],
    "mode": ["plain", "flush", "stochastic", "two_d"],
    "global": ["none", "scalar", "group", "row"],
    "element": ["f32", "bf16", "f16"],
    "to": ["f32", "bf16", "f16"],
    "activation": ["identity", "relu", "relu2", "silu", "swiglu", "swiglu_oai", "geglu_tanh", "gelu_tanh",
                   "reglu"],
    "gate": ["none"] + GATES,
    "round": ["f32", "bf16"],
    "math": ["strict", "fast"],
    "normalized": ["no", "yes"],
    "signs": ["no", "yes"],
    "storage": ["value", "parts", "memref"],
}
# Properties of an operation beside its extents and storage.
PARTS = {
    "quantize": ("align", "index", "slack", "format", "layout", "starts", "axis", "quantizer", "mode", "global",
                 "element"),
    "dequantize": ("align", "index", "slack", "format", "layout", "starts", "axis", "global", "element"),
    "relayout": ("align", "index", "slack", "format", "layout", "starts", "axis", "to_layout", "to_starts"),
    "glu": ("element", "to", "activation", "gate", "round", "math"),
    "hadamard": ("element", "to", "normalized", "signs")}

FAMILIES = {"matmul": MATMUL, "list": LIST, "single": SINGLE}


def axes_of(choices):
    return FAMILIES[choices["family"]]


def plain(family):
    """The first value of each axis."""
    return {"family": family, **{axis: values[0] for axis, values in FAMILIES[family].items()}}
