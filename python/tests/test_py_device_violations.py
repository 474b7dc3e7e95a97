# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bad data in memory of a device: no access outside of the operands, which the simulator would report, and the message of the
CPU's code afterwards, for every form of groups and every operation that reads offsets, indices or factors."""

import os

import ml_dtypes
import numpy as np
import pytest

import nvfp4
from device_calls import calls_on
from sim_driver import Driver, SimMemory

TARGETS = ["sm_90a", "sm_100a"]
LEAST, MOST = -2**31, 2**31 - 1
ROWS, K = 60, 64


def expect_same_error(target, function, *arguments, **options):
    """The kernels' message is the CPU's."""
    with pytest.raises(nvfp4.DataError) as wanted:
        function(*arguments, **options)
    with calls_on(target), pytest.raises(nvfp4.DataError) as got:
        function(*arguments, **options)
    assert str(got.value) == str(wanted.value)


#: Each has one entry that breaks a constraint: it decreases, is not in [0, 60], or begins at no multiple of 16. No two groups
#: have a row in common.
BAD_ENDS = [[20, 13, 13], [20, 20, ROWS + 1], [-1, 20, 48], [20, 20, MOST], [LEAST, 20, 40], [20, 60, 59]]
BAD_ALIGNED = [[20, 24, 48], [16, 8, 48], [16, 48, 64]]
BAD_STARTS = [[0, 48, 32, 32], [0, 24, 32, 60], [16, 32, 48, 61], [-16, 16, 32, 48], [0, 16, 32, 16]]
BAD_COUNTS = [[3, 21, 0], [-1, 0, 20], [3, MOST, 0], [LEAST, 20, 20]]


def bad_groups(kind):
    """The groups of a kind, one after the other; some have 64 bits, which wrap around in 32."""
    if kind == "masked":
        return [nvfp4.masked(np.array(counts, np.int32)) for counts in BAD_COUNTS]
    make = getattr(nvfp4, kind)
    wide = [[20, 2**32 + 30, 48], [-2**40, 20, 40]]
    return [*(make(np.array(ends, np.int32)) for ends in BAD_ENDS), *(make(np.array(ends, np.int64)) for ends in wide),
            *(make(np.array(ends, np.int32), align=16) for ends in BAD_ALIGNED),
            *(make(starts=np.array(starts, np.int32), align=16) for starts in BAD_STARTS)]


def good_groups(kind):
    return {"masked": lambda: nvfp4.masked(np.array([3, 0, 20], np.int32)),
            "ragged_rows": lambda: nvfp4.ragged_rows(np.array([20, 20, 48], np.int32)),
            "ragged_k": lambda: nvfp4.ragged_k(np.array([20, 20, 48], np.int32))}[kind]()


KINDS = ["ragged_rows", "ragged_k", "masked"]


def extents_of(kind):
    return {"masked": (3, 20, K), "ragged_rows": (ROWS, K), "ragged_k": (40, ROWS)}[kind]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", KINDS)
def test_products(rng, target, kind):
    rows = rng.standard_normal(extents_of(kind)).astype(np.float32)
    weights = rng.standard_normal((70, ROWS) if kind == "ragged_k" else (3, 70, K)).astype(np.float32)
    w = nvfp4.quantize(weights)
    for groups in bad_groups(kind):
        bf16 = rows.astype(ml_dtypes.bfloat16)
        x = nvfp4.quantize(rows) if target == "sm_100a" else bf16
        if kind == "ragged_k":
            # Scales as groups without scales of their own would have them: offsets are all that is wrong.
            x, w = (nvfp4.quantize(each, "mxfp8_e4m3", groups=good_groups(kind), starts="compact") for each in (rows, weights))
        expect_same_error(target, nvfp4.grouped_matmul, x, w, groups)


def has_small_numbers(groups):
    """Whether the package may make scales for them: compact ones are as many as the groups need."""
    return np.abs(groups.groups.astype(np.float64)).max() < 1000


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", range(2))
def test_operations_on_groups(rng, kind, place):
    """Both targets share the code of these, so that each gets half of the cases."""
    x = rng.standard_normal(extents_of(kind)).astype(np.float32)
    whole = nvfp4.ragged_k(np.array([20, 20, ROWS], np.int32))  # takes as many scales as any of the bad groups
    q = nvfp4.quantize(x) if kind != "ragged_k" else nvfp4.quantize(x, groups=whole, starts="compact")
    for number, groups in enumerate(bad_groups(kind)):
        target = TARGETS[(number + place) % 2]
        expect_same_error(target, nvfp4.dequantize, q, groups=groups)
        if kind != "ragged_k":
            expect_same_error(target, nvfp4.quantize, x, groups=groups)
            expect_same_error(target, nvfp4.sum_rows, x, groups=groups)
        if kind == "ragged_rows" and has_small_numbers(groups):
            expect_same_error(target, nvfp4.relayout, q, layout="blocked", starts="compact", groups=groups)
        if kind == "ragged_k":  # along the blocks, and across
            expect_same_error(target, nvfp4.quantize, x, groups=groups, starts="compact", out=q)
            expect_same_error(target, nvfp4.quantize, x, groups=groups, axis=-2)


