# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows and weights in f8E4M3FN with a power of two for each 32, as bytes, and their product, whose sums are exact.

  make-mx-product.py FOLDER M N K
"""
import pathlib
import sys

import numpy as np

folder, (m, n, k) = pathlib.Path(sys.argv[1]), map(int, sys.argv[2:])
rng = np.random.default_rng(5)
# The byte of each of 0, 1, ... 8 in E4M3: exponents have a bias of 7 and three bits of fraction.
codes = np.array([0x00, 0x38, 0x40, 0x44, 0x48, 0x4A, 0x4C, 0x4E, 0x50], np.uint8)
operands = []
for name, rows in (("x", m), ("w", n)):
    numbers, exponents = rng.integers(-8, 9, (rows, k)), rng.integers(-2, 3, (rows, k // 32))
    np.save(folder / f"{name}.npy", codes[abs(numbers)] | np.where(numbers < 0, 0x80, 0).astype(np.uint8))
    np.save(folder / f"{name}s.npy", (127 + exponents).astype(np.uint8))
    operands.append(numbers * np.repeat(2.0 ** exponents, 32, axis=1))
np.save(folder / "out.npy", np.ones((m, n), np.float32))
np.save(folder / "expected.npy", (1 + operands[0] @ operands[1].T).astype(np.float32))
