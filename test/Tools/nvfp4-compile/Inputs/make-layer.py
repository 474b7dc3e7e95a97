# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the operands of isas.mlir to the folder argv[1]."""
import pathlib
import sys

import numpy as np

out = pathlib.Path(sys.argv[1])
random = np.random.default_rng(1)
np.save(out / "x.npy", random.standard_normal((70, 176)).astype(np.float32))
# 3, 9, 0 and 58 rows.
np.save(out / "ends.npy", np.array([3, 12, 12, 70], np.int32))
for name, n, k in (("1", 160, 176), ("2", 72, 80)):
    np.save(out / f"w{name}.npy", random.integers(0, 256, (4, n, k // 2), np.uint8))
    np.save(out / f"s{name}.npy", random.integers(0x18, 0x28, (4, n, k // 16), np.uint8))
np.save(out / "init.npy", np.zeros((70, 72), np.float32))
