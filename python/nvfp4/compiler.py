# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MLIR text to functions that are called with arrays.

:func:`compile` makes a :class:`Program` in this process, :func:`load` opens one that was compiled ahead of time.
"""

from __future__ import annotations

import ctypes
import dataclasses
import os
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from . import _dlpack, _library
from ._exit import release_with
from ._library import Handle, Sink, StringRef, string_ref
from ._scalars import check_count, check_flag, scalar
from .errors import (ArgumentError, CheckError, CompileError, DataError, DeviceError, Diagnostic, NotFoundError, NVFP4Error,
                     UnsupportedError)
from .tensors import ScaledTensor, ScaledType

__all__ = ["Program", "Function", "Value", "compile", "explain", "load", "set_num_threads", "num_threads", "cpu_isa"]

_SEVERITIES = ("error", "warning", "note", "remark")
_ROLES = ("plain", "values", "scales")
_MOST_THREADS = 4096  # as nvfp4_set_num_threads
_ISAS = ("generic", "avx2", "avx512vnni", "avx512bf16", "amx")
_STATUS: dict[int, type[NVFP4Error]] = {1: ArgumentError, 2: NotFoundError, 3: NotFoundError, 5: UnsupportedError,
                                        6: DeviceError, 7: DataError}

# Names for points of the pipelines: the module after (or just before) a pass.
_STAGES: dict[str, tuple[str, bool]] = {
    "decomposed": ("gsg-decompose-scaled", True),
    "bufferized": ("one-shot-bufferize", True),
    "memrefs": ("nvfp4-emit-entry-points", False),
    "epilogues": ("gsg-expand-epilogue", True),
    "loops": ("convert-gsg-to-cpu", True),
    "warpspec": ("convert-gsg-to-warpspec", True),
    "kernels": ("nvfp4-embed-kernels", False),
}


def _raise(status: int) -> None:
    if status:
        message = _library.runtime().nvfp4_last_error().decode(errors="replace")
        if status == 4:
            raise MemoryError(message)
        raise _STATUS.get(status, NVFP4Error)(message)


def _path(path: str | os.PathLike[str]) -> bytes:
    """A path as the system takes it, which ends it at its first zero."""
    data = os.fsencode(path)
    if b"\0" in data:
        raise ArgumentError(f"expected a path without a zero byte, but got {path!r}")
    return data


def set_num_threads(count: int) -> None:
    """Sets how many threads calls use from now on; 0: the default, $NVFP4_NUM_THREADS or all cores."""
    count = check_count("count", count, _MOST_THREADS, "or 0 for the default", least=0)
    _raise(_library.runtime().nvfp4_set_num_threads(count))


def num_threads() -> int:
    """How many threads a call would use."""
    return int(_library.runtime().nvfp4_num_threads())


def cpu_isa() -> str:
    """The fastest instruction set of this CPU that code may use: ``generic``, ``avx2``, ``avx512vnni``, ``avx512bf16`` or
    ``amx``. On Intel's CPUs without AMX it is ``avx512vnni`` even where they have AVX-512 BF16, which is no faster there."""
    library = _library.runtime()
    return library.nvfp4_cpu_isa_name(library.nvfp4_cpu_isa()).decode()


@dataclasses.dataclass(frozen=True)
class Value:
    """One argument or result: ``element`` as MLIR spells it, ``shape`` with -1 for any extent.

    ``role`` is ``values`` or ``scales`` for a part of a block-scaled tensor, whose type is then ``scaled``, and else
    ``plain``. The function writes to one that ``is_mutable``.
    """

    element: str
    shape: tuple[int, ...]
    is_scalar: bool
    is_mutable: bool
    role: str
    scaled: ScaledType | None = None

    @property
    def scaled_type(self) -> str:
        """The block-scaled type as MLIR spells it, or nothing."""
        return str(self.scaled or "")

    def __str__(self) -> str:
        dims = "".join("?x" if extent < 0 else f"{extent}x" for extent in self.shape)
        text = self.element if self.is_scalar else f"{'memref' if self.is_mutable else 'tensor'}<{dims}{self.element}>"
        return f"{text} ({self.role} of {self.scaled})" if self.scaled else text


