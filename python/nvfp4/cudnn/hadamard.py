# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Maxima behind a Hadamard transform: of the GLU product's result along tokens, of RMSNorm's along features."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _dlpack
from ..errors import ArgumentError, UnsupportedError
from ..layer_parts import hadamard
from ..options import Hadamard
from ..quantization import amax
from . import views
from .forward import allocate, complete, multiply, store_amax
from .glu import Glu
from .operation import Operation, TensorDict, check_shapes, check_types, function, need, perform

__all__ = ["GroupedGemmGluHadamardSm100", "RmsNormRhtAmaxSm100", "grouped_gemm_glu_hadamard_wrapper_sm100",
           "rmsnorm_rht_amax_wrapper_sm100"]

_RUN = 16


def _sylvester() -> np.ndarray:
    """The Hadamard matrix of 16, in Sylvester's order."""
    matrix = np.ones((1, 1), np.float32)
    while len(matrix) < _RUN:
        matrix = np.kron(matrix, np.array([[1, 1], [1, -1]], np.float32))
    return matrix


class GroupedGemmGluHadamardSm100(Glu):
    """:class:`GroupedGemmGluSm100` with two maxima of each group: ``amax`` of D before it is rounded, and ``post_rht_amax`` of
    D as bfloat16 whose runs of 16 tokens are multiplied by the Hadamard matrix, without a factor. D itself is not
    transformed. ``hadamard_tensor`` is that matrix; others are refused."""

    keywords = ()

    def _check(self, s: dict[str, Any], o: dict[str, Any]) -> None:
        super()._check(s, o)
        need(s, "prob")
        check_shapes(s, hadamard=(_RUN, _RUN))
        check_types(s, ("float16", "bfloat16"), "d")

    def _run(self, t: dict[str, Any], o: dict[str, Any]) -> None:
        if t.get("hadamard") is not None and (_dlpack.asarray(t["hadamard"]).astype(np.float32) != _sylvester()).any():
            raise UnsupportedError("expected hadamard_tensor None or the Hadamard matrix of 16 in Sylvester's order, but got "
                                   "another matrix")
        grouping = multiply(t, o, **self._epilogue(t, o))
        if t.get("post_rht_amax") is None:
            return
        rows = views.matrix(t["d"], "d_tensor").astype(views.dtype_of("bfloat16"))
        found = [amax(rows[first:end], hadamard=Hadamard(normalized=False), transposed=True) if end > first else 0
                 for first, end in grouping.ranges()]
        store_amax(np.array(found, np.float32)[:, None], grouping, t["post_rht_amax"], o)


@function()
def grouped_gemm_glu_hadamard_wrapper_sm100(t: dict[str, Any], o: dict[str, Any]) -> TensorDict:
    """Allocates the results of :class:`GroupedGemmGluHadamardSm100` and computes them: ``c_tensor``, ``d_tensor``,
    ``amax_tensor``, ``post_rht_amax_tensor``."""
    made = allocate(t, o, True)
    new = TensorDict({name: made[name] for name in ("c_tensor", "d_tensor", "amax_tensor")})
    new["post_rht_amax_tensor"] = None if new["amax_tensor"] is None else new["amax_tensor"].copy()
    perform(GroupedGemmGluHadamardSm100, complete(t, new), o)
    return new


def _rows_of(o: dict[str, Any], m: int) -> int:
    """Rows of which cuDNN has one maximum: 8, 4 or 2, as many as leave a block for each of 148 multiprocessors."""
    if o["rows_per_cta"] is not None:
        if not isinstance(o["rows_per_cta"], (int, np.integer)) or o["rows_per_cta"] < 1 or m % o["rows_per_cta"]:
            raise ArgumentError(f"expected rows_per_cta to divide M = {m}, but got {o['rows_per_cta']}")
        return int(o["rows_per_cta"])
    return next((rows for rows in (8, 4, 2) if m % rows == 0 and m // rows >= 148), 2)


class RmsNormRhtAmaxSm100(Operation):
    """``O = H(x w / sqrt(mean(x^2) + eps)) / 4`` in runs of 16 columns, and the largest magnitude before rounding of each
    ``rows_per_cta`` rows. x, w and O are bfloat16, ``[M, N]``, ``[N]`` and ``[M, N]``."""

    def _check(self, s: dict[str, Any], o: dict[str, Any]) -> None:
        x, w = ([extent for i, extent in enumerate(s[name].shape) if i < rank or extent != 1]
                for name, rank in (("x", 2), ("w", 1)))
        if len(x) != 2 or len(w) != 1 or x[1] % _RUN:
            raise ArgumentError(f"expected x [M, N] with N a multiple of {_RUN} and w [N], but got {s['x'].shape} and "
                                f"{s['w'].shape}")
        if w[0] != x[1]:
            raise ArgumentError(f"expected w of {x[1]} elements, but got {w[0]}")
        check_shapes(s, o=s["x"].shape)
        check_types(s, ("bfloat16",), "x", "w", "o")
        check_types(s, ("float32",), "amax")
        threads, rows = o["num_threads"], _rows_of(o, x[0])
        if threads is not None and (threads not in range(32, 1025, 32) or x[1] % (8 * threads)):
            raise ArgumentError(f"expected num_threads to be a multiple of 32, at most 1024, with 8 num_threads dividing N = {x[1]}, "
                                f"but got {threads}")
        if x[0] % rows:
            raise ArgumentError(f"expected M to be a multiple of {rows}, but got {x[0]}")
        if int(np.prod(s["amax"].shape)) != x[0] // rows:
            raise ArgumentError(f"expected amax of {x[0] // rows} elements, one for {rows} rows, but got {s['amax'].shape}")

    def _run(self, t: dict[str, Any], o: dict[str, Any]) -> None:
        x, w, out = (_dlpack.asarray(t[name], writable=name == "o") for name in ("x", "w", "o"))
        rows = x.reshape(x.shape[:2]).astype(np.float64)
        scale = 1 / np.sqrt((rows * rows).mean(1, keepdims=True) + float(o["eps"]))
        y = hadamard((rows * scale * w.reshape(-1).astype(np.float64)).astype(np.float32), normalized=True)
        out[...] = y.astype(out.dtype).reshape(out.shape)
        target = _dlpack.asarray(t["amax"], writable=True)
        target[...] = np.abs(y).reshape(target.size, -1).max(1, initial=0).reshape(target.shape)


@function()
def rmsnorm_rht_amax_wrapper_sm100(t: dict[str, Any], o: dict[str, Any]) -> TensorDict:
    """Allocates the results of :class:`RmsNormRhtAmaxSm100` and computes them: ``o_tensor``, ``amax_tensor``."""
    x = _dlpack.asarray(t["x"])
    new = TensorDict(o_tensor=np.zeros(x.shape, x.dtype),
                     amax_tensor=np.zeros(x.shape[0] // _rows_of(o, x.shape[0]), np.float32))
    perform(RmsNormRhtAmaxSm100, complete(t, new), o)
    return new
