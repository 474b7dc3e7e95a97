# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fails if a tracked source or test would silently drop out of the build.

Compares the tracked C++ files of lib/, tools/ and unittests/ with the compile
commands of the build folder given on the command line, and the tracked lit
tests of test/ with what lit discovers there.
"""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Folders that another runner owns, or that hold inputs only.
NOT_LIT = {"python", "Inputs", "Fuzz"}


def tracked(*patterns):
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--", *patterns],
        cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in listing.split("\0") if name]


def unbuilt_sources(build):
    database = build / "compile_commands.json"
    # CMake writes no database for a tree without a source.
    commands = json.loads(database.read_text()) if database.exists() else []
    built = {str(pathlib.Path(entry["directory"], entry["file"]).resolve())
             for entry in commands}
    # The kernels of the runtime are compiled for GPUs by a command of their own.
    rules = (build / "build.ninja").read_text()
    built |= {str(ROOT / name) for name in tracked("lib/*.c")
              if f"{ROOT / name} " in rules}
    sources = tracked("lib/*.cpp", "lib/*.c", "tools/*.cpp", "unittests/*.cpp")
    # Fuzzers belong to their own preset.
    sources = [name for name in sources if "uzz" not in name]
    return len(sources), [name for name in sources
                          if str((ROOT / name).resolve()) not in built]


def undiscovered_tests(build):
    """The number of tracked lit tests, and those that lit does not find."""
    tests = [name for name in tracked("test/*.mlir", "test/*.test", "test/*.ptx")
             if not NOT_LIT & set(pathlib.PurePath(name).parts)]
    show = subprocess.run(
        [sys.executable, lit_path(build), "--show-tests", str(build / "test")],
        capture_output=True, text=True)
    found = {"test/" + line.split(" :: ", 1)[1].strip()
             for line in show.stdout.splitlines() if " :: " in line}
    return len(tests), sorted(set(tests) - found)


def lit_path(build):
    for line in (build / "CMakeCache.txt").read_text().splitlines():
        if line.startswith("NVFP4_LIT:"):
            return line.split("=", 1)[1]
    raise SystemExit("NVFP4_LIT is not in CMakeCache.txt")


def main(build):
    sources, unbuilt = unbuilt_sources(build)
    tests, undiscovered = undiscovered_tests(build)
    for name in unbuilt:
        print(f"tracked, but not compiled: {name}")
    for name in undiscovered:
        print(f"tracked, but lit does not find it: {name}")
    print(f"{sources} sources are compiled, {tests} lit tests are found")
    return 1 if unbuilt or undiscovered else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
