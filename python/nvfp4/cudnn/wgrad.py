# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of weights: grouped products along the tokens."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _dlpack, matmul
from .._scalars import check_count, check_flag
from ..errors import ArgumentError, check_one_of
from ..tensors import FORMATS, Grouping, ScaledTensor, ragged_k
from . import views
from .handling import bind
from .operation import Operation, TensorDict, check_shapes, check_types, function, need, perform

__all__ = ["GroupedGemmWgradSm100", "get_grouped_gemm_wgrad_workspace_size_sm100", "grouped_gemm_wgrad_wrapper_sm100"]


def _operand(values: np.ndarray, scales: Any, name: str, grouping: Grouping, vector: int) -> ScaledTensor:
    """``[rows, tokens]`` with the scales of each group as blocked scales of their own, one after the other."""
    kinds = _dlpack.asarray(scales)
    fmt = views.format_of(values.dtype, kinds.dtype, vector)
    if FORMATS[fmt].bits == 4 and not values.flags.c_contiguous:
        raise ArgumentError(f"expected {name} with adjacent tokens, of which a byte has two, but got strides {values.strides}")
    flat, step = np.ascontiguousarray(kinds).reshape(-1), 4 * vector
    tiles, tokens = -(-len(values) // 128), values.shape[1] * 8 // FORMATS[fmt].bits
    stored = np.zeros((1, tiles, -(-tokens // step), 32, 4, 4), flat.dtype)
    for first, end in grouping.ranges():
        at, count = first // step, -(-(end - first) // step)
        begin = tiles * at * 512
        if len(flat) < begin + tiles * count * 512:
            raise ArgumentError(f"expected scales of {name} for {tiles} x {at + count} blocks of 128 x 4, but got "
                                f"{kinds.shape}")
        stored[0, :, at:at + count] = flat[begin:begin + tiles * count * 512].reshape(tiles, count, 32, 4, 4)
    return ScaledTensor(np.ascontiguousarray(values), stored[0], fmt, layout="blocked")


class GroupedGemmWgradSm100(Operation):
    """``wgrad[g] = global_scale_a[g] global_scale_b[g] A_g B_g``, added to what is there with ``accumulate_on_output``.

    A ``[M, tokens]`` and B ``[tokens, N]`` have adjacent tokens; group g has those from ``offsets[g - 1]`` to ``offsets[g]``,
    and its scales are blocked scales of its own, one group after the other. ``wgrad`` is ``[L, M, N]``, or lies behind
    pointers. Global scales may be left out, which cuDNN does not allow for NVFP4.
    """

    tile_columns = (128, 256)

    def _check(self, s: dict[str, Any], o: dict[str, Any]) -> None:
        need(s, "a", "b", "sfa", "sfb", "offsets")
        if len(s["a"].shape) != 2 or len(s["b"].shape) != 2 or len(s["offsets"].shape) != 1:
            raise ArgumentError("expected a [M, tokens], b [tokens, N] and offsets [L], but got shapes "
                                f"{s['a'].shape}, {s['b'].shape} and {s['offsets'].shape}")
        views.format_of(s["a"].dtype, s["sfa"].dtype, o["sf_vec_size"])
        if (s["a"].shape[1], s["a"].dtype) != (s["b"].shape[0], s["b"].dtype):
            raise ArgumentError(f"expected b with tokens and type of a, {s['a'].shape[1]} and {s['a'].dtype}, but got "
                                f"{s['b'].shape[0]} and {s['b'].dtype}")
        experts, m, n = s["offsets"].shape[0], s["a"].shape[0], s["b"].shape[1]
        check_flag("accumulate_on_output", o["accumulate_on_output"])
        check_types(s, (np.int32,), "offsets")
        check_types(s, ("float32", "float16", "bfloat16"), "wgrad", "wgrad_expert")
        check_types(s, ("float32",), "global_scale_a", "global_scale_b")
        check_shapes(s, wgrad=(experts, m, n), wgrad_expert=(m, n), global_scale_a=(experts,), global_scale_b=(experts,))
        if (s.get("global_scale_a") is None) != (s.get("global_scale_b") is None):
            raise ArgumentError("expected global_scale_a and global_scale_b both or none")
        if o["num_experts"] is not None:
            if o["wgrad_shape"] is None or o["wgrad_dtype"] is None:
                raise ArgumentError("expected wgrad_shape and wgrad_dtype with num_experts")
            if (o["num_experts"], *o["wgrad_shape"]) != (experts, m, n):
                raise ArgumentError(f"expected num_experts {experts} and wgrad_shape {(m, n)}, but got {o['num_experts']} and "
                                    f"{tuple(o['wgrad_shape'])}")
        elif s.get("wgrad") is None:
            raise ArgumentError("expected either sample_wgrad, or num_experts, wgrad_shape and wgrad_dtype")

    def _run(self, t: dict[str, Any], o: dict[str, Any]) -> None:
        ends, vector = _dlpack.asarray(t["offsets"]), o["sf_vec_size"]
        for first, end in zip([0, *ends[:-1].tolist()], ends.tolist()):
            if end > first and first % (4 * vector):
                raise ArgumentError(f"expected groups that start at multiples of {4 * vector} tokens, for blocks of 4 scales, but "
                                    f"got one at {first} in offsets_tensor")
        grouping = ragged_k(ends, align=4 * vector)
        a = _operand(_dlpack.asarray(t["a"]), t["sfa"], "a_tensor", grouping, vector)
        b = _operand(_dlpack.asarray(t["b"]).T, t["sfb"], "b_tensor", grouping, vector)
        scales = [_dlpack.asarray(t[name]) for name in ("global_scale_a", "global_scale_b") if t.get(name) is not None]
        alpha = np.prod(scales, 0).astype(np.float32) if scales else None
        accumulates = dict(beta=1.0) if o["accumulate_on_output"] else {}
        if (t.get("wgrad") is None) == (t.get("wgrad_ptrs") is None):
            raise ArgumentError("expected either wgrad_tensor or wgrad_ptrs, but got both or none")
        if t.get("wgrad") is not None:
            matmul.grouped_matmul(a, b, grouping, alpha=alpha, out=_dlpack.asarray(t["wgrad"], writable=True), **accumulates)
            return
        shape, dtype = (a.shape[0], b.shape[0]), views.dtype_of(o["wgrad_dtype"], "wgrad_dtype")
        targets = [views.at(address, shape, dtype) for address in views.pointers_of(t["wgrad_ptrs"], "wgrad_ptrs", len(ends))]
        stack = np.stack(targets)
        matmul.grouped_matmul(a, b, grouping, alpha=alpha, out=stack, **accumulates)
        for target, result in zip(targets, stack):
            target[...] = result


@function()
def grouped_gemm_wgrad_wrapper_sm100(t: dict[str, Any], o: dict[str, Any]) -> TensorDict:
    """Computes :class:`GroupedGemmWgradSm100` into ``wgrad_tensor``, a new one of ``wgrad_dtype`` (bfloat16) unless it or
    ``wgrad_ptrs`` is given. ``output_mode`` is ``dense`` or ``discrete``."""
    need(t, "a", "b", "offsets")
    check_one_of("output_mode", o["output_mode"], ("dense", "discrete"))
    if o["output_mode"] == "dense" and t["wgrad_ptrs"] is not None:
        raise ArgumentError("expected no wgrad_ptrs with output_mode 'dense'")
    a, b, experts = _dlpack.asarray(t["a"]), _dlpack.asarray(t["b"]), len(_dlpack.asarray(t["offsets"]))
    shape = a.shape[0], b.shape[-1]
    dtype = views.dtype_of(o["wgrad_dtype"] or "bfloat16", "wgrad_dtype")
    if t["wgrad"] is None and t["wgrad_ptrs"] is None:
        t["wgrad"] = np.zeros((experts, *shape), dtype)
    if t["wgrad_ptrs"] is not None:
        o.update(num_experts=experts, wgrad_shape=shape, wgrad_dtype=dtype)
    perform(GroupedGemmWgradSm100, t, o)
    return TensorDict(wgrad_tensor=t["wgrad"])


def get_grouped_gemm_wgrad_workspace_size_sm100(num_experts: int, *, output_mode: str = "dense",
                                                input_order: Any = "tensor2d") -> int:
    """1: there is no workspace, and cuDNN's answer is never 0."""
    bind("get_grouped_gemm_wgrad_workspace_size_sm100", (), (num_experts,), dict(output_mode=output_mode, input_order=input_order))
    check_one_of("output_mode", output_mode, ("dense", "discrete"))
    return check_count("num_experts", num_experts) and 1
