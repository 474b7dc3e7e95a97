# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiled parts of an expert-parallel layer on tensors of torch: rows into the wire's format and back, the products of
rows that are in the order of their experts, and the sum of each token.

Every part is one function for any number of rows, on the CPU or in the current stream of a GPU. None of them waits.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import torch

from . import _dlpack
from ._calls import DIALECT, program_of
from ._layer_text import PLAIN
from ._repeats import keep
from ._torch_device import DTYPES, ELEMENTS, HostTensorLauncher, find_device, find_launcher
from ._torch_layer import MoELayer, parse_signature
from .options import quantizer_of
from .tensors import FORMATS, scales_shape, values_shape

__all__ = ["Wire", "experts_text", "input_wire", "run", "run_experts", "sort_slots", "sort_text", "sum_slots", "sum_text", "wire_of"]


def run(text: str, tensors: Sequence[torch.Tensor], results: Sequence[tuple[tuple[int, ...], torch.dtype]],
        constants: Sequence[torch.Tensor] = (), scalars: Sequence[float] = ()) -> list[torch.Tensor]:
    """The results, of these shapes and types, of the one function of ``text``, on the device of the tensors."""
    device = find_device(tensors[0])
    if device is None:
        launcher = keep((text, *scalars), lambda: HostTensorLauncher(program_of(text)._select(None), scalars))
        arrays = launcher((*tensors, *constants))
        # Strides of an array without elements are zero.
        return [_dlpack.like(array, tensors[0]).view(dtype) if array.size else torch.empty(shape, dtype=dtype)
                for array, (shape, dtype) in zip(arrays, results)]
    on_gpu = find_launcher(device, text, tuple(scalars), constants[0].data_ptr() if constants else 0)
    made = [torch.empty(shape, dtype=dtype, device=tensors[0].device) for shape, dtype in results]
    on_gpu(tensors, constants, made, tuple(each.shape[0] for each in tensors))
    return made


@dataclasses.dataclass(frozen=True)
class Wire:
    """The form in which rows of ``hidden`` numbers travel: an element type of MLIR (``bf16``, ``f16``, ``f32``), or a format
    of nvfp4.FORMATS, into which ``quantizer`` (its text) brings them, with ``encode`` as global scale where it is not None.
    """

    form: str
    hidden: int
    quantizer: str = ""
    encode: float | None = None

    @property
    def is_plain(self) -> bool:
        """Rows are numbers, without scales."""
        return self.form in DTYPES

    @property
    def sizes(self) -> tuple[int, ...]:
        """Bytes of a row: of its numbers, or of its values and of its scales."""
        if self.is_plain:
            return (self.hidden * DTYPES[self.form].itemsize,)
        return values_shape((1, self.hidden), self.form)[-1], scales_shape((1, self.hidden), self.form)[-1]

    @property
    def storage(self) -> str:
        """The types of values and scales in MLIR."""
        info, (values, scales) = FORMATS[self.form], self.sizes
        return f"tensor<?x{values}x{info.element}>, tensor<?x{scales}x{info.scale_element}>"

    @property
    def type(self) -> str:
        """The type of quantised rows in MLIR."""
        return f"!{DIALECT}.scaled<?x{self.hidden}, {self.form}>"

    def pack(self, rows: torch.Tensor) -> list[torch.Tensor]:
        """Rows ``[N, hidden]`` as one or two tensors of bytes ``[N, size]``."""
        if self.is_plain:
            return [rows.to(DTYPES[self.form]).contiguous().view(torch.uint8)]
        made = [((rows.shape[0], size), torch.uint8) for size in self.sizes]
        return run(self.pack_text(ELEMENTS[rows.dtype]), [rows.contiguous()], made,
                   scalars=() if self.encode is None else (self.encode,))

    @functools.lru_cache(maxsize=1024)
    def pack_text(self, element: str) -> str:
        """The text of :meth:`pack` for rows of an element type."""
        x = f"tensor<?x{self.hidden}x{element}>"
        scale = "" if self.encode is None else " global_scale(%encode : f32)"
        return f"""func.func @pack(%x: {x}{'' if self.encode is None else ', %encode: f32'}) -> {self.type} {{
  %q = {DIALECT}.quantize {self.quantizer}(%x : {x}){scale} -> {self.type}
  return %q : {self.type}
}}
"""

    def unpack(self, parts: Sequence[torch.Tensor], element: str) -> torch.Tensor:
        """Rows ``[N, hidden]`` of an element type that packed ones stand for, without the global scale."""
        if self.is_plain:
            return parts[0].contiguous().view(DTYPES[self.form]).to(DTYPES[element])
        made = (parts[0].shape[0], self.hidden), DTYPES[element]
        return run(self.unpack_text(element), [part.contiguous() for part in parts], [made])[0]

    @functools.lru_cache(maxsize=1024)
    def unpack_text(self, element: str) -> str:
        """The text of :meth:`unpack`."""
        out = f"tensor<?x{self.hidden}x{element}>"
        return f"""func.func @unpack(%q: {self.type}) -> {out} {{
  %c0 = arith.constant 0 : index
  %v, %s = {DIALECT}.split_scaled %q : {self.type} -> {self.storage}
  %n = tensor.dim %v, %c0 : {self.storage.partition('>')[0]}>
  %e = tensor.empty(%n) : {out}
  %x = {DIALECT}.dequantize(%q : {self.type}) outs(%e : {out}) -> {out}
  return %x : {out}
}}
"""


