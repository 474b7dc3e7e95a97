# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The grouped product of bfloat16 operands without scales. The dialect's weights have scales, so these are numpy's products
of float32, rounded once."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _dlpack
from .._scalars import check_flag
from ..errors import ArgumentError
from ..tensors import ragged_rows
from . import views
from .forward import factors_of
from .operation import Operation, TensorDict, check_shapes, check_types, empty, function, need, perform
from .schedule import PADDING

__all__ = ["GroupedGemmSm100", "grouped_gemm_wrapper_sm100"]


def _check_given_once(t: dict[str, Any]) -> None:
    if (t.get("b") is None) == (t.get("b_ptrs") is None):
        raise ArgumentError("expected either b_tensor or b_ptrs, but got both or none")


class GroupedGemmSm100(Operation):
    """``C = alpha A B^T + bias``, ``D = C * prob`` of bfloat16 A ``[M, K, 1]`` and B ``[N, K, L]``, or B behind pointers. C is
    written with ``generate_c``. With ``compat="cudnn"`` the probability multiplies the bias alone where there is one."""

    keywords = ("compat",)

    def _check(self, s: dict[str, Any], o: dict[str, Any]) -> None:
        need(s, "a", "d", "padded_offsets", "alpha")
        if s.get("b") is not None:
            n, b_k, experts = s["b"].shape
        elif o["num_experts"] is None or o["b_shape"] is None or o["b_dtype"] is None:
            raise ArgumentError("expected either sample_b, or num_experts, b_shape and b_dtype")
        else:
            (n, b_k), experts = o["b_shape"][:2], o["num_experts"]
            if views.dtype_of(o["b_dtype"], "b_dtype") != views.dtype_of("bfloat16"):
                raise ArgumentError(f"expected b_dtype bfloat16, but got {o['b_dtype']}")
        m, k = s["a"].shape[:2]
        if b_k != k:
            raise ArgumentError(f"expected B with K = {k} as A has, but got {b_k}")
        check_shapes(s, a=(m, k, 1), c=(m, n, 1), d=(m, n, 1), bias=(n, experts), alpha=(experts,), padded_offsets=(experts,),
                     prob=(m,) if s.get("prob") is not None and len(s["prob"].shape) == 1 else (m, 1, 1))
        check_types(s, ("bfloat16",), "a", "b")
        check_types(s, ("float32", "float16", "bfloat16"), "c", "d", "bias")
        check_types(s, ("float32",), "alpha", "prob")
        check_types(s, (np.int32, np.int64), "padded_offsets")
        if check_flag("generate_c", o["generate_c"]) and s.get("c") is None:
            raise ArgumentError("expected c_tensor with generate_c, but got None")

    def _run(self, t: dict[str, Any], o: dict[str, Any]) -> None:
        _check_given_once(t)
        a, d, prob = views.matrix(t["a"], "a_tensor"), views.matrix(t["d"], "d_tensor", writable=True), factors_of(t, "prob")
        c = views.matrix(t["c"], "c_tensor", writable=True) if o["generate_c"] else None
        if t.get("b") is not None:
            weights: Any = views.stack(t["b"], "b_tensor")
        else:
            shape, kind = tuple(o["b_shape"][:2]), views.dtype_of(o["b_dtype"], "b_dtype")
            weights = [views.at(each, shape, kind) for each in views.pointers_of(t["b_ptrs"], "b_ptrs", o["num_experts"])]
        ends, alpha = _dlpack.asarray(t["padded_offsets"]), _dlpack.asarray(t["alpha"])
        if o["compat"] == "cudnn" and (ends % PADDING).any():
            raise ArgumentError(f"expected padded_offsets that are multiples of {PADDING}, but got {ends.tolist()}")
        if len(ends) and (ends[0] < 0 or (np.diff(ends) < 0).any() or ends[-1] > len(a)):
            raise ArgumentError(f"expected padded_offsets that do not decrease, in [0, {len(a)}], but got {ends.tolist()}")
        bias = None if t.get("bias") is None else _dlpack.asarray(t["bias"]).astype(np.float32)
        for g, (first, end) in enumerate(ragged_rows(ends).ranges()):
            z = alpha[g] * (a[first:end].astype(np.float32) @ weights[g].astype(np.float32).T)
            p = np.ones((end - first, 1), np.float32) if prob is None else prob[first:end, None]
            if bias is not None:
                z += bias[:, g] * (p if o["compat"] == "cudnn" else 1)
            if c is not None:
                c[first:end] = z
            d[first:end] = z if bias is not None and o["compat"] == "cudnn" else z * p


@function("compat")
def grouped_gemm_wrapper_sm100(t: dict[str, Any], o: dict[str, Any]) -> TensorDict:
    """Computes :class:`GroupedGemmSm100` into ``d_tensor`` and, with ``generate_c``, ``c_tensor``: the given ones, or new ones of
    ``d_dtype`` and ``c_dtype``."""
    _check_given_once(t)
    a, o = _dlpack.asarray(t["a"]), dict(o)
    if t["b"] is not None:
        if o["n"] is not None or o["b_dtype"] is not None:
            raise ArgumentError("expected no n and b_dtype with b_tensor, which has both, but got "
                                f"{o['n']} and {o['b_dtype']}")
        n = _dlpack.asarray(t["b"]).shape[0]
    elif o["n"] is None or o["b_dtype"] is None:
        raise ArgumentError("expected n and b_dtype with b_ptrs")
    else:
        n = o["n"]
        o.update(num_experts=len(views.pointers_of(t["b_ptrs"], "b_ptrs")), b_shape=(n, a.shape[1]))
    for name in ("c", "d"):
        kind = o[f"{name}_dtype"]
        if t[name] is not None and kind is not None and views.dtype_of(kind) != _dlpack.asarray(t[name]).dtype:
            raise ArgumentError(f"expected {name}_dtype {_dlpack.asarray(t[name]).dtype} as {name}_tensor has, but got {kind}")
        if t[name] is None and (name == "d" or o["generate_c"]):
            t[name] = empty(len(a), n, views.dtype_of(kind or "bfloat16", f"{name}_dtype"))
    perform(GroupedGemmSm100, t, o)
    return TensorDict(d_tensor=t["d"], c_tensor=t["c"] if o["generate_c"] else None)
