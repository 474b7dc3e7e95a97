# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A plugin for vLLM 0.33: experts of NVFP4 checkpoints of ModelOpt and compressed-tensors on GPUs of compute capability
9.0, in place of Marlin.

The entry point ``nvfp4`` of the group ``vllm.general_plugins`` calls :func:`register` in each process of vLLM. The method
``nvfp4_packed`` then claims checkpoints of models with experts; ``quantization="modelopt_fp4"`` or
``"compressed-tensors"`` leaves them to vLLM, and so does ``VLLM_PLUGINS`` without ``nvfp4``. Rows are not quantised
(W4A16). Linear layers and the KV cache stay vLLM's.
"""

from __future__ import annotations

import warnings
from typing import Any

__all__ = ["METHOD", "VERSION", "register"]

#: The minor version of vLLM whose interfaces this module is written for.
VERSION = "0.33"
#: The name of the quantisation method.
METHOD = "nvfp4_packed"
_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts")


def register() -> None:
    """Registers the method, any number of times; with another minor version of vLLM it warns and registers nothing."""
    import vllm

    if vllm.__version__.split("+")[0].rpartition(".")[0] != VERSION:
        warnings.warn(f"expected vLLM {VERSION} for the plugin nvfp4, but got {vllm.__version__}; experts are left to vLLM",
                      stacklevel=2)
        return
    from vllm.model_executor.layers.quantization import register_quantization_config

    from ._vllm_experts import PackedConfig

    register_quantization_config(METHOD)(PackedConfig)


def claims(algorithm: str | None, user: str | None, config: Any, is_hopper: bool) -> bool:
    """Whether the method takes a checkpoint of an ``algorithm``, as ModelOpt calls it, for which the user asked for a
    method or none, of a model with this configuration of Transformers."""
    if algorithm not in ("NVFP4", "W4A16_NVFP4") or user not in (None, METHOD):
        return False
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    return user == METHOD or is_hopper and any(getattr(text, name, None) for name in _EXPERTS)
