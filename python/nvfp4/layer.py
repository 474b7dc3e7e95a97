# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A Mixture-of-Experts layer as one compiled function."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, TypedDict

import ml_dtypes
import numpy as np

from . import _dlpack
from ._calls import DIALECT, FLOATS, element_of, program_of
from ._messages import Piece, explain_arguments
from ._scalars import check_count, float32s, scalar
from .compiler import Program
from .errors import ArgumentError, CompileError, check_keywords, check_one_of
from .layer_parts import ROUTING_METHODS, routing_attributes
from .options import QUANTIZERS, ActivationLike, QuantizerLike, activation_of, quantizer_of, swiglu
from .tensors import FORMATS, ScaledTensor

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
    """The options of :func:`moe_layer`, which explains them; ``top_k`` is required."""

    top_k: int
    routing: str
    routing_bias: Any
    n_group: int | None
    topk_group: int | None
    routed_scaling: float | None
    activation_format: str | None
    quantizer: QuantizerLike | None
    dtype: Any
    target: str
    device: str | None


#: Activations that are not quantised.
PLAIN = ("bf16", "f16")


@dataclasses.dataclass(frozen=True)
class _Layer:
    """The parameters of the text of a layer."""

    experts: int
    hidden: int
    width: int
    top_k: int
    element: str
    logits: str
    out: str
    w13: str
    w2: str
    act: str
    act2: str
    quantizer: str
    activation: str
    routing: str
    routing_attributes: str
    routing_bias: bool
    encode13: bool
    encode2: str
    alpha13: bool
    alpha2: bool
    bias13: str
    bias2: str

    @property
    def is_plain(self) -> bool:
        """Rows of bf16 or f16 are multiplied as they are."""
        return self.act in PLAIN

    def _types(self) -> str:
        scaled = "" if self.is_plain else f"!act = {self.act}\n!glu = {self.act2}\n"
        return f"{scaled}!w13 = {self.w13}\n!w2 = {self.w2}\n"

    def _gate_up(self, clauses: str, encode13: str, encode2: str) -> str:
        """From the rows %p to %h."""
        product = f"%h = {DIALECT}.matmul <ragged_rows, ends> groups(%s#0 : tensor<{self.experts}xi32>)\n      lhs"
        rest = f"rhs(%w13 : !w13){clauses}\n      activation = {self.activation}"
        rows = f"tensor<?x{self.hidden}x{self.element}>"
        if self.is_plain:
            return (f"%he = tensor.empty(%rows) : {self.act2}\n  {product}(%p : {rows}) {rest} outs(%he : {self.act2}) -> "
                    f"{self.act2}")
        return (f"%q = {DIALECT}.quantize {self.quantizer}(%p : {rows}){encode13} -> !act\n  "
                f"{product}(%q : !act) {rest} quantizer = {self.quantizer}{encode2} -> !glu")

    def text(self) -> str:
        e, h, i, k = self.experts, self.hidden, self.width, self.top_k
        arguments = [f"%x: tensor<?x{h}x{self.element}>", f"%logits: tensor<?x{e}x{self.logits}>"]
        clauses = {}

        def optional(name: str, type_: str) -> str:
            if type_:
                arguments.append(f"%{name}: {type_}")
            return f"%{name} : {type_}" if type_ else ""

        bias = optional("routing_bias", f"tensor<{e}xf32>" if self.routing_bias else "")
        arguments.append("%w13: !w13")
        clauses["alpha13"] = optional("alpha13", f"tensor<{e}x2xf32>" if self.alpha13 else "")
        clauses["bias13"] = optional("bias13", f"tensor<{e}x{2 * i}x{self.bias13}>" if self.bias13 else "")
        clauses["encode13"] = optional("encode13", "f32" if self.encode13 else "")
        arguments.append("%w2: !w2")
        clauses["alpha2"] = optional("alpha2", f"tensor<{e}xf32>" if self.alpha2 else "")
        clauses["bias2"] = optional("bias2", f"tensor<{e}x{h}x{self.bias2}>" if self.bias2 else "")
        clauses["encode2"] = optional("encode2", self.encode2)

        def clause(keyword: str, name: str) -> str:
            return f" {keyword}({clauses[name]})" if clauses[name] else ""

        routing_bias = f" bias({bias})" if bias else ""
        gate_up = self._gate_up(clause("alpha", "alpha13") + clause("bias", "bias13"), clause("global_scale", "encode13"),
                                clause("global_scale", "encode2"))
        return f"""{self._types()}func.func @layer({', '.join(arguments)}) -> tensor<?x{h}x{self.out}> {{
  %c0 = arith.constant 0 : index
  %ck = arith.constant {k} : index
  %tokens = tensor.dim %x, %c0 : tensor<?x{h}x{self.element}>
  %rows = arith.muli %tokens, %ck : index
  %we = tensor.empty(%tokens) : tensor<?x{k}xf32>
  %ee = tensor.empty(%tokens) : tensor<?x{k}xi32>
  %weights, %experts = {DIALECT}.route {self.routing}
      (%logits : tensor<?x{e}x{self.logits}>){routing_bias}
      outs(%we, %ee : tensor<?x{k}xf32>, tensor<?x{k}xi32>){self.routing_attributes}
      -> tensor<?x{k}xf32>, tensor<?x{k}xi32>
  %se = tensor.empty() : tensor<{e}xi32>
  %st = tensor.empty(%rows) : tensor<?xi32>
  %sr = tensor.empty(%tokens) : tensor<?x{k}xi32>
  %s:3 = {DIALECT}.sort_tokens(%experts : tensor<?x{k}xi32>)
      outs(%se, %st, %sr : tensor<{e}xi32>, tensor<?xi32>, tensor<?x{k}xi32>)
      -> tensor<{e}xi32>, tensor<?xi32>, tensor<?x{k}xi32>
  %pe = tensor.empty(%rows) : tensor<?x{h}x{self.element}>
  %p = {DIALECT}.permute(%x : tensor<?x{h}x{self.element}>) by(%s#1 : tensor<?xi32>)
      outs(%pe : tensor<?x{h}x{self.element}>) -> tensor<?x{h}x{self.element}>
  {gate_up}
  %ye = tensor.empty(%rows) : tensor<?x{h}xf32>
  %y = {DIALECT}.matmul <ragged_rows, ends> groups(%s#0 : tensor<{e}xi32>)
      lhs(%h : {self.act2 if self.is_plain else '!glu'}) rhs(%w2 : !w2){clause('alpha', 'alpha2')}{clause('bias', 'bias2')}
      outs(%ye : tensor<?x{h}xf32>) -> tensor<?x{h}xf32>
  %oe = tensor.empty(%tokens) : tensor<?x{h}x{self.out}>
  %o = {DIALECT}.combine(%y : tensor<?x{h}xf32>) by(%s#2 : tensor<?x{k}xi32>)
      weights(%weights : tensor<?x{k}xf32>)
      outs(%oe : tensor<?x{h}x{self.out}>) -> tensor<?x{h}x{self.out}>
  return %o : tensor<?x{h}x{self.out}>
}}
"""


