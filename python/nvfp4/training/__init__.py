# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training in NVFP4, MXFP8 and MXFP4: layers whose forward and backward passes are compiled functions.

:class:`MoEProgram` and :class:`LinearProgram` work on arrays; :func:`moe_text` and :func:`linear_text` write their functions
in MLIR. ``nvfp4.training.MoE`` and ``nvfp4.training.Linear`` are modules of torch, which is imported when they are used.
"""

from typing import Any

from ._linear import linear_text
from ._moe import MoEShape, moe_text
from ._programs import LinearGradients, LinearProgram, MoEGradients, MoEProgram, MoESaved
from ._recipe import Recipe

__all__ = ["LinearGradients", "LinearProgram", "MoEGradients", "MoEProgram", "MoESaved", "MoEShape", "Recipe", "linear_text",
           "moe_text"]


def __getattr__(name: str) -> Any:
    if name in ("Linear", "MoE"):
        from . import _torch
        return getattr(_torch, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
