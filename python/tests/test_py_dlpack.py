# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors are shared, not copied: numpy, DLPack producers and consumers, and what cannot be shared."""

import ctypes
import gc

import ml_dtypes
import numpy as np
import pytest

import nvfp4
from nvfp4 import _dlpack, _library

COPY = """
func.func @copy(%x: memref<?x?xf32>, %y: memref<?x?xf32>) {
  memref.copy %x, %y : memref<?x?xf32> to memref<?x?xf32>
  return
}
func.func @make(%n: index) -> tensor<?xbf16> {
  %c = arith.constant 1.5 : bf16
  %e = tensor.empty(%n) : tensor<?xbf16>
  %f = linalg.fill ins(%c : bf16) outs(%e : tensor<?xbf16>) -> tensor<?xbf16>
  return %f : tensor<?xbf16>
}
"""


class Producer:
    """A tensor of a library that speaks DLPack only, before or after version 1."""

    def __init__(self, array, versioned=True, device=(1, 0)):
        self.array, self.versioned, self.device = array, versioned, device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        if "max_version" in options and not self.versioned:
            raise TypeError("unexpected keyword argument 'max_version'")
        return self.array.__dlpack__(**options)


@pytest.fixture(scope="module")
def program():
    return nvfp4.compile(COPY)


@pytest.mark.parametrize("versioned", [False, True])
def test_dlpack_tensors_are_read_and_written_in_place(program, versioned):
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    y = np.full((3, 4), np.nan, np.float32)
    program.run(Producer(x, versioned), Producer(y, versioned), entry="copy")
    np.testing.assert_array_equal(y, x)


def test_arrays_from_dlpack_share_memory_and_keep_it_alive():
    x = np.arange(6, dtype=np.int32)
    view = _dlpack.asarray(Producer(x))
    view[0] = 7
    assert x[0] == 7
    del x
    gc.collect()
    np.testing.assert_array_equal(view, [7, 1, 2, 3, 4, 5])


def test_products_read_and_write_where_tensors_lie(rng):
    """Values, scales, groups, every term of the epilogue and all destinations: no argument of the call is a copy."""
    arrays = {name: np.zeros(shape, dtype) for name, shape, dtype in (
        ("x", (6, 32), np.uint8), ("xs", (6, 4), np.uint8), ("w", (2, 32, 32), np.uint8), ("ws", (2, 32, 4), np.uint8),
        ("ends", 2, np.int32), ("alpha", (2, 2), np.float32), ("addend", (6, 32), np.float16),
        ("bias", (2, 32), np.float32), ("prob", 6, np.float32), ("params", (2, 3), np.float32),
        ("preact", (6, 32), np.float32), ("out", (6, 16), np.float16), ("amax", 2, np.float32))}
    arrays["ends"][:] = 2, 6
    t = {name: Producer(array) for name, array in arrays.items()}
    plan = nvfp4.plan_matmul(
        nvfp4.ScaledTensor(t["x"], t["xs"]), nvfp4.ScaledTensor(t["w"], t["ws"]), nvfp4.ragged_rows(t["ends"]),
        alpha=t["alpha"], beta=1.0, addend=t["addend"], bias=t["bias"], prob=t["prob"], activation=nvfp4.swiglu(),
        activation_params=t["params"], preact=t["preact"], out=t["out"], amax=t["amax"])
    called = {array.ctypes.data for array in plan._call.arrays}
    assert {name for name, array in arrays.items() if array.ctypes.data not in called} == set()
    arrays["out"][:] = np.nan
    assert np.shares_memory(plan.run().out, arrays["out"]) and (arrays["out"] == 0).all()


def test_strided_tensors_keep_their_strides_and_are_refused_by_functions(program):
    x = np.arange(24, dtype=np.float32).reshape(4, 6)[:, ::2]
    view = _dlpack.asarray(Producer(x))
    np.testing.assert_array_equal(view, x)
    assert view.strides == x.strides
    with pytest.raises(nvfp4.ArgumentError, match="row-major"):
        program.run(Producer(x), np.zeros((4, 3), np.float32), entry="copy")


