# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of functions on arrays whose kinds were seen before: stated, compiled and described once, then only placed.

The kind of an argument is all that the statement of an operation depends on: shape, type and flags of an array, the value
of a word. Arguments without a kind here, such as arrays with gaps or tensors of other packages, are stated anew each time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ._calls import Call, new_scaled
from ._dlpack import address_of
from ._launcher import HostLauncher
from ._scalars import scalar
from .errors import ArgumentError, DataError
from .options import Activation, Gate, Hadamard, Quantizer
from .tensors import Grouping, ScaledTensor

__all__ = ["find", "forget", "keep", "repeat"]

# How many calls a thread keeps.
_MOST = 4096


class _Kept(threading.local):
    """Objects that the calls of one thread have made."""

    def __init__(self) -> None:
        self.objects: dict[Hashable, Any] = {}
        self.repeats: dict[Hashable, _Repeat] = {}
        self.generation = 0


_kept = _Kept()
_generation = 0


def forget() -> None:
    """Every thread states the operations of :func:`repeat` anew."""
    global _generation
    _generation += 1


def find(key: Hashable) -> Any:
    """The object that :func:`keep` has for ``key`` in this thread, or None."""
    return _kept.objects.get(key)


def keep(key: Hashable, make: Callable[[], Any]) -> Any:
    """The object that ``make`` made for ``key`` in this thread; it is made now where there is none. At most ``_MOST`` are
    kept, then all are dropped."""
    kept = _kept.objects
    found = kept.get(key)
    if found is None:
        found = make()
        if len(kept) >= _MOST:
            kept.clear()
        kept[key] = found
    return found


class _Unknown(Exception):
    """An argument has no kind."""


def _array(array: np.ndarray) -> Hashable:
    flags = array.flags
    if not flags.c_contiguous or not array.ndim:
        raise _Unknown
    return array.shape, array.dtype, flags.writeable


def _scaled(tensor: ScaledTensor) -> Hashable:
    return tensor._place[0]


def _grouping(grouping: Grouping) -> Hashable:
    groups = grouping.groups
    return grouping.kind, grouping.offsets, grouping.align, None if groups is None else _array(groups)


def _word(value: Hashable) -> Hashable:
    # True equals 1 elsewhere.
    return type(value), value


# A floating-point number is data, and an integer a word, since most are part of an operation's text.
_FLOATS = (float, np.float32, np.float64)
_KINDS: dict[type, Callable[[Any], Hashable]] = {
    np.ndarray: _array, ScaledTensor: _scaled, Grouping: _grouping, type(None): lambda value: None,
    **dict.fromkeys(_FLOATS, lambda value: float),
    **dict.fromkeys((str, bool, int, type, Activation, Gate, Hadamard, Quantizer, *{type(np.dtype(each)) for each in (
        np.float32, np.float16, ml_dtypes.bfloat16)}), _word)}


def _kinds(values: Sequence[Any]) -> tuple[Hashable, ...] | None:
    try:
        return tuple([_KINDS[type(value)](value) for value in values])
    except (KeyError, _Unknown):
        return None


class _Repeat:
    """An operation that is bound but for the addresses of its arrays and the values of its numbers."""

    def __init__(self, call: Call, result: int | None, launcher: HostLauncher):
        self.explain, self.launcher = call.explain, launcher
        #: Each tensor of the launcher, the number of the argument that it is in, and what finds its address there.
        self.places: list[tuple[Any, int, Callable[[Any], int]]] = []
        #: The memory of each number, its name, and the index of its argument.
        self.numbers: list[tuple[np.ndarray, str, int]] = []
        #: Each tensor that is made in a call, and which of ``made`` it is.
        self.made: list[tuple[Any, int]] = []
        self.make: Callable[[], tuple[Any, Sequence[np.ndarray]]] | None = None
        #: Which argument is the result, where none is made.
        self.result = result

    def takes(self, values: Sequence[Any]) -> bool:
        """Whether a scaled tensor that is written to is not read-only, which its kind does not say."""
        out = None if self.result is None else values[self.result]
        return type(out) is not ScaledTensor or out.values.flags.writeable and out.scales.flags.writeable

    def __call__(self, values: Sequence[Any]) -> Any:
        for tensor, index, address in self.places:
            tensor.data = address(values[index])
        for memory, name, index in self.numbers:
            memory[...] = scalar(values[index], memory.dtype, name)
        if self.make is None:
            result = values[self.result]  # type: ignore[index]
        else:
            result, made = self.make()
            for tensor, index in self.made:
                tensor.data = address_of(made[index])
        try:
            self.launcher.launch()
        except (ArgumentError, DataError) as error:
            raise self.explain(error) from None
        return result


