# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The parts of a Mixture-of-Experts layer beside its products, as functions of their own."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _dlpack, _words
from ._calls import DIALECT, FLOATS, Call, write_groups
from ._scalars import check_count, check_flag, float32s, scalar
from .errors import ArgumentError, check_one_of
from .options import ActivationLike, activation_of, word_of
from .tensors import Grouping

__all__ = ["route", "sort_tokens", "permute", "combine", "glu", "glu_backward", "GluGradient", "sum_rows",
           "hadamard", "ROUTING_METHODS"]

ROUTING_METHODS = _words.ROUTING_METHOD


def routing_attributes(n_group: int | None, topk_group: int | None, routed_scaling: float | None) -> str:
    """Attributes of ``route`` in MLIR, with the space before them; empty for none."""
    parts = [f"{name} = {check_count(name, value)} : i64"
             for name, value in (("n_group", n_group), ("topk_group", topk_group)) if value is not None]
    if routed_scaling is not None:
        number = scalar(routed_scaling, np.dtype(np.float32), "routed_scaling")
        parts.append(f"routed_scaling = {float(number):.9e} : f32")
    return f" {{{', '.join(parts)}}}" if parts else ""


def _write_outs(call: Call, results: dict[str, np.ndarray]) -> None:
    outs = [call.memref(f"out_{name}", array, name) for name, array in results.items()]
    names, types = zip(*(operand.split(" : ") for operand in outs))
    call.write(f" outs({', '.join(names)} : {', '.join(types)})")


