# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles .mlir text with nvfp4-compile and calls its functions on numpy arrays.

Calls go through the C interface of libnvfp4_runtime in this process. With
NVFP4_TEST_BACKEND=run, and where the library cannot be loaded (sanitised builds),
they go through nvfp4-run on the artefact, one process a call.

NVFP4_TEST_ARTEFACTS names a folder where artefacts are kept, and looked for where there
is no compiler: a machine without LLVM runs what another has compiled, and skips what is
not there. With
NVFP4_TEST_BACKEND=compile tests end where a call would come.
"""

import atexit
import ctypes
import functools
import hashlib
import json
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile

import ml_dtypes
import numpy as np
import pytest

_ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD_DIR = pathlib.Path(os.environ.get("NVFP4_BUILD_DIR", _ROOT / "build"))
FULL = os.environ.get("NVFP4_FULL_TESTS") == "1"
_ARTEFACTS = os.environ.get("NVFP4_TEST_ARTEFACTS")
#: A sanitizer's runtime, which conftest.py keeps from the tools that tests start. Processes of Python that load the
#: libraries need it before them.
PRELOAD = dict(part.split("=", 1) for part in open("/proc/self/environ", errors="replace").read().split("\0")
               if part.startswith("LD_PRELOAD="))


def full(whole, shrunk, simulated=None):
    """Extents of a test: those of its origin, or fewer. Tests of kernels put `simulated`, or
    what is shrunk, in place of both."""
    return whole if FULL else shrunk


_DTYPES = {  # element type in IR -> (numpy, DLPack code, safetensors)
    "f32": (np.float32, 2, "F32"), "f16": (np.float16, 2, "F16"),
    "bf16": (ml_dtypes.bfloat16, 4, "BF16"), "i8": (np.uint8, 1, "U8"),
    "i32": (np.int32, 0, "I32"), "i64": (np.int64, 0, "I64"),
    "index": (np.int64, 0, "I64"), "f8E4M3FN": (np.uint8, 1, "U8"),
    "f8E5M2": (np.uint8, 1, "U8"), "f8E8M0FNU": (np.uint8, 1, "U8"),
}


@functools.cache
def scratch():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="nvfp4-test-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def tool(name):
    return str(BUILD_DIR / "bin" / name)


def run(*command, env=None):
    """(exit status, standard output, standard error) of a process."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          env={**os.environ, **(env or {})}, check=False)
    return done.returncode, done.stdout, done.stderr


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class _Managed(ctypes.Structure):
    pass


_Managed._fields_ = [("tensor", _DLTensor), ("context", ctypes.c_void_p),
                     ("deleter", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed)))]


class _ValueInfo(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("element_type", ctypes.c_char_p), ("is_scalar", ctypes.c_int),
                ("ndim", ctypes.c_int32), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("is_mutable", ctypes.c_int), ("role", ctypes.c_int),
                ("scaled_type", ctypes.c_char_p)]


@functools.cache
def _runtime():
    library = ctypes.CDLL(str(BUILD_DIR / "lib" / "libnvfp4_runtime.so"))
    library.nvfp4_last_error.restype = ctypes.c_char_p
    for name in ("num_arguments", "num_results"):
        getattr(library, "nvfp4_function_" + name).restype = ctypes.c_size_t
    return library


def set_threads(count):
    """Threads of the calls from now on; 0: as many as OpenMP chooses."""
    os.environ.pop("NVFP4_NUM_THREADS", None)
    if count:
        os.environ["NVFP4_NUM_THREADS"] = str(count)
    if not uses_processes():
        _check(_runtime().nvfp4_set_num_threads(count))


@functools.cache
def uses_processes():
    """True if asked for, or if the runtime of this build cannot be loaded."""
    if os.environ.get("NVFP4_TEST_BACKEND") == "run":
        return True
    try:
        _runtime()
    except OSError:
        return True
    return False


def _check(status):
    if status:
        raise RuntimeError(_runtime().nvfp4_last_error().decode())


def _flatten(arguments):
    """Scaled operands are tuples (values, scales); scalars become arrays."""
    flat = []
    for argument in arguments:
        flat.extend(argument if isinstance(argument, tuple) else (argument,))
    return flat


def _convert(argument, element):
    array = np.asarray(argument)
    dtype = _DTYPES[element][0]
    if array.dtype != dtype:
        if array.dtype.itemsize == 1 and np.dtype(dtype).itemsize == 1:
            array = array.view(dtype)
        else:
            array = array.astype(dtype)
    return np.ascontiguousarray(array).reshape(array.shape)


def _tensor(array, element):
    shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    return _DLTensor(array.ctypes.data, 1, 0, array.ndim, _DTYPES[element][1],
                     array.dtype.itemsize * 8, 1, shape, None, 0)


