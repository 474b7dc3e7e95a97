# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block-scaled arrays of JAX."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

from .errors import ArgumentError, check_one_of
from .tensors import CODED, FORMATS, ScaledTensor, scales_shape, values_shape

__all__ = ["ScaledArray", "to_bytes"]

_E2M1 = np.arange(16, dtype=np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float32)
_FLOATS = {"nvfp4": jnp.float8_e4m3fn, "mxfp8_e4m3": jnp.float8_e4m3fn, "mxfp8_e5m2": jnp.float8_e5m2}


def to_bytes(array: Any) -> Any:
    """An array of 8-bit or packed 4-bit numbers as bytes of uint8, the even index of a pair in the low half."""
    if array.dtype == jnp.float4_e2m1fn:
        if array.shape[-1] % 2:
            raise ArgumentError(f"expected an even number of columns of float4_e2m1fn, but got shape {array.shape}")
        array = array.reshape(*array.shape[:-1], array.shape[-1] // 2, 2)
    elif array.dtype.itemsize != 1:
        raise ArgumentError(f"expected numbers of 4 or 8 bits, but got {array.dtype} of shape {array.shape}")
    return array if array.dtype == jnp.uint8 else jax.lax.bitcast_convert_type(array, jnp.uint8)


@jax.tree_util.register_pytree_node_class
@dataclasses.dataclass(frozen=True)
class ScaledArray:
    """A block-scaled tensor as two arrays of JAX, as :class:`nvfp4.ScaledTensor` has them: a pytree that passes through
    ``jit``. ``values`` and ``scales`` are bytes (uint8); the scales of packed weights, of layout ``wgmma``, are float32.
    ``matrix`` is the number of rows and columns of each matrix, which packed weights do not show."""

    values: Any
    scales: Any
    format: str = "nvfp4"
    layout: str = "linear"
    matrix: tuple[int, int] = (0, 0)

    @classmethod
    def of(cls, tensor: ScaledTensor) -> ScaledArray:
        """The arrays of a tensor of the host, in its layout."""
        if not isinstance(tensor, ScaledTensor):
            raise ArgumentError(f"expected a ScaledTensor (see nvfp4.quantize), but got {type(tensor).__name__}")
        if tensor.ndim < 2 or tensor.starts != "whole" or tensor.axis != tensor.ndim - 1:
            raise ArgumentError(f"expected a tensor of rank 2 or 3, blocks along the last axis and starts whole, but got {tensor!r}")
        scales = tensor.scales if tensor.layout in CODED else tensor.scales.view(np.uint8)
        return cls(jnp.asarray(tensor.values.view(np.uint8)), jnp.asarray(scales), tensor.format, tensor.layout,
                   tensor.shape[-2:])

    @property
    def shape(self) -> tuple[int, ...]:
        """The logical shape."""
        if self.layout in CODED:
            return (*self.values.shape[:-3], *self.matrix)
        return (*self.values.shape[:-1], self.matrix[1] or self.values.shape[-1] * 8 // FORMATS[self.format].bits)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def check(self, what: str) -> None:
        """ArgumentError, which calls it ``what``, unless the shapes and types belong together."""
        check_one_of(f"{what}.format", self.format, FORMATS)
        for name, shape in (("values", values_shape), ("scales", scales_shape)):
            array, wanted = getattr(self, name), shape(self.shape, self.format, self.layout)
            dtype = np.float32 if name == "scales" and self.layout in CODED else np.uint8
            if array.shape != wanted or array.dtype != dtype:
                raise ArgumentError(f"expected {what}.{name} of {np.dtype(dtype)} and shape {wanted}, but got {array.dtype} and "
                                    f"{array.shape}")

    def dequantize(self) -> Any:
        """The numbers in float32, of linear layout."""
        if self.layout != "linear":
            raise ArgumentError(f"expected the layout linear, but got {self.layout}")
        fmt, shape = FORMATS[self.format], self.shape
        if fmt.bits == 4:
            halves = jnp.stack([self.values & 15, self.values >> 4], -1).reshape(*shape[:-1], -1)
            values = jnp.asarray(_E2M1)[halves[..., :shape[-1]]]
        else:
            values = jax.lax.bitcast_convert_type(self.values, _FLOATS[self.format]).astype(jnp.float32)
        kind = jnp.float8_e4m3fn if self.format == "nvfp4" else jnp.float8_e8m0fnu
        scales = jax.lax.bitcast_convert_type(self.scales, kind).astype(jnp.float32)
        return values * jnp.repeat(scales, fmt.block, -1)[..., :shape[-1]]

    def tree_flatten(self) -> tuple[tuple[Any, Any], tuple[str, str, tuple[int, int]]]:
        return (self.values, self.scales), (self.format, self.layout, tuple(self.matrix))

    @classmethod
    def tree_unflatten(cls, rest: tuple[str, str, tuple[int, int]], arrays: tuple[Any, Any]) -> ScaledArray:
        return cls(*arrays, *rest)

    def __repr__(self) -> str:
        return f"ScaledArray({self.format}, {self.shape}, {self.layout})"
