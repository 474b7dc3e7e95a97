# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of one operation, written for the arguments of a call and compiled once for each signature.

Operations are stated on memrefs, so results are written where the caller wants them and nothing is copied. Extents are
dynamic: one compiled function serves every size.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from . import _dlpack
from .compiler import Program
from .errors import ArgumentError
from .tensors import CODED, ScaledTensor, known_dims, scaled_type

DIALECT = "grouped_scaled_gemm"
_ELEMENT_OF = {dtype: name for name, dtype in _dlpack.ELEMENTS.items() if name not in ("index",)}
FLOATS = ("f32", "f16", "bf16")

_programs: dict[tuple[str, str, str | None], Program] = {}
_lock = threading.Lock()


def program_of(text: str, target: str = "cpu", device: str | None = None) -> Program:
    """The program that `text` compiles to, kept for the process."""
    key = text, target, device
    with _lock:
        program = _programs.get(key)
        if program is None:
            program = _programs[key] = Program(text, target=target, device=device, name="<nvfp4>")
    return program


def cache_info() -> dict[str, int]:
    """How many programs :func:`program_of` keeps."""
    return {"programs": len(_programs)}


def cache_clear() -> None:
    """Forgets compiled programs; the next calls compile again."""
    with _lock:
        _programs.clear()


def element_of(array: np.ndarray, what: str, allowed: tuple[str, ...] = ()) -> str:
    """The element type of an array in MLIR."""
    name = _ELEMENT_OF.get(array.dtype)
    if name is None or allowed and name not in allowed:
        raise ArgumentError(f"expected {what} of {', '.join(allowed) or 'a type of the dialect'}, but got {array.dtype}")
    return name


