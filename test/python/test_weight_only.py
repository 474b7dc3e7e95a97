# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products whose rows have no scales, on the CPU, and the interpreter beside it."""

import numpy as np
import pytest

from nvfp4_cases import *  # noqa: F403
from nvfp4_module import run, scratch, tool, write_inputs
from weight_only import *  # noqa: F403
from weight_only import plain_product, plain_text


@pytest.fixture
def target():
    return "cpu"


@pytest.mark.parametrize("fmt", ["nvfp4", "mxfp4", "mxfp8_e5m2"])
@pytest.mark.parametrize("rows", ROWS)
def test_interpreter_agrees(rng, fmt, rows):
    """To the bit on a lattice, and within its bound elsewhere."""
    for exact in (True, False):
        groups = ragged([3, 0, 20], extra=2)
        product, data = plain_product(rng, groups, 40, 160, fmt, rows)
        if not exact:
            data[:23] = rng.standard_normal((23, 160))
        source = scratch() / f"plain_{fmt}_{rows}.mlir"
        source.write_text(plain_text("f", groups, fmt, rows, "bf16"))
        (ends,), (_, weights) = product.arguments()
        inputs = write_inputs([ends, data, *weights, product.destination("bf16")])
        code, output, error = run(tool("nvfp4-run"), source, "--device=cpu", "--check=reference",
                                  *(["--exact"] if exact else []), "--inputs=" + ",".join(inputs))
        assert code == 0, output + error


def test_sums_before_scales_may_overflow(rng):
    """Infinite on the CPU, which scales sums: the oracle promises no bits there."""
    product, data = plain_product(rng, dense(2), 8, 32, "nvfp4", "bf16")
    data[0, :], data[0, 3] = 0, 2.0**127
    product.rhs.codes[:], product.rhs.scales[:] = 7, 0x08  # 6 times 2^-6
    source = scratch() / "overflow.mlir"
    source.write_text(plain_text("f", product.groups, "nvfp4", "bf16", "f32"))
    inputs = write_inputs([data, *product.rhs.store(), product.destination("f32")])
    code, output, error = run(tool("nvfp4-run"), source, "--device=cpu", "--check=reference",
                              "--inputs=" + ",".join(inputs))
    assert code == 0, output + error
