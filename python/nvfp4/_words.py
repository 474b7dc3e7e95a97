# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Words of the dialect's enumerations, in the order of their numbers.

Written by scripts/generate-enums from GroupedScaledGemmEnums.td.
"""

# block-scaled number format
BLOCK_FORMAT = ("nvfp4", "mxfp4", "nvfp4_e8m0", "mxfp8_e4m3", "mxfp8_e5m2")
# memory layout of scales
SCALE_LAYOUT = ("linear", "blocked", "blocked_8x4", "wgmma", "wgmma_f16")
# where the scales of each group start
GROUP_START = ("whole", "compact", "upper_bound")
# form of grouping
GROUPING_KIND = ("dense", "batched", "ragged_rows", "masked", "ragged_k")
# meaning of group offsets
OFFSETS_KIND = ("ends", "starts")
# activation function
ACTIVATION_KIND = ("identity", "relu", "relu2", "silu", "swiglu", "geglu_tanh", "custom", "reglu", "gelu_tanh")
# which half of a GLU pair is first
GATE_ORDER = ("gate_first", "up_first")
# named quantiser
QUANTIZER_KIND = ("cutlass", "trtllm", "te", "modelopt", "mega16", "ue8m0_up", "ocp", "triton_nearest",
                  "four_over_six")
# fate of negative zero codes
NEGATIVE_ZERO = ("keep", "flush")
# rounding of values
ROUNDING = ("nearest", "stochastic")
# where the row probability is applied
PROB_POSITION = ("gemm", "bias", "pre_activation", "post_activation")
# accuracy of transcendentals
MATH_MODE = ("strict", "fast")
# fate of rows outside every group
TAIL_MODE = ("preserve", "zero")
# reproducibility contract
DETERMINISM = ("deterministic", "batch_invariant", "relaxed")
# tile scheduler
SCHEDULER = ("static_persistent", "dynamic_counter", "launch_control")
# router
ROUTING_METHOD = ("softmax_topk", "topk_softmax", "topk", "sigmoid_topk", "topk_sigmoid", "sigmoid_renorm", "llama4",
                  "deepseek_v3", "minimax2")
