# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Experts of Hugging Face Transformers (version 5) with packed weights, on the CPU and on GPUs.

``import nvfp4.transformers`` registers the experts implementation ``nvfp4``. After
``model.set_experts_implementation("nvfp4")`` a :class:`nvfp4.torch.MoELayer` computes the experts of a model; their
weights are quantised at the first call, which ``torch.compile`` must not be. :func:`quantize_experts` quantises them at
once and drops the parameters that they were. Inference only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from transformers.integrations.moe import ExpertsInterface

from . import quantization
from ._torch_layer import MoELayer
from .errors import ArgumentError
from .layer import MoEWeights
from .options import Activation, Gate
from .tensors import ScaledTensor

__all__ = ["experts_forward", "pack_experts", "quantize_experts"]

# The submodule of experts that holds the packed weights, and what it stands for.
_LAYER = "nvfp4_layer"
_PARAMETERS = ("gate_up_proj", "down_proj", "gate_up_proj_bias", "down_proj_bias")
_FORMATS = {torch.bfloat16: "bf16", torch.float16: "f16"}


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


def _activation_of(experts: torch.nn.Module) -> Activation:
    """The activation that experts compute, found by trying; ArgumentError where it is none of this package."""
    z = torch.linspace(-12, 12, 4 * 64, dtype=torch.float64).reshape(64, 4).T.reshape(4, 64)
    with torch.no_grad():
        wanted = experts._apply_gate(z)  # type: ignore[operator]
    for activation in _candidates(experts):
        if torch.allclose(_compute(activation, z), wanted, rtol=1e-6, atol=1e-9):
            return activation
    raise ArgumentError(f"expected experts with swiglu, limited or not, or geglu in its tanh form, but got "
                        f"{type(experts).__name__} with another activation; use another experts implementation")


def _check(experts: torch.nn.Module) -> None:
    name = type(experts).__name__
    for attribute in _PARAMETERS[:2]:
        weight = getattr(experts, attribute, None)
        if not isinstance(weight, torch.Tensor) or weight.ndim != 3:
            raise ArgumentError(f"expected experts with {attribute} of three dimensions, but got {name} without; use "
                                "another experts implementation")
    if not getattr(experts, "has_gate", True):
        raise ArgumentError(f"expected experts of gate and up rows, but got {name} with has_gate False")
    if getattr(experts, "has_post_expert_norm", False):
        raise ArgumentError(f"expected experts without a norm of their own, but got {name} with has_post_expert_norm")


def _quantize(experts: torch.nn.Module, name: str, format: str) -> tuple[ScaledTensor, np.ndarray | None]:
    """A stack ``[E, N, K]`` and, for NVFP4, its multipliers ``[E]``."""
    stack = getattr(experts, name).detach().cpu()
    if getattr(experts, "is_transposed", False):
        stack = stack.transpose(1, 2).contiguous()
    if format != "nvfp4":
        return quantization.quantize(stack, format), None
    scale = quantization.encode_scale(stack, by_expert=True)
    return quantization.quantize(stack, format, global_scale=scale), 1 / scale


def pack_experts(experts: torch.nn.Module, *, format: str = "nvfp4", activation_format: str | None = None) -> MoELayer:
    """The layer of an experts module of Transformers, with weights quantised to ``format`` (one of nvfp4.FORMATS), on
    the device of its parameters.

    ``activation_format`` is that of :func:`nvfp4.moe_layer`; None is the type of the parameters, bfloat16 or float16
    (W4A16). ArgumentError for experts with other parameters, activations or types.
    """
    _check(experts)
    weight: Any = experts.gate_up_proj
    if activation_format is None and weight.dtype not in _FORMATS:
        raise ArgumentError(f"expected experts of bfloat16 or float16, or activation_format=, such as nvfp4, but got "
                            f"{weight.dtype}")
    w13, m13 = _quantize(experts, "gate_up_proj", format)
    w2, m2 = _quantize(experts, "down_proj", format)
    biases = [getattr(experts, name, None) for name in _PARAMETERS[2:]]
    weights = MoEWeights(w13, w2, None if m13 is None else np.stack([m13, m13], 1), m2,
                         bias13=_array(biases[0]), bias2=_array(biases[1]), activation=_activation_of(experts))
    return MoELayer(weights, activation_format=activation_format or _FORMATS[weight.dtype], device=weight.device)


def _array(bias: torch.Tensor | None) -> np.ndarray | None:
    return None if bias is None else bias.detach().float().cpu().numpy()


def experts_forward(experts: torch.nn.Module, hidden_states: torch.Tensor, top_k_index: torch.Tensor,
                    top_k_weights: torch.Tensor) -> torch.Tensor:
    """The experts implementation ``nvfp4``: ``hidden_states`` ``[T, H]`` to ``[T, H]`` of its type, by the experts
    ``top_k_index`` ``[T, k]``, of which the number of experts is none, with ``top_k_weights`` ``[T, k]``."""
    layer = getattr(experts, _LAYER, None)
    if layer is None:
        layer = pack_experts(experts)
        # Not a submodule: the parameters are still what is saved.
        experts.__dict__[_LAYER] = layer
    return layer(hidden_states, topk_ids=top_k_index, topk_weights=top_k_weights)


def quantize_experts(model: Any, *, format: str = "nvfp4", activation_format: str | None = None) -> Any:
    """Quantises the experts of a model in place, drops their parameters, and chooses the implementation ``nvfp4``; the
    model, for inference. Options are those of :func:`pack_experts`. ArgumentError where there are no experts."""
    found = [each for each in model.modules()
             if isinstance(getattr(each, "gate_up_proj", None), torch.nn.Parameter) and hasattr(each, "_apply_gate")]
    if not found:
        raise ArgumentError(f"expected a model with experts of Transformers, but got {type(model).__name__} without")
    for experts in found:
        layer = pack_experts(experts, format=format, activation_format=activation_format)
        experts.__dict__.pop(_LAYER, None)
        experts.add_module(_LAYER, layer)
        for name in _PARAMETERS:
            if name in experts._parameters:
                experts._parameters[name] = None
    model.set_experts_implementation("nvfp4")
    return model


ExpertsInterface.register("nvfp4", experts_forward)
