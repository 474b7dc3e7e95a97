# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hard cases of products, each from a problem that broke another library.

The number in a test's name is its row in docs/Tests.md. Lattice inputs must give
the exact answer, rounded once. Large cases shrink N and K (never the groups)
unless NVFP4_FULL_TESTS=1, which `ninja check-nvfp4-full` sets. kernel_hard.py
runs them as kernels of GPUs.
"""

import ml_dtypes
import numpy as np
import pytest

from nvfp4_cases import *  # noqa: F403
from nvfp4_formats import FORMATS, Scaled, random_scaled
from nvfp4_module import FULL, compile_module, full, uses_processes

# A case that is not about one format runs with each of these, and with all of
# them at full size.
SEVERAL_FORMATS = pytest.mark.parametrize(
    "fmt", FORMAT_NAMES if FULL else ["nvfp4", "mxfp4", "mxfp8_e4m3"])
# Rows of gate and of up where one is behind the other; kernels without that layout beside a
# stored pre-activation have runs of so many.
RUN = 0


def run_text():
    return f"{RUN or 'halves'}, gate_first"


def formats_for(*ks):
    return [f for f in FORMAT_NAMES if all(k % FORMATS[f].block == 0 for k in ks)]


def run_list(rng, problems, fmt, out="f16", **kinds):
    """Problems (m, n, k) through matmul_list, against the exact answer."""
    a = [random_scaled(rng, (m, k), fmt, **kinds) for m, _, k in problems]
    b = [random_scaled(rng, (n, k), fmt, **kinds) for _, n, k in problems]
    c = [np.full((m, n), np.nan, OUT[out]) for m, n, _ in problems]
    module = compile_module(list_text("f", len(problems), fmt, f"tensor<?x?x{out}>"))
    got = module.f(*[x.store() for x in a], *[x.store() for x in b], *c)
    for i, (x, w, d) in enumerate(zip(a, b, got if len(problems) > 1 else [got])):
        exact = x.values(np.float32) @ w.values(np.float32).T
        assert_equal(d, round_to(exact, out), f"problem {i} {problems[i]}")


@pytest.mark.parametrize("fmt", formats_for(512, 256))
def test_row_01_groups_with_own_n_and_k(rng, fmt):
    problems = list(zip([64, 72, 96], [128, 384, 512], [512, 512, 256]))
    run_list(rng, problems, fmt, scales="lattice2")


@pytest.mark.parametrize("fmt", ["nvfp4"] if not FULL else formats_for(7168))
def test_row_03_ragged_tails_and_long_k(rng, fmt):
    sizes = [80, 176, 128, 72, 64, 248, 96, 160]
    n, k = full((4096, 7168), (96, 1792), (40, 1280))
    run_list(rng, [(m, n, k) for m in sizes], fmt, scales="lattice2")


@SEVERAL_FORMATS
@pytest.mark.parametrize("m,k,batch", [(2432, 4608, 2), (7168, 2048, 4), (4096, 7168, 8)])
def test_row_05_batched_gemv(rng, fmt, m, k, batch):
    """The matrix is the weights; the vector is one row of activations."""
    n = full(m, m // 16, 264)
    product = make_product(rng, batched(batch, 1), n, k, fmt, scales="lattice2")
    module = batched_module(fmt, "f16")
    _, operands = product.arguments(rhs_layout="blocked")
    got = module.f(*operands, product.destination("f16"))
    assert_equal(got, expected_result(product, "f16", fast=True))


def batched_module(fmt, out):
    return compile_module(matmul_text(
        "f", "<batched>", scaled_type(fmt, 3), scaled_type(fmt, 3, "blocked"),
        f"tensor<?x?x?x{out}>"))


def dense_module(fmt, out, layout="linear"):
    return compile_module(matmul_text(
        "f", "<dense>", scaled_type(fmt, 2, layout), scaled_type(fmt, 2, layout),
        f"tensor<?x?x{out}>"))


def test_row_07_every_byte_and_zero_scales(rng):
    m, n, k = full((2304, 4608, 7168), (288, 192, 1792), (144, 136, 768))

    def operand(rows):
        data = rng.integers(0, 256, (rows, k // 2), dtype=np.uint8)
        codes = np.stack([data & 15, data >> 4], -1).reshape(rows, k)
        scales = np.array([0, 0x38, 0x40, 0x44], np.uint8)[rng.integers(0, 4, (rows, k // 16))]
        assert len(np.unique(data)) == 256
        return Scaled(FORMATS["nvfp4"], codes, scales)

    product = Product(dense(m), operand(m), operand(n))
    _, operands = product.arguments("blocked", "whole", "blocked")
    got = dense_module("nvfp4", "f16", "blocked").f(*operands, product.destination("f16"))
    assert_equal(got, expected_result(product, "f16", fast=True))


@SEVERAL_FORMATS
def test_row_08_dual_product_with_silu(rng, fmt):
    """Two weights as the gate and up halves of one; sums of thousands."""
    m, n, k = full((7168, 2304, 2048), (256, 160, 2048), (72, 64, 2048))
    product = make_product(rng, dense(m), 2 * n, k, fmt, scales="lattice2")
    module = compile_module(matmul_text(
        "f", "<dense>", scaled_type(fmt), scaled_type(fmt), "tensor<?x?xf16>",
        alpha="f32", activation=f"<swiglu, gate = <{run_text()}>>",
        preact="tensor<?x?xf32>"))
    _, operands = product.arguments()
    alpha = np.float32(0.015625)
    pre, got = module.f(*operands, alpha, product.destination("f32"),
                        product.destination("f16", n))
    (_, acc, _), = product.accumulators(np.float32)
    z = acc.astype(np.float64) * alpha
    assert np.abs(z).max() > 20 and np.abs(acc).max() > 1000
    assert_equal(pre, round_to(z, "f32"), "pre-activation")
    gate, up = gate_rows(RUN, False, n)
    y = swiglu(z[:, gate], z[:, up])
    assert_within(got, y, activation_bound(y, z[:, gate]), "f16")


@SEVERAL_FORMATS
def test_row_09_fifty_random_problems_with_zeros(rng, fmt):
    sizes = full(32, 2) * rng.integers(0, 64, (full(50, 50, 50 if FULL else 12), 3))
    sizes[1, 0] = sizes[2, 1] = sizes[4, 2] = 0
    sizes[5, :2] = sizes[7, 1:] = sizes[8, [0, 2]] = sizes[10] = 0
    run_list(rng, [tuple(int(x) for x in s) for s in sizes], fmt, scales="lattice2")


def ragged_text(name, groups, fmt, out, lhs=("linear", "whole"), rhs="linear", **clauses):
    return matmul_text(name, groups.attribute, scaled_type(fmt, 2, *lhs),
                       scaled_type(fmt, 3, rhs), f"tensor<?x?x{out}>", **clauses)


def run_ragged(product, fmt, out, lhs=("linear", "whole"), rhs="linear", fast=True):
    module = compile_module(ragged_text("f", product.groups, fmt, out, lhs, rhs))
    operand, operands = product.arguments(*lhs, rhs)
    got = module.f(*operand, *operands, product.destination(out))
    assert_equal(got, expected_result(product, out, fast=fast))


@SEVERAL_FORMATS
@pytest.mark.parametrize("n,k", [(1024, 7168), (7168, 512)])
def test_row_11_one_token_for_each_of_256_experts(rng, fmt, n, k):
    n, k = full(n, 24), full(k, k, min(k, 768))
    product = make_product(rng, ragged([1] * 256), n, k, fmt, scales="lattice2")
    run_ragged(product, fmt, "bf16", ("blocked", "compact"), "blocked")


@SEVERAL_FORMATS
@pytest.mark.parametrize("offsets", ["ends", "starts"])
def test_row_14_dirichlet_sizes_with_empty_groups(rng, fmt, offsets):
    shares = rng.dirichlet([0.5] * 16)
    counts = np.floor(shares * 1024).astype(int)
    counts[[0, 3, 4, 15]] = 0
    product = make_product(rng, ragged(list(counts), offsets), 128, 256, fmt)
    run_ragged(product, fmt, "bf16", ("blocked", "compact"), "blocked")


def glu_module(fmt, groups, gate, out="bf16", pre="bf16", parameters="", **clauses):
    return compile_module(ragged_text(
        "f", groups, fmt, out, ("blocked", "compact"), "blocked",
        activation=f"<swiglu, gate = <{gate}>{parameters}>", preact=f"tensor<?x?x{pre}>",
        **clauses))


@SEVERAL_FORMATS
def test_row_16_zero_probability_keeps_the_pre_activation(rng, fmt):
    groups = ragged([128, 320, 96])
    product = make_product(rng, groups, 384, 192, fmt)
    module = glu_module(fmt, groups, "32, gate_first", prob="tensor<?xf32>")
    operand, operands = product.arguments("blocked", "compact", "blocked")
    pre, got = module.f(*operand, *operands, np.zeros(groups.extent, np.float32),
                        product.destination("bf16"), product.destination("bf16", 192))
    expected = expected_result(product, "bf16")
    assert np.count_nonzero(expected.astype(np.float32)) > 0.9 * expected.size
    assert_equal(pre, expected, "pre-activation")
    assert np.all(got == 0)


@pytest.mark.parametrize("fmt", formats_for(160))
def test_row_17_zero_alpha_and_k_160(rng, fmt):
    groups = ragged([64, 256, 320])
    product = make_product(rng, groups, 384, 160, fmt)
    module = compile_module(ragged_text(
        "f", groups, fmt, "bf16", ("blocked", "compact"), "blocked", alpha="tensor<?xf32>"))
    operand, operands = product.arguments("blocked", "compact", "blocked")
    alpha = np.array([1, 0, -2], np.float32)
    got = module.f(*operand, *operands, alpha, product.destination("bf16"))
    assert_equal(got, expected_result(product, "bf16", epilogue=lambda a, g, _: a * alpha[g]))
    zero = module.f(*operand, *operands, alpha * 0, product.destination("bf16"))
    assert np.all(zero == 0)


@SEVERAL_FORMATS
@pytest.mark.parametrize("at", ["gemm", "bias", "pre_activation", "post_activation"])
def test_row_19_bias_times_probability(rng, fmt, at):
    groups = ragged([128, 320, 96])
    n = 384
    product = make_product(rng, groups, n, 192, fmt)
    bias = (rng.integers(-64, 64, (3, n)) / 4).astype(ml_dtypes.bfloat16)
    prob = np.where(rng.random(groups.extent) < 0.5, -2, 0.5).astype(np.float32)
    module = compile_module(ragged_text(
        "f", groups, fmt, "bf16", ("blocked", "compact"), "blocked",
        bias="tensor<?x?xbf16>", prob="tensor<?xf32>", at=at))
    operand, operands = product.arguments("blocked", "compact", "blocked")
    got = module.f(*operand, *operands, bias, prob, product.destination("bf16"))

    def epilogue(acc, g, index):
        p, b = prob[index[0], None].astype(np.float64), bias[g].astype(np.float64)
        return {"gemm": acc * p + b, "bias": acc + b * p}.get(at, (acc + b) * p)

    assert_equal(got, expected_result(product, "bf16", epilogue=epilogue))


@SEVERAL_FORMATS
def test_row_20_one_binary_for_every_shape(rng, fmt):
    module = compile_module(ragged_text("f", ragged([1]), fmt, "bf16",
                                        ("blocked", "compact"), "blocked"))
    for m in (64, 320, 576, 832):
        for n, k in ((256, 256), (512, 384)):
            counts = [m // 4, 0, m // 2, m - m // 4 - m // 2]
            product = make_product(rng, ragged(counts), n, k, fmt)
            operand, operands = product.arguments("blocked", "compact", "blocked")
            got = module.f(*operand, *operands, product.destination("bf16"))
            assert_equal(got, expected_result(product, "bf16"), f"{m}x{n}x{k}")


@SEVERAL_FORMATS
def test_row_22_weight_gradient_accumulates_after_new_offsets(rng, fmt):
    sides = scaled_type(fmt, 2, "blocked", "compact")
    module = compile_module(matmul_text(
        "f", "<ragged_k, ends>", sides, sides, "tensor<?x?x?xf32>", alpha="tensor<?xf32>",
        beta="f32"))
    total = np.full((2, 384, 640), 0, np.float32)
    expected = total.astype(np.float64)
    alpha = np.array([0.5, -2], np.float32)
    for counts in ([256, 384], [128, 128], [0, 128], [0, 0]):
        product = make_product(rng, ragged(counts, kind="ragged_k"), 640, None, fmt, m=384)
        operand, operands = product.arguments("blocked", "compact", "blocked", "compact")
        total = module.f(*operand, *operands, alpha, np.float32(1), total)
        for (g,), acc, _ in product.accumulators():
            expected[g] += alpha[g] * acc
        assert_equal(total, expected.astype(np.float32), str(counts))


@SEVERAL_FORMATS
@pytest.mark.parametrize("groups,most", [(6, 1024), (32, 192), (6, 20)])
def test_row_24_masked_rows_keep_the_poison(rng, fmt, groups, most):
    counts = rng.integers(0, most + 1, groups)
    counts[0], counts[-1] = 0, most
    n, k = full((4096, 7168), (96, 256), (40, 256))
    product = make_product(rng, masked(counts, most), n, k, fmt, scales="lattice2")
    run_masked(product, fmt)


def run_masked(product, fmt, fast=True):
    module = compile_module(matmul_text(
        "f", "<masked>", scaled_type(fmt, 3, "blocked"), scaled_type(fmt, 3, "blocked"),
        "tensor<?x?x?xbf16>"))
    operand, operands = product.arguments("blocked", "whole", "blocked")
    got = module.f(*operand, *operands, product.destination("bf16"))
    assert_equal(got, expected_result(product, "bf16", fast=fast))


@SEVERAL_FORMATS
@pytest.mark.parametrize("align", [32, 128, 160, 192, 224])
def test_row_25_gaps_between_aligned_groups(rng, fmt, align):
    counts = [int(c) for c in rng.integers(1, 2 * align, 6)]
    counts[2] = 0
    product = make_product(rng, ragged(counts, align=align, extra=align), 64, 128, fmt)
    run_ragged(product, fmt, "bf16", ("blocked", "whole"), "blocked")


@SEVERAL_FORMATS
@pytest.mark.parametrize("form", ["batched", "ragged"])
@pytest.mark.parametrize("shape", [(0, 5, 7), (5, 0, 7), (5, 7, 0)])
def test_row_27_degenerate_extents_in_ten_slices(rng, fmt, shape, form):
    m, n, k = shape
    if form == "ragged":
        return run_ragged(make_product(rng, ragged([m] * 10), n, k, fmt), fmt, "bf16")
    product = make_product(rng, batched(10, m), n, k, fmt)
    _, operands = product.arguments(rhs_layout="blocked")
    got = batched_module(fmt, "f16").f(*operands, product.destination("f16"))
    assert_equal(got, expected_result(product, "f16"))


@SEVERAL_FORMATS
@pytest.mark.parametrize("alpha,limit", [(1.1, 1.4), (1.1, 7.0), (1.702, 7.0)])
def test_row_29_clamped_swiglu(rng, fmt, alpha, limit):
    groups = ragged([33, 0, 70, 25])
    product = make_product(rng, groups, 192, 96, fmt)
    module = glu_module(fmt, groups, "1, gate_first", "f32", "f32",
                        f", alpha = {alpha}, beta = 1.0, limit = {limit}", alpha="f32")
    operand, operands = product.arguments("blocked", "compact", "blocked")
    scale = np.float32(0.25)
    pre, got = module.f(*operand, *operands, scale, product.destination("f32"),
                        product.destination("f32", 96))
    clamped = 0
    for g, (index, acc, _) in enumerate(product.accumulators()):
        z = acc * scale
        assert_equal(pre[index], round_to(z, "f32"), f"pre-activation of group {g}")
        gate, up = z[:, 0::2], z[:, 1::2]
        clamped += ((gate > limit) | (np.abs(up) > limit)).sum()
        a32, l32 = float(np.float32(alpha)), float(np.float32(limit))
        y = swiglu(gate, up, a32, 1.0, l32)
        assert_within(got[index], y, activation_bound(y, np.minimum(gate, l32), a32), "f32", g)
    assert clamped > 0.5 * 128 * 96


@SEVERAL_FORMATS
@pytest.mark.parametrize("experts,top_k", [(40, 1), (64, 6), (256, 8)])
@pytest.mark.parametrize("m,n,k", [(224, 1024, 1536), (2, 1024, 1024)])
def test_row_30_more_experts_than_tokens(rng, fmt, m, n, k, experts, top_k):
    n, k = full((n, k), (32, k // 4))
    chosen = np.stack([rng.permutation(experts)[:top_k] for _ in range(m)])
    counts = np.bincount(chosen.reshape(-1), minlength=experts)
    product = make_product(rng, ragged([int(c) for c in counts]), n, k, fmt,
                           scales="lattice2")
    run_ragged(product, fmt, "bf16", ("blocked", "compact"), "blocked")


@SEVERAL_FORMATS
@pytest.mark.parametrize("counts", [[128, 0, 0, 0], [0, 0, 0, 0]])
def test_row_31_masked_groups_all_but_one_empty(rng, fmt, counts):
    run_masked(make_product(rng, masked(counts, 128), 256, 512, fmt), fmt)


@SEVERAL_FORMATS
@pytest.mark.parametrize("m", [4, 128, 512])
@pytest.mark.parametrize("offsets", ["starts", "ends"])
def test_row_33_scale_starts_by_the_upper_bound_rule(rng, fmt, m, offsets):
    counts = [m, 0, m + 4, 12, m]
    product = make_product(rng, ragged(counts, offsets, align=4), 128, 256, fmt)
    run_ragged(product, fmt, "bf16", ("blocked", "upper_bound"), "blocked")


@SEVERAL_FORMATS
def test_row_38_gate_and_up_have_their_own_global_scale(rng, fmt):
    """With one alpha for both the error would be a factor of 1.25."""
    groups = ragged([40, 24])
    product = make_product(rng, groups, 256, 512, fmt, scales="lattice2")
    module = glu_module(fmt, groups, run_text(), "f32", "f32", alpha="tensor<?x2xf32>")
    operand, operands = product.arguments("blocked", "compact", "blocked")
    alpha = np.array([[3.85e-5, 4.83e-5], [4.83e-5, 3.85e-5]], np.float32)
    pre, got = module.f(*operand, *operands, alpha, product.destination("f32"),
                        product.destination("f32", 128))
    gate, up = gate_rows(RUN, False, 128)
    for g, (index, acc, _) in enumerate(product.accumulators()):
        factor = np.empty(256)
        factor[gate], factor[up] = alpha[g]
        assert_equal(pre[index], round_to(acc * factor, "f32"), "pre-activation")
        z = pre[index].astype(np.float64)
        y = swiglu(z[:, gate], z[:, up])
        bound = activation_bound(y, z[:, gate])
        assert_within(got[index], y, bound, "f32")
        wrong = swiglu(acc[:, gate] * alpha[g, 0], acc[:, up] * np.float64(alpha[g, 0]))
        assert (np.abs(wrong - y) > 10 * bound).mean() > 0.95


def test_row_43_more_than_2_to_31_elements_of_output(tmp_path, rng):
    """The result is a file with holes; only the group at its end has rows."""
    if uses_processes():
        pytest.skip("the result is a file that this process maps")
    n, k, rows = 2304, 32, 2**20 + 9
    starts = np.array([rows - 5, rows - 5, rows], np.int64)
    weights = random_scaled(rng, (2, n, k), "nvfp4")
    tail = random_scaled(rng, (5, k), "nvfp4")
    data = np.memmap(tmp_path / "values", np.uint8, "w+", shape=(rows, k // 2))
    scales = np.memmap(tmp_path / "scales", np.uint8, "w+", shape=(rows, k // 16))
    data[-5:], scales[-5:] = tail.store()
    out = np.memmap(tmp_path / "out", np.uint16, "w+", shape=(rows, n))
    assert out.size > 2**31
    lhs, rhs = scaled_type("nvfp4"), scaled_type("nvfp4", 3)
    text = f"""
    func.func @f(%s: memref<?xi64>, %a: memref<?x?xi8>, %as: memref<?x?xf8E4M3FN>,
                 %b: memref<?x?x?xi8>, %bs: memref<?x?x?xf8E4M3FN>, %out: memref<?x?xbf16>) {{
      grouped_scaled_gemm.matmul <ragged_rows, starts> groups(%s : memref<?xi64>)
          lhs(%a scaled_by %as : memref<?x?xi8>, memref<?x?xf8E4M3FN> as {lhs})
          rhs(%b scaled_by %bs : memref<?x?x?xi8>, memref<?x?x?xf8E4M3FN> as {rhs})
          outs(%out : memref<?x?xbf16>)
      return
    }}"""
    module = compile_module(text)
    module.f(starts, data, scales, *weights.store(), out.view(ml_dtypes.bfloat16))
    exact = tail.values() @ weights[1].values().T
    assert_equal(out[-5:].view(ml_dtypes.bfloat16), round_to(exact, "bf16"))
    assert not out[:64].any() and not out[-70:-5].any()
    assert (tmp_path / "out").stat().st_blocks * 512 < 2**27
