# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Grouped products of the forward pass: operands, epilogue, results with and without scales."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _dlpack, matmul
from .._scalars import check_flag
from ..errors import ArgumentError
from ..tensors import FORMATS, Grouping, ScaledTensor, ragged_rows
from . import results, views
from .operation import Operation, TensorDict, check_shapes, check_types, empty, need
from .schedule import PADDING

__all__ = ["Forward", "allocate", "check_operands", "check_results", "multiply", "operands_of", "store_amax", "weights_of"]


def check_given_once(t: dict[str, Any]) -> None:
    """Weights are tensors, or lie behind pointers."""
    given = [t.get(name) is not None for name in ("b", "sfb", "b_ptrs", "sfb_ptrs")]
    if given not in ([True, True, False, False], [False, False, True, True]):
        names = [name for name, is_there in zip(("b_tensor", "sfb_tensor", "b_ptrs", "sfb_ptrs"), given) if is_there]
        raise ArgumentError("expected either b_tensor and sfb_tensor, or b_ptrs and sfb_ptrs (with n and b_dtype), but got "
                            f"{', '.join(names) or 'none'}")


def weights_of(t: dict[str, Any], o: dict[str, Any], lhs: ScaledTensor) -> Any:
    """B of a call: one tensor, or the list of those behind pointers."""
    check_given_once(t)
    if t.get("b") is not None:
        return views.rhs_of(t["b"], t["sfb"], o["sf_vec_size"])
    count = o["num_experts"]
    values, scales = (views.pointers_of(t[name], name, count) for name in ("b_ptrs", "sfb_ptrs"))
    return views.rhs_at(values, scales, o["b_shape"][0], lhs.values.shape[1], views.dtype_of(o["b_dtype"], "b_dtype"),
                        lhs.scales.dtype, o["sf_vec_size"])


def check_operands(s: dict[str, Any], o: dict[str, Any]) -> tuple[int, int, int]:
    """(rows, columns of the product, experts) of samples or tensors."""
    fmt = views.format_of(s["a"].dtype, s["sfa"].dtype, o["sf_vec_size"])
    bits = FORMATS[fmt].bits
    m, k = s["a"].shape[0], s["a"].shape[1] * 8 // bits
    if s.get("b") is not None:
        (n, b_k, experts), b_type = s["b"].shape, s["b"].dtype
        b_k = b_k * 8 // bits
    elif o.get("num_experts") is None:
        raise ArgumentError("expected either sample_b and sample_sfb, or num_experts, b_shape and b_dtype")
    else:
        if o["b_shape"] is None or o["b_dtype"] is None:
            raise ArgumentError("expected b_shape and b_dtype with num_experts")
        (n, b_k), experts, b_type = o["b_shape"][:2], o["num_experts"], views.dtype_of(o["b_dtype"], "b_dtype")
    if s.get("b") is not None and s.get("sfb") is None:
        raise ArgumentError("expected sample_sfb with sample_b")
    if b_k != k:
        raise ArgumentError(f"expected B with K = {k} as A has, but got {b_k}")
    if b_type != s["a"].dtype:
        raise ArgumentError(f"expected B of the type of A, {s['a'].dtype}, but got {b_type}")
    if s["padded_offsets"].dtype not in (np.int32, np.int64):
        raise ArgumentError(f"expected padded_offsets of int32, but got {s['padded_offsets'].dtype}")
    if check_flag("use_single_group_runtime_offsets", o.get("use_single_group_runtime_offsets", False)) and experts != 1:
        raise ArgumentError(f"expected one expert for use_single_group_runtime_offsets, but got {experts}")
    check_shapes(s, alpha=(experts,), beta=(experts,), padded_offsets=(experts,), norm_const=(1,), row_scale=(m,),
                 prob=(m,) if s.get("prob") is not None and len(s["prob"].shape) == 1 else (m, 1, 1), dprob=(m, 1, 1))
    return m, n, experts


