# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of operations: activations, gate layouts, quantisers.

Small values that print as the attributes of the dialect. Wherever one is expected, its text in MLIR will do as well.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Union

import numpy as np

from . import _words
from ._attributes import read_activation
from ._scalars import check_count, check_flag, scalar
from .errors import ArgumentError, check_one_of

__all__ = ["Gate", "GATES", "Activation", "swiglu", "geglu_tanh", "gpt_oss_swiglu", "Quantizer", "QUANTIZERS", "Hadamard"]


#: Options of operations that are one of several words.
WORDS: dict[str, tuple[str, ...]] = {
    "math": _words.MATH_MODE, "tail": _words.TAIL_MODE, "determinism": _words.DETERMINISM,
    "prob_at": _words.PROB_POSITION}


def word_of(option: str, word: str, name: str = "") -> str:
    """A word that an option takes; ``name`` is that of the argument, where it is another."""
    check_one_of(name or option, word, WORDS[option])
    return word


@dataclasses.dataclass(frozen=True)
class Gate:
    """Where gate and up columns lie in the rows of a GLU weight: blocks of ``granularity`` of one, then as many of the
    other; 0 is ``halves``. ``order`` is ``gate_first`` or ``up_first``."""

    granularity: int = 0
    order: str = "gate_first"

    def __post_init__(self) -> None:
        check_one_of("order", self.order, _words.GATE_ORDER)
        check_count("granularity, or 0 for halves,", self.granularity, least=0)

    def __str__(self) -> str:
        return f"<{self.granularity or 'halves'}, {self.order}>"


#: The layouts of known producers, by name.
GATES: dict[str, Gate] = {
    "gpt-oss": Gate(1), "deepgemm": Gate(8), "flashinfer-mega": Gate(16), "cudnn": Gate(32),
    "flashinfer-cute-dsl": Gate(64, "up_first"), "vllm": Gate(0), "hugging-face": Gate(0),
    "trtllm-cutlass": Gate(0, "up_first")}

GateLike = Union[Gate, str]


def gate_of(gate: GateLike) -> Gate:
    """A gate from one, or from a name of GATES."""
    if isinstance(gate, Gate):
        return gate
    if gate not in GATES:
        raise ArgumentError(f"expected a Gate or one of {', '.join(GATES)}, but got '{gate}'")
    return GATES[gate]


@dataclasses.dataclass(frozen=True)
class Activation:
    """``kind`` is an activation that docs/Dialects/GroupedScaledGemm.md lists, such as ``silu`` or ``swiglu``; ``custom`` is
    the ``epilogue`` of :func:`nvfp4.grouped_matmul`. Activations of pairs need ``gate`` and halve the columns; ``alpha``, ``beta`` and ``limit``
    belong to ``swiglu``; ``round_bf16`` rounds the pre-activation to bfloat16 first."""

    kind: str
    gate: Gate | None = None
    alpha: float | None = None
    beta: float | None = None
    limit: float | None = None
    round_bf16: bool = False

    def __post_init__(self) -> None:
        for name in ("alpha", "beta", "limit"):
            value = getattr(self, name)
            if value is not None:
                scalar(value, np.dtype(np.float32), f"{name} of an activation")
        check_flag("round_bf16", self.round_bf16)

    def __str__(self) -> str:
        parts = [self.kind] + ([f"gate = {self.gate}"] if self.gate else [])
        for name in ("alpha", "beta", "limit"):
            value = getattr(self, name)
            if value is not None:
                parts.append(f"{name} = {float(value)!r}" if "e" not in repr(float(value)) else
                             f"{name} = {float(value):.17e}")
        return f"<{', '.join(parts + (['round_bf16'] if self.round_bf16 else []))}>"


def swiglu(gate: GateLike = "vllm", *, alpha: float | None = None, beta: float | None = None,
           limit: float | None = None, round_bf16: bool = False) -> Activation:
    """g' sigmoid(alpha g') (u' + beta), g' = min(g, limit), u' = clamp(u, -limit, limit)."""
    return Activation("swiglu", gate_of(gate), alpha, beta, limit, round_bf16)


def gpt_oss_swiglu(gate: GateLike = "gpt-oss") -> Activation:
    """:func:`swiglu` as gpt-oss has it: alpha 1.702, beta 1, limit 7."""
    return swiglu(gate, alpha=1.702, beta=1.0, limit=7.0)


