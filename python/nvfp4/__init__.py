# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Grouped block-scaled matrix products (NVFP4, MXFP4, MXFP8), stated exactly, compiled, run.

- :func:`quantize`, :func:`dequantize`, :func:`relayout`: into block-scaled form and out of it
- :func:`grouped_matmul`, :func:`grouped_matmul_list`: products of scaled operands with every option of the dialect
- :func:`moe_layer`: a Mixture-of-Experts layer; :func:`route`, :func:`sort_tokens`, ...: its parts
- :func:`compile`, :func:`load`: MLIR text, or a compiled file, to functions on arrays; :func:`explain`: how a GPU tiles it
- :mod:`nvfp4.checkpoint`, :mod:`nvfp4.cudnn`, :mod:`nvfp4.gpumode`, :mod:`nvfp4.torch`,
  :mod:`nvfp4.transformers`: what others have

Arrays go in and out without copies: numpy with ml_dtypes, and any DLPack tensor of the CPU. Every error is an
:class:`NVFP4Error`.
"""

import importlib
from typing import TYPE_CHECKING, Any

from . import (compiler, device_functions, errors, layer, layer_parts, matmul, matmul_list, options, packing, quantization,
               tensors)
from ._calls import cache_clear, cache_info
from ._dlpack import DLPackArray, asarray, to_dlpack
from .compiler import *  # noqa: F403
from .device_functions import *  # noqa: F403
from .errors import *  # noqa: F403
from .layer import *  # noqa: F403
from .layer_parts import *  # noqa: F403
from .matmul import *  # noqa: F403
from .matmul_list import *  # noqa: F403
from .options import *  # noqa: F403
from .packing import *  # noqa: F403
from .quantization import *  # noqa: F403
from .tensors import *  # noqa: F403

if TYPE_CHECKING:
    from . import checkpoint, cudnn, gpumode, torch, transformers  # noqa: F401

__version__ = "0.1.0"

_ON_USE = ("checkpoint", "cudnn", "gpumode", "torch", "transformers")
__all__ = ["DLPackArray", "asarray", "to_dlpack", "cache_clear", "cache_info", "__version__"]
# In a form that type checkers read.
__all__ += errors.__all__
__all__ += tensors.__all__
__all__ += options.__all__
__all__ += compiler.__all__
__all__ += device_functions.__all__
__all__ += quantization.__all__
__all__ += matmul.__all__
__all__ += matmul_list.__all__
__all__ += layer_parts.__all__
__all__ += layer.__all__
__all__ += packing.__all__


def __getattr__(name: str) -> Any:
    """Modules for others' conventions, imported where they are first used."""
    if name in _ON_USE:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
