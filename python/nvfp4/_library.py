# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds and loads the shared libraries, and declares their functions for ctypes.

The runtime needs nothing but libomp; the compiler needs libMLIR and libLLVM 22.1 and is loaded when it is first asked
for, so that code compiled ahead of time runs where no compiler is installed.
"""

from __future__ import annotations

import ctypes
import functools
import os
import pathlib
import types
from typing import Any

from ._exit import finished_at_exit
from .errors import LibraryError

_HERE = pathlib.Path(__file__).resolve().parent
# LLVM's symbols must stay out of the way of other copies of LLVM, such as Triton's.
_MODE = ctypes.RTLD_LOCAL
_OPENMP = "libomp.so.5"


class StringRef(ctypes.Structure):
    """MlirStringRef: bytes without a final zero."""

    _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    def __str__(self) -> str:
        return ctypes.string_at(self.data, self.length).decode(errors="replace") if self.length else ""

    def bytes(self) -> bytes:
        return ctypes.string_at(self.data, self.length) if self.length else b""


class DiagnosticStruct(ctypes.Structure):
    """Nvfp4Diagnostic."""

    _fields_ = [("severity", ctypes.c_int), ("message", StringRef), ("file", StringRef), ("line", ctypes.c_int64),
                ("column", ctypes.c_int64)]


DiagnosticCallback = ctypes.CFUNCTYPE(None, ctypes.POINTER(DiagnosticStruct), ctypes.c_void_p)
# Returns MlirLogicalResult, a struct of one byte, which the ABIs of C return as the byte.
DiagnosticHandler = ctypes.CFUNCTYPE(ctypes.c_int8, ctypes.c_void_p, ctypes.c_void_p)
StringCallback = ctypes.CFUNCTYPE(None, StringRef, ctypes.c_void_p)
StageCallback = ctypes.CFUNCTYPE(None, StringRef, StringRef, ctypes.c_void_p)


class Sink(ctypes.Structure):
    """Nvfp4DiagnosticSink."""

    _fields_ = [("callback", DiagnosticCallback), ("user_data", ctypes.c_void_p)]


class Handle(ctypes.Structure):
    """MlirContext, MlirModule, Nvfp4Executable or Nvfp4Checkpoint: a struct of one pointer."""

    _fields_ = [("ptr", ctypes.c_void_p)]

    def __bool__(self) -> bool:
        return bool(self.ptr)


class LogicalResult(ctypes.Structure):
    """MlirLogicalResult."""

    _fields_ = [("value", ctypes.c_int8)]

    def __bool__(self) -> bool:
        return self.value != 0


class CompileOptionsStruct(ctypes.Structure):
    """Nvfp4CompileOptions."""

    _fields_ = [("target", StringRef), ("isa", StringRef), ("opt_level", ctypes.c_uint), ("threads", ctypes.c_bool),
                ("runtime_checks", ctypes.c_bool), ("versions", ctypes.c_int64), ("memory", StringRef),
                ("assemble", ctypes.c_bool)]


class TensorView(ctypes.Structure):
    """Nvfp4TensorView."""

    _fields_ = [("name", StringRef), ("dtype", StringRef), ("rank", ctypes.c_size_t), ("shape", ctypes.c_int64 * 64),
                ("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class DLTensor(ctypes.Structure):
    """DLPack's tensor, with the device and the type spelled out."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class DLDevice(ctypes.Structure):
    """DLPack's device."""

    _fields_ = [("kind", ctypes.c_int32), ("number", ctypes.c_int32)]


class DLManagedTensor(ctypes.Structure):
    """DLPack's tensor with its deleter, before version 1."""


DLDeleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(DLManagedTensor))
DLManagedTensor._fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", DLDeleter)]


class DLManagedTensorVersioned(ctypes.Structure):
    """DLPack's tensor with its deleter, version 1."""


DLVersionedDeleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(DLManagedTensorVersioned))
DLManagedTensorVersioned._fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                                     ("context", ctypes.c_void_p), ("deleter", DLVersionedDeleter),
                                     ("flags", ctypes.c_uint64), ("tensor", DLTensor)]


class ValueInfo(ctypes.Structure):
    """nvfp4_value_info."""

    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("element_type", ctypes.c_char_p), ("is_scalar", ctypes.c_int), ("ndim", ctypes.c_int32),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("is_mutable", ctypes.c_int), ("role", ctypes.c_int),
                ("scaled_type", ctypes.c_char_p)]


