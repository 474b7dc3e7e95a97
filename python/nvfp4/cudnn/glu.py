# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Grouped product, bias, SwiGLU or GeGLU, probability, with FP8 results on request; dense and discrete weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._scalars import check_flag
from ..errors import ArgumentError
from ..options import Activation, Gate
from ..tensors import FORMATS
from . import views
from .forward import Forward, allocate, complete, factors_of
from .operation import TensorDict, function, perform

__all__ = ["DiscreteGroupedGemmSwigluSm100", "GroupedGemmGluSm100", "GroupedGemmSwigluSm100",
           "discrete_grouped_gemm_swiglu_wrapper_sm100", "grouped_gemm_glu_wrapper_sm100",
           "grouped_gemm_swiglu_wrapper_sm100"]

GATE = Gate(32)
# Parameters of geglu, which swiglu has not.
_GEGLU = {"geglu_alpha": 1.702, "glu_clamp_max": 7.0, "glu_clamp_min": -7.0}


def _clamped_glu(alpha: float, offset: float, low: float, high: float) -> str:
    """GeGLU with limits of its own, as the region of a custom activation."""
    def constant(name: str, value: float) -> str:
        return f"  %{name} = arith.constant {float(np.float32(value)):.9e} : f32\n"

    return ("^bb0(%gate: f32, %up: f32):\n" + constant("low", low) + constant("high", high) + constant("a", -alpha)
            + constant("offset", offset) + constant("one", 1.0)
            + "  %g = arith.minimumf %gate, %high : f32\n  %u0 = arith.minimumf %up, %high : f32\n"
              "  %u = arith.maximumf %u0, %low : f32\n  %t = arith.mulf %g, %a : f32\n  %e = math.exp %t : f32\n"
              "  %d = arith.addf %e, %one : f32\n  %s = arith.divf %g, %d : f32\n  %v = arith.addf %u, %offset : f32\n"
              "  %y = arith.mulf %s, %v : f32\n  grouped_scaled_gemm.yield %y : f32")


def activation_of(o: dict[str, Any], prefix: str = "") -> tuple[Activation | None, tuple[float, ...]]:
    """The activation of ``act_func``, whose words have a prefix in the backward pass; None for limits that it cannot have,
    and (alpha, offset, low, high)."""
    act, offset = o.get("act_func", prefix + "swiglu"), o.get("linear_offset")
    if act not in (prefix + "swiglu", prefix + "geglu"):
        raise ArgumentError(f"expected act_func {prefix}swiglu or {prefix}geglu, but got '{act}'")
    alpha, high, low = (o.get(name, value) for name, value in _GEGLU.items())
    if act == prefix + "swiglu":
        if offset not in (None, 0) or (alpha, high, low) != tuple(_GEGLU.values()):
            raise ArgumentError(f"expected act_func {prefix}geglu with linear_offset, geglu_alpha, glu_clamp_max or "
                                f"glu_clamp_min, which swiglu has not, but got {(offset, alpha, high, low)} for {act}")
        return Activation("swiglu", GATE), ()
    offset = 1.0 if offset is None else offset
    numbers = alpha, offset, low, high
    symmetric = high > 0 and low == -high and np.isfinite(high)
    return Activation("swiglu", GATE, alpha, offset, high) if symmetric else None, numbers


