# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Grouped products without pairs: scaled by a probability, or through squared ReLU.

Results are float32, float16 or bfloat16; they are there on return, in order with any ``current_stream``, and do not depend
on tiles and clusters.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _dlpack, matmul
from ..errors import ArgumentError, UnsupportedError
from ..tensors import ragged_rows
from . import views
from .glu import TensorDict
from .schedule import PADDING, Schedule

__all__ = ["grouped_gemm_quant_wrapper_sm100", "grouped_gemm_srelu_wrapper_sm100"]


def _check(norm_const_tensor: Any, cd_major: str, discrete_col_sfd: bool, **schedule: Any) -> None:
    if norm_const_tensor is not None or discrete_col_sfd:
        raise UnsupportedError("expected norm_const_tensor None and discrete_col_sfd False, for results with scales are those "
                               "of the GLU product")
    Schedule(**schedule)
    if cd_major != "n":
        raise ArgumentError(f"expected cd_major 'n', but got '{cd_major}'")


def _run(a_tensor: Any, sfa_tensor: Any, padded_offsets: Any, alpha_tensor: Any, b_tensor: Any, sfb_tensor: Any,
         bias_tensor: Any, prob_tensor: Any, c_dtype: Any, d_dtype: Any, sf_vec_size: int, activation: str | None,
         prob_at: str, compat: str | None) -> TensorDict:
    if compat not in (None, "cudnn"):
        raise ArgumentError(f"expected compat None or 'cudnn', but got '{compat}'")
    lhs, rhs = views.lhs_of(a_tensor, sfa_tensor, sf_vec_size), views.rhs_of(b_tensor, sfb_tensor, sf_vec_size)
    d_type = views.dtype_of(d_dtype, "d_dtype")
    m, (experts, n, _) = lhs.shape[0], rhs.shape
    ends = _dlpack.asarray(padded_offsets)
    if compat == "cudnn" and (ends % PADDING).any():
        raise ArgumentError(f"expected padded_offsets that are multiples of {PADDING}, but got {ends.tolist()}")

    def empty(dtype: np.dtype) -> np.ndarray:
        return np.zeros((1, m, n), dtype).transpose(1, 2, 0)

    results = TensorDict(c_tensor=None if c_dtype is None else empty(views.dtype_of(c_dtype, "c_dtype")),
                         d_tensor=empty(d_type), amax_tensor=None)
    amax = np.zeros(experts, np.float32) if d_type.itemsize == 2 else None
    matmul.grouped_matmul(
        lhs, rhs, ragged_rows(ends), alpha=_dlpack.asarray(alpha_tensor),
        prob_at=None if prob_tensor is None else prob_at, activation=activation,
        bias=None if bias_tensor is None else np.ascontiguousarray(_dlpack.asarray(bias_tensor).T),
        prob=None if prob_tensor is None else _dlpack.asarray(prob_tensor).reshape(-1), amax=amax,
        out=views.matrix(results["d_tensor"], "d_tensor"),
        preact=None if c_dtype is None else views.matrix(results["c_tensor"], "c_tensor"))
    if amax is not None:
        if compat == "cudnn":
            amax[np.diff(ends, prepend=0) == 0] = -np.inf
        results["amax_tensor"] = amax[:, None]
    return results.like(a_tensor)


def grouped_gemm_quant_wrapper_sm100(a_tensor: Any, sfa_tensor: Any, padded_offsets: Any, alpha_tensor: Any,
                                     b_tensor: Any, sfb_tensor: Any, bias_tensor: Any = None, prob_tensor: Any = None,
                                     d_dtype: Any = "bfloat16", sf_vec_size: int = 16, compat: str | None = None,
                                     norm_const_tensor: Any = None, acc_dtype: Any = None, cd_major: str = "n",
                                     mma_tiler_mn: tuple[int, int] = (256, 256),
                                     cluster_shape_mn: tuple[int, int] | None = None, vector_f32: bool = False,
                                     m_aligned: int = PADDING, discrete_col_sfd: bool = False,
                                     use_dynamic_sched: bool = False, current_stream: Any = None) -> TensorDict:
    """``D = (alpha A B^T + bias) * prob``, tensors as for :class:`GroupedGemmGluSm100`. With ``compat="cudnn"`` the
    probability multiplies the bias alone where there is one. Returns ``c_tensor`` (None), ``d_tensor``, ``amax_tensor``."""
    _check(norm_const_tensor, cd_major, discrete_col_sfd, acc_dtype=acc_dtype, mma_tiler_mn=mma_tiler_mn,
           cluster_shape_mn=cluster_shape_mn, vector_f32=vector_f32, m_aligned=m_aligned,
           use_dynamic_sched=use_dynamic_sched)
    position = "bias" if compat == "cudnn" and bias_tensor is not None else "post_activation"
    return _run(a_tensor, sfa_tensor, padded_offsets, alpha_tensor, b_tensor, sfb_tensor, bias_tensor, prob_tensor, None,
                d_dtype, sf_vec_size, None, position, compat)


def grouped_gemm_srelu_wrapper_sm100(a_tensor: Any, sfa_tensor: Any, padded_offsets: Any, alpha_tensor: Any,
                                     b_tensor: Any, sfb_tensor: Any, bias_tensor: Any = None, prob_tensor: Any = None,
                                     c_dtype: Any = "bfloat16", d_dtype: Any = "bfloat16", sf_vec_size: int = 16,
                                     compat: str | None = None, norm_const_tensor: Any = None, acc_dtype: Any = None, cd_major: str = "n",
                                     mma_tiler_mn: tuple[int, int] = (256, 256),
                                     cluster_shape_mn: tuple[int, int] | None = None, vector_f32: bool = False,
                                     m_aligned: int = PADDING, discrete_col_sfd: bool = False,
                                     use_dynamic_sched: bool = False, current_stream: Any = None) -> TensorDict:
    """``C = alpha A B^T + bias``, ``D = relu(C)^2 * prob``. Returns ``c_tensor``, ``d_tensor``, ``amax_tensor``."""
    _check(norm_const_tensor, cd_major, discrete_col_sfd, acc_dtype=acc_dtype, mma_tiler_mn=mma_tiler_mn,
           cluster_shape_mn=cluster_shape_mn, vector_f32=vector_f32, m_aligned=m_aligned,
           use_dynamic_sched=use_dynamic_sched)
    return _run(a_tensor, sfa_tensor, padded_offsets, alpha_tensor, b_tensor, sfb_tensor, bias_tensor, prob_tensor,
                c_dtype, d_dtype, sf_vec_size, "relu2", "post_activation", compat)