def test_byte_offsets_count():
    x = np.arange(6, dtype=np.float32)

    class Offset(Producer):
        def __dlpack__(self, **options):
            capsule = self.array.__dlpack__()
            address = _dlpack._capsules.PyCapsule_GetPointer(capsule, b"dltensor")
            tensor = _library.DLManagedTensor.from_address(address).tensor
            tensor.byte_offset, tensor.shape[0] = 8, 4
            return capsule

    np.testing.assert_array_equal(_dlpack.asarray(Offset(x)), x[2:])


def test_other_devices_are_refused():
    with pytest.raises(nvfp4.ArgumentError, match=r"DLPack device \(2, 0\)"):
        _dlpack.asarray(Producer(np.zeros(3), device=(2, 0)))


def test_what_is_read_only_is_not_written(program):
    y = np.zeros((2, 2), np.float32)
    y.flags.writeable = False
    with pytest.raises(nvfp4.ArgumentError):
        program.run(np.ones((2, 2), np.float32), Producer(y), entry="copy")
    with pytest.raises(nvfp4.ArgumentError, match="argument 1"):
        program.run(np.ones((2, 2), np.float32), [[1, 2], [3, 4]], entry="copy")


def test_results_live_as_long_as_their_last_view(program):
    result = program.run(100_000, entry="make")
    part = result[5:9]
    del result
    gc.collect()
    assert part.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(part.astype(np.float32), 1.5)
    assert program.run(0, entry="make").shape == (0,)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint8, np.int64, np.float16, np.bool_])
def test_arrays_go_out_through_dlpack(dtype):
    x = np.array([[1, 0, 1], [0, 1, 1]]).astype(dtype)
    y = np.from_dlpack(nvfp4.to_dlpack(x))
    np.testing.assert_array_equal(y, x)
    assert np.shares_memory(x, y)
    before = len(_dlpack._exported)
    del y
    gc.collect()
    assert len(_dlpack._exported) == before - 1


@pytest.mark.parametrize("dtype,code,bits", [
    (ml_dtypes.bfloat16, 4, 16), (ml_dtypes.float8_e4m3fn, 10, 8), (ml_dtypes.float8_e5m2, 12, 8),
    (ml_dtypes.float8_e8m0fnu, 14, 8)])
def test_small_floats_come_back_from_dlpack(dtype, code, bits):
    x = np.ones((2, 5), dtype)
    y = _dlpack.asarray(nvfp4.to_dlpack(x))
    assert y.dtype == x.dtype and np.shares_memory(x, y) and (code, bits) in _dlpack._KINDS


def test_capsules_that_nobody_takes_are_freed():
    gc.collect()
    before = len(_dlpack._exported)
    capsule = nvfp4.to_dlpack(np.zeros(3)).__dlpack__()
    assert len(_dlpack._exported) == before + 1
    del capsule
    gc.collect()
    assert len(_dlpack._exported) == before


def test_types_without_a_dlpack_code_are_refused():
    with pytest.raises(nvfp4.ArgumentError, match="complex128"):
        nvfp4.to_dlpack(np.zeros(3, np.complex128))
    with pytest.raises(nvfp4.ArgumentError):
        _dlpack.asarray(Producer(np.zeros(3, np.complex64)))


def test_capsules_after_another_package_has_declared_their_functions(monkeypatch):
    """jax.ffi.pycapsule sets the types of ctypes.pythonapi, which all packages share."""
    new = ctypes.pythonapi.PyCapsule_New
    monkeypatch.setattr(new, "argtypes", [ctypes.c_void_p, ctypes.c_char_p, ctypes.PYFUNCTYPE(None, ctypes.c_void_p)])
    array = np.arange(3, dtype=np.float32)
    assert np.from_dlpack(nvfp4.to_dlpack(array)).tolist() == [0, 1, 2]
