# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random weights of a model, drawn as codes and scales: there never is a copy in 16 bits. And how many bytes a run needs."""

import math
import os

import ml_dtypes
import numpy as np

BF16 = ml_dtypes.bfloat16
# The largest number that activations are quantised for: of normed rows, and behind the activation.
AMAX = {"w13": 32.0, "w2": 64.0}
BLOCK = {"nvfp4": 16, "mxfp4": 32}
# Root of the mean square of all E2M1 numbers, and about that of the scales that are drawn.
SPREAD = 2.93


def matrices(model):
    """(rows, columns) of an expert's weights."""
    return {"w13": (2 * model.width, model.hidden), "w2": (model.hidden, model.width)}


def bytes_of_weights(model, packed=False):
    """Bytes of all experts, as checkpoints have them or packed for sm_90a."""
    total = 0
    for rows, columns in matrices(model).values():
        if packed:
            total += -(-rows // 64) * 2 * -(-columns // 128) * 2304
        else:
            total += rows * columns // 2 + rows * columns // BLOCK[model.weights]
    return model.experts * total


def bytes_of_rows(model, tokens):
    """Bytes that the stages write."""
    rows = tokens * model.top_k
    each = 2 * model.hidden + 8 + (2 if model.rows == "bf16" else 9 / 16 + 2) * model.hidden
    each += (2 if model.rows == "bf16" else 9 / 16) * model.width + 2 * model.hidden
    return math.ceil(rows * each + tokens * (model.hidden * 16 + model.shared * 10 + model.experts * 4))


def bytes_needed(model, tokens, packed=False):
    """(bytes of the host, bytes of a GPU). The host holds weights as drawn and, on the way to sm_90a, packed; results
    twice, and what the check of an expert expands to float64. A GPU holds one form of the weights."""
    shared = 6 * model.shared * model.hidden + 2 * model.experts * model.hidden
    drawn, kernels = bytes_of_weights(model), bytes_of_weights(model, packed)
    rows = bytes_of_rows(model, tokens)
    check = 4 * 8 * max(n * k for n, k in matrices(model).values()) + 16 * tokens * model.hidden
    return drawn + (kernels if packed else 0) + shared + 2 * rows + check, kernels + shared + 2 * rows


def check_memory(name, model, tokens, packed, available):
    """SystemExit where a run needs more than is `available` of the host's memory and, unless None, of a GPU's."""
    for what, needed, left, at in zip(("memory", "memory of the GPU"), bytes_needed(model, tokens, packed), available, (0, 1)):
        if left is None or needed <= left:
            continue
        step = model.groups
        fits = [experts for experts in range(step, model.experts, step) if _is_slice(model, experts)
                and bytes_needed(model.slice(experts), tokens, packed)[at] <= left]
        advice = f"take a slice, --experts {max(fits)} at most" if fits else "take fewer --tokens and --experts"
        raise SystemExit(f"moe_layer: {name} with {model.experts} experts and {tokens} tokens needs {needed:,} bytes of {what}, but "
                         f"{left:,} are free; {advice}")


def _is_slice(model, experts):
    try:
        return bool(model.slice(experts))
    except ValueError:
        return False


def host_memory():
    """Bytes that a process may take."""
    for line in open("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _codes(rng, *shape):
    """Random bytes, in words, which takes a tenth of the time."""
    count = math.prod(shape)
    return rng.integers(0, 1 << 64, -(-count // 8), np.uint64).view(np.uint8)[:count].reshape(shape)


def draw_weights(model, seed=0):
    """The arrays of a layer by their names. Rows of a product have about the size of what it multiplies."""
    rng = np.random.default_rng(seed)
    m = model
    layer = {"norm": rng.uniform(0.5, 1.5, m.hidden).astype(np.float32),
             "router": (rng.standard_normal((m.experts, m.hidden)) / math.sqrt(m.hidden)).astype(BF16)}
    if m.bias:
        layer["router.bias"] = (rng.standard_normal(m.experts) / 4).astype(np.float32)
    if m.routing == "deepseek_v3":
        layer["correction"] = (rng.standard_normal(m.experts) / 16).astype(np.float32)
    for name, (rows, columns) in matrices(m).items():
        layer[f"{name}.values"] = _codes(rng, m.experts, rows, columns // 2)
        blocks = (m.experts, rows, columns // BLOCK[m.weights])
        if m.weights == "nvfp4":
            # 0.5 to 1.875 in E4M3.
            layer[f"{name}.scales"] = (_codes(rng, *blocks) % 16 + 0x30).view(ml_dtypes.float8_e4m3fn)
            shape = (m.experts, 2) if name == "w13" else (m.experts,)
            # Global scales of gate and up differ, as in checkpoints.
            factor = 10 ** rng.uniform(-0.25, 0.25, shape) / (SPREAD * math.sqrt(columns))
            encode = np.float32(2688 / AMAX[name])
            if m.rows != "bf16":
                layer[f"{name}.encode"] = np.array([encode])
                factor = factor / encode
            layer[f"{name}.alpha"] = factor.astype(np.float32)
        else:
            # Powers of two in UE8M0, each about that root or half of it; four times that where the activation clamps.
            middle = 127 - round(math.log2(SPREAD * math.sqrt(columns))) + 2 * (name == "w13" and math.isfinite(m.limit))
            layer[f"{name}.scales"] = (_codes(rng, *blocks) % 2 + (middle - 1)).astype(np.uint8)
        if m.bias:
            layer[f"{name}.bias"] = (rng.standard_normal((m.experts, rows)) / 4).astype(BF16)
    if m.shared:
        for name, rows, columns in (("gate", m.shared, m.hidden), ("up", m.shared, m.hidden), ("down", m.hidden, m.shared)):
            layer[f"shared.{name}"] = (rng.standard_normal((rows, columns), np.float32) / math.sqrt(columns)).astype(BF16)
    return layer


def draw_tokens(model, tokens, seed=1):
    return np.random.default_rng(seed).standard_normal((tokens, model.hidden), np.float32).astype(BF16)


def pack(nvfp4, model, layer):
    """`layer` with weights as kernels of sm_90a read them; its other arrays are the same ones."""
    packed = dict(layer)
    for name, (rows, columns) in matrices(model).items():
        matrix = nvfp4.ScaledTensor(layer[f"{name}.values"], layer[f"{name}.scales"], model.weights)
        if name == "w13" and model.gate_run == 0:
            matrix = nvfp4.relayout(matrix, gate=("vllm", "cudnn"))
            if model.bias:
                packed["w13.bias"] = nvfp4.relayout(layer["w13.bias"], gate=("vllm", "cudnn"))
        matrix = nvfp4.relayout(matrix, layout="wgmma")
        packed[f"{name}.values"], packed[f"{name}.scales"] = matrix.values, matrix.scales
    return packed
