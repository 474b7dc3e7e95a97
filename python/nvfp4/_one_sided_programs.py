# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A call of an expert-parallel layer as three functions, each with the kernels of the exchange and those of the layer: push,
experts, and the sum. Between them a rank waits for nobody on the host."""

from __future__ import annotations

import dataclasses
import functools
import re

import torch

from . import _one_sided_text as kernels
from ._calls import DIALECT
from ._expert_programs import Wire
from ._one_sided_text import STATE_WORDS, Layout
from ._torch_device import ELEMENTS
from ._torch_layer import parse_signature

__all__ = ["experts_text", "push_text", "sum_text"]


def _private(text: str) -> str:
    return text.replace("func.func @", "func.func private @", 1)


def _parameters(text: str) -> list[tuple[str, str]]:
    """Names and types of the parameters of a function."""
    header = re.search(r"@\w+\((.*?)\) \{\n", text, re.DOTALL)
    assert header
    parameters = [each.strip().partition(": ") for each in re.split(r",\s+(?=%)", header[1])]
    return [(name, kind) for name, _, kind in parameters]


def _call(text: str, *operands: str) -> str:
    """A call of the function of a text."""
    name, parameters = re.search(r"@(\w+)", text)[1], _parameters(text)  # type: ignore[index]
    assert len(parameters) == len(operands)
    return f"func.call @{name}({', '.join(operands)}) : ({', '.join(kind for _, kind in parameters)}) -> ()"


def _types(wire: Wire) -> list[str]:
    """The types of rows of a wire as memory, by parts."""
    tensors = [f"tensor<?x{wire.hidden}x{wire.form}>"] if wire.is_plain else wire.storage.split(", ")
    return [each.replace("tensor", "memref") for each in tensors]


def _to_tensor(name: str, source: str, memref: str) -> str:
    return f"%{name} = bufferization.to_tensor %{source} restrict : {memref} to {memref.replace('memref', 'tensor')}"


def _to_memory(name: str, source: str, memref: str) -> str:
    return f"%{name} = bufferization.to_buffer {source} : {memref.replace('memref', 'tensor')} to {memref}"


@functools.lru_cache(maxsize=64)
def push_text(layout: Layout, sent: Wire, element: str, ids: str, entries: tuple[int, int]) -> str:
    """Quantises rows ``x`` of an element type and pushes them; the other operands are those of the kernel."""
    inner = kernels.push_text(layout, ids, entries, tuple(_types(sent)))
    others = _parameters(inner)[len(sent.sizes):]
    x, scaled = f"tensor<?x{sent.hidden}x{element}>", sent.type
    scale, more = "", []
    if sent.encode is not None:
        scale, more = " global_scale(%encode : f32)", ["%encode: f32"]
    arguments = ", ".join([f"%x: {x}", *(f"{name}: {kind}" for name, kind in others), *more])
    made = "\n  ".join(_to_memory(f"m{i}", f"%t{i}", kind) for i, kind in enumerate(_types(sent)))
    return f"""{_private(inner)}
