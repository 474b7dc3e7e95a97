# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands of a product with gaps between their rows: the bytes of dense ones, gaps untouched."""

import numpy as np
import pytest

from nvfp4_cases import DIALECT, masked, make_product
from nvfp4_module import compile_module

COUNTS, M, N, K = [3, 0, 5], 5, 64, 32
GAP = 3
SWIGLU = "activation = <swiglu, gate = <16, gate_first>> activation_params({params})"
CUSTOM = """activation = <custom, gate = <16, gate_first>> row({row})
    epilogue {{
    ^bb0(%g: f32, %u: f32, %r: f32):
      %0 = arith.mulf %g, %r : f32
      %1 = arith.addf %0, %u : f32
      grouped_scaled_gemm.yield %1 : f32
    }}"""


class Operands:
    """Arguments of a function, as views of the first columns of what is `gap` columns wider."""

    def __init__(self, gap):
        self.gap, self.arguments, self.views, self.arrays = gap, [], "", []

    def __call__(self, name, array, element):
        *lead, columns = array.shape
        wide = np.full((*lead, columns + self.gap), 0x5A if array.dtype == np.uint8 else np.nan, array.dtype)
        wide[..., :columns] = array
        self.arrays.append(wide)
        dims = "x".join(map(str, wide.shape))
        dense = f"memref<{dims}x{element}>"
        self.arguments.append(f"%{name}: {dense}")
        if not self.gap:
            return f"%{name}", dense
        strides = [columns + self.gap, 1] if len(lead) == 1 else [lead[1] * (columns + self.gap), columns + self.gap, 1]
        view = f"memref<{'x'.join(map(str, array.shape))}x{element}, strided<{strides}>>"
        self.views += (f"  %{name}_v = memref.subview %{name}{[0] * array.ndim}{list(array.shape)}{[1] * array.ndim}"
                       f" : {dense} to {view}\n")
        return f"%{name}_v", view


def run(rng, gap, epilogue):
    product = make_product(rng, masked(COUNTS, M), N, K, "nvfp4")
    _, ((x, xs), (w, ws)) = product.arguments()
    put = Operands(gap)

    def operand(name, array, element):
        return " : ".join(put(name, array, element))

    def scaled(name, values, scales, shape):
        (a, at), (b, bt) = put(name, values, "i8"), put(f"{name}_s", scales, "f8E4M3FN")
        return f"{a} scaled_by {b} : {at}, {bt} as !{DIALECT}.scaled<{'x'.join(map(str, shape))}, nvfp4>"

    g = len(COUNTS)
    lhs, rhs = scaled("x", x, xs, (g, M, K)), scaled("w", w, ws, (g, N, K))
    alpha = operand("alpha", rng.random((g, 2)).astype(np.float32), "f32")
    bias = operand("bias", rng.random((g, N)).astype(np.float32), "f32")
    prob = operand("prob", rng.random((g, M)).astype(np.float32), "f32")
    extra = {"params": (g, 3), "row": (g, M)}
    clauses = epilogue.format(**{name: operand(name, rng.random(shape).astype(np.float32), "f32")
                                 for name, shape in extra.items() if f"{{{name}}}" in epilogue})
    values, scales = np.full((g, M, N // 4), 0xA5, np.uint8), np.full((g, M, N // 32), 0xA5, np.uint8)
    outs = scaled("out", values, scales, (g, M, N // 2))
    text = (f"func.func @f(%groups: memref<{g}xi32>, {', '.join(put.arguments)}) {{\n{put.views}"
            f"  {DIALECT}.matmul <masked> groups(%groups : memref<{g}xi32>) lhs({lhs}) rhs({rhs}) alpha({alpha}) "
            f"bias({bias}) prob({prob}) at post_activation {clauses} quantizer = <mega16> outs({outs})"
            f" {{tail = #{DIALECT}<tail zero>}}\n  return\n}}\n")
    compile_module(text).f(np.int32(COUNTS), *put.arrays)
    return put.arrays[-2:]


@pytest.mark.parametrize("epilogue", [SWIGLU, CUSTOM], ids=["swiglu", "custom"])
def test_gaps_change_nothing(epilogue):
    dense = run(np.random.default_rng(7), 0, epilogue)
    apart = run(np.random.default_rng(7), GAP, epilogue)
    for tight, wide in zip(dense, apart):
        columns = tight.shape[-1]
        np.testing.assert_array_equal(wide[..., :columns], tight)
        assert np.all(wide[..., columns:] == 0x5A)
        for group, count in enumerate(COUNTS):
            assert np.all(tight[group, count:] == 0)
            assert count == 0 or tight[group, :count].any()
