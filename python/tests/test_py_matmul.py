# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""grouped_matmul: every form of grouping and every option, against exact products in float64.

Operands lie on a lattice, so accumulators are exact; destinations hold NaN where they must be written and a sentinel where
they must not; rows of no group and padding scales are NaN.
"""

import concurrent.futures
import re
import shutil

import ml_dtypes
import numpy as np
import pytest

import nvfp4
import nvfp4_cases
from format_formulas import trtllm
from nvfp4_cases import (Product, activation_bound, assert_equal, assert_within, batched, dense, gate_rows,
                         geglu_tanh, make_product, masked, ragged, swiglu)
from nvfp4_formats import FORMATS, random_scaled, store_scales, row_pieces, unpack

COUNTS = [9, 0, 17, 1, 5]
SENTINEL = 13.0


def expected_result(product, dtype, value=SENTINEL, epilogue=None):
    return nvfp4_cases.expected_result(product, dtype, epilogue=epilogue, value=value)


def scaled(pair, fmt, layout="linear", starts="whole", shape=()):
    return nvfp4.ScaledTensor(*pair, fmt, shape, layout, starts)


def grouping_of(groups):
    if groups.kind == "dense":
        return nvfp4.dense()
    if groups.kind == "batched":
        return nvfp4.batched()
    if groups.kind == "masked":
        return nvfp4.masked(groups.operand)
    make = nvfp4.ragged_rows if groups.kind == "ragged_rows" else nvfp4.ragged_k
    return make(**{groups.offsets: groups.operand}, align=groups.align)


def operands(product, fmt="nvfp4", **layouts):
    _, (lhs, *rhs) = product.arguments(**layouts)
    left = scaled(lhs, fmt, layouts.get("lhs_layout", "linear"), layouts.get("lhs_starts", "whole"))
    right = [scaled(r, fmt, layouts.get("rhs_layout", "linear"), layouts.get("rhs_starts", "whole")) for r in rhs]
    return left, right[0] if len(right) == 1 and not isinstance(product.rhs, list) else right


def poisoned(product, dtype="f32", columns=None):
    """A destination with NaN in the rows of groups, and the sentinel elsewhere."""
    out = product.destination(dtype, columns, SENTINEL)
    for index, _, _ in product.problems():
        out[index] = np.nan
    return out


def check(product, grouping, fmt="nvfp4", layouts=None, epilogue=None, **options):
    lhs, rhs = operands(product, fmt, **(layouts or {}))
    out = poisoned(product)
    got = nvfp4.grouped_matmul(lhs, rhs, grouping, out=out, **options)
    assert got is out
    assert_equal(got, expected_result(product, "f32", epilogue=epilogue))


@pytest.mark.parametrize("fmt", list(FORMATS))
def test_every_format(rng, fmt):
    product = make_product(rng, ragged(COUNTS, extra=3), 40, 96, fmt)
    check(product, grouping_of(product.groups), fmt)


@pytest.mark.parametrize("groups", [dense(7), batched(3, 5), masked([3, 0, 6, 1], 6), masked([0, 2], 3, np.int64),
                                    ragged(COUNTS, "starts", 4, extra=5), ragged(COUNTS, "ends", 16, extra=1),
                                    ragged([0, 0], extra=2), ragged([])],
                         ids=lambda g: f"{g.kind}-{g.offsets}-{g.align}-{len(g)}")
def test_every_grouping(rng, groups):
    check(make_product(rng, groups, 24, 64, "nvfp4"), grouping_of(groups))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("align", [1, 4, 16])
def test_groups_by_their_sizes(rng, align, dtype):
    groups = ragged(COUNTS, "ends", align, extra=3)
    grouping = nvfp4.ragged_rows(sizes=np.array(COUNTS, dtype), align=align)
    assert grouping.groups.dtype == dtype and grouping.ranges() == grouping_of(groups).ranges()
    check(make_product(rng, groups, 24, 64, "nvfp4"), grouping)
    with pytest.raises(nvfp4.ArgumentError, match="one of ends="):
        nvfp4.ragged_rows([1], sizes=[1])


@pytest.mark.parametrize("counts,align", [([32, 0, 64, 16], 16), ([16, 48], 16)])
def test_groups_along_k(rng, counts, align):
    groups = ragged(counts, align=align, kind="ragged_k")
    product = make_product(rng, groups, 24, None, "nvfp4", m=10)
    check(product, grouping_of(groups))
    grouping = nvfp4.ragged_k(sizes=counts, align=align)
    assert grouping.ranges() == grouping_of(groups).ranges()
    check(product, grouping)


@pytest.mark.parametrize("sizes,align", [([5, 0], 4), ([0, 5], 4), ([3, 0, 2, 0, 0], 4), ([0, 0], 8), ([8, 0], 8)])
def test_empty_groups_begin_nowhere(rng, sizes, align):
    """Ends of empty groups repeat the end before them, so that the buffer may end with the last row."""
    grouping = nvfp4.ragged_rows(sizes=sizes, align=align)
    starts, at = [], 0
    for size in sizes:
        starts.append(-(-at // align) * align)
        at = starts[-1] + size if size else at
    x = rng.choice([-6.0, -3, 0.5, 4], (at, 16)).astype(np.float32)
    x[:, 0] = 6
    w = rng.choice([-6.0, -3, 0.5, 4], (len(sizes), 8, 16)).astype(np.float32)
    w[..., 0] = 6
    expected = np.full((at, 8), 7, np.float32)
    for group, (start, size) in enumerate(zip(starts, sizes)):
        expected[start:start + size] = x[start:start + size] @ w[group].T
    for rhs in (nvfp4.quantize(w), [nvfp4.quantize(part) for part in w]):
        got = nvfp4.grouped_matmul(nvfp4.quantize(x), rhs, grouping, out=np.full((at, 8), 7, np.float32))
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("make", [nvfp4.ragged_rows, nvfp4.ragged_k])
def test_sizes_and_align_that_no_group_has(make):
    for align in (1, 4):
        with pytest.raises(nvfp4.ArgumentError, match=r"sizes= of 0 or more, but got -1 for group 1"):
            make(sizes=[3, -1, -4], align=align)
    for align in (0, -4):
        for given in ("ends", "starts", "sizes"):
            with pytest.raises(nvfp4.ArgumentError, match=f"align= as a whole number of 1 or more, but got {align}"):
                make(**{given: [0, 4]}, align=align)


@pytest.mark.parametrize("layouts", [dict(lhs_layout="blocked", lhs_starts="compact", rhs_layout="blocked"),
                                     dict(lhs_layout="blocked", lhs_starts="upper_bound", rhs_layout="blocked_8x4"),
                                     dict(lhs_layout="blocked_8x4", lhs_starts="compact")], ids=str)
def test_scale_layouts(rng, layouts):
    product = make_product(rng, ragged(COUNTS, extra=3), 136, 96, "nvfp4")
    check(product, grouping_of(product.groups), layouts=layouts)


def test_discrete_weights(rng):
    product = make_product(rng, ragged(COUNTS), 24, 64, "nvfp4", weights="discrete")
    check(product, grouping_of(product.groups))


@pytest.mark.parametrize("k", [33, 31, 1])
def test_odd_k(rng, k):
    product = make_product(rng, dense(5), 7, k, "nvfp4")
    _, (lhs, rhs) = product.arguments(filler=15)
    got = nvfp4.grouped_matmul(scaled(lhs, "nvfp4", shape=(5, k)), scaled(rhs, "nvfp4", shape=(7, k)),
                               out=poisoned(product))
    assert_equal(got, expected_result(product, "f32"))


def test_k_of_zero_leaves_bias_and_addend(rng):
    product = make_product(rng, dense(3), 8, 0, "nvfp4")
    bias = np.arange(8, dtype=np.float32)
    check(product, nvfp4.dense(), bias=bias, epilogue=lambda acc, g, i: acc + bias)


@pytest.mark.parametrize("dtype,name", [(np.float16, "f16"), (ml_dtypes.bfloat16, "bf16")])
def test_results_are_rounded_once(rng, dtype, name):
    product = make_product(rng, ragged(COUNTS), 24, 64, "nvfp4")
    lhs, rhs = operands(product)
    got = nvfp4.grouped_matmul(lhs, rhs, grouping_of(product.groups), dtype=dtype)
    assert got.dtype == dtype
    assert_equal(got, expected_result(product, name, value=0))


def test_every_term_at_once(rng):
    product = make_product(rng, ragged(COUNTS, extra=3), 24, 64, "nvfp4")
    rows = product.groups.extent
    alpha = np.exp2(rng.integers(-3, 3, len(COUNTS)))
    addend = (rng.integers(-64, 64, (rows, 24)) / 4).astype(np.float16)
    bias = (rng.integers(-64, 64, (len(COUNTS), 24)) / 4).astype(ml_dtypes.bfloat16)
    prob = np.exp2(rng.integers(-2, 2, rows)).astype(np.float32)

    def epilogue(acc, g, index):
        return acc * alpha[g] * prob[index[0], None] + 0.5 * addend[index].astype(float) + bias[g].astype(float)

    check(product, grouping_of(product.groups), alpha=alpha, beta=0.5, addend=addend, bias=bias, prob=prob,
          prob_at="gemm", epilogue=epilogue)


def test_accumulates_in_place(rng):
    product = make_product(rng, ragged(COUNTS), 24, 64, "nvfp4")
    lhs, rhs = operands(product)
    out = (rng.integers(-64, 64, (sum(COUNTS), 24)) / 4).astype(np.float32)
    before = out.astype(float)
    nvfp4.grouped_matmul(lhs, rhs, grouping_of(product.groups), beta=2, out=out)
    assert_equal(out, expected_result(product, "f32", epilogue=lambda acc, g, i: acc + 2 * before[i]))


@pytest.mark.parametrize("at,function", [
    ("bias", lambda z, b, p: z + b * p), ("pre_activation", lambda z, b, p: np.maximum((z + b) * p, 0)),
    ("post_activation", lambda z, b, p: np.maximum(z + b, 0) * p)])
def test_probability_at_its_positions(rng, at, function):
    product = make_product(rng, ragged(COUNTS), 24, 64, "nvfp4")
    prob = rng.choice([-2, -1, 0.5, 1], sum(COUNTS)).astype(np.float32)
    bias = np.arange(24, dtype=np.float32)
    check(product, grouping_of(product.groups), prob=prob, prob_at=at, bias=bias,
          activation=None if at == "bias" else "relu",
          epilogue=lambda acc, g, i: function(acc, bias, prob[i[0], None].astype(float)))


@pytest.mark.parametrize("name,activation,function", [
    ("vllm", nvfp4.swiglu("vllm"), lambda g, u: swiglu(g, u)),
    ("gpt-oss", nvfp4.gpt_oss_swiglu(), lambda g, u: swiglu(g, u, float(np.float32(1.702)), 1, 7)),
    ("flashinfer-cute-dsl", nvfp4.geglu_tanh("flashinfer-cute-dsl"), geglu_tanh)])
def test_pairs_with_two_alphas_and_pre_activation(rng, name, activation, function):
    product = make_product(rng, ragged(COUNTS, extra=2), 128, 64, "nvfp4", codes="small")
    lhs, rhs = operands(product)
    alpha = np.exp2(rng.integers(-5, -3, (len(COUNTS), 2))).astype(np.float32)
    out, preact = poisoned(product, columns=64), poisoned(product)
    result = nvfp4.grouped_matmul(lhs, rhs, grouping_of(product.groups), alpha=alpha, activation=activation, out=out,
                                  preact=preact, amax=True)
    assert result.out is out and result.preact is preact
    gate = nvfp4.GATES[name]
    rows_g, rows_u = gate_rows(gate.granularity, gate.order == "up_first", 64)
    for g, (index, acc, _) in enumerate(product.accumulators()):
        factor = np.empty(128)
        factor[rows_g], factor[rows_u] = alpha[g]
        z = acc * factor
        assert_equal(preact[index], z.astype(np.float32))
        y = function(z[:, rows_g], z[:, rows_u])
        scale = np.abs(z[:, rows_g] * z[:, rows_u]) * 2.0**-16 if activation.kind == "geglu_tanh" else 0
        assert_within(out[index], y, activation_bound(y, z[:, rows_g], 1.702) + scale, "f32")
        assert result.amax[g] == np.abs(out[index]).max(initial=0)
    assert (out[-2:] == SENTINEL).all() and (preact[-2:] == SENTINEL).all()


def test_parameters_of_each_group(rng):
    product = make_product(rng, ragged(COUNTS), 64, 64, "nvfp4", codes="small")
    lhs, rhs = operands(product)
    params = np.array([[1, 0, 4], [1, 1, 9], [1.5, 0.5, 16], [2, 0, 30], [1, 0, 100]], np.float32)
    out = nvfp4.grouped_matmul(lhs, rhs, grouping_of(product.groups), alpha=0.125, activation=nvfp4.swiglu(),
                               activation_params=params, out=poisoned(product, columns=32))
    for g, (index, acc, _) in enumerate(product.accumulators()):
        gate, up = acc[:, :32] / 8, acc[:, 32:] / 8
        y = swiglu(gate, up, *map(float, params[g]))
        assert_within(out[index], y, activation_bound(y, np.minimum(gate, params[g, 2]), 2) * 2, "f32")


def test_epilogue_of_the_user(rng):
    product = make_product(rng, ragged(COUNTS), 24, 64, "nvfp4")
    row, column = np.exp2(rng.integers(-2, 2, sum(COUNTS))), rng.integers(-8, 8, 24).astype(np.float32)
    group = np.arange(len(COUNTS), dtype=np.float32)
    region = """^bb0(%z: f32, %r: f32, %c: f32, %g: f32):
      %a = arith.mulf %z, %r : f32
      %b = arith.addf %a, %c : f32
      %y = arith.maximumf %b, %g : f32
      grouped_scaled_gemm.yield %y : f32"""
    lhs, rhs = operands(product)
    out = nvfp4.grouped_matmul(lhs, rhs, grouping_of(product.groups), activation="custom", epilogue=region, row=[row],
                               column=[column], group=[group], out=poisoned(product))
    assert_equal(out, expected_result(product, "f32", epilogue=lambda acc, g, i: np.maximum(
        acc * row[i[0], None] + column, group[g])))


@pytest.mark.parametrize("layout,starts", [("linear", "whole"), ("blocked", "compact")])
def test_quantised_results_to_the_byte(rng, layout, starts):
    product = make_product(rng, ragged(COUNTS, extra=3), 64, 64, "nvfp4")
    lhs, rhs = operands(product)
    scale = np.exp2(-np.arange(len(COUNTS))).astype(np.float32)
    result = nvfp4.grouped_matmul(lhs, rhs, grouping_of(product.groups), quantizer="trtllm", global_scale=scale,
                                  out_layout=layout, out_starts=starts)
    codes, bytes_ = np.zeros((product.groups.extent, 64), np.uint8), np.zeros((product.groups.extent, 4), np.uint8)
    for g, (index, acc, _) in enumerate(product.accumulators()):
        if acc.size:
            found = trtllm(acc.astype(np.float32).reshape(-1, 16), "nvfp4", scale[g])
            codes[index], bytes_[index] = found[0].reshape(-1, 64), found[1].reshape(-1, 4)
    np.testing.assert_array_equal(unpack(FORMATS["nvfp4"], result.values, 64), codes)
    pieces = row_pieces(starts, layout, product.groups.begins, product.groups.counts, 4, product.groups.extent)
    np.testing.assert_array_equal(result.scales.view(np.uint8), store_scales(bytes_, layout, pieces, 0))


def test_mixed_formats(rng):
    lhs, rhs = random_scaled(rng, (6, 64), "mxfp8_e4m3"), random_scaled(rng, (8, 64), "mxfp4")
    got = nvfp4.grouped_matmul(scaled(lhs.store(), "mxfp8_e4m3"), scaled(rhs.store(), "mxfp4"),
                               out=np.full((6, 8), np.nan, np.float32))
    assert_equal(got, (lhs.values() @ rhs.values().T).astype(np.float32))


@pytest.mark.parametrize("groups,fmt,dtype", [
    (dense(7), "nvfp4", ml_dtypes.bfloat16), (dense(70), "nvfp4", ml_dtypes.bfloat16),
    (batched(3, 5), "nvfp4", np.float16), (masked([3, 0, 6, 1], 6), "mxfp4", ml_dtypes.bfloat16),
    (ragged(COUNTS, extra=3), "nvfp4", ml_dtypes.bfloat16), (ragged(COUNTS, extra=3), "mxfp8_e4m3", np.float16),
    (ragged([64, 32], align=32, kind="ragged_k"), "nvfp4", ml_dtypes.bfloat16)],
    ids=lambda v: f"{v.kind}-{v.extent}" if hasattr(v, "kind") and hasattr(v, "extent") else None)
def test_rows_without_scales(rng, groups, fmt, dtype):
    """Small integers, so answers are exact; NaN in rows of no group."""
    along_k = groups.kind == "ragged_k"
    product = make_product(rng, groups, 24, None if along_k else 64, fmt, **({"m": 10} if along_k else {}))
    rows = np.full((10, groups.extent) if along_k else product.lhs.shape, np.nan, dtype)
    out, expected = (product.destination("f32", value=SENTINEL) for _ in range(2))
    for (place, _, rhs), begin, count in zip(product.problems(), groups.begins, groups.counts):
        part = (slice(None), slice(begin, begin + count)) if along_k else place
        rows[part] = rng.integers(-8, 9, rows[part].shape)
        expected[place] = rows[part].astype(float) @ rhs.values().T
        out[place] = np.nan
    assert nvfp4.grouped_matmul(rows, operands(product, fmt)[1], grouping_of(groups), out=out) is out
    assert_equal(out, expected)


def test_rows_without_scales_and_the_epilogue(rng):
    """A quantised result has the format of the weights; K may be odd."""
    rhs = random_scaled(rng, (64, 31), "nvfp4")
    weights = scaled(rhs.store(), "nvfp4", shape=(64, 31))
    rows = rng.integers(-8, 9, (5, 31)).astype(ml_dtypes.bfloat16)
    exact = rows.astype(float) @ rhs.values().T
    for lhs in (rows, nvfp4.to_dlpack(rows), np.asfortranarray(rows)):
        got = nvfp4.grouped_matmul(lhs, weights, alpha=0.5, bias=np.ones(64, np.float32), activation="relu")
        assert_equal(got, np.maximum(exact / 2 + 1, 0).astype(np.float32))
    result = nvfp4.grouped_matmul(rows, weights, quantizer="trtllm")
    codes, bytes_, *_ = trtllm(exact.astype(np.float32).reshape(-1, 16), "nvfp4", 1)
    assert result.format == "nvfp4"
    np.testing.assert_array_equal(unpack(FORMATS["nvfp4"], result.values, 64), codes.reshape(5, 64))
    np.testing.assert_array_equal(result.scales.view(np.uint8), bytes_.reshape(5, 4))
    with pytest.raises(nvfp4.NVFP4Error, match="equal K|matmul_c7"):
        nvfp4.grouped_matmul(np.zeros((5, 30), ml_dtypes.bfloat16), weights)


def test_attributes_change_no_bit(rng):
    product = make_product(rng, ragged(COUNTS, extra=3), 24, 64, "nvfp4")
    check(product, grouping_of(product.groups), math="fast", determinism="batch_invariant", expected_rows=100)
    check(product, grouping_of(product.groups), strategy=dict(m=128, n=64, k=256, swap_ab=False), target="sm_100a+sim")
    lhs, rhs = operands(product)
    got = nvfp4.grouped_matmul(lhs, rhs, grouping_of(product.groups), tail="zero", out=poisoned(product))
    assert_equal(got, expected_result(product, "f32", value=0))


def test_one_program_for_every_size(rng):
    nvfp4.cache_clear()
    for m, n, k in ((64, 32, 64), (320, 48, 128), (1, 8, 16), (0, 8, 16)):
        product = make_product(rng, dense(m), n, k, "nvfp4")
        check(product, nvfp4.dense())
    assert nvfp4.cache_info() == {"programs": 1}


def test_plans_can_be_run_and_looked_at(rng):
    product = make_product(rng, ragged(COUNTS), 24, 64, "nvfp4")
    lhs, rhs = operands(product)
    plan = nvfp4.plan_matmul(lhs, rhs, grouping_of(product.groups), alpha=0.5)
    expected = expected_result(product, "f32", epilogue=lambda acc, g, i: acc / 2, value=0)
    for _ in range(2):
        assert_equal(plan.run(), expected)
    assert "grouped_scaled_gemm.matmul <ragged_rows, ends>" in plan.text
    assert "vector" in plan.ir("loops") and "strategy" in plan.explain("sm_100a")


@pytest.mark.parametrize("options", [dict(), dict(activation=nvfp4.swiglu("cudnn"))])
def test_the_simulator_gives_the_same_bits(rng, options):
    product = make_product(rng, ragged([3, 0, 130]), 64, 64, "nvfp4")
    operand, (lhs, rhs) = product.arguments(poison=0)
    lhs, rhs, grouping = scaled(lhs, "nvfp4"), scaled(rhs, "nvfp4"), nvfp4.ragged_rows(*operand)
    results = [nvfp4.grouped_matmul(lhs, rhs, grouping, target=target, **options) for target in ("cpu", "sm_100a+sim")]
    if options:
        # exp of a kernel is another one: within the bound of strict mathematics on both sides.
        np.testing.assert_allclose(results[0], results[1], rtol=2.0**-16)
    else:
        assert_equal(*results)


def test_gates_that_differ_inside_and_outside(rng):
    """Weights as halves, the pre-activation by single columns: the same numbers, elsewhere."""
    product = make_product(rng, ragged([3, 5]), 64, 64, "nvfp4", codes="small")
    operand, (lhs, rhs) = product.arguments(poison=0)
    lhs, rhs, grouping = scaled(lhs, "nvfp4"), scaled(rhs, "nvfp4"), nvfp4.ragged_rows(*operand)
    plain, other = (nvfp4.grouped_matmul(lhs, rhs, grouping, activation=nvfp4.swiglu("vllm"), outer_gate=gate, preact=True,
                                         target="sm_100a+sim") for gate in (None, "gpt-oss"))
    assert_equal(plain.out, other.out)
    assert_equal(np.concatenate([other.preact[:, ::2], other.preact[:, 1::2]], 1), plain.preact)
    with pytest.raises(nvfp4.CompileError, match="outer_gate"):
        nvfp4.grouped_matmul(lhs, rhs, grouping, activation=nvfp4.swiglu("vllm"), outer_gate="gpt-oss", preact=True)


def hopper_operands():
    rng = np.random.default_rng(5)
    x, w = (nvfp4.quantize(rng.standard_normal(shape).astype(np.float32)) for shape in ((43, 96), (2, 72, 96)))
    return x, w, nvfp4.ragged_rows(np.array([3, 43], np.int32))


def test_weights_laid_out_for_hopper():
    x, w, grouping = hopper_operands()
    laid = nvfp4.relayout(w, layout="wgmma")
    stacked, apart, linear = (nvfp4.grouped_matmul(x, rhs, grouping, target="sm_90a+sim") for rhs in (
        laid, [laid[0], laid[1]], w))
    assert np.array_equal(stacked, linear) and np.array_equal(apart, linear)
    np.testing.assert_allclose(linear, nvfp4.grouped_matmul(x, w, grouping), rtol=0, atol=1e-4 * np.abs(linear).max())


def test_devices_belong_to_calls(monkeypatch):
    """Threads run kernels of both architectures in the simulator while others fail to open a GPU: each call has what it names."""
    monkeypatch.delenv("NVFP4_DEVICE", raising=False)
    x, w, grouping = hopper_operands()
    wanted = {target: nvfp4.grouped_matmul(x, w, grouping, target=target + "+sim") for target in ("sm_90a", "sm_100a")}

    def run(number):
        target = ("sm_90a", "sm_100a")[number % 2]
        if number % 3:
            return np.array_equal(nvfp4.grouped_matmul(x, w, grouping, target=target, device="sim"), wanted[target])
        # A GPU that is not there; None is cuda, whatever ran before.
        for device in ("cuda:99", None) if shutil.which("nvidia-smi") is None else ("cuda:99",):
            with pytest.raises((nvfp4.UnsupportedError, nvfp4.DeviceError), match="no CUDA driver|expected a device number"):
                nvfp4.grouped_matmul(x, w, grouping, target="sm_100a", device=device)
        return True

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert all(pool.map(run, range(12)))


def test_lists_of_problems(rng):
    sizes = [(5, 7, 64), (0, 3, 32), (17, 1, 96)]
    sides = [(random_scaled(rng, (m, k), "nvfp4"), random_scaled(rng, (n, k), "nvfp4")) for m, n, k in sizes]
    lhs, rhs = ([scaled(side[i].store(), "nvfp4") for side in sides] for i in (0, 1))
    outs = [np.full((m, n), np.nan, np.float16) for m, n, _ in sizes]
    alpha = np.array([0.5, 1, 0.125], np.float32)
    result = nvfp4.grouped_matmul_list(lhs, rhs, alpha=alpha, out=outs)
    for got, out, factor, (a, b) in zip(result, outs, alpha, sides):
        assert got is out
        assert_equal(got, (factor * (a.values() @ b.values().T)).astype(np.float32).astype(np.float16))
    with pytest.raises(nvfp4.ArgumentError, match="as many"):
        nvfp4.grouped_matmul_list(lhs, rhs[:2])


@pytest.mark.parametrize("options,constraint", [
    (dict(out=np.zeros((3, 3), np.float32)), "matmul_c25"), (dict(alpha=np.zeros(5)), "matmul_c9"),
    (dict(bias=np.zeros((3, 24), np.float32)), "matmul_c13"), (dict(prob=np.zeros(6)), "matmul_c14"),
    (dict(amax=np.zeros(3, np.float32)), "matmul_c31"), (dict(activation=nvfp4.swiglu("cudnn")), "gate_c2")])
def test_extents_that_disagree_name_a_constraint(rng, options, constraint):
    product = make_product(rng, ragged([3, 4]), 24, 64, "nvfp4")
    lhs, rhs = operands(product)
    with pytest.raises(nvfp4.DataError, match="but got") as error:
        nvfp4.grouped_matmul(lhs, rhs, grouping_of(product.groups), **options)
    assert error.value.constraint == constraint


def test_results_and_operands_share_no_memory(rng):
    product = make_product(rng, ragged([3, 4]), 24, 64, "nvfp4")
    lhs, rhs = operands(product)
    both = np.zeros((7, 24), np.float32)
    with pytest.raises(nvfp4.NVFP4Error, match="overlap"):
        nvfp4.grouped_matmul(lhs, rhs, grouping_of(product.groups), addend=both, out=both)


def test_what_does_not_fit_is_explained(rng):
    product = make_product(rng, ragged([3, 4]), 24, 64, "nvfp4")
    lhs, rhs = operands(product)
    groups = grouping_of(product.groups)
    with pytest.raises(nvfp4.DataError, match="got 8") as error:
        nvfp4.grouped_matmul(lhs, rhs, nvfp4.ragged_rows(np.array([3, 8], np.int32)))
    assert error.value.constraint == "grouping_c6"
    other = make_product(rng, dense(3), 4, 96, "nvfp4")
    with pytest.raises(nvfp4.NVFP4Error, match="K|extent"):
        nvfp4.grouped_matmul(lhs, operands(other)[1])
    with pytest.raises(nvfp4.CompileError, match="gate"):
        nvfp4.grouped_matmul(lhs, rhs, groups, activation="swiglu")
    with pytest.raises(nvfp4.ArgumentError, match="ScaledTensor"):
        nvfp4.grouped_matmul(lhs, np.zeros((3, 4)), groups)
    with pytest.raises(nvfp4.ArgumentError, match="expected out"):
        nvfp4.grouped_matmul(lhs, rhs, groups, quantizer="trtllm", out=np.zeros((7, 24), np.float32))
    with pytest.raises(nvfp4.CompileError, match="prob|bias"):
        nvfp4.grouped_matmul(lhs, rhs, groups, prob=np.ones(7), prob_at="bias")
    assert isinstance(product, Product)


def test_stacks_without_a_grouping_are_told_of_it(rng):
    stack, matrix, rows = (nvfp4.quantize(rng.standard_normal(s).astype(np.float32)) for s in
                           ((3, 24, 64), (24, 64), (3, 8, 64)))
    x = np.zeros((8, 64), ml_dtypes.bfloat16)
    for lhs, rhs, words in ((x, stack, "(8, 64) and (3, 24, 64); weights [G, N, K] have grouping ragged_rows(ends)"),
                            (x, [matrix, matrix], "(8, 64) and (24, 64), (24, 64); weights [G, N, K] have grouping ragged_"),
                            (rows, stack, "(3, 8, 64) and (3, 24, 64); weights [G, N, K] have grouping batched() or masked("),
                            (rows, matrix, "(3, 8, 64) and (24, 64); ")):
        for grouping in ((), (nvfp4.dense(),)):
            with pytest.raises(nvfp4.ArgumentError, match=re.escape("one rhs [N, K] for grouping dense(), which is the "
                                                                    f"default, but got {words}")):
                nvfp4.grouped_matmul(lhs, rhs, *grouping)


def test_options_that_are_words_are_checked(rng):
    x, w = np.zeros((8, 64), ml_dtypes.bfloat16), nvfp4.quantize(np.ones((24, 64), np.float32))
    scaled = nvfp4.quantize(np.ones((8, 64), np.float32))
    product = lambda **options: nvfp4.grouped_matmul(x, w, **options)  # noqa: E731
    for call, name, words in (
            (lambda: product(tail="zzz"), "tail", "preserve, zero"), (lambda: product(math="zzz"), "math", "strict, fast"),
            (lambda: product(determinism="zzz"), "determinism", "deterministic, batch_invariant, relaxed"),
            (lambda: product(prob=np.ones(8, np.float32), prob_at="zzz"), "prob_at",
             "gemm, bias, pre_activation, post_activation"),
            (lambda: nvfp4.grouped_matmul_list([scaled], [w], determinism="zzz"), "determinism",
             "deterministic, batch_invariant, relaxed"),
            (lambda: nvfp4.glu(np.ones((2, 4), np.float32), nvfp4.swiglu(), math_mode="zzz"), "math_mode", "strict, fast"),
            (lambda: nvfp4.route(np.ones((2, 4), np.float32), 2, "zzz"), "method", ", ".join(nvfp4.ROUTING_METHODS))):
        with pytest.raises(nvfp4.ArgumentError, match=f"^expected {name} {words}, but got 'zzz'$"):
            call()
