# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of a simulated device for tvm-ffi, and an environment that gives streams and memory, as torch does for a GPU."""

import contextlib
import ctypes

import numpy as np
import tvm_ffi
from tvm_ffi import libinfo

import nvfp4
from nvfp4 import _dlpack, _library

SIM = 12
_SET_ERROR = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
_ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_library.DLTensor), ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p,
                             _SET_ERROR)
_kept: dict[int, tuple] = {}


def _forget(managed):
    _kept.pop(ctypes.addressof(managed.contents), None)


_FORGET, _FORGET_VERSIONED = _library.DLDeleter(_forget), _library.DLVersionedDeleter(_forget)


def _export(array: nvfp4.DeviceArray, code: tuple[int, int, int], is_versioned: bool) -> int:
    """The address of a managed tensor, which keeps the array."""
    shape = (ctypes.c_int64 * max(len(array.shape), 1))(*array.shape)
    strides = (ctypes.c_int64 * max(len(array.shape), 1))(*(int(np.prod(array.shape[i + 1:])) for i in range(len(array.shape))))
    tensor = _library.DLTensor(array.address, SIM, 0, len(array.shape), *code, shape, strides, 0)
    managed = (_library.DLManagedTensorVersioned(1, 1, None, _FORGET_VERSIONED, 0, tensor) if is_versioned else
               _library.DLManagedTensor(tensor, None, _FORGET))
    _kept[ctypes.addressof(managed)] = managed, array, shape, strides
    return ctypes.addressof(managed)


class SimTensor:
    """An array in memory of the simulator, for tvm-ffi's from_dlpack."""

    def __init__(self, array):
        self.memory = nvfp4.DeviceArray.of(array, "sim")

    def __dlpack_device__(self):
        return SIM, 0

    def __dlpack__(self, **_):
        address = _export(self.memory, (*_dlpack.code_of(self.memory.dtype), 1), False)
        return _dlpack._capsules.PyCapsule_New(address, b"dltensor", None)


def put(array) -> tvm_ffi.Tensor:
    """A copy of the array on the device."""
    return tvm_ffi.from_dlpack(SimTensor(np.ascontiguousarray(array)))


def view(tensor) -> nvfp4.DeviceTensor:
    """The memory of a tensor of tvm-ffi of the device."""
    managed, _, _ = _dlpack._take_capsule(tensor)
    described = managed.contents.tensor
    shape = [described.shape[i] for i in range(described.ndim)]
    return nvfp4.DeviceTensor(described.data + described.byte_offset, shape, _dlpack._KINDS[described.code, described.bits], "sim")


def copy(target, source, count) -> None:
    """A copy of bytes between addresses of the host and of the device, after all work on it."""
    device = nvfp4.DeviceArray((1,), np.uint8, "sim")
    assert not _library.runtime().nvfp4_device_synchronize(device._handle)
    assert not _library.runtime().nvfp4_device_copy(device._handle, target, source, count, None)
    assert not _library.runtime().nvfp4_device_synchronize(device._handle)


def get(tensor) -> np.ndarray:
    """A copy of a tensor of tvm-ffi of the device on the host."""
    memory = view(tensor)
    array = np.empty(memory.shape, memory.dtype)
    copy(array.ctypes.data, memory.address, array.nbytes)
    return array


class Environment:
    """tvm-ffi's environment for the device within a `with`: an allocator that counts, and a stream."""

    def __init__(self, stream=0):
        self.stream, self.allocated, self.fails = stream, [], False
        self._library = ctypes.CDLL(str(libinfo.find_libtvm_ffi()))
        self._allocator = _ALLOCATE(self._allocate)

    def _allocate(self, prototype, out, context, set_error):
        if self.fails:
            set_error(context, b"MemoryError", b"no memory today")
            return -1
        described = prototype.contents
        shape = tuple(described.shape[i] for i in range(described.ndim))
        size = int(np.prod(shape)) * described.bits * described.lanes // 8
        # Memory that was used before.
        array = nvfp4.DeviceArray.of(np.full(size, 0x7f, np.uint8), "sim")
        array.shape = shape
        self.allocated.append(shape)
        out[0] = _export(array, (described.code, described.bits, described.lanes), True)
        return 0

    def __enter__(self):
        before = ctypes.c_void_p()
        self._library.TVMFFIEnvSetDLPackManagedTensorAllocator(self._allocator, 0, ctypes.byref(before))
        self._stack = contextlib.ExitStack()
        self._stack.callback(self._library.TVMFFIEnvSetDLPackManagedTensorAllocator, before, 0, None)
        self._library.TVMFFIEnvSetStream(SIM, 0, ctypes.c_void_p(self.stream), None)
        self._stack.callback(self._library.TVMFFIEnvSetStream, SIM, 0, None, None)
        return self

    def __exit__(self, *details):
        return self._stack.__exit__(*details)