def _static_type(tensor: ScaledTensor) -> str:
    return tensor.type("x".join(map(str, tensor.shape)))


def _check_weights(weights: Any) -> None:
    if not isinstance(weights, MoEWeights):
        raise ArgumentError(f"expected weights as MoEWeights(w13, w2, ...), but got {type(weights).__name__}")


def _check_x(x: np.ndarray, weights: MoEWeights) -> None:
    if x.ndim != 2 or x.shape[1] != weights.hidden:
        raise ArgumentError(f"expected x of shape [T, {weights.hidden}], but got {x.shape}")


class _LayerCall:
    """The text of a layer and the arguments behind x and the logits."""

    def __init__(self, weights: MoEWeights, x: np.ndarray, logits: np.ndarray, top_k: int, routing: str,
                 routing_bias: Any, n_group: int | None, topk_group: int | None, routed_scaling: float | None,
                 activation_format: str | None, quantizer: QuantizerLike | None, out: Any):
        _check_weights(weights)
        check_one_of("routing", routing, ROUTING_METHODS)
        top_k = check_count("top_k", top_k, weights.experts, "the number of experts")
        _check_x(x, weights)
        if logits.shape != (x.shape[0], weights.experts):
            raise ArgumentError(f"expected logits of shape {(x.shape[0], weights.experts)}, but got {logits.shape}")
        fmt = weights.w13.format
        act = activation_format or ("mxfp8_e4m3" if fmt == "mxfp4" else fmt)
        is_plain = act in PLAIN
        if is_plain and quantizer is not None:
            raise ArgumentError(f"expected no quantizer for activations of {act}, but got {quantizer}")
        if is_plain and x.dtype != _dlpack.ELEMENTS[act]:
            raise ArgumentError(f"expected x of {_dlpack.ELEMENTS[act]} for activations of {act}, but got {x.dtype}")
        if not is_plain and act not in FORMATS:
            raise ArgumentError(f"expected activation_format {', '.join((*FORMATS, *PLAIN))}, but got '{act}'")
        quant = quantizer_of(quantizer, act)
        # Scales of activations that are not quantised have no place.
        scale = None if is_plain else QUANTIZERS[quant.kind]
        self.arguments: list[Any] = [x, logits]
        if routing_bias is not None:
            self.arguments.append(float32s(_dlpack.asarray(routing_bias), "routing_bias"))
        m13, m2 = self._inputs(weights, scale)
        alpha13 = self._product(weights.w13_multiplier, m13, (weights.experts, 2))
        alpha2 = self._product(weights.w2_multiplier, m2, (weights.experts,))
        encode13 = None if m13 is None else np.float32(m13 if scale == "multiplier" else 1 / m13)
        encode2 = None if m2 is None else np.asarray(m2 if scale == "multiplier" else 1 / m2, np.float32)
        for part in ((weights.w13, alpha13, weights.bias13, encode13), (weights.w2, alpha2, weights.bias2, encode2)):
            self.arguments += [value for value in part if value is not None]

        def bias_element(bias: Any) -> str:
            return "" if bias is None else element_of(_dlpack.asarray(bias), "bias", FLOATS)

        self.layer = _Layer(
            weights.experts, weights.hidden, weights.width, top_k, element_of(x, "x", FLOATS),
            element_of(logits, "logits", FLOATS), element_of(np.empty(0, out), "out", FLOATS), _static_type(weights.w13),
            _static_type(weights.w2), act if is_plain else f"!{DIALECT}.scaled<?x{weights.hidden}, {act}>",
            f"tensor<?x{weights.width}x{act}>" if is_plain else f"!{DIALECT}.scaled<?x{weights.width}, {act}>",
            str(quant), activation_of(weights.activation)[0], routing,
            routing_attributes(n_group, topk_group, routed_scaling), routing_bias is not None, encode13 is not None,
            "" if encode2 is None else f"tensor<{weights.experts}xf32>" if encode2.ndim else "f32", alpha13 is not None,
            alpha2 is not None, bias_element(weights.bias13), bias_element(weights.bias2))

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


