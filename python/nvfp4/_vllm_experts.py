# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Configuration and experts method of the plugin for vLLM (:mod:`nvfp4.vllm`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from vllm.model_executor.layers.fused_moe.activation import MoEActivation
from vllm.model_executor.layers.fused_moe.fused_moe_method_base import FusedMoEMethodBase
from vllm.model_executor.layers.fused_moe import RoutedExperts
from vllm.model_executor.layers.quantization.compressed_tensors.compressed_tensors import CompressedTensorsConfig
from vllm.model_executor.layers.quantization.compressed_tensors.compressed_tensors_moe import (
    compressed_tensors_moe_w4a4_nvfp4 as compressed)
from vllm.model_executor.layers.quantization.modelopt import ModelOptNvFp4Config, ModelOptNvFp4FusedMoE
from vllm.platforms import current_platform

from . import _dlpack
from ._torch_layer import MoELayer
from .errors import ArgumentError
from .layer import MoEWeights
from .options import Activation, Gate
from .tensors import ScaledTensor
from .vllm import METHOD, claims

__all__ = ["CompressedTensorsPackedConfig", "CompressedTensorsPackedExperts", "ModelOptPackedExperts", "PackedConfig"]

_PLAIN = {torch.bfloat16: "bf16", torch.float16: "f16"}
_OTHERS = "quantization='modelopt_fp4' or 'compressed-tensors'"
_PACKED_FORMAT = "nvfp4-pack-quantized"


def _is_compressed(config: Any) -> bool:
    return config is not None and config.get("quant_method") == "compressed-tensors"


def _formats(config: dict[str, Any]) -> set[Any]:
    """Formats of the groups of a configuration of compressed-tensors."""
    groups = (config.get("config_groups") or {}).values()
    return {config.get("format"), *(group.get("format") for group in groups if isinstance(group, dict))}


class PackedConfig(ModelOptNvFp4Config):
    """ModelOpt's configuration, with experts of this package; of a configuration of compressed-tensors it makes a
    :class:`CompressedTensorsPackedConfig`."""

    def get_name(self) -> Any:
        return METHOD

    @classmethod
    def override_quantization_method(cls, hf_quant_cfg: Any, user_quant: Any, hf_config: Any = None) -> Any:
        """METHOD for checkpoints that the plugin takes, or None."""
        algorithm = cls._extract_modelopt_quant_algo(hf_quant_cfg)
        if _is_compressed(hf_quant_cfg) and _PACKED_FORMAT in _formats(hf_quant_cfg):
            algorithm = "NVFP4"
        is_hopper = current_platform.is_cuda() and current_platform.is_device_capability(90)
        return METHOD if claims(algorithm, user_quant, hf_config, is_hopper) else None

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        if _is_compressed(config):
            return CompressedTensorsPackedConfig.from_config(config)
        return super().from_config(config)


class _Packed(FusedMoEMethodBase):
    """Experts whose parameters vLLM loads by its rules for their producer, for which the name of the class counts, and
    which a :class:`nvfp4.torch.MoELayer` computes. ArgumentError for layers that it does not compute."""

    # Endings of parameters: codes, scales, global scales, and those of inputs, which W4A16 does not use.
    _parameters: tuple[str, ...]

    def _take(self, moe_config: Any) -> None:
        """Instead of what the classes of vLLM do at this place: they choose a kernel."""
        FusedMoEMethodBase.__init__(self, moe_config)
        self.use_a16, self.use_global_sf = True, False
        if moe_config.has_bias or moe_config.is_lora_enabled:
            raise ArgumentError(f"expected experts without bias and LoRA for {METHOD}; use {_OTHERS}")
        if moe_config.in_dtype not in _PLAIN:
            raise ArgumentError(f"expected activations of bfloat16 or float16 for {METHOD}, but got {moe_config.in_dtype}")
        self._activation = _activation_of(moe_config)

    @property
    def supports_eplb(self) -> bool:
        return False

    def get_fused_moe_quant_config(self, layer: Any) -> None:
        """None: no kernel of vLLM runs."""
        return None

    def _multipliers(self, parameter: torch.Tensor) -> np.ndarray:
        return parameter.detach().float().cpu().numpy().copy()

    def process_weights_after_loading(self, layer: Any) -> None:
        """Makes the packed layer, with both global scales of gate and up, and drops the parameters."""
        if layer.apply_router_weight_on_input:
            raise ArgumentError(f"expected weights of the router on results for {METHOD}, but got them on inputs; use "
                                f"{_OTHERS}")
        parts = [[getattr(layer, f"{side}_{end}") for end in self._parameters[:3]] for side in ("w13", "w2")]
        w13, w2 = (ScaledTensor(_bytes(codes), _bytes(scales), "nvfp4") for codes, scales, _ in parts)
        weights = MoEWeights(w13, w2, *(self._multipliers(scale) for _, _, scale in parts), activation=self._activation)
        for name in (f"{side}_{end}" for side in ("w13", "w2") for end in self._parameters):
            delattr(layer, name)
        layer.nvfp4_layer = MoELayer(weights, activation_format=_PLAIN[self.moe.in_dtype], device=parts[0][0].device)

    def apply(self, layer: Any, x: torch.Tensor, topk_weights: torch.Tensor, topk_ids: torch.Tensor, shared_experts: Any,
              shared_experts_input: Any) -> torch.Tensor:
        """``x`` ``[T, H]`` by the experts ``topk_ids`` ``[T, k]`` of all ranks; those of other ranks are none. Shared
        experts are computed by vLLM, beside."""
        if layer.expert_map is not None:
            topk_ids = layer.expert_map[topk_ids.long()]
        return layer.nvfp4_layer(x, topk_ids=topk_ids, topk_weights=topk_weights)