class Call:
    """One operation: its text, and the arrays that it is called with."""

    def __init__(self) -> None:
        self.parameters: list[str] = []
        self.arrays: list[np.ndarray] = []

    def add(self, name: str, array: np.ndarray, type_: str, attribute: str = "") -> str:
        self.parameters.append(f"%{name}: {type_}{attribute}")
        self.arrays.append(array)
        return f"%{name}"

    def scalar(self, name: str, value: Any, type_: str) -> str:
        """`%name : f32`."""
        array = np.asarray(value, _dlpack.ELEMENTS[type_])
        return f"{self.add(name, array.reshape(()), type_)} : {type_}"

    def memref(self, name: str, array: np.ndarray, what: str, allowed: tuple[str, ...] = (), writes: bool = False) -> str:
        """`%name : memref<?x?xf32>`."""
        type_ = self.memref_type(array, element_of(array, what, allowed))
        return f"{self.add(name, self._compact(array, what, writes), type_)} : {type_}"

    @staticmethod
    def _compact(array: np.ndarray, what: str, writes: bool) -> np.ndarray:
        if array.flags.c_contiguous:
            return array
        if writes:
            raise ArgumentError(f"expected {what} to be row-major without gaps, but got strides {array.strides} for "
                                f"shape {array.shape} of {array.dtype}")
        return np.ascontiguousarray(array)

    @staticmethod
    def memref_type(array: np.ndarray, element: str) -> str:
        return f"memref<{'?x' * array.ndim}{element}>"

    def floats(self, name: str, value: Any, what: str) -> str:
        """A number as `%name : f32`, anything else as a memref of f32."""
        if isinstance(value, (int, float, np.number)) or getattr(value, "ndim", None) == 0:
            return self.scalar(name, float(value), "f32")
        array = _dlpack.asarray(value)
        if array.dtype != np.float32:
            if array.dtype.kind not in "fiu":
                raise ArgumentError(f"expected {what} of float32, but got {array.dtype}")
            array = array.astype(np.float32)
        return self.memref(name, array, what)

    def scaled(self, name: str, tensor: ScaledTensor) -> str:
        """`%name scaled_by %name_s : memref<..>, memref<..> as !type`."""
        if isinstance(tensor, ScaledTensor) and tensor.layout in CODED:
            return self.known(name, tensor)
        return self.storage(name, tensor) + f" as {tensor.type()}"

    def known(self, name: str, tensor: ScaledTensor) -> str:
        """As scaled, of weights with their N and K in the types."""
        type_ = tensor.type(known_dims(tensor.shape))
        coded = tensor.layout in CODED

        def memref(array: np.ndarray, element: str) -> str:
            dims = list(map(str, array.shape))
            if tensor.ndim == 3:
                dims[0] = "?"
            return f"memref<{'x'.join(dims)}x{element}>"
        values = memref(tensor.values, "i8" if coded else tensor.info.element)
        scales = memref(tensor.scales, "f32" if coded else tensor.info.scale_element)
        self.add(name, tensor.values, values, f" {{{DIALECT}.values_of = {type_}}}")
        self.add(name + "_s", tensor.scales, scales, f" {{{DIALECT}.scales_of = {type_}}}")
        return f"%{name} scaled_by %{name}_s : {values}, {scales} as {type_}"

    def storage(self, name: str, tensor: ScaledTensor) -> str:
        """The same without the type behind it, which ops with one operand print elsewhere."""
        if not isinstance(tensor, ScaledTensor):
            raise ArgumentError(f"expected {name} as a ScaledTensor, but got {type(tensor).__name__}")
        fmt = tensor.info
        type_ = tensor.type()
        values = self.memref_type(tensor.values, fmt.element)
        # An odd K is in the type, and so in the storage of the type.
        dims = type_[type_.index("<") + 1:].split(",")[0].split("x")
        if dims[-1] != "?":
            values = f"memref<{'?x' * (tensor.values.ndim - 1)}{tensor.values.shape[-1]}x{fmt.element}>"
        scales = self._scales_type(tensor, dims[-1] != "?")
        self.add(name, tensor.values, values, f" {{{DIALECT}.values_of = {type_}}}")
        self.add(name + "_s", tensor.scales, scales, f" {{{DIALECT}.scales_of = {type_}}}")
        return f"%{name} scaled_by %{name}_s : {values}, {scales}"

    @staticmethod
    def _scales_type(tensor: ScaledTensor, static_k: bool) -> str:
        shape, element = tensor.scales.shape, tensor.info.scale_element
        dims = ["?"] * len(shape)
        inner = {"linear": 0, "blocked": 3, "blocked_8x4": 2}[tensor.layout]
        for i in range(len(shape) - inner, len(shape)):
            dims[i] = str(shape[i])
        if static_k and tensor.starts == "whole":
            dims[len(shape) - inner - 1] = str(shape[len(shape) - inner - 1])
        return f"memref<{'x'.join(dims)}x{element}>"

    def text(self, operation: str) -> str:
        return (f"func.func @call({', '.join(self.parameters)}) {{\n  {operation}\n  return\n}}\n")

    def run(self, operation: str, target: str = "cpu", device: str | None = None) -> Program:
        """Compiles the operation, if it is new, and calls it."""
        program = program_of(self.text(operation), target, device)
        program.run_flat("call", self.arrays)
        return program


def new_scaled(shape: tuple[int, ...], fmt: str, layout: str, starts: str, axis: int, scales: tuple[int, ...],
               ) -> ScaledTensor:
    """A tensor of zeros whose padding scales are what the format wants there."""
    from .tensors import FORMATS, values_shape
    info = FORMATS[fmt]
    values = np.zeros(values_shape(shape, fmt), np.uint8).view(info.values)
    bytes_ = np.full(scales, info.padding, np.uint8)
    return ScaledTensor(values, bytes_.view(info.scales), fmt, shape, layout, starts, axis)


__all__ = ["Call", "DIALECT", "FLOATS", "cache_clear", "cache_info", "element_of", "new_scaled", "program_of",
           "scaled_type"]