def moe_program(x: Any, weights: MoEWeights, logits: Any, *, top_k: int, routing: str = "topk_softmax",
                routing_bias: Any = None, n_group: int | None = None, topk_group: int | None = None,
                routed_scaling: float | None = None, activation_format: str | None = None,
                quantizer: QuantizerLike | None = None, dtype: Any = ml_dtypes.bfloat16, target: str = "cpu",
                device: str | None = None) -> tuple[Program, list[Any]]:
    """The compiled layer of :func:`moe_layer` and the arguments that it is called with."""
    call = _LayerCall(weights, _dlpack.asarray(x), _dlpack.asarray(logits), top_k, routing, routing_bias, n_group,
                      topk_group, routed_scaling, activation_format, quantizer, dtype)
    text = call.layer.text()
    try:
        return program_of(text, target, device), call.arguments
    except CompileError as error:
        raise explain_arguments(error, "moe_layer", [Piece(text)], ()) from None


def moe_layer(x: Any, weights: MoEWeights, logits: Any = None, *, router: Any = None,
              **options: Unpack[LayerOptions]) -> Any:
    """Routes ``x`` ``[T, H]`` to ``top_k`` of the experts and adds up what they return, ``[T, H]`` of ``dtype``.

    One function on the CPU (or with its products on ``target``): route, stable sort by expert, permutation, quantised
    activations, gate and up product with activation and re-quantisation, down product in float32, weighted sum over the
    slots in their order. ``logits`` ``[T, E]`` are the router's scores (float32, float16, bfloat16), or ``router``
    ``[E, H]`` is its matrix, multiplied here by numpy in float32. Options: ``top_k``; ``routing``, one of
    ROUTING_METHODS, with ``routing_bias`` ``[E]``, ``n_group``, ``topk_group``, ``routed_scaling``;
    ``activation_format`` (default that of the weights, and mxfp8_e4m3 for mxfp4 weights; ``bf16`` or ``f16``, the type of
    ``x``, for activations that are not quantised: W4A16, as gpt-oss runs); ``quantizer``; ``dtype``; ``target`` and
    ``device``. Compiled once for each shape of the weights; the number of tokens is free. The result is a
    tensor of torch if ``x`` is one, and else an array.
    """
    check_keywords("moe_layer", options, LayerOptions.__annotations__)
    _check_weights(weights)
    array = _dlpack.asarray(x)
    if (logits is None) == (router is None):
        raise ArgumentError("expected either logits= [T, E] or router= [E, H]")
    if logits is None:
        matrix, shape = _dlpack.asarray(router), (weights.experts, weights.hidden)
        if matrix.shape != shape:
            raise ArgumentError(f"expected router of shape [E, H], here {shape}, but got {matrix.shape}")
        _check_x(array, weights)
        logits = array.astype(np.float32) @ matrix.astype(np.float32).T
    if "top_k" not in options:
        raise ArgumentError("expected top_k=, the number of experts of a token")
    program, arguments = moe_program(array, weights, logits, **options)
    return _dlpack.like(program.run(*arguments), x)
