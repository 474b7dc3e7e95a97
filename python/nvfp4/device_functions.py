# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions on memory of a GPU, in a stream of the caller: nothing is allocated, copied or waited for."""

from __future__ import annotations

import ctypes
import math
import re
from typing import Any, Sequence

import numpy as np

from . import _dlpack, _library
from ._exit import release_with
from .compiler import Function
from .compiler import _raise as raise_status
from .errors import ArgumentError

__all__ = ["DeviceArray", "DeviceCall", "DeviceFunction", "DeviceTensor", "on_device"]

_KINDS = {"cuda": 2, "sim": 12}
# torch's types -> code, bits and lanes of DLPack.
_TORCH = {"float64": (2, 64, 1), "float32": (2, 32, 1), "float16": (2, 16, 1), "bfloat16": (4, 16, 1), "int64": (0, 64, 1),
          "int32": (0, 32, 1), "int8": (0, 8, 1), "uint8": (1, 8, 1), "bool": (6, 8, 1), "float8_e4m3fn": (10, 8, 1),
          "float8_e5m2": (12, 8, 1), "float8_e8m0fnu": (14, 8, 1), "float4_e2m1fn_x2": (17, 4, 2)}


def place_of(name: str) -> tuple[int, int]:
    """Kind and number of a device by its name, as DLPack has them."""
    found = re.fullmatch(r"(cuda|sim)(?::(\d{1,4}))?", name)
    if not found:
        raise ArgumentError(f"expected device cuda or sim, or one by number such as cuda:1, but got {name!r}")
    return _KINDS[found[1]], int(found[2] or 0)


class DeviceTensor:
    """Memory of a device by its address: ``shape`` elements of ``dtype``, which follow each other."""

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    device: str

    def __init__(self, address: int, shape: Sequence[int], dtype: Any, device: str = "cuda"):
        self.address, self.shape, self.device = int(address), tuple(map(int, shape)), device
        self.dtype = _dlpack.number_type(dtype)

    def __repr__(self) -> str:
        return f"DeviceTensor({self.address:#x}, {self.shape}, {self.dtype}, {self.device!r})"


class DeviceArray(DeviceTensor):
    """An array in memory of a device that it owns, for programs without torch.

    The memory is not initialised; it is freed with the last reference, after the work on it.
    """

    address: int

    def __init__(self, shape: Sequence[int], dtype: Any, device: str = "cuda"):
        super().__init__(0, shape, dtype, device)
        _dlpack.code_of(self.dtype)
        place_of(device)
        library, handle, memory = _library.runtime(), ctypes.c_void_p(), ctypes.c_void_p()
        raise_status(library.nvfp4_device_open(device.encode(), ctypes.byref(handle)))
        release_with(self, library.nvfp4_device_release, handle)
        self._handle = handle
        raise_status(library.nvfp4_device_alloc(handle, max(self.nbytes, 1), ctypes.byref(memory)))
        release_with(self, library.nvfp4_device_free, handle, memory)
        self.address = memory.value or 0

    @classmethod
    def of(cls, array: Any, device: str = "cuda") -> DeviceArray:
        """A copy of an array of the host."""
        array = _dlpack.asarray(array)
        result = cls(array.shape, array.dtype, device)
        result.copy_from(array)
        return result

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return math.prod(self.shape) * self.dtype.itemsize

    def copy_from(self, array: Any) -> None:
        """Copies an array of the host of the same shape and type here, and waits for that."""
        array = np.ascontiguousarray(_dlpack.asarray(array)).reshape(np.shape(array))
        if (array.shape, array.dtype) != (self.shape, self.dtype):
            raise ArgumentError(f"expected {self.dtype} of shape {self.shape}, but got {array.dtype} of shape {array.shape}")
        self._copy(self.address, array.ctypes.data)

    def numpy(self) -> np.ndarray:
        """A copy in memory of the host, after all work on the device."""
        raise_status(_library.runtime().nvfp4_device_synchronize(self._handle))
        array = np.empty(self.shape, self.dtype)
        self._copy(array.ctypes.data, self.address)
        return array

    def _copy(self, target: int, source: int) -> None:
        if self.nbytes:
            raise_status(_library.runtime().nvfp4_device_copy(self._handle, target, source, self.nbytes, None))


def _is_torch(tensor: Any) -> bool:
    return type(tensor).__module__.partition(".")[0] == "torch"


