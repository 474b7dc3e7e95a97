# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of one operation, written for the arguments of a call and compiled once for each signature.

Operations are stated on memrefs, so results are written where the caller wants them and nothing is copied. Extents are
dynamic: one compiled function serves every size.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _dlpack
from ._launcher import HostLauncher, Operand
from ._messages import Piece, explain_arguments, explain_data
from ._scalars import float32s, scalar
from .compiler import Program
from .errors import ArgumentError, CompileError, DataError, NVFP4Error
from .tensors import CODED, FORMATS, Grouping, ScaledTensor, dims_of, known_shape, values_shape

DIALECT = "grouped_scaled_gemm"
_ELEMENT_OF = {dtype: name for name, dtype in _dlpack.ELEMENTS.items() if name not in ("index",)}
FLOATS = ("f32", "f16", "bf16")
# Around the parameters and the operation of a function.
_BEGIN, _COMMA, _BODY, _END = "func.func @call(", ", ", ") {\n  ", "\n  return\n}\n"

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
    from . import _device_programs, _repeats
    with _lock:
        _programs.clear()
    _repeats.forget()
    _device_programs.forget()


def element_of(array: np.ndarray, what: str, allowed: tuple[str, ...] = ()) -> str:
    """The element type of an array in MLIR."""
    name = _ELEMENT_OF.get(array.dtype)
    if name is None or allowed and name not in allowed:
        raise ArgumentError(f"expected {what} of {', '.join(allowed) or 'a type of the dialect'}, but got {array.dtype}")
    return name