class ModelOptPackedExperts(_Packed, ModelOptNvFp4FusedMoE):
    """Experts of ModelOpt."""

    _parameters = ("weight", "weight_scale", "weight_scale_2", "input_scale")

    def __init__(self, quant_config: PackedConfig, moe_config: Any):
        self._take(moe_config)
        self.quant_config, self.per_token_activation = quant_config, False
        if quant_config.moe_activation_override is not None:
            raise ArgumentError(f"expected no moe.activation for {METHOD}, whose rows are not quantised, but got "
                                f"{quant_config.moe_activation_override}; use {_OTHERS}")


class CompressedTensorsPackedExperts(_Packed, compressed.CompressedTensorsW4A4Nvfp4MoEMethod):
    """Experts of compressed-tensors, whose global scales are reciprocals."""

    _parameters = ("weight_packed", "weight_scale", "weight_global_scale", "input_global_scale")

    def __init__(self, moe_config: Any):
        self._take(moe_config)
        self.group_size = 16

    def _multipliers(self, parameter: torch.Tensor) -> np.ndarray:
        return np.float32(1) / super()._multipliers(parameter)


class CompressedTensorsPackedConfig(CompressedTensorsConfig):
    """The configuration of compressed-tensors, with experts in NVFP4 of this package."""

    def get_name(self) -> Any:
        return METHOD

    def get_quant_method(self, layer: torch.nn.Module, prefix: str) -> Any:
        """As that of compressed-tensors, but for experts in NVFP4."""
        if isinstance(layer, RoutedExperts):
            self._add_fused_moe_to_target_scheme_map()
            names = layer.ckpt_gate_proj_name, layer.ckpt_up_proj_name, layer.ckpt_down_proj_name
            schemes = [self.get_scheme_dict(layer, f"{prefix}.0.{name}") for name in names]
            if all(scheme and self._is_nvfp4_format(scheme.get("weights")) for scheme in schemes):
                return CompressedTensorsPackedExperts(layer.moe_config)
        return super().get_quant_method(layer, prefix)


def _activation_of(config: Any) -> Activation:
    kind, limit = config.activation, config.swiglu_limit
    if kind == MoEActivation.SILU:
        return Activation("swiglu", Gate(0), limit=limit)
    if kind == MoEActivation.SWIGLUOAI_UNINTERLEAVE:
        return Activation("swiglu", Gate(0), config.swiglu_alpha, config.swiglu_beta, limit)
    if kind == MoEActivation.GELU_TANH:
        return Activation("geglu_tanh", Gate(0))
    raise ArgumentError(f"expected activation silu, swigluoai_uninterleave or gelu_tanh for {METHOD}, but got "
                        f"{kind.value}; use {_OTHERS}")


def _bytes(parameter: torch.Tensor) -> np.ndarray:
    # A copy on the CPU, too: the parameter goes.
    return _dlpack.asarray(parameter.detach().view(torch.uint8).cpu()).copy()


def _numbers(parameter: torch.Tensor) -> np.ndarray:
    return parameter.detach().float().cpu().numpy().copy()


PackedConfig.FusedMoEMethodCls = ModelOptPackedExperts
