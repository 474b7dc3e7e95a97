# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the sizes of README.md, and the command that .ci/run calls: readme.py ROOT."""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
text = (root / "README.md").read_text()
commands = [line.split("#")[0].strip() for line in re.search(r"^```\n(.*?)^```$", text, re.M | re.S)[1].splitlines()]
called = re.search(r'^exec "\$\(dirname "\$0"\)/\.\./(.*)"$', (root / ".ci" / "run").read_text(), re.M)[1]
print("commands:", ", ".join(commands))
print("tests as in .ci/run:", called in commands)
print("at most 80 lines:", text.count("\n") <= 80)
for language in ("python", "mlir"):
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)
    print(f"{language}: {len(blocks)} block, at most ten lines:", blocks[0].count("\n") <= 10)
