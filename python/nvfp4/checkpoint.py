# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints of Mixture-of-Experts and linear layers: read and written in the conventions of three producers.

=====================  ===============================================  =======================================
convention             tensors of an expert or layer                    global scale
=====================  ===============================================  =======================================
``modelopt``           ``weight``, ``weight_scale``, ``weight_scale_2``,  multiplier amax / 2688, gate and up apart
                       ``input_scale``
``compressed-tensors`` ``weight_packed``, ``weight_scale``,               encode scale 2688 / amax, gate and up apart
                       ``weight_global_scale``, ``input_global_scale``
``gpt-oss``            ``*_blocks``, ``*_scales``, ``*_bias`` (MXFP4)     none
=====================  ===============================================  =======================================

Gate and up projections are quantised apart, so their global scales differ; a product with one scale for both halves is
wrong by their ratio. :func:`load_moe` keeps both (``exact``), or makes one of them and reports what that cost.
"""

from __future__ import annotations

import dataclasses
import json
import mmap
import os
import pathlib
import re
import struct
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import ml_dtypes
import numpy as np

from . import _dlpack
from .errors import ArgumentError, CheckpointError
from .layer import MoEWeights
from .options import Activation, ActivationLike, Gate, gpt_oss_swiglu, swiglu
from .quantization import relayout
from .tensors import ScaledTensor

__all__ = ["Checkpoint", "write_safetensors", "Reconciliation", "LoadedLayer", "load_moe", "save_moe", "LinearWeights",
           "load_linear", "save_linear", "CONVENTIONS"]

CONVENTIONS = ("modelopt", "compressed-tensors", "gpt-oss")

_DTYPES: dict[str, Any] = {
    "F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16, "I64": np.int64,
    "I32": np.int32, "I16": np.int16, "I8": np.int8, "U64": np.uint64, "U32": np.uint32, "U16": np.uint16,
    "U8": np.uint8, "BOOL": np.bool_, "F8_E4M3": ml_dtypes.float8_e4m3fn, "F8_E5M2": ml_dtypes.float8_e5m2,
    "F8_E8M0": ml_dtypes.float8_e8m0fnu}
_NAMES = {np.dtype(kind): name for name, kind in _DTYPES.items()}
_LONGEST_HEADER = 100_000_000


class Checkpoint(Mapping[str, np.ndarray]):
    """The tensors of a ``.safetensors`` file, or of a folder with an index or with several files, by name.

    Arrays lie in the mapped file, read-only and without a copy. CheckpointError for files that are not what they say.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = pathlib.Path(path)
        self._places: dict[str, tuple[mmap.mmap, np.dtype, tuple[int, ...], int]] = {}
        for file in self._files():
            self._open(file)

    def _files(self) -> list[pathlib.Path]:
        if not self.path.is_dir():
            return [self.path]
        index = self.path / "model.safetensors.index.json"
        if index.exists():
            return sorted({self.path / name for name in json.loads(index.read_text())["weight_map"].values()})
        files = sorted(self.path.glob("*.safetensors"))
        if not files:
            raise CheckpointError(f"expected .safetensors files in {self.path}, but there is none")
        return files

    def _open(self, file: pathlib.Path) -> None:
        def fail(why: str) -> None:
            raise CheckpointError(f"{file}: {why}")

        try:
            with open(file, "rb") as stream:
                size = os.fstat(stream.fileno()).st_size
                if size < 8:
                    fail(f"expected a safetensors file, but got {size} bytes")
                length, = struct.unpack("<Q", stream.read(8))
                if length > min(size - 8, _LONGEST_HEADER):
                    fail(f"expected a header of at most {min(size - 8, _LONGEST_HEADER)} bytes, but got {length}")
                header = json.loads(stream.read(length))
                data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise CheckpointError(f"could not read {file}: {error.strerror}") from None
        except (ValueError, UnicodeDecodeError, RecursionError) as error:
            raise CheckpointError(f"{file}: expected a header in JSON, but {error}") from None
        if not isinstance(header, dict):
            fail("expected a header that is an object")
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            try:
                dtype = np.dtype(_DTYPES[entry["dtype"]])
                shape = tuple(int(extent) for extent in entry["shape"])
                begin, end = (int(offset) for offset in entry["data_offsets"])
            except (KeyError, TypeError, ValueError) as error:
                fail(f"expected dtype, shape and data_offsets of '{name}', but {error!r}")
            count = 1
            for extent in shape:
                count *= extent
            if min((0, *shape)) < 0 or not 0 <= begin <= end <= size - 8 - length or end - begin != count * dtype.itemsize:
                fail(f"expected {count * dtype.itemsize} bytes within the file for '{name}', but got offsets {begin} to {end}")
            if name in self._places:
                fail(f"expected one tensor called '{name}', but there are two")
            self._places[name] = data, dtype, shape, 8 + length + begin

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._places:
            raise CheckpointError(f"{self.path}: expected a tensor called '{name}', but there is none")
        data, dtype, shape, offset = self._places[name]
        count = int(np.prod(shape, dtype=np.int64))
        flat = np.frombuffer(data, np.uint8, count * dtype.itemsize, offset)
        if offset % dtype.itemsize:
            flat = flat.copy()
        return flat.view(dtype).reshape(shape)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def write_safetensors(path: str | os.PathLike[str], tensors: Mapping[str, Any],
                      metadata: Mapping[str, str] | None = None) -> None:
    """Writes arrays or DLPack tensors by name. The file appears whole or not at all."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    arrays, offset = [], 0
    for name, value in tensors.items():
        array = np.ascontiguousarray(_dlpack.asarray(value)).reshape(np.shape(value))
        if array.dtype not in _NAMES:
            raise ArgumentError(f"expected '{name}' of a type that safetensors has, but got {array.dtype}")
        header[name] = {"dtype": _NAMES[array.dtype], "shape": list(array.shape),
                        "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
        arrays.append(array)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    target = pathlib.Path(path)
    part = target.with_name(target.name + ".part")
    with open(part, "wb") as stream:
        stream.write(struct.pack("<Q", len(text)) + text)
        for array in arrays:
            stream.write(array.reshape(-1).view(np.uint8).data)
    os.replace(part, target)


@dataclasses.dataclass(frozen=True)
class Reconciliation:
    """What it took to give gate and up of an expert one global scale.

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


