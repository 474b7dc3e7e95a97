# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Experts modules of Transformers: which they are, and the activation that they compute."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from .errors import ArgumentError
from .options import Activation, Gate

__all__ = ["PARAMETERS", "activation_of_experts", "check_experts", "is_experts"]

PARAMETERS = ("gate_up_proj", "down_proj", "gate_up_proj_bias", "down_proj_bias")


def is_experts(module: torch.nn.Module) -> bool:
    """Whether a module is experts of Transformers with parameters."""
    return isinstance(getattr(module, "gate_up_proj", None), torch.nn.Parameter) and hasattr(module, "_apply_gate")


def _attribute(experts: torch.nn.Module, *names: str) -> float | None:
    """The first attribute of these names that is a number."""
    found = (getattr(experts, name, None) for name in names)
    return next((float(value) for value in found if isinstance(value, (int, float))), None)


def _candidates(experts: torch.nn.Module) -> Iterator[Activation]:
    """Activations that experts may have, by their attributes."""
    gate = Gate(0 if getattr(experts, "is_concatenated", True) else 1)
    limit = _attribute(experts, "limit", "swiglu_limit")
    yield Activation("swiglu", gate)
    yield Activation("swiglu", gate, limit=limit)
    yield Activation("swiglu", gate, _attribute(experts, "alpha", "swiglu_alpha"), 1.0, limit)
    yield Activation("geglu_tanh", gate)


def _compute(activation: Activation, z: torch.Tensor) -> torch.Tensor:
    """The activation in the arithmetic of ``z`` ``[T, 2I]``, as docs/Spec.md defines it."""
    interleaved = activation.gate is not None and activation.gate.granularity == 1
    gate, up = (z[..., 0::2], z[..., 1::2]) if interleaved else z.chunk(2, -1)
    if activation.kind == "geglu_tanh":
        return torch.nn.functional.gelu(gate, approximate="tanh") * up
    if activation.limit is not None:
        gate, up = gate.clamp(max=activation.limit), up.clamp(-activation.limit, activation.limit)
    factor = 1.0 if activation.alpha is None else activation.alpha
    return gate * torch.sigmoid(factor * gate) * (up + (activation.beta or 0.0))


def activation_of_experts(experts: torch.nn.Module) -> Activation:
    """The activation that experts compute, found by trying; ArgumentError where it is none of this package."""
    z = torch.linspace(-12, 12, 4 * 64, dtype=torch.float64).reshape(64, 4).T.reshape(4, 64)
    with torch.no_grad():
        wanted = experts._apply_gate(z)  # type: ignore[operator]
    for activation in _candidates(experts):
        if torch.allclose(_compute(activation, z), wanted, rtol=1e-6, atol=1e-9):
            return activation
    raise ArgumentError(f"expected experts with swiglu, limited or not, or geglu in its tanh form, but got "
                        f"{type(experts).__name__} with another activation; use another experts implementation")


def check_experts(experts: torch.nn.Module) -> None:
    """ArgumentError for experts that a layer of this package does not compute."""
    name = type(experts).__name__
    for attribute in PARAMETERS[:2]:
        weight = getattr(experts, attribute, None)
        if not isinstance(weight, torch.Tensor) or weight.ndim != 3:
            raise ArgumentError(f"expected experts with {attribute} of three dimensions, but got {name} without; use "
                                "another experts implementation")
    if not getattr(experts, "has_gate", True):
        raise ArgumentError(f"expected experts of gate and up rows, but got {name} with has_gate False")
    if getattr(experts, "has_post_expert_norm", False):
        raise ArgumentError(f"expected experts without a norm of their own, but got {name} with has_post_expert_norm")
