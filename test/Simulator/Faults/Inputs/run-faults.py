# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a kernel unbroken and with each of its faults.

usage: run-faults.py NVFP4-SIM KERNEL.ptx DIRECTORY

Directives are comments of the kernel; lines are named by `//@NAME` at their
end, and %d stands for the directory:

  //! run OPTIONS
  //! fault NAME: delete MARK -> KIND @ MARK
  //! fault NAME: replace MARK with TEXT -> KIND @ MARK
  //! fault NAME: after MARK add TEXT -> KIND @ MARK
  //! strict-fault ...            the same, with --profile strict

The unbroken kernel must be silent for all seeds; each fault must be reported
by every seed, and with its kind at the line of its last mark by one of them:
what else is wrong may end a run before. `@ -` accepts any line, and the kind
`silent` stands for a change that is right too.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path


def main():
    tool, kernel, directory = sys.argv[1:]
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    lines = Path(kernel).read_text().splitlines()
    marks = {}
    for number, line in enumerate(lines):
        if match := re.search(r"//@(\w+)\s*$", line):
            marks[match[1]] = number
    options = []
    faults = []
    for line in lines:
        if line.startswith("//! run "):
            options = shlex.split(line[8:].replace("%d", str(directory)))
        if line.startswith(("//! fault ", "//! strict-fault ")):
            faults.append(re.fullmatch(
                r"//! (fault|strict-fault) (\S+): (delete|replace|after) (\w+)"
                r"(?: (?:with|add) (.*?))? -> (\S+) @ (\w+|-)", line))
            if faults[-1] is None:
                raise SystemExit(f"bad directive: {line}")

    def run(name, text, *extra):
        path = directory / f"{name}.ptx"
        path.write_text("\n".join(text) + "\n")
        done = subprocess.run([tool, path, "--check", *options, *extra],
                              capture_output=True, text=True, timeout=300)
        return done.returncode, done.stdout + done.stderr

    failures = 0
    for delays in ("uniform", "adversarial"):
        code, output = run("unbroken", lines, "--seeds", "16", "--delays",
                           delays)
        if code != 0:
            failures += 1
            print(f"unbroken ({delays}): {output}")
    for fault in faults:
        form, name, action, mark, text, kind, where = fault.groups()
        broken = list(lines)
        at = marks[mark]
        shift = 0
        if action == "delete":
            broken[at] = ""
        elif action == "replace":
            broken[at] = text
        else:
            # On the same line, so that lines keep their numbers.
            broken[at] = re.sub(r"//@\w+\s*$", "", broken[at]) + " " + text
        strict = ["--profile", "strict"] if form == "strict-fault" else []
        expected = "" if where == "-" else f"{name}.ptx:{marks[where] + 1} "
        found = False
        for seed in range(1, 9):
            code, output = run(name, broken, *strict, "--seed", str(seed))
            found = any(part.startswith(f"{kind}: ") and expected in part
                        for part in re.split(r"\n(?=\S)", output))
            if code != 1 or found:
                break
        if kind == "silent":
            if code != 0:
                failures += 1
                print(f"{name}: expected no report, but got:\n{output}")
            continue
        if code != 1 or not found:
            failures += 1
            print(f"{name}: expected {kind} at line "
                  f"{marks[where] + 1 if where != '-' else 'any'}, but got "
                  f"status {code}:\n{output}")
    print(f"{len(faults)} faults, {failures} failures")
    return 1 if failures or not faults else 0


sys.exit(main())
