# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A Mixture-of-Experts layer as one compiled function."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, TypedDict

import ml_dtypes
import numpy as np

from . import _dlpack
from ._calls import FLOATS, element_of, program_of
from ._layer_constants import LayerConstants, LayerSignature
from ._layer_text import LayerText
from ._messages import Piece, explain_arguments
from .compiler import Program
from .errors import ArgumentError, CompileError, check_keywords
from .options import ActivationLike, QuantizerLike, swiglu
from .tensors import ScaledTensor

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["MoEWeights", "LayerOptions", "moe_layer", "moe_program"]

@dataclasses.dataclass
class MoEWeights:
    """The experts of a layer, as :func:`nvfp4.checkpoint.load_moe` reads them.

    ``w13`` ``[E, 2I, H]`` holds gate and up rows as ``gate`` of the activation says, ``w2`` ``[E, H, I]``.
    ``w13_multiplier`` ``[E, 2]`` (gate, up) and ``w2_multiplier`` ``[E]`` are the global scales of NVFP4 as multipliers,
    None for formats without one. ``input_multiplier`` (a number) and ``w2_input_multiplier`` (a number or ``[E]``) are
    those of the activations: their quantiser encodes with the reciprocal; None is 1, and quantisers of one level of scales,
    as activations that are not quantised, have no place for them. Biases are ``[E, 2I]`` and ``[E, H]``.
    ArgumentError where the matrices are no ScaledTensors, or of shapes that do not go together.
    """

    w13: ScaledTensor
    w2: ScaledTensor
    w13_multiplier: np.ndarray | None = None
    w2_multiplier: np.ndarray | None = None
    input_multiplier: float | None = None
    w2_input_multiplier: Any = None
    bias13: np.ndarray | None = None
    bias2: np.ndarray | None = None
    activation: ActivationLike = dataclasses.field(default_factory=swiglu)

    def __post_init__(self) -> None:
        for name, weight in (("w13", self.w13), ("w2", self.w2)):
            if not isinstance(weight, ScaledTensor):
                raise ArgumentError(f"expected {name} as ScaledTensor (see nvfp4.quantize), but got "
                                    f"{type(weight).__name__}")
        if self.w13.ndim != 3 or self.w2.ndim != 3:
            raise ArgumentError(f"expected stacks [E, N, K] of weights, but got {self.w13.shape} and {self.w2.shape}")
        (e, n, h), (e2, h2, i) = self.w13.shape, self.w2.shape
        if (e, h, n) != (e2, h2, 2 * i):
            raise ArgumentError(f"expected w13 [E, 2I, H] and w2 [E, H, I], but got {self.w13.shape} and {self.w2.shape}")

    @property
    def experts(self) -> int:
        return self.w13.shape[0]

    @property
    def hidden(self) -> int:
        return self.w13.shape[2]

    @property
    def width(self) -> int:
        return self.w2.shape[2]


class LayerOptions(TypedDict, total=False):
    """The options of :func:`moe_layer`, which explains them."""

    topk_ids: Any
    topk_weights: Any
    top_k: int | None
    routing: str | None
    routing_bias: Any
    n_group: int | None
    topk_group: int | None
    routed_scaling: float | None
    activation_format: str | None
    quantizer: QuantizerLike | None
    dtype: Any
    target: str
    device: str | None


def _check_weights(weights: Any) -> None:
    if not isinstance(weights, MoEWeights):
        raise ArgumentError(f"expected weights as MoEWeights(w13, w2, ...), but got {type(weights).__name__}")


def _check_x(x: np.ndarray, weights: MoEWeights) -> None:
    if x.ndim != 2 or x.shape[1] != weights.hidden:
        raise ArgumentError(f"expected x of shape [T, {weights.hidden}], but got {x.shape}")


def _choice_of(signature: LayerSignature, x: np.ndarray, logits: Any, topk_ids: Any, topk_weights: Any,
               top_k: int | None) -> tuple[LayerText, list[np.ndarray]]:
    """The text of a layer, and the arrays that say which experts each token has."""
    signature.check_x(x.shape, x.dtype.name)
    element = element_of(x, "x", FLOATS)
    if topk_ids is None:
        if topk_weights is not None or logits is None:
            raise ArgumentError("expected logits= [T, E], or topk_ids= [T, top_k] with topk_weights=")
        scores = _dlpack.asarray(logits)
        kind = element_of(scores, "logits", FLOATS)
        return signature.routed(len(x), scores.shape, top_k, element=element, logits=kind), [scores]
    if logits is not None:
        raise ArgumentError("expected either logits= [T, E] or topk_ids= [T, top_k], but got both")
    ids, scores = _dlpack.asarray(topk_ids), None if topk_weights is None else _dlpack.asarray(topk_weights)
    layer = signature.given(len(x), ids.shape, None if scores is None else scores.shape, top_k, element=element,
                            ids=element_of(ids, "topk_ids", ("i32", "i64")),
                            scores="" if scores is None else element_of(scores, "topk_weights", FLOATS))
    return layer, [ids, np.asarray(scores)]