func.func @push_quantized({arguments}) {{
  %q = {DIALECT}.quantize {sent.quantizer}(%x : {x}){scale} -> {scaled}
  %t0, %t1 = {DIALECT}.split_scaled %q : {scaled} -> {sent.storage}
  {made}
  {_call(inner, "%m0", "%m1", *(name for name, _ in others))}
  return
}}
"""


@functools.lru_cache(maxsize=64)
def experts_text(layout: Layout, signature: str, sent: Wire, returned: Wire) -> str:
    """Waits for rows, and returns those of the products: ``limit``, ``heard``, ``places``, the constants of the layer, ``peers`` and
    ``state``. ``sent`` is how products take rows."""
    described = parse_signature(signature)
    text = described.given(0, (0, 1), (0, 1), None, element=sent.form if sent.is_plain else "bf16", ids="i32", scores="f32")
    text = dataclasses.replace(text, rows="" if sent.is_plain else sent.storage)
    experts, slots = described.experts, layout.slots
    messages = layout.ranks * layout.tokens
    there, back = _types(sent), _types(returned)
    wait = kernels.await_text(layout, kernels.DISPATCH)
    number = kernels.number_text(layout, experts)
    fetch = kernels.fetch_text(layout, experts, tuple(there))
    give = kernels.give_back_text(layout, tuple(back))
    ends, origin, table = f"memref<{experts}xi32>", f"memref<{messages * slots}xi32>", f"memref<{messages}x{slots}xi32>"
    arguments = ["%limit: i64", f"%heard: memref<{layout.ranks}x2xi32>", f"%places: memref<?x{slots}xi32>"]
    out = returned.form if returned.is_plain else "f32"
    products = text.products(arguments, "%s#0", out)
    arguments += [f"%peers: memref<{layout.ranks}xi64>", f"%state: memref<{STATE_WORDS}xi32>"]
    rooms = "\n  ".join(f"%part{i} = memref.alloc(%rows) : {kind}" for i, kind in enumerate(there))
    if sent.is_plain:
        rows = _to_tensor("p", "part0", there[0])
    else:
        rows = (f"{_to_tensor('qv', 'part0', there[0])}\n  {_to_tensor('qs', 'part1', there[1])}\n  "
                f"%q = {DIALECT}.make_scaled %qv, %qs : {sent.storage} -> !act")
    if returned.is_plain:
        made = _to_memory("out0", "%y", back[0])
    else:
        made = (f"%yq = {DIALECT}.quantize {returned.quantizer}(%y : tensor<?x{returned.hidden}xf32>) -> {returned.type}\n"
                f"  %yv, %ys = {DIALECT}.split_scaled %yq : {returned.type} -> {returned.storage}\n"
                f"  {_to_memory('out0', '%yv', back[0])}\n  {_to_memory('out1', '%ys', back[1])}")
    sorted_types = ", ".join(each.replace("memref", "tensor") for each in (ends, origin, table))
    flat = "memref<?xi32>"
    return f"""{text.types()}{''.join(map(_private, (wait, number, fetch, give)))}
func.func @experts({', '.join(arguments)}) {{
  %c0 = arith.constant 0 : index
  %rows = arith.constant {messages * slots} : index
  {_call(wait, "%state", "%places", "%peers", "%limit")}
  %numbers = memref.alloc() : {table}
  {_call(number, "%numbers", "%heard", "%peers", "%state")}
  {_to_tensor("slots", "numbers", table)}
  %se = tensor.empty() : tensor<{experts}xi32>
  %st = tensor.empty() : tensor<{messages * slots}xi32>
  %sr = tensor.empty() : tensor<{messages}x{slots}xi32>
  %s:3 = {DIALECT}.sort_tokens(%slots : tensor<{messages}x{slots}xi32>) outs(%se, %st, %sr : {sorted_types})
      -> {sorted_types}
  {_to_memory("ends", "%s#0", ends)}
  {_to_memory("origin", "%s#1", origin)}
  {_to_memory("row_of", "%s#2", table)}
  {rooms}
  %messages = memref.cast %origin : {origin} to {flat}
  {_call(fetch, *(f"%part{i}" for i in range(len(there))), "%messages", "%ends", "%peers", "%state")}
  {rows}
  {products}
  {made}
  {_call(give, *(f"%out{i}" for i in range(len(back))), "%row_of", "%peers", "%state")}
  return
}}
"""


@functools.lru_cache(maxsize=64)
def sum_text(layout: Layout, returned: Wire, out: torch.dtype) -> str:
    """Waits for results, and sums those of each token in the order of its slots: ``back``, this rank's rows in the window,
    ``weights`` [T, slots], ``state``, ``places``, ``peers``, ``limit``."""
    wait, slots = kernels.await_text(layout, kernels.RETURN), layout.slots
    y, o = f"tensor<?x{returned.hidden}x{returned.form}>", f"tensor<?x{returned.hidden}x{ELEMENTS[out]}>"
    places = f"memref<?x{slots}xi32>"
    arguments = [f"%y: {y}", f"%weights: tensor<?x{slots}xf32>", *(f"{name}: {kind}" for name, kind in _parameters(wait))]
    return f"""{_private(wait)}
func.func @sum({', '.join(arguments)}) -> {o} {{
  {_call(wait, "%state", "%places", "%peers", "%limit")}
  %c0 = arith.constant 0 : index
  %tokens = memref.dim %places, %c0 : {places}
  {_to_tensor("by", "places", places)}
  %e = tensor.empty(%tokens) : {o}
  %o = {DIALECT}.combine(%y : {y}) by(%by : tensor<?x{slots}xi32>)
      weights(%weights : tensor<?x{slots}xf32>) outs(%e : {o}) -> {o}
  return %o : {o}
}}
"""
