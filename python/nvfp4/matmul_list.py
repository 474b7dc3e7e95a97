# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Independent products of scaled operands in one call, the dialect's ``matmul_list``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _dlpack
from ._calls import DIALECT, FLOATS, Call
from .errors import ArgumentError
from .matmul import Strategy, write_attributes
from .tensors import ScaledTensor

__all__ = ["grouped_matmul_list"]

# The operands of the operation in the order in which it has them.
_MATMUL_LIST = ("lhs", "lhs.scales", "rhs", "rhs.scales", "alpha", "beta", "out")


def grouped_matmul_list(lhs: Sequence[ScaledTensor], rhs: Sequence[ScaledTensor], *, alpha: Any = None,
                        beta: Any = None, out: Sequence[Any] | None = None, dtype: Any = None,
                        determinism: str | None = None, strategy: Strategy | None = None, target: str = "cpu",
                        device: str | None = None) -> list[np.ndarray]:
    """Independent products ``out[i] = alpha[i] * lhs[i] @ rhs[i]^T + beta[i] * out[i]``, each with its own M, N and K.

    ``lhs[i]`` ``[M_i, K_i]``, ``rhs[i]`` ``[N_i, K_i]`` of one format; ``alpha`` and ``beta`` are numbers or one a
    problem; ``beta`` needs ``out``, and without it the destinations are not read. Returns the destinations, ``[M_i, N_i]`` each.
    """
    if not isinstance(lhs, Sequence) or not isinstance(rhs, Sequence):
        raise ArgumentError("expected lhs and rhs as lists of ScaledTensor, but got "
                            f"{type(lhs).__name__} and {type(rhs).__name__}")
    if len(lhs) != len(rhs) or not len(lhs):
        raise ArgumentError(f"expected as many lhs as rhs, at least one, but got {len(lhs)} and {len(rhs)}")
    if beta is not None and out is None:
        raise ArgumentError("expected out= with beta, for it scales what is accumulated on, but got none")
    if out is not None and len(out) != len(lhs):
        raise ArgumentError(f"expected as many out as lhs, {len(lhs)}, but got {len(out)}")
    call = Call("grouped_matmul_list", _MATMUL_LIST)
    call.write(f"{DIALECT}.matmul_list")
    for keyword, tensors in (("lhs", lhs), ("rhs", rhs)):
        pairs = [call.scaled(f"{keyword}{i}", t, f"{keyword}[{i}]") for i, t in enumerate(tensors)]
        call.write(f" {keyword}({', '.join(pairs)})", keyword)
    for keyword, value in (("alpha", alpha), ("beta", beta)):
        if value is not None:
            call.write(f" {keyword}({call.floats(keyword, value, keyword)})", keyword)
    results = [_dlpack.destination(o, (a.shape[0], b.shape[0]), dtype)
               for a, b, o in zip(lhs, rhs, [None] * len(lhs) if out is None else out)]
    operands = [call.memref(f"out{i}", o, f"out[{i}]", FLOATS, writes=True) for i, o in enumerate(results)]
    names, types = zip(*(operand.split(" : ") for operand in operands))
    call.write(f" outs({', '.join(names)} : {', '.join(types)})", "out")
    write_attributes(call, target, None, None, determinism, strategy, None)
    call.run(target, device)
    return results
