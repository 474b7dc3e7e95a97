# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the assembly of a gpu.binary, read from standard input, to a file.

usage: warpspec-opt ... | ptx.py OUT.ptx"""

import re
import sys

BINARY = re.compile(r'assembly = "((?:[^"\\]|\\.)*)"')
ESCAPE = re.compile(r'\\([0-9A-Fa-f]{2}|\\|")')


def unescape(match):
    code = match[1]
    return chr(int(code, 16)) if len(code) == 2 else code


def main():
    found = BINARY.search(sys.stdin.read())
    if not found:
        raise SystemExit("expected a gpu.binary with assembly")
    text = ESCAPE.sub(unescape, found[1]).rstrip("\0")
    with open(sys.argv[1], "w") as file:
        file.write(text)


main()
