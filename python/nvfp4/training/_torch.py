# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules of torch whose forward and backward passes are compiled functions, on CPUs and GPUs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from .._torch_device import Device, find_device, find_launcher
from ..errors import ArgumentError
from ..options import ActivationLike, swiglu
from ._linear import linear_functions
from ._moe import MoEShape, moe_functions
from ._programs import LinearProgram, MoEProgram
from ._recipe import Recipe

__all__ = ["Linear", "MoE"]

_ELEMENTS = {torch.float32: "f32", torch.bfloat16: "bf16"}
_BF16, _F32, _I32 = torch.bfloat16, torch.float32, torch.int32


def _check_devices(**tensors: torch.Tensor) -> None:
    """All are where the first one is."""
    (first, wanted), *others = tensors.items()
    for name, value in others:
        if value.device != wanted.device:
            raise ArgumentError(f"expected {name} on {wanted.device}, where {first} is, but got it on {value.device}")


def _draw(like: torch.Tensor) -> torch.Tensor:
    """A seed of stochastic rounding from torch's generator of the device, where it lies."""
    return torch.randint(0, 2**62, (1,), dtype=torch.int64, device=like.device)


def _parameter(*shape: int, dtype: torch.dtype) -> torch.nn.Parameter:
    """Normal numbers whose variance is that of a row's reciprocal length."""
    if dtype not in _ELEMENTS:
        raise ArgumentError(f"expected dtype torch.float32 or torch.bfloat16, but got {dtype}")
    return torch.nn.Parameter((torch.randn(shape) / shape[-1]**0.5).to(dtype))


def _launch(device: Device, text: str, arguments: Sequence[torch.Tensor],
            results: Sequence[tuple[tuple[int, ...], torch.dtype]], rows: int) -> list[torch.Tensor]:
    """The results of a function in the current stream. ``rows`` says all extents that may change."""
    made = [torch.empty(shape, dtype=dtype, device=device.torch_device) for shape, dtype in results]
    find_launcher(device, text, (), None)([each.contiguous() for each in arguments], (), made, rows)
    return made


