# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fixed random programs as kernels for sm_90a."""

from random_programs import run_suite


def test_fixed_programs():
    run_suite("sm_90a")
