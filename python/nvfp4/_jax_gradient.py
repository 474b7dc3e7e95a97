# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A product of :mod:`nvfp4.jax` in float32, of dequantised weights, whose derivative is that of the product."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from ._jax_arrays import ScaledArray
from .errors import ArgumentError
from .options import Activation, ActivationLike, Gate

__all__ = ["reference"]


def _gelu(x: Any) -> Any:
    return jax.nn.gelu(x, approximate=True)


_SINGLE = {"identity": lambda x: x, "relu": jax.nn.relu, "relu2": lambda x: jax.nn.relu(x)**2, "silu": jax.nn.silu,
           "gelu_tanh": _gelu}
_PAIRED = {"swiglu": jax.nn.silu, "geglu_tanh": _gelu, "reglu": jax.nn.relu}


def _activation(activation: ActivationLike | None) -> tuple[str, Gate | None]:
    """Kind and gate of an activation with a derivative here."""
    if activation is None:
        return "identity", None
    if isinstance(activation, str) and activation in _SINGLE:
        return activation, None
    if not isinstance(activation, Activation) or activation.kind not in (*_SINGLE, *_PAIRED) or \
            (activation.alpha, activation.beta, activation.limit, activation.round_bf16) != (None, None, None, False):
        raise ArgumentError(f"expected an activation with a derivative ({', '.join((*_SINGLE, *_PAIRED))}, without parameters), but "
                            f"got {activation}")
    return activation.kind, activation.gate


def _of_rows(value: Any, grouping: str, expert: Any) -> Any:
    """Something of each group [G, ...] for each row of a result."""
    if grouping == "dense":
        return value[0]
    return value[expert] if grouping == "ragged_rows" else value[:, None]


def _split(x: Any, gate: Gate) -> Any:
    """Columns in blocks of gate and up, in this order: [..., blocks, 2, columns]."""
    size = gate.granularity or x.shape[-1] // 2
    blocks = x.reshape(*x.shape[:-1], -1, 2, size)
    return blocks if gate.order == "gate_first" else blocks[..., ::-1, :]


def reference(lhs: Any, alpha: Any, bias: Any, prob: Any, rhs: ScaledArray, groups: Any, grouping: str,
              activation: ActivationLike | None, dtype: Any) -> Any:
    """What :func:`nvfp4.jax.grouped_matmul` computes of rows that are not quantised."""
    if rhs.layout != "linear":
        raise ArgumentError(f"expected weights of layout linear for a derivative, but got {rhs.layout}")
    kind, gate = _activation(activation)
    rows, weights = lhs.astype(jnp.float32), rhs.dequantize()
    expert, is_valid = None, None
    if grouping == "ragged_rows":
        numbers = jnp.arange(rows.shape[0])
        expert = jnp.searchsorted(groups, numbers, side="right")
        is_valid = expert < groups.shape[0]
        expert = jnp.minimum(expert, groups.shape[0] - 1)
        pre = jax.lax.ragged_dot(rows, weights.swapaxes(1, 2), jnp.diff(groups, prepend=0).astype(jnp.int32),
                                 precision=jax.lax.Precision.HIGHEST)
    else:
        pre = jnp.einsum("...mk,...nk->...mn", rows, weights, precision=jax.lax.Precision.HIGHEST)
        if grouping == "masked":
            is_valid = jnp.arange(rows.shape[1])[None] < groups[:, None]
    if alpha is not None and alpha.ndim == 2 and gate is not None:
        factor = _of_rows(alpha.astype(jnp.float32), grouping, expert)
        # Gate and up where they are in memory.
        factor = factor if gate.order == "gate_first" else factor[..., ::-1]
        size = gate.granularity or pre.shape[-1] // 2
        pre = pre * jnp.tile(jnp.repeat(factor, size, -1), pre.shape[-1] // (2 * size))
    elif alpha is not None:
        pre = pre * _of_rows(alpha.astype(jnp.float32), grouping, expert)[..., None]
    if bias is not None:
        each = bias.astype(jnp.float32)
        pre = pre + (each if each.ndim == 1 else _of_rows(each, grouping, expert))
    if kind in _PAIRED:
        assert gate is not None
        parts = _split(pre, gate)
        result = (_PAIRED[kind](parts[..., 0, :]) * parts[..., 1, :]).reshape(*pre.shape[:-1], pre.shape[-1] // 2)
    else:
        result = _SINGLE[kind](pre)
    if prob is not None:
        result = result * prob.astype(jnp.float32)[..., None]
    if is_valid is not None:
        result = jnp.where(is_valid[..., None], result, 0)
    return result.astype(dtype)
