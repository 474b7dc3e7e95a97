# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The hard cases of docs/Tests.md as kernels for sm_90a, with the tiles that the
compiler chooses."""

import pytest

from kernel_hard import *  # noqa: F403
from kernel_hard import FORMS, check_schedules, kernels, leaves_out  # noqa: F401
from nvfp4_kernels import simulated, tile

pytestmark = simulated("sm_90a")


@pytest.fixture
def target():
    return "sm_90a"


TILES = {"one warpgroup": tile(96, 256, 128), "two": tile(192, 128, 128),
         "few rows": tile(8, 256, 128),
         "parts": tile(64, 256, 128) | {"determinism": "relaxed"}}


@pytest.mark.parametrize("kind", TILES)
@pytest.mark.parametrize("form", FORMS)
def test_schedules_of_every_form(rng, target, form, kind):
    check_schedules(rng, target, form, TILES[kind])
