# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches of a device function whose tensors change from call to call: described once, changed in place."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _dlpack, _library
from .compiler import Function, Value
from .compiler import _raise as raise_status
from .device_functions import DeviceFunction, place_of

__all__ = ["HostLauncher", "Launcher", "Operand"]

# The CPU, as DLPack has it.
_HOST = 1, 0

# A launcher keeps the workspaces of so many sizes.
_MOST_SIZES = 4096


class Operand:
    """A tensor of a launcher: its memory is at ``address``, its elements follow each other."""

    __slots__ = ("rank", "_last", "_shape", "tensor")

    def __init__(self, value: Value, place: tuple[int, int]):
        self.rank = len(value.shape)
        self._last: Sequence[int] = ()
        self._shape = (ctypes.c_int64 * max(self.rank, 1))(*value.shape)
        kind = *_dlpack.code_of(_dlpack.ELEMENTS[value.element]), 1
        self.tensor = _library.DLTensor(0, *place, self.rank, *kind, self._shape, None, 0)

    def place(self, address: int, shape: Sequence[int]) -> None:
        """Says where the tensor is now. The function checks the shape and the alignment when it is launched; that the
        elements are of its type is for the caller to know."""
        self.tensor.data = address
        if shape != self._last:
            if len(shape) == self.rank:
                self._shape[:self.rank] = shape
            self.tensor.ndim = len(shape)
            self._last = shape


class HostLauncher:
    """Calls of a function on memory of the host by one thread at a time, with ``arguments`` and ``scalars`` as a Launcher
    has; ``device`` is where its kernels run, if it has any."""

    arguments: list[Operand]
    call: Callable[[], int]

    def __init__(self, function: Function, scalars: Mapping[int, Any], device: str | None = None):
        self.arguments = [Operand(value, _HOST) for value in function.arguments if not value.is_scalar]
        described, self._host = _describe(function, self.arguments, scalars)
        self._owner, self._count = function, len(function.results)
        self._given = device.encode() if device else None, function._pointer, _pointers(described), len(described)
        self._room = ctypes.POINTER(_library.DLManagedTensor) * max(self._count, 1)
        self._call = _library.runtime().nvfp4_function_call_on
        operands, arrays = iter(self.arguments), iter(self._host)
        #: The operand or the memory of the scalar of each argument.
        self.places: list[Operand | np.ndarray] = [next(arrays if value.is_scalar else operands)  # type: ignore[arg-type]
                                                   for value in function.arguments]

        #: Calls a function without results; its status.
        self.call = functools.partial(self._call, *self._given, None, 0, None)

    def launch(self) -> list[np.ndarray]:
        """Calls the function, and waits for its results."""
        if not self._count:
            status = self.call()
            if status:
                raise_status(status)
            return []
        results = self._room()
        status = self._call(*self._given, results, self._count, None)
        if status:
            raise_status(status)
        return [_dlpack.take(results[i]) for i in range(self._count)]


class Launcher:
    """Calls of ``function`` by one thread at a time: place each operand, then :meth:`launch`.

    ``arguments`` and ``results`` are its tensors in their order, values and scales apart, without scalars, which are
    ``scalars`` by their place among all arguments.
    """

    def __init__(self, function: DeviceFunction, scalars: Mapping[int, Any]):
        self.function = function
        inner, place = function.function, place_of(function.device)
        self.arguments = [Operand(value, place) for value in inner.arguments if not value.is_scalar]
        self.results = [Operand(value, place) for value in inner.results]
        described, self._host = _describe(inner, self.arguments, scalars)
        library = _library.runtime()
        self._run, self._measure = library.nvfp4_function_run, library.nvfp4_function_workspace
        self._given = inner._pointer, _pointers(described), len(described)
        self._made = _pointers([result.tensor for result in self.results]), len(self.results)
        self._sizes: dict[Any, int] = {}

    def workspace(self, sizes: Any) -> int:
        """Bytes of device memory that a launch needs beside its operands, which say all that ``sizes``, a key, stands
        for."""
        size = self._sizes.get(sizes)
        if size is None:
            room = ctypes.c_size_t()
            raise_status(self._measure(*self._given, ctypes.byref(room)))
            if len(self._sizes) >= _MOST_SIZES:
                self._sizes.clear()
            size = self._sizes[sizes] = room.value
        return size

    def launch(self, workspace: int, size: int, stream: int) -> None:
        """Puts the work in a stream, a CUstream as a number; 0 is the default one."""
        status = self._run(*self._given, *self._made, workspace or None, size, stream or None)
        if status:
            raise_status(status)


def _describe(function: Function, operands: Sequence[Operand],
              scalars: Mapping[int, Any]) -> tuple[list[Any], list[Any]]:
    """All arguments as the runtime takes them, and the arrays behind the scalars."""
    described: list[Any] = []
    arrays: list[Any] = []
    tensors = iter(operands)
    for index, value in enumerate(function.arguments):
        if value.is_scalar:
            arrays.append(function._convert(index, scalars[index]))
            described.append(_dlpack.describe(arrays[-1]))
        else:
            described.append(next(tensors).tensor)
    return described, arrays


def _pointers(tensors: Sequence[Any]) -> Any:
    return (ctypes.POINTER(_library.DLTensor) * max(len(tensors), 1))(*map(ctypes.pointer, tensors))