def wire_of(form: str, hidden: int, quantizer: Any = None) -> Wire:
    """The wire of a form, with the quantiser of that format unless said."""
    return Wire(form, hidden, "" if form in DTYPES else str(quantizer_of(quantizer, form)))


def input_wire(layer: MoELayer) -> Wire:
    """The wire of rows as the products of a layer take them."""
    act, hidden = layer.signature.act, layer.signature.hidden
    if act in PLAIN:
        return Wire(act, hidden)
    fields = layer.signature.fields
    return Wire(act, hidden, fields["quantizer"], layer._scalars[0] if fields["encode13"] else None)


def experts_text(layer: MoELayer, top_k: int, out: str) -> str:
    """The text of :func:`run_experts`."""
    return _experts_text(layer._signature, top_k, out)


@functools.lru_cache(maxsize=1024)
def _experts_text(signature: str, top_k: int, out: str) -> str:
    described = parse_signature(signature)
    wire = Wire(described.act, described.hidden)
    text = described.given(0, (0, top_k), (0, top_k), None, element=wire.form if wire.is_plain else "bf16", ids="i32",
                                 scores="f32")
    return dataclasses.replace(text, out=out, rows="" if wire.is_plain else wire.storage).rows_text()


def run_experts(layer: MoELayer, rows: Sequence[torch.Tensor], ends: torch.Tensor, places: torch.Tensor,
                weights: torch.Tensor, out: str = "f32") -> torch.Tensor:
    """``[N, H]`` of an element type, from packed rows in the order of their experts (those of :func:`input_wire`), the
    ``ends`` ``[E]`` of experts, and places of rows and weights ``[N, top_k]``: the weighted sum of the products' rows at
    the places of n, in their order; -1 is none. Rows behind the last end are those of no expert."""
    wire = input_wire(layer)
    given = [each.view(DTYPES[wire.form]) for each in rows] if wire.is_plain else list(rows)
    constants = [layer._buffers[name] for name in layer._names]
    made = (places.shape[0], layer.signature.hidden), DTYPES[out]
    return run(experts_text(layer, places.shape[1], out), [*given, ends, places, weights], [made],
               constants, layer._scalars)[0]  # type: ignore[arg-type]


@functools.lru_cache(maxsize=1024)
def sort_text(slots: int, groups: int) -> str:
    """The text of :func:`sort_slots`."""
    group, ends = f"tensor<?x{slots}xi32>", f"tensor<{groups}xi32>"
    return f"""func.func @sort(%group: {group}) -> ({ends}, tensor<?xi32>, {group}) {{
  %c0 = arith.constant 0 : index
  %ck = arith.constant {slots} : index
  %tokens = tensor.dim %group, %c0 : {group}
  %rows = arith.muli %tokens, %ck : index
  %e = tensor.empty() : {ends}
  %t = tensor.empty(%rows) : tensor<?xi32>
  %r = tensor.empty(%tokens) : {group}
  %s:3 = {DIALECT}.sort_tokens(%group : {group}) outs(%e, %t, %r : {ends}, tensor<?xi32>, {group})
      -> {ends}, tensor<?xi32>, {group}
  return %s#0, %s#1, %s#2 : {ends}, tensor<?xi32>, {group}
}}
"""


def sort_slots(group: torch.Tensor, groups: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(``ends`` ``[groups]``, the token of each row ``[T * k]``, the row of each slot ``[T, k]``), int32: a stable order of
    slots ``[T, k]`` int32 by their group, of which -1 is none."""
    tokens, slots = group.shape
    shapes = ((groups,), (tokens * slots,), (tokens, slots))
    ends, token, row = run(sort_text(slots, groups), [group.contiguous()], [(shape, torch.int32) for shape in shapes])
    return ends, token, row


@functools.lru_cache(maxsize=1024)
def sum_text(element: torch.dtype, hidden: int, slots: int, out: torch.dtype) -> str:
    """The text of :func:`sum_slots`."""
    y, o = f"tensor<?x{hidden}x{ELEMENTS[element]}>", f"tensor<?x{hidden}x{ELEMENTS[out]}>"
    return f"""func.func @sum(%y: {y}, %places: tensor<?x{slots}xi32>, %weights: tensor<?x{slots}xf32>) -> {o} {{
  %c0 = arith.constant 0 : index
  %tokens = tensor.dim %places, %c0 : tensor<?x{slots}xi32>
  %e = tensor.empty(%tokens) : {o}
  %o = {DIALECT}.combine(%y : {y}) by(%places : tensor<?x{slots}xi32>)
      weights(%weights : tensor<?x{slots}xf32>) outs(%e : {o}) -> {o}
  return %o : {o}
}}
"""


def sum_slots(rows: torch.Tensor, places: torch.Tensor, weights: torch.Tensor, out: torch.dtype) -> torch.Tensor:
    """``[T, H]``: for each token the sum of ``weights`` times the ``rows`` ``[N, H]`` at its ``places`` ``[T, S]``, fused
    multiply-adds in float32 in the order of the slots from 0, rounded once; -1 is left out."""
    text = sum_text(rows.dtype, rows.shape[1], places.shape[1], out)
    return run(text, [rows, places, weights], [((places.shape[0], rows.shape[1]), out)])[0]
