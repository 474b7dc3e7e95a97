# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A Mixture-of-Experts layer on tensors of torch: the operation, and a module that holds packed weights."""

from __future__ import annotations

import dataclasses
import functools
import json
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from . import _dlpack, packing
from ._calls import FLOATS, program_of
from ._layer_constants import LayerConstants, LayerSignature, static_type
from ._layer_text import LayerText
from ._messages import Piece, explain_arguments
from ._repeats import keep
from ._torch_device import DTYPES, ELEMENTS, Device, HostTensorLauncher, element_of, find_device, find_launcher
from ._torch_direct import kinds_of, mark_written
from ._torch_library import library
from ._torch_matmul import check_destinations
from .compiler import Program
from .errors import ArgumentError, CompileError
from .layer import MoEWeights
from .options import activation_of
from .tensors import ScaledTensor

__all__ = ["MoELayer", "moe_layer", "parse_signature"]

# `choice` is the router's logits, or ids and weights of experts; `signature` a LayerSignature in JSON.
_ARGUMENTS = ("Tensor x, Tensor[] choice, Tensor[] constants, float[] scalars, int? top_k, ScalarType? dtype, str signature")
library.define(f"moe_layer({_ARGUMENTS}) -> Tensor")
library.define(f"moe_layer.out({_ARGUMENTS}, *, Tensor(a!) out) -> ()")


@functools.lru_cache(maxsize=1024)
def parse_signature(signature: str) -> LayerSignature:
    """The signature of a layer of its text."""
    return LayerSignature(**json.loads(signature))


def _describe(x: torch.Tensor, choice: Sequence[torch.Tensor], top_k: int | None, dtype: torch.dtype | None,
              signature: LayerSignature, on_device: bool) -> LayerText:
    """The layer of a call; ArgumentError for tensors that do not go together."""
    name = str(x.dtype).partition(".")[2]
    signature.check_x(x.shape, name)
    element, tokens = element_of(x, "x", FLOATS), x.shape[0]
    if len(choice) == 1:
        layer = signature.routed(tokens, choice[0].shape, top_k, element=element,
                                 logits=element_of(choice[0], "logits", FLOATS))
    else:
        ids, weights = choice
        layer = signature.given(tokens, ids.shape, weights.shape, top_k, element=element,
                                ids=element_of(ids, "topk_ids", ("i32", "i64")),
                                scores=element_of(weights, "topk_weights", FLOATS))
    return dataclasses.replace(layer, out=element if dtype is None else ELEMENTS[dtype], on_device=on_device)


# The layer and its text, by all that they depend on.
_texts: dict[tuple[Any, ...], tuple[LayerText, str]] = {}


def _text_of(x: torch.Tensor, choice: Sequence[torch.Tensor], top_k: int | None, dtype: torch.dtype | None,
             signature: str, on_device: bool) -> tuple[LayerText, str]:
    tokens = x.shape[0] if x.ndim else 0
    key = (signature, x.dtype, x.shape[1:], top_k, dtype, on_device,
           *((each.dtype, each.shape[1:], each.shape[:1] == (tokens,)) for each in choice))
    found = _texts.get(key)
    if found is None:
        layer = _describe(x, choice, top_k, dtype, parse_signature(signature), on_device)
        found = _texts[key] = layer, layer.text()
    return found


def _program(text: str) -> Program:
    try:
        return program_of(text)
    except CompileError as error:
        raise explain_arguments(error, "moe_layer", [Piece(text)], ()) from None


def _on_cpu(x: torch.Tensor, choice: Sequence[torch.Tensor], constants: Sequence[torch.Tensor],
            scalars: Sequence[float], top_k: int | None, dtype: torch.dtype | None, signature: str) -> torch.Tensor:
    _, text = _text_of(x, choice, top_k, dtype, signature, False)
    launcher = keep((text, *scalars), lambda: HostTensorLauncher(_program(text)._select(None), scalars))
    return _dlpack.like(launcher((x, *choice, *constants))[0], x)