class ScaledInfo(ctypes.Structure):
    """nvfp4_scaled_info."""

    _fields_ = [("text", ctypes.c_char_p), ("ndim", ctypes.c_int32), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("format", ctypes.c_char_p), ("layout", ctypes.c_char_p), ("starts", ctypes.c_char_p), ("axis", ctypes.c_int32)]


def string_ref(text: str | bytes) -> StringRef:
    """A view of `text`, which the returned object keeps alive."""
    data = text.encode() if isinstance(text, str) else text
    buffer = ctypes.create_string_buffer(data, len(data) + 1)
    ref = StringRef(ctypes.addressof(buffer), len(data))
    ref.keep = buffer
    return ref


def library_folders() -> list[pathlib.Path]:
    """Where libraries are looked for: $NVFP4_LIBRARY_DIR, or else the folder of the package."""
    chosen = os.environ.get("NVFP4_LIBRARY_DIR")
    return [pathlib.Path(chosen)] if chosen else [_HERE / "lib"]


def _load(name: str, help: str) -> ctypes.CDLL:
    folders = library_folders()
    for folder in folders:
        path = folder / name
        if not path.exists():
            continue
        try:
            return ctypes.CDLL(str(path), mode=_MODE)
        except OSError as error:
            raise LibraryError(f"could not load {path}: {error}. {help}") from None
    raise LibraryError(f"expected {name} in {', '.join(map(str, folders))}, but it is not there. Install the package "
                       "with `pip install .`, or set NVFP4_LIBRARY_DIR to the folder `lib` of a build")


def _declare(library: ctypes.CDLL, **functions) -> ctypes.CDLL:
    for name, (result, *arguments) in functions.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


_P, _S, _I = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int


@functools.cache
def runtime() -> ctypes.CDLL:
    """libnvfp4_runtime.so.0; LibraryError if it cannot be loaded."""
    # Copied beside the runtime for machines without LLVM, it is not on the path of libraries.
    if any((folder / _OPENMP).exists() for folder in library_folders()):
        _load(_OPENMP, "It is LLVM's")
    library = _load("libnvfp4_runtime.so.0", "It needs libomp.so.5 of LLVM 22: apt-get install libomp5-22")
    text = ctypes.c_char_p
    return _declare(
        library,
        nvfp4_last_error=(text,), nvfp4_cpu_isa=(_I,), nvfp4_cpu_isa_name=(text, _I),
        nvfp4_set_num_threads=(_I, _I), nvfp4_num_threads=(_I,),
        nvfp4_module_load=(_I, text, ctypes.POINTER(_P)), nvfp4_module_release=(None, _P),
        nvfp4_module_metadata=(text, _P), nvfp4_module_num_functions=(_S, _P),
        nvfp4_module_function_at=(_P, _P, _S), nvfp4_function_name=(text, _P),
        nvfp4_function_num_arguments=(_S, _P), nvfp4_function_num_results=(_S, _P),
        nvfp4_function_argument=(_I, _P, _S, ctypes.POINTER(ValueInfo)),
        nvfp4_function_result=(_I, _P, _S, ctypes.POINTER(ValueInfo)),
        nvfp4_function_argument_scaled=(_I, _P, _S, ctypes.POINTER(ScaledInfo)),
        nvfp4_function_result_scaled=(_I, _P, _S, ctypes.POINTER(ScaledInfo)),
        nvfp4_function_call_on=(_I, text, _P, _P, _S, _P, _S, _P),
        nvfp4_device_open=(_I, text, ctypes.POINTER(_P)), nvfp4_device_release=(None, _P),
        nvfp4_device_alloc=(_I, _P, _S, ctypes.POINTER(_P)), nvfp4_device_free=(_I, _P, _P),
        nvfp4_device_copy=(_I, _P, _P, _P, _S, _P), nvfp4_device_synchronize=(_I, _P),
        nvfp4_function_xla_handler=(_P, _P),
        nvfp4_function_prepare=(_I, _P, DLDevice),
        nvfp4_function_take_violation=(_I, _P, DLDevice),
        nvfp4_function_workspace=(_I, _P, _P, _S, ctypes.POINTER(_S)),
        nvfp4_function_result_shapes=(_I, _P, _P, _S, _P, _S),
        nvfp4_function_run=(_I, _P, _P, _S, _P, _S, _P, _S, _P))


