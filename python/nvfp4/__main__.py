# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``python -m nvfp4 info``: what works on this machine, and why the rest does not."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from ._info import collect


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: 0 if products can be computed here."""
    parser = argparse.ArgumentParser(prog="python -m nvfp4", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    info = commands.add_parser("info", help="what works on this machine, and why the rest does not",
                               description="Prints parts, GPUs and frameworks with their versions. The exit status is 0 if the "
                                           "CPU can run compiled code.")
    info.add_argument("--json", action="store_true", help="one object with `name`, `works` and `detail` of each")
    options = parser.parse_args(arguments)
    parts = collect()
    if options.json:
        print(json.dumps([part._asdict() for part in parts], indent=1))
    else:
        width = max(len(part.name) for part in parts)
        for part in parts:
            state = "" if part.works is None else "works" if part.works else "no"
            print(f"{part.name:{width}}  {state:5}  {part.detail}".rstrip())
    return 0 if any(part.name == "runtime" and part.works for part in parts) else 1


if __name__ == "__main__":
    sys.exit(main())
