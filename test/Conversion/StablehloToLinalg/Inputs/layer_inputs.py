# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments of the exported layers, and what the layers compute, in f64, with a bound on the error of any correct
program."""

import ml_dtypes
import numpy as np

TOKENS, HIDDEN, INTER, EXPERTS, TOP = 8, 64, 32, 4, 2
E2M1 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6])
BF16, E4M3 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn


def weights(rng, kind, *shape):
    """Codes and scales of matrices [.., N, K]; scales are powers of two."""
    *rows, depth = shape
    codes = rng.integers(0, 256, (*rows, depth // 2), np.uint8)
    block, make = {"nvfp4": (16, lambda s: (2.0 ** rng.integers(-3, 1, s)).astype(E4M3)),
                   "mxfp4": (32, lambda s: rng.integers(124, 128, s).astype(np.uint8))}[kind]
    return codes, make((*rows, depth // block))


def decode(codes, scales):
    """The numbers of weights."""
    values = E2M1[np.stack([codes & 15, codes >> 4], -1)].reshape(*codes.shape[:-1], -1)
    factors = 2.0 ** (scales.astype(np.float64) - 127) if scales.dtype == np.uint8 else scales.astype(np.float64)
    return values * np.repeat(factors, values.shape[-1] // factors.shape[-1], -1)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def make_scores(rng):
    """[TOKENS, EXPERTS] weights of two experts for each token, and those of all others zero."""
    logits = rng.standard_normal((TOKENS, EXPERTS))
    best = np.sort(logits, -1)[:, -TOP:-TOP + 1]
    return np.where(logits >= best, softmax(logits), 0).astype(np.float32)


def arguments(name, rng):
    """Arguments in the order of the exported function. Rows are small whole numbers."""
    x = rng.integers(-4, 5, (TOKENS, HIDDEN)).astype(BF16)
    logits = rng.standard_normal((TOKENS, EXPERTS)).astype(np.float32)
    framework, layer = name.split("_", 1)
    up, down = (EXPERTS, 2 * INTER, HIDDEN), (EXPERTS, HIDDEN, INTER)
    if layer == "linear":
        return x, *weights(rng, "nvfp4", INTER, HIDDEN)
    if layer == "ragged":
        return x, *weights(rng, "nvfp4", EXPERTS, INTER, HIDDEN), np.array([3, 0, 4, 1], np.int32)
    if framework == "torch":
        routing = ((make_scores(rng),) if layer == "gpt_oss" else
                   (np.argsort(-logits, -1)[:, :TOP].astype(np.int64), softmax(logits)[:, :TOP].astype(np.float32)))
    else:
        routing = (logits,)
    if layer == "gpt_oss":
        bias13, bias2 = (rng.standard_normal((EXPERTS, n)).astype(np.float32) for n in (2 * INTER, HIDDEN))
        return x, *routing, *weights(rng, "mxfp4", *up), bias13, *weights(rng, "mxfp4", *down), bias2
    if layer == "mixtral":
        return x, *routing, *weights(rng, "nvfp4", *up), *weights(rng, "nvfp4", *down)
    g13, g2 = (rng.uniform(0.5, 2, EXPERTS).astype(np.float32) for _ in range(2))
    return x, *routing, *weights(rng, "nvfp4", *up), g13, *weights(rng, "nvfp4", *down), g2


def product(x, error, w, bias):
    """Rows times one matrix of weights, and the error of f32 sums in any order of rows with errors."""
    terms = np.abs(x) @ np.abs(w).T
    y = x @ w.T + bias
    return y, error @ np.abs(w).T + (w.shape[1] + 3) * 2.0**-24 * (terms + np.abs(bias))


def activate(z, error, is_gpt_oss):
    """Gate and up, halves or alternating, as bf16 rounds what is made of them, and its error."""
    if is_gpt_oss:
        gate, up, gate_error, up_error = z[:, ::2], z[:, 1::2], error[:, ::2], error[:, 1::2]
        gate, up, slope = np.minimum(gate, 7), np.clip(up, -7, 7) + 1, 1.702
    else:
        gate, up = np.split(z, 2, -1)
        gate_error, up_error = np.split(error, 2, -1)
        slope = 1
    active = gate / (1 + np.exp(-slope * gate))
    h = active * up
    # The slope of x / (1 + exp(-s x)) is below 1.1 for every s; 2^-8 rounds to bf16, 2^-18 covers the arithmetic.
    return h, 1.1 * gate_error * np.abs(up) + np.abs(active) * up_error + (2.0**-8 + 2.0**-18) * np.abs(h)


def reference(name, given):
    """The result in f64 and the largest error of each element; no error where every sum is exact in f32."""
    framework, layer = name.split("_", 1)
    x = given[0].astype(np.float64)
    if layer == "linear":
        return (x @ decode(*given[1:]).T).astype(BF16), 0
    if layer == "ragged":
        w, ends = decode(*given[1:3]), np.cumsum(given[3])
        return np.stack([x[row] @ w[np.searchsorted(ends, row, side="right")].T for row in range(TOKENS)]), 0
    if framework == "torch" and layer == "gpt_oss":
        probs = given[1].astype(np.float64)
    elif framework == "torch":
        probs = np.zeros((TOKENS, EXPERTS))
        np.put_along_axis(probs, given[1], given[2].astype(np.float64), -1)
    else:
        logits = given[1].astype(np.float64)
        probs = softmax(np.where(logits >= np.sort(logits, -1)[:, -TOP:-TOP + 1], logits, -np.inf))
    rest = given[3 if framework == "torch" and layer != "gpt_oss" else 2:]
    size = len(rest) // 2
    matrices, biases = [], []
    for part in (rest[:size], rest[size:]):
        w = decode(*part[:2])
        extra = part[2].astype(np.float64) if size == 3 else None
        matrices.append(w * extra[:, None, None] if layer in ("qwen3", "all_experts") else w)
        biases.append(extra if layer == "gpt_oss" else np.zeros(w.shape[:2]))
    y, error = np.zeros((TOKENS, HIDDEN)), np.zeros((TOKENS, HIDDEN))
    for expert in range(EXPERTS):
        z, z_error = product(x, np.zeros_like(x), matrices[0][expert], biases[0][expert])
        h, h_error = activate(z, z_error, layer == "gpt_oss")
        part, part_error = product(h, h_error, matrices[1][expert], biases[1][expert])
        y += probs[:, expert, None] * part
        error += probs[:, expert, None] * (part_error + 2.0**-18 * np.abs(part))
    return y, error