@pytest.mark.parametrize("target", TARGETS)
def test_scales_without_room(rng, target):
    """Groups that are right, and fewer scales than they need."""
    x = rng.standard_normal((300, K)).astype(np.float32)
    groups = nvfp4.ragged_rows(np.array([100, 200, 300], np.int32))
    for starts in ("compact", "upper_bound"):
        q = nvfp4.quantize(x, groups=groups, layout="blocked", starts=starts)
        cut = nvfp4.ScaledTensor(q.values, np.ascontiguousarray(q.scales[:2]), q.format, q.shape, q.layout, q.starts, q.axis)
        expect_same_error(target, nvfp4.dequantize, cut, groups=groups)
        w = nvfp4.quantize(rng.standard_normal((3, 70, K)).astype(np.float32))
        # Where a kernel brings the scales to the layout of the product, they are its input.
        needed = {"compact": 356, "upper_bound": 484}[starts]
        message = rf"rows of the scales of (lhs|the input) to be at least {needed} for the groups, but got 256 .storage_c9"
        with calls_on(target), pytest.raises(nvfp4.DataError, match=message):
            nvfp4.grouped_matmul(cut, w, groups)
        with calls_on(target):
            nvfp4.grouped_matmul(q, w, groups)
            nvfp4.grouped_matmul(cut, w, nvfp4.ragged_rows(np.array([100, 200, 200], np.int32)))
        # Scales of groups that break the rule take no room.
        for wrong in (nvfp4.ragged_rows(np.array([100, 301, 300], np.int32)),
                      nvfp4.ragged_rows(starts=np.array([0, 100, 301, 300], np.int32))):
            expect_same_error(target, nvfp4.dequantize, cut, groups=wrong)
            expect_same_error(target, nvfp4.grouped_matmul, cut, w, wrong)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("offsets", ["ends", "starts"])
def test_scales_along_k_without_room(rng, target, offsets):
    a, b = (rng.standard_normal((rows, 96)).astype(np.float32) for rows in (40, 70))
    ends = np.array([13, 13, 48, 75], np.int32)
    groups = nvfp4.ragged_k(ends) if offsets == "ends" else nvfp4.ragged_k(starts=np.array([0, *ends], np.int32))
    x, w = (nvfp4.quantize(each, groups=groups, starts="compact") for each in (a, b))

    def cut(q):
        return nvfp4.ScaledTensor(q.values, np.ascontiguousarray(q.scales[:, :5]), q.format, q.shape, q.layout, q.starts, q.axis)
    expect_same_error(target, nvfp4.grouped_matmul, cut(x), w, groups)
    expect_same_error(target, nvfp4.grouped_matmul, x, cut(w), groups)
    with calls_on(target):
        nvfp4.grouped_matmul(x, w, groups)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("value", [0.0, -2.0, np.inf, np.nan])
def test_global_scales(rng, target, value):
    """One number in memory, for a tensor and for rows of groups; numbers of groups are not checked."""
    text = """func.func @f(%x: tensor<?x64xf32>, %s: tensor<1xf32>) -> !grouped_scaled_gemm.scaled<?x64, nvfp4> {
  %y = grouped_scaled_gemm.quantize <trtllm>(%x : tensor<?x64xf32>) global_scale(%s : tensor<1xf32>)
      -> !grouped_scaled_gemm.scaled<?x64, nvfp4>
  return %y : !grouped_scaled_gemm.scaled<?x64, nvfp4>
}"""
    program = nvfp4.compile(text, target + "+sim", memory="device")
    x = rng.standard_normal((5, 64)).astype(np.float32)
    with pytest.raises(nvfp4.DataError, match=rf"expected global_scale to be finite and positive, but got {value:g} .quantizer_c8"):
        program.run(x, np.array([value], np.float32))
    program.run(x[:0], np.array([value], np.float32))  # nothing is computed with it
    program.run(x, np.array([1e-40], np.float32))


