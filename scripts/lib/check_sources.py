"""Fails if a tracked source or test would silently drop out of the build.

Compares the tracked C++ files of lib/, tools/ and unittests/ with the compile
commands of the build folder given on the command line, and the tracked folders
of test/ with what lit discovers there.
"""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Folders of test/ that another runner owns, or that hold inputs only.
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
    sources = tracked("lib/*.cpp", "lib/*.c", "tools/*.cpp", "unittests/*.cpp")
    # Fuzzers belong to their own preset.
    sources = [name for name in sources if "uzz" not in name]
    return len(sources), [name for name in sources
                          if str((ROOT / name).resolve()) not in built]


def undiscovered_suites(build):
    """Folders of test/ with tracked files in which lit finds no test."""
    suites = {name.split("/")[1] for name in tracked("test/*")
              if name.count("/") >= 2} - NOT_LIT
    show = subprocess.run(
        [sys.executable, lit_path(build), "--show-tests", str(build / "test")],
        capture_output=True, text=True)
    found = {line.split(":: ")[1].split("/")[0]
             for line in show.stdout.splitlines() if " :: " in line}
    return len(suites), sorted(suites - found)


def lit_path(build):
    for line in (build / "CMakeCache.txt").read_text().splitlines():
        if line.startswith("NVFP4_LIT:"):
            return line.split("=", 1)[1]
    raise SystemExit("NVFP4_LIT is not in CMakeCache.txt")


def main(build):
    sources, unbuilt = unbuilt_sources(build)
    suites, undiscovered = undiscovered_suites(build)
    for name in unbuilt:
        print(f"tracked, but not compiled: {name}")
    for name in undiscovered:
        print(f"tracked, but lit finds no test there: test/{name}")
    print(f"{sources} sources compiled, {suites} lit suites discovered")
    return 1 if unbuilt or undiscovered else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
