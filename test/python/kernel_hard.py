# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The hard cases of docs/Tests.md as kernels of a GPU: those of the CPU's code, whose
modules the fixture `target` of the importing file compiles instead. Extents are smaller;
groups are the same. Full runs on a device have the extents of the cases.

Other formats than nvfp4 come in full runs, and so do sixteen schedules of each launch of
nvfp4 in the simulator, which all give the same bytes.
"""

import os

import numpy as np
import pytest

import test_hard_cases
import test_hard_quantized
from format_blocks import CASES
from nvfp4_cases import *  # noqa: F403
from nvfp4_formats import FORMATS, Scaled
from nvfp4_kernels import compile_kernels, run_schedule
from nvfp4_module import FULL
from test_hard_cases import (test_row_01_groups_with_own_n_and_k,  # noqa: F401
                             test_row_03_ragged_tails_and_long_k, test_row_05_batched_gemv,
                             test_row_07_every_byte_and_zero_scales,
                             test_row_08_dual_product_with_silu,
                             test_row_09_fifty_random_problems_with_zeros,
                             test_row_11_one_token_for_each_of_256_experts,
                             test_row_14_dirichlet_sizes_with_empty_groups,
                             test_row_16_zero_probability_keeps_the_pre_activation,
                             test_row_17_zero_alpha_and_k_160,
                             test_row_19_bias_times_probability,
                             test_row_20_one_binary_for_every_shape,
                             test_row_22_weight_gradient_accumulates_after_new_offsets,
                             test_row_24_masked_rows_keep_the_poison,
                             test_row_25_gaps_between_aligned_groups,
                             test_row_27_degenerate_extents_in_ten_slices,
                             test_row_29_clamped_swiglu, test_row_30_more_experts_than_tokens,
                             test_row_31_masked_groups_all_but_one_empty,
                             test_row_33_scale_starts_by_the_upper_bound_rule,
                             test_row_38_gate_and_up_have_their_own_global_scale)
from test_hard_quantized import (test_row_34_layer_of_width_2880_with_fp4_in_between,  # noqa: F401
                                 test_row_40_results_of_hard_blocks_to_the_byte)

ON_DEVICE = os.environ.get("NVFP4_DEVICE", "sim") != "sim"
SCHEDULES = 16 if FULL and not ON_DEVICE else 1
# Every fifth quantiser is run in default runs, and the first format of each other test.
SOME_QUANTIZERS = CASES if FULL else CASES[::5]


def leaves_out(item):
    """The cases that default runs leave out (see conftest.py)."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    if "quantizer" in parameters:
        return (parameters["quantizer"], parameters["fmt"]) not in SOME_QUANTIZERS
    if not FULL and parameters.keys() >= {"form", "kind"}:
        # One kind of tile for every form.
        kinds = list(item.module.TILES)
        return parameters["kind"] != kinds[list(FORMS).index(parameters["form"]) % len(kinds)]
    is_hard = item.originalname.startswith("test_row_")
    return not FULL and is_hard and parameters.get("fmt", "nvfp4") != "nvfp4"


class Scheduled:
    """A module whose functions run on several schedules: each launch in a process has
    another seed than those before."""

    def __init__(self, module, schedules):
        self.module, self.schedules = module, schedules

    def __getattr__(self, name):
        return lambda *arguments: self.call(name, *arguments)

    def call(self, name, *arguments):
        first = self.module.call(name, *arguments)
        for _ in range(self.schedules - 1):
            again = self.module.call(name, *arguments)
            for a, b in zip(*(r if isinstance(r, tuple) else (r,) for r in (first, again))):
                np.testing.assert_array_equal(a.view(np.uint8), b.view(np.uint8))
        return first


def extents(whole, shrunk, simulated=None):
    return whole if FULL and ON_DEVICE else simulated or shrunk


