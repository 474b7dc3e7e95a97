# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Grouped products without pairs: scaled by a probability, or through squared ReLU."""

from __future__ import annotations

from typing import Any

from .. import _dlpack
from ..errors import ArgumentError
from . import views
from .forward import Forward, allocate, complete, factors_of
from .operation import TensorDict, function, perform

__all__ = ["GroupedGemmQuantSm100", "GroupedGemmSreluSm100", "grouped_gemm_quant_wrapper_sm100",
           "grouped_gemm_srelu_wrapper_sm100"]


class GroupedGemmQuantSm100(Forward):
    """``D = (alpha row_scale A B^T + bias) * prob``, for tensors as of :class:`GroupedGemmGluSm100`. With ``compat="cudnn"``
    the probability multiplies the bias alone where there is one."""

    keywords = ("compat",)

    def _epilogue(self, t: dict[str, Any], o: dict[str, Any]) -> dict[str, Any]:
        prob, row_scale = factors_of(t, "prob"), factors_of(t, "row_scale")
        at = "bias" if o["compat"] == "cudnn" and t.get("bias") is not None else "post_activation"
        factors = {} if prob is None else dict(prob=prob, prob_at=at)
        return factors if row_scale is None else dict(factors, row_scale=row_scale)


class GroupedGemmSreluSm100(Forward):
    """``C = alpha A B^T + bias``, ``D = relu(C)^2 * prob``."""

    keywords = ("compat",)

    def _epilogue(self, t: dict[str, Any], o: dict[str, Any]) -> dict[str, Any]:
        prob = factors_of(t, "prob")
        return dict(activation="relu2", **({} if prob is None else dict(prob=prob, prob_at="post_activation")))


@function("compat")
def grouped_gemm_quant_wrapper_sm100(t: dict[str, Any], o: dict[str, Any]) -> TensorDict:
    """Allocates the results of :class:`GroupedGemmQuantSm100` and computes them: ``d_tensor`` (the given one, or a new one of
    ``d_dtype``), ``d_col_tensor``, ``amax_tensor``, ``sfd_row_tensor``, ``sfd_col_tensor``."""
    given, d_type = t.pop("d"), o["d_dtype"]
    if given is not None:
        array = _dlpack.asarray(given, writable=True)
        if d_type is not None and views.dtype_of(d_type, "d_dtype") != array.dtype:
            raise ArgumentError(f"expected d_dtype {array.dtype} as d_tensor has, but got {d_type}")
        o["d_dtype"] = array.dtype
    new = allocate(t, o, False)
    if new["sfd_row_tensor"] is None:
        new["d_col_tensor"] = None
    if given is not None:
        new["d_tensor"] = given
    perform(GroupedGemmQuantSm100, complete(t, new), o)
    return new


@function("compat")
def grouped_gemm_srelu_wrapper_sm100(t: dict[str, Any], o: dict[str, Any]) -> TensorDict:
    """Allocates the results of :class:`GroupedGemmSreluSm100` and computes them: ``c_tensor``, ``d_tensor``, ``d_col_tensor``,
    ``amax_tensor``, ``sfd_row_tensor``, ``sfd_col_tensor``."""
    new = allocate(t, o, False)
    perform(GroupedGemmSreluSm100, complete(t, new), o)
    return new
