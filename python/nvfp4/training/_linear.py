# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of a linear layer in MLIR."""

from __future__ import annotations

from .._scalars import check_count
from ..errors import check_one_of
from ._builder import SEED, Function, Value, tensor
from ._recipe import Recipe

__all__ = ["linear_text"]


def _whole_runs(f: Function, rows: Value) -> Value:
    """Rows and as many of zeros as make up runs of 16 with them, which Hadamard matrices mix."""
    if not f.recipe.turns:
        return rows
    size, run = f.dim(rows, 0), f.index(16)
    count = f.arithmetic("muli", f.arithmetic("ceildivui", size, run), run)
    zeros = f.zeros(rows.type, count)
    return f.one(f"tensor.insert_slice {rows.name} into {zeros.name}[0, 0] [{size.name}, {rows.dims[1]}] [1, 1] : {rows.type} into "
                 f"{zeros.type}", zeros.type)


def linear_functions(outputs: int, inputs: int, recipe: Recipe, weights: str) -> tuple[str, str]:
    """The functions ``forward`` and ``backward`` of :func:`linear_text`, each by itself."""
    check_one_of("weights", weights, ("f32", "bf16"))
    check_count("outputs", outputs)
    check_count("inputs", inputs)
    x, y = tensor("?", inputs, element="bf16"), tensor("?", outputs, element="bf16")
    w = tensor(outputs, inputs, element=weights)

    f = Function("forward", recipe, x=x, w=w)
    out = f.empty(tensor("?", outputs), f.dim(f["x"], 0))
    forward = f.text(f.product("<dense>", f.quantize(f["x"]), f.quantize(f["w"], of_weights=True), out))

    f = Function("backward", recipe, gradient=y, x=x, w=w, seed=SEED)
    out = f.empty(tensor("?", inputs), f.dim(f["gradient"], 0))
    of_rows, of_columns = f.of_gradient(f["gradient"], _whole_runs(f, f["gradient"]), (0, 1))
    dx = f.product("<dense>", of_rows, f.quantize(f["w"], of_weights=True, transposed=True), out)
    dw = f.product("<dense>", of_columns, f.along_tokens(_whole_runs(f, f["x"])), f.empty(tensor(outputs, inputs)))
    return forward, f.text(dx, dw)


def linear_text(outputs: int, inputs: int, recipe: Recipe | None = None, *, weights: str = "f32") -> str:
    """The functions ``forward`` and ``backward`` of ``y = x w^T`` in MLIR, with ``w`` ``[outputs, inputs]`` of the element type
    ``weights``, ``f32`` or ``bf16``. :class:`LinearProgram` says what they take and return; ``backward`` takes the seed as a
    tensor of one i64."""
    return "".join(linear_functions(outputs, inputs, recipe or Recipe(), weights))
