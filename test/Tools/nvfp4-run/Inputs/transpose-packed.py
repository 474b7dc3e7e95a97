# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packed values [N, K / 2], transposed and packed along N: transpose-packed.py nk.npy kn.npy"""
import sys

import numpy as np

packed = np.load(sys.argv[1])
codes = np.stack([packed & 15, packed >> 4], -1).reshape(len(packed), -1).T
np.save(sys.argv[2], codes[:, ::2] | codes[:, 1::2] << 4)
