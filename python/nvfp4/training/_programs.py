# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled layers on arrays: the forward pass, and the gradients of its arguments."""

from __future__ import annotations

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from .. import _dlpack
from .._calls import program_of
from .._scalars import check_count, float32s
from ..errors import ArgumentError
from ._linear import linear_text
from ._moe import MoEShape, moe_text
from ._recipe import Recipe

__all__ = ["LinearGradients", "LinearProgram", "MoEGradients", "MoEProgram", "MoESaved"]

_ELEMENTS = {np.dtype(np.float32): "f32", np.dtype(ml_dtypes.bfloat16): "bf16"}
_LAST_SEED = 2**62 - 1


class MoESaved(NamedTuple):
    """The parts of a forward pass that :meth:`MoEProgram.backward` needs."""

    x: np.ndarray
    z: np.ndarray
    factors: np.ndarray
    ends: np.ndarray
    tokens: np.ndarray
    places: np.ndarray


class MoEGradients(NamedTuple):
    """The gradients of the arguments of :meth:`MoEProgram.forward`, in float32; None for biases that a layer has not."""

    x: np.ndarray
    scores: np.ndarray
    w13: np.ndarray
    w2: np.ndarray
    b13: np.ndarray | None = None
    b2: np.ndarray | None = None


class LinearGradients(NamedTuple):
    """The gradients of the arguments of :meth:`LinearProgram.forward`, in float32."""

    x: np.ndarray
    w: np.ndarray


def _rows(value: Any, name: str, columns: int) -> np.ndarray:
    """An array of bfloat16 ``[T, columns]``; other floats are rounded."""
    array = _dlpack.asarray(value)
    if array.ndim != 2 or array.shape[1] != columns:
        raise ArgumentError(f"expected {name} of shape [T, {columns}], but got {array.shape}")
    if array.dtype not in (*_ELEMENTS, np.dtype(np.float16)):
        raise ArgumentError(f"expected {name} of bfloat16, float16 or float32, but got {array.dtype}")
    return np.ascontiguousarray(array, ml_dtypes.bfloat16)


def _weights(shapes: dict[str, tuple[int, ...]], **values: Any) -> tuple[list[np.ndarray], str]:
    """Matrices of weights of these shapes, and their element type."""
    arrays = []
    for name, value in values.items():
        array = _dlpack.asarray(value)
        if array.shape != shapes[name]:
            raise ArgumentError(f"expected {name} of shape {shapes[name]}, but got {array.shape}")
        if array.dtype not in _ELEMENTS:
            raise ArgumentError(f"expected {name} of float32 or bfloat16, but got {array.dtype}")
        arrays.append(np.ascontiguousarray(array))
    if len({array.dtype for array in arrays}) != 1:
        raise ArgumentError(f"expected weights of one type, but got {', '.join(str(array.dtype) for array in arrays)}")
    return arrays, _ELEMENTS[arrays[0].dtype]


def _seed(seed: int) -> np.ndarray:
    return np.array([check_count("seed", seed, _LAST_SEED, "the last seed", least=0)], np.int64)


