# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cases of the benchmark, for its scripts with torch and without.

A case is a product of `rows` rows, spread over `groups` matrices of weights of N x K.
Tokens choose `choices` of them each; the lists have rows of their own.
"""

import pathlib
import sys
import typing

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "moe_layer"))
from models.sizes import MODELS as LAYERS  # noqa: E402

TOKENS = (1, 16, 64, 256, 1024, 4096, 16384)
# The names of layers in results.
NAMES = {"gptoss20b": "gpt-oss-20b", "gptoss_120b": "gpt-oss-120b", "qwen3_30b": "qwen3-30b-a3b",
         "qwen3_235b": "qwen3-235b-a22b", "dsv3": "deepseek-v3"}
# Groups, choices, and N, K of the two products of a layer.
MODELS = {name: (LAYERS[model].experts, LAYERS[model].top_k, LAYERS[model].products) for name, model in
          (("gptoss", "gpt-oss-120b"), ("qwen3", "qwen3-235b-a22b"), ("dsv3", "deepseek-v3"))}
# Rows of each group, N and K.
LISTS = {"gm1": ((80, 176, 128, 72, 64, 248, 96, 160), 4096, 7168),
         "gm2": ((40, 76, 168, 72, 164, 148, 196, 160), 7168, 2048),
         "gm3": ((192, 320), 3072, 4096), "gm4": ((128, 384), 4096, 1536)}
# One matrix, as in layers that are not experts.
DENSE = {"dense_n4096": (4096, 7168), "dense_n7168": (7168, 2048)}
# Cases with a target, in this order, and the seeds of their routing.
HEADLINES = {"gm1": 0, "gm2": 0, "gm3": 0, "gm4": 0, "gptoss_gate_up_t16": 1, "gptoss_gate_up_t1024": 2,
             "qwen3_gate_up_t256": 3, "qwen3_down_t4096": 4, "dsv3_gate_up_t64": 5, "dsv3_down_t1024": 6,
             "qwen3_gate_up_t16384": 7}
# Formats of weights, with values that share a scale and bits of a value with its share.
FORMATS = {"nvfp4": (16, 4.5), "mxfp4": (32, 4.25), "mxfp8_e4m3": (32, 8.25)}

# Bytes of DRAM in a microsecond by the name of the GPU, of its data sheet.
DRAM = {"NVIDIA H200": 4.8e6}
# Peers (peers.py) that multiply rows in bf16, as the layers do, and so can stand in one.
LAYER_PEERS = ("bf16 grouped", "triton_kernels", "marlin")


def get_layers(*names, experts=None):
    """(experts, choices of a token, hidden size, width) of layers by their names in results; `experts` is a slice of them."""
    return {name: LAYERS[NAMES[name]].slice(experts).sizes for name in names}


class Shape(typing.NamedTuple):
    groups: int
    choices: int
    rows: int
    n: int
    k: int


def list_shapes():
    """The Shape of every case by its name, those with a target first."""
    shapes = {name: Shape(len(rows), 1, sum(rows), n, k) for name, (rows, n, k) in LISTS.items()}
    for model, (groups, choices, parts) in MODELS.items():
        for part, (n, k) in parts.items():
            for tokens in TOKENS:
                shapes[f"{model}_{part}_t{tokens}"] = Shape(groups, choices, tokens * choices, n, k)
    for name, (n, k) in DENSE.items():
        for tokens in TOKENS[:-1]:
            shapes[f"{name}_t{tokens}"] = Shape(1, 1, tokens, n, k)
    return {name: shapes[name] for name in (*HEADLINES, *(name for name in shapes if name not in HEADLINES))}


def get_seed(name):
    """The seed of the routing of a case: as many tokens as another case of the model go the same ways."""
    shape = list_shapes()[name]
    return HEADLINES.get(name) or shape.rows // shape.choices + shape.groups + shape.choices