class Glu(Forward):
    keywords = ("compat",)
    columns_of_result = 2

    def _check(self, s: dict[str, Any], o: dict[str, Any]) -> None:
        activation_of(o)
        super()._check(s, o)
        if check_flag("generate_c", o.get("generate_c", False)) and s.get("c") is None:
            raise ArgumentError("expected c_tensor with generate_c, but got None")
        if o.get("compat") != "cudnn" or FORMATS[views.format_of(s["a"].dtype, s["sfa"].dtype, o["sf_vec_size"])].bits != 4:
            return
        if s.get("bias") is None and o["sf_vec_size"] == 16 and s["d"].dtype == np.float32:
            raise NotImplementedError("cudnn: FP4 operands with sf_vec_size 16 and float32 D need a bias; use bfloat16 D")
        if s.get("c") is not None and s["c"].dtype == np.float32:
            raise NotImplementedError("cudnn: FP4 operands need C of float16 or bfloat16, but got float32")

    def _epilogue(self, t: dict[str, Any], o: dict[str, Any]) -> dict[str, Any]:
        prob = factors_of(t, "prob")
        factors = {} if prob is None else dict(prob=prob)
        activation, numbers = activation_of(o)
        if activation is not None:
            return dict(activation=activation, **factors)
        return dict(activation=Activation("custom", GATE), epilogue=_clamped_glu(*numbers), **factors)


class GroupedGemmGluSm100(Glu):
    """``C = alpha A B^T + bias``, ``D = glu(C) * prob`` of SwiGLU or GeGLU.

    ``sample_a`` ``[M, K, 1]`` (FP4 as ``[M, K/2, 1]`` bytes), ``sample_b`` ``[N, K, L]`` or ``num_experts``, ``b_shape``
    and ``b_dtype`` for weights behind pointers, ``sample_c`` ``[M, N, 1]``, ``sample_d`` and ``sample_d_col``
    ``[M, N/2, 1]``, 6-D blocked scales, ``sample_padded_offsets`` int32 ``[L]`` (ends of groups), ``sample_alpha``
    float32 ``[L]``, ``sample_bias`` ``[N, L]``, ``sample_prob`` ``[M, 1, 1]``. ``discrete_col_sfd`` packs column scales by
    group, for results that have them; ``use_single_group_runtime_offsets``, of one expert, makes it end at M whatever
    ``padded_offsets`` holds; C is written where it is given, and ``generate_c`` wants one. ``linear_offset`` None is 1 for
    geglu; swiglu has neither offset nor limits, and refuses others than the defaults. ``compat="cudnn"``: see the module.
    """


class GroupedGemmSwigluSm100(Glu):
    """:class:`GroupedGemmGluSm100` of SwiGLU with dense weights."""


class DiscreteGroupedGemmSwigluSm100(Glu):
    """:class:`GroupedGemmGluSm100` with weights behind pointers."""


def _allocated(kind: type[Glu], t: dict[str, Any], o: dict[str, Any]) -> TensorDict:
    new = allocate(t, o, True)
    if not len(new["d_tensor"]):
        return new
    perform(kind, complete(t, new), o)
    return new


@function("compat")
def grouped_gemm_glu_wrapper_sm100(t: dict[str, Any], o: dict[str, Any]) -> TensorDict:
    """Allocates results, checks, compiles and executes :class:`GroupedGemmGluSm100` in one call.

    Returns ``c_tensor`` ``[M, N, 1]``, ``d_tensor`` and ``d_col_tensor`` ``[M, N/2, 1]``, ``amax_tensor`` ``[L, 1]`` (16-bit
    D only), ``sfd_row_tensor`` and ``sfd_col_tensor`` (FP8 operands with FP8 ``d_dtype`` only), by name: tensors of torch if
    A is one, and else arrays.
    """
    return _allocated(GroupedGemmGluSm100, t, o)


@function("compat")
def grouped_gemm_swiglu_wrapper_sm100(t: dict[str, Any], o: dict[str, Any]) -> TensorDict:
    """:func:`grouped_gemm_glu_wrapper_sm100` of :class:`GroupedGemmSwigluSm100`."""
    return _allocated(GroupedGemmSwigluSm100, t, o)


@function("compat")
def discrete_grouped_gemm_swiglu_wrapper_sm100(t: dict[str, Any], o: dict[str, Any]) -> TensorDict:
    """:func:`grouped_gemm_glu_wrapper_sm100` of :class:`DiscreteGroupedGemmSwigluSm100`."""
    return _allocated(DiscreteGroupedGemmSwigluSm100, t, o)
