# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with blocks along rows of their results, as kernels: each form with other quantisers, formats and epilogues."""

import pytest

from format_blocks import CASES
from nvfp4_cases import *  # noqa: F403
from test_column_scaled import FORMS, VARIANTS, run_product

# (form, quantiser, format, pairs, tail, other results, columns): neighbours differ in each.
PROGRAMS = [(form, *CASES[5 * number % len(CASES)], *VARIANTS[7 * number % len(VARIANTS)])
            for number, form in enumerate(2 * FORMS)]


def run_program(rng, target, number):
    form, quantizer, fmt, pairs, tail, others, n = PROGRAMS[number]
    # Halves of pre-activations are in no warpgroup of sm_90a together.
    others = others and not (pairs and target == "sm_90a")
    run_product(rng, form, quantizer, fmt, pairs, tail, others, n, f"--target={target}")
