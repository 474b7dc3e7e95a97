# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of matrices or stacks of matrices with the epilogues of the grouped ones: maxima, SwiGLU, squared ReLU."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _dlpack, matmul
from ..errors import ArgumentError, UnsupportedError
from ..layer_parts import glu_backward
from ..options import Activation, Gate, Quantizer
from ..quantization import quantize
from ..tensors import FORMATS, ScaledTensor, batched
from . import views
from .operation import Operation, TensorDict, check_shapes, check_types, empty, function, need, perform
from .forward import complete

__all__ = ["GemmAmaxSm100", "GemmDsreluSm100", "GemmSreluSm100", "GemmSwigluSm100", "gemm_amax_wrapper_sm100",
           "gemm_dsrelu_wrapper_sm100", "gemm_srelu_wrapper_sm100", "gemm_swiglu_wrapper_sm100"]


def _planes(tensor: Any, name: str, writable: bool = False) -> np.ndarray:
    """``[rows, columns, L]``, columns adjacent, as ``[L, rows, columns]`` on the same memory."""
    if writable:
        _dlpack.asarray(tensor, writable=True)
    return views.stack(tensor, name)


def _operand(values: Any, scales: Any, name: str, vector: int) -> ScaledTensor:
    stored, blocks = _planes(values, f"{name}_tensor"), views.blocked(scales, f"sf{name}_tensor")
    return ScaledTensor(stored, blocks, views.format_of(stored.dtype, blocks.dtype, vector), layout="blocked")


