# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chains of two operations: what makes the rows of a product, and what takes its result.

They stand in value form, where one operation takes the value of another.
"""

import numpy as np

from nvfp4_cases import poison
from nvfp4_formats import FORMATS, Plain, Scaled, random_scaled
from quantizers import quantize
from writer import DIALECT, Inexpressible, scaled_type

#: The quantiser that a chain uses for a format.
QUANTIZER = {"nvfp4": "cutlass", "mxfp4": "ocp", "nvfp4_e8m0": "te", "mxfp8_e4m3": "ue8m0_up", "mxfp8_e5m2": "cutlass"}
DEPTH = 64
COLUMNS = 40


def requantized(x, fmt):
    """A Scaled of f32 rows by the quantiser of the format."""
    k, info = x.shape[-1], FORMATS[fmt]
    codes, scales = quantize(x.reshape(-1, k) if x.size else np.zeros((int(np.prod(x.shape[:-1])), k), np.float32),
                             QUANTIZER[fmt], fmt)
    return Scaled(info, codes.reshape(x.shape), scales.reshape(x.shape[:-1] + (scales.shape[-1],)))


def require_values(builder, what):
    if builder.c["storage"] != "value":
        raise Inexpressible(f"a chain with {what} in storage form")


def clause_of_groups(builder, starts):
    """`groups(..) as <..>` of an operation outside products, where scales or blocks depend on groups."""
    if starts == "whole" and not builder.along_k:
        return ""
    if builder.groups.operand is None:
        raise Inexpressible("starts by group without groups")
    return f" groups({builder.groups_operand()}) as {builder.grouping()}"


def before(builder):
    """The lhs operand of the product as the result of another operation."""
    c, what = builder.c, builder.c["before"]
    require_values(builder, what)
    if isinstance(builder.product.lhs, Plain) or c["lhs"] not in FORMATS:
        raise Inexpressible("unscaled rows in a chain", excluded=True)
    w, dims, fmt = builder.writer, builder.lhs_dims(), c["lhs"]
    type_ = scaled_type(dims, fmt, c["lhs_layout"], c["lhs_starts"])
    if what == "relayout":
        operand = w.scaled("lhs", builder.stored_lhs("linear", "whole"), dims, fmt)
        text = f"{DIALECT}.relayout_scales({operand}){clause_of_groups(builder, c['lhs_starts'])}"
    elif what == "quantize":
        operand = w.tensor("lhs", dims, "f32", requantize(builder))
        text = f"{DIALECT}.quantize <{QUANTIZER[fmt]}>({operand}){clause_of_groups(builder, c['lhs_starts'])}"
    else:
        text = first_product(builder, dims, fmt)
    (name, _), = w.operation(text, [("lhs", [], type_)])
    return f"{name} : {type_}"


def requantize(builder):
    """Rows in f32, NaN outside groups; the product gets what the quantiser makes of them."""
    product, fmt = builder.product, builder.c["lhs"]
    if builder.along_k:
        x = np.full((builder.m, builder.k), np.nan, np.float32)
        parts = []
        for part, begin in zip(product.lhs, builder.groups.begins):
            values = part.values().astype(np.float32)
            x[:, begin:begin + part.shape[1]] = values
            parts.append(requantized(values, fmt))
        product.lhs = parts
        return x
    x = product.lhs.values().astype(np.float32)
    product.lhs = requantized(x, fmt)
    return x


def first_product(builder, dims, fmt):
    """A product whose quantised result is the lhs of the next."""
    if builder.along_k:
        raise Inexpressible("rows of a product with groups along K")
    w, groups, rng = builder.writer, builder.groups, builder.rng
    outer = (len(groups),) if builder.stacked else ()
    x = random_scaled(rng, outer + (builder.m, DEPTH), "nvfp4", codes="small")
    stack = () if groups.kind == "dense" else (len(groups),)
    weights = random_scaled(rng, stack + (builder.k, DEPTH), "nvfp4", codes="small")
    known = builder.c["static"] != "none"
    depth = DEPTH if known else "?"
    lhs = w.scaled("x", x.store(), dims[:-1] + [depth], "nvfp4")
    rhs_dims = [dims[-1], depth] if groups.kind == "dense" else [builder.g(), dims[-1], depth]
    rhs = w.scaled("v", weights.store(), rhs_dims, "nvfp4")
    values, factors = x.values(), weights.values()
    y = np.full(values.shape[:-1] + (builder.k,), np.nan, np.float32)
    for g, index in enumerate(builder.indices()):
        y[index] = values[index] @ (factors if groups.kind == "dense" else factors[g]).T
    builder.product.lhs = requantized(y, fmt)
    clause = f" groups({builder.groups_operand()})" if groups.operand is not None else ""
    return f"{DIALECT}.matmul {builder.grouping()}{clause} lhs({lhs}) rhs({rhs}) quantizer = <{QUANTIZER[fmt]}>"


def after(builder, results, names):
    """The results with `out` replaced by what another operation makes of it; and the facts of that one."""
    c, what, w = builder.c, builder.c["after"], builder.writer
    require_values(builder, what)
    at = names.index("out")
    value, type_ = results[at]
    dims, shape = builder.out_dims(builder.columns), builder.out_shape(builder.columns)
    is_scaled = ":" in c["out"]
    if is_scaled != (what in ("dequantize", "matmul")):
        raise Inexpressible(f"{what} of {c['out']}", excluded=True)
    if what == "quantize":
        result = scaled_type(dims, "nvfp4")
        text = f"{DIALECT}.quantize <cutlass>({value} : {type_})"
    elif what == "glu":
        result = w.shaped(dims, "f32")
        text = f"{DIALECT}.glu <relu2>({value} : {type_}) outs({w.tensor('y', dims, 'f32', poison(shape, 'f32'))})"
    elif what == "dequantize":
        if dims[-1] == "?" and shape[-1] % 2 and FORMATS[c["out"].split(":")[1]].is_fp4:
            raise Inexpressible("an odd N that the type does not say")
        result = w.shaped(dims, "f32")
        by_group = c["out_starts"] != "whole" or (c["out_axis"] == "rows" and builder.groups.kind == "ragged_rows")
        clause = clause_of_groups(builder, "compact" if by_group else "whole")
        text = (f"{DIALECT}.dequantize({value} : {type_}){clause}"
                f" outs({w.tensor('y', dims, 'f32', poison(shape, 'f32'))})")
    else:
        text, result = second_product(builder, f"{value} : {type_}", dims, shape)
    made = w.operation(text, [("y", [result], None)])
    return results[:at] + made + results[at + 1:], what == "quantize"


def second_product(builder, lhs, dims, shape):
    w, groups, fmt = builder.writer, builder.groups, builder.c["out"].split(":")[1]
    if builder.along_k or builder.c["out_axis"] == "rows":
        raise Inexpressible("a second product of such rows")
    stack = () if groups.kind == "dense" else (len(groups),)
    weights = random_scaled(builder.rng, stack + (COLUMNS, shape[-1]), fmt, codes="small")
    builder.facts["second"] = weights
    rhs_dims = ([] if groups.kind == "dense" else [builder.g()]) + [builder.dim(COLUMNS, "n"), dims[-1]]
    rhs = w.scaled("w", weights.store(), rhs_dims, fmt)
    out = poison(shape[:-1] + (COLUMNS,), "f32")
    out_dims = dims[:-1] + [builder.dim(COLUMNS, "n")]
    clause = f" groups({builder.groups_operand()})" if groups.operand is not None else ""
    return (f"{DIALECT}.matmul {builder.grouping()}{clause} lhs({lhs}) rhs({rhs})"
            f" outs({w.tensor('y', out_dims, 'f32', out)})"), w.shaped(out_dims, "f32")
