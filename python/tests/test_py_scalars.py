# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers are taken as they are, or refused: none becomes another one in silence."""

import numpy as np
import pytest

import nvfp4

SCALARS = {"i1": [2, -1, 0.5], "i8": [256, -129, 2.7], "i16": [2**15, "7"], "i32": [2**40 + 5, 2.7, "7", b"7", None, 1j],
           "i64": [2**63, -2**63 - 1, float("nan"), float("inf")], "index": [2**63, 2.5], "f32": [2**24 + 1, 1e39, "7"],
           "f16": [2049, 65536.0, 1e300], "bf16": [257, 1e39], "f64": [2**53 + 1]}


@pytest.mark.parametrize("element", SCALARS)
def test_scalars_are_taken_as_they_are(element):
    """Integers exactly, and floating-point numbers up to rounding; what the type does not hold is refused."""
    program = nvfp4.compile(f"func.func @f(%x: {element}) -> {element} {{\n  return %x : {element}\n}}")
    good = {"i1": [True, 1, 0], "i8": [255, -128, 3.0], "f16": [2048, 0.1], "bf16": [256, 0.1], "f32": [2**24, 0.1, -2.5],
            "f64": [0.1, 2**53]}.get(element, [7, -7, 7.0, True, np.int16(7), np.array([7])])
    for value in good:
        result = program.run(value)
        assert result.view(np.uint8) == int(value) & 255 if element == "i8" else result == np.array(value, result.dtype)
    for value in SCALARS[element]:
        with pytest.raises(nvfp4.ArgumentError, match="argument 0 of 'f', .* as a (whole )?number"):
            program.run(value)
        if isinstance(value, (int, float)) and abs(value) < 2**63:
            with pytest.raises(nvfp4.ArgumentError, match="argument 0 of 'f', .* as a (whole )?number"):
                program.run(np.array(value))
