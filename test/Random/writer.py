# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a function of the dialect: parameters with their arrays, operations, results.

The storage is one of three: ``value`` has values of type ``scaled``, ``parts`` has values and scales as two tensors,
``memref`` has both as memrefs, writes destinations in place and returns nothing.
"""

import numpy as np

from nvfp4_formats import FORMATS, ceil_div

DIALECT = "grouped_scaled_gemm"
_ROW_TILE = {"blocked": 128, "blocked_8x4": 8}
_INNER = {"blocked": "x32x4x4", "blocked_8x4": "x8x4"}


class Inexpressible(Exception):
    """These choices have no text; `type` is one that the verifier refuses, if that is why. `excluded` says that they
    exclude each other by what they mean: otherwise the generator has a gap."""

    def __init__(self, reason, type_=None, excluded=False):
        super().__init__(reason)
        self.type, self.excluded = type_, excluded


def extents(dims):
    return "x".join(map(str, dims))


def scaled_type(dims, fmt, layout="linear", starts="whole", axis=None):
    text = f"!{DIALECT}.scaled<{extents(dims)}, {fmt}"
    text += f", {layout}" if layout != "linear" else ""
    text += f", starts = {starts}" if starts != "whole" else ""
    return text + (f", axis = {axis}>" if axis is not None else ">")


def up(extent, by):
    return "?" if extent == "?" else ceil_div(extent, by)


def storage_types(shell, dims, fmt, layout="linear", starts="whole", axis=None):
    """Types of the values and of the scales of a scaled type, as tensors or memrefs."""
    info, dims = FORMATS[fmt], list(dims)
    axis = len(dims) - 1 if axis is None else axis
    element = "i8" if info.is_fp4 else {"mxfp8_e4m3": "f8E4M3FN", "mxfp8_e5m2": "f8E5M2"}[fmt]
    values = dims[:-1] + [up(dims[-1], 2) if info.is_fp4 else dims[-1]]
    scales = list(dims)
    scales[axis] = up(scales[axis], info.block)
    inner = ""
    if layout == "linear":
        if starts != "whole":
            scales[axis] = "?"
    else:
        inner = _INNER[layout]
        scales[-2:] = ["?", "?"] if starts != "whole" else [up(dims[-2], _ROW_TILE[layout]), up(scales[-1], 4)]
    return (f"{shell}<{extents(values)}x{element}>", f"{shell}<{extents(scales)}{inner}x{info.scale_type}>")


class Writer:
    """One function named f."""

    def __init__(self, storage):
        self.storage = storage
        self.shell = "memref" if storage == "memref" else "tensor"
        self.parameters, self.names, self.arrays, self.body, self.results = [], [], [], [], []

    def parameter(self, name, type_, array):
        self.parameters.append(f"%{name}: {type_}")
        self.names.append(name)
        self.arrays.append(np.ascontiguousarray(array).reshape(np.shape(array)))

    def scalar(self, name, array, element="f32"):
        self.parameter(name, element, array)
        return f"%{name} : {element}"

    def shaped(self, dims, element):
        return f"{self.shell}<{extents(dims)}x{element}>" if dims else f"{self.shell}<{element}>"

    def tensor(self, name, dims, element, array):
        type_ = self.shaped(dims, element)
        self.parameter(name, type_, array)
        return f"%{name} : {type_}"

    def scaled(self, name, arrays, dims, fmt, layout="linear", starts="whole", axis=None):
        """An operand, from (values, scales)."""
        type_ = scaled_type(dims, fmt, layout, starts, axis)
        if self.storage == "value":
            self.parameters.append(f"%{name}: {type_}")
            self.names += [name, name + "_s"]
            self.arrays += [np.ascontiguousarray(a).reshape(np.shape(a)) for a in arrays]
            return f"%{name} : {type_}"
        types = storage_types(self.shell, dims, fmt, layout, starts, axis)
        for part, array, storage in zip((name, name + "_s"), arrays, types):
            self.parameter(part, storage, array)
        return f"%{name} scaled_by %{name}_s : {types[0]}, {types[1]} as {type_}"

    def operation(self, text, outs):
        """An operation that writes `outs`, (name, destination types, value type or None) each; returns SSA names of
        its results on tensors: one for each destination, or for a scaled value."""
        types = []
        for _, storage, value in outs:
            types += [value] if value and self.storage == "value" else list(storage)
        if self.storage == "memref":
            self.body.append(text)
            return []
        number = len(self.body)
        head = f"%r{number}" + (f":{len(types)}" if len(types) > 1 else "")
        self.body.append(f"{head} = {text}\n      -> {', '.join(types)}")
        names = [f"%r{number}#{i}" if len(types) > 1 else f"%r{number}" for i in range(len(types))]
        return list(zip(names, types))

    def text(self):
        names, types = ", ".join(n for n, _ in self.results), ", ".join(t for _, t in self.results)
        arrow = f" -> ({types})" if self.results else ""
        end = f"  return {names} : {types}\n" if self.results else "  return\n"
        return (f"func.func @f({', '.join(self.parameters)}){arrow} {{\n  "
                + "\n  ".join(self.body) + f"\n{end}}}\n")
