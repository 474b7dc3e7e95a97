# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A whole Mixture-of-Experts layer in float64 numpy, from the bytes of its weights: the oracle of moe_layer.

Activations are quantised by the formulas of test/python; everything between is exact or float64.
"""

import ml_dtypes
import numpy as np

from format_formulas import trtllm, ue8m0_up
from nvfp4_formats import FORMATS, unpack

PLAIN = {"bf16": ml_dtypes.bfloat16, "f16": np.float16}
UNIT = 2.0**-24  # a rounding to float32


def values_of(tensor):
    """Codes times scales of a tensor of the package with linear scales, in float64."""
    fmt = FORMATS[tensor.format]
    codes = unpack(fmt, tensor.values, tensor.shape[-1])
    scales = fmt.scales[tensor.scales.view(np.uint8)]
    return fmt.values[codes] * np.repeat(scales, fmt.block, -1)[..., :tensor.shape[-1]]


def quantised(x, fmt, encode):
    """x after a round trip through a block format, with the encode scale still in it; or rounded to a type of PLAIN."""
    if fmt in PLAIN:
        return x.astype(np.float32).astype(PLAIN[fmt]).astype(float)
    info = FORMATS[fmt]
    blocks = x.astype(np.float32).reshape(-1, info.block)
    codes, bytes_ = (trtllm if fmt == "nvfp4" else ue8m0_up)(blocks, fmt, np.float32(encode))
    return (info.values[codes] * info.scales[bytes_][:, None]).reshape(x.shape)


def top_k(scores, k):
    return np.argsort(-scores, axis=1, kind="stable")[:, :k]


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def spread(z, error, activation, fmt):
    """How far apart plain roundings of activation(z) may be, for a z in float32 that is off by up to `error`."""
    y = activation(z[None])[0]
    gate = np.arange(len(z)) < len(z) // 2
    moved = [activation((z + np.where(gate, a, b) * error)[None])[0] for a in (-1, 1) for b in (-1, 1)]
    slack = np.abs(np.array(moved) - y).max(0) + 16 * UNIT * np.abs(y)  # exp is within 4 units, twice UNIT each
    return quantised(y + slack, fmt, 1) - quantised(y - slack, fmt, 1)


def layer(x, logits, w13, w2, k, activation, multiplier13, multiplier2, encode13, encode2, bias13, bias2, fmt,
          error=None):
    """The result in float64. `activation` maps z [rows, 2I] to y [rows, I], gates first where there is an `error`;
    `encode2` is a number or one an expert. To `error`, an array like the result, is added by how much a layer with sums
    in float32 and a float32 result may be off, for a plain `fmt`: n roundings of sums of n products, and the numbers
    between the two products that such an error takes over a rounding boundary."""
    chosen = top_k(logits, k)
    weights = softmax(np.take_along_axis(logits.astype(float), chosen, 1))
    dense13, dense2 = values_of(w13), values_of(w2)
    xq = quantised(x, fmt, encode13)
    out = np.zeros((len(x), w2.shape[1]))
    half = w13.shape[1] // 2
    for t in range(len(x)):
        for s in range(k):
            e = chosen[t, s]
            z = dense13[e] @ xq[t]
            z[:half] *= multiplier13[e, 0] / encode13
            z[half:] *= multiplier13[e, 1] / encode13
            y = activation((z + bias13[e])[None])[0]
            scale = np.broadcast_to(encode2, (len(dense13),))[e]
            h = quantised(y[None], fmt, scale)[0]
            out[t] += weights[t, s] * (dense2[e] @ h * multiplier2[e] / scale + bias2[e])
            if error is not None:
                sums13 = np.abs(dense13[e]) @ np.abs(xq[t]) * np.repeat(multiplier13[e], half) + np.abs(bias13[e])
                flips = spread(z + bias13[e], (len(xq[t]) + 2) * UNIT * sums13, activation, fmt)
                roundings = len(h) + 2 + (2 * k + 30)  # of the sums, alpha and bias; of the weights and their sum
                sums2 = np.abs(dense2[e]) @ np.abs(h) * multiplier2[e] + np.abs(bias2[e])
                error[t] += weights[t, s] * (np.abs(dense2[e]) @ flips * multiplier2[e] + roundings * UNIT * sums2)
    return out