def _on_device(device: Device, x: torch.Tensor, choice: Sequence[torch.Tensor], constants: Sequence[torch.Tensor],
               scalars: Sequence[float], top_k: int | None, dtype: torch.dtype | None, signature: str,
               out: torch.Tensor | None = None) -> torch.Tensor:
    layer, text = _text_of(x, choice, top_k, dtype, signature, True)
    launcher = find_launcher(device, text, tuple(scalars), constants[0].data_ptr())
    tokens = x.shape[0]
    result = torch.empty((tokens, layer.hidden), dtype=DTYPES[layer.out], device=x.device) if out is None else out
    launcher((x, *choice), constants, (result,), tokens)
    return result


def _on_gpu(x: torch.Tensor, *rest: Any, **named: Any) -> torch.Tensor:
    device = find_device(x)
    if device is None:
        raise ArgumentError("expected x on the GPU, where others are, but got it on the CPU")
    return _on_device(device, x, *rest, **named)


def _check_out(out: torch.Tensor, x: torch.Tensor, choice: Sequence[torch.Tensor], constants: Sequence[torch.Tensor],
               layer: LayerText) -> None:
    check_destinations([("out", out, (x.shape[0], layer.hidden), DTYPES[layer.out])], (x, *choice, *constants))


def _write_on_cpu(*arguments: Any, out: torch.Tensor) -> None:
    x, choice, constants, _, top_k, dtype, signature = arguments
    _check_out(out, x, choice, constants, _text_of(x, choice, top_k, dtype, signature, False)[0])
    out.copy_(_on_cpu(*arguments))


def _write_on_gpu(*arguments: Any, out: torch.Tensor) -> None:
    x, choice, constants, _, top_k, dtype, signature = arguments
    _check_out(out, x, choice, constants, _text_of(x, choice, top_k, dtype, signature, True)[0])
    _on_gpu(*arguments, out=out)
    mark_written([out])


def _shapes_only(x: torch.Tensor, choice: Sequence[torch.Tensor], constants: Sequence[torch.Tensor],
                 scalars: Sequence[float], top_k: int | None, dtype: torch.dtype | None,
                 signature: str) -> torch.Tensor:
    layer = _describe(x, choice, top_k, dtype, parse_signature(signature), False)
    return x.new_empty((x.shape[0], layer.hidden), dtype=DTYPES[layer.out])


def _shapes_only_out(x: torch.Tensor, choice: Sequence[torch.Tensor], constants: Sequence[torch.Tensor],
                     scalars: Sequence[float], top_k: int | None, dtype: torch.dtype | None, signature: str, *,
                     out: torch.Tensor) -> None:
    _check_out(out, x, choice, constants, _describe(x, choice, top_k, dtype, parse_signature(signature), False))


library.impl("moe_layer", _on_cpu, "CPU")
library.impl("moe_layer", _on_gpu, "CUDA")
library.impl("moe_layer.out", _write_on_cpu, "CPU")
library.impl("moe_layer.out", _write_on_gpu, "CUDA")
torch.library.register_fake("nvfp4::moe_layer", _shapes_only, lib=library)
torch.library.register_fake("nvfp4::moe_layer.out", _shapes_only_out, lib=library)


def _run(*arguments: Any) -> torch.Tensor:
    """The layer, without the dispatcher where it can be."""
    x, choice, *_ = arguments
    if kinds_of((x, *choice)) is None:
        return torch.ops.nvfp4.moe_layer(*arguments)
    device = find_device(x)
    return _on_cpu(*arguments) if device is None else _on_device(device, *arguments)


def _refuse_gradients(tensors: Sequence[torch.Tensor]) -> None:
    if torch.is_grad_enabled() and True in [each.requires_grad for each in tensors]:
        raise ArgumentError("expected tensors without requires_grad, for a layer has no gradient; use torch.no_grad() "
                            "or detach(), or nvfp4.torch.grouped_matmul, whose products have gradients")


