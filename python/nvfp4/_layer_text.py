# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text of a Mixture-of-Experts layer in MLIR, from the router's choice to the sums of tokens."""

from __future__ import annotations

import dataclasses

from ._calls import DIALECT

__all__ = ["PLAIN", "LayerText"]

#: Activations that are not quantised.
PLAIN = ("bf16", "f16")


@dataclasses.dataclass(frozen=True)
class LayerText:
    """The parameters of the text, all of which are in it.

    Experts come from ``logits`` (its element type) by ``routing``, or where that is empty from ``ids`` and ``scores``
    (their element types), the experts of each token and their weights. ``on_device`` is of kernels, which leave out
    every id that is none; elsewhere ids are checked. ``attributes`` are those of both products, with a space before.
    """

    experts: int
    hidden: int
    width: int
    top_k: int
    element: str
    logits: str
    ids: str
    scores: str
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
    on_device: bool = False
    attributes: str = ""
    #: The types of values and scales of rows that are quantised, of :meth:`rows_text`.
    rows: str = ""

    @property
    def is_plain(self) -> bool:
        """Rows of bf16 or f16 are multiplied as they are."""
        return self.act in PLAIN

    def types(self) -> str:
        scaled = "" if self.is_plain else f"!act = {self.act}\n!glu = {self.act2}\n"
        return f"{scaled}!w13 = {self.w13}\n!w2 = {self.w2}\n"

    def _gate_up(self, clauses: str, encode13: str, encode2: str, ends: str = "%s#0", is_ready: bool = False) -> str:
        """From the rows %p to %h; ``is_ready`` is of rows %q that are quantised."""
        product = f"%h = {DIALECT}.matmul <ragged_rows, ends> groups({ends} : tensor<{self.experts}xi32>)\n      lhs"
        rest = f"rhs(%w13 : !w13){clauses}\n      activation = {self.activation}"
        rows = f"tensor<?x{self.hidden}x{self.element}>"
        if self.is_plain:
            return (f"%he = tensor.empty(%rows) : {self.act2}\n  {product}(%p : {rows}) {rest} outs(%he : {self.act2})"
                    f"{self.attributes} -> {self.act2}")
        quantize = "" if is_ready else f"%q = {DIALECT}.quantize {self.quantizer}(%p : {rows}){encode13} -> !act\n  "
        return (f"{quantize}{product}(%q : !act) {rest} quantizer = {self.quantizer}{encode2}{self.attributes} -> !glu")

    def _choice(self, clause: str) -> str:
        """%weights and %experts, the choice of each token."""
        e, k = self.experts, self.top_k
        if not self.logits:
            return self._given_experts() + self._given_weights()
        return f"""  %we = tensor.empty(%tokens) : tensor<?x{k}xf32>
  %ee = tensor.empty(%tokens) : tensor<?x{k}xi32>
  %weights, %experts = {DIALECT}.route {self.routing}
      (%logits : tensor<?x{e}x{self.logits}>){clause}
      outs(%we, %ee : tensor<?x{k}xf32>, tensor<?x{k}xi32>){self.routing_attributes}
      -> tensor<?x{k}xf32>, tensor<?x{k}xi32>
"""

    def _given_experts(self) -> str:
        """The id E is -1, no expert. Other ids that are none stay none in 32 bits."""
        e, t = self.experts, self.ids
        if self._has("experts"):
            return ""
        last = "" if t == "i32" else f"    %id = arith.trunci %high : {t} to i32\n"
        return self._each_slot("experts", "ids", t, "i32", f"""    %none = arith.constant -1 : {t}
    %least = arith.constant -2 : {t}
    %end = arith.constant {e} : {t}
    %most = arith.constant {e + 1} : {t}
    %is_end = arith.cmpi eq, %in, %end : {t}
    %known = arith.select %is_end, %none, %in : {t}
    %low = arith.maxsi %known, %least : {t}
    %high = arith.minsi %low, %most : {t}
{last}    linalg.yield {'%id' if last else '%high'} : i32""")

    def _given_weights(self) -> str:
        if self._has("weights"):
            return ""
        return self._each_slot("weights", "scores", self.scores, "f32",
                               f"    %wide = arith.extf %in : {self.scores} to f32\n    linalg.yield %wide : f32")

    def _has(self, argument: str) -> bool:
        """Whether the caller's ids or weights need no conversion: they are the arguments."""
        return self.scores == "f32" if argument == "weights" else self.on_device and self.ids == "i32"

    def _each_slot(self, result: str, source: str, element: str, wanted: str, body: str) -> str:
        """%result of an element type, of each element %in of %source."""
        k, same = self.top_k, "affine_map<(t, s) -> (t, s)>"
        return f"""  %{result}_0 = tensor.empty(%tokens) : tensor<?x{k}x{wanted}>
  %{result} = linalg.generic {{indexing_maps = [{same}, {same}], iterator_types = ["parallel", "parallel"]}}
      ins(%{source} : tensor<?x{k}x{element}>) outs(%{result}_0 : tensor<?x{k}x{wanted}>) {{
  ^bb0(%in: {element}, %old: {wanted}):
{body}
  }} -> tensor<?x{k}x{wanted}>
"""

    def _down(self, clauses: str, ends: str = "%s#0", element: str = "f32") -> str:
        """From %h to %y, the row of each expert in an element type."""
        h = self.hidden
        return f"""%ye = tensor.empty(%rows) : tensor<?x{h}x{element}>
  %y = {DIALECT}.matmul <ragged_rows, ends> groups({ends} : tensor<{self.experts}xi32>)
      lhs(%h : {self.act2 if self.is_plain else '!glu'}) rhs(%w2 : !w2){clauses}
      outs(%ye : tensor<?x{h}x{element}>){self.attributes} -> tensor<?x{h}x{element}>"""

    def _constants(self, arguments: list[str]) -> dict[str, str]:
        """Adds the constants to the arguments in the order of use; the clause of each, with a space before."""
        e, h, i = self.experts, self.hidden, self.width
        clauses: dict[str, str] = {}

        def optional(keyword: str, name: str, type_: str) -> None:
            if type_:
                arguments.append(f"%{name}: {type_}")
            clauses[name] = f" {keyword}(%{name} : {type_})" if type_ else ""

        optional("bias", "routing_bias", f"tensor<{e}xf32>" if self.routing_bias else "")
        arguments.append("%w13: !w13")
        optional("alpha", "alpha13", f"tensor<{e}x2xf32>" if self.alpha13 else "")
        optional("bias", "bias13", f"tensor<{e}x{2 * i}x{self.bias13}>" if self.bias13 else "")
        optional("global_scale", "encode13", "f32" if self.encode13 else "")
        arguments.append("%w2: !w2")
        optional("alpha", "alpha2", f"tensor<{e}xf32>" if self.alpha2 else "")
        optional("bias", "bias2", f"tensor<{e}x{h}x{self.bias2}>" if self.bias2 else "")
        optional("global_scale", "encode2", self.encode2)
        return clauses

    def products(self, arguments: list[str], ends: str, element: str) -> str:
        """From %p, or quantised %q, of %rows rows to %y, the row of each expert in an element type; adds the constants to the
        arguments in the order of use."""
        clauses = self._constants(arguments)
        gate_up = self._gate_up(clauses["alpha13"] + clauses["bias13"], "", clauses["encode2"], ends, not self.is_plain)
        return f"""{gate_up}
  {self._down(clauses["alpha2"] + clauses["bias2"], ends, element)}"""

    def rows_text(self) -> str:
        """The module of the products alone, whose function ``rows`` takes rows in the order of their experts, quantised
        where products take them so, the ends of the experts, places ``[N, top_k]`` and weights of the same shape, and all
        constants. Row n of its result is the weighted sum of the products' rows at the places of n, of which -1 is none.
        """
        e, h, k = self.experts, self.hidden, self.top_k
        rows = f"tensor<?x{h}x{self.element}>" if self.is_plain else "!act"
        name = "%p" if self.is_plain else "%q"
        arguments = [f"{name}: {rows}", f"%ends: tensor<{e}xi32>", f"%places: tensor<?x{k}xi32>", f"%weights: tensor<?x{k}xf32>"]
        products = self.products(arguments, "%ends", "f32")
        split = "" if self.is_plain else f"%qv, %qs = {DIALECT}.split_scaled %q : !act -> {self.rows}\n  "
        counted = f"%p, %c0 : {rows}" if self.is_plain else f"%qv, %c0 : {self.rows.partition('>')[0]}>"
        return f"""{self.types()}func.func @rows({', '.join(arguments)}) -> tensor<?x{h}x{self.out}> {{
  %c0 = arith.constant 0 : index
  {split}%rows = tensor.dim {counted}
  {products}
  %tokens = tensor.dim %places, %c0 : tensor<?x{k}xi32>
  %oe = tensor.empty(%tokens) : tensor<?x{h}x{self.out}>
  %o = {DIALECT}.combine(%y : tensor<?x{h}xf32>) by(%places : tensor<?x{k}xi32>)
      weights(%weights : tensor<?x{k}xf32>)
      outs(%oe : tensor<?x{h}x{self.out}>) -> tensor<?x{h}x{self.out}>
  return %o : tensor<?x{h}x{self.out}>
}}
"""

    def text(self) -> str:
        """The module; its function ``layer`` takes x, the choice of experts, and the constants in the order of use."""
        e, h, k = self.experts, self.hidden, self.top_k
        arguments = [f"%x: tensor<?x{h}x{self.element}>"]
        if self.logits:
            arguments.append(f"%logits: tensor<?x{e}x{self.logits}>")
        else:
            arguments.append(f"%{'experts' if self._has('experts') else 'ids'}: tensor<?x{k}x{self.ids}>")
            arguments.append(f"%{'weights' if self._has('weights') else 'scores'}: tensor<?x{k}x{self.scores}>")
        clauses = self._constants(arguments)
        gate_up = self._gate_up(clauses["alpha13"] + clauses["bias13"], clauses["encode13"], clauses["encode2"])
        return f"""{self.types()}func.func @layer({', '.join(arguments)}) -> tensor<?x{h}x{self.out}> {{
  %c0 = arith.constant 0 : index
  %ck = arith.constant {k} : index
  %tokens = tensor.dim %x, %c0 : tensor<?x{h}x{self.element}>
  %rows = arith.muli %tokens, %ck : index
{self._choice(clauses["routing_bias"])}  %se = tensor.empty() : tensor<{e}xi32>
  %st = tensor.empty(%rows) : tensor<?xi32>
  %sr = tensor.empty(%tokens) : tensor<?x{k}xi32>
  %s:3 = {DIALECT}.sort_tokens(%experts : tensor<?x{k}xi32>)
      outs(%se, %st, %sr : tensor<{e}xi32>, tensor<?xi32>, tensor<?x{k}xi32>)
      -> tensor<{e}xi32>, tensor<?xi32>, tensor<?x{k}xi32>
  %pe = tensor.empty(%rows) : tensor<?x{h}x{self.element}>
  %p = {DIALECT}.permute(%x : tensor<?x{h}x{self.element}>) by(%s#1 : tensor<?xi32>)
      outs(%pe : tensor<?x{h}x{self.element}>) -> tensor<?x{h}x{self.element}>
  {gate_up}
  {self._down(clauses["alpha2"] + clauses["bias2"])}
  %oe = tensor.empty(%tokens) : tensor<?x{h}x{self.out}>
  %o = {DIALECT}.combine(%y : tensor<?x{h}xf32>) by(%s#2 : tensor<?x{k}xi32>)
      weights(%weights : tensor<?x{k}xf32>)
      outs(%oe : tensor<?x{h}x{self.out}>) -> tensor<?x{h}x{self.out}>
  return %o : tensor<?x{h}x{self.out}>
}}
"""