@pytest.fixture(autouse=True)
def kernels(monkeypatch, request, target):
    parameters = getattr(request.node, "callspec", None)
    is_nvfp4 = parameters is None or parameters.params.get("fmt", "nvfp4") == "nvfp4"

    def compile_module(text):
        return Scheduled(compile_kernels(target, text), SCHEDULES if is_nvfp4 else 1)

    for cases in (test_hard_cases, test_hard_quantized):
        monkeypatch.setattr(cases, "compile_module", compile_module)
        monkeypatch.setattr(cases, "full", extents)

    if target == "sm_90a":
        monkeypatch.setattr(test_hard_cases, "RUN", 32)


# One product of every form; the list's problems are M, N and K.
FORMS = {"dense": dense(70), "ragged": ragged([3, 0, 130, 20], extra=5),
         "masked": masked([0, 7, 61], 70), "batched": batched(2, 40),
         "ragged_k": ragged([300, 0, 7], kind="ragged_k"),
         "list": [(80, 136, 320), (0, 40, 64), (1, 8, 32), (5, 33, 0)]}


def check_schedules(rng, target, form, attrs):
    """The exact result on every schedule: two by default."""
    if form == "list":
        products = [make_product(rng, dense(m), n, k, "nvfp4") for m, n, k in FORMS[form]]
        text = list_text("f", len(products), "nvfp4", "tensor<?x?xf32>", attrs=attrs)
        pairs = [product.arguments()[1] for product in products]
        arguments = [side[i] for i in (0, 1) for side in pairs]
    else:
        groups = FORMS[form]
        product = make_product(rng, groups, 136, 544, "nvfp4",
                               **({"m": 70} if form == "ragged_k" else {}))
        products = [product]
        ranks = {"dense": (2, 2, 2), "ragged": (2, 3, 2), "ragged_k": (2, 2, 3)}.get(form, (3, 3, 3))
        starts = "compact" if form == "ragged_k" else "whole"
        lhs, rhs = (scaled_type("nvfp4", rank, starts=starts) for rank in ranks[:2])
        text = matmul_text("f", groups.attribute, lhs, rhs,
                           f"tensor<{'?x' * ranks[2]}f32>", attrs=attrs)
        operand, operands = product.arguments("linear", starts, "linear", starts)
        arguments = operand + operands
    module = compile_kernels(target, text)
    for _ in range(max(2, SCHEDULES)):
        got = module.f(*arguments, *[product.destination("f32") for product in products])
        for result, product in zip(got if form == "list" else [got], products):
            assert_equal(result, expected_result(product, "f32"), form)


RANDOM = [(dense(33), 65, 1024), (ragged([3, 0, 70], extra=5), 72, 800), (batched(2, 9), 40, 545)]


@pytest.mark.parametrize("groups,n,k", RANDOM if FULL else RANDOM[:2], ids=str)
@pytest.mark.parametrize("fmt", FORMAT_NAMES if FULL else ["nvfp4", "mxfp4", "mxfp8_e4m3"])
def test_random_values_of_kernels_within_the_bound(rng, target, groups, n, k, fmt):
    """Any codes, scales over many binades with outliers, off every lattice."""
    check_random(rng, target, groups, n, k, fmt)


def sum_of_blocks(a, b):
    """The magnitudes of exact sums of blocks, which is what tcgen05 adds."""
    x, w, block = a.values(), b.values(), a.fmt.block
    return sum(np.abs(x[:, i:i + block] @ w[:, i:i + block].T)
               for i in range(0, x.shape[1], block))


def block_that_cancels():
    """1 x 1 with scales of 1/8, then 6 x 6 - 6 x 6 with scales of 448."""
    rows = [np.zeros((n, 32), np.uint8) for n in (4, 8)]
    for codes, last in zip(rows, (7, 15)):
        codes[:, [0, 16, 17]] = 2, 7, last
    a, b = (Scaled(FORMATS["nvfp4"], codes, np.tile(np.uint8([0x20, 0x7E]), (len(codes), 1)))
            for codes in rows)
    text = matmul_text("f", "<dense>", scaled_type("nvfp4"), scaled_type("nvfp4"), "tensor<?x?xf32>")
    return Product(dense(4), a, b), text