class Function:
    """A compiled function. Calling it is ``Program.run`` with this entry."""

    def __init__(self, program: Any, pointer: int):
        library = _library.runtime()
        self._program, self._pointer = program, pointer
        self.name: str = library.nvfp4_function_name(pointer).decode()
        self.arguments: tuple[Value, ...] = self._values(
            library.nvfp4_function_num_arguments, library.nvfp4_function_argument, library.nvfp4_function_argument_scaled)
        self.results: tuple[Value, ...] = self._values(
            library.nvfp4_function_num_results, library.nvfp4_function_result, library.nvfp4_function_result_scaled)
        self._dtypes = [_dlpack.ELEMENTS[value.element] for value in self.arguments]

    def _values(self, count: Any, get: Any, get_scaled: Any) -> tuple[Value, ...]:
        values = []
        for index in range(count(self._pointer)):
            info = _library.ValueInfo()
            _raise(get(self._pointer, index, ctypes.byref(info)))
            scaled = None
            if _ROLES[info.role] != "plain":
                type_ = _library.ScaledInfo()
                _raise(get_scaled(self._pointer, index, ctypes.byref(type_)))
                scaled = ScaledType(tuple(type_.shape[:type_.ndim]), type_.format.decode(), type_.layout.decode(),
                                    type_.starts.decode(), type_.axis)
            values.append(Value(info.element_type.decode(), tuple(info.shape[i] for i in range(info.ndim)),
                                bool(info.is_scalar), bool(info.is_mutable), _ROLES[info.role], scaled))
        return tuple(values)

    def __repr__(self) -> str:
        arguments = ", ".join(map(str, self.arguments))
        return f"{self.name}({arguments}) -> ({', '.join(map(str, self.results))})"

    def __call__(self, *arguments: Any) -> Any:
        """Calls the function; see :meth:`Program.run`."""
        return self._unflatten(self.call_flat(self._flatten(arguments)))

    def _unflatten(self, results: list[np.ndarray]) -> Any:
        merged = list(self._merge(results))
        return None if not merged else merged[0] if len(merged) == 1 else tuple(merged)

    def _flatten(self, arguments: tuple[Any, ...]) -> list[np.ndarray]:
        flat: list[Any] = []
        for argument in arguments:
            if isinstance(argument, ScaledTensor):
                flat += [argument.values, argument.scales]
            elif isinstance(argument, tuple) and len(argument) == 2 and len(flat) < len(self.arguments) and \
                    self.arguments[len(flat)].role == "values":
                flat += argument
            else:
                flat.append(argument)
        if len(flat) != len(self.arguments):
            raise ArgumentError(f"'{self.name}': expected {len(self.arguments)} arguments (values and scales count as "
                                f"two), but got {len(flat)}: {self!r}")
        return [self._convert(i, argument) for i, argument in enumerate(flat)]

    def _convert(self, index: int, argument: Any) -> np.ndarray:
        """`argument` as an array of the type that the function takes, on the same memory."""
        value, dtype = self.arguments[index], self._dtypes[index]
        what = f"argument {index} of '{self.name}', {value},"
        if value.is_scalar and not hasattr(argument, "__dlpack__"):
            return scalar(argument, dtype, what)
        try:
            array = _dlpack.asarray(argument, writable=value.is_mutable and value.role == "plain")
        except ArgumentError as error:
            raise ArgumentError(f"argument {index} of '{self.name}': {error}") from None
        if array.dtype != dtype:
            if array.dtype.itemsize == dtype.itemsize == 1:
                array = self._stored(index, array)
            elif value.is_scalar:
                array = scalar(array, dtype, what)
        return array.reshape(()) if value.is_scalar and array.size == 1 else array

    def _stored(self, index: int, array: np.ndarray) -> np.ndarray:
        """The bytes of `array` as the 8-bit type of an argument; for one of i8 any type that fills them. Values of two
        codes a byte that are only read may come as float4_e2m1fn."""
        value, dtype = self.arguments[index], self._dtypes[index]
        if value.element == "i8" and array.dtype in _dlpack._CODES:
            return array.view(dtype)
        if array.dtype == _dlpack.FLOAT4 and value.element == "i8" and value.role == "values" and not value.is_mutable \
                and array.ndim == len(value.shape):
            columns = value.scaled.shape[-1] if value.scaled else -1
            if columns not in (-1, array.shape[-1]):
                raise ArgumentError(f"argument {index} of '{self.name}': expected K = {columns}, but got "
                                    f"{array.dtype} of shape {array.shape}")
            return _dlpack.pack(array)
        return _dlpack.as_stored(array, dtype, f"argument {index} of '{self.name}', {value},")

    def call_flat(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        """Calls the function with one array an argument, values and scales apart; one array a result."""
        for index, array in enumerate(arrays):
            if not array.flags.c_contiguous:
                raise ArgumentError(f"argument {index} of '{self.name}': expected a row-major tensor without gaps, but "
                                    f"got strides {array.strides} for shape {array.shape} of {array.dtype}; use "
                                    "numpy.ascontiguousarray")
            if array.dtype not in _dlpack._CODES:
                raise ArgumentError(f"argument {index} of '{self.name}': expected element type "
                                    f"{self.arguments[index].element}, but got {array.dtype}")
        pointers = _pointers(arrays)
        results = (ctypes.POINTER(_library.DLManagedTensor) * max(len(self.results), 1))()
        device = self._program.device
        _raise(_library.runtime().nvfp4_function_call_on(
            device.encode() if device else None, self._pointer, pointers, len(arrays), results, len(self.results), None))
        return [_dlpack.take(results[i]) for i in range(len(self.results))]

    def _merge(self, results: list[np.ndarray]) -> Any:
        """Values and scales of a result as one ScaledTensor."""
        index = 0
        while index < len(results):
            value = self.results[index]
            pair = value.role == "values" and index + 1 < len(results) and \
                self.results[index + 1].role == "scales" and self.results[index + 1].scaled == value.scaled
            if value.scaled and pair:
                yield ScaledTensor.of_type(value.scaled, results[index], results[index + 1])
            else:
                yield results[index]
            index += 2 if pair else 1


def _pointers(arrays: list[np.ndarray]) -> Any:
    """The arrays as C functions take them; the result keeps what it points to."""
    tensors = [_dlpack.describe(array) for array in arrays]
    return (ctypes.POINTER(_library.DLTensor) * max(len(tensors), 1))(*map(ctypes.pointer, tensors))


class _Loaded:
    """A module of the runtime: its functions by name."""

    # Where kernels run; None: $NVFP4_DEVICE, or else a GPU.
    device: str | None = None

    def __init__(self, pointer: int):
        self._pointer = pointer
        library = _library.runtime()
        self.functions: dict[str, Function] = {}
        for index in range(library.nvfp4_module_num_functions(pointer)):
            function = Function(self, library.nvfp4_module_function_at(pointer, index))
            self.functions[function.name] = function

    def _select(self, entry: str | None) -> Function:
        if entry is None and len(self.functions) == 1:
            return next(iter(self.functions.values()))
        if entry is None:
            raise ArgumentError(f"expected entry= one of {', '.join(self.functions)}")
        if entry not in self.functions:
            raise NotFoundError(f"expected a function of the module, {', '.join(self.functions)}, but got '{entry}'")
        return self.functions[entry]

    def run(self, *arguments: Any, entry: str | None = None) -> Any:
        """Calls the function ``entry``, or the only one.

        Arguments are numpy arrays, DLPack tensors of the CPU (on their own memory; row-major), numbers for scalars, and
        :class:`ScaledTensor` or ``(values, scales)`` for block-scaled tensors. Arguments that are memrefs are written in
        place. Results are numpy arrays (``ml_dtypes`` for bfloat16 and 8-bit floats) and ScaledTensors: one, a tuple of
        several, or None. Raises ArgumentError, DataError (group offsets or indices out of range) or DeviceError.
        """
        return self._select(entry)(*arguments)

    __call__ = run

    def __repr__(self) -> str:
        return "\n".join(map(repr, self.functions.values()))


def load(path: str | os.PathLike[str], device: str | None = None) -> _Loaded:
    """Opens a shared object that ``nvfp4-compile`` or :meth:`Program.save` made. Needs no compiler.

    ``device`` is where its kernels run, if it has any: ``cuda``, ``cuda:1`` or ``sim``; None is $NVFP4_DEVICE, or else
    ``cuda``. It is that of each call of this module, whatever others run on at the same time.
    """
    pointer = ctypes.c_void_p()
    library = _library.runtime()
    _raise(library.nvfp4_module_load(_path(os.path.abspath(path)), ctypes.byref(pointer)))
    module = int(pointer.value or 0)
    loaded = _Loaded(module)
    loaded.device = device
    release_with(loaded, library.nvfp4_module_release, module)
    return loaded


class _Collector:
    """The diagnostics of one call."""

    def __init__(self, text: str):
        self.diagnostics: list[Diagnostic] = []
        self._lines = text.split("\n")
        self._callback = _library.DiagnosticCallback(self._take)
        self.sink = Sink(self._callback, None)

    def _take(self, pointer: Any, _: Any) -> None:
        d = pointer.contents
        source = self._lines[d.line - 1] if 0 < d.line <= len(self._lines) else ""
        self.diagnostics.append(Diagnostic(_SEVERITIES[d.severity], str(d.message), str(d.file), d.line, d.column,
                                           source[:400]))

    def fail(self, what: str, *, remarks: bool = True) -> NoReturn:
        """CompileError with the diagnostics: first errors and warnings, then remarks, each with its notes."""
        kinds: list[list[Diagnostic]] = [[], []]
        is_remark = False
        for diagnostic in self.diagnostics:
            if diagnostic.severity != "note":
                is_remark = diagnostic.severity == "remark"
            kinds[is_remark].append(diagnostic)
        raise CompileError(kinds[0] + (kinds[1] if remarks else []), what)


def _parse(owner: Any, text: str, name: str, pipeline: str | None) -> tuple[_Collector, Handle]:
    """A module that lives as long as ``owner``, and what was said about it."""
    if not isinstance(text, str):
        raise ArgumentError(f"expected the text of a module, but got {type(text).__name__}")
    library = _library.compiler()
    context: Handle = library.nvfp4ContextCreate()
    release_with(owner, library.nvfp4ContextDestroy, context)
    collector = _Collector(text)
    # Passes may know operations of dialects that are not here (StableHLO).
    library.mlirContextSetAllowUnregisteredDialects(context, pipeline is not None)
    module: Handle = library.nvfp4ModuleParse(context, string_ref(text), string_ref(name), collector.sink)
    if not module:
        collector.fail("could not parse the module")
    # The last made goes first: the module before its context.
    release_with(owner, library.nvfp4ModuleDestroy, module)
    if pipeline is not None and not library.nvfp4ModuleRunPipeline(module, string_ref(pipeline), collector.sink):
        collector.fail(f"could not run the pipeline {pipeline}")
    library.mlirContextSetAllowUnregisteredDialects(context, False)
    return collector, module


def _explain(module: Handle, text: str, target: str) -> str:
    collector = _Collector(text)
    if not _library.compiler().nvfp4ModuleExplain(module, string_ref(target), collector.sink):
        # The remarks are the strategies of products that got one.
        collector.fail("could not explain the module", remarks=False)
    return "\n".join(f"{d.file}:{d.line}: {d.message}" if d.line else d.message for d in collector.diagnostics)


class Program(_Loaded):
    """A module compiled into this process: call it, print it at any stage, save it.

    ``text``, ``target`` and ``device`` are what it was made of; ``functions`` maps names to :class:`Function`.
    """

    def __init__(self, text: str, *, target: str = "cpu", device: str | None = None, isa: str = "native",
                 opt_level: int = 3, threads: bool = True, runtime_checks: bool = True, versions: int = 4,
                 memory: str = "host", assemble: bool = False, name: str = "<text>", pipeline: str | None = None):
        target, plus, simulated = target.partition("+")
        if plus and simulated != "sim":
            raise ArgumentError(f"expected a target such as cpu, sm_100a or sm_100a+sim, but got '{target}+{simulated}'")
        if plus and device not in (None, "sim", "sim:0"):
            raise ArgumentError(f"expected device sim or none for target '{target}+sim', which says that, but got {device!r}; "
                                f"use target='{target}' for code on another device")
        if isa not in ("native", "all"):
            for name_of_isa in isa.split(","):
                if name_of_isa not in _ISAS:
                    raise ArgumentError(f"expected isa native, all, or one or several with commas of {', '.join(_ISAS)}, but "
                                        f"got '{name_of_isa}'")
        self.text: str = text
        self.target: str = target
        self.name: str = name
        self.device: str | None = device or ("sim" if plus else None)
        if self.device is not None and target == "cpu":
            raise ArgumentError(f"expected a GPU as target for device '{self.device}', but got cpu; such as sm_100a")
        self._library = _library.compiler()
        self._strings = string_ref(target), string_ref(isa), string_ref(memory)
        self._options = _library.CompileOptionsStruct(
            *self._strings[:2], check_count("opt_level", opt_level, 3, "none to all optimisations", least=0),
            check_flag("threads", threads), check_flag("runtime_checks", runtime_checks),
            check_count("versions", versions, 64, "kernels of a product"), self._strings[2],
            check_flag("assemble", assemble))
        self._stages: dict[str, str] | None = None
        collector, self._module = _parse(self, text, name, pipeline)
        self._executable: Handle = self._library.nvfp4ExecutableCreate(self._module, self._options, collector.sink)
        self.diagnostics: tuple[Diagnostic, ...] = tuple(collector.diagnostics)
        if not self._executable:
            collector.fail("could not compile the module")
        release_with(self, self._library.nvfp4ExecutableDestroy, self._executable)
        super().__init__(self._library.nvfp4ExecutableGetModule(self._executable))

    def run_flat(self, entry: str, arrays: list[np.ndarray]) -> list[np.ndarray]:
        """As :meth:`Function.call_flat`."""
        return self.functions[entry].call_flat(arrays)

    @property
    def stages(self) -> list[str]:
        """What :meth:`ir` takes: ``input``, the names of the passes in the order in which they run (a repeated one as
        ``cse#2``), and ``llvm-dialect``, ``llvm``, ``asm``, and for GPUs ``ptx``."""
        tail = ["llvm-dialect", "llvm", "asm"] + (["ptx"] if self.target != "cpu" else [])
        return ["input", *self._passes(), *tail]

    def ir(self, stage: str = "input") -> str:
        """The text at a stage: one of :attr:`stages`, or a name for a point of the pipeline.

        ``input`` is the module as it was verified; ``decomposed`` has values and scales apart, ``bufferized`` memrefs,
        ``epilogues`` a region with all steps of each product, ``loops`` upstream dialects only, ``warpspec`` and
        ``kernels`` the kernels for a GPU. Raises CompileError where a stage cannot be made and NotFoundError for other
        names.
        """
        if stage == "input":
            return self._collect(self._library.nvfp4ModulePrint, self._module)
        kinds = {"llvm-dialect": "mlir", "llvm": "llvm", "asm": "asm", "ptx": "ptx"}
        if stage in kinds:
            return self.emit(kinds[stage]).decode(errors="replace")
        passes = self._passes()
        if stage in passes:
            return passes[stage]
        if stage in _STAGES:
            name, after = _STAGES[stage]
            names = list(passes)
            if name in passes:
                return passes[name] if after else passes[names[names.index(name) - 1]]
        raise NotFoundError(f"expected one of {', '.join(self.stages)} or "
                            f"{', '.join(s for s, (p, _) in _STAGES.items() if p in passes)}, but got '{stage}'")

    def _passes(self) -> dict[str, str]:
        if self._stages is None:
            stages: dict[str, str] = {}

            def take(name: StringRef, text: StringRef, _: Any) -> None:
                key, number = str(name), 1
                while key in stages:
                    number += 1
                    key = f"{name}#{number}"
                stages[key] = str(text)

            collector = _Collector(self.text)
            callback = _library.StageCallback(take)
            if not self._library.nvfp4ModulePrintStages(self._module, self._options, callback, None, collector.sink):
                collector.fail("could not lower the module")
            self._stages = stages
        return self._stages

    def emit(self, kind: str) -> bytes:
        """The module as ``mlir`` (LLVM dialect), ``llvm``, ``asm`` or ``obj``; of the kernels for a GPU ``ptx`` or, with
        NVIDIA's ptxas, ``cubin``."""
        parts: list[bytes] = []
        collector = _Collector(self.text)
        callback = _library.StringCallback(lambda part, _: parts.append(part.bytes()))
        if not self._library.nvfp4ModuleEmit(self._module, self._options, string_ref(kind), callback, None,
                                             collector.sink):
            collector.fail(f"could not emit {kind}")
        return b"".join(parts)

    def transformed(self, pipeline: str) -> str:
        """The text after a pipeline in MLIR's syntax, such as ``builtin.module(gsg-decompose-scaled,cse)``."""
        copy = self._library.nvfp4ModuleClone(self._module)
        try:
            collector = _Collector(self.text)
            if not self._library.nvfp4ModuleRunPipeline(copy, string_ref(pipeline), collector.sink):
                collector.fail("could not run the pipeline")
            return self._collect(self._library.nvfp4ModulePrint, copy)
        finally:
            self._library.nvfp4ModuleDestroy(copy)

    def _collect(self, function: Callable[..., None], module: Handle) -> str:
        parts: list[bytes] = []
        callback = _library.StringCallback(lambda part, _: parts.append(part.bytes()))
        function(module, callback, None)
        return b"".join(parts).decode(errors="replace")

    def reference(self, *arguments: Any, entry: str | None = None) -> Any:
        """What :meth:`run` would return, by the interpreter: products in exact arithmetic, each operation as
        docs/Spec.md defines it. Slow, and for functions on tensors. CompileError where the data break a constraint."""
        function = self._select(entry)
        flat = function._flatten(arguments)
        collector, name = _Collector(self.text), string_ref(function.name)
        results = (ctypes.POINTER(_library.DLManagedTensor) * max(len(function.results), 1))()
        if not self._library.nvfp4ModuleInterpret(self._module, name, _pointers(flat), len(flat), results,
                                                  len(function.results), collector.sink):
            collector.fail("could not interpret the module")
        return function._unflatten([_dlpack.take(results[i]).view(_dlpack.ELEMENTS[value.element])
                                    for i, value in enumerate(function.results)])

    def check(self, *arguments: Any, entry: str | None = None, exact: bool = False, sampled: int = 0) -> str:
        """Runs the function and compares each result with :meth:`reference` and its bound, which follows from what the
        target adds with rounding: no tolerance is chosen. Returns a line for each result; CheckError if one is beyond its bound, or
        with ``exact`` differs at all. ``sampled`` compares that many rows of each group and columns; 0: all."""
        sampled = check_count("sampled", sampled, 2**63 - 1, "or 0 for all rows", least=0)
        function = self._select(entry)
        flat = function._flatten(arguments)
        found = self.run_flat(function.name, flat)
        collector, name, parts = _Collector(self.text), string_ref(function.name), []
        callback = _library.StringCallback(lambda part, _: parts.append(part.bytes()))
        passed = self._library.nvfp4ModuleCheck(self._module, name, string_ref(self.target), _pointers(flat), len(flat),
                                                _pointers(found), len(found), check_flag("exact", exact), sampled, callback, None, collector.sink)
        report = b"".join(parts).decode(errors="replace").rstrip()
        if not passed:
            messages = "\n".join(d.message for d in collector.diagnostics)
            if not report:
                collector.fail(messages)
            raise CheckError(messages, report)
        return report

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a shared object for :func:`load`, ``nvfp4-run`` and the C runtime. Needs a linker (ld.lld or ld)."""
        collector = _Collector(self.text)
        if not self._library.nvfp4ModuleEmitSharedObject(self._module, self._options, string_ref(_path(path)),
                                                         collector.sink):
            collector.fail(f"could not write {path}")

    def explain(self, target: str | None = None) -> str:
        """For each product, which strategies the cost model considers on a GPU, their predicted times and why each lost.

        ``target`` defaults to that of the program, or sm_100a for a program for the CPU, which has one way to tile.
        A product that gets no kernel there is an error.
        """
        chosen = target or (self.target if self.target != "cpu" else "sm_100a")
        return _explain(self._module, self.text, chosen)


def compile(mlir: str, target: str = "cpu", *, device: str | None = None, isa: str = "native", opt_level: int = 3,
            threads: bool = True, runtime_checks: bool = True, versions: int = 4, memory: str = "host",
            assemble: bool = False, name: str = "<text>", pipeline: str | None = None) -> Program:
    """Compiles MLIR text into this process.

    ``target`` is ``cpu``, or a GPU for products (``sm_90a``, ``sm_100a``, ``sm_103a``, ``sm_100f``), whose kernels run on
    ``device``: ``cuda``, ``cuda:1`` or ``sim``, the simulator (default: $NVFP4_DEVICE, or cuda); ``sm_100a+sim`` says both.
    ``isa`` is ``native``, ``generic``, ``avx2``, ``avx512vnni``, ``avx512bf16``, ``amx``, or several with commas or
    ``all``, among which the CPU chooses.
    ``runtime_checks`` checks offsets, indices and extents where the code runs. ``versions`` is how many kernels for few
    and for many rows a product has, at most, whose rows are known only where the code runs. ``memory`` is ``host``, or
    ``device`` for functions on memory of a GPU. ``assemble`` stores the machine code that NVIDIA's ptxas makes beside the
    PTX of kernels, so that loading a saved artefact assembles nothing. ``pipeline`` names passes, in MLIR's syntax, that run
    before: ``builtin.module(raise-to-grouped-scaled-gemm)`` for IR of exporters. Raises CompileError with diagnostics.
    """
    return Program(mlir, target=target, device=device, isa=isa, opt_level=opt_level, threads=threads,
                   runtime_checks=runtime_checks, versions=versions, memory=memory, assemble=assemble, name=name,
                   pipeline=pipeline)


def explain(mlir: str, target: str = "sm_100a", *, name: str = "<text>", pipeline: str | None = None) -> str:
    """:meth:`Program.explain` of MLIR text, without compiling it: also for a module that gets no code on this machine;
    ``pipeline`` as for :func:`compile`."""
    class Owner:
        pass

    owner = Owner()
    return _explain(_parse(owner, mlir, name, pipeline)[1], mlir, target)