def moe_program(x: Any, weights: MoEWeights, logits: Any = None, *, topk_ids: Any = None, topk_weights: Any = None,
                top_k: int | None = None, routing: str | None = None, routing_bias: Any = None,
                n_group: int | None = None, topk_group: int | None = None, routed_scaling: float | None = None,
                activation_format: str | None = None, quantizer: QuantizerLike | None = None,
                dtype: Any = ml_dtypes.bfloat16, target: str = "cpu",
                device: str | None = None) -> tuple[Program, list[Any]]:
    """The compiled layer of :func:`moe_layer` and the arguments that it is called with."""
    _check_weights(weights)
    constants = LayerConstants(weights, routing=routing, routing_bias=routing_bias, n_group=n_group,
                               topk_group=topk_group, routed_scaling=routed_scaling,
                               activation_format=activation_format, quantizer=quantizer, dtype=dtype)
    array = _dlpack.asarray(x)
    if constants.signature.rows and array.dtype == np.float32:
        array = _dlpack.as_rows(array, _dlpack.number_type(constants.signature.rows), "x")
    layer, choice = _choice_of(constants.signature, array, logits, topk_ids, topk_weights, top_k)
    text = layer.text()
    try:
        return program_of(text, target, device), [array, *choice, *constants.arguments]
    except CompileError as error:
        raise explain_arguments(error, "moe_layer", [Piece(text)], ()) from None


def moe_layer(x: Any, weights: MoEWeights, logits: Any = None, *, router: Any = None,
              **options: Unpack[LayerOptions]) -> Any:
    """Routes ``x`` ``[T, H]`` to some of the experts and adds up what they return, ``[T, H]`` of ``dtype``.

    One function on the CPU (or with its products on ``target``): route, stable sort by expert, permutation, quantised
    activations, gate and up product with activation and re-quantisation, down product in float32, weighted sum over the
    slots in their order. ``logits`` ``[T, E]`` are the router's scores (float32, float16, bfloat16), ``router``
    ``[E, H]`` is its matrix, multiplied here by numpy in float32, or the caller chose: ``topk_ids`` ``[T, top_k]``
    (int32 or int64; -1 and E are no expert) and ``topk_weights`` ``[T, top_k]`` (float32, float16, bfloat16), the
    factors of the sum.

    Options: ``top_k``, required without ``topk_ids``; ``routing``, one of ROUTING_METHODS (default topk_softmax), with
    ``routing_bias`` ``[E]``, ``n_group``, ``topk_group``, ``routed_scaling``;
    ``activation_format`` (default that of the weights, and mxfp8_e4m3 for mxfp4 weights; ``bf16`` or ``f16``, the type
    of ``x``, or to which ``x`` of float32 is rounded, for activations that are not quantised: W4A16, as gpt-oss runs);
    ``quantizer``; ``dtype``; ``target`` and ``device``. Compiled once for each shape of the weights; the number of tokens is free. The result is a
    tensor of torch if ``x`` is one, and else an array. ArgumentError for shapes, types and options that do not go
    together, DataError (sort_tokens_c6) for other ids than those.
    """
    check_keywords("moe_layer", options, LayerOptions.__annotations__)
    _check_weights(weights)
    array = _dlpack.asarray(x)
    if sum(value is not None for value in (logits, router, options.get("topk_ids"))) != 1:
        raise ArgumentError("expected either logits= [T, E], router= [E, H] or topk_ids= [T, top_k] with topk_weights=")
    if router is not None:
        matrix, shape = _dlpack.asarray(router), (weights.experts, weights.hidden)
        if matrix.shape != shape:
            raise ArgumentError(f"expected router of shape [E, H], here {shape}, but got {matrix.shape}")
        _check_x(array, weights)
        logits = array.astype(np.float32) @ matrix.astype(np.float32).T
    program, arguments = moe_program(array, weights, logits, **options)
    return _dlpack.like(program.run(*arguments), x)
