# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Device functions on tensors of torch: in the current stream, with memory of torch's allocator."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import torch

from ._device_programs import device_function, is_loaded
from ._launcher import HostLauncher, Launcher, Operand
from ._repeats import keep
from .compiler import Function
from .errors import ArgumentError, UnsupportedError

__all__ = ["DTYPES", "ELEMENTS", "Device", "HostTensorLauncher", "TensorLauncher", "element_of",
           "find_device", "find_launcher"]

#: Element types of MLIR, and of torch.
DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i32": torch.int32, "i64": torch.int64}
ELEMENTS = {dtype: element for element, dtype in DTYPES.items()}
# Types in torch of tensors whose element type in MLIR has no other name there.
_STORED = {"i8": (torch.uint8, torch.int8), "f8E4M3FN": (torch.float8_e4m3fn, torch.uint8),
           "f8E5M2": (torch.float8_e5m2, torch.uint8), "f8E8M0FNU": (torch.uint8,)}
for _element, _name in (("i8", "float4_e2m1fn_x2"), ("f8E8M0FNU", "float8_e8m0fnu")):
    _STORED[_element] += (getattr(torch, _name),) if hasattr(torch, _name) else ()
# Compute capabilities with kernels, and their targets.
_TARGETS = {(9, 0): "sm_90a"}


def element_of(tensor: torch.Tensor, what: str, allowed: Sequence[str]) -> str:
    """The element type in MLIR; ArgumentError unless it is one of the ``allowed``."""
    element = ELEMENTS.get(tensor.dtype)
    if element is None or element not in allowed:
        names = ", ".join(str(DTYPES[each]).partition(".")[2] for each in allowed)
        raise ArgumentError(f"expected {what} of {names}, but got {str(tensor.dtype).partition('.')[2]}")
    return element


class Device:
    """A GPU as torch has it: its ``name`` for device functions, and the ``target`` of its kernels."""

    def __init__(self, device: torch.device):
        self.torch_device, self.index = device, device.index
        self.name = f"cuda:{device.index}"
        capability = torch.cuda.get_device_capability(device)
        if capability not in _TARGETS:
            known = ", ".join(f"{major}.{minor}" for major, minor in _TARGETS)
            raise UnsupportedError(f"expected a GPU of compute capability {known} for tensors of torch, but got "
                                   f"{capability[0]}.{capability[1]}")
        self.target = _TARGETS[capability]

    def stream(self) -> int:
        """The current stream, as a number."""
        # As Triton and torch's own code ask for it, without an object.
        return torch._C._cuda_getCurrentRawStream(self.index)

    def address(self, tensor: torch.Tensor) -> int:
        """Where the data of a tensor is."""
        return tensor.data_ptr()

    def check_not_capturing(self) -> None:
        """RuntimeError while the current stream captures a graph: kernels cannot be loaded then."""
        if torch.cuda.is_current_stream_capturing():
            raise RuntimeError("expected a call of this layer or product before a CUDA graph captures it, for that "
                               "loads its kernels; such as torch's warm-up on a side stream")

    def launch(self, launcher: Launcher, size: int) -> None:
        """Puts the work in the current stream. The workspace is memory of the allocator, which later work in the stream
        may use again."""
        room = torch.empty(size, dtype=torch.uint8, device=self.torch_device) if size else None
        launcher.launch(0 if room is None else room.data_ptr(), size, self.stream())


@functools.cache
def _device(index: int) -> Device:
    return Device(torch.device("cuda", index))


def find_device(tensor: torch.Tensor) -> Device | None:
    """The GPU of a tensor, None for tensors of the CPU; ArgumentError for tensors elsewhere."""
    device = tensor.device
    if device.type == "cuda":
        return _device(device.index)
    if device.type != "cpu":
        raise ArgumentError(f"expected a tensor on cuda or cpu, but got one on {device}")
    return None


