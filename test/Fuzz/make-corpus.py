#!/usr/bin/env python3
# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the seeds of a fuzzer: make-corpus.py npy|safetensors|mlir|ptx DIRECTORY."""

import json
import pathlib
import re
import struct
import sys


def npy_seeds():
    """Valid .npy files of every version and kind, behind one option byte."""
    def file(descr, shape, data, fortran=False, version=1):
        header = f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n"
        length = struct.pack("<H" if version == 1 else "<I", len(header))
        return b"\xff\x93NUMPY" + bytes([version, 0]) + length + header.encode() + data

    yield file("'<f4'", "()", bytes(4))
    yield file("'<f4'", "(2, 3)", bytes(range(24)))
    yield file("'>f8'", "(2, 2)", bytes(range(32)), fortran=True)
    yield file("'<f2'", "(0, 3)", b"", version=2)
    yield file("'|b1'", "(3,)", b"\0\1\0", version=3)
    yield file("'<i8'", "(1, 2, 1)", bytes(16), fortran=True)
    yield file("'|u1'", "(2, 3, 4)", bytes(range(24)), fortran=True)
    yield file("'<V2'", "(2,)", bytes(4))
    yield b"\x0d" + file("'|V1'", "(2,)", bytes(2))[1:]
    yield file("[('bfloat16', '<u2', (1,))]", "(2L,)", bytes(4))
    yield file("[('float8_e8m0fnu', '|V1')]", "(2,)", bytes(2))


def safetensors_seeds():
    """Whole files, headers alone, indices, specifications."""
    tensors = [("F32", [2, 2], 16), ("BF16", [0, 3], 0), ("F8_E4M3", [3], 3), ("F4", [2, 4], 4),
               ("I64", [], 8), ("F6_E2M3", [4], 3), ("BOOL", [1, 1], 1)]
    header, offset = {"__metadata__": {"format": "pt", "x": "\u00e9\n"}}, 0
    for index, (dtype, shape, size) in enumerate(tensors):
        header[f"layer.{index}"] = {"dtype": dtype, "shape": shape,
                                    "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    yield struct.pack("<Q", len(text)) + text + bytes(offset)
    yield text
    yield struct.pack("<Q", 2) + b"{}"
    yield b'{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}'
    yield b'{"metadata":{"total_size":5,"x":[1,[2.5,null]]},"weight_map":{"a":"m-1.safetensors"}}'
    for spec in ("a.npy", "b.npy@bf16", "d/m.safetensors:layer.0.weight@f8_e4m3fn", "c/:x",
                 "m.safetensors.index.json:y"):
        yield spec.encode()


def mlir_seeds():
    """The modules of the lit tests, valid and not, and small ones for what those lack."""
    yield b"module {}\n"
    yield (b"func.func @f(%a: tensor<?x4xf32>, %i: index) -> tensor<?x4xf32> {\n"
           b"  %c = arith.constant dense<[1.0, -0.0, 0x7FC00000, 2.5]> : tensor<4xf32>\n"
           b"  %d = tensor.dim %a, %i : tensor<?x4xf32>\n"
           b"  return %a : tensor<?x4xf32>\n}\n")
    yield (b"#map = affine_map<(d0, d1)[s0] -> (d0 + s0, d1 floordiv 2)>\n"
           b'"builtin.module"() ({}) {a = #map, b = [1 : i4, "x"], c = f8E4M3FN} : () -> ()\n')
    yield (b"func.func private @g(memref<2x3xf4E2M1FN, strided<[3, 1], offset: ?>>) "
           b"attributes {x = @g}\n")
    for path in sorted(pathlib.Path(__file__).parent.parent.rglob("*.mlir")):
        for module in re.split(r"^// -----.*\n", path.read_text(), flags=re.MULTILINE):
            # Expectations and commands are comments, of which fuzzing learns nothing.
            lines = [line for line in module.splitlines()
                     if line.strip() and not line.lstrip().startswith("//")]
            yield from split("\n".join(lines) + "\n")


def split(module):
    """A module whole and by functions: small seeds are mutated faster."""
    functions = re.split(r"^(?=func\.func)", module, flags=re.MULTILINE)
    aliases = functions.pop(0)
    for function in functions:
        used = [line for line in aliases.splitlines(keepends=True)
                if re.match(r"[#!]", line) and line.split()[0] in function]
        yield ("".join(used) + function).encode()
    if len(functions) != 1:
        yield module.encode()


def ptx_seeds():
    """The kernels of the tests, and those within the unit tests of the simulator."""
    root = pathlib.Path(__file__).parent.parent.parent
    header = ".version 8.8\n.target sm_100a\n.address_size 64\n"
    for path in sorted(root.glob("test/Simulator/**/*.ptx")):
        yield path.read_bytes()
    for path in sorted(root.glob("unittests/Simulator/*.cpp")):
        for text in re.findall(r'R"\((.*?)\)"', path.read_text(), flags=re.DOTALL):
            if ".entry" in text:
                yield ((text if ".version" in text else header + text)).encode()
            elif ";" in text:
                yield (header + ".visible .entry k(.param .u64 p) {\n  .reg .b16 %h<9>;\n"
                       "  .reg .b32 %r<40>;\n  .reg .b64 %a<40>;\n  .reg .pred %p<9>;\n"
                       + text + "\n  ret;\n}\n").encode()


def main():
    kinds = {"npy": npy_seeds, "safetensors": safetensors_seeds, "mlir": mlir_seeds,
             "ptx": ptx_seeds}
    if len(sys.argv) != 3 or sys.argv[1] not in kinds:
        sys.exit(__doc__)
    directory = pathlib.Path(sys.argv[2])
    directory.mkdir(parents=True, exist_ok=True)
    for index, seed in enumerate(kinds[sys.argv[1]]()):
        (directory / f"{sys.argv[1]}-{index:03}").write_bytes(seed)


if __name__ == "__main__":
    main()