@functools.cache
def compiler() -> Any:
    """The functions of libNVFP4Compiler.so.0; LibraryError that says what to install if it or MLIR cannot be loaded."""
    runtime()
    folder = os.environ.get("NVFP4_MLIR_LIBRARY_DIR")
    if folder:
        for name in ("libLLVM.so.22.1", "libMLIR.so.22.1"):
            try:
                ctypes.CDLL(str(pathlib.Path(folder) / name))
            except OSError as error:
                raise LibraryError(f"could not load {name} from NVFP4_MLIR_LIBRARY_DIR={folder}: {error}") from None
    library = _load("libNVFP4Compiler.so.0",
                    "The compiler needs libMLIR.so.22.1 and libLLVM.so.22.1 of LLVM 22.1: apt-get install libmlir-22, "
                    "or set NVFP4_MLIR_LIBRARY_DIR to their folder. Code compiled ahead of time needs neither: see "
                    "nvfp4.load")
    options = CompileOptionsStruct
    functions = dict(
        nvfp4ContextCreate=(Handle,), nvfp4ContextDestroy=(None, Handle),
        mlirContextSetAllowUnregisteredDialects=(None, Handle, ctypes.c_bool),
        mlirContextAttachDiagnosticHandler=(ctypes.c_uint64, Handle, DiagnosticHandler, _P, _P),
        nvfp4AttributeParse=(Handle, Handle, StringRef, StringRef),
        nvfp4ActivationAttrGetKind=(ctypes.c_uint, Handle), nvfp4ActivationAttrGetGate=(Handle, Handle),
        nvfp4ActivationAttrGetAlpha=(ctypes.c_float, Handle), nvfp4ActivationAttrGetBeta=(ctypes.c_float, Handle),
        nvfp4ActivationAttrGetLimit=(ctypes.c_float, Handle), nvfp4ActivationAttrRoundsToBf16=(ctypes.c_bool, Handle),
        nvfp4GateAttrGetGranularity=(ctypes.c_int64, Handle), nvfp4GateAttrIsUpFirst=(ctypes.c_bool, Handle),
        nvfp4ModuleParse=(Handle, Handle, StringRef, StringRef, Sink), nvfp4ModuleClone=(Handle, Handle),
        nvfp4ModuleDestroy=(None, Handle), nvfp4ModulePrint=(None, Handle, StringCallback, _P),
        nvfp4ModuleRunPipeline=(LogicalResult, Handle, StringRef, Sink),
        nvfp4ModulePrintStages=(LogicalResult, Handle, options, StageCallback, _P, Sink),
        nvfp4ModuleEmit=(LogicalResult, Handle, options, StringRef, StringCallback, _P, Sink),
        nvfp4ModuleEmitSharedObject=(LogicalResult, Handle, options, StringRef, Sink),
        nvfp4ModuleExplain=(LogicalResult, Handle, StringRef, Sink),
        nvfp4ExecutableCreate=(Handle, Handle, options, Sink), nvfp4ExecutableDestroy=(None, Handle),
        nvfp4ExecutableGetModule=(_P, Handle),
        nvfp4ModuleInterpret=(LogicalResult, Handle, StringRef, _P, _S, _P, _S, Sink),
        nvfp4ModuleCheck=(LogicalResult, Handle, StringRef, StringRef, _P, _S, _P, _S, ctypes.c_bool, ctypes.c_int64,
                          StringCallback, _P, Sink),
        nvfp4CheckpointOpen=(Handle, StringRef, Sink), nvfp4CheckpointDestroy=(None, Handle),
        nvfp4CheckpointGetNumTensors=(_S, Handle), nvfp4CheckpointGetName=(StringRef, Handle, _S),
        nvfp4CheckpointGetTensor=(LogicalResult, Handle, StringRef, ctypes.POINTER(TensorView), Sink),
        nvfp4SafetensorsWrite=(LogicalResult, StringRef, _P, _S, _P, _S, Sink))
    _declare(library, **functions)
    return types.SimpleNamespace(**{name: finished_at_exit(getattr(library, name)) for name in functions})