@pytest.mark.parametrize("form", ["nvfp4", "mxfp4"])
def test_factors_of_packed_weights(rng, form):
    packed = nvfp4.relayout(nvfp4.quantize(rng.standard_normal((3, 70, K)).astype(np.float32), form), layout="wgmma")
    x = rng.standard_normal((ROWS, K)).astype(ml_dtypes.bfloat16)
    expected = "128" if form == "nvfp4" else "a power of two"
    for factor in (3.0, np.nan, np.inf, -128.0, 0.0):
        broken = nvfp4.ScaledTensor(packed.values, packed.scales.copy(), packed.format, packed.shape, packed.layout)
        broken.scales[1] = factor
        message = f"expected {expected} as the factor of a matrix of weights, but got {factor:g}"
        with calls_on("sm_90a"), pytest.raises(nvfp4.DataError, match=message):
            nvfp4.grouped_matmul(x, broken, good_groups("ragged_rows"))
    if form == "mxfp4":
        packed.scales[:] = 1e-45, 2.0**127, 2.0**-126  # odd, but powers of two
    with calls_on("sm_90a"):
        nvfp4.grouped_matmul(x, packed, good_groups("ragged_rows"))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("index", [-2, 7, MOST, LEAST])
def test_permute_and_combine(rng, target, index):
    x = rng.standard_normal((7, 40)).astype(np.float32)
    expect_same_error(target, nvfp4.permute, x, np.array([3, -1, index, 0], np.int32))
    expect_same_error(target, nvfp4.combine, x, np.array([[0, -1], [6, 1], [index, 2]], np.int32))
    expect_same_error(target, nvfp4.combine, x, np.array([[0, index], [6, 1], [-1, 2]], np.int32), np.ones((3, 2), np.float32))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("tokens", [9, 1100])
@pytest.mark.parametrize("expert", [-2, 4, MOST, LEAST])
def test_sort_tokens(rng, target, tokens, expert):
    """Few entries in one launch, many in three."""
    rows = 2 * tokens + 4 * 3
    x, e, t = f"tensor<{tokens}x2xi32>", "tensor<4xi32>", f"tensor<{rows}xi32>"
    text = f"""func.func @f(%x: {x}) -> ({e}, {t}, {x}) {{
  %e = tensor.empty() : {e}
  %t = tensor.empty() : {t}
  %r = tensor.empty() : {x}
  %y:3 = grouped_scaled_gemm.sort_tokens(%x : {x}) outs(%e, %t, %r : {e}, {t}, {x}) {{align = 4 : i64}} -> {e}, {t}, {x}
  return %y#0, %y#1, %y#2 : {e}, {t}, {x}
}}"""
    experts = rng.integers(-1, 4, (tokens, 2)).astype(np.int32)
    program = nvfp4.compile(text, target + "+sim", memory="device")
    program.run(experts)
    experts[tokens - 2, 1] = expert
    nearest = -1 if expert < 0 else 3
    with pytest.raises(nvfp4.DataError) as error:
        program.run(experts)
    assert (f"grouped_scaled_gemm.sort_tokens: expected experts[{tokens - 2}, 1] to be in [-1, 4), but got {expert} "
            f"(nearest: {nearest}) [sort_tokens_c6]") in str(error.value)


def expect_no_access_outside(target, function, *arguments, **options):
    """Numbers of any kind: a violation, or two groups that write one row; nothing else."""
    try:
        with calls_on(target):
            function(*arguments, **options)
    except nvfp4.DataError:
        return
    except AssertionError:  # of a copy after the kernels, with their reports
        reports = nvfp4._library.runtime().nvfp4_last_error().decode().splitlines()
        assert reports and all(line.startswith(("kernel ", "data-race: write of global address", "  ")) for line in reports), reports


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", KINDS)
def test_any_numbers(rng, target, kind):
    rows = rng.standard_normal(extents_of(kind)).astype(np.float32)
    weights = rng.standard_normal((70, ROWS) if kind == "ragged_k" else (3, 70, K)).astype(np.float32)
    x, w = nvfp4.quantize(rows), nvfp4.quantize(weights)
    if kind == "ragged_k":
        x, w = (nvfp4.quantize(each, groups=good_groups(kind), starts="compact") for each in (rows, weights))
    groups = good_groups(kind)
    for _ in range(5):
        groups.groups[...] = rng.choice([LEAST, -60, -1, 0, 5, 20, 59, 60, 61, 128, 2**30, MOST], 3)
        expect_no_access_outside(target, nvfp4.grouped_matmul, x, w, groups)
        expect_no_access_outside(target, nvfp4.dequantize, x, groups=groups)
        if kind != "ragged_k":
            expect_no_access_outside(target, nvfp4.quantize, rows, groups=groups)
            expect_no_access_outside(target, nvfp4.sum_rows, rows, groups=groups)


