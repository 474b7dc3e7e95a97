# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions on memory of a GPU, in a stream of the caller: nothing is allocated, copied or waited for."""

from __future__ import annotations

import ctypes
import re
from typing import Any, Sequence

import numpy as np

from . import _dlpack, _library
from .compiler import Function
from .compiler import _raise as raise_status
from .errors import ArgumentError

__all__ = ["DeviceCall", "DeviceFunction", "DeviceTensor", "on_device"]

_KINDS = {"cuda": 2, "sim": 12}
# torch's types -> code, bits and lanes of DLPack.
_TORCH = {"float64": (2, 64, 1), "float32": (2, 32, 1), "float16": (2, 16, 1), "bfloat16": (4, 16, 1), "int64": (0, 64, 1),
          "int32": (0, 32, 1), "int8": (0, 8, 1), "uint8": (1, 8, 1), "bool": (6, 8, 1), "float8_e4m3fn": (10, 8, 1),
          "float8_e5m2": (12, 8, 1), "float8_e8m0fnu": (14, 8, 1), "float4_e2m1fn_x2": (17, 4, 2)}


def _parse_device(name: str) -> tuple[int, int]:
    found = re.fullmatch(r"(cuda|sim)(?::(\d{1,4}))?", name)
    if not found:
        raise ArgumentError(f"expected device cuda or sim, or one by number such as cuda:1, but got {name!r}")
    return _KINDS[found[1]], int(found[2] or 0)


class DeviceTensor:
    """Memory of a device by its address: ``shape`` elements of ``dtype``, which follow each other."""

    def __init__(self, address: int, shape: Sequence[int], dtype: Any, device: str = "cuda"):
        self.address, self.shape, self.device = int(address), tuple(map(int, shape)), device
        self.dtype = _dlpack.number_type(dtype)

    def __repr__(self) -> str:
        return f"DeviceTensor({self.address:#x}, {self.shape}, {self.dtype}, {self.device!r})"


class _View:
    """A DLTensor, and what it points to."""

    def __init__(self, tensor: Any, what: str):
        self.owner = tensor
        if isinstance(tensor, DeviceTensor):
            self._set(tensor.address, _parse_device(tensor.device), tensor.shape, (*_dlpack.code_of(tensor.dtype), 1))
        elif type(tensor).__module__.partition(".")[0] == "torch":
            self._set_torch(tensor, what)
        elif isinstance(tensor, (np.ndarray, np.generic)):
            raise ArgumentError(f"{what}: expected memory of a device, but got an array of numpy, which is the host's")
        elif hasattr(tensor, "__dlpack__"):
            self.owner, self.tensor = _dlpack.borrow(tensor)
        else:
            raise ArgumentError(f"{what}: expected a tensor of torch, a DeviceTensor or a DLPack tensor, but got "
                                f"{type(tensor).__name__}")

    def _set(self, address: int, device: tuple[int, int], shape: Any, kind: tuple[int, int, int],
             strides: Any = None) -> None:
        rank = max(len(shape), 1)
        self._shape = (ctypes.c_int64 * rank)(*shape)
        self._strides = (ctypes.c_int64 * rank)(*strides) if strides is not None else None
        self.tensor = _library.DLTensor(address, *device, len(shape), *kind, self._shape, self._strides, 0)

    def _set_torch(self, tensor: Any, what: str) -> None:
        name = str(tensor.dtype).partition(".")[2]
        if name not in _TORCH:
            raise ArgumentError(f"{what}: expected an element type of {', '.join(_TORCH)}, but got {tensor.dtype}")
        kind, number = (2, tensor.device.index or 0) if tensor.device.type == "cuda" else (1, 0)
        if tensor.device.type not in ("cuda", "cpu"):
            raise ArgumentError(f"{what}: expected a tensor on cuda, but got one on {tensor.device}")
        self._set(tensor.data_ptr(), (kind, number), tensor.shape, _TORCH[name], tensor.stride())


class DeviceCall:
    """A call whose tensors are known: ``launch(stream)`` puts its work in a stream, also while it captures.

    It keeps the tensors alive. Their data may change between launches, their addresses and shapes may not.
    """

    def __init__(self, function: Function, views: list[_View], results: list[_View], workspace: Any, address: int, size: int):
        self._function, self._views, self._workspace = function, (views, results), workspace
        self._arguments = (
            function._pointer, _pointers(views), len(views), _pointers(results), len(results), address or None, size)
        self._run = _library.runtime().nvfp4_function_run

    def launch(self, stream: int = 0) -> None:
        """``stream`` is a CUstream as a number, such as ``torch.cuda.current_stream().cuda_stream``; 0 is the default one."""
        raise_status(self._run(*self._arguments, stream or None))