@dataclasses.dataclass(frozen=True)
class LoadedLayer:
    """``weights`` of a layer, the ``convention`` they were read in, what :class:`Reconciliation` changed (nothing with
    ``exact``), and ``notes`` on what the convention left to decide."""

    weights: MoEWeights
    convention: str
    report: tuple[Reconciliation, ...] = ()
    notes: tuple[str, ...] = ()


_SIDES = {"gate_proj": "gate", "up_proj": "up", "down_proj": "down", "w1": "gate", "w3": "up", "w2": "down"}
_FIELDS = {"modelopt": ("weight", "weight_scale", "weight_scale_2", "input_scale"),
           "compressed-tensors": ("weight_packed", "weight_scale", "weight_global_scale", "input_global_scale")}


def load_moe(source: str | os.PathLike[str] | Mapping[str, Any], prefix: str = "", *, convention: str = "auto",
             global_scales: str = "exact", activation: ActivationLike | None = None) -> LoadedLayer:
    """Reads the experts whose names start with ``prefix`` (such as ``model.layers.3.mlp``) from a file, a folder, or a
    mapping from names to arrays.

    ``convention`` is one of CONVENTIONS, or ``auto`` to tell by the names. ``global_scales`` is ``exact``: gate and up
    keep theirs as ``[E, 2]``; or ``single``: the larger one for both, and the block scales of the other half are scaled
    down and rounded again, which ``report`` lists (with a warning where a scale became 0). ``activation`` defaults to
    SwiGLU, for gpt-oss to its own. Weights of an expert are stacked, gate rows first; those of gpt-oss stay in the file.
    """
    tensors: Mapping[str, Any] = source if isinstance(source, Mapping) else Checkpoint(source)
    if global_scales not in ("exact", "single"):
        raise ArgumentError(f"expected global_scales exact or single, but got '{global_scales}'")
    if convention == "auto":
        convention = _detect(tensors, prefix)
    if convention == "gpt-oss":
        return _load_gpt_oss(tensors, prefix, activation)
    if convention not in _FIELDS:
        raise ArgumentError(f"expected convention auto, {', '.join(CONVENTIONS)}, but got '{convention}'")
    return _load_experts(tensors, prefix, convention, global_scales, activation)


def _detect(tensors: Mapping[str, Any], prefix: str) -> str:
    ends = {name.rpartition(".")[2] for name in tensors if name.startswith(prefix)}
    if "weight_packed" in ends:
        return "compressed-tensors"
    if "weight_scale_2" in ends:
        return "modelopt"
    if "blocks" in ends or any(end.endswith("_blocks") for end in ends):
        return "gpt-oss"
    raise CheckpointError(f"expected names of {', '.join(CONVENTIONS)} below '{prefix}', but got names that end in "
                          f"{', '.join(sorted(ends)[:8]) or 'nothing'}")