class _Slot:
    """An operand of a launcher, and the tensor that is there."""

    __slots__ = ("operand", "dtypes", "what", "_seen", "_address")

    def __init__(self, operand: Operand, element: str, what: str):
        self.operand, self.what = operand, what
        self.dtypes = _STORED.get(element) or (DTYPES[element],)
        self._seen, self._address = None, 0

    def place(self, tensor: torch.Tensor, device: Device | type[_Host]) -> None:
        if tensor.device != device.torch_device:
            raise ArgumentError(f"expected {self.what} on {device.torch_device}, but got it on {tensor.device}")
        if tensor.dtype not in self.dtypes:
            raise ArgumentError(f"expected {self.what} of {self.dtypes[0]}, but got {tensor.dtype}")
        if not tensor.is_contiguous():
            raise ArgumentError(f"expected {self.what} row-major without gaps, but got strides {tensor.stride()} for "
                                f"shape {tuple(tensor.shape)}; use contiguous()")
        self.operand.place(device.address(tensor), tensor.shape)

    def keep(self, tensor: torch.Tensor, device: Device) -> None:
        """Places a tensor whose shape does not change, such as weights: the next time it is known."""
        if self._seen is not None and self._seen() is tensor and tensor.data_ptr() == self._address:
            return
        self.place(tensor, device)
        self._seen, self._address = weakref.ref(tensor), tensor.data_ptr()


class _Host:
    """Memory of the CPU, as a :class:`Device` has that of a GPU."""

    torch_device = torch.device("cpu")

    @staticmethod
    def address(tensor: torch.Tensor) -> int:
        return tensor.data_ptr()


def _scalars_of(function: Function, scalars: Sequence[float]) -> dict[int, float]:
    """The scalars of a function by their place."""
    places = [index for index, value in enumerate(function.arguments) if value.is_scalar]
    return dict(zip(places, scalars))


def _slots_of(function: Function, operands: Sequence[Operand]) -> list[_Slot]:
    tensors = [value for value in function.arguments if not value.is_scalar]
    return [_Slot(operand, value.element, f"argument {i} of '{function.name}', {value},")
            for i, (operand, value) in enumerate(zip(operands, tensors))]


class HostTensorLauncher:
    """Calls of one function of the CPU by one thread."""

    def __init__(self, function: Function, scalars: Sequence[float]):
        """``scalars`` are those of the function in their order."""
        self._launcher = HostLauncher(function, _scalars_of(function, scalars))
        self._slots = _slots_of(function, self._launcher.arguments)

    def __call__(self, tensors: Sequence[torch.Tensor]) -> list[np.ndarray]:
        """Calls the function with these tensors; its results are new."""
        if len(tensors) != len(self._slots):
            raise ArgumentError(f"expected {len(self._slots)} tensors (values and scales count as two), but got "
                                f"{len(tensors)}")
        for slot, tensor in zip(self._slots, tensors):
            slot.place(tensor, _Host)
        return self._launcher.launch()


class TensorLauncher:
    """Launches of one function by one thread, of tensors that change and of constants that follow them."""

    def __init__(self, device: Device, text: str, scalars: Sequence[float]):
        """``scalars`` are those of the function in their order."""
        if not is_loaded(text, device.target, device.name):
            device.check_not_capturing()
        self.device = device
        loaded = device_function(text, device.target, device.name)
        function = loaded.function
        self._launcher = Launcher(loaded, _scalars_of(function, scalars))
        self._arguments = _slots_of(function, self._launcher.arguments)
        self._results = [_Slot(operand, value.element, f"result {i} of '{function.name}', {value},")
                         for i, (operand, value) in enumerate(zip(self._launcher.results, function.results))]

    def __call__(self, changing: Sequence[torch.Tensor], constants: Sequence[torch.Tensor],
                 results: Sequence[torch.Tensor], sizes: Hashable) -> None:
        """Puts the work in the current stream, which writes the results. ``sizes`` stands for all extents that may
        change."""
        slots, device = self._arguments, self.device
        if len(changing) + len(constants) != len(slots) or len(results) != len(self._results):
            raise ArgumentError(f"expected {len(slots)} tensors and {len(self._results)} results (values and scales "
                                f"count as two), but got {len(changing) + len(constants)} and {len(results)}")
        for slot, tensor in zip(slots, changing):
            slot.place(tensor, device)
        for slot, tensor in zip(slots[len(changing):], constants):
            slot.keep(tensor, device)
        for slot, tensor in zip(self._results, results):
            slot.place(tensor, device)
        device.launch(self._launcher, self._launcher.workspace(sizes))


def find_launcher(device: Device, text: str, scalars: tuple[float, ...], owner: Hashable) -> TensorLauncher:
    """The launcher of a function in this thread; one for each ``owner`` of constants, who are then known."""
    return keep((device.name, text, scalars, owner), lambda: TensorLauncher(device, text, scalars))
