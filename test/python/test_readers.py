# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A short run of test/Fuzz/Readers: changed files and command lines end in a result or in a message."""

import os
import pathlib
import subprocess
import sys

import pytest

from nvfp4_module import BUILD_DIR, FULL, PRELOAD

RUN = pathlib.Path(__file__).resolve().parents[1] / "Fuzz" / "Readers" / "run"


@pytest.mark.parametrize("reader, count", [("safetensors", 500), ("index", 500), ("artefact", 300), ("options", 60)])
def test_changed_inputs(reader, count):
    if not (BUILD_DIR / "lib" / "libNVFP4Compiler.so").exists():
        pytest.skip("files are read in a process of Python")
    done = subprocess.run([sys.executable, str(RUN), "--reader", reader, "--count", str(count * (20 if FULL else 1))],
                          capture_output=True, text=True, env={**os.environ, **PRELOAD, "NVFP4_BUILD_DIR": str(BUILD_DIR)},
                          check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
