# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code that is compiled in process where free memory lies in small pieces, 4 GiB apart, as beside much other memory."""

import os
import pathlib
import subprocess
import sys

import pytest

PROGRAM = """
import ctypes
import sys

import numpy as np

import nvfp4

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
nvfp4._library.compiler()
PRIVATE_ANONYMOUS_NORESERVE, PIECES, APART, PIECE = 0x4022, 64, 4 << 30, int(sys.argv[1])


def take(size):
    return libc.mmap(None, size, 0, PRIVATE_ANONYMOUS_NORESERVE, -1, 0)


first = take(PIECES * APART)
assert first != ctypes.c_void_p(-1).value
while take(4096) > first:  # what was free above
    pass
for i in range(PIECES):
    libc.munmap(first + (i + 1) * APART - PIECE, PIECE)
x, w = (nvfp4.quantize(np.full((rows, 64), 6, np.float32)) for rows in (4, 32))
print(np.asarray(nvfp4.grouped_matmul(x, w)).sum())
"""


@pytest.mark.parametrize("piece", [16, 64])
def test_code_in_pieces_of_memory(piece):
    package = pathlib.Path(__import__("nvfp4").__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(package)}
    ran = subprocess.run([sys.executable, "-c", PROGRAM, str(piece << 10)], env=environment, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    assert float(ran.stdout) == 4 * 32 * 64 * 36, ran.stdout
