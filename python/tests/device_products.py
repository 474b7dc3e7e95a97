# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products in every form for functions on memory of a device."""

import numpy as np

import nvfp4

FORMS = {
    "dense": ("<dense>", "", (37, 128), (128, 128), (37, 128)),
    "batched": ("<batched>", "", (3, 21, 128), (3, 128, 128), (3, 21, 128)),
    "masked": ("<masked>", "tensor<3xi32>", (3, 40, 128), (3, 128, 128), (3, 40, 128)),
    "ragged_rows": ("<ragged_rows>", "tensor<3xi32>", (70, 128), (3, 128, 128), (70, 128)),
}


def shaped(shape, is_open):
    """Extents of a type; the number of rows of a matrix may be open."""
    extents = list(map(str, shape))
    if is_open:
        extents[-2] = "?"
    return "x".join(extents)


def get_bias(form):
    """Type and shape."""
    return ("tensor<128xf32>", (128,)) if form == "dense" else ("tensor<3x128xf32>", (3, 128))


def make_text(form, element, format, layout, packed, clauses="", result="f32", is_open=True, columns=128):
    grouping, offsets, x, w, y = FORMS[form]
    y = (*y[:-1], columns)
    rows = f"tensor<{shaped(x, is_open)}x{element}>" if element else f"!grouped_scaled_gemm.scaled<{shaped(x, is_open)}, {format}{layout}>"
    weights = f"!grouped_scaled_gemm.scaled<{shaped(w, False)}, {format}{packed}>"
    groups = f" groups(%g : {offsets})" if offsets else ""
    out = f"tensor<{shaped(y, is_open)}x{result}>"
    bias = get_bias(form)[0]
    return f"""
func.func @f(%x: {rows}, %w: {weights}{f", %g: {offsets}" if offsets else ""}, %b: {bias}, %a: f32, %y: {out}) -> {out} {{
  %r = grouped_scaled_gemm.matmul {grouping}{groups} lhs(%x : {rows}) rhs(%w : {weights}) {clauses} outs(%y : {out}) -> {out}
  return %r : {out}
}}
"""


def make_groups(form):
    return {"masked": [np.array([40, 0, 7], np.int32)], "ragged_rows": [np.array([20, 20, 65], np.int32)]}.get(form, [])


def pack(w, format, layout):
    """Weights as kernels for sm_90a read them."""
    shape = "x".join(map(str, w.shape))
    scaled = f"!grouped_scaled_gemm.scaled<{shape}, {format}"
    program = nvfp4.compile(f"""func.func @f(%w: {scaled}>) -> {scaled}, {layout}> {{
  %p = grouped_scaled_gemm.relayout_weights(%w : {scaled}>) -> {scaled}, {layout}>
  return %p : {scaled}, {layout}>
}}""")
    return program.run(w.store())
