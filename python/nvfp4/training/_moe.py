# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of a Mixture-of-Experts layer in MLIR."""

from __future__ import annotations

import dataclasses

from .._calls import DIALECT
from .._scalars import check_count, check_flag
from ..errors import check_one_of
from ..options import ActivationLike, activation_of, swiglu
from ._builder import SEED, ZERO_TAIL, Function, Scaled, Value, tensor
from ._recipe import Recipe

__all__ = ["MoEShape", "moe_text"]

_VECTOR, _FACTORS = "tensor<?xi32>", "tensor<?xf32>"


@dataclasses.dataclass(frozen=True)
class MoEShape:
    """The sizes of a layer and its activation: ``w13`` is ``[experts, 2 width, hidden]``, or ``[experts, width, hidden]`` for
    activations of one value, and ``w2`` is ``[experts, hidden, width]``. With ``bias`` the rows of both have biases: ``b13``
    ``[experts, 2 width]`` and ``b2`` ``[experts, hidden]``; the scores of slots multiply the latter, too."""

    experts: int
    hidden: int
    width: int
    top_k: int
    activation: ActivationLike = dataclasses.field(default_factory=swiglu)
    bias: bool = False

    def __post_init__(self) -> None:
        for name in ("experts", "hidden", "width"):
            check_count(name, getattr(self, name))
        check_count("top_k", self.top_k, self.experts, "the number of experts")
        check_flag("bias", self.bias)

    @property
    def rows13(self) -> int:
        """Rows of a matrix of ``w13``."""
        return self.width * (2 if activation_of(self.activation)[1] else 1)

    @property
    def shape13(self) -> tuple[int, int, int]:
        return self.experts, self.rows13, self.hidden

    @property
    def bias_shapes(self) -> dict[str, tuple[int, int]]:
        """The shapes of the biases by their names; empty without."""
        return {"b13": self.shape13[:2], "b2": self.shape2[:2]} if self.bias else {}

    @property
    def shape2(self) -> tuple[int, int, int]:
        return self.experts, self.hidden, self.width


class _Layer:
    """Types and clauses that both functions have."""

    def __init__(self, shape: MoEShape, recipe: Recipe, weights: str):
        self.shape, self.recipe = shape, recipe
        self.x, self.z, self.y = (tensor("?", n, element="bf16") for n in (shape.hidden, shape.rows13, shape.width))
        self.wide = tensor("?", shape.hidden)
        self.slots, self.scores = tensor("?", shape.top_k, element="i32"), tensor("?", shape.top_k)
        self.w13, self.w2 = tensor(*shape.shape13, element=weights), tensor(*shape.shape2, element=weights)
        self.ends = tensor(shape.experts, element="i32")
        self.activation = activation_of(shape.activation)[0]
        self.biases = {name: tensor(*size) for name, size in shape.bias_shapes.items()}

    def grouping(self, kind: str) -> str:
        """Groups that begin at multiples of a block."""
        return f"<{kind}, ends, align = {self.recipe.block}>"

    def product(self, f: Function, ends: Value, lhs: Scaled, rhs: Scaled, type_: str, *, clauses: str = "") -> Value:
        """lhs rhs^T by groups of rows; rows of no group are zero."""
        return f.product(f"{self.grouping('ragged_rows')} groups({ends})", lhs, rhs, f.empty(type_, f.dim(lhs.rows, 0)),
                         clauses=clauses, attributes=ZERO_TAIL)

    def permute(self, f: Function, value: Value, index: Value) -> Value:
        """Rows by a vector of i32; -1 is a row of zeros."""
        out = f.empty(value.type, f.dim(index, 0))
        return f.one(f"{DIALECT}.permute({value}) by({index}) outs({out}) -> {out.type}", out.type)

    def combine(self, f: Function, rows: Value, places: Value) -> Value:
        """Sums over the slots of each token."""
        out = f.empty(rows.type, f.dim(places, 0))
        return f.one(f"{DIALECT}.combine({rows}) by({places}) outs({out}) -> {out.type}", out.type)