def _address_of(stream: Any) -> int:
    """A CUstream: a number, or a stream of torch, cupy or cuda.core."""
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    for name in ("cuda_stream", "ptr"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    if isinstance(stream, bool) or not isinstance(stream, int) or stream < 0:
        raise ArgumentError(f"expected stream as the address of a CUstream or a stream of torch, but got {stream!r}")
    return stream


class _View:
    """A DLTensor, and what it points to."""

    def __init__(self, tensor: Any, what: str):
        self.owner = tensor
        if isinstance(tensor, DeviceTensor):
            self._set(tensor.address, place_of(tensor.device), tensor.shape, (*_dlpack.code_of(tensor.dtype), 1))
        elif _is_torch(tensor):
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

    It keeps the tensors alive, ``results`` among them, values and scales apart. Their data may change between launches,
    their addresses and shapes may not. Launches that overlap need a workspace each, and so a call each.
    """

    results: list[Any]

    def __init__(self, function: Function, views: list[_View], results: list[_View], workspace: Any, address: int, size: int):
        self._function, self._views, self._workspace = function, (views, results), workspace
        self.results = [view.owner for view in results]
        self._arguments = (
            function._pointer, _pointers(views), len(views), _pointers(results), len(results), address or None, size)
        self._run = _library.runtime().nvfp4_function_run

    def launch(self, stream: Any = 0) -> None:
        """``stream`` is a stream of torch, or a CUstream as a number; 0 is the default one."""
        raise_status(self._run(*self._arguments, (stream if type(stream) is int and stream >= 0 else _address_of(stream)) or None))


def _pointers(views: list[_View]) -> Any:
    return (ctypes.POINTER(_library.DLTensor) * max(len(views), 1))(*(ctypes.pointer(view.tensor) for view in views))


class DeviceFunction:
    """A function that was compiled with ``memory="device"``, on one device.

    Arguments are torch tensors, DLPack tensors or :class:`DeviceTensor` in memory of that device, row-major and aligned to
    16 bytes; values and scales of block-scaled tensors count as two, or come as a pair. Scalars are numbers.
    """

    function: Function
    device: str

    def __init__(self, function: Function, device: str = "cuda"):
        self.function, self.device = function, device
        self._library = _library.runtime()
        self._place = _library.DLDevice(*place_of(device))
        raise_status(self._library.nvfp4_function_prepare(function._pointer, self._place))

    def check(self) -> None:
        """:class:`DataError` if kernels have found data that break a constraint since the last such question: group offsets,
        indices or factors in memory of the device. The message names the operation, the value and the nearest legal one.

        It waits for nothing, so that work that is not done may still find something; synchronise the stream before to be
        sure. Calls in all streams, and graphs that captured them, are meant. ``NVFP4_CHECK=sync`` in the environment makes
        each call wait and raise the error itself."""
        raise_status(self._library.nvfp4_function_take_violation(self.function._pointer, self._place))

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

    def bind(self, arguments: Sequence[Any], results: Sequence[Any] | None = None, workspace: Any = None) -> DeviceCall:
        """A call to launch as often as one likes. ``workspace`` is a tensor of as many bytes as :meth:`workspace` says.
        Without ``results`` or ``workspace`` they are new tensors of torch, if an argument is one, or DeviceArrays."""
        views = self._describe(arguments)
        if results is None:
            results = [self._empty(views, shape, value.element)
                       for shape, value in zip(self.result_shapes(*arguments), self.function.results)]
        if workspace is None and (needed := self.workspace(*arguments)):
            workspace = self._empty(views, (needed,), "i8")
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

    def _empty(self, views: list[_View], shape: Sequence[int], element: str) -> Any:
        model = next((view.owner for view in views if _is_torch(view.owner)), None)
        if model is None:
            return DeviceArray(shape, _dlpack.ELEMENTS[element], self.device)
        import torch
        name = _dlpack.ELEMENTS[element].name
        return torch.empty(tuple(shape), dtype=getattr(torch, name), device=model.device)

    def run(self, arguments: Sequence[Any], results: Sequence[Any] | None = None, workspace: Any = None,
            stream: Any = 0) -> list[Any]:
        """Binds and launches once; returns the results, which the work in the stream writes."""
        call = self.bind(arguments, results, workspace)
        call.launch(stream)
        return call.results


def on_device(program: Any, device: str = "cuda", *, entry: str | None = None) -> DeviceFunction:
    """The function ``entry``, or the only one, of a program that was compiled with ``memory="device"``, ready to run on
    ``device``: its kernels are loaded. Not while a stream of the thread captures."""
    return DeviceFunction(program._select(entry), device)
