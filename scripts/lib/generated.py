# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that scripts write and that are committed: to write them, or to say that they are out of date."""

import difflib
import sys

import ods


def main(fresh, old, script, arguments, usage):
    """Writes `fresh`, path -> text, and removes those of the paths `old` that are not in it. With --check it compares.
    Returns the exit status."""
    if arguments == ["--check"]:
        before = {path: path.read_text() for path in {*old, *fresh} if path.exists()}
        changed = [path for path in sorted({*fresh, *before}) if fresh.get(path) != before.get(path)]
        for path in changed:
            sys.stdout.writelines(difflib.unified_diff(
                before.get(path, "").splitlines(True), fresh.get(path, "").splitlines(True),
                f"committed/{path.relative_to(ods.ROOT)}", f"generated/{path.relative_to(ods.ROOT)}"))
        if changed:
            print(f"the files above are out of date: run {script} and commit")
            return 1
        print(f"{len(fresh)} generated files up to date")
        return 0
    if arguments:
        sys.exit(usage)
    for path in set(old) - fresh.keys():
        path.unlink()
    for path, text in fresh.items():
        path.parent.mkdir(exist_ok=True)
        # Files that have not changed stay, so that nothing is built anew.
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    return 0
