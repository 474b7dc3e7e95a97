# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products whose rows have no scales, as kernels for sm_90a: f16 is multiplied as f16."""

import numpy as np
import pytest

from nvfp4_cases import *  # noqa: F403
from nvfp4_formats import Plain, random_scaled
from nvfp4_kernels import compile_kernels, simulated
from weight_only import *  # noqa: F403

pytestmark = simulated("sm_90a")


@pytest.fixture
def target():
    return "sm_90a"


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("m", [8, 64, 96, 130])
def test_widths(rng, rows, m):
    data = rng.integers(-8, 9, (m, 544)).astype(OUT[rows])
    product = Product(dense(m), Plain(data), random_scaled(rng, (264, 544), "nvfp4"))
    text = matmul_text("f", "<dense>", f"tensor<?x?x{rows}>", scaled_type("nvfp4"),
                       f"tensor<?x?x{rows}>")
    _, operands = product.arguments()
    got = compile_kernels("sm_90a", text).f(*operands, product.destination(rows))
    assert_equal(got, expected_result(product, rows), m)


@pytest.mark.parametrize("fmt", ["mxfp4", "mxfp8_e4m3", "mxfp8_e5m2"])
def test_scales_further_apart_than_f16_holds(rng, fmt):
    text = matmul_text("f", "<dense>", "tensor<?x?xf16>", scaled_type(fmt), "tensor<?x?xf32>")
    data = rng.integers(-8, 9, (3, 96)).astype(np.float16)
    product = Product(dense(3), Plain(data), random_scaled(rng, (40, 96), fmt))
    product.rhs.scales += np.uint8(60)
    module = compile_kernels("sm_90a", text)
    _, operands = product.arguments()
    assert_equal(module.f(*operands, product.destination("f32")),
                 expected_result(product, "f32"))
    product.rhs.scales[7, 1], product.rhs.codes[7, 40] = 127, 1
    _, operands = product.arguments()
    with pytest.raises(RuntimeError, match="of each other, but got 2\\^0 and 2\\^6"):
        module.f(*operands, product.destination("f32"))
