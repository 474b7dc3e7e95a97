# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors in and out without copies: numpy arrays, and whatever speaks DLPack.

numpy's own DLPack knows neither bfloat16 nor the 8-bit floats, so the structs are read and written here.
"""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np

from ._exit import release_with
from ._library import DLDeleter, DLManagedTensor, DLManagedTensorVersioned, DLTensor
from .errors import ArgumentError

# Element type of MLIR -> numpy.
ELEMENTS: dict[str, np.dtype] = {
    name: np.dtype(kind) for name, kind in (
        ("f64", np.float64), ("f32", np.float32), ("f16", np.float16), ("bf16", ml_dtypes.bfloat16),
        ("i1", np.bool_), ("i8", np.uint8), ("i16", np.int16), ("i32", np.int32), ("i64", np.int64),
        ("index", np.int64), ("f8E4M3FN", ml_dtypes.float8_e4m3fn), ("f8E5M2", ml_dtypes.float8_e5m2),
        ("f8E8M0FNU", ml_dtypes.float8_e8m0fnu))}

# (code, bits) of DLPack -> numpy, lanes 1.
_KINDS: dict[tuple[int, int], Any] = {
    (0, 8): np.int8, (0, 16): np.int16, (0, 32): np.int32, (0, 64): np.int64,
    (1, 8): np.uint8, (1, 16): np.uint16, (1, 32): np.uint32, (1, 64): np.uint64,
    (2, 16): np.float16, (2, 32): np.float32, (2, 64): np.float64, (4, 16): ml_dtypes.bfloat16, (6, 8): np.bool_,
    (10, 8): ml_dtypes.float8_e4m3fn, (12, 8): ml_dtypes.float8_e5m2, (14, 8): ml_dtypes.float8_e8m0fnu}
_CODES = {np.dtype(kind): code for code, kind in _KINDS.items()}
#: The type of numpy arrays with one code per byte.
FLOAT4 = np.dtype(ml_dtypes.float4_e2m1fn)
_FLOAT4_E2M1 = 17
_READ_ONLY = 1

# Not ctypes.pythonapi, whose functions other packages declare in other ways: jax.ffi.pycapsule does.
_capsules = ctypes.PyDLL(None)
_capsules.PyCapsule_IsValid.restype = ctypes.c_int
_capsules.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]
_capsules.PyCapsule_GetPointer.restype = ctypes.c_void_p
_capsules.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_capsules.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
_capsules.PyCapsule_New.restype = ctypes.py_object
_capsules.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class _ArrayInterface(ctypes.Structure):
    """PyArrayInterface of numpy."""

    _fields_ = [("two", ctypes.c_int), ("rank", ctypes.c_int), ("kind", ctypes.c_char), ("size", ctypes.c_int),
                ("flags", ctypes.c_int), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("data", ctypes.c_void_p)]


_get_interface = ctypes.PYFUNCTYPE(ctypes.POINTER(_ArrayInterface), ctypes.py_object, ctypes.c_void_p)(
    ("PyCapsule_GetPointer", _capsules))


def address_of(array: np.ndarray) -> int:
    """Where the first element is; a third of the time that ``array.ctypes.data`` takes."""
    capsule = array.__array_struct__  # which keeps the struct
    return _get_interface(capsule, None)[0].data


# Capsules keep the pointer of their name.
_NAMES = {text: ctypes.create_string_buffer(text) for text in
          (b"dltensor", b"used_dltensor", b"dltensor_versioned", b"used_dltensor_versioned")}


class _Memory:
    """Memory of somebody else, as numpy sees it; released with the last array on it."""

    def __init__(self, address: int, size: int, read_only: bool, release):
        self.__array_interface__ = {"data": (address, read_only), "shape": (size,), "typestr": "|u1", "version": 3}
        release_with(self, release)


def asarray(tensor: Any, *, writable: bool = False) -> np.ndarray:
    """`tensor` as a numpy array on the same memory.

    Takes arrays, DLPack tensors in memory of the CPU (FP4 pairs become bytes), and numbers and sequences, which are
    copied. ArgumentError for other devices and, with `writable`, for what cannot be written in place.
    """
    if isinstance(tensor, np.ndarray):
        array = tensor
    elif type(tensor).__module__.partition(".")[0] == "torch" and tensor.device.type == "cpu":
        array = _from_torch(tensor)
    elif hasattr(tensor, "__dlpack__"):
        array = _from_dlpack(tensor)
    elif writable:
        raise ArgumentError(f"expected an array or a DLPack tensor to write to, but got {type(tensor).__name__}")
    else:
        try:
            array = np.asarray(tensor)
        except (TypeError, ValueError, OverflowError) as error:
            if isinstance(error, ArgumentError):
                raise
            raise ArgumentError(f"expected numbers in sequences of equal lengths, but {error}") from None
    if writable and not array.flags.writeable:
        raise ArgumentError("expected a tensor to write to, but got one that is read-only")
    return array


# Types of torch that its DLPack does not describe everywhere -> (type of the same size that it does, numpy).
_TORCH = {"bfloat16": ("int16", ml_dtypes.bfloat16), "float8_e4m3fn": ("uint8", ml_dtypes.float8_e4m3fn),
          "float8_e5m2": ("uint8", ml_dtypes.float8_e5m2), "float8_e8m0fnu": ("uint8", ml_dtypes.float8_e8m0fnu),
          "float4_e2m1fn_x2": ("uint8", np.uint8)}


def pack(array: np.ndarray) -> np.ndarray:
    """Bytes of two codes ``[..., ceil(K/2)]``, the even index in the low nibble, of an array ``[..., K]`` of
    float4_e2m1fn; an odd K is padded with 0."""
    codes = np.zeros((*array.shape[:-1], array.shape[-1] + array.shape[-1] % 2), np.uint8)
    codes[..., :array.shape[-1]] = array.view(np.uint8) & 15
    return codes[..., ::2] | codes[..., 1::2] << 4


def as_stored(array: np.ndarray, dtype: np.dtype, what: str) -> np.ndarray:
    """`array` as what it stores of the 8-bit type `dtype`, on the same memory: numbers of that type, or raw bytes.

    ArgumentError for other types, such as 8-bit floats of another kind or 4-bit numbers that take a byte each.
    """
    if array.dtype not in (dtype, np.uint8, np.int8):
        wanted = dtype if dtype == np.uint8 else f"{dtype} or bytes"
        is_narrow = array.dtype.name in ("float4_e2m1fn", "int4", "uint4")
        hint = "; two values of 4 bits are packed in a byte" if is_narrow else ""
        raise ArgumentError(f"expected {what} as {wanted}, but got {array.dtype}{hint}")
    return array.view(dtype)


def is_torch_type(dtype: Any) -> bool:
    """Whether it is an element type of torch, which need not be there."""
    return type(dtype).__module__ == "torch" and type(dtype).__name__ == "dtype"


def number_type(dtype: Any) -> np.dtype:
    """The type that the argument ``dtype`` names: one of numpy, ml_dtypes, JAX or torch, or a name."""
    try:
        if is_torch_type(dtype):
            name = str(dtype).partition(".")[2]
            return np.dtype(getattr(ml_dtypes, name, name))
        return np.dtype(dtype)
    except TypeError:
        raise ArgumentError(f"expected dtype to name a type of numpy or ml_dtypes, such as float32, float16 or bfloat16, "
                            f"but got {dtype!r}") from None


def as_rows(array: np.ndarray, dtype: np.dtype, what: str) -> np.ndarray:
    """Numbers of float32 rounded to those of a 16-bit type; ArgumentError where that is not finite and the number is."""
    with np.errstate(over="ignore"):
        result = array.astype(dtype)
    lost = np.isinf(result) & np.isfinite(array)
    if lost.any():
        raise ArgumentError(f"expected {what} of numbers that {dtype} holds, but got {array[lost][0]}")
    return result


def destination(out: Any, shape: tuple[int, ...], dtype: Any, default: Any = np.float32) -> np.ndarray:
    """`out`, or zeros of the type that `dtype` names (None: `default`). ArgumentError where both are given and differ."""
    if out is None:
        return np.zeros(shape, number_type(default if dtype is None else dtype))
    array = asarray(out, writable=True)
    if dtype is not None and number_type(dtype) != array.dtype:
        raise ArgumentError(f"expected dtype {array.dtype} as out has, or none, but got {number_type(dtype)}")
    return array


def _from_torch(tensor: Any) -> np.ndarray:
    if tensor.requires_grad:
        import torch
        if torch.is_grad_enabled():
            raise ArgumentError("expected a tensor without requires_grad, for functions on arrays have no gradient; use detach() "
                                "or torch.no_grad(), or nvfp4.torch.grouped_matmul or nvfp4.training, which have gradients")
        tensor = tensor.detach()
    name = str(tensor.dtype).partition(".")[2]
    if name not in _TORCH:
        return _from_dlpack(tensor)
    import torch
    plain, dtype = _TORCH[name]
    return _from_dlpack(tensor.view(getattr(torch, plain))).view(dtype)


def like(array: np.ndarray | None, model: Any) -> Any:
    """`array` as a tensor of torch on the same memory if `model` is one, and else as it is."""
    if array is None or type(model).__module__.partition(".")[0] != "torch":
        return array
    import torch
    name = array.dtype.name
    if name not in _TORCH:
        return torch.from_numpy(array)
    plain = _TORCH[name][0]
    return torch.from_numpy(array.view(plain)).view(getattr(torch, name))


def _from_dlpack(tensor: Any) -> np.ndarray:
    if hasattr(tensor, "__dlpack_device__"):
        try:
            kind, number = tensor.__dlpack_device__()
        except (ValueError, BufferError, RuntimeError) as error:  # torch has devices that DLPack has not, such as meta
            raise ArgumentError(f"expected a tensor in memory of the CPU, but {type(tensor).__name__} says: {error}") from None
        if kind not in (1, 3):  # the CPU, and memory of the CPU that a GPU sees
            raise ArgumentError(f"expected a tensor in memory of the CPU, but got one on DLPack device ({int(kind)}, "
                                f"{number}); move it with .cpu()")
    managed, versioned, release = _take_capsule(tensor)
    read_only = versioned and bool(managed.contents.flags & _READ_ONLY)
    return _view(managed.contents.tensor, read_only, release)


def _take_capsule(tensor: Any, **options: Any) -> tuple[Any, bool, Any]:
    """The managed tensor of `tensor`, whether it is of version 1, and what releases it."""
    try:
        capsule = tensor.__dlpack__(max_version=(1, 1), **options)
    except TypeError:  # a producer from before version 1
        capsule = tensor.__dlpack__(**options)
    except (BufferError, RuntimeError) as error:
        raise ArgumentError(f"expected a tensor that DLPack can describe, but {type(tensor).__name__} says: {error}") from None
    versioned = bool(_capsules.PyCapsule_IsValid(capsule, b"dltensor_versioned"))
    name, kind = (b"dltensor_versioned", DLManagedTensorVersioned) if versioned else (b"dltensor", DLManagedTensor)
    managed = ctypes.cast(_capsules.PyCapsule_GetPointer(capsule, name), ctypes.POINTER(kind))
    _capsules.PyCapsule_SetName(capsule, _NAMES[b"used_" + name])

    def release() -> None:
        if managed.contents.deleter:
            managed.contents.deleter(managed)

    return managed, versioned, release


class _Borrowed:
    """Keeps a managed tensor until it is dropped."""

    def __init__(self, managed: Any, release: Any):
        self.managed = managed
        release_with(self, release)


def borrow(tensor: Any) -> tuple[_Borrowed, DLTensor]:
    """What keeps the memory of `tensor`, on any device, and its description. Nothing is waited for: the work that uses it
    goes into the stream of the caller."""
    device = tensor.__dlpack_device__()[0] if hasattr(tensor, "__dlpack_device__") else 1
    # -1 asks the producer not to synchronise; memory of the CPU has no stream.
    managed, _, release = _take_capsule(tensor, **({"stream": -1} if device not in (1, 3) else {}))
    return _Borrowed(managed, release), managed.contents.tensor


def code_of(dtype: np.dtype) -> tuple[int, int]:
    """Code and bits of DLPack."""
    if dtype not in _CODES:
        raise ArgumentError(f"expected an element type of {', '.join(str(each) for each in _CODES)}, but got {dtype}")
    return _CODES[dtype]


def _view(tensor: DLTensor, read_only: bool, release) -> np.ndarray:
    """An array on the memory of `tensor`, after whose end `release` is called."""
    shape = [tensor.shape[i] for i in range(tensor.ndim)]
    if tensor.code == _FLOAT4_E2M1 and tensor.lanes == 2:
        dtype: Any = np.dtype(np.uint8)
    elif (tensor.code, tensor.bits) in _KINDS and tensor.lanes == 1:
        dtype = np.dtype(_KINDS[tensor.code, tensor.bits])
    else:
        release()
        raise ArgumentError(f"expected a number type of one lane, but got DLPack type code {tensor.code}, "
                            f"{tensor.bits} bits, {tensor.lanes} lanes")
    if 0 in shape:
        release()
        return np.empty(shape, dtype)
    if tensor.strides:
        strides = [tensor.strides[i] for i in range(tensor.ndim)]
    else:
        strides = [1] * tensor.ndim
        for i in reversed(range(tensor.ndim - 1)):
            strides[i] = strides[i + 1] * shape[i + 1]
    if any(stride < 0 for stride in strides):
        release()
        raise ArgumentError("expected strides that are not negative")
    size = (sum((n - 1) * s for n, s in zip(shape, strides)) + 1) * dtype.itemsize
    memory = _Memory(tensor.data + tensor.byte_offset, size, read_only, release)
    return np.ndarray(shape, dtype, buffer=np.asarray(memory), strides=[s * dtype.itemsize for s in strides])


def take(managed: Any) -> np.ndarray:
    """The array on a result of the runtime, which frees it at its end."""
    def release() -> None:
        managed.contents.deleter(managed)

    return _view(managed.contents.tensor, False, release)


def describe(array: np.ndarray) -> DLTensor:
    """`array`, which is row-major, as DLPack describes it; the caller keeps the array alive."""
    shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    code, bits = _CODES[array.dtype]
    tensor = DLTensor(address_of(array), 1, 0, array.ndim, code, bits, 1, shape, None, 0)
    return tensor


_exported: dict[int, Any] = {}


@DLDeleter
def _forget(managed: Any) -> None:
    _exported.pop(ctypes.addressof(managed.contents), None)


# For a capsule that is being destroyed, of which no reference may be made.
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", _capsules))
_get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _capsules))


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _destroy(capsule: int) -> None:
    # A capsule that nobody took: its name is still the first one.
    if _is_valid(capsule, b"dltensor"):
        _exported.pop(_get_pointer(capsule, b"dltensor"), None)


class DLPackArray:
    """A numpy array of any type of this package that other libraries take without a copy.

    ``torch.from_dlpack(nvfp4.to_dlpack(array))`` shares the memory of ``array``, bfloat16 and 8-bit floats included.
    """

    def __init__(self, array: np.ndarray):
        if array.dtype not in _CODES:
            raise ArgumentError(f"expected a number type that DLPack has, but got {array.dtype}")
        self.array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None,
                   copy: bool | None = None) -> Any:
        if dl_device not in (None, (1, 0)):
            raise BufferError(f"expected dl_device (1, 0), the CPU, but got {dl_device}")
        array = self.array.copy() if copy else self.array
        shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
        strides = (ctypes.c_int64 * max(array.ndim, 1))(*(s // array.itemsize for s in array.strides))
        code, bits = _CODES[array.dtype]
        managed = DLManagedTensor(DLTensor(array.ctypes.data, 1, 0, array.ndim, code, bits, 1, shape, strides, 0),
                                  None, _forget)
        address = ctypes.addressof(managed)
        _exported[address] = managed, array, shape, strides
        return _capsules.PyCapsule_New(address, _NAMES[b"dltensor"], ctypes.cast(_destroy, ctypes.c_void_p))


def to_dlpack(array: np.ndarray) -> DLPackArray:
    """`array` for ``from_dlpack`` of another library, on the same memory."""
    return DLPackArray(asarray(array))
