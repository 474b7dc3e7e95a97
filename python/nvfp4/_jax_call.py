# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations of this package as a primitive of JAX, which becomes a custom call for each platform.

An operation is stated for arrays that stand in for its operands and results, of which only shapes and types are looked
at. It is compiled when JAX lowers it for a platform, and its function exports the handler that XLA calls.
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import hashlib
import threading
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from . import _dlpack, _library
from ._calls import Call
from ._device_programs import device_program
from .compiler import Program
from .compiler import _raise as raise_status
from .errors import ArgumentError, UnsupportedError

__all__ = ["Operation", "TARGETS", "apply"]

#: What kernels are compiled for, by the compute capability of a GPU.
TARGETS = {"9.0": "sm_90a", "10.0": "sm_100a", "10.3": "sm_103a"}
# XLA aligns buffers to less than a workspace needs.
_WORKSPACE_ALIGNMENT = 256


@dataclasses.dataclass(frozen=True)
class Operation:
    """One operation: ``state`` makes its call of arrays for the operands and then the results.

    ``results`` are shapes and types. ``starts_as_zero`` says that the operation does not write all of them.
    """

    name: str
    state: Callable[..., Call]
    options: tuple[Any, ...]
    results: tuple[tuple[tuple[int, ...], np.dtype], ...]
    starts_as_zero: bool = False


def _root(array: np.ndarray) -> np.ndarray:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


class _Stated:
    """An operation for operands of known shapes: its call, and which operand or result each argument is."""

    def __init__(self, operation: Operation, operands: Sequence[Any]):
        stand_ins = [np.empty(each.shape, each.dtype) for each in operands]
        stand_ins += [np.empty(shape, dtype) for shape, dtype in operation.results]
        self.call = operation.state(stand_ins, *operation.options)
        numbers = {id(array): number for number, array in enumerate(stand_ins)}
        #: Scalars are attributes of the custom call: a GPU does not hold them.
        self.scalars = {f"arg{i}": array[()] for i, array in enumerate(self.call.arrays) if not array.ndim}
        places = [numbers[id(_root(array))] for array in self.call.arrays if array.ndim]
        #: The operands in the order of the function, and the results after them.
        self.operands = [place for place in places if place < len(operands)]
        self.results = [place - len(operands) for place in places if place >= len(operands)]
        assert places[len(self.operands):] == [len(operands) + place for place in self.results]
        assert sorted(self.results) == list(range(len(operation.results)))


_lock = threading.Lock()
# Targets of custom calls, whose code XLA may call as long as the process lives.
_targets: dict[tuple[str, str, str], tuple[str, Any]] = {}


def _compile(platform: str, call: Call) -> tuple[str, Any]:
    """The name of the custom call, and the function."""
    target = "cpu" if platform == "cpu" else _gpu_target()
    text = call.text()
    with _lock:
        if (platform, target, text) not in _targets:
            make = functools.partial(Program, target="cpu", name="<nvfp4>") if platform == "cpu" else \
                functools.partial(device_program, target=target)
            program = call.made(make)
            function = program.functions["call"]
            handler = _library.runtime().nvfp4_function_xla_handler(function._pointer)
            if not handler:
                raise UnsupportedError("expected a function with a handler for XLA; compile it again")
            from . import __version__
            name = "nvfp4_" + hashlib.sha256("\0".join((__version__, target, text)).encode()).hexdigest()[:24]
            capsule = jax.ffi.pycapsule(ctypes.c_void_p(handler))
            stages = capsule if platform == "cpu" else {"initialize": capsule, "execute": capsule}
            jax.ffi.register_ffi_target(name, stages, platform="cpu" if platform == "cpu" else "CUDA")
            _targets[platform, target, text] = name, function
        return _targets[platform, target, text]


def _gpu_target() -> str:
    devices = jax.local_devices(backend="cuda")
    found = {str(device.compute_capability) for device in devices}
    if len(found) != 1 or not found <= TARGETS.keys():
        raise UnsupportedError(f"expected GPUs of one compute capability of {', '.join(TARGETS)}, but got "
                               f"{', '.join(sorted(found))}")
    return TARGETS[found.pop()]


def _workspace(function: Any, call: Call) -> int:
    """Bytes of device memory that a call needs, from shapes alone."""
    tensors = [_dlpack.describe(array) for array in call.arrays]
    pointers = (ctypes.POINTER(_library.DLTensor) * max(len(tensors), 1))(*map(ctypes.pointer, tensors))
    size = ctypes.c_size_t()
    raise_status(_library.runtime().nvfp4_function_workspace(function._pointer, pointers, len(tensors), ctypes.byref(size)))
    return size.value


def _custom_call(platform: str, operation: Operation, arrays: Sequence[Any]) -> list[Any]:
    stated = _Stated(operation, arrays)
    name, function = _compile(platform, stated.call)
    operands = [arrays[place] for place in stated.operands]
    shapes = [jax.ShapeDtypeStruct(*operation.results[place]) for place in stated.results]
    aliases = None
    if operation.starts_as_zero:
        aliases = {len(operands) + i: i for i in range(len(shapes))}
        operands += [jnp.zeros(each.shape, each.dtype) for each in shapes]
    # A graph keeps the address of a result, but not of memory that a handler asks for.
    size = _workspace(function, stated.call) if platform != "cpu" else 0
    room = [jax.ShapeDtypeStruct((size + _WORKSPACE_ALIGNMENT,), np.uint8)] if size else []
    results = jax.ffi.ffi_call(name, [*shapes, *room], input_output_aliases=aliases)(*operands, **stated.scalars)
    in_order = dict(zip(stated.results, results))
    return [in_order[i] for i in range(len(operation.results))]


_primitive = Primitive("nvfp4")
_primitive.multiple_results = True


@functools.lru_cache(maxsize=1024)
def _jitted(operation: Operation) -> Callable[..., Any]:
    return jax.jit(functools.partial(_primitive.bind, operation=operation))


@_primitive.def_impl
def _(*operands: Any, operation: Operation) -> Any:
    return _jitted(operation)(*operands)


@_primitive.def_abstract_eval
def _(*operands: Any, operation: Operation) -> Any:
    # Here, so that what does not go together is told where the function is called.
    _Stated(operation, operands)
    return [jax.core.ShapedArray(shape, dtype) for shape, dtype in operation.results]


def _lower(platform: str, context: Any, *operands: Any, operation: Operation) -> Any:
    call = mlir.lower_fun(lambda *arrays: _custom_call(platform, operation, arrays), multiple_results=True)
    return call(context, *operands)


for _platform in ("cpu", "cuda"):
    mlir.register_lowering(_primitive, functools.partial(_lower, _platform), platform=_platform)


def _refuse_batch(operands: Any, dimensions: Any, *, operation: Operation) -> Any:
    raise ArgumentError(f"nvfp4.jax.{operation.name} has no vmap: give all of it as one call, with a grouping for several "
                        "products, or use jax.lax.map")


def _refuse_derivative(primals: Any, tangents: Any, *, operation: Operation) -> Any:
    raise ArgumentError(f"nvfp4.jax.{operation.name} has no derivative of quantised operands or in forward mode; reverse mode has "
                        "that of rows of bfloat16 or float16, alpha, bias and prob of grouped_matmul")


batching.primitive_batchers[_primitive] = _refuse_batch
ad.primitive_jvps[_primitive] = _refuse_derivative


def apply(operation: Operation, *operands: Any) -> list[Any]:
    """The results of an operation, within ``jit`` or without."""
    return _primitive.bind(*operands, operation=operation)
