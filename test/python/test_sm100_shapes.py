# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of the sizes that people run, whole, as kernels for sm_100a in the
simulator with its checker on: the four grouped shapes of the GPU MODE competition,
with the tile that the cost model chooses, on as many blocks as a B200 has.

Ends are those of groups without gaps, so tiles begin anywhere. The largest takes
minutes; `check-nvfp4-full` runs all, other runs the smallest.
"""

import pytest

from nvfp4_cases import *  # noqa: F403
from nvfp4_kernels import compile_kernels, simulated
from nvfp4_module import FULL, _runtime

pytestmark = simulated("sm_100a")

SHAPES = {"gm1": ([80, 176, 128, 72, 64, 248, 96, 160], 4096, 7168),
          "gm2": ([40, 76, 168, 72, 164, 148, 196, 160], 7168, 2048),
          "gm3": ([192, 320], 3072, 4096), "gm4": ([128, 384], 4096, 1536)}


@pytest.fixture
def all_blocks():
    _runtime().nvfp4_launch_set_max_blocks(148)
    yield
    _runtime().nvfp4_launch_set_max_blocks(0)


@pytest.mark.parametrize("shape", SHAPES if FULL else ["gm4"])
def test_gpu_mode_shapes(rng, all_blocks, shape):
    counts, n, k = SHAPES[shape]
    groups = ragged(counts)
    product = make_product(rng, groups, n, k, "nvfp4")
    text = matmul_text("f", groups.attribute, scaled_type("nvfp4", shape=(sum(counts), k)),
                       scaled_type("nvfp4", shape=(len(counts), n, k)),
                       f"tensor<{sum(counts)}x{n}xf16>", alpha="f32")
    operand, operands = product.arguments()
    # Small enough for f16.
    alpha = np.float32(2.0 ** -10)
    got = compile_kernels("sm_100a", text).f(*operand, *operands, alpha, product.destination("f16"))
    assert_equal(got, expected_result(product, "f16", epilogue=lambda acc, *_: alpha * acc))
