# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations of a function in MLIR, on tensors in the format of a recipe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from .._calls import DIALECT
from ..options import Hadamard
from ._recipe import Recipe

_MOST = 2688  # 448 * 6, the largest number of NVFP4 under a global scale of 1
_LARGEST = 3.4028234e38
#: Rows of no group become zeros.
ZERO_TAIL = f" {{tail = #{DIALECT}<tail zero>}}"


#: The type of the argument ``seed`` of a function with quantisers that round stochastically: in memory, so that a CUDA graph
#: draws other numbers when it is replayed.
SEED = "tensor<1xi64>"


def tensor(*dims: int | str, element: str = "f32") -> str:
    """A tensor type in MLIR."""
    return f"tensor<{'x'.join(map(str, (*dims, element)))}>"


class Value(NamedTuple):
    """A value in MLIR, by its name, and its type."""

    name: str
    type: str

    def __str__(self) -> str:
        return f"{self.name} : {self.type}"

    @property
    def dims(self) -> list[str]:
        """The extents of a tensor."""
        return self.type[self.type.index("<") + 1:-1].split("x")[:-1]

    @property
    def element(self) -> str:
        """The element type of a tensor."""
        return self.type[self.type.index("<") + 1:-1].split("x")[-1]


class Scaled(NamedTuple):
    """A quantised tensor, the encode scale that it was made with (f32, or one for each matrix of a stack; None in formats
    without) and the tensor of real numbers that it was made of."""

    value: Value
    scale: Value | None
    rows: Value


