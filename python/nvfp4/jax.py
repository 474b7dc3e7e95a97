# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations for JAX, on arrays of the CPU and of GPUs of compute capability 9.0 or 10.0.

They work within ``jit`` and without. Each is a custom call into code that is compiled when JAX lowers it; on a GPU the work
goes into XLA's stream, and XLA may capture it in a command buffer. ``vmap`` is refused.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Union

import jax
import jax.numpy as jnp
import numpy as np

from . import matmul, quantization
from ._calls import Call
from ._dlpack import number_type
from ._jax_arrays import ScaledArray, to_bytes
from ._jax_call import Operation, apply
from ._jax_gradient import reference
from .errors import ArgumentError, check_one_of
from .options import ActivationLike, QuantizerLike, activation_of
from .tensors import FORMATS, ScaledTensor, batched, dense, masked, ragged_rows, scales_shape, values_shape

__all__ = ["ScaledArray", "grouped_matmul", "quantize", "ragged_dot", "scaled_matmul"]

Rows = Union[jax.Array, ScaledArray]
_GROUPINGS = ("ragged_rows", "dense", "batched", "masked")
_ROWS = (jnp.bfloat16, jnp.float16)
_RESULTS = (jnp.float32, jnp.float16, jnp.bfloat16)


def _state_quantize(arrays: Sequence[np.ndarray], format: str, quantizer: QuantizerLike | None,
                    global_scale: float | None) -> Call:
    x, values, scales = arrays
    out = ScaledTensor(values, scales, format, x.shape)
    return quantization.quantize_call(x, format, quantizer, global_scale, out=out)[0]


def quantize(x: jax.Array, format: str = "nvfp4", *, quantizer: QuantizerLike | None = None,
             global_scale: float | None = None) -> ScaledArray:
    """``x`` ``[R, K]`` or ``[G, R, K]`` (float32, float16, bfloat16) in blocks along K. ``global_scale`` is a number; see
    :func:`nvfp4.quantize`."""
    check_one_of("format", format, FORMATS)
    x = jnp.asarray(x)
    if x.ndim not in (2, 3) or x.dtype not in _RESULTS:
        raise ArgumentError(f"expected x of float32, float16 or bfloat16 and rank 2 or 3, but got {x.dtype} of shape {x.shape}")
    byte = np.dtype(np.uint8)
    results = ((values_shape(x.shape, format), byte), (scales_shape(x.shape, format), byte))
    values, scales = apply(Operation("quantize", _state_quantize, (format, quantizer, global_scale), results), x)
    return ScaledArray(values, scales, format, "linear", x.shape[-2:])


def _state_product(arrays: Sequence[np.ndarray], has: tuple[bool, ...], lhs_type: Any, rhs_type: Any, grouping: str,
                   activation: ActivationLike | None) -> Call:
    """A product of the operands that ``has`` says there are."""
    given = iter(arrays)
    lhs, lhs_scales, rhs, rhs_scales, groups, alpha, bias, prob, out = (next(given) if each else None for each in (*has, True))
    rows = lhs if lhs_scales is None else ScaledTensor(lhs, lhs_scales, *lhs_type)
    weights = ScaledTensor(rhs, rhs_scales, *rhs_type)
    form = {"dense": dense, "batched": batched, "masked": lambda: masked(groups),
            "ragged_rows": lambda: ragged_rows(groups)}[grouping]()
    return matmul.plan_matmul(rows, weights, form, alpha=alpha, bias=bias, prob=prob, activation=activation, out=out).call


def _type(array: ScaledArray) -> tuple[str, tuple[int, ...], str]:
    return array.format, array.shape, array.layout


