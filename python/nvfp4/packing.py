# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights as kernels read them: packed once on the host, for functions on memory of a GPU."""

from __future__ import annotations

import dataclasses
from typing import Any

from ._layer_constants import activation_format_of
from ._layer_text import PLAIN
from .errors import ArgumentError, check_one_of
from .layer import MoEWeights
from .options import Gate, gate_in, parse_activation
from .quantization import relayout
from .tensors import CODED, FORMATS

__all__ = ["PACKED_TARGETS", "pack_layer"]

#: Targets whose kernels read packed weights.
PACKED_TARGETS = ("sm_90a",)
# The longest run of gate or up rows that a kernel finds in one tile.
_LONGEST_RUN = 32


def packed_layout(element: str) -> str:
    """The layout of weights beside rows of an element type or format."""
    return "wgmma_f16" if element == "f16" else "wgmma"


def kernel_gate(gate: Gate, width: int, block: int) -> Gate:
    """The gate layout for kernels, of ``width`` results that are quantised in blocks of ``block`` (1: not): the same
    where they have it, or else the longest run that divides the width."""
    runs = [run for run in (32, 16, 8, 4, 2, 1) if width % run == 0 and (block <= 16 or run == _LONGEST_RUN)]
    if not runs:
        raise ArgumentError(f"expected a width divisible by {_LONGEST_RUN} for activations in blocks of {block}, but "
                            f"got {width}; use activation_format bf16 or f16")
    return gate if gate.granularity in runs else Gate(runs[0], gate.order)


def pack_layer(weights: MoEWeights, target: str = "sm_90a", *, activation_format: str | None = None) -> MoEWeights:
    """The same layer for kernels of ``target`` (one of PACKED_TARGETS) with activations of ``activation_format``, as
    :func:`nvfp4.moe_layer` has it: matrices in the layout ``wgmma``, or ``wgmma_f16`` beside rows of f16, and gate and
    up rows, their biases with them, in runs that a kernel finds together.

    Numbers do not change. Weights that are packed already are taken as they are. ArgumentError for another target or
    format, DataError where the scales of a matrix are too far apart for the layout.
    """
    check_one_of("target", target, PACKED_TARGETS)
    act = activation_format_of(weights, activation_format)
    layout, gate = packed_layout(act), gate_in(weights.activation)
    changes: dict[str, Any] = {}
    if gate is not None:
        wanted = kernel_gate(gate, weights.width, 1 if act in PLAIN else FORMATS[act].block)
        if wanted != gate:
            changes["activation"] = dataclasses.replace(parse_activation(weights.activation), gate=wanted)
            changes["w13"] = relayout(relayout(weights.w13, layout="linear"), gate=(gate, wanted))
            if weights.bias13 is not None:
                changes["bias13"] = relayout(weights.bias13, gate=(gate, wanted))
    changes["w13"] = relayout(changes.get("w13", weights.w13), layout=layout)
    changes["w2"] = relayout(weights.w2, layout=layout)
    return dataclasses.replace(weights, **changes)


def unpack_layer(weights: MoEWeights) -> MoEWeights:
    """A packed layer for the CPU: linear matrices, with gates as they are."""
    w13, w2 = (relayout(matrix, layout="linear") for matrix in (weights.w13, weights.w2))
    return dataclasses.replace(weights, w13=w13, w2=w2)


def is_packed(layout: str) -> bool:
    """Whether a layout is one of packed weights."""
    return layout in CODED