def test_a_block_that_cancels(target):
    """1 x 1 beside 6 x 6 - 6 x 6 of the largest scales. wgmma aligns what it adds to the
    largest element and loses the rest, within the bound of elements; blocks of tcgen05 add up to zero."""
    product, text = block_that_cancels()
    _, operands = product.arguments()
    got = compile_kernels(target, text).f(*operands, product.destination("f32"))
    (_, acc, magnitude), = product.accumulators()
    assert np.all(acc == 2**-6)
    assert_equal(got, acc.astype(np.float32) * (target == "sm_100a"))
    if target == "sm_90a":
        assert_within(got, acc, random_bound(acc, magnitude, 32, 1), "f32")


def test_a_block_of_zeros_with_a_large_scale(target):
    """Blocks of tcgen05 align with the largest product of scales, also where a block is zero
    (docs/Blackwell.md); elements of wgmma are zero then and align with nothing."""
    rows = [np.zeros((n, 64), np.uint8) for n in (4, 8)]
    for codes in rows:
        codes[:, :32] = 2
    a, b = (Scaled(FORMATS["mxfp4"], codes, np.tile(np.uint8([127, 187]), (len(codes), 1)))
            for codes in rows)
    product = Product(dense(4), a, b)
    text = matmul_text("f", "<dense>", scaled_type("mxfp4"), scaled_type("mxfp4"), "tensor<?x?xf32>")
    _, operands = product.arguments()
    got = compile_kernels(target, text).f(*operands, product.destination("f32"))
    (_, acc, _), = product.accumulators()
    assert np.all(acc == 32)
    assert_equal(got, acc.astype(np.float32) * (target == "sm_90a"))


def test_the_command_line_checks_with_the_bound_of_the_target(target):
    product, text = block_that_cancels()
    _, operands = product.arguments()
    flat = [part for pair in operands for part in pair]
    run_schedule(target, "cancels", text, flat + [product.destination("f32")], 1, "--check=reference")


def test_scales_of_every_size(rng, target):
    """Random codes with every scale of UE4M3 alike, where most of a sum is a few blocks that may cancel."""
    def every_scale(product):
        for operand in (product.lhs, product.rhs):
            operand.scales[...] = rng.integers(0, 0x7F, operand.scales.shape, np.uint8)
    check_random(rng, target, ragged([17, 0, 30, 3]), 128, 256, "nvfp4", change=every_scale)


def check_random(rng, target, groups, n, k, fmt, attrs=None, change=None):
    product = make_product(rng, groups, n, k, fmt, lattice=False)
    if change:
        change(product)
    outer = ["?"] * (groups.kind == "batched")
    text = matmul_text("f", groups.attribute, scaled_type(fmt, shape=outer + ["?", k]),
                       scaled_type(fmt, shape=["?"] * (groups.kind != "dense") + ["?", k]),
                       "tensor<" + "x".join(outer + ["?", "?", "f32"]) + ">", attrs=attrs)
    operand, operands = product.arguments()
    got = compile_kernels(target, text).f(*operand, *operands, product.destination("f32"))
    unwritten = product.destination("f32")
    for g, (index, acc, magnitude) in enumerate(product.accumulators()):
        _, a, b = list(product.problems())[g]
        # The bound of docs/Spec.md: of exact blocks, or of elements of 8 bits and of wgmma.
        bound = random_bound(acc, magnitude, k, 1)
        if target == "sm_100a" and a.fmt.is_fp4:
            bound = random_bound(acc, sum_of_blocks(a, b), k, a.fmt.block)
        assert_within(got[index], acc, bound, "f32", f"group {g}")
        unwritten[index] = got[index]
    assert_equal(got, unwritten, "rows of no group")
