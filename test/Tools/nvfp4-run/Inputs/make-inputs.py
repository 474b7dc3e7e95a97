# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the tensors that the tests of nvfp4-run read to the folder argv[1]."""
import pathlib
import sys

import ml_dtypes
import numpy as np
import safetensors.numpy

out = pathlib.Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
np.save(out / "x.npy", np.arange(24, dtype=np.float32).reshape(3, 8))
np.save(out / "ones.npy", np.ones((3, 8), np.float32))
np.save(out / "wide.npy", np.ones((3, 9), np.float32))
np.save(out / "half.npy", np.ones((3, 8), np.float16))
np.save(out / "vector.npy", np.arange(5, dtype=np.float32))
(out / "short.npy").write_bytes((out / "x.npy").read_bytes()[:-4])

# A product on a lattice: values +-1, scales 1, so every sum is exact.
rng = np.random.default_rng(1)
codes = lambda rows: rng.choice([0x22, 0xA2, 0x2A, 0xAA], (rows, 32)).astype(np.uint8)
ones = lambda *shape: np.full(shape, 1.0).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
safetensors.numpy.save_file(
    {"a": codes(16), "a_scale": ones(16, 4), "b": codes(32), "b_scale": ones(32, 4),
     "flat_scale": ones(128)},
    out / "gemm.safetensors")
# 2^-6 * 2^-6, and beside it 6 * 6 - 6 * 6 with the largest scales.
values = lambda rows, *last: np.tile(np.array([2, *[0] * 7, *last, *[0] * 7], np.uint8), (rows, 1))
scales = lambda rows: np.tile(np.array([0x08, 0x7E], np.uint8), (rows, 1))
safetensors.numpy.save_file(
    {"a": values(1, 0x77), "a_scale": scales(1), "b": values(8, 0xF7), "b_scale": scales(8),
     "c": np.zeros((1, 8), np.float32)},
    out / "cancels.safetensors")
np.save(out / "c.npy", np.zeros((16, 32), np.float32))
np.save(out / "c16.npy", np.zeros((16, 16), np.float32))
np.save(out / "ends.npy", np.array([5, 13], np.int32))