def _product(lhs: Rows, alpha: Any, bias: Any, prob: Any, rhs: ScaledArray, groups: Any, grouping: str,
             activation: ActivationLike | None, dtype: Any) -> jax.Array:
    shape = (*lhs.shape[:-1], rhs.shape[-2] // (2 if activation is not None and activation_of(activation)[1] else 1))
    is_scaled = isinstance(lhs, ScaledArray)
    operands = [lhs.values if is_scaled else lhs, lhs.scales if is_scaled else None, rhs.values, rhs.scales, groups, alpha, bias,
                prob]
    options = (tuple(each is not None for each in operands), _type(lhs) if is_scaled else None, _type(rhs), grouping, activation)
    operation = Operation("grouped_matmul", _state_product, options, ((shape, np.dtype(dtype)),),
                          grouping in ("ragged_rows", "masked"))
    return apply(operation, *(each for each in operands if each is not None))[0]


# Rows, alpha, bias and prob have a derivative.
@functools.partial(jax.custom_vjp, nondiff_argnums=(6, 7, 8))
def _differentiable(lhs, alpha, bias, prob, rhs, groups, grouping, activation, dtype):
    return _product(lhs, alpha, bias, prob, rhs, groups, grouping, activation, dtype)


def _forward(lhs, alpha, bias, prob, rhs, groups, grouping, activation, dtype):
    return _product(lhs, alpha, bias, prob, rhs, groups, grouping, activation, dtype), (lhs, alpha, bias, prob, rhs, groups)


def _backward(grouping, activation, dtype, saved, gradient):
    *operands, rhs, groups = saved
    names = [i for i, each in enumerate(operands) if each is not None]

    def compute(*given):
        every = dict(zip(names, given))
        return reference(*(every.get(i) for i in range(4)), rhs, groups, grouping, activation, dtype)

    found = dict(zip(names, jax.vjp(compute, *(operands[i] for i in names))[1](gradient)))
    return (*(found.get(i) for i in range(4)), None, None)


_differentiable.defvjp(_forward, _backward)


def _check_shapes(lhs: Rows, rhs: ScaledArray, groups: Any, grouping: str) -> None:
    """ArgumentError for operands that do not fit."""
    rank = 2 if grouping == "dense" else 3
    rows = 3 if grouping in ("batched", "masked") else 2
    if lhs.ndim != rows or rhs.ndim != rank:
        raise ArgumentError(f"expected lhs of rank {rows} and rhs of rank {rank} for grouping {grouping}, but got shapes {lhs.shape} "
                            f"and {rhs.shape}")
    if lhs.shape[-1] != rhs.shape[-1]:
        raise ArgumentError(f"expected as many columns of lhs and rhs, their K, but got {lhs.shape[-1]} and {rhs.shape[-1]}")
    if rows == 3 and lhs.shape[0] != rhs.shape[0]:
        raise ArgumentError(f"expected as many matrices of lhs as of rhs, but got {lhs.shape[0]} and {rhs.shape[0]}")
    if (groups is None) != (grouping in ("dense", "batched")):
        raise ArgumentError(f"expected {'no ends' if groups is not None else 'ends'} for grouping {grouping}")
    if groups is not None and (groups.shape != (rhs.shape[0],) or groups.dtype not in (jnp.int32, jnp.int64)):
        raise ArgumentError(f"expected ends of int32 and shape ({rhs.shape[0]},), one of each group, but got {groups.dtype} and "
                            f"{groups.shape}")


def _optional(name: str, value: Any, dtype: Any, *shapes: tuple[int, ...]) -> Any:
    """An array of one of the shapes, or None."""
    if value is None:
        return None
    array = jnp.asarray(value, dtype)
    if array.shape not in shapes:
        raise ArgumentError(f"expected {name} of shape {' or '.join(map(str, shapes))}, but got {array.shape}")
    return array


def _rows(lhs: Any, rhs: ScaledArray) -> Rows:
    if isinstance(lhs, ScaledArray):
        lhs.check("lhs")
        return lhs
    array = jnp.asarray(lhs)
    if array.dtype == jnp.float32:
        return array.astype(jnp.float16 if rhs.layout == "wgmma_f16" else jnp.bfloat16)
    if array.dtype not in _ROWS:
        raise ArgumentError(f"expected lhs as ScaledArray, or of bfloat16, float16 or float32, but got {array.dtype}")
    return array


def _weights(rhs: Any) -> ScaledArray:
    if isinstance(rhs, ScaledTensor):
        return ScaledArray.of(rhs)
    if not isinstance(rhs, ScaledArray):
        raise ArgumentError(f"expected rhs as ScaledArray (see nvfp4.jax.quantize), but got {type(rhs).__name__}")
    rhs.check("rhs")
    return rhs


def grouped_matmul(lhs: Rows, rhs: ScaledArray | ScaledTensor, ends: Any = None, *, grouping: str = "ragged_rows", alpha: Any = None,
                   bias: Any = None, prob: Any = None, activation: ActivationLike | None = None,
                   dtype: Any = jnp.bfloat16) -> jax.Array:
    """``prob * activation(alpha * lhs @ rhs^T + bias)`` for each group.

    ===============  ===============  ===============  ==================================  ===============
    ``grouping``     ``lhs``          ``rhs``          ``ends``                            result
    ===============  ===============  ===============  ==================================  ===============
    ``ragged_rows``  ``[R, K]``       ``[G, N, K]``    ``[G]``, the end of each group      ``[R, N]``
    ``dense``        ``[M, K]``       ``[N, K]``       None                                ``[M, N]``
    ``batched``      ``[G, M, K]``    ``[G, N, K]``    None                                ``[G, M, N]``
    ``masked``       ``[G, M, K]``    ``[G, N, K]``    ``[G]``, the number of valid rows   ``[G, M, N]``
    ===============  ===============  ===============  ==================================  ===============

    ``lhs`` is a :class:`ScaledArray`, or rows of bfloat16 or float16 (W4A16), or of float32, which are rounded to bfloat16
    (float16 for layout ``wgmma_f16``). Packed ``rhs``, of layout ``wgmma``, are read fastest
    on a GPU of compute capability 9.0: ``ScaledArray.of(nvfp4.relayout(weights, layout="wgmma"))``; linear ones are packed in each
    call. ``alpha`` is a number or one a group (``[G, 2]``: gate and up), ``bias`` ``[N]`` or ``[G, N]``, ``prob`` one a row. Rows of
    no group are zero. On the CPU offsets out of range are an error of the call.

    Rows of bfloat16 or float16, ``alpha``, ``bias`` and ``prob`` have a derivative in reverse mode, computed in float32 from
    dequantised weights, which must be linear. Quantised operands have none, and are constants.
    """
    check_one_of("grouping", grouping, _GROUPINGS)
    rhs = _weights(rhs)
    lhs = _rows(lhs, rhs)
    groups = None if ends is None else jnp.asarray(ends)
    _check_shapes(lhs, rhs, groups, grouping)
    dtype = number_type(dtype)
    if dtype not in map(np.dtype, _RESULTS):
        raise ArgumentError(f"expected dtype float32, float16 or bfloat16, but got {dtype}")
    count = rhs.shape[0] if rhs.ndim == 3 else 1
    alpha = _optional("alpha", alpha, jnp.float32, (), (count,), (count, 2))
    if alpha is not None and alpha.ndim == 0:
        alpha = jnp.broadcast_to(alpha, (count,))
    bias = _optional("bias", bias, None, (rhs.shape[-2],), (count, rhs.shape[-2]))
    prob = _optional("prob", prob, jnp.float32, lhs.shape[:-1])
    if isinstance(lhs, ScaledArray):
        return _product(lhs, alpha, bias, prob, rhs, groups, grouping, activation, dtype)
    return _differentiable(lhs, alpha, bias, prob, rhs, groups, grouping, activation, dtype)


def ragged_dot(lhs: Rows, rhs: ScaledArray | ScaledTensor, group_sizes: Any, precision: Any = None, preferred_element_type: Any = None,
               group_offset: Any = None) -> jax.Array:
    """:func:`jax.lax.ragged_dot` with quantised ``rhs`` ``[G, N, K]``, which is K-major where JAX has ``[G, K, N]``.

    ``lhs`` is ``[M, K]`` of bfloat16, float16 or float32, or a :class:`ScaledArray`. The result is of ``preferred_element_type``, or else
    of the type of ``lhs`` (bfloat16 for quantised rows). Rows of no group are zero."""
    if group_offset is not None or precision is not None:
        raise ArgumentError("expected no group_offset and no precision: sums are of float32")
    dtype = preferred_element_type or (jnp.bfloat16 if isinstance(lhs, ScaledArray) else lhs.dtype)
    sizes = jnp.asarray(group_sizes)
    return grouped_matmul(lhs, rhs, jnp.cumsum(sizes, dtype=sizes.dtype), dtype=dtype)


def _scaled(values: Any, scales: Any, what: str) -> ScaledArray:
    """An operand of :func:`scaled_matmul`, in the format that its types say."""
    kinds = {(4, "float8_e4m3fn"): "nvfp4", (4, "float8_e8m0fnu"): "mxfp4", (8, "float8_e8m0fnu"): "mxfp8_e4m3"}
    bits = {"float4_e2m1fn": 4, "float8_e4m3fn": 8, "float8_e5m2": 8}.get(values.dtype.name)
    format = kinds.get((bits, scales.dtype.name))
    if format is None or values.ndim != 3:
        raise ArgumentError(f"expected {what} of rank 3 in float4_e2m1fn with scales in float8_e4m3fn or float8_e8m0fnu, or in 8-bit "
                            f"floats with scales in float8_e8m0fnu, but got {values.dtype} of shape {values.shape} with {scales.dtype}")
    if values.dtype == jnp.float8_e5m2:
        format = "mxfp8_e5m2"
    array = ScaledArray(to_bytes(values), to_bytes(scales), format, "linear", values.shape[-2:])
    array.check(what)
    return array


def scaled_matmul(lhs: Any, rhs: Any, lhs_scales: Any, rhs_scales: Any, preferred_element_type: Any = jnp.float32) -> jax.Array:
    """:func:`jax.nn.scaled_matmul`: ``[B, M, K]`` by ``[B, N, K]`` with scales ``[B, M, K / block]`` and ``[B, N, K / block]``.

    The format follows from the types: NVFP4 (float4_e2m1fn by float8_e4m3fn, blocks of 16), MXFP4 (float4_e2m1fn by
    float8_e8m0fnu) or MXFP8 (float8_e4m3fn or float8_e5m2 by float8_e8m0fnu), blocks of 32."""
    left, right = _scaled(lhs, lhs_scales, "lhs"), _scaled(rhs, rhs_scales, "rhs")
    return grouped_matmul(left, right, grouping="batched", dtype=preferred_element_type)
