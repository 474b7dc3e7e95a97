# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the first blocks of README.md in MLIR, C, C++ and for the shell to a
folder: readme-blocks.py README FOLDER; or blocks of another document under
other names: readme-blocks.py DOCUMENT FOLDER LANGUAGE=NAME..."""

import pathlib
import re
import sys

text = pathlib.Path(sys.argv[1]).read_text()
folder = pathlib.Path(sys.argv[2])
names = [argument.split("=") for argument in sys.argv[3:]] or (
    ("mlir", "experts.mlir"), ("c", "readme.c"), ("cpp", "readme.cpp"), ("sh", "plugin.sh"))
for language, name in names:
    block = re.search(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (folder / name).write_text(block[1])
