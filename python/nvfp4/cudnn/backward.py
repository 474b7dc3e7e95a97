# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Grouped products of the backward pass, through the gradient of an activation: dGLU and dSReLU.

With ``g = alpha A B^T``, the gradient of ``prob * act(Z)``, where Z is C, times beta for pairs: ``D`` is the gradient of Z,
``dprob`` gets the sum over the row of ``g act(Z)`` added, and ``dbias`` is the sum of D over the rows of a group. Alpha enters
once; kernels of cuDNN square it for dswiglu, and ignore alpha and beta for dgeglu.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _dlpack, matmul
from ..errors import ArgumentError, UnsupportedError
from ..layer_parts import glu, glu_backward, sum_rows
from ..options import Activation
from ..tensors import Grouping
from . import results, views
from .forward import (check_operands, check_results, complete, complete_options, factors_of, new_scales, operands_of,
                      store_amax)
from .glu import activation_of
from .operation import Operation, TensorDict, check_shapes, check_types, empty, function, need, perform

__all__ = ["DiscreteGroupedGemmDswigluSm100", "GroupedGemmDgluSm100", "GroupedGemmDsreluSm100", "GroupedGemmDswigluSm100",
           "discrete_grouped_gemm_dswiglu_wrapper_sm100", "grouped_gemm_dglu_wrapper_sm100",
           "grouped_gemm_dsrelu_wrapper_sm100", "grouped_gemm_dswiglu_wrapper_sm100"]


def sum_groups(d: np.ndarray, grouping: Grouping, target: Any) -> None:
    """The sum of the rows of each group, added to ``target`` ``[L, N, 1]``."""
    array = _dlpack.asarray(target, writable=True)
    sums = sum_rows(d, groups=grouping)
    array[...] = (array.astype(np.float32) + sums[:, :, None]).astype(array.dtype)


class _Backward(Operation):
    """A grouped product and the gradient of an activation, of ``width`` columns of D for each column of B."""

    width = 1

    def _activation(self, o: dict[str, Any]) -> Activation:
        raise NotImplementedError

    def _check(self, s: dict[str, Any], o: dict[str, Any]) -> None:
        self._activation(o)
        need(s, "a", "sfa", "padded_offsets", "alpha", "c", "d_row", "prob", "dprob")
        m, n, experts = check_operands(s, o)
        if self.width == 2 and n % 32:
            raise ArgumentError(f"expected N to be a multiple of 32, the columns of a gate, but got {n}")
        wide = n * self.width
        check_shapes(s, c=(m, wide, 1), d_row=(m, wide, 1), d_col=(m, wide, 1), d_srelu=(m, wide, 1),
                     dbias=(experts, wide, 1), amax=(experts, 2, 1) if self.width == 2 else (experts, 1))
        check_types(s, ("float32", "float16", "bfloat16"), "c", "dbias")
        check_types(s, ("float32",), "prob", "dprob", "amax")
        check_results(s, o, "d_row", "d_col", "d_srelu")

    def _run(self, t: dict[str, Any], o: dict[str, Any]) -> None:
        lhs, rhs, grouping = operands_of(t, o)
        z = self._scaled(views.matrix(t["c"], "c_tensor"), t, grouping)
        gradient = matmul.grouped_matmul(lhs, rhs, grouping, alpha=_dlpack.asarray(t["alpha"]), dtype=np.float32)
        activation, prob = self._activation(o), factors_of(t, "prob")
        result = glu_backward(z, gradient, activation, prob=prob, prob_gradient=True, dtype=np.float32)
        valid = results.rows_of(z, grouping)
        dprob = _dlpack.asarray(t["dprob"], writable=True)
        dprob[valid, 0, 0] += result.prob[valid]
        self._store(result.z, valid, grouping, t, o, "d_row", "d_col", "sfd_row", "sfd_col")
        if t.get("d_srelu") is not None:
            forward = glu(z, activation, dtype=np.float32) * prob[:, None]
            self._store(forward, valid, grouping, t, o, "d_srelu", None, None, "sfd_col_d_srelu")
        if t.get("dbias") is not None:
            sum_groups(result.z, grouping, t["dbias"])
        if t.get("amax") is not None:
            store_amax(self._amax(result.z, grouping), grouping, t["amax"], o)

    def _scaled(self, c: np.ndarray, t: dict[str, Any], grouping: Grouping) -> np.ndarray:
        """The pre-activation: C times beta of its group."""
        if t.get("beta") is None:
            return c
        beta, z = _dlpack.asarray(t["beta"]), c.astype(np.float32)
        for factor, (first, end) in zip(beta, grouping.ranges()):
            z[first:end] *= factor
        return z

    def _store(self, y: np.ndarray, valid: np.ndarray, grouping: Grouping, t: dict[str, Any], o: dict[str, Any], row: str,
               column: str | None, row_scales: str | None, column_scales: str) -> None:
        d = views.matrix(t[row], f"{row}_tensor", writable=True)
        if t.get("sfd_row") is None:
            with np.errstate(over="ignore"):
                d[valid] = y[valid].astype(d.dtype)
            if column is not None and t.get(column) is not None:
                views.matrix(t[column], f"{column}_tensor", writable=True)[valid] = d[valid]
            return
        if row_scales is None:  # scaled by columns alone
            results.quantise_columns(y, grouping, d, t[column_scales], t["norm_const"], o["discrete_col_sfd"])
            return
        results.quantise(y, grouping, d, t[row_scales], None if column is None else t.get(column), t[column_scales],
                         t["norm_const"], None, o["discrete_col_sfd"])

    def _amax(self, y: np.ndarray, grouping: Grouping) -> np.ndarray:
        """The maxima of groups ``[L, 1]``, of gates and ups ``[L, 2, 1]`` for pairs."""
        halves = y.reshape(len(y), -1, self.width, 32 if self.width == 2 else 1)
        maxima = [np.abs(halves[first:end]).max((0, 1, 3), initial=0) for first, end in grouping.ranges()]
        found = np.array(maxima, np.float32).reshape(len(maxima), self.width)
        return found[:, :, None] if self.width == 2 else found


