# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The layer in float64, stage by stage, from exactly dequantised operands."""

import numpy as np

from nvfp4_numpy import dequantize, quantize_activation

TOP_K = 4


def router(tokens, weight):
    return tokens.astype(np.float64) @ weight.astype(np.float64).T


def route(logits):
    """Top-k of the logits, ties to the lower expert, then softmax."""
    order = np.argsort(-logits, axis=1, kind="stable")[:, :TOP_K]
    chosen = np.take_along_axis(logits, order, 1).astype(np.float64)
    weights = np.exp(chosen - chosen.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True), order.astype(np.int32)


def sort(experts, count):
    """(ends, token of each row, row of each slot); stable by expert."""
    order = np.argsort(experts.reshape(-1), kind="stable")
    row_of_slot = np.empty(order.size, np.int32)
    row_of_slot[order] = np.arange(order.size)
    ends = np.cumsum(np.bincount(experts.reshape(-1), minlength=count))
    return ends.astype(np.int32), (order // TOP_K).astype(np.int32), row_of_slot.reshape(experts.shape)


def quantize(tokens, token_of_row, encode):
    return quantize_activation(tokens.astype(np.float32)[token_of_row], encode)


def groups(ends):
    return zip(np.concatenate([[0], ends[:-1]]), ends)


def product(values, scales, ends, w_values, w_scales):
    """Rows of each expert times its weights."""
    x = dequantize(values, scales)
    out = np.empty((x.shape[0], w_values.shape[1]))
    for expert, (begin, end) in enumerate(groups(ends)):
        out[begin:end] = x[begin:end] @ dequantize(w_values[expert], w_scales[expert]).T
    return out


def gate_up(values, scales, ends, w_values, w_scales, alpha):
    """SwiGLU of the gate/up product, before re-quantisation."""
    z = product(values, scales, ends, w_values, w_scales)
    width = z.shape[1] // 2
    y = np.empty((z.shape[0], width))
    for expert, (begin, end) in enumerate(groups(ends)):
        g = z[begin:end, :width] * np.float64(alpha[expert, 0])
        u = z[begin:end, width:] * np.float64(alpha[expert, 1])
        y[begin:end] = g / (1 + np.exp(-g)) * u
    return y


def down(values, scales, ends, w_values, w_scales, alpha):
    y = product(values, scales, ends, w_values, w_scales)
    for expert, (begin, end) in enumerate(groups(ends)):
        y[begin:end] *= np.float64(alpha[expert])
    return y


def combine(y, row_of_slot, weights):
    return np.einsum("tsn,ts->tn", y.astype(np.float64)[row_of_slot], weights.astype(np.float64))
