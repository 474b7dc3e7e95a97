# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Experts of Hugging Face Transformers (version 5) with packed weights, on the CPU and on GPUs.

``import nvfp4.transformers`` registers the experts implementation ``nvfp4``. After
``model.set_experts_implementation("nvfp4")`` a :class:`nvfp4.torch.MoELayer` computes the experts of a model; their
weights are quantised at the first call, which ``torch.compile`` must not be. :func:`quantize_experts` quantises them at
once and drops the parameters that they were. The import also registers a quantiser: with
``config=packed_config(name)``, ``from_pretrained`` loads checkpoints of ModelOpt, compressed-tensors and gpt-oss into
packed layers. Inference only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from transformers.integrations.moe import ExpertsInterface

from . import quantization
from ._torch_layer import MoELayer
from ._transformers_experts import PARAMETERS, activation_of_experts, check_experts, is_experts
from ._transformers_quantizer import PackedConfig, PackedExperts, packed_config
from .errors import ArgumentError
from .layer import MoEWeights
from .tensors import ScaledTensor

__all__ = ["PackedConfig", "PackedExperts", "experts_forward", "pack_experts", "packed_config", "quantize_experts"]

# The submodule of experts that holds the packed weights.
_LAYER = "nvfp4_layer"
_FORMATS = {torch.bfloat16: "bf16", torch.float16: "f16"}


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
    check_experts(experts)
    weight: Any = experts.gate_up_proj
    if activation_format is None and weight.dtype not in _FORMATS:
        raise ArgumentError(f"expected experts of bfloat16 or float16, or activation_format=, such as nvfp4, but got "
                            f"{weight.dtype}")
    w13, m13 = _quantize(experts, "gate_up_proj", format)
    w2, m2 = _quantize(experts, "down_proj", format)
    biases = [getattr(experts, name, None) for name in PARAMETERS[2:]]
    weights = MoEWeights(w13, w2, None if m13 is None else np.stack([m13, m13], 1), m2,
                         bias13=_array(biases[0]), bias2=_array(biases[1]), activation=activation_of_experts(experts))
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
    found = [each for each in model.modules() if is_experts(each)]
    if not found:
        raise ArgumentError(f"expected a model with experts of Transformers, but got {type(model).__name__} without")
    if any(hasattr(each, "to_local") for experts in found for each in experts.parameters()):
        raise ArgumentError("expected a model on one rank, but its experts are split, and Transformers adds the results of "
                            "ranks where parameters are; use set_experts_implementation('nvfp4')")
    for experts in found:
        layer = pack_experts(experts, format=format, activation_format=activation_format)
        experts.__dict__.pop(_LAYER, None)
        experts.add_module(_LAYER, layer)
        for name in PARAMETERS:
            if name in experts._parameters:
                experts._parameters[name] = None
    model.set_experts_implementation("nvfp4")
    return model


ExpertsInterface.register("nvfp4", experts_forward)