def _pointers(views: list[_View]) -> Any:
    return (ctypes.POINTER(_library.DLTensor) * max(len(views), 1))(*(ctypes.pointer(view.tensor) for view in views))


class DeviceFunction:
    """A function that was compiled with ``memory="device"``, on one device.

    Arguments are torch tensors, DLPack tensors or :class:`DeviceTensor` in memory of that device, row-major and aligned to
    16 bytes; values and scales of block-scaled tensors count as two, or come as a pair. Scalars are numbers.
    """

    def __init__(self, function: Function, device: str = "cuda"):
        self.function, self.device = function, device
        self._library = _library.runtime()
        place = _library.DLDevice(*_parse_device(device))
        raise_status(self._library.nvfp4_function_prepare(function._pointer, place))

    def _describe(self, arguments: Sequence[Any]) -> list[_View]:
        function = self.function
        flat: list[Any] = []
        for argument in arguments:
            flat += argument if isinstance(argument, (tuple, list)) else [argument]
        if len(flat) != len(function.arguments):
            raise ArgumentError(f"'{function.name}': expected {len(function.arguments)} arguments (values and scales count as "
                                f"two), but got {len(flat)}: {function!r}")
        views = []
        for index, (value, argument) in enumerate(zip(function.arguments, flat)):
            what = f"argument {index} of '{function.name}', {value}"
            if value.is_scalar:
                array = function._convert(index, argument)
                view = _View.__new__(_View)
                view.owner, view.tensor = array, _dlpack.describe(array)
                views.append(view)
            else:
                views.append(_View(argument, what))
        return views

    def workspace(self, *arguments: Any) -> int:
        """Bytes of device memory that a call with arguments of these shapes needs."""
        views, size = self._describe(arguments), ctypes.c_size_t()
        raise_status(self._library.nvfp4_function_workspace(
            self.function._pointer, _pointers(views), len(views), ctypes.byref(size)))
        return size.value

    def result_shapes(self, *arguments: Any) -> list[tuple[int, ...]]:
        """The shapes of the results of such a call."""
        views = self._describe(arguments)
        room = [(ctypes.c_int64 * max(len(value.shape), 1))() for value in self.function.results]
        shapes = (ctypes.POINTER(ctypes.c_int64) * max(len(room), 1))(
            *(ctypes.cast(each, ctypes.POINTER(ctypes.c_int64)) for each in room))
        raise_status(self._library.nvfp4_function_result_shapes(
            self.function._pointer, _pointers(views), len(views), shapes, len(room)))
        return [tuple(each[:len(value.shape)]) for each, value in zip(room, self.function.results)]

    def bind(self, arguments: Sequence[Any], results: Sequence[Any], workspace: Any = None) -> DeviceCall:
        """A call to launch as often as one likes. ``workspace`` is a tensor of as many bytes as :meth:`workspace` says; None
        where that is 0."""
        views = self._describe(arguments)
        if len(results) != len(self.function.results):
            raise ArgumentError(f"'{self.function.name}': expected {len(self.function.results)} results (values and scales "
                                f"count as two), but got {len(results)}")
        made = [_View(result, f"result {index} of '{self.function.name}', {value}")
                for index, (value, result) in enumerate(zip(self.function.results, results))]
        address = size = 0
        if workspace is not None:
            view = _View(workspace, f"workspace of '{self.function.name}'").tensor
            address = (view.data or 0) + view.byte_offset
            size = int(np.prod([view.shape[i] for i in range(view.ndim)], dtype=np.int64)) * view.bits * view.lanes // 8
        return DeviceCall(self.function, views, made, workspace, address, size)

    def run(self, arguments: Sequence[Any], results: Sequence[Any], workspace: Any = None, stream: int = 0) -> None:
        """Binds and launches once."""
        self.bind(arguments, results, workspace).launch(stream)


def on_device(program: Any, device: str = "cuda", *, entry: str | None = None) -> DeviceFunction:
    """The function ``entry``, or the only one, of a program that was compiled with ``memory="device"``, ready to run on
    ``device``: its kernels are loaded. Not while a stream of the thread captures."""
    return DeviceFunction(program._select(entry), device)