def _multiplier(value: np.ndarray, name: str, convention: str) -> np.float32:
    """A global scale as a multiplier."""
    if value.size != 1 or not np.isfinite(number := np.float32(value.reshape(-1)[0])) or number <= 0:
        raise CheckpointError(f"expected {name} to be one positive number, but got {value}")
    return np.float32(1) / number if convention == "compressed-tensors" else number


def _stored(multiplier: Any, convention: str) -> np.ndarray:
    """The inverse of _multiplier."""
    if convention == "compressed-tensors":
        return np.array([np.float32(1) / np.float32(multiplier)], np.float32)
    return np.array(multiplier, np.float32)


def _load_experts(tensors: Mapping[str, Any], prefix: str, convention: str, global_scales: str,
                  activation: ActivationLike | None) -> LoadedLayer:
    found: dict[tuple[int, str], str] = {}
    pattern = re.compile(re.escape(prefix) + r"(?:\.|)experts\.(\d+)\.(\w+)\.(\w+)$")
    for name in tensors:
        match = pattern.match(name)
        if match and match[2] in _SIDES:
            found[int(match[1]), _SIDES[match[2]]] = name[:match.start(3)]
    experts = sorted({expert for expert, _ in found})
    if not experts or experts != list(range(len(experts))):
        raise CheckpointError(f"expected experts 0, 1, ... below '{prefix}.experts', but got {experts[:8]}")
    weight, scale, scale2, input_scale = _FIELDS[convention]

    def field(expert: int, side: str, name: str) -> np.ndarray:
        if (expert, side) not in found:
            raise CheckpointError(f"expected a {side} projection of expert {expert} below '{prefix}'")
        return _dlpack.asarray(tensors[found[expert, side] + name])

    def multiplier(expert: int, side: str, name: str) -> np.float32:
        return _multiplier(field(expert, side, name), f"{found[expert, side]}{name}", convention)

    multipliers = np.array([[multiplier(e, side, scale2) for side in ("gate", "up", "down")] for e in experts], np.float32)
    scales13 = [np.concatenate([field(e, side, scale) for side in ("gate", "up")]) for e in experts]
    report: list[Reconciliation] = []
    if global_scales == "single":
        report = [_reconcile(e, scales13[e], multipliers[e]) for e in experts if multipliers[e, 0] != multipliers[e, 1]]
        multipliers[:, :2] = multipliers[:, :2].max(1, keepdims=True)
        lost = sum(r.underflows for r in report)
        if lost:
            warnings.warn(f"{lost} block scales became 0 under one global scale for gate and up; load with "
                          "global_scales='exact' to keep them", stacklevel=3)
    w13 = ScaledTensor(np.stack([np.concatenate([field(e, side, weight) for side in ("gate", "up")]) for e in experts]),
                       np.stack(scales13))
    w2 = ScaledTensor(np.stack([field(e, "down", weight) for e in experts]),
                      np.stack([field(e, "down", scale) for e in experts]))
    notes: list[str] = []
    first, second = _input_multipliers(experts, found, tensors, multiplier, input_scale, notes)
    weights = MoEWeights(w13, w2, multipliers[:, :2].copy(), multipliers[:, 2].copy(), first, second,
                         activation=activation or swiglu())
    return LoadedLayer(weights, convention, tuple(report), tuple(notes))


def _input_multipliers(experts: list[int], found: Mapping[tuple[int, str], str], tensors: Mapping[str, Any],
                       multiplier: Any, name: str, notes: list[str]) -> tuple[Any, Any]:
    """Of the layer's input, one for all experts (the largest, under which nothing saturates), and of each down product."""
    if not all(prefix + name in tensors for prefix in found.values()):
        notes.append(f"no {name}: activations are quantised with a global scale of 1")
        return None, None
    inputs = np.array([[multiplier(e, side, name) for side in ("gate", "up")] for e in experts], np.float32)
    if inputs.min() != inputs.max():
        notes.append(f"{name} of gate and up is between {inputs.min()} and {inputs.max()} as multipliers; the input is "
                     "quantised once, with the largest")
    return float(inputs.max()), np.array([multiplier(e, "down", name) for e in experts], np.float32)


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
    return Reconciliation(expert, ("gate", "up")[smaller], float(ratio), float(error), int(lost.sum()))


_GPT_OSS = (("mlp1_weight.blocks", "mlp1_weight.scales", "mlp1_bias", "mlp2_weight.blocks", "mlp2_weight.scales",
             "mlp2_bias"),
            ("experts.gate_up_proj_blocks", "experts.gate_up_proj_scales", "experts.gate_up_proj_bias",
             "experts.down_proj_blocks", "experts.down_proj_scales", "experts.down_proj_bias"))


