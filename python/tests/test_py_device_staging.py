# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands that kernels prepare for products: packed weights, groups along K at stages of their own, padding that is zero.

Results are those of the same kernels with operands that the host has prepared, in every bit.
"""

import os

import ml_dtypes
import numpy as np
import pytest

import nvfp4
from device_calls import calls_on, check_call, get_bytes
from test_py_device_quantize import TARGETS, cross

FORMATS = FORMATS_OF_LISTS = list(nvfp4.FORMATS)
#: Every third case, unless all are asked for.
STEP = 1 if os.environ.get("NVFP4_FULL_TESTS") else 3


def make(rng, shape, form=None, **options):
    """Numbers of some sizes and zeros, quantised; in f16 scales of weights must be near to each other."""
    x = (rng.uniform(1, 2, shape) * rng.choice([-1, 1], shape) * np.exp2(rng.integers(-1, 2, shape))).astype(np.float32)
    x[rng.random(shape) < 0.05] = 0
    if form in ("bf16", "f16"):
        return x.astype({"bf16": ml_dtypes.bfloat16, "f16": np.float16}[form])
    return nvfp4.quantize(x, form, **options)


@pytest.mark.parametrize("shape, form, layout", cross([(64, 128), (70, 200), (3, 130, 48), (1, 16), (2, 65, 320)] * 5, FORMATS,
                                                      ["wgmma", "wgmma_f16"]))
def test_packed_weights(rng, shape, form, layout):
    """Byte for byte; blocks of zeros, small scales and negative zeros among them."""
    x = rng.standard_normal(shape).astype(np.float32)
    x[..., :16] *= 0 if form == "mxfp4" else 1e-3
    x[rng.random(shape) < 0.1] = -0.0
    check_call("sm_90a", nvfp4.relayout, nvfp4.quantize(x, form), layout=layout)


def test_scales_of_weights_that_the_host_refuses():
    """NaN where the host's code fails the call: a scale with its sign set, an infinite element, scales too far apart."""
    signed = nvfp4.quantize(np.ones((64, 128), np.float32))
    signed.scales.view(np.uint8)[3, 2] |= 0x80
    infinite = nvfp4.quantize(np.ones((64, 128), np.float32), "mxfp8_e5m2")
    infinite.values.view(np.uint8)[5, 40] = 0x7C
    apart = nvfp4.quantize(np.ones((64, 128), np.float32), "mxfp4")
    apart.scales.view(np.uint8)[0, 0], apart.scales.view(np.uint8)[1, 0] = 1, 254
    for weights in (signed, infinite, apart):
        with pytest.raises(nvfp4.DataError) as wanted:
            nvfp4.relayout(weights, layout="wgmma")
        with calls_on("sm_90a"), pytest.raises(nvfp4.DataError) as got:
            nvfp4.relayout(weights, layout="wgmma")
        assert str(got.value) == str(wanted.value)
        with calls_on("sm_90a", checks=False):
            packed = nvfp4.relayout(weights, layout="wgmma")
            y = nvfp4.grouped_matmul(np.ones((1, 128), ml_dtypes.bfloat16), packed)
        bad = {id(signed): [3], id(infinite): [5], id(apart): range(64)}[id(weights)]
        assert np.array_equal(np.flatnonzero(np.isnan(y[0])), list(bad))


def check_product(target, *arguments, **options):
    wanted = nvfp4.grouped_matmul(*arguments, **options, target=f"{target}+sim")
    with calls_on(target):
        got = nvfp4.grouped_matmul(*arguments, **options)
    assert get_bytes(got) == get_bytes(wanted)


FORMS = {"dense": lambda: nvfp4.dense(), "batched": lambda: nvfp4.batched(), "masked": lambda: nvfp4.masked(np.array([3, 0, 20], np.int32)),
         "ragged_rows": lambda: nvfp4.ragged_rows(np.array([20, 20, 47], np.int32))}


def pairs_of(target):
    """Types of rows and weights that kernels of the target multiply: of one kind of scales, or rows of 16 bits."""
    of_32 = [form for form in FORMATS if form.startswith("mxfp")]
    pairs = [(form, form) for form in FORMATS] + [(rows, weights) for rows in of_32 for weights in of_32 if rows != weights]
    return pairs + [(rows, weights) for rows in ("bf16", "f16") for weights in FORMATS] if target == "sm_90a" else pairs


@pytest.mark.parametrize("target, types, form, k", [
    (target, *case) for target in TARGETS for case in cross(pairs_of(target), list(FORMS), [128, 40, 72, 33, 200])[::STEP]])
def test_linear_weights(rng, target, types, form, k):
    """Weights that nobody has packed, K that is odd, less than a stage, or of part of a tile of scales."""
    rows, weights = types
    shapes = {"dense": ((47, k), (70, k)), "batched": ((3, 20, k), (3, 70, k)), "masked": ((3, 20, k), (3, 70, k)),
              "ragged_rows": ((50, k), (3, 70, k))}[form]
    out = np.zeros((*shapes[0][:-1], 70), np.float32)
    check_product(target, make(rng, shapes[0], rows), make(rng, shapes[1], weights), FORMS[form](), out=out)


@pytest.mark.parametrize("target, types, starts, align, offsets", [
    (target, *case) for target in TARGETS for case in cross(
        pairs_of(target), ["compact", "whole", "compact"], [1, 32, 16], ["ends", "starts"])[::STEP]])