class Module:
    """A compiled module. `module.f(...)` calls its function f."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        self._module = None

    def __getattr__(self, name):
        return functools.partial(self.call, name)

    def _infos(self, name):
        library = _runtime()
        if self._module is None:
            self._module = ctypes.c_void_p()
            _check(library.nvfp4_module_load(str(self.path).encode(), ctypes.byref(self._module)))
        function = ctypes.c_void_p()
        _check(library.nvfp4_module_function(self._module, name.encode(), ctypes.byref(function)))
        infos = []
        for kind, count in (("argument", library.nvfp4_function_num_arguments(function)),
                            ("result", library.nvfp4_function_num_results(function))):
            group = [_ValueInfo() for _ in range(count)]
            for index, info in enumerate(group):
                _check(getattr(library, "nvfp4_function_" + kind)(
                    function, ctypes.c_size_t(index), ctypes.byref(info)))
            infos.append(group)
        return function, *infos

    def call(self, name, *arguments):
        """The results; arguments of memref type are written in place."""
        if os.environ.get("NVFP4_TEST_BACKEND") == "compile":
            pytest.skip("only compiled")
        flat = _flatten(arguments)
        if uses_processes():
            return self._call_process(name, flat)
        function, taken, returned = self._infos(name)
        assert len(flat) == len(taken), (name, len(flat), [i.element_type for i in taken])
        arrays = [_convert(a, info.element_type.decode()) for a, info in zip(flat, taken)]
        tensors = [_tensor(a, info.element_type.decode()) for a, info in zip(arrays, taken)]
        pointers = (ctypes.POINTER(_DLTensor) * max(len(tensors), 1))(
            *[ctypes.pointer(t) for t in tensors])
        results = (ctypes.POINTER(_Managed) * max(len(returned), 1))()
        _check(_runtime().nvfp4_function_call(
            function, pointers, ctypes.c_size_t(len(tensors)), results,
            ctypes.c_size_t(len(returned)), None))
        return _unwrap([_take(m, info.element_type.decode()) for m, info in zip(results, returned)])

    def _call_process(self, name, flat):
        inputs = write_inputs(flat)
        outputs = [scratch() / f"out{i}.npy" for i in range(8)]
        for output in outputs:
            output.unlink(missing_ok=True)
        code, text, _ = run(tool("nvfp4-run"), self.path, "--entry=" + name, "--print-signature")
        results = [line.split() for line in text.splitlines() if line.startswith("  result ")]
        elements = [words[-1] if words[-1] in _DTYPES else
                    next(w for w in words if w in _DTYPES) for words in results]
        code, _, error = run(tool("nvfp4-run"), self.path, "--entry=" + name,
                             "--inputs=" + ",".join(inputs),
                             "--outputs=" + ",".join(map(str, outputs[:len(elements)])))
        if code:
            raise RuntimeError(error)
        return _unwrap([np.load(path).view(_DTYPES[element][0])
                        for path, element in zip(outputs, elements)])


def _unwrap(results):
    return results[0] if len(results) == 1 else tuple(results)


def _take(managed, element):
    """Copies a result and frees it."""
    tensor = managed.contents.tensor
    dtype = np.dtype(_DTYPES[element][0])
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    array = np.empty(shape, dtype)
    if size:
        ctypes.memmove(array.ctypes.data, tensor.data + tensor.byte_offset, size)
    managed.contents.deleter(managed)
    return array


def write_inputs(flat):
    """Writes arrays to one safetensors file; what --inputs takes for each."""
    codes = {np.dtype(t): st for t, _, st in reversed(_DTYPES.values())}
    header, blobs, offset, specs = {}, [], 0, []
    for i, array in enumerate(flat):
        array = np.ascontiguousarray(array).reshape(np.shape(array))
        header[f"t{i}"] = {"dtype": codes[array.dtype], "shape": list(array.shape),
                           "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
        blobs.append(array.tobytes())
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path = scratch() / "inputs.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))
    return [f"{path}:t{i}" for i in range(len(flat))]


@functools.cache
def compile_module(text, *options, env=()):
    """The module that nvfp4-compile makes of `text`, kept for the session."""
    name = hashlib.sha256(repr((text, options, env)).encode()).hexdigest()[:16]
    source = scratch() / f"{name}.mlir"
    target = pathlib.Path(_ARTEFACTS or scratch()) / f"{name}.so"
    if _ARTEFACTS and not os.path.exists(tool("nvfp4-compile")):
        if not target.exists():
            pytest.skip(f"no artefact {target}")
        return Module(target, text)
    source.write_text(text)
    if not any(o.startswith("--target=") for o in options):
        options += ("--target=cpu",)
    code, _, error = run(tool("nvfp4-compile"), source, "-o", target, *options, env=dict(env))
    if code:
        raise RuntimeError(f"nvfp4-compile failed:\n{error[:2000]}")
    return Module(target, text)


def check_with_interpreter(text, entry, *arguments, exact=False, options=()):
    """Runs nvfp4-run --check=reference on `text`; its standard output."""
    source = scratch() / "checked.mlir"
    source.write_text(text)
    inputs = write_inputs(_flatten(arguments))
    command = [tool("nvfp4-run"), source, "--entry=" + entry, "--device=cpu",
               "--inputs=" + ",".join(inputs), *options]
    if not any(o.startswith("--check") for o in options):
        command.append("--check=reference")
    if exact:
        command.append("--exact")
    code, output, error = run(*command)
    assert code == 0, f"{output}\n{error}\n{text}"
    return output