TEXT = """func.func @f(%x: tensor<50x64xbf16>, %w: !grouped_scaled_gemm.scaled<3x64x64, nvfp4, wgmma>, %g: tensor<3xi32>) -> tensor<50x64xf32> {
  %o = tensor.empty() : tensor<50x64xf32>
  %y = grouped_scaled_gemm.matmul <ragged_rows> groups(%g : tensor<3xi32>) lhs(%x : tensor<50x64xbf16>)
      rhs(%w : !grouped_scaled_gemm.scaled<3x64x64, nvfp4, wgmma>) outs(%o : tensor<50x64xf32>) -> tensor<50x64xf32>
  return %y : tensor<50x64xf32>
}"""
MESSAGE = (r"'f': <text>:3:8: grouped_scaled_gemm.matmul: expected group ends\[1\] to be at least 30, the one before it, but "
           r"got 20 \[grouping_c7\]")


class Product:
    """A product whose offsets change, bound once."""

    def __init__(self, rng):
        self.memory = SimMemory()
        packed = nvfp4.relayout(nvfp4.quantize(rng.standard_normal((3, 64, 64)).astype(np.float32)), layout="wgmma")
        self.function = nvfp4.on_device(nvfp4.compile(TEXT, "sm_90a+sim", memory="device"), "sim")
        self.offsets = self.memory.put(np.zeros(3, np.int32))
        self.call = self.function.bind([self.memory.put(rng.standard_normal((50, 64)).astype(ml_dtypes.bfloat16)),
                                        self.memory.put(packed.values), self.memory.put(packed.scales), self.offsets])

    def set(self, *ends):
        self.memory.copy(self.offsets.address, np.array(ends, np.int32).ctypes.data, 12)

    def wait(self):
        return self.memory.library.nvfp4_device_synchronize(self.memory.device)

    def has_violation(self):
        try:
            self.function.check()
        except nvfp4.DataError as error:
            assert "[grouping_c7]" in str(error)
            return True
        return False


def test_violations_are_told_once_and_only_of_bad_data(rng):
    product = Product(rng)
    for ends in ((10, 20, 30), (30, 20, 20), (10, 20, 30)):
        product.set(*ends)
        product.call.launch()
    product.wait()
    with pytest.raises(nvfp4.DataError, match=MESSAGE):
        product.function.check()
    product.function.check()
    product.call.launch()
    product.wait()
    product.function.check()


def test_groups_with_common_rows(rng):
    """Both groups write the rows, which the simulator's checker calls a race; nothing else is wrong."""
    if "--check" not in os.environ.get("NVFP4_SIM_OPTIONS", ""):
        pytest.skip("needs NVFP4_SIM_OPTIONS=--check")
    product = Product(rng)
    product.set(30, 20, 40)
    product.call.launch()
    assert product.wait() == 6
    reports = nvfp4._library.runtime().nvfp4_last_error().decode().splitlines()[1:]
    assert reports and all(line.startswith(("data-race: write of global address", "  ")) for line in reports)
    assert product.has_violation()


def test_replays_of_a_graph_find_violations(rng):
    product, driver = Product(rng), Driver()
    product.set(10, 20, 30)
    replay = driver.capture(product.call.launch)
    for ends, is_bad in (((10, 20, 30), False), ((30, 20, 20), True), ((10, 20, 30), False), ((30, 20, 20), True)):
        product.set(*ends)
        replay()
        assert product.has_violation() == is_bad


def test_sync_mode(rng, monkeypatch):
    """Each call waits and fails itself; graphs cannot be captured."""
    product, driver = Product(rng), Driver()
    monkeypatch.setenv("NVFP4_CHECK", "sync")
    product.set(30, 20, 20)
    with pytest.raises(nvfp4.DataError, match=MESSAGE):
        product.call.launch()
    product.set(10, 20, 40)
    product.call.launch()
    product.function.check()

    def work(stream):
        with pytest.raises(nvfp4.ArgumentError, match="expected no NVFP4_CHECK=sync, which waits for the work, while the stream captures"):
            product.call.launch(stream)
    driver.capture(work)


def test_checks_can_be_left_out(rng):
    """Without them nothing is reported, and kernels stay inside all the same."""
    program = nvfp4.compile("""func.func @f(%x: tensor<7x8xf32>, %t: tensor<3xi32>, %o: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %y = grouped_scaled_gemm.permute(%x : tensor<7x8xf32>) by(%t : tensor<3xi32>) outs(%o : tensor<3x8xf32>) -> tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}""", "sm_90a+sim", memory="device", runtime_checks=False)
    got = program.run(np.ones((7, 8), np.float32), np.array([3, MOST, LEAST], np.int32), np.zeros((3, 8), np.float32))
    assert np.array_equal(got, [[1] * 8, [0] * 8, [0] * 8])
    assert "data_record" not in program.ir("warpspec")
