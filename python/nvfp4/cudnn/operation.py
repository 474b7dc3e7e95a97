# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The flow of cuDNN's classes: construct with samples, ``check_support()``, ``compile()``, ``execute(...)``.

A subclass has ``_check`` of shapes and types and ``_run`` of tensors. Both see tensors by one name each: ``a`` is
``sample_a`` of a constructor and ``a_tensor`` of ``execute``.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _dlpack
from ..errors import ArgumentError
from . import views
from .handling import bind, public
from .schedule import Schedule
from .signatures import TEXTS, signature

__all__ = ["Operation", "Sample", "TensorDict", "empty", "function", "perform"]

# Tensors that cuDNN names without "sample" and "tensor".
_PLAIN = ("padded_offsets", "b_ptrs", "sfb_ptrs", "wgrad_ptrs", "global_scale_a", "global_scale_b")


class TensorDict(dict[str, Any]):
    """Results by name, as keys and as attributes, and in order when unpacked."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __iter__(self) -> Any:
        return iter(self.values())

    def like(self, model: Any) -> TensorDict:
        """The same results as tensors of the library of ``model``, on the same memory."""
        return TensorDict({name: _dlpack.like(self[name], model) if isinstance(self[name], np.ndarray) else self[name]
                           for name in self.keys()})


@dataclasses.dataclass
class Sample:
    """Shape and type of a tensor."""

    shape: tuple[int, ...]
    dtype: np.dtype

    @classmethod
    def of(cls, tensor: Any) -> Sample | None:
        """None for None."""
        if tensor is None:
            return None
        array = _dlpack.asarray(tensor)
        return cls(array.shape, array.dtype)


def _short(name: str) -> str | None:
    """The name of a tensor within this package, or None for other arguments."""
    if name.startswith("sample_"):
        return name.removeprefix("sample_")
    if name.endswith("_tensor"):
        return name.removesuffix("_tensor")
    return name if name in _PLAIN else None


def split(values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """(tensors by their short names, options) of a call."""
    shorts = {name: _short(name) for name in values}
    return ({short: values[name] for name, short in shorts.items() if short is not None},
            {name: values[name] for name, short in shorts.items() if short is None})


class Operation:
    """A class of cuDNN's frontend."""

    #: Columns of the tiles of its kernels.
    tile_columns: tuple[int, ...] = (256,)
    #: Keywords of the constructor that cuDNN does not have.
    keywords: tuple[str, ...] = ()

    def __init_subclass__(cls) -> None:
        if cls.__name__ not in TEXTS:  # a base of several
            return
        cls.__signature__ = public(cls.__name__, cls.keywords)  # type: ignore[attr-defined]
        name = f"{cls.__name__}.execute"

        def execute(self: Operation, *arguments: Any, **named: Any) -> None:
            self._execute(bind(name, (), arguments, named))

        execute.__doc__ = Operation.execute.__doc__
        execute.__signature__ = public(name, ())  # type: ignore[attr-defined]
        cls.execute = execute  # type: ignore[method-assign]

    def __init__(self, *arguments: Any, **named: Any):
        tensors, self._options = split(bind(type(self).__name__, self.keywords, arguments, named))
        self._samples = {name: Sample.of(tensor) for name, tensor in tensors.items()}
        self._supported = self._compiled = False

    def check_support(self) -> bool:
        """True, or ArgumentError or UnsupportedError that names the argument."""
        fields = {field.name for field in dataclasses.fields(Schedule)}
        Schedule(**{name: value for name, value in self._options.items() if name in fields}, columns=self.tile_columns)
        self._check(self._samples, self._options)
        self._supported = True
        return True

    def compile(self) -> None:
        """Checks support, if nobody has. Code is made at the first execution and shared by all sizes."""
        if not self._supported:
            self.check_support()
        self._compiled = True

    def execute(self, *arguments: Any, **named: Any) -> None:
        """Computes into the given tensors. Rows of no group keep what they hold. The results are there on return, in order
        with any ``current_stream``."""
        raise NotImplementedError

    def _execute(self, values: dict[str, Any]) -> None:
        if not self._compiled:
            raise RuntimeError("expected compile() before execute()")
        tensors, options = split(values)
        for name, sample in self._samples.items():
            if sample is not None and tensors.get(name, sample) is None:
                raise ArgumentError(f"expected a tensor for {name}, of which there was a sample, but got None")
        merged = {**self._options, **{name: value for name, value in options.items() if value is not None}}
        self._check({name: Sample.of(tensor) for name, tensor in tensors.items()}, merged)
        self._run(tensors, merged)

    def _check(self, s: dict[str, Any], o: dict[str, Any]) -> None:
        raise NotImplementedError

    def _run(self, t: dict[str, Any], o: dict[str, Any]) -> None:
        raise NotImplementedError


def check_shapes(s: dict[str, Any], **wanted: tuple[int, ...]) -> None:
    """ArgumentError unless the tensors that are there have these shapes."""
    for name, shape in wanted.items():
        if s.get(name) is not None and s[name].shape != shape:
            raise ArgumentError(f"expected {name} of shape {shape}, but got {s[name].shape}")


def check_types(s: dict[str, Any], types: tuple[Any, ...], *names: str) -> None:
    """ArgumentError unless the tensors that are there have one of these types."""
    allowed = [views.dtype_of(each) if isinstance(each, str) else np.dtype(each) for each in types]
    for name in names:
        if s.get(name) is not None and s[name].dtype not in allowed:
            raise ArgumentError(f"expected {name} of {', '.join(map(str, allowed))}, but got {s[name].dtype}")


def need(s: dict[str, Any], *names: str) -> None:
    """ArgumentError unless these tensors are there."""
    for name in names:
        if s.get(name) is None:
            raise ArgumentError(f"expected a tensor for {name}, but got None")


def empty(rows: int, columns: int, dtype: np.dtype, batch: int = 1) -> np.ndarray:
    """``[rows, columns, batch]`` of zeros, columns adjacent."""
    return np.zeros((batch, rows, columns), dtype).transpose(1, 2, 0)


def function(*keywords: str) -> Callable[[Any], Callable[..., TensorDict]]:
    """The function of cuDNN's name of the decorated one, which gets (tensors, options) and returns results of arrays;
    ``keywords`` are those that cuDNN does not have."""
    def decorate(operation: Callable[[dict[str, Any], dict[str, Any]], TensorDict]) -> Callable[..., TensorDict]:
        name = operation.__name__

        @functools.wraps(operation)
        def wrapper(*arguments: Any, **named: Any) -> TensorDict:
            values = bind(name, keywords, arguments, named)
            return operation(*split(values)).like(next(iter(values.values())))

        wrapper.__signature__ = public(name, keywords)  # type: ignore[attr-defined]
        return wrapper

    return decorate


def perform(kind: type[Operation], tensors: dict[str, Any], options: dict[str, Any]) -> None:
    """Constructs an operation with these tensors as samples, compiles and executes it."""
    def chosen(name: str) -> dict[str, Any]:
        values = {argument: tensors.get(short) if (short := _short(argument)) is not None else options.get(argument, p.default)
                  for argument, p in signature(name).parameters.items()}
        return {argument: value for argument, value in values.items() if value is not signature(name).empty}

    operation = kind(**chosen(kind.__name__), **{name: options.get(name) for name in kind.keywords})
    operation.compile()
    operation.execute(**chosen(f"{kind.__name__}.execute"))
