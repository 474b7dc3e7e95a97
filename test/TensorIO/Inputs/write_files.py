# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a.npy and model.safetensors into the folder given."""

import pathlib
import sys

import numpy as np
from safetensors.numpy import save_file

folder = pathlib.Path(sys.argv[1])
np.save(folder / "a.npy", np.array([[-1, 0.5, np.nan], [2, np.inf, 4]], np.float32))
save_file({"weight": np.array([[1, 2]], np.float32), "scale": np.array([0x38, 0x40], np.uint8)},
          folder / "model.safetensors", metadata={"format": "np"})