class MoEProgram:
    """A Mixture-of-Experts layer of known sizes, compiled when it is first called; the number of tokens is free.

    Rows are bfloat16, pre-activations are kept in it, and results and gradients are float32. ``target`` and ``device`` are as
    for :func:`nvfp4.compile`. The numbers that ``recipe`` makes of operands are those of the products; quantisers pass
    gradients on, as if they rounded nothing (straight through).
    """

    shape: MoEShape
    recipe: Recipe

    def __init__(self, shape: MoEShape, recipe: Recipe | None = None, *, target: str = "cpu", device: str | None = None):
        self.shape, self.recipe = shape, recipe or Recipe()
        self._place = target, device

    def _run(self, entry: str, element: str, *arguments: Any) -> Any:
        program = program_of(moe_text(self.shape, self.recipe, weights=element), *self._place)
        return program.run(*arguments, entry=entry)

    def _weights(self, w13: Any, w2: Any) -> tuple[list[np.ndarray], str]:
        return _weights({"w13": self.shape.shape13, "w2": self.shape.shape2}, w13=w13, w2=w2)

    def _biases(self, **values: Any) -> list[np.ndarray]:
        """Arrays of float32, or nothing for a layer without biases."""
        shapes, arrays = self.shape.bias_shapes, []
        for name, value in values.items():
            if (value is None) == (name in shapes):
                raise ArgumentError(f"expected {name if shapes else 'no ' + name} for a layer with bias={self.shape.bias}, but got "
                                    f"{'none' if shapes else 'one'}")
            if value is None:
                continue
            array = float32s(_dlpack.asarray(value), name)
            if array.shape != shapes[name]:
                raise ArgumentError(f"expected {name} of shape {shapes[name]}, but got {array.shape}")
            arrays.append(np.ascontiguousarray(array))
        return arrays

    def forward(self, x: Any, experts: Any, scores: Any, w13: Any, w2: Any, b13: Any = None,
                b2: Any = None) -> tuple[np.ndarray, MoESaved]:
        """The sums ``[T, hidden]`` over the experts of each token, and what the backward pass needs.

        ``x`` is ``[T, hidden]``; ``experts`` ``[T, top_k]``, int32 or int64, -1 or the number of experts for none; ``scores``
        ``[T, top_k]`` multiply the activations of the expert and its ``b2``. ArgumentError for what is of another shape or type.
        """
        rows = _rows(x, "x", self.shape.hidden)
        expected = rows.shape[0], self.shape.top_k
        chosen, factors = _dlpack.asarray(experts), float32s(_dlpack.asarray(scores), "scores")
        for name, array in (("experts", chosen), ("scores", factors)):
            if array.shape != expected:
                raise ArgumentError(f"expected {name} of shape {expected}, but got {array.shape}")
        if chosen.dtype not in (np.int32, np.int64):
            raise ArgumentError(f"expected experts of int32 or int64, but got {chosen.dtype}")
        none = chosen == self.shape.experts
        chosen = np.where(none, -1, chosen).astype(np.int32)
        weights, element = self._weights(w13, w2)
        out, *saved = self._run("forward", element, rows, chosen, np.ascontiguousarray(factors), *weights,
                                *self._biases(b13=b13, b2=b2))
        return out, MoESaved(rows, *saved)

    def backward(self, gradient: Any, saved: MoESaved, w13: Any, w2: Any, b13: Any = None, b2: Any = None, *,
                 seed: int = 0) -> MoEGradients:
        """Gradients from ``gradient`` ``[T, hidden]`` of the sums. ``seed`` is that of stochastic rounding, below 2^62: another
        one for each step."""
        rows = _rows(gradient, "gradient", self.shape.hidden)
        if rows.shape != saved.x.shape:
            raise ArgumentError(f"expected gradient of shape {saved.x.shape}, but got {rows.shape}")
        weights, element = self._weights(w13, w2)
        return MoEGradients(*self._run("backward", element, rows, *saved, *weights, *self._biases(b13=b13, b2=b2), _seed(seed)))


class LinearProgram:
    """A linear layer ``y = x w^T`` with ``w`` ``[outputs, inputs]``; the rest is as for :class:`MoEProgram`."""

    outputs: int
    inputs: int
    recipe: Recipe

    def __init__(self, outputs: int, inputs: int, recipe: Recipe | None = None, *, target: str = "cpu", device: str | None = None):
        self.outputs, self.inputs, self.recipe = outputs, inputs, recipe or Recipe()
        self._place = target, device

    def _run(self, entry: str, element: str, *arguments: Any) -> Any:
        program = program_of(linear_text(self.outputs, self.inputs, self.recipe, weights=element), *self._place)
        return program.run(*arguments, entry=entry)

    def _weights(self, w: Any) -> tuple[list[np.ndarray], str]:
        return _weights({"w": (self.outputs, self.inputs)}, w=w)

    def forward(self, x: Any, w: Any) -> np.ndarray:
        """``[T, outputs]`` from ``x`` ``[T, inputs]``."""
        weights, element = self._weights(w)
        return self._run("forward", element, _rows(x, "x", self.inputs), *weights)

    def backward(self, gradient: Any, x: Any, w: Any, *, seed: int = 0) -> LinearGradients:
        """Gradients from ``gradient`` ``[T, outputs]``, with the ``x`` and ``w`` of the forward pass."""
        rows, x = _rows(gradient, "gradient", self.outputs), _rows(x, "x", self.inputs)
        if rows.shape[0] != x.shape[0]:
            raise ArgumentError(f"expected gradient of {x.shape[0]} rows, as many as x, but got {rows.shape[0]}")
        weights, element = self._weights(w)
        return LinearGradients(*self._run("backward", element, rows, x, *weights, _seed(seed)))