def check_results(s: dict[str, Any], o: dict[str, Any], *names: str) -> None:
    """Types of results ``names``, which are FP8 where there are scales for them."""
    check_flag("discrete_col_sfd", o.get("discrete_col_sfd", False))
    if len({s.get(name) is None for name in ("sfd_row", "sfd_col", "norm_const")}) != 1:
        raise ArgumentError("expected sfd_row_tensor, sfd_col_tensor and norm_const_tensor all or none")
    if o.get("discrete_col_sfd") and s.get("sfd_col") is None:
        raise ArgumentError("expected sfd_row, sfd_col and norm_const with discrete_col_sfd, which is about scales of "
                            "columns, but got none")
    quantised = s.get("sfd_row") is not None
    check_types(s, views.FP8 if quantised else ("float32", "float16", "bfloat16"), *names)
    if quantised and s["a"].dtype not in views.FP8:
        raise ArgumentError("expected FP8 operands for results with scales, but got FP4")


def operands_of(t: dict[str, Any], o: dict[str, Any]) -> tuple[ScaledTensor, Any, Grouping]:
    """(A, B, groups) of a call."""
    lhs = views.lhs_of(t["a"], t["sfa"], o["sf_vec_size"])
    ends = _dlpack.asarray(t["padded_offsets"])
    if o.get("use_single_group_runtime_offsets"):
        ends = np.full_like(ends, lhs.shape[0])
    if o.get("compat") == "cudnn" and (ends % PADDING).any():
        raise ArgumentError(f"expected padded_offsets that are multiples of {PADDING}, but got {ends.tolist()}")
    return lhs, weights_of(t, o, lhs), ragged_rows(ends)


def multiply(t: dict[str, Any], o: dict[str, Any], **epilogue: Any) -> Grouping:
    """The product into ``t["d"]``, ``t["d_col"]`` and their scales, its pre-activation and its maxima."""
    lhs, rhs, grouping = operands_of(t, o)
    quantised = t.get("sfd_row") is not None
    d = views.matrix(t["d"], "d_tensor", writable=True)
    out = np.zeros(d.shape, np.float32) if quantised else d
    amax = None if t.get("amax") is None else np.zeros(len(grouping), np.float32)
    bias = t.get("bias")
    matmul.grouped_matmul(
        lhs, rhs, grouping, alpha=_dlpack.asarray(t["alpha"]), out=out, amax=amax,
        bias=None if bias is None else np.ascontiguousarray(_dlpack.asarray(bias).T),
        preact=None if t.get("c") is None else views.matrix(t["c"], "c_tensor", writable=True), **epilogue)
    if quantised:
        results.quantise(out, grouping, d, t["sfd_row"], t.get("d_col"), t["sfd_col"], t["norm_const"], o.get("compat"),
                         o["discrete_col_sfd"])
    elif t.get("d_col") is not None:
        valid = results.rows_of(d, grouping)
        views.matrix(t["d_col"], "d_col_tensor", writable=True)[valid] = d[valid]
    if amax is not None:
        store_amax(amax[:, None], grouping, t["amax"], o)
    return grouping


def store_amax(amax: np.ndarray, grouping: Grouping, target: Any, o: dict[str, Any]) -> None:
    """Maxima of each group, which are those of cuDNN for groups without rows if the call asks for them."""
    if o.get("compat") == "cudnn":
        amax[[first == end for first, end in grouping.ranges()]] = -np.inf
    _dlpack.asarray(target, writable=True)[...] = amax


def factors_of(t: dict[str, Any], name: str) -> Any:
    """One factor of each row, or None."""
    return None if t.get(name) is None else _dlpack.asarray(t[name]).reshape(-1)


