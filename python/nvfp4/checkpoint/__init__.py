# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints of Mixture-of-Experts and linear layers: read and written in the conventions of three producers.

=====================  ===============================================  =======================================
convention             tensors of an expert or layer                    global scale
=====================  ===============================================  =======================================
``modelopt``           ``weight``, ``weight_scale``, ``weight_scale_2``,  multiplier amax / 2688, gate and up apart
                       ``input_scale``
``compressed-tensors`` ``weight_packed``, ``weight_scale``,               encode scale 2688 / amax, gate and up apart
                       ``weight_global_scale``, ``input_global_scale``
either, in MXFP4       the same without a global scale of the weights;   none
                       ``weight_scale`` are bytes of E8M0, one for 32
``gpt-oss``            ``*_blocks``, ``*_scales``, ``*_bias`` (MXFP4)     none
=====================  ===============================================  =======================================

Gate and up projections are quantised apart, so their global scales differ; a product with one scale for both halves is
wrong by their ratio. :func:`load_moe` keeps both (``exact``), or makes one of them and reports what that cost.

Linear layers are read in the first three rows. A layer's tensors say what it is; a model's folder may say it too
(:attr:`Checkpoint.quantization`), and must then agree.
"""

from ._config import QuantizationConfig, Scheme
from ._experts import Reconciliation
from ._files import Checkpoint, write_safetensors
from ._linear import LinearWeights, load_linear, save_linear
from ._moe import CONVENTIONS, LoadedLayer, load_moe, save_moe

__all__ = ["Checkpoint", "write_safetensors", "QuantizationConfig", "Scheme", "Reconciliation", "LoadedLayer", "load_moe",
           "save_moe", "LinearWeights", "load_linear", "save_linear", "CONVENTIONS"]
