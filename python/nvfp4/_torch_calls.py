# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations of this package on tensors of torch, bound once for each shape, on the CPU or a GPU.

An operation is stated for arrays that stand in for the tensors, of which only shapes and types are looked at. What it
checks therefore holds for every call with tensors of those shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import torch

from ._calls import Call
from ._device_programs import device_function, is_loaded
from ._launcher import HostLauncher, Launcher
from ._repeats import keep
from ._torch_device import Device
from .compiler import _raise as raise_status
from .errors import ArgumentError, DataError

__all__ = ["BoundCall", "find_call", "stand_in"]

_PLAIN = {"float4_e2m1fn_x2": np.dtype(np.uint8), "bool": np.dtype(np.bool_)}


def stand_in(tensor: torch.Tensor | None) -> np.ndarray | None:
    """An array of the shape and type of a tensor, whose memory nobody touches."""
    if tensor is None:
        return None
    name = str(tensor.dtype).partition(".")[2]
    dtype = _PLAIN.get(name) or np.dtype(getattr(ml_dtypes, name, None) or name)
    return np.empty(tuple(tensor.shape), dtype)


def _root(array: np.ndarray) -> np.ndarray:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


class BoundCall:
    """One operation for tensors of known shapes: ``call`` was stated for the ``stand_ins`` of the tensors, in order."""

    def __init__(self, device: Device | None, call: Call, stand_ins: Sequence[np.ndarray | None]):
        self._device, self._explain = device, call.explain
        scalars = {i: array for i, array in enumerate(call.arrays) if array.ndim == 0}
        if device is None:
            self._launcher: Any = HostLauncher(call.program().functions["call"], scalars)
            self._call = self._launcher.call
        else:
            self._launcher = Launcher(call.made(lambda text: self._load(device, text)), scalars)
        places = {id(array): index for index, array in enumerate(stand_ins) if array is not None}
        arrays = [array for array in call.arrays if array.ndim]
        #: The DLTensor of each tensor that the operation reads or writes, and the number of the tensor.
        self._operands = []
        for operand, array in zip(self._launcher.arguments, arrays):
            operand.place(0, array.shape)
            self._operands.append((operand.tensor, places[id(_root(array))]))

    @staticmethod
    def _load(device: Device, text: str) -> Any:
        if not is_loaded(text, device.target, device.name):
            device.check_not_capturing()
        return device_function(text, device.target, device.name)

    def __call__(self, tensors: Sequence[torch.Tensor | None]) -> None:
        """Computes, or puts work in the current stream. The tensors have the shapes of the stand-ins and no gaps."""
        device = self._device
        if device is None:
            for operand, index in self._operands:
                operand.data = tensors[index].data_ptr()  # type: ignore[union-attr]
            status = self._call()
            if status:
                try:
                    raise_status(status)
                except (ArgumentError, DataError) as error:
                    raise self._explain(error) from None
            return
        for operand, index in self._operands:
            operand.data = device.address(tensors[index])  # type: ignore[arg-type]
        device.launch(self._launcher, self._launcher.workspace(None))


def find_call(device: Device | None, key: Hashable, tensors: Sequence[torch.Tensor | None],
              state: Callable[[Sequence[np.ndarray | None]], Call] | None) -> BoundCall:
    """The call of this thread for ``key``, which holds all options, and the shapes and types of the tensors; what
    ``state`` makes of their stand-ins where there is none, None after a call of it."""
    full = (key, device and device.name, *((each.shape, each.dtype) if each is not None else None for each in tensors))

    def make() -> BoundCall:
        stand_ins = [stand_in(each) for each in tensors]
        assert state is not None
        return BoundCall(device, state(stand_ins), stand_ins)

    return keep(full, make)
