# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules of torch whose forward and backward passes are compiled functions."""

from __future__ import annotations

from typing import Any

import torch

from ..errors import ArgumentError
from ..options import ActivationLike, swiglu
from ._moe import MoEShape
from ._programs import LinearProgram, MoEProgram
from ._recipe import Recipe

__all__ = ["Linear", "MoE"]


def _check_place(**tensors: torch.Tensor) -> None:
    for name, value in tensors.items():
        if value.device.type != "cpu":
            raise ArgumentError(f"expected {name} on the CPU, where these modules train, but got it on {value.device}")


def _draw() -> int:
    """A seed of stochastic rounding from torch's generator."""
    return int(torch.randint(0, 2**62, ()))


def _parameter(*shape: int, dtype: torch.dtype) -> torch.nn.Parameter:
    """Normal numbers whose variance is that of a row's reciprocal length."""
    return torch.nn.Parameter((torch.randn(shape) / shape[-1]**0.5).to(dtype))


class _MoEFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, scores: torch.Tensor, w13: torch.Tensor, w2: torch.Tensor, experts: torch.Tensor,
                program: MoEProgram, seed: int) -> torch.Tensor:
        out, saved = program.forward(x.detach(), experts, scores.detach(), w13.detach(), w2.detach())
        ctx.save_for_backward(w13, w2)
        ctx.saved, ctx.program, ctx.seed, ctx.types = saved, program, seed, (x.dtype, scores.dtype)
        return torch.from_numpy(out).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        w13, w2 = ctx.saved_tensors
        found = ctx.program.backward(gradients[0], ctx.saved, w13.detach(), w2.detach(), seed=ctx.seed)
        x, scores, of_w13, of_w2 = map(torch.from_numpy, found)
        return x.to(ctx.types[0]), scores.to(ctx.types[1]), of_w13.to(w13.dtype), of_w2.to(w2.dtype), None, None, None


class _LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor, program: LinearProgram, seed: int) -> torch.Tensor:
        ctx.save_for_backward(x, w)
        ctx.program, ctx.seed = program, seed
        return torch.from_numpy(program.forward(x.detach(), w.detach())).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        x, w = ctx.saved_tensors
        found = ctx.program.backward(gradients[0], x.detach(), w.detach(), seed=ctx.seed)
        return torch.from_numpy(found.x).to(x.dtype), torch.from_numpy(found.w).to(w.dtype), None, None


class MoE(torch.nn.Module):
    """The experts of a layer on tensors of the CPU: parameters ``w13`` and ``w2`` as :class:`MoEShape` says.

    ``module(x, experts, scores)`` takes rows ``[.., hidden]``, and the experts of each token with their scores,
    ``[.., top_k]``, which a router makes; see :meth:`MoEProgram.forward`. Gradients are those of ``x``, ``scores`` and the
    parameters, which may be of float32 (the default) or bfloat16.
    """

    def __init__(self, experts: int, hidden: int, width: int, top_k: int, *, activation: ActivationLike | None = None,
                 recipe: Recipe | None = None, dtype: torch.dtype = torch.float32, target: str = "cpu"):
        super().__init__()
        shape = MoEShape(experts, hidden, width, top_k, swiglu() if activation is None else activation)
        self.program = MoEProgram(shape, recipe, target=target)
        self.w13, self.w2 = _parameter(*shape.shape13, dtype=dtype), _parameter(*shape.shape2, dtype=dtype)

    def forward(self, x: torch.Tensor, experts: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        _check_place(x=x, experts=experts, scores=scores, w13=self.w13)
        slots = self.program.shape.top_k
        out = _MoEFunction.apply(x.reshape(-1, x.shape[-1]), scores.reshape(-1, slots).float(), self.w13, self.w2,
                                 experts.reshape(-1, slots), self.program, _draw())
        return out.reshape(x.shape)


class Linear(torch.nn.Module):
    """``x w^T + bias`` on tensors of the CPU, with the parameters of :class:`torch.nn.Linear`; the product is that of the recipe."""

    def __init__(self, inputs: int, outputs: int, bias: bool = True, *, recipe: Recipe | None = None,
                 dtype: torch.dtype = torch.float32, target: str = "cpu"):
        super().__init__()
        self.program = LinearProgram(outputs, inputs, recipe, target=target)
        self.weight = _parameter(outputs, inputs, dtype=dtype)
        self.bias = torch.nn.Parameter(torch.zeros(outputs, dtype=dtype)) if bias else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        _check_place(x=x, weight=self.weight)
        y = _LinearFunction.apply(x.reshape(-1, x.shape[-1]), self.weight, self.program, _draw())
        y = y.reshape(*x.shape[:-1], y.shape[-1])
        return y if self.bias is None else y + self.bias.to(y.dtype)