def _load_gpt_oss(tensors: Mapping[str, Any], prefix: str, activation: ActivationLike | None) -> LoadedLayer:
    dot = prefix + "." if prefix and not prefix.endswith(".") else prefix
    for names in _GPT_OSS:
        if dot + names[0] in tensors:
            break
    else:
        raise CheckpointError(f"expected {dot}{_GPT_OSS[0][0]} or {dot}{_GPT_OSS[1][0]}, but there is neither")

    def get(name: str) -> np.ndarray:
        if dot + name not in tensors:
            raise CheckpointError(f"expected a tensor called '{dot}{name}', but there is none")
        return _dlpack.asarray(tensors[dot + name])

    def scaled(blocks: str, scales: str) -> ScaledTensor:
        values = get(blocks)
        if values.ndim != 4 or values.shape[3] != 16:
            raise CheckpointError(f"expected {dot}{blocks} of shape [E, N, K/32, 16], but got {values.shape}")
        return ScaledTensor(values.reshape(*values.shape[:2], -1), get(scales), "mxfp4")

    def bias(name: str) -> np.ndarray | None:
        return get(name) if dot + name in tensors else None

    weights = MoEWeights(scaled(*names[:2]), scaled(*names[3:5]), bias13=bias(names[2]), bias2=bias(names[5]),
                         activation=activation or gpt_oss_swiglu())
    return LoadedLayer(weights, "gpt-oss", (), (
        "activations are bfloat16 in gpt-oss; here they are mxfp8_e4m3, or bfloat16 with activation_format='bf16'",))


def save_moe(path: str | os.PathLike[str], weights: MoEWeights, prefix: str = "", *, convention: str = "modelopt",
             gate: Gate | str | None = None) -> None:
    """Writes a layer as a ``.safetensors`` file that :func:`load_moe` and the producers' loaders read.

    ``gate`` is the layout of the rows of ``w13`` (default: that of the weights' activation). ArgumentError where a
    convention cannot hold the weights: another format, or a bias outside gpt-oss.
    """
    if convention not in CONVENTIONS:
        raise ArgumentError(f"expected convention {', '.join(CONVENTIONS)}, but got '{convention}'")
    wanted = "mxfp4" if convention == "gpt-oss" else "nvfp4"
    for tensor in (weights.w13, weights.w2):
        if tensor.format != wanted:
            raise ArgumentError(f"expected weights in {wanted} for {convention}, but got {tensor.format}")
    if gate is None:
        gate = weights.activation.gate if isinstance(weights.activation, Activation) else None
        if gate is None:
            raise ArgumentError("expected gate=, for the activation does not say how gate and up rows lie")
    write_safetensors(path, (_gpt_oss_tensors if convention == "gpt-oss" else _expert_tensors)(
        weights, f"{prefix}." if prefix else "", convention, gate))


def _linear(tensor: ScaledTensor, gate: Any = None) -> ScaledTensor:
    return relayout(tensor, layout="linear", starts="whole", gate=gate)


def _gpt_oss_tensors(weights: MoEWeights, prefix: str, _: str, gate: Any) -> dict[str, np.ndarray]:
    w13, w2 = _linear(weights.w13, (gate, Gate(1))), _linear(weights.w2)
    names = _GPT_OSS[1]
    result = {}
    for tensor, (blocks, scales) in ((w13, names[:2]), (w2, names[3:5])):
        result[prefix + blocks] = tensor.values.reshape(*tensor.shape[:2], -1, 16)
        result[prefix + scales] = tensor.scales.view(np.uint8)
    if weights.bias13 is not None:
        result[prefix + names[2]] = relayout(weights.bias13, gate=(gate, Gate(1)))
    if weights.bias2 is not None:
        result[prefix + names[5]] = _dlpack.asarray(weights.bias2)
    return result