class _Forward(_Layer):
    def text(self) -> str:
        f = Function("forward", self.recipe, x=self.x, experts=self.slots, scores=self.scores, w13=self.w13, w2=self.w2,
                     **self.biases)
        ends, tokens, places = self.sort(f)
        factors = self.factors(f, tokens, places)
        rows = self.permute(f, f["x"], tokens)
        z, y = self.gate_up(f, ends, rows, factors)
        bias = f" bias({f['b2']}) prob({factors}) at bias" if self.shape.bias else ""
        out = self.product(f, ends, f.quantize(y), f.quantize(f["w2"], of_weights=True), self.wide, clauses=bias)
        return f.text(self.combine(f, out, places), z, factors, ends, tokens, places)

    def sort(self, f: Function) -> tuple[Value, Value, Value]:
        """Where groups end, the token of each row and the row of each slot. Groups begin at multiples of a block, and the
        number of rows is a multiple of one."""
        block, experts = self.recipe.block, self.shape.experts
        size = f.dim(f["x"], 0)
        slots = f.arithmetic("muli", size, f.index(self.shape.top_k))
        most = f.arithmetic("addi", slots, f.index(experts * (block - 1)))
        count = f.arithmetic("muli", f.arithmetic("ceildivui", most, f.index(block)), f.index(block))
        types = self.ends, _VECTOR, self.slots
        outs = f.empty(self.ends), f.empty(_VECTOR, count), f.empty(self.slots, size)
        ends, tokens, places = f.put(
            f"{DIALECT}.sort_tokens({f['experts']}) outs({', '.join(out.name for out in outs)} : {', '.join(types)}) "
            f"{{align = {block} : i64}} -> {', '.join(types)}", *types)
        return ends, tokens, places

    def factors(self, f: Function, tokens: Value, places: Value) -> Value:
        """The score of the slot that each row is of."""
        numbers = f.generic("pp", [(places, "01")], (f.empty(self.scores, f.dim(places, 0)), "01"),
                            "%result = arith.sitofp %a : i32 to f32")
        scores, numbers = (self.permute(f, each, tokens) for each in (f["scores"], numbers))
        return f.generic("pr", [(scores, "01"), (numbers, "01")], (f.zeros(_FACTORS, f.dim(tokens, 0)), "0"), """
            %i = linalg.index 0 : index
            %n = arith.index_cast %i : index to i32
            %row = arith.sitofp %n : i32 to f32
            %is = arith.cmpf oeq, %b, %row : f32
            %none = arith.constant 0.0 : f32
            %score = arith.select %is, %a, %none : f32
            %result = arith.addf %out, %score : f32""")

    def gate_up(self, f: Function, ends: Value, rows: Value, factors: Value) -> tuple[Value, ...]:
        """The pre-activation, of which rows of no group are zero, and what the second product multiplies."""
        lhs, rhs = f.quantize(rows), f.quantize(f["w13"], of_weights=True)
        count = f.dim(rows, 0)
        bias = f" bias({f['b13']})" if self.shape.bias else ""
        return f.put(f"{DIALECT}.matmul {self.grouping('ragged_rows')} groups({ends}) lhs({lhs.value}) rhs({rhs.value})"
                     f"{f.alpha(lhs, rhs)}{bias} prob({factors}) at post_activation activation = {self.activation} preact_outs({f.zeros(self.z, count)}) "
                     f"outs({f.empty(self.y, count)}){ZERO_TAIL} -> {self.z}, {self.y}", self.z, self.y)


