# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The constant arguments of a layer, which stay from call to call, and the parts of its text that depend on them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from . import _dlpack
from ._calls import DIALECT, FLOATS, element_of
from ._layer_text import PLAIN, LayerText
from ._scalars import check_count, float32s, scalar
from .errors import ArgumentError, check_one_of
from .layer_parts import ROUTING_METHODS, routing_attributes
from .options import QUANTIZERS, QuantizerLike, activation_of, quantizer_of, word_of
from .tensors import FORMATS, ScaledTensor

if TYPE_CHECKING:
    from .layer import MoEWeights

__all__ = ["LayerConstants", "LayerSignature", "activation_format_of"]


def activation_format_of(weights: MoEWeights, chosen: str | None) -> str:
    """The format or type of activations beside weights: the chosen one, or that of :func:`moe_layer`."""
    act = chosen or ("mxfp8_e4m3" if weights.w13.format == "mxfp4" else weights.w13.format)
    if act not in PLAIN:
        check_one_of("activation_format", act, (*FORMATS, *PLAIN))
    return act


@dataclasses.dataclass
class LayerSignature:
    """The ``fields`` of a :class:`LayerText` that do not depend on the tokens, the format or type ``act`` of
    activations, and the options of ``routing`` as the caller gave them."""

    fields: dict[str, Any]
    act: str
    routing: dict[str, Any]

    def text(self) -> str:
        """In JSON; arrays of the routing are only said to be there."""
        routing = {name: value if isinstance(value, (str, int, float, type(None))) else "an array"
                   for name, value in self.routing.items()}
        return json.dumps({"fields": self.fields, "act": self.act, "routing": routing})

    @property
    def experts(self) -> int:
        """The number of experts."""
        return self.fields["experts"]

    @property
    def hidden(self) -> int:
        """The length of a token."""
        return self.fields["hidden"]

    @property
    def rows(self) -> str:
        """The type that activations have which are not quantised, to which x of float32 is rounded; empty for others."""
        return _dlpack.ELEMENTS[self.act].name if self.act in PLAIN else ""

    def check_x(self, shape: Sequence[int], name: str) -> None:
        """ArgumentError unless x may have this shape and, for activations that are not quantised, the type of this
        name."""
        if len(shape) != 2 or shape[1] != self.hidden:
            raise ArgumentError(f"expected x of shape [T, {self.hidden}], but got {tuple(shape)}")
        wanted = self.rows or name
        if name != wanted:
            raise ArgumentError(f"expected x of {wanted} for activations of {self.act}, but got {name}")

    def routed(self, tokens: int, shape: Sequence[int], top_k: Any, **elements: Any) -> LayerText:
        """The text for logits of this shape; ``elements`` are those of x (``element``) and of ``logits``."""
        if top_k is None:
            raise ArgumentError("expected top_k=, the number of experts of a token")
        top_k = check_count("top_k", top_k, self.experts, "the number of experts")
        if tuple(shape) != (tokens, self.experts):
            raise ArgumentError(f"expected logits of shape {(tokens, self.experts)}, but got {tuple(shape)}")
        return LayerText(top_k=top_k, ids="", scores="", **self.fields, **elements)

    def given(self, tokens: int, shape: Sequence[int], weights: Sequence[int] | None, top_k: Any,
              **elements: Any) -> LayerText:
        """The text for experts that the caller chose, of ids and weights of these shapes; ``elements`` are those of x
        (``element``), ``ids`` and ``scores``."""
        for name, value in self.routing.items():
            if value is not None:
                raise ArgumentError(f"expected no {name} with topk_ids, which say the experts of each token, but got "
                                    f"{value!r}")
        if len(shape) != 2 or shape[0] != tokens or shape[1] < 1:
            raise ArgumentError(f"expected topk_ids of shape [T, top_k] with T = {tokens}, but got {tuple(shape)}")
        if weights is None or tuple(weights) != tuple(shape):
            raise ArgumentError(f"expected topk_weights of the shape of topk_ids, {tuple(shape)}, but got "
                                f"{weights if weights is None else tuple(weights)}")
        if top_k is not None and top_k != shape[1]:
            raise ArgumentError(f"expected top_k {shape[1]} as topk_ids has, or none, but got {top_k!r}")
        fields = {**self.fields, "routing": "", "routing_attributes": ""}
        return LayerText(top_k=int(shape[1]), logits="", **fields, **elements)


def static_type(tensor: ScaledTensor) -> str:
    """The type of weights with every extent."""
    return tensor.type(tensor.shape)


