# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Grouped block-scaled products (NVFP4, MXFP4, MXFP8): stated exactly, compiled, run."""
from .compiler import *
from .errors import *
from .options import *
from .quantization import *
from .tensors import *
from .matmul import *
from .layer import *