def route(logits: Any, top_k: int, method: str = "topk_softmax", *, bias: Any = None, n_group: int | None = None,
          topk_group: int | None = None, routed_scaling: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """(weights ``[T, top_k]`` float32, experts ``[T, top_k]`` int32) from logits ``[T, E]``, in order of decreasing score,
    ties to the lower expert; ``method`` is one of ROUTING_METHODS (docs/Spec.md section 6)."""
    array = _dlpack.asarray(logits)
    if array.ndim != 2:
        raise ArgumentError(f"expected logits of shape [T, E], but got {array.shape}")
    top_k = check_count("top_k", top_k)
    weights, experts = np.zeros((array.shape[0], top_k), np.float32), np.full((array.shape[0], top_k), -1, np.int32)
    check_one_of("method", method, ROUTING_METHODS)
    call = Call("route")
    call.write(f"{DIALECT}.route {method} ({call.memref('logits', array, 'logits', FLOATS)})", "logits")
    if bias is not None:
        call.write(f" bias({call.floats('bias', bias, 'bias', 1)})", "bias")
    _write_outs(call, dict(weights=weights, experts=experts))
    call.write(routing_attributes(n_group, topk_group, routed_scaling))
    call.run()
    return weights, experts


def sort_tokens(experts: Any, num_experts: int, *, align: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(ends ``[E]``, token_of_row ``[T k + E (align - 1)]``, row_of_slot ``[T, k]``), int32: a stable order by expert of
    the pairs of ``experts`` ``[T, k]`` int32, of which -1 is not used."""
    array = _dlpack.asarray(experts)
    num_experts, align = check_count("num_experts", num_experts), check_count("align", align)
    rows = array.size + num_experts * (align - 1)
    results = np.zeros(num_experts, np.int32), np.full(rows, -1, np.int32), np.full(array.shape, -1, np.int32)
    call = Call("sort_tokens")
    call.write(f"{DIALECT}.sort_tokens({call.memref('experts', array, 'experts', ('i32',))})", "experts")
    _write_outs(call, dict(zip(("ends", "token_of_row", "row_of_slot"), results)))
    if align != 1:
        call.write(f" {{align = {align} : i64}}", "align")
    call.run()
    return results


def _check_rank(name: str, array: np.ndarray, rank: int) -> None:
    if array.ndim != rank:
        raise ArgumentError(f"expected {name} of rank {rank}, but got shape {array.shape}")


def _written(call: Call, out: Any, shape: tuple[int, ...], dtype: Any, default: Any, attribute: str = "") -> np.ndarray:
    """The destination of the operation: `out`, or an array of `dtype` or else of the `default` type."""
    result = _dlpack.destination(out, shape, dtype, default)
    call.write(f" outs({call.memref('out', result, 'out', FLOATS, writes=True)})", "out")
    call.write(attribute)
    call.run()
    return result


def permute(x: Any, token_of_row: Any, *, out: Any = None) -> np.ndarray:
    """Row r of the result is row ``token_of_row[r]`` of ``x`` ``[T, K]``, or zero for -1."""
    array, rows = _dlpack.asarray(x), _dlpack.asarray(token_of_row)
    _check_rank("x", array, 2)
    call = Call("permute")
    call.write(f"{DIALECT}.permute({call.memref('x', array, 'x', FLOATS)})", "x")
    call.write(f" by({call.memref('rows', rows, 'token_of_row', ('i32',))})", "token_of_row")
    return _written(call, out, (rows.size, array.shape[-1]), None, array.dtype)


def combine(y: Any, row_of_slot: Any, weights: Any = None, *, dtype: Any = None, out: Any = None) -> np.ndarray:
    """Token t of the result is the sum over slots s of ``weights[t, s] * y[row_of_slot[t, s]]``, in float32 and in the
    order of the slots; -1 is left out, and without weights each is 1."""
    array, rows = _dlpack.asarray(y), _dlpack.asarray(row_of_slot)
    _check_rank("y", array, 2)
    _check_rank("row_of_slot", rows, 2)
    call = Call("combine")
    call.write(f"{DIALECT}.combine({call.memref('y', array, 'y', FLOATS)})", "y")
    call.write(f" by({call.memref('rows', rows, 'row_of_slot', ('i32',))})", "row_of_slot")
    if weights is not None:
        call.write(f" weights({call.floats('weights', weights, 'weights', 2)})", "weights")
    return _written(call, out, (rows.shape[0], array.shape[-1]), dtype, array.dtype)


def glu(z: Any, activation: ActivationLike, *, dtype: Any = None, math_mode: str | None = None,
        out: Any = None) -> np.ndarray:
    """An activation on its own, of the last dimension of ``z``, which pairs halve: the same bits as in a product."""
    array = _dlpack.asarray(z)
    if not array.ndim:
        raise ArgumentError("expected z with a last dimension, but got a number")
    text, halves = activation_of(activation)
    shape = array.shape[:-1] + (array.shape[-1] // 2,) if halves else array.shape
    call = Call("glu")
    call.write(f"{DIALECT}.glu ")
    call.write(text, "activation")
    call.write(f" ({call.memref('z', array, 'z', FLOATS)})", "z")
    attribute = "" if math_mode is None else f" {{math = #{DIALECT}<math {word_of('math', math_mode, 'math_mode')}>}}"
    return _written(call, out, shape, dtype, array.dtype, attribute)


class GluGradient(NamedTuple):
    """The results of :func:`glu_backward`."""

    z: np.ndarray
    prob: np.ndarray | None


def glu_backward(z: Any, gradient: Any, activation: ActivationLike, *, groups: Grouping | None = None, prob: Any = None,
                 prob_gradient: bool = False, dtype: Any = None, out: Any = None) -> GluGradient:
    """The gradient of ``prob * glu(z, activation)``, from ``gradient`` of that and the pre-activation ``z`` ``[.., N]``.

    ``prob`` has one float32 number a row, and is 1 without; ``prob_gradient`` asks for its gradient, the sum over the row
    of the gradient times the activation. Limits are inclusive. ``groups``, :func:`ragged_rows` of ``[R, N]`` or
    :func:`masked` of ``[G, M, N]``, says which rows there are; others are not read, and keep what ``out`` has there, or are
    zero. ``z`` of the result has ``dtype``, that of ``z`` if it is
    None, or is ``out``.
    """
    array, dy = _dlpack.asarray(z), _dlpack.asarray(gradient)
    if not array.ndim:
        raise ArgumentError("expected z with a last dimension, but got a number")
    text, halves = activation_of(activation)
    expected = array.shape[:-1] + (array.shape[-1] // 2,) if halves else array.shape
    if dy.shape != expected:
        raise ArgumentError(f"expected gradient of shape {expected}, that of the activation, but got {dy.shape}")
    call = Call("glu_backward")
    call.write(f"{DIALECT}.glu_backward ")
    call.write(text, "activation")
    call.write(f" ({call.memref('z', array, 'z', FLOATS)})", "z")
    call.write(f" gradient({call.memref('gradient', dy, 'gradient', FLOATS)})", "gradient")
    write_groups(call, groups)
    if prob is not None:
        factors = float32s(_dlpack.asarray(prob), "prob")
        if factors.shape != array.shape[:-1]:
            raise ArgumentError(f"expected prob of shape {array.shape[:-1]}, one number a row, but got {factors.shape}")
        call.write(f" prob({call.memref('prob', factors, 'prob')})", "prob")
    result = _dlpack.destination(out, array.shape, dtype, array.dtype)
    call.write(f" outs({call.memref('out', result, 'out', FLOATS, writes=True)})", "out")
    sums = np.zeros(array.shape[:-1], np.float32) if check_flag("prob_gradient", prob_gradient) else None
    if sums is not None:
        call.write(f" prob_outs({call.memref('sums', sums, 'prob_gradient', writes=True)})", "prob_gradient")
    call.run()
    return GluGradient(result, sums)


def sum_rows(x: Any, *, groups: Grouping | None = None, prob: Any = None, out: Any = None) -> np.ndarray:
    """The sum of the rows of each group, float32: the gradient of a bias of the columns.

    ``x`` is ``[R, N]`` with :func:`ragged_rows`, or ``[G, M, N]`` with :func:`masked` groups, and the result ``[G, N]``.
    Without ``groups`` the groups are the matrices: ``[N]`` of ``[M, N]``, ``[G, N]`` of ``[G, M, N]``. ``prob`` has a
    float32 factor of each row. Sums are added in float64; that of no rows is 0.
    """
    array = _dlpack.asarray(x)
    if array.ndim not in (2, 3):
        raise ArgumentError(f"expected x of shape [R, N] or [G, M, N], but got {array.shape}")
    call = Call("sum_rows")
    call.write(f"{DIALECT}.sum_rows({call.memref('x', array, 'x', FLOATS)})", "x")
    shape = array.shape[::2]
    if array.ndim == 2:
        shape = array.shape[1:] if groups is None or groups.groups is None else (len(groups.ranges()), array.shape[1])
    write_groups(call, groups)
    if prob is not None:
        factors = float32s(_dlpack.asarray(prob), "prob")
        if factors.shape != array.shape[:-1]:
            raise ArgumentError(f"expected prob of shape {array.shape[:-1]}, one number a row, but got {factors.shape}")
        call.write(f" prob({call.memref('prob', factors, 'prob')})", "prob")
    result = _dlpack.destination(out, shape, np.float32, np.float32)
    call.write(f" outs({call.memref('out', result, 'out', ('f32',), writes=True)})", "out")
    call.run()
    return result


def hadamard(x: Any, *, normalized: bool = False, sign_mask: int = 0, dtype: Any = None, out: Any = None) -> np.ndarray:
    """Every run of 16 of the last dimension times diag(signs) H16 (bit i of ``sign_mask``: sign -1), and 1/4 if
    ``normalized``."""
    array = _dlpack.asarray(x)
    result = _dlpack.destination(out, array.shape, dtype, array.dtype)
    call = Call("hadamard")
    source = call.memref("x", array, "x", FLOATS).split(" : ")
    target = call.memref("out", result, "out", FLOATS, writes=True).split(" : ")
    mask = check_count("sign_mask", sign_mask, 0xFFFF, "a bit for each of 16 elements", least=0)
    attributes = (["normalized"] if check_flag("normalized", normalized) else []) + ([f"sign_mask = {mask} : i32"] if mask
                                                                                     else [])
    call.write(f"{DIALECT}.hadamard {source[0]} outs({target[0]})")
    call.write(f" {{{', '.join(attributes)}}}" if attributes else "")
    call.write(f" : {source[1]}, {target[1]}")
    call.run()
    return result