class LayerConstants:
    """The constant arguments of a layer, ``named`` in the order of its function, and its ``signature``."""

    def __init__(self, weights: MoEWeights, *, routing: str | None = None, routing_bias: Any = None,
                 n_group: int | None = None, topk_group: int | None = None, routed_scaling: float | None = None,
                 activation_format: str | None = None, quantizer: QuantizerLike | None = None,
                 dtype: Any = ml_dtypes.bfloat16, determinism: str | None = None):
        act = activation_format_of(weights, activation_format)
        is_plain = act in PLAIN
        if is_plain and quantizer is not None:
            raise ArgumentError(f"expected no quantizer for activations of {act}, but got {quantizer}")
        check_one_of("routing", routing or "topk_softmax", ROUTING_METHODS)
        attributes = routing_attributes(n_group, topk_group, routed_scaling)
        quant = quantizer_of(quantizer, act)
        # Scales of activations that are not quantised have no place.
        scale = None if is_plain else QUANTIZERS[quant.kind]
        m13, m2 = self._inputs(weights, scale)
        encode13, encode2 = ((None if m is None else np.asarray(m if scale == "multiplier" else 1 / m, np.float32))
                             for m in (m13, m2))
        named = dict(
            routing_bias=None if routing_bias is None else float32s(_dlpack.asarray(routing_bias), "routing_bias"),
            w13=weights.w13, alpha13=self._product(weights.w13_multiplier, m13, (weights.experts, 2)),
            bias13=self._bias(weights.bias13), encode13=encode13, w2=weights.w2,
            alpha2=self._product(weights.w2_multiplier, m2, (weights.experts,)), bias2=self._bias(weights.bias2),
            encode2=encode2)
        self.named: dict[str, Any] = {name: value for name, value in named.items() if value is not None}

        def bias_element(name: str) -> str:
            return element_of(self.named[name], "bias", FLOATS) if name in self.named else ""

        fields = dict(
            experts=weights.experts, hidden=weights.hidden, width=weights.width,
            out=element_of(np.empty(0, _dlpack.number_type(dtype)), "out", FLOATS), w13=static_type(weights.w13), w2=static_type(weights.w2),
            act=act if is_plain else f"!{DIALECT}.scaled<?x{weights.hidden}, {act}>",
            act2=f"tensor<?x{weights.width}x{act}>" if is_plain else f"!{DIALECT}.scaled<?x{weights.width}, {act}>",
            quantizer=str(quant), activation=activation_of(weights.activation)[0], routing=routing or "topk_softmax",
            routing_attributes=attributes, routing_bias="routing_bias" in self.named, encode13=encode13 is not None,
            encode2="" if encode2 is None else f"tensor<{weights.experts}xf32>" if encode2.ndim else "f32",
            alpha13="alpha13" in self.named, alpha2="alpha2" in self.named, bias13=bias_element("bias13"),
            bias2=bias_element("bias2"), attributes="" if determinism is None else
            f" {{determinism = #{DIALECT}<determinism {word_of('determinism', determinism)}>}}")
        self.signature = LayerSignature(fields, act, dict(
            routing=routing, routing_bias=routing_bias, n_group=n_group, topk_group=topk_group,
            routed_scaling=routed_scaling))

    @property
    def arguments(self) -> list[Any]:
        """The constants in the order of the function."""
        return list(self.named.values())

    @staticmethod
    def _bias(bias: Any) -> np.ndarray | None:
        return None if bias is None else _dlpack.asarray(bias)

    @staticmethod
    def _inputs(weights: MoEWeights, scale: str | None) -> tuple[Any, Any]:
        """The multipliers of both activations, None where the quantiser has one level of scales."""
        if scale is None:
            return None, None
        first, second = weights.input_multiplier, weights.w2_input_multiplier
        return (None if first is None else scalar(first, np.dtype(np.float32), "input_multiplier")[()],
                None if second is None else float32s(_dlpack.asarray(second), "w2_input_multiplier"))

    @staticmethod
    def _product(weight: Any, activation: Any, shape: tuple[int, ...]) -> np.ndarray | None:
        if weight is None and activation is None:
            return None
        factor = np.ones(shape, np.float32) if weight is None else float32s(_dlpack.asarray(weight), "multipliers")
        if factor.shape != shape:
            raise ArgumentError(f"expected multipliers of shape {shape}, but got {factor.shape}")
        if activation is not None:
            if np.ndim(activation) != 0:  # one an expert
                activation = np.reshape(activation, (-1,) + (1,) * (len(shape) - 1))
            factor = factor * activation
        return np.ascontiguousarray(factor, np.float32)