class Function:
    """A function that is written operation by operation. Names of values end in numbers, those of arguments do not."""

    def __init__(self, name: str, recipe: Recipe, **arguments: str):
        self._name, self.recipe = name, recipe
        self._arguments = {key: Value(f"%{key}", type_) for key, type_ in arguments.items()}
        self._lines: list[str] = []
        self._count = 0

    def __getitem__(self, argument: str) -> Value:
        return self._arguments[argument]

    def text(self, *results: Value) -> str:
        """The whole function, which returns ``results``."""
        types = ", ".join(value.type for value in results)
        body = "".join(f"  {line}\n" for line in self._lines)
        return (f"func.func @{self._name}({', '.join(f'{v.name}: {v.type}' for v in self._arguments.values())}) -> ({types}) {{\n"
                f"{body}  return {', '.join(value.name for value in results)} : {types}\n}}\n")

    def put(self, operation: str, *types: str) -> tuple[Value, ...]:
        """Adds an operation with results of these types."""
        values = []
        for type_ in types:
            self._count += 1
            values.append(Value(f"%v{self._count}", type_))
        self._lines.append(f"{', '.join(value.name for value in values)} = {operation}")
        return tuple(values)

    def one(self, operation: str, type_: str) -> Value:
        """Adds an operation with one result."""
        return self.put(operation, type_)[0]

    def index(self, value: int) -> Value:
        return self.one(f"arith.constant {value} : index", "index")

    def f32(self, value: float) -> Value:
        return self.one(f"arith.constant {value:.9e} : f32", "f32")

    def dim(self, value: Value, i: int) -> Value:
        return self.one(f"tensor.dim {value.name}, {self.index(i).name} : {value.type}", "index")

    def arithmetic(self, name: str, first: Value, second: Value) -> Value:
        """``arith.name`` of two scalars of one type."""
        return self.one(f"arith.{name} {first.name}, {second.name} : {first.type}", first.type)

    def empty(self, type_: str, *sizes: Value) -> Value:
        return self.one(f"tensor.empty({', '.join(size.name for size in sizes)}) : {type_}", type_)

    def zeros(self, type_: str, *sizes: Value) -> Value:
        empty = self.empty(type_, *sizes)
        zero = self.one(f"arith.constant 0.0 : {empty.element}", empty.element)
        return self.one(f"linalg.fill ins({zero}) outs({empty}) -> {type_}", type_)

    def generic(self, iterators: str, ins: Sequence[tuple[Value, str]], out: tuple[Value, str], body: str) -> Value:
        """``linalg.generic``. ``iterators`` has p or r for each loop, in parallel or of a reduction; an operand comes with the
        numbers of the loops that its dimensions follow. The body, lines of MLIR, computes ``%result`` from ``%a``, ``%b``,
        ... and ``%out``; its names are none of the arguments'."""
        loops = ", ".join(f"d{i}" for i in range(len(iterators)))
        maps = [f"affine_map<({loops}) -> ({', '.join('d' + d for d in places)})>" for _, places in (*ins, out)]
        kinds = ", ".join({"p": '"parallel"', "r": '"reduction"'}[kind] for kind in iterators)
        names = [f"%{'abcd'[i]}: {value.element}" for i, (value, _) in enumerate(ins)]
        operands = f"{', '.join(v.name for v, _ in ins)} : {', '.join(v.type for v, _ in ins)}"
        lines = "".join(f"    {line.strip()}\n" for line in body.strip().splitlines())
        return self.one(f"linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = [{kinds}]}} ins({operands}) "
                        f"outs({out[0]}) {{\n  ^bb0({', '.join(names)}, %out: {out[0].element}):\n{lines}    linalg.yield %result : "
                        f"{out[0].element}\n  }} -> {out[0].type}", out[0].type)

    def scale_of(self, value: Value, clause: str = "", mode: str = "") -> Value | None:
        """The encode scale of a matrix, f32, or of each matrix of a stack, with clause and attributes of what is quantised; None
        for formats without."""
        if not self.recipe.has_global:
            return None
        out = self.empty(tensor(*value.dims[:-2]) if value.dims[:-2] else "tensor<f32>")
        most = self.one(f"{DIALECT}.amax({value}){clause} outs({out}){mode} -> {out.type}", out.type)
        constants = {name: self.f32(number).name for name, number in (("zero", 0), ("one", 1), ("most", _MOST), ("largest", _LARGEST))}
        places = "0" * len(most.dims)
        scale = self.generic("p" * len(places), [(most, places)], (self.empty(most.type), places), """
            %none = arith.cmpf oeq, %a, {zero} : f32
            %quotient = arith.divf {most}, %a : f32
            %finite = arith.minimumf %quotient, {largest} : f32
            %result = arith.select %none, {one}, %finite : f32""".format(**constants))
        return scale if places else self.one(f"tensor.extract {scale.name}[] : {scale.type}", "f32")

    def quantize(self, value: Value, *, of_weights: bool = False, transposed: bool = False) -> Scaled:
        """A tensor, other than a gradient, in the format of the recipe."""
        return self._quantize(value, of_weights=of_weights, transposed=transposed)()

    def _quantize(self, value: Value, *, of_weights: bool = False, draw: int | None = None, groups: str = "",
                  transposed: bool = False, mixed: bool = False) -> Callable[[], Scaled]:
        """The scale of a tensor; the function that is returned adds the quantiser. ``groups`` is the clause that says how
        groups cut the result. A gradient has the number ``draw`` among those of the function. ``mixed`` numbers are those
        of the Hadamard matrix of the recipe."""
        quantizer = self.recipe.quantizer(of_weights=of_weights, of_gradient=draw is not None)
        dims = value.dims
        if transposed:
            dims[-2:] = dims[-1], dims[-2]
        mode = " {transposed}" if transposed else ""
        hadamard = f" hadamard = {Hadamard(sign_mask=self.recipe.sign_mask)}" if mixed else ""
        scale = self.scale_of(value, hadamard, mode if mixed else "")
        clauses = hadamard + groups + (f" global_scale({scale})" if scale else "")
        if draw is not None and "stochastic" in quantizer:
            clauses += f" seed({self._draw(draw).name})"
        type_ = f"!{DIALECT}.scaled<{'x'.join(dims)}, {self.recipe.format}>"
        return lambda: Scaled(self.one(f"{DIALECT}.quantize {quantizer}({value}){clauses}{mode} -> {type_}", type_), scale, value)

    def _draw(self, number: int) -> Value:
        """The seed of a quantiser of the function, from the argument ``seed``, which kernels read."""
        seed = self["seed"]
        first = self.one(f"tensor.extract {seed.name}[{self.index(0).name}] : {seed.type}", "i64")
        offset = self.one(f"arith.constant {number} : i64", "i64")
        return self.arithmetic("addi", first, offset)

    def along_tokens(self, rows: Value, *, groups: str = "") -> Scaled:
        """Rows ``[R, N]`` as ``[N, R]`` with blocks along the tokens, of each group."""
        return self._along_tokens(rows, groups, None)()

    def _along_tokens(self, rows: Value, groups: str, draw: int | None) -> Callable[[], Scaled]:
        return self._quantize(rows, groups=groups, transposed=True, draw=draw, mixed=self.recipe.turns)

    def of_gradient(self, rows: Value, along: Value, draws: tuple[int, int], *, groups: str = "") -> tuple[Scaled, Scaled]:
        """A gradient by ``rows``, and ``along`` the tokens of each group. The quantisers, which have the numbers ``draws``,
        follow one another: where both tensors are one, kernels read it once."""
        of_rows, of_columns = self._quantize(rows, draw=draws[0]), self._along_tokens(along, groups, draws[1])
        return of_rows(), of_columns()

    def alpha(self, lhs: Scaled, rhs: Scaled) -> str:
        """The clause that takes the scales of both operands out of a product, with a space before it, or nothing."""
        if lhs.scale is None or rhs.scale is None:
            return ""
        one = self.f32(1)
        if rhs.scale.type == "f32":
            product = self.arithmetic("mulf", lhs.scale, rhs.scale)
            return f" alpha({self.arithmetic('divf', one, product)})"
        # The first operand has one scale for all groups.
        factor = self.generic("p", [(rhs.scale, "0")], (self.empty(rhs.scale.type), "0"), f"""
            %product = arith.mulf %a, {lhs.scale.name} : f32
            %result = arith.divf {one.name}, %product : f32""")
        return f" alpha({factor})"

    def product(self, grouping: str, lhs: Scaled, rhs: Scaled, out: Value, *, clauses: str = "", attributes: str = "") -> Value:
        """lhs rhs^T, by group, into ``out``, with further clauses of the epilogue."""
        return self.one(f"{DIALECT}.matmul {grouping} lhs({lhs.value}) rhs({rhs.value}){self.alpha(lhs, rhs)}{clauses} outs({out})"
                        f"{attributes} -> {out.type}", out.type)

    def sum_rows(self, rows: Value, type_: str, *, clauses: str = "") -> Value:
        """The sums of rows, in float32, of the groups and with the factors that ``clauses`` says."""
        return self.one(f"{DIALECT}.sum_rows({rows}){clauses} outs({self.empty(type_)}) -> {type_}", type_)