class _Dense(Operation):
    """``Z = alpha A B^T`` of each matrix of a stack: A ``[M, K, L]``, B ``[N, K, L]``, K adjacent, with blocked scales."""

    tile_columns = (64, 128, 192, 256)
    #: Columns of B for each column of the result.
    columns_of_result = 1
    #: Tensors [M, N, L], and those [M, N / columns_of_result, L].
    wide: tuple[str, ...] = ()
    narrow: tuple[str, ...] = ()

    def _check(self, s: dict[str, Any], o: dict[str, Any]) -> None:
        if s.get("sfa") is None or s.get("sfb") is None:
            raise UnsupportedError("expected sfa_tensor and sfb_tensor, for operands have scales here, but got None")
        need(s, "a", "b", *self.wide, *self.narrow)
        if len(s["a"].shape) != 3 or len(s["b"].shape) != 3:
            raise ArgumentError(f"expected a [M, K, L] and b [N, K, L], but got {s['a'].shape} and {s['b'].shape}")
        views.format_of(s["a"].dtype, s["sfa"].dtype, o["sf_vec_size"])
        (m, k, count), n = s["a"].shape, s["b"].shape[0]
        if s["b"].shape[1:] != (k, count) or s["b"].dtype != s["a"].dtype:
            raise ArgumentError(f"expected b [N, {k}, {count}] of {s['a'].dtype} as a, but got {s['b'].shape} of {s['b'].dtype}")
        if n % (64 if self.columns_of_result == 2 else 1):
            raise ArgumentError(f"expected N to be a multiple of 64 (pairs of 32 columns), but got {n}")
        check_shapes(s, norm_const=(1,), prob=(m, 1, count), dprob=(m, 1, count), **{name: (m, n, count) for name in self.wide},
                     **{name: (m, n // self.columns_of_result, count) for name in self.narrow})
        floats = "float32", "float16", "bfloat16"
        quantised = self.narrow[-1] if self._scales(s) is not None else None
        if (quantised is None) != (s.get("norm_const") is None):
            raise ArgumentError("expected the scales of a quantised result and norm_const_tensor both or none")
        check_types(s, floats, *(name for name in (*self.wide, *self.narrow) if name != quantised))
        if quantised is not None:
            check_types(s, views.FP8, quantised)
            if s["a"].dtype not in views.FP8:
                raise ArgumentError("expected FP8 operands for results with scales, but got FP4")
        if s.get("amax") is not None and int(np.prod(s["amax"].shape)) != 1:
            raise ArgumentError(f"expected amax of one element, but got {s['amax'].shape}")

    @staticmethod
    def _scales(t: dict[str, Any]) -> Any:
        return t.get("sfd") if t.get("sfd") is not None else t.get("sfc")

    def _multiply(self, t: dict[str, Any], o: dict[str, Any], z: str | None, y: str, **options: Any) -> None:
        """The product and its epilogue, into the tensors of these names."""
        a, b = (_operand(t[name], t[f"sf{name}"], name, o["sf_vec_size"]) for name in ("a", "b"))
        target, scales = _planes(t[y], f"{y}_tensor", writable=True), self._scales(t)
        out = target if scales is None else np.zeros(target.shape, np.float32)
        alpha = np.full(len(a.values), o.get("alpha", 1.0), np.float32)
        maxima = None if t.get("amax") is None else np.zeros(len(a.values), np.float32)
        matmul.grouped_matmul(a, b, batched(), alpha=alpha, out=out, amax=maxima,
                              preact=None if z is None else _planes(t[z], f"{z}_tensor", writable=True), **options)
        self._finish(t, out, target, scales, maxima)

    def _finish(self, t: dict[str, Any], y: np.ndarray, target: np.ndarray, scales: Any, maxima: np.ndarray | None) -> None:
        """Stores maxima, and results with scales of rows."""
        if maxima is not None:
            _dlpack.asarray(t["amax"], writable=True)[...] = maxima.max(initial=0)
        if scales is None:
            return
        fmt = "mxfp8_e4m3" if target.dtype == views.FP8[0] else "mxfp8_e5m2"
        constant, stored = float(_dlpack.asarray(t["norm_const"]).reshape(-1)[0]), views.blocked(scales, "scales")
        _dlpack.asarray(scales, writable=True)
        for plane, codes, bytes_ in zip(y, target, stored):
            result = quantize(plane, fmt, quantizer=Quantizer("cutlass"), global_scale=constant, layout="blocked")
            codes[...], bytes_[...] = result.values, result.scales


class GemmAmaxSm100(_Dense):
    """``C = A B^T``, and the largest magnitude of all of it before rounding."""

    narrow = ("c",)

    def _run(self, t: dict[str, Any], o: dict[str, Any]) -> None:
        self._multiply(t, o, None, "c")


class GemmSwigluSm100(_Dense):
    """``AB12 = alpha A B^T``, ``C = up silu(gate)``; here up is the first of each pair of 32 columns. Operands without scales
    are refused."""

    columns_of_result = 2
    wide, narrow = ("ab12",), ("c",)

    def _run(self, t: dict[str, Any], o: dict[str, Any]) -> None:
        self._multiply(t, o, "ab12", "c", activation=Activation("swiglu", Gate(32, "up_first")))


class GemmSreluSm100(_Dense):
    """``C = alpha A B^T``, ``D = relu(C)^2 * prob``."""

    wide, narrow = ("c",), ("d",)

    def _check(self, s: dict[str, Any], o: dict[str, Any]) -> None:
        need(s, "prob")
        super()._check(s, o)

    def _run(self, t: dict[str, Any], o: dict[str, Any]) -> None:
        prob = np.ascontiguousarray(_dlpack.asarray(t["prob"])[:, 0].T)
        self._multiply(t, o, "c", "d", activation="relu2", prob=prob)


class GemmDsreluSm100(_Dense):
    """``D = 2 relu(C) prob g`` with ``g = alpha A B^T``; ``dprob`` gets the sum of ``relu(C)^2 g`` over the row added."""

    wide, narrow = ("c",), ("d",)

    def _check(self, s: dict[str, Any], o: dict[str, Any]) -> None:
        need(s, "prob", "dprob")
        super()._check(s, o)

    def _run(self, t: dict[str, Any], o: dict[str, Any]) -> None:
        g = np.zeros(_planes(t["c"], "c_tensor").shape, np.float32)
        self._multiply({**t, "g": g.transpose(1, 2, 0), "amax": None, "sfd": None}, o, None, "g")
        prob = np.ascontiguousarray(_dlpack.asarray(t["prob"])[:, 0].T)
        result = glu_backward(_planes(t["c"], "c_tensor"), g, Activation("relu2"), prob=prob, prob_gradient=True, dtype=np.float32)
        _dlpack.asarray(t["dprob"], writable=True)[:, 0] += result.prob.T
        target, scales = _planes(t["d"], "d_tensor", writable=True), self._scales(t)
        if scales is None:
            target[...] = result.z.astype(target.dtype)
        self._finish(t, result.z, target, scales, None if t.get("amax") is None else np.abs(result.z).max((1, 2), initial=0))


def _new(t: dict[str, Any], o: dict[str, Any], wide: str | None, narrow: str, halves: bool, scales: str) -> TensorDict:
    """New results of a function: of the product, of its epilogue, a maximum, scales of rows."""
    need(t, "a", "b")
    if t.get("sfa") is None:
        raise UnsupportedError("expected sfa_tensor and sfb_tensor, for operands have scales here, but got None")
    (m, _, count), n = _dlpack.asarray(t["a"]).shape, _dlpack.asarray(t["b"]).shape[0]
    width, new = n // 2 if halves else n, TensorDict()
    kind = views.dtype_of(o[f"{narrow}_dtype"], f"{narrow}_dtype")
    if wide is not None:
        new[f"{wide}_tensor"] = empty(m, n, views.dtype_of(o[f"{wide}_dtype"], f"{wide}_dtype"), count)
    new[f"{narrow}_tensor"] = empty(m, width, kind, count)
    sfa = _dlpack.asarray(t["sfa"]).dtype
    fp4 = FORMATS[views.format_of(_dlpack.asarray(t["a"]).dtype, sfa, o["sf_vec_size"])].bits == 4
    new["amax_tensor"] = np.zeros(1, np.float32) if fp4 and kind not in views.FP8 else None
    shape = (count, -(-m // 128), -(-(-(-width // o["sf_vec_size"])) // 4), 32, 4, 4)
    new[f"{scales}_tensor"] = views.as_view(np.zeros(shape, np.uint8).view(sfa)) if kind in views.FP8 else None
    return new


@function()
def gemm_amax_wrapper_sm100(t: dict[str, Any], o: dict[str, Any]) -> TensorDict:
    """Allocates the results of :class:`GemmAmaxSm100` and computes them: ``c_tensor``, ``amax_tensor`` ``[1, 1, 1]``."""
    new = TensorDict(c_tensor=_new(t, o, None, "c", False, "sfc")["c_tensor"], amax_tensor=np.zeros((1, 1, 1), np.float32))
    perform(GemmAmaxSm100, complete(t, new), o)
    return new


@function()
def gemm_swiglu_wrapper_sm100(t: dict[str, Any], o: dict[str, Any]) -> TensorDict:
    """Allocates the results of :class:`GemmSwigluSm100` and computes them: ``ab12_tensor``, ``c_tensor``, ``sfc_tensor``,
    ``amax_tensor``."""
    made = _new(t, o, "ab12", "c", True, "sfc")
    new = TensorDict({name: made[name] for name in ("ab12_tensor", "c_tensor", "sfc_tensor", "amax_tensor")})
    perform(GemmSwigluSm100, complete(t, new), o)
    return new


@function()
def gemm_srelu_wrapper_sm100(t: dict[str, Any], o: dict[str, Any]) -> TensorDict:
    """Allocates the results of :class:`GemmSreluSm100` and computes them: ``c_tensor``, ``d_tensor``, ``amax_tensor``,
    ``sfd_tensor``."""
    new = _new(t, o, "c", "d", False, "sfd")
    perform(GemmSreluSm100, complete(t, new), o)
    return new


@function()
def gemm_dsrelu_wrapper_sm100(t: dict[str, Any], o: dict[str, Any]) -> TensorDict:
    """Allocates the results of :class:`GemmDsreluSm100` and computes them: ``d_tensor``, ``dprob_tensor``, ``amax_tensor``,
    ``sfd_tensor``."""
    made = _new(t, o, None, "d", False, "sfd")
    m, _, count = _dlpack.asarray(t["a"]).shape
    new = TensorDict(d_tensor=made["d_tensor"], dprob_tensor=np.zeros((m, 1, count), np.float32),
                     amax_tensor=made["amax_tensor"], sfd_tensor=made["sfd_tensor"])
    perform(GemmDsreluSm100, complete(t, new), o)
    return new