def geglu_tanh(gate: GateLike = "vllm", *, round_bf16: bool = False) -> Activation:
    """u 0.5 g (1 + tanh(0.7978845608 (g + 0.044715 g^3)))."""
    return Activation("geglu_tanh", gate_of(gate), round_bf16=round_bf16)


ActivationLike = Union[Activation, str]


def activation_of(activation: ActivationLike) -> tuple[str, bool]:
    """(attribute, whether it halves the columns)."""
    if isinstance(activation, Activation):
        return str(activation), activation.gate is not None
    text = activation if activation.startswith("<") else f"<{activation}>"
    fields = read_activation(text)
    return text, fields is not None and fields.gate is not None


def parse_activation(activation: ActivationLike) -> Activation | None:
    """The activation, also of its text in MLIR, with None for numbers that change nothing; None for another text."""
    fields = read_activation(activation_of(activation)[0])
    if fields is None:
        return None
    defaults = {"alpha": 1.0, "beta": 0.0, "limit": math.inf}
    numbers = {name: None if getattr(fields, name) == default else getattr(fields, name) for name, default in defaults.items()}
    return Activation(fields.kind, Gate(*fields.gate) if fields.gate else None, **numbers, round_bf16=fields.round_bf16)


def gate_in(activation: ActivationLike) -> Gate | None:
    """The gate layout of an activation, also of one in MLIR's text."""
    parsed = activation if isinstance(activation, Activation) else parse_activation(activation)
    return parsed.gate if parsed else None


#: The named quantisers, and what their ``global_scale`` is: an encode scale S (2688 / amax of the tensor for NVFP4), a
#: multiplier G = 1 / S, or none.
QUANTIZERS: dict[str, str | None] = {
    "cutlass": "encode", "trtllm": "encode", "te": "encode", "modelopt": "multiplier", "mega16": None,
    "ue8m0_up": None, "ocp": None, "triton_nearest": "encode", "four_over_six": "encode"}


@dataclasses.dataclass(frozen=True)
class Quantizer:
    """A named, byte-exact quantiser (docs/Spec.md section 4): one of QUANTIZERS. ``neg_zero`` is ``keep`` or ``flush``;
    ``rounding`` is ``nearest`` or ``stochastic`` (with a seed); ``two_d`` shares a scale among 16 x 16 values (``te``)."""

    kind: str = "trtllm"
    neg_zero: str = "keep"
    rounding: str = "nearest"
    two_d: bool = False

    def __post_init__(self) -> None:
        check_one_of("a quantizer", self.kind, QUANTIZERS)
        check_one_of("neg_zero", self.neg_zero, _words.NEGATIVE_ZERO)
        check_one_of("rounding", self.rounding, _words.ROUNDING)
        check_flag("two_d", self.two_d)

    def __str__(self) -> str:
        parts = [self.kind]
        if self.neg_zero != "keep":
            parts.append(f"neg_zero = {self.neg_zero}")
        if self.rounding != "nearest":
            parts.append(f"rounding = {self.rounding}")
        return f"<{', '.join(parts + (['two_d'] if self.two_d else []))}>"


@dataclasses.dataclass(frozen=True)
class Hadamard:
    """The 16-point Hadamard transform of :func:`nvfp4.hadamard` within another operation: bit i of ``sign_mask`` set means sign
    -1 for element i of a run, and ``normalized`` divides by 4."""

    normalized: bool = True
    sign_mask: int = 0

    def __post_init__(self) -> None:
        check_flag("normalized", self.normalized)
        check_count("sign_mask", self.sign_mask, 0xFFFF, "a bit for each of 16 elements", least=0)

    def __str__(self) -> str:
        parts = (["normalized"] if self.normalized else []) + ([f"sign_mask = {self.sign_mask}"] if self.sign_mask else [])
        return f"<{', '.join(parts)}>"


QuantizerLike = Union[Quantizer, str]


def quantizer_of(quantizer: QuantizerLike | None, fmt: str) -> Quantizer:
    """The quantiser, or the usual one of a format: trtllm, and ue8m0_up for power-of-two scales."""
    if quantizer is None:
        return Quantizer("trtllm" if fmt == "nvfp4" else "ue8m0_up")
    return quantizer if isinstance(quantizer, Quantizer) else Quantizer(quantizer)
