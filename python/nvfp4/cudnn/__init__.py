# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
r"""The products of cuDNN's Python frontend, on this compiler: the same names, arguments and flow. docs/CuDNN.md has a table of
all arguments.

Existing callers change ``from cudnn import GroupedGemmGluSm100`` to ``from nvfp4.cudnn import GroupedGemmGluSm100``.
Tensors are numpy arrays or DLPack tensors of the CPU, in cuDNN's shapes and strides; types are theirs (``torch.bfloat16``)
or numpy's. Results do not depend on tiles, clusters and schedules: those that cuDNN takes are taken, others are an error. They
are there when a call returns, in order with any stream. Arguments without an effect are refused: ``discrete_col_sfd`` without
scales, parameters of ``geglu`` for ``swiglu``.

What differs by default, and is cuDNN's with ``compat="cudnn"``:

====================================  ==========================================  ===============================
\                                     here                                        ``compat="cudnn"``
====================================  ==========================================  ===============================
groups                                end anywhere                                padded to 256 rows, or an error
N                                     any multiple of 64                          the same
D in float32, vectors of 16, no bias  works                                       NotImplementedError
``amax`` of an empty group            0                                           -inf
scales of float8_e5m2 results         by 57344, the largest number                by 128
====================================  ==========================================  ===============================

The gate is the first of each pair of 32 columns, as the kernel and its tests have it (its documentation says otherwise).
"""

from .backward import *  # noqa: F403
from .dense import *  # noqa: F403
from .glu import *  # noqa: F403
from .hadamard import *  # noqa: F403
from .moe import *  # noqa: F403
from .quant import *  # noqa: F403
from .unfused import *  # noqa: F403
from .wgrad import *  # noqa: F403
