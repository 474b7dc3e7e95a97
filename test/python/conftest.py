# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers of each test. A sanitizer's runtime that was preloaded for the
libraries of this process stays out of the tools that tests start: those are linked
with their own."""

import os
import zlib

import numpy as np
import pytest

os.environ.pop("LD_PRELOAD", None)
# These hold assertions of tests, which shall say what was compared.
pytest.register_assert_rewrite("nvfp4_kernels", "kernel_epilogues", "kernel_hard", "weight_only")


@pytest.fixture
def rng(request):
    """Other numbers for every test, the same in every run."""
    return np.random.default_rng(zlib.crc32(request.node.name.encode()))


def pytest_collection_modifyitems(items):
    """A file of tests may leave some out that it shares with others."""
    items[:] = [item for item in items
                if not getattr(item.module, "leaves_out", lambda _: False)(item)]