class MoELayer(torch.nn.Module):
    """The experts of a layer for tensors of torch, on the CPU or packed for a GPU of compute capability 9.0.

    ``weights`` are :class:`nvfp4.MoEWeights`; options are those of :func:`nvfp4.moe_layer` (``top_k``, ``routing``,
    ..., ``activation_format``, ``quantizer``), ``determinism`` is that of :func:`nvfp4.grouped_matmul`, and ``dtype`` is the type of results, or None for that of ``x``. Weights
    are buffers, on ``device``: they are packed when the module moves to a GPU (:func:`nvfp4.pack_layer`) and unpacked
    when it moves back. ``to(dtype)`` and ``half()`` do not change them.

    One function is compiled for each signature and loaded once for each GPU, for any number of tokens, and launched in
    the current stream with memory of torch's allocator. A CUDA graph captures calls after the first one.
    """

    top_k: int | None
    dtype: torch.dtype | None
    signature: LayerSignature

    w13: torch.Tensor
    w2: torch.Tensor

    def __init__(self, weights: MoEWeights, *, top_k: int | None = None, dtype: torch.dtype | None = None,
                 device: Any = None, activation_format: str | None = None, **options: Any):
        super().__init__()
        if not isinstance(weights, MoEWeights):
            raise ArgumentError(f"expected weights as MoEWeights(w13, w2, ...), but got {type(weights).__name__}")
        if dtype is not None and dtype not in (torch.float32, torch.float16, torch.bfloat16):
            raise ArgumentError(f"expected dtype torch.float32, torch.float16, torch.bfloat16 or None, but got {dtype}")
        where = torch.device("cpu" if device is None else device)
        self.top_k, self.dtype = top_k, dtype
        constants = LayerConstants(weights, activation_format=activation_format, **options)
        self.signature, self._signature = constants.signature, constants.signature.text()
        # The activation, and format, shape and layout of w13 and w2, as packing changes them.
        self.activation = weights.activation
        self._matrices: dict[str, tuple[str, tuple[int, ...], str]] = {}
        self._names: list[str] = []
        self._scalars: list[float] = []
        for name, value in constants.named.items():
            if np.ndim(value) == 0 and not isinstance(value, ScaledTensor):
                self._scalars.append(float(value))
            else:
                self._set(name, value)
        if where.type != "cpu":
            self.to(where)

    def _set(self, name: str, value: ScaledTensor | np.ndarray) -> None:
        """A constant as one or two buffers, on the memory of the array."""
        parts = {name: value}
        if isinstance(value, ScaledTensor):
            self._matrices[name] = value.format, value.shape, value.layout
            scales = value.scales if value.scales.dtype == np.float32 else value.scales.view(np.uint8)
            parts = {name: value.values.view(np.uint8), f"{name}_scales": scales}
        for part, array in parts.items():
            self.register_buffer(part, _dlpack.like(np.ascontiguousarray(array), torch.empty(0)))
            if part not in self._names:
                self._names.append(part)

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> MoELayer:
        """Moves bytes: a change of floating-point types is none of theirs."""
        before = self.w13.device.type
        after = fn(torch.empty(0, dtype=torch.uint8, device=self.w13.device)).device.type
        packed = [packing.is_packed(layout) for _, _, layout in self._matrices.values()]
        if before == "cpu" and after == "cuda" and not all(packed):
            self._repack(True)
        for name in self._names:
            buffer = self._buffers[name]
            self._buffers[name] = fn(buffer.view(torch.uint8)).view(buffer.dtype)  # type: ignore[union-attr]
        if after == "cpu" and before != "cpu" and any(packed):
            self._repack(False)
        return self

    def _matrix(self, name: str) -> ScaledTensor:
        fmt, shape, layout = self._matrices[name]
        values, scales = (_dlpack.asarray(self._buffers[part]) for part in (name, f"{name}_scales"))
        return ScaledTensor(values, scales, fmt, shape, layout)

    def _repack(self, for_kernels: bool) -> None:
        """Packs weights on the host, or unpacks them."""
        bias = self._buffers.get("bias13")
        weights = MoEWeights(self._matrix("w13"), self._matrix("w2"), activation=self.activation,
                             bias13=None if bias is None else _dlpack.asarray(bias))
        if for_kernels:
            weights = packing.pack_layer(weights, activation_format=self.signature.act)
        else:
            weights = packing.unpack_layer(weights)
        self.activation = weights.activation
        for name in ("w13", "w2", "bias13"):
            value = getattr(weights, name)
            if value is not None:
                self._set(name, value)
        fields = self.signature.fields
        fields.update(w13=static_type(weights.w13), w2=static_type(weights.w2),
                      activation=activation_of(weights.activation)[0])
        self._signature = self.signature.text()

    def forward(self, x: torch.Tensor, logits: torch.Tensor | None = None, *, topk_ids: torch.Tensor | None = None,
                topk_weights: torch.Tensor | None = None, top_k: int | None = None,
                out: torch.Tensor | None = None) -> torch.Tensor:
        """``x`` ``[T, H]`` to ``[T, H]``: routed by ``logits`` ``[T, E]`` to ``top_k`` experts (that of the module
        unless said), or to the experts ``topk_ids`` ``[T, top_k]`` (int32 or int64; -1 and E are none) with the factors
        ``topk_weights`` ``[T, top_k]``. On a GPU any id that is no expert is none. The result is new, or written to ``out``, a
        tensor without gaps in memory of its own. ``x`` of float32 is rounded where activations are not quantised, and the result
        is of float32 unless the module says another ``dtype``.

        ArgumentError for shapes and types that do not go together, tensors on other devices, and tensors that require a
        gradient; DataError on the CPU for ids that are no expert.
        """
        if (logits is None) == (topk_ids is None) or (topk_ids is None) != (topk_weights is None):
            raise ArgumentError("expected either logits= [T, E] or topk_ids= [T, top_k] with topk_weights=")
        x = x.contiguous()
        choice = [each.contiguous() for each in (logits, topk_ids, topk_weights) if each is not None]
        _refuse_gradients((x, *choice))
        if top_k is None and topk_ids is None:
            top_k = self.top_k
        buffers: Any = self._buffers
        constants = [buffers[name] for name in self._names]
        if constants[0].device != x.device:
            raise ArgumentError(f"expected x on {constants[0].device}, where the weights are, but got it on {x.device}")
        dtype = self.dtype
        if x.dtype == torch.float32 and self.signature.rows:
            x, dtype = x.to(getattr(torch, self.signature.rows)), dtype or torch.float32
        arguments = x, choice, constants, self._scalars, top_k, dtype, self._signature
        if out is None:
            return _run(*arguments)
        torch.ops.nvfp4.moe_layer.out(*arguments, out=out)
        return out


