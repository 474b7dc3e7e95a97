# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Experts with a tensor for each projection, in NVFP4 or MXFP4, as ModelOpt and compressed-tensors name them."""

from __future__ import annotations

import dataclasses
import re
import warnings
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np

from ..errors import ArgumentError, CheckpointError
from ..layer import MoEWeights
from ..options import ActivationLike, Gate, swiglu
from ..tensors import ScaledTensor
from ._fields import FIELDS, Fields, linear, put

SIDES = ("gate", "up", "down")
_SIDES = {"gate_proj": "gate", "up_proj": "up", "down_proj": "down", "w1": "gate", "w3": "up", "w2": "down"}


@dataclasses.dataclass(frozen=True)
class Reconciliation:
    """The loss of giving gate and up of an expert one global scale.

    ``ratio`` is smaller / larger multiplier; the block scales of the ``half`` (``gate`` or ``up``) with the smaller one
    were multiplied by it and rounded to E4M3 again: by at most ``max_relative_error``, and ``underflows`` of them to 0.
    """

    expert: int
    half: str
    ratio: float
    max_relative_error: float
    underflows: int

    @property
    def exact(self) -> bool:
        """True if no number changed."""
        return self.max_relative_error == 0 and self.underflows == 0


class _Experts:
    """The projections below a prefix, all of one format."""

    def __init__(self, tensors: Mapping[str, Any], prefix: str, convention: str):
        self._prefix, self._found = prefix, {}
        pattern = re.compile(re.escape(prefix) + r"(?:\.|)experts\.(\d+)\.(\w+)\.\w+$")
        for name in tensors:
            match = pattern.match(name)
            if match and match[2] in _SIDES:
                layer = name.rpartition(".")[0]
                self._found[int(match[1]), _SIDES[match[2]]] = Fields(tensors, layer, convention)
        experts = sorted({expert for expert, _ in self._found})
        if not experts or experts != list(range(len(experts))):
            raise CheckpointError(f"expected experts 0, 1, ... below '{prefix}.experts', but got {experts[:8]}")
        self.count = len(experts)
        # One global scale makes a layer NVFP4; an expert that lacks its own is then named.
        self.format = "nvfp4" if any(fields.has_multiplier for fields in self._found.values()) else "mxfp4"

    def __getitem__(self, key: tuple[int, str]) -> Fields:
        if key not in self._found:
            raise CheckpointError(f"expected a {key[1]} projection of expert {key[0]} below '{self._prefix}'")
        return self._found[key]

    def stack(self, sides: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Values and scales of all experts, the rows of ``sides`` one behind the other."""
        parts = [[self[expert, side].codes(self.format) for side in sides] for expert in range(self.count)]
        shape = parts[0][0][0].shape
        for expert, halves in enumerate(parts):
            for side, (values, _) in zip(sides, halves):
                if values.shape != shape:
                    raise CheckpointError(f"expected {self[expert, side].layer} with codes of shape {shape}, as "
                                          f"{self[0, sides[0]].layer} has, but got {values.shape}")
        values, scales = (np.stack([half[i] for halves in parts for half in halves]) for i in range(2))
        columns = values.shape[-1], scales.shape[-1]
        return values.reshape(self.count, -1, columns[0]), scales.reshape(self.count, -1, columns[1])

    def multipliers(self) -> np.ndarray:
        return np.array([[self[e, side].multiplier() for side in SIDES] for e in range(self.count)], np.float32)

    def input_multipliers(self) -> np.ndarray | None:
        """``[E, 3]``, or None where they are not all there."""
        if not all(fields.has_input for fields in self._found.values()):
            return None
        return np.array([[self[e, side].input_multiplier() for side in SIDES] for e in range(self.count)], np.float32)


def load_experts(tensors: Mapping[str, Any], prefix: str, convention: str, global_scales: str,
                 activation: ActivationLike | None) -> tuple[MoEWeights, list[Reconciliation], list[str]]:
    """The weights, what became of their global scales, and notes."""
    experts = _Experts(tensors, prefix, convention)
    # Global scales first: an expert that lacks one is told from one of another format.
    multipliers = experts.multipliers() if experts.format == "nvfp4" else None
    (values13, scales13), (values2, scales2) = experts.stack(SIDES[:2]), experts.stack(SIDES[2:])
    report: list[Reconciliation] = []
    if multipliers is not None and global_scales == "single":
        report = _reconcile_all(scales13, multipliers)
    notes: list[str] = []
    first, second = _inputs(experts, FIELDS[convention][3], notes)
    weights = MoEWeights(ScaledTensor(values13, scales13, experts.format), ScaledTensor(values2, scales2, experts.format),
                         None if multipliers is None else multipliers[:, :2].copy(),
                         None if multipliers is None else multipliers[:, 2].copy(), first, second,
                         activation=activation or swiglu())
    return weights, report, notes


def _inputs(experts: _Experts, name: str, notes: list[str]) -> tuple[Any, Any]:
    """Multipliers of the layer's input, one for all experts (the largest, under which nothing saturates), and of each down product."""
    inputs = experts.input_multipliers()
    if experts.format == "mxfp4":
        notes.append("activations are mxfp8_e4m3, or those of activation_format=; the model's config says how they were "
                     "meant")
    elif inputs is None:
        notes.append(f"no {name}: activations are quantised with a global scale of 1")
    if inputs is None:
        return None, None
    halves = inputs[:, :2]
    if halves.min() != halves.max():
        notes.append(f"{name} of gate and up is between {halves.min()} and {halves.max()} as multipliers; the input is "
                     "quantised once, with the largest")
    return float(halves.max()), inputs[:, 2].copy()


def _reconcile_all(scales13: np.ndarray, multipliers: np.ndarray) -> list[Reconciliation]:
    """Gives gate and up the larger multiplier of both, in place."""
    apart = np.flatnonzero(multipliers[:, 0] != multipliers[:, 1])
    report = [_reconcile(int(e), scales13[e], multipliers[e]) for e in apart]
    multipliers[:, :2] = multipliers[:, :2].max(1, keepdims=True)
    lost = sum(r.underflows for r in report)
    if lost:
        warnings.warn(f"{lost} block scales became 0 under one global scale for gate and up; load with "
                      "global_scales='exact' to keep them", stacklevel=4)
    return report


def _reconcile(expert: int, scales: np.ndarray, multipliers: np.ndarray) -> Reconciliation:
    """Rescales, in place, the half of `scales` with the smaller multiplier."""
    smaller = int(multipliers[1] < multipliers[0])
    rows = len(scales) // 2
    half = scales[smaller * rows:(smaller + 1) * rows]
    ratio = np.float64(multipliers[smaller]) / np.float64(multipliers[1 - smaller])
    exact = half.astype(np.float64) * ratio
    rounded = exact.astype(np.float32).astype(ml_dtypes.float8_e4m3fn)
    result = rounded.astype(np.float64)
    lost = (result == 0) & (exact != 0)
    kept = (exact != 0) & ~lost & np.isfinite(exact)
    error = np.abs(result[kept] / exact[kept] - 1).max(initial=0.0)
    half[...] = rounded
    return Reconciliation(expert, SIDES[smaller], float(ratio), float(error), int(lost.sum()))


def expert_tensors(weights: MoEWeights, prefix: str, convention: str, gate: Any) -> dict[str, Any]:
    if weights.bias13 is not None or weights.bias2 is not None:
        raise ArgumentError(f"expected weights without biases for {convention}")
    w13, w2 = linear(weights.w13, "w13", (gate, Gate(0))), linear(weights.w2, "w2")
    experts, half = weights.experts, weights.width

    def each(first: Any, second: Any) -> np.ndarray:
        """``[E, 3]``: gate, up, down; where there is none it is 1."""
        result = np.ones((experts, 3), np.float32)
        result[:, :2] = 1 if first is None else first
        result[:, 2] = 1 if second is None else second
        return result

    multipliers = each(weights.w13_multiplier, weights.w2_multiplier)
    has_inputs = weights.input_multiplier is not None or weights.w2_input_multiplier is not None
    inputs = each(weights.input_multiplier, weights.w2_input_multiplier)
    result: dict[str, Any] = {}
    for e in range(experts):
        parts = ((w13.values[e, :half], w13.scales[e, :half]), (w13.values[e, half:], w13.scales[e, half:]),
                 (w2.values[e], w2.scales[e]))
        for i, side in enumerate(("gate_proj", "up_proj", "down_proj")):
            put(result, f"{prefix}experts.{e}.{side}", convention, w13.format, *parts[i], multipliers[e, i],
                inputs[e, i] if has_inputs else None)
    return result