class Forward(Operation):
    """A grouped product of the forward pass."""

    #: Columns of B for each column of D.
    columns_of_result = 1

    def _check(self, s: dict[str, Any], o: dict[str, Any]) -> None:
        need(s, "a", "sfa", "padded_offsets", "alpha", "d")
        m, n, experts = check_operands(s, o)
        width = n // self.columns_of_result
        if self.columns_of_result == 2 and n % 64:
            raise ArgumentError(f"expected N to be a multiple of 64 (pairs of 32 columns), but got {n}; nearest are "
                                f"{n // 64 * 64} and {n // 64 * 64 + 64}")
        check_shapes(s, c=(m, n, 1), d=(m, width, 1), d_col=(m, width, 1), bias=(n, experts), amax=(experts, 1),
                     post_rht_amax=(experts, 1))
        check_types(s, ("float32", "float16", "bfloat16"), "c", "bias")
        check_results(s, o, "d", "d_col")
        if o.get("compat") == "cudnn" and experts > 1024:
            raise ArgumentError(f"expected at most 1024 experts, but got {experts}")

    def _run(self, t: dict[str, Any], o: dict[str, Any]) -> None:
        multiply(t, o, **self._epilogue(t, o))

    def _epilogue(self, t: dict[str, Any], o: dict[str, Any]) -> dict[str, Any]:
        """Options of the product beside its operands and results."""
        raise NotImplementedError


def complete_options(t: dict[str, Any], o: dict[str, Any]) -> tuple[int, int]:
    """(columns of B, experts); adds num_experts and b_shape to the options of a function with weights behind pointers."""
    check_given_once(t)
    if t.get("b") is not None:
        if o.get("n") is not None or o.get("b_dtype") is not None:
            raise ArgumentError("expected no n and b_dtype with b_tensor, which has both, but got "
                                f"{o.get('n')} and {o.get('b_dtype')}")
        shape = _dlpack.asarray(t["b"]).shape
        if len(shape) != 3:
            raise ArgumentError(f"expected b_tensor of shape [N, K, L], but got {shape}")
        return shape[0], shape[2]
    if o["n"] is None or o["b_dtype"] is None:
        raise ArgumentError("expected either b_tensor and sfb_tensor, or b_ptrs, sfb_ptrs, n and b_dtype")
    n, experts, a = o["n"], len(views.pointers_of(t["b_ptrs"], "b_ptrs")), _dlpack.asarray(t["a"])
    o.update(num_experts=experts, b_shape=(n, a.shape[1] * (2 if a.dtype == np.uint8 else 1)))
    return n, experts


def allocate(t: dict[str, Any], o: dict[str, Any], halves: bool) -> TensorDict:
    """Completes the options of a function and returns new results of the forward pass."""
    n, experts = complete_options(t, o)
    m = _dlpack.asarray(t["a"]).shape[0]
    width = n // 2 if halves else n
    d_type = views.dtype_of(o.get("d_dtype") or "bfloat16", "d_dtype")
    new = TensorDict()
    if "c_dtype" in o:
        new["c_tensor"] = empty(m, n, views.dtype_of(o["c_dtype"] or "bfloat16", "c_dtype"))
    new.update(d_tensor=empty(m, width, d_type), d_col_tensor=empty(m, width, d_type), amax_tensor=None,
               sfd_row_tensor=None, sfd_col_tensor=None)
    if d_type.itemsize == 2 and o.get("generate_amax", True):
        new["amax_tensor"] = np.full((experts, 1), -np.inf if o.get("compat") == "cudnn" else 0, np.float32)
    if d_type in views.FP8:
        new.update(zip(("sfd_row_tensor", "sfd_col_tensor"), new_scales(m, width, t["sfa"], o["sf_vec_size"])))
    return new


def new_scales(m: int, width: int, sfa: Any, vector: int) -> list[np.ndarray]:
    """Scales of rows and of columns of ``[m, width]``, of the type of ``sfa``, as zeros."""
    kind = _dlpack.asarray(sfa).dtype
    shapes = [(1, -(-rows // 128), -(-(-(-columns // vector)) // 4), 32, 4, 4)
              for rows, columns in ((m, width), (width, m))]
    return [views.as_view(np.zeros(shape, np.uint8).view(kind)) for shape in shapes]


def complete(t: dict[str, Any], new: TensorDict) -> dict[str, Any]:
    """The tensors of a call with its new results."""
    return {**t, **{name.removesuffix("_tensor"): new[name] for name in new.keys()}}
