# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels for sm_90a with results that the host quantises: blocks along rows, in each form."""

from column_scaled_kernels import *  # noqa: F403
from nvfp4_kernels import simulated

pytestmark = simulated(TARGET := "sm_90a")


@pytest.mark.parametrize("number", range(len(FORMS)))
def test_column_scaled(rng, number):
    run_program(rng, TARGET, number)