# By the identity of weights: layers with their options, by what those are.
_layers: dict[int, dict[Any, tuple[MoELayer, dict[str, Any]]]] = {}


def _layer_of(weights: MoEWeights, device: torch.device, options: dict[str, Any]) -> MoELayer:
    """The packed layer of weights, kept as long as they are."""
    if id(weights) not in _layers:
        _layers[id(weights)] = {}
        weakref.finalize(weights, _layers.pop, id(weights), None)
    kept = _layers[id(weights)]
    plain = str, int, float, torch.dtype, type(None)
    # Arrays are the same if they are one, which is kept.
    key = str(device), *((name, value if isinstance(value, plain) else id(value))
                         for name, value in sorted(options.items()))
    if key not in kept:
        kept[key] = MoELayer(weights, device=device, **options), options
    return kept[key][0]


def moe_layer(x: torch.Tensor, weights: MoEWeights | MoELayer, logits: torch.Tensor | None = None, *,
              topk_ids: torch.Tensor | None = None, topk_weights: torch.Tensor | None = None, top_k: int | None = None,
              out: torch.Tensor | None = None, **options: Any) -> torch.Tensor:
    """:class:`MoELayer` as a function: on the device of ``x``, which is ``[T, H]``, as is the result, a new one or ``out``.

    ``weights`` is a MoELayer, or MoEWeights, which are packed and moved to a GPU once for each of them and each set of
    ``options`` (those of the module); later changes of their arrays have no effect there. Under ``torch.compile`` use a
    MoELayer.
    """
    if isinstance(weights, MoELayer):
        if options:
            raise ArgumentError(f"expected no {', '.join(options)} beside a MoELayer, which has its options")
        layer = weights
    elif x.device.type == "cpu":
        layer = MoELayer(weights, **options)
    else:
        layer = _layer_of(weights, x.device, options)
    return layer(x, logits, topk_ids=topk_ids, topk_weights=topk_weights, top_k=top_k, out=out)