class GroupedGemmDgluSm100(_Backward):
    """The gradient of :class:`GroupedGemmGluSm100`: A ``[M, K, 1]`` is that of D there, B ``[N, K, L]`` the weights behind
    it, C ``[M, 2N, 1]`` its C, and D ``[M, 2N, 1]`` the gradient of C times beta. See the module."""

    width = 2

    def _activation(self, o: dict[str, Any]) -> Activation:
        activation, numbers = activation_of(o, "d")
        if activation is None:
            raise UnsupportedError("expected glu_clamp_min = -glu_clamp_max in the gradient of geglu, but got "
                                   f"glu_clamp_min {numbers[2]} and glu_clamp_max {numbers[3]}")
        return activation


class GroupedGemmDswigluSm100(GroupedGemmDgluSm100):
    """:class:`GroupedGemmDgluSm100` of dswiglu with dense weights."""


class DiscreteGroupedGemmDswigluSm100(GroupedGemmDgluSm100):
    """:class:`GroupedGemmDgluSm100` with weights behind pointers."""


class GroupedGemmDsreluSm100(_Backward):
    """The gradient of :class:`GroupedGemmSreluSm100`: ``D = 2 relu(C) prob g``. ``d_srelu`` gets ``relu(C)^2 prob``, the
    result of the forward pass again. Sums have one order, so
    ``deterministic`` changes nothing and takes no workspaces."""

    def _activation(self, o: dict[str, Any]) -> Activation:
        return Activation("relu2")


def _allocated(kind: type[_Backward], t: dict[str, Any], o: dict[str, Any]) -> TensorDict:
    """New results of the backward pass, computed."""
    need(t, "a", "c", "sfa", "padded_offsets", "alpha", "prob")
    c = _dlpack.asarray(t["c"])
    m, wide, experts = c.shape[0], c.shape[1], len(_dlpack.asarray(t["alpha"]))
    complete_options(t, o)
    d_type = views.dtype_of(o.get("d_dtype") or "bfloat16", "d_dtype")
    new = TensorDict(d_row_tensor=empty(m, wide, d_type), d_col_tensor=empty(m, wide, d_type))
    if kind.width == 1:
        new["d_srelu_tensor"] = empty(m, wide, d_type)
    new["dprob_tensor"] = t.get("dprob")
    if new["dprob_tensor"] is None:
        new["dprob_tensor"] = _zeroed(o.get("dprob_tensor_buf"), (m, 1, 1))
    new["dbias_tensor"] = np.zeros((experts, wide, 1), views.dtype_of("bfloat16")) if o.get("generate_dbias") else None
    shape = (experts, 2, 1) if kind.width == 2 else (experts, 1)
    new.update(amax_tensor=_zeroed(o.get("amax_tensor_buf"), shape) if d_type.itemsize == 2 else None,
               sfd_row_tensor=None, sfd_col_tensor=None)
    if d_type in views.FP8:
        new.update(zip(("sfd_row_tensor", "sfd_col_tensor"), new_scales(m, wide, t["sfa"], o["sf_vec_size"])))
    if kind.width == 1:
        new["sfd_col_d_srelu_tensor"] = None if new["sfd_col_tensor"] is None else new["sfd_col_tensor"].copy()
    perform(kind, complete(t, new), o)
    return new


def _zeroed(buffer: Any, shape: tuple[int, ...]) -> Any:
    """A buffer of float32 full of zeros: the given one, or a new one."""
    if buffer is None:
        return np.zeros(shape, np.float32)
    _dlpack.asarray(buffer, writable=True)[...] = 0
    return buffer


@function()
def grouped_gemm_dglu_wrapper_sm100(t: dict[str, Any], o: dict[str, Any]) -> TensorDict:
    """Allocates the results of :class:`GroupedGemmDgluSm100` and computes them: ``d_row_tensor``, ``d_col_tensor``,
    ``dprob_tensor`` (the given one, added to), ``dbias_tensor`` (bfloat16, with ``generate_dbias``), ``amax_tensor``,
    ``sfd_row_tensor``, ``sfd_col_tensor``."""
    return _allocated(GroupedGemmDgluSm100, t, o)


@function()
def grouped_gemm_dswiglu_wrapper_sm100(t: dict[str, Any], o: dict[str, Any]) -> TensorDict:
    """:func:`grouped_gemm_dglu_wrapper_sm100` of :class:`GroupedGemmDswigluSm100`, with buffers for dprob and maxima."""
    return _allocated(GroupedGemmDswigluSm100, t, o)


@function()
def discrete_grouped_gemm_dswiglu_wrapper_sm100(t: dict[str, Any], o: dict[str, Any]) -> TensorDict:
    """:func:`grouped_gemm_dglu_wrapper_sm100` of :class:`DiscreteGroupedGemmDswigluSm100`."""
    return _allocated(DiscreteGroupedGemmDswigluSm100, t, o)


@function()
def grouped_gemm_dsrelu_wrapper_sm100(t: dict[str, Any], o: dict[str, Any]) -> TensorDict:
    """:func:`grouped_gemm_dglu_wrapper_sm100` of :class:`GroupedGemmDsreluSm100`."""
    return _allocated(GroupedGemmDsreluSm100, t, o)
