# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of the Python package from the tree: its sources, and the libraries of a build.

NVFP4_TEST_INSTALLED=1 tests the package that is installed instead. The oracles are those of test/python.
"""

import os
import pathlib
import sys
import zlib

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# A sanitizer's runtime is for Python processes (nvfp4_module.PRELOAD), and not for the tools that they run.
os.environ.pop("LD_PRELOAD", None)
sys.path.insert(0, str(ROOT / "test" / "python"))
if os.environ.get("NVFP4_TEST_INSTALLED") != "1":
    sys.path.insert(0, str(ROOT / "python"))
    build = pathlib.Path(os.environ.get("NVFP4_BUILD_DIR", ROOT / "build"))
    os.environ.setdefault("NVFP4_LIBRARY_DIR", str(build / "lib"))


@pytest.fixture
def rng(request):
    return np.random.default_rng(zlib.crc32(request.node.name.encode()))