def _with_biases(parameters: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """Weights as they are, and the biases behind them as functions take them."""
    return *parameters[:2], *(bias.to(_F32) for bias in parameters[2:])


class _DeviceMoE:
    """The functions of a layer on tensors of a GPU, as MoEProgram has them on arrays."""

    def __init__(self, program: MoEProgram, device: Device, dtype: torch.dtype):
        self.shape, self.block, self.device = program.shape, program.recipe.block, device
        self.texts = moe_functions(program.shape, program.recipe, _ELEMENTS[dtype])

    def forward(self, x: torch.Tensor, experts: torch.Tensor, scores: torch.Tensor,
                *parameters: torch.Tensor) -> tuple[torch.Tensor, Sequence[torch.Tensor]]:
        shape, tokens = self.shape, x.shape[0]
        most = tokens * shape.top_k + shape.experts * (self.block - 1)
        rows = -(-most // self.block) * self.block
        x, experts = x.to(_BF16), experts.to(_I32)
        results = [((tokens, shape.hidden), _F32), ((rows, shape.rows13), _BF16), ((rows,), _F32), ((shape.experts,), _I32),
                   ((rows,), _I32), ((tokens, shape.top_k), _I32)]
        out, *saved = _launch(self.device, self.texts[0], (x, experts, scores, *_with_biases(parameters)), results, tokens)
        return out, (x, *saved)

    def backward(self, gradient: torch.Tensor, saved: Sequence[torch.Tensor], *parameters: torch.Tensor,
                 seed: torch.Tensor) -> Sequence[torch.Tensor]:
        shape, tokens = self.shape, gradient.shape[0]
        results = [((tokens, shape.hidden), _F32), ((tokens, shape.top_k), _F32), (shape.shape13, _F32), (shape.shape2, _F32)]
        results += [(size, _F32) for size in shape.bias_shapes.values()]
        arguments = gradient.to(_BF16), *saved, *_with_biases(parameters), seed
        return _launch(self.device, self.texts[1], arguments, results, tokens)


class _DeviceLinear:
    """The functions of a linear layer on tensors of a GPU."""

    def __init__(self, program: LinearProgram, device: Device, dtype: torch.dtype):
        self.program, self.device = program, device
        self.texts = linear_functions(program.outputs, program.inputs, program.recipe, _ELEMENTS[dtype])

    def forward(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        results = [((x.shape[0], self.program.outputs), _F32)]
        return _launch(self.device, self.texts[0], (x.to(_BF16), w), results, x.shape[0])[0]

    def backward(self, gradient: torch.Tensor, x: torch.Tensor, w: torch.Tensor, *, seed: torch.Tensor) -> Sequence[torch.Tensor]:
        results = [(tuple(x.shape), _F32), (tuple(w.shape), _F32)]
        return _launch(self.device, self.texts[1], (gradient.to(_BF16), x.to(_BF16), w, seed), results, x.shape[0])


def _tensors(arrays: Sequence[Any]) -> list[torch.Tensor]:
    return [each if isinstance(each, torch.Tensor) else torch.from_numpy(each) for each in arrays]


class _MoEFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, scores: torch.Tensor, experts: torch.Tensor, program: Any, seed: torch.Tensor,
                *parameters: torch.Tensor) -> torch.Tensor:
        out, saved = program.forward(x.detach(), experts, scores.detach(), *(each.detach() for each in parameters))
        ctx.save_for_backward(seed, *parameters)
        ctx.saved, ctx.program, ctx.types = saved, program, (x.dtype, scores.dtype)
        return _tensors([out])[0].to(x.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        seed, *parameters = ctx.saved_tensors
        found = ctx.program.backward(gradients[0], ctx.saved, *(each.detach() for each in parameters),
                                     seed=_seed_for(ctx.program, seed))
        x, scores, *of_parameters = _tensors([each for each in found if each is not None])
        of_parameters = (found.to(each.dtype) for found, each in zip(of_parameters, parameters))
        return x.to(ctx.types[0]), scores.to(ctx.types[1]), None, None, None, *of_parameters


class _LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor, program: Any, seed: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, w, seed)
        ctx.program = program
        return _tensors([program.forward(x.detach(), w.detach())])[0].to(x.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        x, w, seed = ctx.saved_tensors
        of_x, of_w = _tensors(ctx.program.backward(gradients[0], x.detach(), w.detach(), seed=_seed_for(ctx.program, seed)))
        return of_x.to(x.dtype), of_w.to(w.dtype), None, None


def _seed_for(program: Any, seed: torch.Tensor) -> Any:
    """As the programs take it, a number; on a GPU it stays there."""
    return seed if isinstance(program, (_DeviceMoE, _DeviceLinear)) else int(seed)


class _Layer(torch.nn.Module):
    """Functions by the place of the tensors and the type of the weights."""

    program: Any
    _make: Callable[..., Any]

    def _program_for(self, x: torch.Tensor, weights: torch.Tensor) -> Any:
        device = find_device(x)
        if device is None:
            return self.program
        made = self.__dict__.setdefault("_made", {})
        key = device.name, weights.dtype
        if key not in made:
            made[key] = type(self)._make(self.program, device, weights.dtype)
        return made[key]


class MoE(_Layer):
    """The experts of a layer on tensors of the CPU or of a GPU: parameters ``w13`` and ``w2``, and with ``bias`` ``b13`` and
    ``b2``, as :class:`MoEShape` says.

    ``module(x, experts, scores)`` takes rows ``[.., hidden]``, and the experts of each token with their scores,
    ``[.., top_k]``, which a router makes; see :meth:`MoEProgram.forward`. Gradients are those of ``x``, ``scores`` and the
    parameters, which may be of float32 (the default) or bfloat16. On a GPU gate and up rows lie in runs, as
    ``swiglu("gpt-oss")`` has them, and experts that are none are left out without an error.
    """

    _make = _DeviceMoE

    def __init__(self, experts: int, hidden: int, width: int, top_k: int, *, activation: ActivationLike | None = None,
                 bias: bool = False, recipe: Recipe | None = None, dtype: torch.dtype = torch.float32, target: str = "cpu"):
        super().__init__()
        shape = MoEShape(experts, hidden, width, top_k, swiglu() if activation is None else activation, bias)
        self.program = MoEProgram(shape, recipe, target=target)
        self.w13, self.w2 = _parameter(*shape.shape13, dtype=dtype), _parameter(*shape.shape2, dtype=dtype)
        for name, size in shape.bias_shapes.items():
            self.register_parameter(name, torch.nn.Parameter(torch.zeros(size, dtype=dtype)))

    def forward(self, x: torch.Tensor, experts: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        _check_devices(x=x, experts=experts, scores=scores, w13=self.w13)
        slots = self.program.shape.top_k
        biases = (getattr(self, name) for name in self.program.shape.bias_shapes)
        out = _MoEFunction.apply(x.reshape(-1, x.shape[-1]), scores.reshape(-1, slots).float(), experts.reshape(-1, slots),
                                 self._program_for(x, self.w13), _draw(x), self.w13, self.w2, *biases)
        return out.reshape(x.shape)


class Linear(_Layer):
    """``x w^T + bias`` with the parameters of :class:`torch.nn.Linear`, on tensors of the CPU or of a GPU; the product is that
    of the recipe."""

    _make = _DeviceLinear

    def __init__(self, inputs: int, outputs: int, bias: bool = True, *, recipe: Recipe | None = None,
                 dtype: torch.dtype = torch.float32, target: str = "cpu"):
        super().__init__()
        self.program = LinearProgram(outputs, inputs, recipe, target=target)
        self.weight = _parameter(outputs, inputs, dtype=dtype)
        self.bias = torch.nn.Parameter(torch.zeros(outputs, dtype=dtype)) if bias else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        _check_devices(x=x, weight=self.weight)
        y = _LinearFunction.apply(x.reshape(-1, x.shape[-1]), self.weight, self._program_for(x, self.weight), _draw(x))
        y = y.reshape(*x.shape[:-1], y.shape[-1])
        return y if self.bias is None else y + self.bias.to(y.dtype)
