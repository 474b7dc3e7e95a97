# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The experts of a Mixture-of-Experts layer, in any of the conventions."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

from ..errors import ArgumentError, CheckpointError
from ..layer import MoEWeights
from ..options import Activation, ActivationLike, Gate, activation_of, gate_in, gpt_oss_swiglu, parse_activation, swiglu
from ._experts import Reconciliation, expert_tensors, load_experts
from ._fields import FIELDS
from ._files import Checkpoint, other_names, write_safetensors
from ._gpt_oss import gpt_oss_tensors, load_gpt_oss

CONVENTIONS = (*FIELDS, "gpt-oss")


@dataclasses.dataclass(frozen=True)
class LoadedLayer:
    """``weights`` of a layer, the ``convention`` they were read in, what :class:`Reconciliation` changed (nothing with
    ``exact``), and ``notes`` on what the convention left to decide."""

    weights: MoEWeights
    convention: str
    report: tuple[Reconciliation, ...] = ()
    notes: tuple[str, ...] = ()


def load_moe(source: str | os.PathLike[str] | Mapping[str, Any], prefix: str = "", *, convention: str = "auto",
             global_scales: str = "exact", activation: ActivationLike | None = None) -> LoadedLayer:
    """Reads the experts whose names start with ``prefix`` (such as ``model.layers.3.mlp``) from a file, a folder, or a
    mapping from names to arrays.

    ``convention`` is one of CONVENTIONS, or ``auto`` to tell by the names. Experts with global scales are NVFP4, those
    without are MXFP4. ``global_scales`` is ``exact``: gate and up keep theirs as ``[E, 2]``; or ``single``: the larger one
    for both, and the block scales of the other half are scaled down and rounded again, which ``report`` lists (with a
    warning where a scale became 0); MXFP4 has none, and nothing changes. ``activation`` defaults to SwiGLU, for gpt-oss to
    its own. Weights of an expert are stacked, gate rows first; those of gpt-oss stay in the file.
    """
    tensors: Mapping[str, Any] = source if isinstance(source, Mapping) else Checkpoint(source)
    if global_scales not in ("exact", "single"):
        raise ArgumentError(f"expected global_scales exact or single, but got '{global_scales}'")
    if convention == "auto":
        convention = _detect(tensors, prefix)
    if convention == "gpt-oss":
        return LoadedLayer(load_gpt_oss(tensors, prefix, activation), convention, (), (
            "activations are bfloat16 in gpt-oss; here they are mxfp8_e4m3, or bfloat16 with activation_format='bf16'",))
    if convention not in FIELDS:
        raise ArgumentError(f"expected convention auto, {', '.join(CONVENTIONS)}, but got '{convention}'")
    weights, report, notes = load_experts(tensors, prefix, convention, global_scales, activation)
    return LoadedLayer(weights, convention, tuple(report), tuple(notes))


def _detect(tensors: Mapping[str, Any], prefix: str) -> str:
    ends = {name.rpartition(".")[2] for name in tensors if name.startswith(prefix)}
    if "weight_packed" in ends:
        return "compressed-tensors"
    if "weight_scale_2" in ends:
        return "modelopt"
    if "blocks" in ends or any(end.endswith("_blocks") for end in ends):
        return "gpt-oss"
    # MXFP4; behind gpt-oss, for a layer of it may have other parts with scales.
    if "weight_scale" in ends:
        return "modelopt"
    raise CheckpointError(f"expected names of {', '.join(CONVENTIONS)} below '{prefix}', but got "
                          + (f"names that end in {', '.join(sorted(ends)[:8])}" if ends else other_names(tensors)))


def save_moe(path: str | os.PathLike[str], weights: MoEWeights, prefix: str = "", *, convention: str = "modelopt",
             gate: Gate | str | None = None, drop_activation: bool = False) -> None:
    """Writes a layer as a ``.safetensors`` file that :func:`load_moe` and the producers' loaders read.

    ``gate`` is the layout of the rows of ``w13`` (default: that of the weights' activation). ArgumentError where a
    convention cannot hold the weights: another format than NVFP4 or MXFP4 (gpt-oss: MXFP4), a K of broken blocks, a
    multiplier of MXFP4, or a bias outside gpt-oss. No convention stores the activation: gpt-oss means
    :func:`nvfp4.gpt_oss_swiglu` and the others :func:`nvfp4.swiglu`. Another one is an ArgumentError, or with
    ``drop_activation`` is left out; then pass it to :func:`load_moe` as ``activation``.
    """
    if convention not in CONVENTIONS:
        raise ArgumentError(f"expected convention {', '.join(CONVENTIONS)}, but got '{convention}'")
    wanted = ("mxfp4",) if convention == "gpt-oss" else ("nvfp4", "mxfp4")
    for tensor in (weights.w13, weights.w2):
        if tensor.format not in wanted or tensor.format != weights.w13.format:
            raise ArgumentError(f"expected weights in {' or '.join(wanted)} for {convention}, both alike, but got "
                                f"{weights.w13.format} and {weights.w2.format}")
    if gate is None:
        gate = gate_in(weights.activation)
        if gate is None:
            raise ArgumentError("expected gate=, for the activation does not say how gate and up rows lie")
    if not drop_activation:
        _check_activation(weights.activation, convention)
    dot = f"{prefix}." if prefix else ""
    if convention == "gpt-oss":
        write_safetensors(path, gpt_oss_tensors(weights, dot, gate))
    else:
        write_safetensors(path, expert_tensors(weights, dot, convention, gate))


def _check_activation(activation: ActivationLike, convention: str) -> None:
    meant, name = (gpt_oss_swiglu(), "gpt_oss_swiglu") if convention == "gpt-oss" else (swiglu(), "swiglu")
    if _without_gate(activation) != _without_gate(meant):
        raise ArgumentError(f"expected activation {name} {meant}, which {convention} means and does not store, but got "
                            f"{activation_of(activation)[0]}; drop_activation=True leaves it out, for "
                            f"load_moe(activation=...) with gate = {meant.gate}")


def _without_gate(activation: ActivationLike) -> Activation:
    """The function of an activation, wherever its gate and up rows lie: they are moved as they are written."""
    parsed = parse_activation(activation)
    if parsed is None:
        raise ArgumentError(f"expected an activation of the dialect, but got {activation!r}")
    return dataclasses.replace(parsed, gate=None)
