# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The hard cases of docs/Tests.md as kernels for sm_100a, with the tiles that the
compiler chooses."""

import pytest

from kernel_hard import *  # noqa: F403
from kernel_hard import (FORMS, check_random, check_schedules, kernels,  # noqa: F401
                         leaves_out)
from nvfp4_cases import ragged
from nvfp4_kernels import simulated, tile

pytestmark = simulated("sm_100a")


@pytest.fixture
def target():
    return "sm_100a"


TILES = {"one block": tile(128, 64, 256), "pair": tile(256, 128, 256, ctas=2),
         "turned": tile(128, 16, 256, swap_ab="true"),
         "parts": tile(128, 128, 256, split_k=2) | {"determinism": "relaxed"},
         "shared columns": tile(128, 256, 256)}


# Groups along K have no parts.
@pytest.mark.parametrize("form,kind", [(form, kind) for form in FORMS for kind in TILES
                                       if (form, kind) != ("ragged_k", "parts")])
def test_schedules_of_every_form(rng, target, form, kind):
    check_schedules(rng, target, form, TILES[kind])


@pytest.mark.parametrize("kind", TILES)
def test_random_values_on_every_tile_within_the_bound(rng, target, kind):
    check_random(rng, target, ragged([3, 0, 70], extra=5), 72, 800, "nvfp4", TILES[kind])
