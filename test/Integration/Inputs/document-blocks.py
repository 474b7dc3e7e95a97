# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the first block of each language in a document to a folder:
document-blocks.py DOCUMENT FOLDER LANGUAGE=NAME..."""

import pathlib
import re
import sys

text = pathlib.Path(sys.argv[1]).read_text()
folder = pathlib.Path(sys.argv[2])
for language, name in (argument.split("=") for argument in sys.argv[3:]):
    block = re.search(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (folder / name).write_text(block[1])
