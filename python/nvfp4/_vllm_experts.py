# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Configuration and experts method of the plugin for vLLM (:mod:`nvfp4.vllm`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from vllm.model_executor.layers.fused_moe.activation import MoEActivation
from vllm.model_executor.layers.fused_moe.fused_moe_method_base import FusedMoEMethodBase
from vllm.model_executor.layers.quantization.modelopt import ModelOptNvFp4Config, ModelOptNvFp4FusedMoE
from vllm.platforms import current_platform

from . import _dlpack
from ._torch_layer import MoELayer
from .errors import ArgumentError
from .layer import MoEWeights
from .options import Activation, Gate
from .tensors import ScaledTensor
from .vllm import METHOD, claims

__all__ = ["ModelOptPackedExperts", "PackedConfig"]

_PLAIN = {torch.bfloat16: "bf16", torch.float16: "f16"}
_PARAMETERS = ("weight", "weight_scale", "weight_scale_2", "input_scale")


class PackedConfig(ModelOptNvFp4Config):
    """ModelOpt's configuration, with experts of this package."""

    def get_name(self) -> Any:
        return METHOD

    @classmethod
    def override_quantization_method(cls, hf_quant_cfg: Any, user_quant: Any, hf_config: Any = None) -> Any:
        """METHOD for checkpoints that the plugin takes, or None."""
        algorithm = cls._extract_modelopt_quant_algo(hf_quant_cfg)
        is_hopper = current_platform.is_cuda() and current_platform.is_device_capability(90)
        return METHOD if claims(algorithm, user_quant, hf_config, is_hopper) else None


class ModelOptPackedExperts(ModelOptNvFp4FusedMoE):
    """Experts whose parameters vLLM loads by its rules for ModelOpt, for which the name of the class counts, and which a
    :class:`nvfp4.torch.MoELayer` computes. ArgumentError for layers that it does not compute."""

    def __init__(self, quant_config: PackedConfig, moe_config: Any):
        # Not that of the class above, which chooses a kernel of vLLM.
        FusedMoEMethodBase.__init__(self, moe_config)
        self.quant_config = quant_config
        self.use_a16, self.use_global_sf, self.per_token_activation = True, False, False
        if quant_config.moe_activation_override is not None:
            raise ArgumentError(f"expected no moe.activation for {METHOD}, whose rows are not quantised, but got "
                                f"{quant_config.moe_activation_override}; use quantization='modelopt_fp4'")
        if moe_config.has_bias or moe_config.is_lora_enabled:
            raise ArgumentError(f"expected experts without bias and LoRA for {METHOD}; use quantization='modelopt_fp4'")
        if moe_config.in_dtype not in _PLAIN:
            raise ArgumentError(f"expected activations of bfloat16 or float16 for {METHOD}, but got {moe_config.in_dtype}")
        self._activation = _activation_of(moe_config)

    @property
    def supports_eplb(self) -> bool:
        return False

    def get_fused_moe_quant_config(self, layer: Any) -> None:
        """None: no kernel of vLLM runs."""
        return None

    def process_weights_after_loading(self, layer: Any) -> None:
        """Makes the packed layer, with both global scales of gate and up, and drops the parameters."""
        if layer.apply_router_weight_on_input:
            raise ArgumentError(f"expected weights of the router on results for {METHOD}, but got them on inputs; use "
                                "quantization='modelopt_fp4'")
        device = layer.w13_weight.device
        w13, w2 = (ScaledTensor(_bytes(getattr(layer, f"{name}_weight")), _bytes(getattr(layer, f"{name}_weight_scale")),
                                "nvfp4") for name in ("w13", "w2"))
        first, second = (_numbers(getattr(layer, f"{name}_weight_scale_2")) for name in ("w13", "w2"))
        weights = MoEWeights(w13, w2, first, second, activation=self._activation)
        for name in (f"{side}_{part}" for side in ("w13", "w2") for part in _PARAMETERS):
            delattr(layer, name)
        layer.nvfp4_layer = MoELayer(weights, activation_format=_PLAIN[self.moe.in_dtype], device=device)

    def apply(self, layer: Any, x: torch.Tensor, topk_weights: torch.Tensor, topk_ids: torch.Tensor, shared_experts: Any,
              shared_experts_input: Any) -> torch.Tensor:
        """``x`` ``[T, H]`` by the experts ``topk_ids`` ``[T, k]`` of all ranks; those of other ranks are none. Shared
        experts are computed by vLLM, beside."""
        if layer.expert_map is not None:
            topk_ids = layer.expert_map[topk_ids.long()]
        return layer.nvfp4_layer(x, topk_ids=topk_ids, topk_weights=topk_weights)


def _activation_of(config: Any) -> Activation:
    kind, limit = config.activation, config.swiglu_limit
    if kind == MoEActivation.SILU:
        return Activation("swiglu", Gate(0), limit=limit)
    if kind == MoEActivation.SWIGLUOAI_UNINTERLEAVE:
        return Activation("swiglu", Gate(0), config.swiglu_alpha, config.swiglu_beta, limit)
    if kind == MoEActivation.GELU_TANH:
        return Activation("geglu_tanh", Gate(0))
    raise ArgumentError(f"expected activation silu, swigluoai_uninterleave or gelu_tanh for {METHOD}, but got "
                        f"{kind.value}; use quantization='modelopt_fp4'")


def _bytes(parameter: torch.Tensor) -> np.ndarray:
    # A copy on the CPU, too: the parameter goes.
    return _dlpack.asarray(parameter.detach().view(torch.uint8).cpu()).copy()


def _numbers(parameter: torch.Tensor) -> np.ndarray:
    return parameter.detach().float().cpu().numpy().copy()


PackedConfig.FusedMoEMethodCls = ModelOptPackedExperts
