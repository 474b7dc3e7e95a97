# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the fixed random programs of test/Random on one target."""

import os
import pathlib
import subprocess
import sys

import pytest

from nvfp4_module import BUILD_DIR, FULL, PRELOAD

RANDOM = pathlib.Path(__file__).resolve().parents[1] / "Random"


def run_suite(target, name="suite.txt"):
    """Each program of a file agrees with the interpreter and with numpy, or is refused with advice that works."""
    if not (BUILD_DIR / "lib" / "libNVFP4Compiler.so").exists():
        pytest.skip("programs are compiled in the process that runs them")
    count = ["--count", "10000"] if FULL else ["--count", os.environ.get("NVFP4_RANDOM_SUITE", "120")]
    done = subprocess.run([sys.executable, str(RANDOM / "run"), "--suite", str(RANDOM / name),
                           "--target", target, "--jobs", "1", *count],
                          capture_output=True, text=True, env={**os.environ, **PRELOAD, "NVFP4_BUILD_DIR": str(BUILD_DIR)},
                          check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