def _expert_tensors(weights: MoEWeights, prefix: str, convention: str, gate: Any) -> dict[str, np.ndarray]:
    if weights.bias13 is not None or weights.bias2 is not None:
        raise ArgumentError(f"expected weights without biases for {convention}")
    w13, w2 = _linear(weights.w13, (gate, Gate(0))), _linear(weights.w2)
    experts, half = weights.experts, weights.width
    weight, scale, scale2, input_scale = _FIELDS[convention]
    ones = np.ones((experts, 3), np.float32)
    if weights.w13_multiplier is not None:
        ones[:, :2] = weights.w13_multiplier
    if weights.w2_multiplier is not None:
        ones[:, 2] = weights.w2_multiplier
    inputs = np.ones((experts, 3), np.float32)
    inputs[:, :2] = 1 if weights.input_multiplier is None else weights.input_multiplier
    inputs[:, 2] = 1 if weights.w2_input_multiplier is None else weights.w2_input_multiplier
    has_inputs = weights.input_multiplier is not None or weights.w2_input_multiplier is not None

    result = {}
    for e in range(experts):
        parts = ((w13.values[e, :half], w13.scales[e, :half]), (w13.values[e, half:], w13.scales[e, half:]),
                 (w2.values[e], w2.scales[e]))
        for index, (side, (values, scales)) in enumerate(zip(("gate_proj", "up_proj", "down_proj"), parts)):
            at = f"{prefix}experts.{e}.{side}."
            result[at + weight], result[at + scale] = values, scales
            result[at + scale2] = _stored(ones[e, index], convention)
            if has_inputs:
                result[at + input_scale] = _stored(inputs[e, index], convention)
    return result


@dataclasses.dataclass(frozen=True)
class LinearWeights:
    """A linear layer: ``weight`` ``[N, K]`` in NVFP4, its global scale and that of the activations as multipliers (None: 1),
    ``bias`` ``[N]`` or None. ``grouped_matmul(x, layer.weight, alpha=layer.multiplier, bias=layer.bias)`` is the layer for
    ``x`` of bfloat16."""

    weight: ScaledTensor
    multiplier: np.float32 | None = None
    input_multiplier: np.float32 | None = None
    bias: np.ndarray | None = None


def load_linear(source: str | os.PathLike[str] | Mapping[str, Any], prefix: str, *,
                convention: str = "auto") -> LinearWeights:
    """Reads the layer called ``prefix`` (such as ``model.layers.3.self_attn.o_proj``) from a file, a folder, or a mapping.

    ``convention`` is ``modelopt``, ``compressed-tensors`` or ``auto``, to tell by the names. Values and scales stay in the
    file. CheckpointError for a layer that is not there or has no NVFP4 weight, such as one that was left in bfloat16.
    """
    tensors: Mapping[str, Any] = source if isinstance(source, Mapping) else Checkpoint(source)
    if convention == "auto":
        convention = next((name for name, fields in _FIELDS.items() if f"{prefix}.{fields[2]}" in tensors), "")
        if not convention:
            names = [name for name in tensors if name.startswith(prefix + ".")]
            raise CheckpointError(f"expected {prefix}.weight_scale_2 or {prefix}.weight_global_scale, but got "
                                  f"{', '.join(sorted(names)[:8]) or 'nothing'}")
    if convention not in _FIELDS:
        raise ArgumentError(f"expected convention auto, {', '.join(_FIELDS)}, but got '{convention}'")

    def field(name: str, optional: bool = False) -> np.ndarray | None:
        if f"{prefix}.{name}" in tensors:
            return _dlpack.asarray(tensors[f"{prefix}.{name}"])
        if optional:
            return None
        raise CheckpointError(f"expected a tensor called '{prefix}.{name}', but there is none")

    def multiplier(name: str, optional: bool = False) -> np.float32 | None:
        value = field(name, optional)
        return None if value is None else _multiplier(value, f"{prefix}.{name}", convention)

    weight, scale, scale2, input_scale = _FIELDS[convention]
    return LinearWeights(ScaledTensor(field(weight), field(scale)), multiplier(scale2), multiplier(input_scale, True),
                         field("bias", True))


def save_linear(path: str | os.PathLike[str], layers: Mapping[str, LinearWeights], *, convention: str = "modelopt") -> None:
    """Writes layers by name as a ``.safetensors`` file that :func:`load_linear` and the producers' loaders read."""
    if convention not in _FIELDS:
        raise ArgumentError(f"expected convention {', '.join(_FIELDS)}, but got '{convention}'")
    result: dict[str, Any] = {}
    for name, layer in layers.items():
        if layer.weight.format != "nvfp4" or layer.weight.ndim != 2:
            raise ArgumentError(f"expected a weight [N, K] in nvfp4 for {name}, but got {layer.weight}")
        linear = _linear(layer.weight)
        weight, scale, scale2, input_scale = (f"{name}.{field}" for field in _FIELDS[convention])
        result[weight], result[scale] = linear.values, linear.scales
        result[scale2] = _stored(1 if layer.multiplier is None else layer.multiplier, convention)
        if layer.input_multiplier is not None:
            result[input_scale] = _stored(layer.input_multiplier, convention)
        if layer.bias is not None:
            result[f"{name}.bias"] = _dlpack.asarray(layer.bias)
    write_safetensors(path, result)