class Call:
    """One operation, made by a function of this package: its text, and the arrays that it is called with.

    The text is written in order; each part of it says which argument of the function it was made of. ``order`` names the
    operands of the operation where it has them in another order than its text.
    """

    def __init__(self, function: str, order: tuple[str, ...] = ()) -> None:
        self.arrays: list[np.ndarray] = []
        self._function, self._order = function, order
        # Text and argument, of the operation also whether the caller wrote it; as pieces only where something is wrong.
        self._parameters: list[tuple[str, str]] = []
        self._operation: list[tuple[str, str, bool]] = []
        self._operands: list[str] = []

    def write(self, text: str, argument: str = "", is_source: bool = False) -> None:
        """Adds to the operation."""
        self._operation.append((text, argument, is_source))

    def add(self, name: str, array: np.ndarray, type_: str, attribute: str = "", argument: str = "",
            operand: str = "") -> str:
        """Adds a parameter made of an argument, which is called like it, and an operand, which is called like the argument."""
        argument = argument or name
        self._parameters.append((f"%{name}: {type_}{attribute}", argument))
        self._operands.append(operand or argument)
        self.arrays.append(array)
        return f"%{name}"

    def scalar(self, name: str, value: Any, type_: str, argument: str = "") -> str:
        """`%name : f32`."""
        array = scalar(value, _dlpack.ELEMENTS[type_], argument or name)
        return f"{self.add(name, array, type_, '', argument)} : {type_}"

    def memref(self, name: str, array: np.ndarray, what: str, allowed: tuple[str, ...] = (), writes: bool = False) -> str:
        """`%name : memref<?x?xf32>`."""
        type_ = self.memref_type(array, element_of(array, what, allowed))
        return f"{self.add(name, self._compact(array, what, writes), type_, '', what)} : {type_}"

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

    def floats(self, name: str, value: Any, what: str, rank: int | None = None) -> str:
        """A number as `%name : f32`, anything else as a memref of f32; with ``rank`` only that of these dimensions."""
        array = _dlpack.asarray(value)
        if array.ndim == 0 and rank is None:
            return self.scalar(name, array if hasattr(value, "__dlpack__") else value, "f32", what)
        array = float32s(array, what)
        if rank is not None and array.ndim != rank:
            raise ArgumentError(f"expected {what} of rank {rank}, but got shape {array.shape}")
        return self.memref(name, array, what)

    def scaled(self, name: str, tensor: ScaledTensor, what: str = "") -> str:
        """`%name scaled_by %name_s : memref<..>, memref<..> as !type`."""
        if isinstance(tensor, ScaledTensor) and tensor.layout in CODED:
            return self.known(name, tensor, what)
        return self.storage(name, tensor, what) + f" as {tensor.type()}"

    def known(self, name: str, tensor: ScaledTensor, what: str = "") -> str:
        """As scaled, of weights with their N and K in the types."""
        type_ = tensor.type(known_shape(tensor.shape))
        coded = tensor.layout in CODED

        def memref(array: np.ndarray, element: str) -> str:
            shape = (-1, *array.shape[1:]) if tensor.ndim == 3 else array.shape
            return f"memref<{dims_of(shape)}x{element}>"
        values = memref(tensor.values, "i8" if coded else tensor.info.element)
        scales = memref(tensor.scales, "f32" if coded else tensor.info.scale_element)
        self._pair(name, tensor, values, scales, type_, what or name)
        return f"%{name} scaled_by %{name}_s : {values}, {scales} as {type_}"

    def storage(self, name: str, tensor: ScaledTensor, what: str = "") -> str:
        """The same without the type behind it, which ops with one operand print elsewhere."""
        what = what or name
        if not isinstance(tensor, ScaledTensor):
            raise ArgumentError(f"expected {what} as a ScaledTensor, but got {type(tensor).__name__}")
        fmt = tensor.info
        type_ = tensor.type()
        values = self.memref_type(tensor.values, fmt.element)
        # An odd K is in the type, and so in the storage of the type.
        has_columns = tensor.static_shape[-1] >= 0
        if has_columns:
            values = f"memref<{'?x' * (tensor.values.ndim - 1)}{tensor.values.shape[-1]}x{fmt.element}>"
        scales = self.scales_type(tensor, has_columns)
        self._pair(name, tensor, values, scales, type_, what)
        return f"%{name} scaled_by %{name}_s : {values}, {scales}"

    def _pair(self, name: str, tensor: ScaledTensor, values: str, scales: str, type_: str, what: str) -> None:
        self.add(name, tensor.values, values, f" {{{DIALECT}.values_of = {type_}}}", what)
        self.add(name + "_s", tensor.scales, scales, f" {{{DIALECT}.scales_of = {type_}}}", what, f"{what}.scales")

    @staticmethod
    def scales_type(tensor: ScaledTensor, static_k: bool) -> str:
        shape, element = tensor.scales.shape, tensor.info.scale_element
        dims = ["?"] * len(shape)
        inner = {"linear": 0, "blocked": 3, "blocked_8x4": 2}[tensor.layout]
        for i in range(len(shape) - inner, len(shape)):
            dims[i] = str(shape[i])
        if static_k and tensor.starts == "whole":
            dims[len(shape) - inner - 1] = str(shape[len(shape) - inner - 1])
        if tensor.ndim == 1 and inner:
            dims[0] = "1"  # one row in tiles of rows
        return f"memref<{'x'.join(dims)}x{element}>"

    def _pieces(self) -> list[Piece]:
        pieces = [Piece(_BEGIN)]
        for i, (text, argument) in enumerate(self._parameters):
            pieces += [Piece(_COMMA)] if i else []
            pieces.append(Piece(text, argument))
        return [*pieces, Piece(_BODY), *(Piece(*part) for part in self._operation), Piece(_END)]

    def text(self) -> str:
        """The function in MLIR."""
        parameters = _COMMA.join([text for text, _ in self._parameters])
        return f"{_BEGIN}{parameters}{_BODY}{''.join([text for text, _, _ in self._operation])}{_END}"

    def program(self, target: str = "cpu", device: str | None = None) -> Program:
        """The compiled operation. CompileError names the arguments that it was made of."""
        return self.made(lambda text: program_of(text, target, device))

    def made(self, make: Callable[[str], Any]) -> Any:
        """The object that is made of the text; a CompileError names the arguments that the text was made of."""
        try:
            return make(self.text())
        except CompileError as error:
            raise explain_arguments(error, self._function, self._pieces(), self._in_order()) from None

    def run(self, target: str = "cpu", device: str | None = None) -> None:
        """Compiles the operation, if it is new, and calls it."""
        self.call(self.program(target, device))

    def call(self, program: Program) -> None:
        """Calls the operation. ArgumentError and DataError name the argument."""
        try:
            program.run_flat("call", self.arrays)
        except (ArgumentError, DataError) as error:
            raise self.explain(error) from None

    def launcher(self, program: Program) -> HostLauncher:
        """The operation bound to its arrays, which the caller keeps alive."""
        function = program.functions["call"]
        scalars = {i: array for i, array in enumerate(self.arrays) if function.arguments[i].is_scalar}
        launcher = HostLauncher(function, scalars, program.device)
        for place, array in zip(launcher.places, self.arrays):
            if isinstance(place, Operand):
                place.place(_dlpack.address_of(array), array.shape)
        return launcher

    def operand(self, index: int) -> str:
        """The name of the array of this number in errors."""
        return self._operands[index]

    def explain(self, error: ArgumentError | DataError) -> NVFP4Error:
        """An error of a launch, told of the arguments."""
        return explain_data(error, self._function, self._operands)

    def _in_order(self) -> list[str]:
        """The operands as the operation has them."""
        def place(operand: str) -> int:
            # Operands that differ only in a number have one position.
            name = re.sub(r"\[\d+\]", "", operand)
            return self._order.index(name) if name in self._order else len(self._order)

        return sorted(self._operands, key=place) if self._order else self._operands


def new_scaled(shape: tuple[int, ...], fmt: str, layout: str, starts: str, axis: int, scales: tuple[int, ...],
               ) -> ScaledTensor:
    """A tensor of zeros whose padding scales are what the format wants there."""
    info = FORMATS[fmt]
    values = np.zeros(values_shape(shape, fmt), np.uint8).view(info.values)
    bytes_ = np.full(scales, info.padding, np.uint8)
    return ScaledTensor(values, bytes_.view(info.scales), fmt, shape, layout, starts, axis)


def write_groups(call: Call, groups: Grouping | None) -> None:
    """The clause of groups that an operation may have."""
    if groups is None:
        return
    if groups.groups is None:
        raise ArgumentError(f"expected groups with offsets or counts, but got {groups.kind}")
    call.write(f" groups({call.memref('groups', groups.groups, 'groups')}) as {groups.attribute}", "groups")


__all__ = ["Call", "DIALECT", "FLOATS", "cache_clear", "cache_info", "element_of", "new_scaled", "program_of", "write_groups"]
