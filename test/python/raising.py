# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs in upstream's spelling, and a check of the code that their raised form compiles to: nvfp4-run compares it with
the interpreter on the program as it was written."""

import dataclasses
import functools

import ml_dtypes
import numpy as np

from nvfp4_module import compile_module, run, scratch, tool, write_inputs


@dataclasses.dataclass(frozen=True)
class Format:
    code: str
    scale: str
    block: int


FORMATS = {
    "nvfp4": Format("f4E2M1FN", "f8E4M3FN", 16),
    "mxfp4": Format("f4E2M1FN", "f8E8M0FNU", 32),
    "mxfp8_e4m3": Format("f8E4M3FN", "f8E8M0FNU", 32),
    "mxfp8_e5m2": Format("f8E5M2", "f8E8M0FNU", 32),
}


def tensor(shape, element):
    return f"tensor<{''.join(f'{extent}x' for extent in shape)}{element}>"


def affine(dims, results):
    return f"affine_map<({', '.join(dims)}) -> ({', '.join(results)})>"


def scale_shape(kind, shape):
    return [*shape[:-1], -(-shape[-1] // FORMATS[kind].block)]


def arguments(kind, name, shape):
    """The parameters of a function that are a matrix of this format."""
    form = FORMATS[kind]
    return f"%{name}: {tensor(shape, form.code)}, %{name}s: {tensor(scale_shape(kind, shape), form.scale)}"


def dequantise(kind, name, shape):
    """Operations that make %{name}d, in f32, of the arguments."""
    form = FORMATS[kind]
    *rows, depth = shape
    dims = [f"d{i}" for i in range(len(shape))]
    code, scale, wide = (tensor(shape, form.code), tensor(scale_shape(kind, shape), form.scale), tensor(shape, "f32"))
    body = f"""^bb0(%c: {form.code}, %s: {form.scale}, %o: f32):
    %p = arith.extf %c : {form.code} to f32
    %q = arith.extf %s : {form.scale} to f32
    %v = arith.mulf %p, %q : f32
    linalg.yield %v : f32"""

    def generic(result, source, source_type, maps, result_type):
        loops = ", ".join(['"parallel"'] * maps[0].split("->")[0].count("d"))
        return f"""  %{result} = linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = [{loops}]}}
      ins(%{source}, %{name}s : {source_type}, {scale}) outs(%{name}e : {result_type}) {{
  {body}
  }} -> {result_type}
"""

    if depth % form.block:
        whole = affine(dims, dims)
        blocks = affine(dims, [*dims[:-1], f"{dims[-1]} floordiv {form.block}"])
        return f"  %{name}e = tensor.empty() : {wide}\n" + generic(name + "d", name, code, [whole, blocks, whole], wide)
    split = [*rows, depth // form.block, form.block]
    groups = f"[{', '.join(f'[{i}]' for i in range(len(rows)))}, [{len(rows)}, {len(rows) + 1}]]"
    dims.append(f"d{len(shape)}")
    whole, blocks = affine(dims, dims), affine(dims, dims[:-1])
    return (f"  %{name}b = tensor.expand_shape %{name} {groups} output_shape {split} : {code} into "
            f"{tensor(split, form.code)}\n  %{name}e = tensor.empty() : {tensor(split, 'f32')}\n"
            + generic(name + "v", name + "b", tensor(split, form.code), [whole, blocks, whole], tensor(split, "f32"))
            + f"  %{name}d = tensor.collapse_shape %{name}v {groups} : {tensor(split, 'f32')} into {wide}\n")


def multiply(result, x, w, out, maps, shapes):
    """%result = %out + the sum over k of %x and %w, f32 tensors with these maps and shapes."""
    loops = maps[0].split("->")[0].count(",") + 1
    kinds = ", ".join(['"parallel"'] * (loops - 1) + ['"reduction"'])
    a, b, c = (tensor(shape, "f32") for shape in shapes)
    return f"""  %{result} = linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = [{kinds}]}}
      ins(%{x}, %{w} : {a}, {b}) outs(%{out} : {c}) {{
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %sum, %m : f32
    linalg.yield %t : f32
  }} -> {c}
"""


def zeros(name, shape):
    kind = tensor(shape, "f32")
    return f"""  %{name}_zero = arith.constant 0.0 : f32
  %{name}_empty = tensor.empty() : {kind}
  %{name} = linalg.fill ins(%{name}_zero : f32) outs(%{name}_empty : {kind}) -> {kind}
"""


def codes(rng, kind, shape):
    """Codes as the packed entry point takes them, small whole numbers."""
    if FORMATS[kind].code == "f4E2M1FN":
        return rng.integers(0, 256, [*shape[:-1], shape[-1] // 2], np.uint8)
    dtype = {"f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2}[FORMATS[kind].code]
    return rng.integers(-8, 9, shape).astype(dtype).view(np.uint8)


def scales(rng, kind, shape, lattice=True):
    """Powers of two on a lattice, or any scale between 1/8 and 8."""
    shape = scale_shape(kind, shape)
    if FORMATS[kind].scale == "f8E8M0FNU":
        return rng.integers(126, 129, shape).astype(np.uint8)
    values = 2.0 ** (rng.integers(-1, 2, shape) if lattice else rng.uniform(-3, 3, shape))
    return values.astype(ml_dtypes.float8_e4m3fn).view(np.uint8)


def operand(rng, kind, shape, lattice=True):
    return codes(rng, kind, shape), scales(rng, kind, shape, lattice)


@functools.cache
def raise_module(text, options=""):
    """(the program with packed arguments, what it is raised to, remarks)."""
    path = scratch() / "written.mlir"
    path.write_text(text)
    code, packed, error = run(tool("nvfp4-opt"), path, "--nvfp4-pack-entry-points")
    assert code == 0, error
    path.write_text(packed)
    code, raised, error = run(tool("nvfp4-opt"), path, f"--raise-to-grouped-scaled-gemm=explain {options}")
    assert code == 0, error
    return packed, raised, error


def check_raised(text, *flat, exact=False, options="", meaning=None):
    """Compares the compiled product with the program, or with another of the same `meaning`; with `exact` to the bit. Returns
    the raised module."""
    packed, raised, remarks = raise_module(text, options)
    assert "grouped_scaled_gemm.matmul" in raised and "addf %sum" not in raised, remarks
    written = scratch() / "written.mlir"
    written.write_text(raise_module(meaning)[0] if meaning else packed)
    compiled = compile_module(raised)
    code, output, error = run(tool("nvfp4-run"), compiled.path, "--check=reference", f"--reference={written}",
                              "--inputs=" + ",".join(write_inputs(flat)), *(["--exact"] if exact else []))
    assert code == 0, f"{output}\n{error}\n{raised}"
    return raised
