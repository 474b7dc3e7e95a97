# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers as users write them in JAX. Run as a script, it writes what JAX exports of each beside itself, in MLIR's generic
form."""

import pathlib

import jax
import jax.numpy as jnp
import numpy as np

from layer_inputs import E2M1, EXPERTS, HIDDEN, INTER, TOKENS, TOP, arguments


def from_bitcast(codes):
    """[.., K/2] bytes as [.., K] numbers, by JAX's type of four bits."""
    return jax.lax.bitcast_convert_type(codes, jnp.float4_e2m1fn).reshape(*codes.shape[:-1], -1).astype(jnp.bfloat16)


def from_table(codes):
    """The same by a table of 16 numbers, indexed as NumPy is."""
    table = jnp.array(E2M1, jnp.bfloat16)
    return jnp.stack([table[codes & 15], table[codes >> 4]], -1).reshape(*codes.shape[:-1], -1)


def from_take(codes):
    """The same, codes stacked first."""
    nibbles = jnp.stack([codes & 15, codes >> 4], -1).reshape(*codes.shape[:-1], -1)
    return jnp.take(jnp.array(E2M1, jnp.float32), nibbles, axis=0)


def by_block(values, scales):
    """A scale for the neighbours along the last dimension that share it."""
    blocks = values.reshape(*scales.shape, -1).astype(jnp.float32) * scales[..., None]
    return blocks.reshape(values.shape)


def nvfp4(codes, scales, decode):
    return by_block(decode(codes), scales.astype(jnp.float32))


def mxfp4(codes, scales, decode):
    return by_block(decode(codes), jnp.exp2(scales.astype(jnp.float32) - 127))


def choose(logits):
    """Weights and numbers of the best experts, of a softmax of all, normalised."""
    probs, ids = jax.lax.top_k(jax.nn.softmax(logits, -1), TOP)
    return probs / probs.sum(-1, keepdims=True), ids


def sorted_layer(x, logits, w13, w2):
    """Rows sorted by expert, ragged_dot, SwiGLU, and the weighted sum."""
    probs, ids = choose(logits)
    order = jnp.argsort(ids.reshape(-1))
    sizes = jnp.bincount(ids.reshape(-1), length=EXPERTS).astype(jnp.int32)
    token = order // TOP
    h = jax.lax.ragged_dot(x[token].astype(jnp.float32), w13.transpose(0, 2, 1), sizes)
    gate, up = jnp.split(h, 2, -1)
    h = (jax.nn.silu(gate) * up).astype(jnp.bfloat16)
    y = jax.lax.ragged_dot(h.astype(jnp.float32), w2.transpose(0, 2, 1), sizes)
    y *= probs.reshape(-1)[order][:, None]
    return jnp.zeros((TOKENS, HIDDEN), jnp.float32).at[token].add(y)


def mixtral(x, logits, w13, s13, w2, s2):
    """JAX's type of four bits."""
    return sorted_layer(x, logits, nvfp4(w13, s13, from_bitcast), nvfp4(w2, s2, from_bitcast))


def qwen3(x, logits, w13, s13, g13, w2, s2, g2):
    """Tables and second-level scales."""
    return sorted_layer(x, logits, nvfp4(w13, s13, from_table) * g13[:, None, None],
                        nvfp4(w2, s2, from_table) * g2[:, None, None])


def all_experts(x, logits, w13, s13, g13, w2, s2, g2):
    """All experts for all tokens, chosen by one-hot vectors afterwards."""
    probs, ids = choose(logits)
    w13 = nvfp4(w13, s13, from_table) * g13[:, None, None]
    w2 = nvfp4(w2, s2, from_table) * g2[:, None, None]
    h = jnp.einsum("tk,enk->etn", x.astype(jnp.float32), w13)
    h = (jax.nn.silu(h[..., :INTER]) * h[..., INTER:]).astype(jnp.bfloat16)
    y = jnp.einsum("etk,enk->etn", h.astype(jnp.float32), w2)
    chosen = jax.nn.one_hot(ids, EXPERTS, dtype=jnp.float32) * probs[..., None]
    return jnp.einsum("tse,etn->tn", chosen, y)


def gpt_oss(x, logits, w13, s13, b13, w2, s2, b2):
    """Weights looked up for each token; bias, interleaved gate, clamps; softmax of the best logits."""
    best, ids = jax.lax.top_k(logits, TOP)
    probs = jax.nn.softmax(best, -1)
    w13, w2 = mxfp4(w13, s13, from_take), mxfp4(w2, s2, from_take)
    h = jnp.einsum("tk,tsnk->tsn", x.astype(jnp.float32), w13[ids]) + b13[ids]
    gate, up = h[..., ::2], h[..., 1::2]
    gate, up = jnp.minimum(gate, 7), jnp.clip(up, -7, 7)
    h = (gate * jax.nn.sigmoid(1.702 * gate) * (up + 1)).astype(jnp.bfloat16)
    y = jnp.einsum("tsk,tsnk->tsn", h.astype(jnp.float32), w2[ids]) + b2[ids]
    return jnp.einsum("tsn,ts->tn", y, probs)


def ragged(x, w, s, sizes):
    """One ragged_dot."""
    return jax.lax.ragged_dot(x, nvfp4(w, s, from_bitcast).astype(jnp.bfloat16).transpose(0, 2, 1), sizes,
                              preferred_element_type=jnp.float32)


def linear(x, w, s):
    """A layer without experts, with a result in bf16."""
    return x @ nvfp4(w, s, from_take).astype(jnp.bfloat16).T


LAYERS = {"jax_mixtral": mixtral, "cuda_mixtral": mixtral, "jax_qwen3": qwen3, "jax_all_experts": all_experts,
          "jax_gpt_oss": gpt_oss, "jax_ragged": ragged, "jax_linear": linear}


def export(name):
    """MLIR's generic form, which tools read that do not know the dialects. ragged_dot is one operation for CUDA, which
    jax.export makes a composite, and several for the CPU."""
    shapes = [jax.ShapeDtypeStruct(array.shape, array.dtype) for array in arguments(name, np.random.default_rng(0))]
    platform = "cuda" if name in ("jax_ragged", "cuda_mixtral") else "cpu"
    function = jax.jit(LAYERS[name])
    if name == "cuda_mixtral":
        function = jax.jit(jax.export.export(function, platforms=[platform])(*shapes).call)
    lowered = function.trace(*shapes).lower(lowering_platforms=(platform,))
    return lowered.compiler_ir().operation.get_asm(print_generic_op_form=True)


if __name__ == "__main__":
    for name in LAYERS:
        path = pathlib.Path(__file__).parent / f"{name}.mlir"
        path.write_text(f"// Written by jax_layers.py with JAX {jax.__version__}.\n{export(name)}")
