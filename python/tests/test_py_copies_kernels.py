# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies that kernels make themselves, without a second pass over memory: rows and transposed, on CPUs and both GPU families.

Tiles of every shape that holds whole blocks of rows, groups whose last block is short, odd columns and pairs.
"""

import dataclasses
import itertools

import numpy as np
import pytest

import nvfp4
from device_calls import get_bytes
from nvfp4.matmul import plan_matmul
from nvfp4_cases import batched, dense, make_product, ragged
from test_py_copies import SR, assert_same, destination, quantized
from test_py_matmul import grouping_of, operands

FORMS = {
    "dense": (dense(37), {}), "batched": (batched(3, 21), {}), "ragged": (ragged([3, 0, 130, 1, 40], align=32, extra=25), {}),
    "ragged_starts": (ragged([64, 0, 32, 7], "starts", 32, dtype=np.int64), {}),
    "ragged_discrete": (ragged([3, 0, 40], align=32), {"weights": "discrete"}),
    "ragged_k": (ragged([32, 0, 33], align=32, kind="ragged_k"), {"m": 35})}
COPIES = [
    dict(quantizer="te", global_scale=3.0), dict(quantizer=SR, seed=5, global_scale=0.5, hadamard=nvfp4.Hadamard()),
    dict(format="mxfp8_e4m3", quantizer="ue8m0_up"), dict(quantizer="trtllm", global_scale="group"),
    dict(format="mxfp4", quantizer="ocp", hadamard=nvfp4.Hadamard(normalized=False, sign_mask=0xD72C)),
    dict(quantizer=nvfp4.Quantizer("cutlass", neg_zero="flush")), dict(quantizer="four_over_six", hadamard=nvfp4.Hadamard()),
    dict(format="mxfp8_e5m2", quantizer="cutlass"), dict(format="nvfp4_e8m0", quantizer="te"),
    dict(quantizer=SR, seed=-7), dict(quantizer="modelopt", global_scale="group"),
    dict(format="mxfp4", quantizer=nvfp4.Quantizer("te", rounding="stochastic"), seed=1 << 40)]
OUTS = [dict(), dict(dtype="bfloat16"), dict(dtype=np.float32), dict(dtype=np.float16),
        dict(quantizer="trtllm", out_format="nvfp4", out_layout="blocked")]
# Columns of the product, and what follows it.
EPILOGUES = [(144, None), (160, "relu2"), (128, nvfp4.Activation("reglu", nvfp4.Gate(32))),
             (192, nvfp4.Activation("reglu", nvfp4.Gate(0))), (128, nvfp4.Activation("reglu", nvfp4.Gate(8)))]
TILES = {
    "cpu": [None] * 5,
    "sm_90a": [None, dict(m=96, n=256, k=128), dict(m=32, n=128, k=128), dict(m=64, n=256, k=128), dict(m=160, n=128, k=128)],
    "sm_100a": [None, dict(m=128, n=128, k=256), dict(m=256, n=128, k=256, ctas=2), dict(m=128, n=16, k=256, swap_ab=True),
                dict(m=128, n=64, k=256, swap_ab=True)]}


GPUS = list(TILES)[1:]


def on(target):
    return target if target == "cpu" else f"{target}+sim"


def cases():
    for number, (target, form, _) in enumerate(itertools.product(TILES, FORMS, range(4))):
        copy = COPIES[(5 * number + number // 12) % 12]
        columns, activation = EPILOGUES[(number + number // 12) % 5]
        wide = target != "cpu" and copy.get("format", "nvfp4") in ("mxfp8_e4m3", "mxfp8_e5m2", "mxfp4")
        if wide and isinstance(activation, nvfp4.Activation):
            columns, activation = EPILOGUES[2]
        tile = TILES[target][(number // 2) % 5]
        if wide and tile and tile["n"] == 16:  # lanes without rows, and blocks of 32 rows
            tile = dict(tile, n=32)
        yield (target, form, copy, ("linear", "blocked")[number // 3 % 2], OUTS[number % 5], columns, activation, tile,
               ("preserve", "zero")[number // 5 % 2])


@pytest.mark.parametrize("target, form, clauses, layout, out, columns, activation, tile, tail", list(cases()))
def test_within_a_kernel(rng, target, form, clauses, layout, out, columns, activation, tile, tail):
    groups, kinds = FORMS[form]
    lhs, rhs = operands(make_product(rng, groups, columns, 96, "nvfp4", **dict(kinds)))
    grouping = grouping_of(groups)
    clauses = {"format": "nvfp4", **clauses}
    if isinstance(clauses.get("global_scale"), str):
        clauses["global_scale"] = np.exp2(np.arange(len(groups)) % 5 - 2).astype(np.float32) * 1.5
    options = dict(alpha=0.5, tail=tail, activation=activation)
    copies = [nvfp4.QuantizedCopy(transposed=True, layout=layout, **clauses)]
    if not out:
        copies.append(nvfp4.QuantizedCopy("nvfp4", "te", layout=layout))
    rounded = np.asarray(nvfp4.grouped_matmul(lhs, rhs, grouping, **options, dtype=out.get("dtype") or np.float32))
    wanted = []
    for i, copy in enumerate(copies):
        plain = quantized(rounded, grouping, copy)
        copies[i] = dataclasses.replace(copy, out=destination(copy, plain))
        before = destination(copy, plain)
        if tail == "zero":
            before.values.view(np.uint8)[...] = 0
            before.scales.view(np.uint8)[...] = 0
        wanted.append(quantized(rounded, grouping, copy, before))
    plan = plan_matmul(lhs, rhs, grouping, **options, **out, copies=copies, strategy=tile, target=on(target))
    if target == "cpu":
        assert "_copies" in plan.ir("loops")
    else:
        assert "second pass" not in plan.explain(target)
    plan.run()
    for i, (copy, result) in enumerate(zip(copies, wanted)):
        assert_same(copy.out, result, f"copy {i} of {form}")


def test_few_rows_of_a_warp(rng):
    """The last lanes have no row, and nothing in shared memory."""
    lhs, rhs = operands(make_product(rng, dense(1), 1, 15, "nvfp4"))
    copy = nvfp4.QuantizedCopy("nvfp4", "te", transposed=True)
    got, wanted = (nvfp4.grouped_matmul(lhs, rhs, dtype=np.float32, copies=[copy], target=target, **options) for target, options in (
        ("sm_90a+sim", {"strategy": dict(m=16, n=256, k=128)}), ("cpu", {})))
    assert_same(got.copies[0], wanted.copies[0], "one row")


@pytest.mark.parametrize("target, tile, message", [
    ("sm_90a", dict(m=40, n=256, k=128), "expected m a multiple of 16, of which blocks along rows are, but got 40"),
    ("sm_100a", dict(m=128, n=8, k=256, swap_ab=True), "expected n = 16, 32")])
def test_tiles_hold_whole_blocks(rng, target, tile, message):
    lhs, rhs = operands(make_product(rng, dense(64), 128, 256, "nvfp4"))
    copy = nvfp4.QuantizedCopy("nvfp4", "te", transposed=True)
    with pytest.raises(nvfp4.CompileError, match=message):
        nvfp4.grouped_matmul(lhs, rhs, dtype="bfloat16", copies=[copy], strategy=tile, target=f"{target}+sim")


@pytest.mark.parametrize("target", GPUS)
def test_explain_says_why_there_is_a_second_pass(rng, target):
    groups = ragged([3, 40], align=2)
    lhs, rhs = operands(make_product(rng, groups, 64, 64, "nvfp4"))
    copies = [nvfp4.QuantizedCopy("nvfp4", "te", transposed=True, starts="compact"), nvfp4.QuantizedCopy("nvfp4", "te")]
    text = plan_matmul(lhs, rhs, grouping_of(groups), copies=copies, target=f"{target}+sim").explain(target)
    assert "in a second pass over memory" in text and "the product writes f32 for the others" in text
    assert "copy 0: its scales start compact, so that groups begin within blocks" in text


@pytest.mark.parametrize("target", GPUS)
def test_gathers_nothing_from_rows_of_no_group(rng, target):
    """The last block of a group is followed by rows of no group, whose operands are NaN: none of it is in the copy."""
    groups = ragged([17, 1, 50], align=16, extra=14)
    lhs, rhs = operands(make_product(rng, groups, 64, 64, "nvfp4"))
    copy = nvfp4.QuantizedCopy("nvfp4", "te", transposed=True, hadamard=nvfp4.Hadamard())
    results = [nvfp4.grouped_matmul(lhs, rhs, grouping_of(groups), dtype="bfloat16", copies=[copy], target=t).copies[0]
               for t in ("cpu", f"{target}+sim")]
    assert get_bytes(results[0].values) == get_bytes(results[1].values)
    assert get_bytes(results[0].scales) == get_bytes(results[1].scales)