def _parts(value: Any) -> list[tuple[np.ndarray, Callable[[Any], int]]]:
    """The arrays of an argument, and what finds their addresses."""
    if isinstance(value, ScaledTensor):
        return [(value.values, lambda each: each._place[1]), (value.scales, lambda each: each._place[2])]
    if isinstance(value, Grouping):
        return [] if value.groups is None else [(value.groups, lambda each: address_of(each.groups))]
    return [(value, address_of)] if isinstance(value, np.ndarray) else []


def _maker(result: Any) -> tuple[list[np.ndarray], Callable[[], tuple[Any, Sequence[np.ndarray]]]] | None:
    """The arrays of a result, and what makes others like it; None for results that cannot be made from their kind."""
    if isinstance(result, ScaledTensor):
        if result.starts != "whole":
            return None
        form = result.shape, result.format, result.layout, result.starts, result.axis, result.scales.shape

        def make_scaled() -> tuple[Any, Sequence[np.ndarray]]:
            made = new_scaled(*form)
            return made, (made.values, made.scales)

        return [result.values, result.scales], make_scaled
    if isinstance(result, np.ndarray):
        shape, dtype = result.shape, result.dtype

        def make_array() -> tuple[Any, Sequence[np.ndarray]]:
            made = np.zeros(shape, dtype)
            return made, (made,)

        return [result], make_array
    return None


def _bind(call: Call, result: Any, target: str, device: str | None, names: Sequence[str],
          values: Sequence[Any]) -> _Repeat | None:
    """The operation for other arguments of the same kinds; None if it holds more than these say."""
    launcher = call.launcher(call.program(target, device))
    given = [index for index, value in enumerate(values) if value is result]
    making = None if given else _maker(result)
    if not given and making is None:
        return None
    bound = _Repeat(call, given[0] if given else None, launcher)
    parts = [(array, index, address) for index, value in enumerate(values) for array, address in _parts(value)]
    known = {id(array): (index, address) for array, index, address in parts}
    if len(known) != len(parts):
        # Which of two arguments an operand is made of cannot be told.
        return None
    made: dict[int, int] = {}
    if making is not None:
        made, bound.make = {id(array): index for index, array in enumerate(making[0])}, making[1]
    floats = {name: index for index, (name, value) in enumerate(zip(names, values)) if type(value) in _FLOATS}
    for index, array in enumerate(call.arrays):
        place = launcher.places[index]
        if isinstance(place, np.ndarray):
            if (name := call.operand(index)) in floats:
                bound.numbers.append((place, name, floats.pop(name)))
        elif id(array) in known:
            bound.places.append((place.tensor, *known[id(array)]))
        elif id(array) in made:
            bound.made.append((place.tensor, made[id(array)]))
        else:
            return None
    if floats:
        return None
    # The operation names arguments in errors, and needs no arrays for that.
    call.arrays = []
    return bound


def repeat(function: str, names: tuple[str, ...], values: Sequence[Any],
           state: Callable[[], tuple[Call, Any, str, str | None]]) -> Any:
    """The result of ``function``, whose arguments ``names`` have the ``values``. ``state`` checks them, and makes the
    operation, its result, the target and the device; it is asked once for arguments of the same kinds in this thread."""
    kinds = _kinds(values)
    if kinds is None:
        return _run(*state())
    key = function, names, kinds
    repeats = _kept.repeats
    if _kept.generation != _generation:
        repeats.clear()
        _kept.generation = _generation
    try:
        bound = repeats.get(key)
    except TypeError:  # of an activation with arrays
        return _run(*state())
    if bound is not None and bound.takes(values):
        return bound(values)
    call, result, target, device = state()
    _run(call, result, target, device)
    bound = _bind(call, result, target, device, names, values)
    if bound is not None:
        if len(repeats) >= _MOST:
            repeats.clear()
        repeats[key] = bound
    return result


def _run(call: Call, result: Any, target: str, device: str | None) -> Any:
    call.run(target, device)
    return result
