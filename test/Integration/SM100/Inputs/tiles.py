# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a product with every tile that has a kernel, and asks NVIDIA's
assembler what it takes.

usage: tiles.py DIRECTORY [PTXAS]

Prints a line for each tile; fails if registers are spilled, if threads take more
registers than a multiprocessor has for them, if the main loop has other numbers
of instructions than a stage needs, or if descriptors of instructions, bytes of a
stage and columns of tensor memory are not those that the tile asks for. Without
PTXAS only the PTX is looked at."""

import pathlib
import re
import subprocess
import sys

TEXT = """!a = !grouped_scaled_gemm.scaled<?x?, {format}, blocked, starts = upper_bound>
!b = !grouped_scaled_gemm.scaled<8x?x?, {format}, blocked>
func.func @f(%a: !a, %b: !b, %ends: tensor<8xi32>, %alpha: tensor<8xf32>,
             %c: tensor<?x?xbf16>) -> tensor<?x?xbf16> {{
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<8xi32>)
      lhs(%a : !a) rhs(%b : !b) alpha(%alpha : tensor<8xf32>) outs(%c : tensor<?x?xbf16>)
      {{determinism = #grouped_scaled_gemm<determinism relaxed>,
       strategy = #grouped_scaled_gemm.strategy<{tile}>}} -> tensor<?x?xbf16>
  return %d : tensor<?x?xbf16>
}}
"""
TILES = ([(128, n, 1, False) for n in (64, 128, 192, 256)] +
         [(256, n, 2, False) for n in (128, 192, 256)] +
         [(128, n, 1, True) for n in (8, 16, 32, 64, 128, 192, 256)] +
         [(256, n, 2, True) for n in (16, 32, 64, 128, 192, 256)])
# The same in so many parts of K.
SPLIT = [(128, 64, 1, False, 2), (128, 256, 1, False, 16), (256, 192, 2, False, 4),
         (128, 8, 1, True, 8), (256, 64, 2, True, 3)]
# Scale atoms of 128 rows in a stage along K.
FORMATS = {"nvfp4": (256, 4), "mxfp4": (256, 2), "mxfp8_e4m3": (128, 1)}
# Unscaled rows beside weights that threads decode: 512 threads, of which the epilogue's have more.
ROWS = """!b = !grouped_scaled_gemm.scaled<8x?x?, {format}, blocked>
func.func @f(%a: tensor<?x?x{rows}>, %b: !b, %ends: tensor<8xi32>, %alpha: tensor<8xf32>,
             %c: tensor<?x?xbf16>) -> tensor<?x?xbf16> {{
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<8xi32>)
      lhs(%a : tensor<?x?x{rows}>) rhs(%b : !b) alpha(%alpha : tensor<8xf32>) outs(%c : tensor<?x?xbf16>)
      {{determinism = #grouped_scaled_gemm<determinism relaxed>,
       strategy = #grouped_scaled_gemm.strategy<{tile}>}} -> tensor<?x?xbf16>
  return %d : tensor<?x?xbf16>
}}
"""
# Scale atoms of a stage, bytes of a row's codes.
DECODED = {("nvfp4", "bf16"): (2, 64), ("nvfp4", "f16"): (2, 64), ("mxfp4", "bf16"): (1, 64),
           ("mxfp8_e4m3", "bf16"): (1, 128), ("mxfp8_e5m2", "bf16"): (1, 128), ("mxfp4", "f16"): (1, 64)}
REGISTERS = 65536 // 256
# Instruction descriptors without M, N and ids of scales, and the ids of a stage's four steps:
# E2M1 is 1 in bits 7 and 10, UE8M0 is bit 23; CuTe has 0x08200480 for nvfp4, M = N = 128.
DESCRIPTORS = {"nvfp4": (0x480, {0}), "mxfp4": (0x800480, {0, 2}),
               "mxfp8_e4m3": (0x800000, {0, 1, 2, 3})}


def constants(text, pattern):
    """Values of the constants in registers that the pattern finds."""
    values = set()
    for register in set(re.findall(pattern, text)):
        moves = re.findall(rf"mov\.b32 \s*{re.escape(register)}, (-?\d+);", text)
        values |= {int(value) & 0xFFFFFFFF for value in moves or [register.strip("%r")]}
    return values


def check_constants(text, format, m, n, ctas, swap):
    base, ids = DESCRIPTORS[format]
    atoms = FORMATS[format][1]
    # Scales of 8 or 16 rows may begin at a lane of an atom; then one more is read.
    scales = atoms * (1 + (n + 127) // 128) + (swap and n < 32)
    wanted = {
        "descriptors": {base | n >> 3 << 17 | m >> 7 << 27 | i << 29 | i << 4 for i in ids},
        "bytes": {(m // ctas + n // ctas) * 128 + 512 * scales}}
    got = {"descriptors": constants(text, r"tcgen05\.mma\S* \[%r\d+\], %rd\d+, %rd\d+, (%r\d+),"),
           "bytes": constants(text, r"mbarrier\.arrive\.expect_tx\S* \S+ \[%rd\d+\], (%r\d+|\d+);")}
    columns = constants(text, r"tcgen05\.alloc\S* \s*\[%rd\d+\], (%r\d+|\d+);")
    if got != wanted or len(columns) != 1 or not n < min(columns) <= 512:
        raise SystemExit(f"{format} {m}x{n}: expected {wanted}, but got {got}, {columns} columns")


def check_decoded(directory, ptxas, format, rows, n, split=1):
    tile = f"m = 128, n = {n}, k = 128, swap_ab = true"
    if split > 1:
        tile += f", split_k = {split}"
    ptx = compile(directory, ROWS.format(format=format, rows=rows, tile=tile))
    text = ptx.read_text()
    atoms, bytes = DECODED[format, rows]
    # Rows of f16 that are split into two of bf16 come with the codes.
    is_split = rows == "f16" and format != "nvfp4"
    # f32 sums; 1 is bf16 for both operands.
    element = 1 << 4 | (0x480 if rows == "bf16" or is_split else 0)
    codes = 128 * bytes + 512 * atoms
    wanted = ({element | n >> 3 << 17 | 8 << 24}, {codes + 256 * n} if is_split else {codes, 256 * n})
    got = (constants(text, r"tcgen05\.mma\S* \[%r\d+\], \[%r\d+\], %rd\d+, (%r\d+),"),
           constants(text, r"mbarrier\.arrive\.expect_tx\S* \S+ \[%rd\d+\], (%r\d+|\d+);"))
    count = text.count("tcgen05.mma.")
    if got != wanted or count not in (8, 16):
        raise SystemExit(f"{format} by {rows} {tile}: expected {wanted}, but got {got}, {count} products")
    line = f"{format} by {rows} {tile}: {count // 8} x 8 products"
    if ptxas:
        line += assemble(directory, ptxas, ptx, f"{format} by {rows} {tile}")
    print(line)


def compile(directory, text):
    source, ptx = directory / "f.mlir", directory / "f.ptx"
    source.write_text(text)
    subprocess.run(["nvfp4-compile", source, "--target=sm_100a", "--emit=ptx", "-o", ptx],
                   check=True, capture_output=True)
    return ptx


def assemble(directory, ptxas, ptx, what):
    said = subprocess.run([ptxas, "-arch=sm_100a", "-v", ptx, "-o", directory / "f.cubin"],
                          check=True, capture_output=True, text=True).stderr
    registers = int(re.search(r"Used (\d+) registers", said)[1])
    if "0 bytes spill stores, 0 bytes spill loads" not in said or registers > REGISTERS - 8:
        raise SystemExit(f"{what}: {said}")
    return f", {registers} registers, no spills"


def check(directory, ptxas, format, m, n, ctas, swap, split=1):
    k, atoms = FORMATS[format]
    tile = f"m = {m}, n = {n}, k = {k}, ctas = {ctas}, swap_ab = {str(swap).lower()}"
    if split > 1:
        tile += f", split_k = {split}"
    ptx = compile(directory, TEXT.format(format=format, tile=tile))
    text = ptx.read_text()
    # LLVM may peel the first stage of the loop; each copy is a whole stage.
    count = {what: text.count(what) for what in ("tcgen05.mma.", "tcgen05.cp.")}
    copies = count["tcgen05.mma."] // 4
    wanted = {"tcgen05.mma.": 4 * copies, "tcgen05.cp.": copies * atoms * (1 + (n + 127) // 128)}
    if count != wanted or not 1 <= copies <= 2:
        raise SystemExit(f"{format} {tile}: expected {wanted} instructions, but got {count}")
    check_constants(text, format, m, n, ctas, swap)
    line = f"{format} {tile}: {copies} x 4 products"
    if ptxas:
        line += assemble(directory, ptxas, ptx, f"{format} {tile}")
    print(line)


def main():
    directory, ptxas = pathlib.Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None
    for format in FORMATS:
        for tile in TILES:
            check(directory, ptxas, format, *tile)
    for tile in SPLIT:
        check(directory, ptxas, "nvfp4", *tile)
    for format, rows in DECODED:
        for n in (16, 32, 64, 128, 192, 256):
            check_decoded(directory, ptxas, format, rows, n)
    check_decoded(directory, ptxas, "nvfp4", "bf16", 64, split=4)


main()
