# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes a failing program small: choices go back to the plain ones as long as it fails in the same way."""

import re

import numpy as np

import families
from choices import axes_of

#: Extents that make a program smaller, from the smallest.
SMALLER = {"sizes": ["one", "few", "mixed", "tile"], "n": [1, 33, 64, 128], "k": [15, 16, 32, 64, 96, 135]}


def simpler(choices):
    """Choices that are nearer to the plain ones, or of less extent."""
    for axis, values in axes_of(choices).items():
        if (axis not in SMALLER or choices["family"] != "matmul") and choices[axis] != values[0]:
            yield {**choices, axis: values[0]}
    for axis, values in SMALLER.items():
        if choices["family"] != "matmul":
            return
        end = values.index(choices[axis]) if choices[axis] in values else len(values)
        for value in values[:end]:
            yield {**choices, axis: value}


def kind_of(detail):
    """The message of a failure, without its numbers."""
    return re.sub(r"[-+\d.e]+", "", detail.split("\n")[0])[:160]


def shrink(worker, choices, seed, outcome, detail, limit=150):
    """(choices, detail) of a small program that fails in the same way."""
    tries, again = 0, True
    while again and tries < limit:
        again = False
        for other in simpler(choices):
            tries += 1
            got, said = worker.ask(other, seed)
            if got == outcome and kind_of(said) == kind_of(detail) and other != choices:
                choices, detail, again = other, said, True
                break
            if tries >= limit:
                break
    return choices, detail


def write(path, choices, seed, target, detail):
    """The program as .mlir, its inputs as .npy, and how to run it."""
    program = families.build(choices, seed)
    path.mkdir(parents=True, exist_ok=True)
    specs = []
    for name, array in zip(program.names, program.arrays):
        element = array.dtype.name
        stored = array if array.dtype.kind in "fiu" and not element.startswith(("bfloat", "float8")) else \
            array.view(np.uint16 if array.dtype.itemsize == 2 else np.uint8)
        np.save(path / f"{name}.npy", stored)
        specs.append(f"{name}.npy")
    lines = [f"// {line}" for line in detail.split("\n")[:12]]
    lines.append(f"// RUN: nvfp4-run program.mlir --target={target} --check=reference --inputs={','.join(specs)}")
    (path / "program.mlir").write_text("\n".join(lines) + "\n" + program.text)
