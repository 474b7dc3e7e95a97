# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block-scaled rows and weights as bytes, and their product on top of ones, whose sums are exact.

  make-product.py FOLDER mxfp8|nvfp4 M N K

Scales are powers of two: of mxfp8 in f8E8M0FNU, of nvfp4 in f8E4M3FN. Two values of nvfp4 are a byte, the first low.
"""
import pathlib
import sys

import numpy as np

folder, name, (m, n, k) = pathlib.Path(sys.argv[1]), sys.argv[2], map(int, sys.argv[3:])
rng = np.random.default_rng(5)
# The code of each number. E4M3's exponents have a bias of 7 and three bits of fraction, E2M1's are codes 0 to 7.
numbers, codes, sign, block = {
    "mxfp8": ([0, 1, 2, 3, 4, 5, 6, 7, 8], [0x00, 0x38, 0x40, 0x44, 0x48, 0x4A, 0x4C, 0x4E, 0x50], 0x80, 32),
    "nvfp4": ([0, 0.5, 1, 1.5, 2, 3, 4, 6], range(8), 0x08, 16)}[name]
operands = []
for operand, rows in (("x", m), ("w", n)):
    chosen, negative = rng.integers(0, len(numbers), (rows, k)), rng.integers(0, 2, (rows, k))
    exponents = rng.integers(-2, 3, (rows, k // block))
    values = (np.array(codes)[chosen] | sign * negative).astype(np.uint8)
    if name == "nvfp4":
        values = values[:, ::2] | values[:, 1::2] << 4
    np.save(folder / f"{operand}.npy", values)
    np.save(folder / f"{operand}s.npy", (exponents + 127 if name == "mxfp8" else exponents + 7 << 3).astype(np.uint8))
    operands.append(np.array(numbers)[chosen] * (1 - 2 * negative) * np.repeat(2.0 ** exponents, block, axis=1))
np.save(folder / "out.npy", np.ones((m, n), np.float32))
np.save(folder / "expected.npy", (1 + operands[0] @ operands[1].T).astype(np.float32))