def test_groups_along_k(rng, target, types, starts, align, offsets):
    """Groups begin within bytes and blocks; the last positions have none, and one group is empty."""
    align = 32 if starts == "whole" else align
    ends = np.array({1: [13, 13, 48, 75], 16: [13, 16, 40, 90], 32: [13, 32, 65, 96]}[align], np.int32)
    groups = nvfp4.ragged_k(ends, align=align)
    if offsets == "starts" and align == 1:
        groups = nvfp4.ragged_k(starts=np.concatenate([np.zeros(1, np.int32), ends]))
    rows, weights = types

    def operand(shape, form):
        return make(rng, shape, form) if form in ("bf16", "f16") else make(rng, shape, form, groups=groups, starts=starts)
    check_product(target, operand((72, 96), rows), operand((136, 96), weights), groups)


@pytest.mark.parametrize("target", TARGETS)
def test_offsets_along_k_that_lie(rng, target):
    """Whatever offsets say, kernels stay within their operands: the checker sees no access outside."""
    groups = nvfp4.ragged_k(np.array([16, 32, 64, 96], np.int32), align=16)
    a, b = (make(rng, (rows, 96), "nvfp4", groups=groups, starts="whole") for rows in (72, 136))
    for ends in ([96, 7, 1000, -5], [-1, -1, -1, -1], [2**30, 2**30, 0, 2**31 - 1]):
        groups.groups[...] = ends
        with calls_on(target), pytest.raises(nvfp4.DataError, match="grouping_c[67]"):
            nvfp4.grouped_matmul(a, b, groups)


@pytest.mark.parametrize("target, form", [("sm_90a", "nvfp4"), ("sm_100a", "mxfp8_e4m3")][STEP // 3:])
def test_a_training_step(rng, target, form):
    """The functions of a layer on memory of a device: rows, weights and gradients stay there."""
    from nvfp4.training import MoEProgram, MoEShape, Recipe, moe_text
    from sim_driver import SimMemory
    shape, recipe = MoEShape(2, 32, 32, 1, activation=nvfp4.swiglu("gpt-oss")), Recipe(form)
    program = MoEProgram(shape, recipe, target=f"{target}+sim")
    x = rng.standard_normal((9, 32)).astype(ml_dtypes.bfloat16)
    experts = rng.integers(0, 2, (9, 1)).astype(np.int32)
    scores = rng.random((9, 1)).astype(np.float32)
    weights = [rng.standard_normal(size).astype(np.float32) / 8 for size in (shape.shape13, shape.shape2)]
    out, saved = program.forward(x, experts, scores, *weights)
    wanted = [out, *program.backward(x, saved, *weights, seed=4)]
    module = nvfp4.compile(moe_text(shape, recipe), f"{target}+sim", memory="device")
    memory = SimMemory()

    def run(entry, *arguments):
        function = nvfp4.on_device(module, "sim", entry=entry)
        placed = [each if np.ndim(each) == 0 else memory.put(np.asarray(each)) for each in arguments]
        call = function.bind(placed, workspace=memory.put(np.full(function.workspace(*placed) + 1, 0x7F, np.uint8)))
        call.launch()
        return [each.numpy() for each in call.results]
    got, *kept = run("forward", x, experts, scores, *weights)
    results = [got, *run("backward", x, x, *kept, *weights, np.array([4]))]
    for each, expected in zip(results, wanted):
        assert np.linalg.norm(each - np.asarray(expected)) <= 1e-3 * np.linalg.norm(expected)


@pytest.mark.parametrize("target, form, factor", cross(TARGETS * 8, FORMATS_OF_LISTS, ["none", "one", "each"]))
def test_lists(rng, target, form, factor):
    """Problems of their own extents, none, one and several tiles of rows, by one kernel from a table in device memory."""
    shapes = [(5, 64, 128), (130, 200, 96), (0, 40, 64), (300, 8, 256)]
    lhs = [make(rng, (m, k), form) for m, _, k in shapes]
    rhs = [make(rng, (n, k), form) for _, n, k in shapes]
    alpha = {"none": None, "one": 0.5, "each": np.array([1, -2, 4, 0.25], np.float32)}[factor]
    wanted = nvfp4.grouped_matmul_list(lhs, rhs, alpha=alpha, target=f"{target}+sim")
    with calls_on(target):
        got = nvfp4.grouped_matmul_list(lhs, rhs, alpha=alpha)
    assert [get_bytes(y) for y in got] == [get_bytes(y) for y in wanted]


@pytest.mark.parametrize("target, form", cross(TARGETS * 8, FORMATS_OF_LISTS))
def test_weights_of_their_own(rng, target, form):
    """Weights that are one operand for each group are those of one stack."""
    rhs = [make(rng, (72, 160), form) for _ in range(3)]
    rows = make(rng, (47, 160), form)
    groups = nvfp4.ragged_rows(np.array([20, 20, 47], np.int32))
    with calls_on(target):
        got = nvfp4.grouped_matmul(rows, rhs, groups)
        stack = nvfp4.ScaledTensor(np.stack([w.values for w in rhs]), np.stack([w.scales for w in rhs]), form)
        wanted = nvfp4.grouped_matmul(rows, stack, groups)
    assert get_bytes(got) == get_bytes(wanted)
