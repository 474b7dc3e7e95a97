# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fixed random programs, and the machinery that draws, checks and shrinks random ones."""

import itertools
import sys

import numpy as np
import pytest

import random_programs

sys.path.insert(0, str(random_programs.RANDOM))

import advice  # noqa: E402
import families  # noqa: E402
import shrink  # noqa: E402
from choices import FAMILIES, plain  # noqa: E402
from cover import Sampler, active_axes  # noqa: E402


@pytest.mark.parametrize("target", ["cpu", "sm_100a"])
def test_fixed_programs(target):
    random_programs.run_suite(target)


@pytest.mark.skipif(not random_programs.FULL, reason="1182 programs, minutes; NVFP4_FULL_TESTS=1")
def test_every_legal_pair():
    random_programs.run_suite("cpu", "pairs.txt")


def test_every_pair_of_values_meets():
    """Of those that are legal: here all but one pair."""
    def problem(c):
        return ("refused", "not so") if c["alpha"] == "group" and c["out"] == "f16" else None

    sampler = Sampler("list", 3, problem)
    programs = list(drawn(sampler))
    assert not sampler.coverage.open
    assert sampler.coverage.excluded["refused"] == {(("alpha", "group"), ("out", "f16")): "not so"}
    axes = FAMILIES["list"]
    for (a, first), (b, second) in itertools.combinations(axes.items(), 2):
        for pair in itertools.product(first, second):
            met = any((c[a], c[b]) == pair for c in programs)
            assert met == (pair != ("group", "f16") or (a, b) != ("alpha", "out")), (a, b, pair)
    # The largest two axes have 75 pairs.
    assert len(programs) < 150


def drawn(sampler):
    while (choices := sampler.cover()) is not None:
        sampler.coverage.add(choices)
        yield choices


def test_a_seed_gives_the_same_programs():
    first, second = ([c for _, c in zip(range(20), drawn(Sampler("matmul", 7, lambda c: None)))] for _ in range(2))
    assert first == second
    assert first != [c for _, c in zip(range(20), drawn(Sampler("matmul", 8, lambda c: None)))]


def results_of(program):
    """A right result of a target: for an f32 product the exact one."""
    (index, a, b), = program.facts["product"].problems()
    return {"out": (a.values() @ b.values().T).astype(np.float32)}


def test_the_oracle_notices_one_wrong_element():
    program = families.build(plain("matmul"), 5)
    good = results_of(program)
    families.oracle(program, "cpu").check(good)
    good["out"][3, 40] += 0.25
    with pytest.raises(AssertionError, match="1 of .* differ, first at .3, 40."):
        families.oracle(program, "cpu").check(good)


def test_the_oracle_notices_rows_that_nobody_may_write():
    program = families.build({**plain("matmul"), "form": "rows_ends", "slack": "after"}, 5)
    good = {"out": program.facts["out"].copy()}
    for index, a, b in program.facts["product"].problems():
        good["out"][index] = a.values() @ b.values().T
    families.oracle(program, "cpu").check(good)
    good["out"][-1, 0] = 0
    with pytest.raises(AssertionError, match="outside groups changed"):
        families.oracle(program, "cpu").check(good)


class Fails:
    """A worker for which two values together are wrong."""

    def ask(self, choices, seed):
        return ("wrong" if choices["alpha"] == "group" and choices["n"] > 64 else "ok"), ""


def test_a_failure_becomes_small():
    choices = {**plain("matmul"), "alpha": "group", "n": 264, "out": "bf16", "tail": "zero", "form": "masked",
               "k": 288, "sizes": "many"}
    small, _ = shrink.shrink(Fails(), choices, 1, "wrong", "")
    assert small == {**plain("matmul"), "alpha": "group", "n": 128, "k": 15, "sizes": "one"}


@pytest.mark.parametrize("message,axis,value", [
    ("expected group starts along the blocks of lhs that are known multiples of the block size 16, but got align = 1; "
     "use align = 16 or starts = compact", "align", 16),
    ("expected group starts along the blocks of lhs that are known multiples of the block size 16, but got align = 1; "
     "use align = 16 or starts = compact", "lhs_starts", "compact"),
    ("blocks of 32 of pairs in runs shorter than 32; use gate = <32, ...>", "gate", "32, gate_first"),
    ("tail = zero with a destination that is read; give it as addend", "addend", "f32"),
    ("expected n = 64, 128 or 256 with weights on n, but got 8", "strategy", "m = 128, n = 256, k = 256")])
def test_advice_becomes_choices(message, axis, value):
    choices = {**plain("matmul"), "gate": "1, gate_first", "strategy": "m128n64", "beta": "scalar"}
    assert any(other[axis] == value for other, _ in advice.take(choices, message))


def test_axes_without_a_text_are_in_no_pair():
    assert not {"out_layout", "global", "weights", "slack"} & active_axes(plain("matmul"))