class _Backward(_Layer):
    def text(self) -> str:
        f = Function("backward", self.recipe, gradient=self.x, x=self.x, z=self.z, factors=_FACTORS, ends=self.ends,
                     tokens=_VECTOR, places=self.slots, w13=self.w13, w2=self.w2, **self.biases, seed=SEED)
        count, ends = f.dim(f["z"], 0), self.mixed_ends(f)
        rows = self.permute(f, f["gradient"], f["tokens"])
        by_rows, by_columns = self.quantize(f, ends, rows, (0, 3))
        dy = self.of_rows(f, by_rows, f["w2"], self.y)
        dz, of_factors = f.put(
            f"{DIALECT}.glu_backward {self.activation}({f['z']}) gradient({dy}) prob({f['factors']}) outs({f.empty(self.z, count)}) "
            f"prob_outs({f.empty(_FACTORS, count)}) -> {self.z}, {_FACTORS}", self.z, _FACTORS)
        dz_by_rows, dz_by_columns = self.quantize(f, ends, dz, (1, 2))
        dx = self.combine(f, self.of_rows(f, dz_by_rows, f["w13"], self.wide), f["places"])
        dw13 = self.of_weights(f, ends, dz_by_columns, self.permute(f, f["x"], f["tokens"]), tensor(*self.shape.shape13))
        dw2 = self.of_weights(f, ends, by_columns, self.activated(f, count), tensor(*self.shape.shape2))
        if not self.shape.bias:
            return f.text(dx, self.of_slots(f, of_factors), dw13, dw2)
        of_factors = self.add_bias(f, of_factors, rows)
        return f.text(dx, self.of_slots(f, of_factors), dw13, dw2, *self.of_biases(f, dz, rows))

    def of_biases(self, f: Function, dz: Value, rows: Value) -> tuple[Value, Value]:
        """Sums over the rows of each expert."""
        groups = f" groups({f['ends']}) as {self.grouping('ragged_rows')}"
        return (f.sum_rows(dz, self.biases["b13"], clauses=groups),
                f.sum_rows(rows, self.biases["b2"], clauses=f"{groups} prob({f['factors']})"))

    def add_bias(self, f: Function, of_factors: Value, rows: Value) -> Value:
        """The gradients of factors, with what the bias of the expert adds to them."""
        size = f.dim(rows, 0)
        # Rows between groups are zeros: they may count as the last one's.
        before = f.generic("pr", [(f["ends"], "1")], (f.zeros(_FACTORS, size), "0"), f"""
            %i = linalg.index 0 : index
            %end = arith.index_cast %a : i32 to index
            %block = arith.constant {self.recipe.block} : index
            %blocks = arith.ceildivui %end, %block : index
            %next = arith.muli %blocks, %block : index
            %behind = arith.cmpi uge, %i, %next : index
            %count = arith.uitofp %behind : i1 to f32
            %result = arith.addf %count, %out : f32""")
        return f.generic("pr", [(rows, "01"), (before, "0")], (of_factors, "0"), f"""
            %last = arith.constant {self.shape.experts - 1} : index
            %number = arith.fptosi %b : f32 to i32
            %group = arith.index_cast %number : i32 to index
            %expert = arith.minui %group, %last : index
            %column = linalg.index 1 : index
            %bias = tensor.extract %b2[%expert, %column] : {self.biases["b2"]}
            %wide = arith.extf %a : bf16 to f32
            %product = arith.mulf %wide, %bias : f32
            %result = arith.addf %product, %out : f32""")

    def quantize(self, f: Function, ends: Value, gradient: Value, draws: tuple[int, int]) -> tuple[Scaled, Scaled]:
        """A gradient by rows, and along the tokens of each group."""
        return f.of_gradient(gradient, gradient, draws, groups=self.along_groups(ends))

    def of_rows(self, f: Function, gradient: Scaled, weights: Value, type_: str) -> Value:
        """The gradient [R, N] times the matrix [N, K] of each group."""
        return self.product(f, f["ends"], gradient, f.quantize(weights, of_weights=True, transposed=True), type_)

    def of_weights(self, f: Function, ends: Value, gradient: Scaled, rows: Value, type_: str) -> Value:
        """gradient^T rows over the tokens of each group; the gradient is transposed already."""
        return f.product(f"{self.grouping('ragged_k')} groups({ends})", gradient,
                         f.along_tokens(rows, groups=self.along_groups(ends)), f.empty(type_))

    def along_groups(self, ends: Value) -> str:
        """The clause of what has blocks along the tokens of each group."""
        return f" groups({ends}) as {self.grouping('ragged_k')}"

    def mixed_ends(self, f: Function) -> Value:
        """Where the groups of a gradient of weights end: Hadamard matrices spread the last tokens of a group over a whole
        run, of which the product needs all."""
        if not self.recipe.turns:
            return f["ends"]
        return f.generic("p", [(f["ends"], "0")], (f.empty(self.ends), "0"), """
            %run = arith.constant 16 : i32
            %runs = arith.ceildivui %a, %run : i32
            %result = arith.muli %runs, %run : i32""")

    def activated(self, f: Function, count: Value) -> Value:
        """Again what the second product multiplied, from the pre-activation."""
        wide = f.empty(tensor("?", self.shape.width), count)
        y = f.one(f"{DIALECT}.glu {self.activation}({f['z']}) outs({wide}) -> {wide.type}", wide.type)
        return f.generic("pp", [(y, "01"), (f["factors"], "0")], (f.empty(self.y, count), "01"), """
            %product = arith.mulf %a, %b : f32
            %result = arith.truncf %product : f32 to bf16""")

    def of_slots(self, f: Function, of_rows: Value) -> Value:
        """A number of each row as one of its slot; zero for slots without a row."""
        size, count = f.dim(f["places"], 0), f.dim(of_rows, 0)
        flat = f.one(f"tensor.collapse_shape {f['places'].name} [[0, 1]] : {self.slots} into {_VECTOR}", _VECTOR)
        column = f.one(f"tensor.expand_shape {of_rows.name} [[0, 1]] output_shape [{count.name}, 1] : {_FACTORS} into "
                       "tensor<?x1xf32>", "tensor<?x1xf32>")
        column = self.permute(f, column, flat)
        line = f.one(f"tensor.collapse_shape {column.name} [[0, 1]] : {column.type} into {_FACTORS}", _FACTORS)
        return f.one(f"tensor.expand_shape {line.name} [[0, 1]] output_shape [{size.name}, {self.shape.top_k}] : {_FACTORS} into "
                     f"{self.scores}", self.scores)


def moe_functions(shape: MoEShape, recipe: Recipe, weights: str) -> tuple[str, str]:
    """The functions ``forward`` and ``backward`` of :func:`moe_text`, each by itself."""
    check_one_of("weights", weights, ("f32", "bf16"))
    return _Forward(shape, recipe, weights).text(), _Backward(shape, recipe, weights).text()


def moe_text(shape: MoEShape, recipe: Recipe | None = None, *, weights: str = "f32") -> str:
    """The functions ``forward`` and ``backward`` of a layer in MLIR; ``weights`` is the element type of its weights, ``f32`` or
    ``bf16``; biases are f32. :class:`MoEProgram` says what they take and return; ``backward`` takes the seed as a tensor of one i64."""
    return "".join(moe_functions(shape, recipe or Recipe(), weights))
