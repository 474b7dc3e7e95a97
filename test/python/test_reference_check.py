# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Three answers for one product of each form: the compiled code, the
interpreter (nvfp4-run --check=reference) and numpy."""


import numpy as np
import pytest

from nvfp4_cases import *  # noqa: F403
from nvfp4_module import FULL, check_with_interpreter, scratch

SWIGLU = "<swiglu, gate = <16, up_first>, alpha = 1.702, beta = 1.0, limit = 7.0>"


def forms():
    yield "dense", dense(9), {}
    yield "batched", batched(3, 4), {}
    yield "masked", masked([0, 5, 2], 5), {}
    yield "ragged_ends", ragged([3, 0, 17, 1], align=4, extra=2), {}
    yield "ragged_starts", ragged([3, 0, 17, 1], "starts", dtype=np.int64), {}
    yield "ragged_discrete", ragged([3, 0, 17]), {"weights": "discrete"}
    yield "ragged_k", ragged([16, 0, 33, 7], kind="ragged_k"), {"m": 6}
    yield "ragged_k_starts", ragged([16, 32, 7], "starts", 4, kind="ragged_k"), {"m": 6}


def case(rng, groups, fmt, options, lattice, **clauses):
    product = make_product(rng, groups, 32, 96, fmt, lattice=lattice, **options)
    rank3 = groups.kind in ("batched", "masked")
    starts = {"ragged_k": "compact", "ragged_rows": "compact"}.get(groups.kind, "whole")
    discrete = isinstance(product.rhs, list) and groups.kind != "ragged_k"
    stacked = groups.kind not in ("dense", "ragged_k") and not discrete
    dims = len(product.out_shape())
    index = "i64" if groups.operand is not None and groups.operand.dtype == np.int64 else "i32"
    text = matmul_text(
        "f", groups.attribute, scaled_type(fmt, 3 if rank3 else 2, "blocked", starts),
        scaled_type(fmt, 3 if stacked else 2, "linear",
                    "compact" if groups.kind == "ragged_k" else "whole"),
        "tensor<" + "?x" * dims + "f32>", weights=len(groups) if discrete else 1, index=index,
        **clauses)
    operand, operands = product.arguments("blocked", starts, "linear",
                                          "compact" if groups.kind == "ragged_k" else "whole")
    return product, text, operand + operands


@pytest.mark.parametrize("fmt", ["nvfp4", "mxfp8_e5m2"] if not FULL else FORMAT_NAMES)
@pytest.mark.parametrize("name,groups,options", list(forms()), ids=[n for n, _, _ in forms()])
def test_lattice_products_agree_exactly(rng, name, groups, options, fmt):
    product, text, arguments = case(rng, groups, fmt, dict(options), True)
    output = scratch() / "interpreted.npy"
    report = check_with_interpreter(text, "f", *arguments, product.destination("f32"), exact=True)
    assert " 0 not equal" in report
    check_with_interpreter(text, "f", *arguments, product.destination("f32"),
                           options=("--device=reference", f"--outputs={output}"))
    assert_equal(np.load(output), expected_result(product, "f32"), name)


@pytest.mark.parametrize("name,groups,options", list(forms())[3:5],
                         ids=[n for n, _, _ in list(forms())[3:5]])
def test_random_products_with_an_epilogue_agree_within_the_bound(rng, name, groups, options):
    product, text, arguments = case(
        rng, groups, "nvfp4", dict(options), False, alpha="tensor<?x2xf32>",
        bias="tensor<?x?xf32>", prob="tensor<?xf32>", activation=SWIGLU)
    count = len(groups)
    alpha = rng.random((count, 2)).astype(np.float32) / 1000
    bias = rng.standard_normal((count, 32)).astype(np.float32)
    prob = rng.random(groups.extent).astype(np.float32)
    check_with_interpreter(text, "f", *arguments, alpha, bias, prob,
                           product.destination("f32", 16))


@pytest.mark.parametrize("fmt", ["nvfp4", "mxfp8_e5m2"] if not FULL else FORMAT_NAMES)
@pytest.mark.parametrize("problems", [[(5, 7, 64), (0, 5, 96), (5, 7, 0), (33, 1, 160)],
                                      [(0, 5, 64), (7, 0, 64), (0, 0, 0)]],
                         ids=["mixed", "all_empty"])
def test_lattice_lists_agree_exactly(rng, problems, fmt):
    a = [random_scaled(rng, (m, k), fmt) for m, _, k in problems]
    b = [random_scaled(rng, (n, k), fmt) for _, n, k in problems]
    c = [np.full((m, n), np.nan, np.float32) for m, n, _ in problems]
    report = check_with_interpreter(
        list_text("f", len(problems), fmt, "tensor<?x?xf32>"), "f", *[x.store() for x in a],
        *[x.store() for x in b], *c, exact=True)
    assert report.count(" 0 not equal") == len(problems)


@pytest.mark.parametrize("name,groups,options", [f for f in forms() if f[0] in (
    "dense", "batched", "masked", "ragged_k")], ids=lambda v: v if isinstance(v, str) else "")
def test_epilogues_of_every_form_agree_within_the_bound(rng, name, groups, options):
    """Bias, activation and maxima beside ragged rows; prob where rows belong to tokens."""
    with_prob = name != "ragged_k"
    product, text, arguments = case(
        rng, groups, "nvfp4", dict(options), False, alpha="tensor<?xf32>", bias="tensor<?xf32>",
        prob=("tensor<?x?xf32>" if name != "dense" else "tensor<?xf32>") if with_prob else None,
        activation=SWIGLU, amax=True)
    shape = product.out_shape()
    terms = [rng.random(len(groups)).astype(np.float32) / 1000,
             rng.standard_normal(32).astype(np.float32)]
    if with_prob:
        terms.append(rng.random(shape[:-1]).astype(np.float32))
    check_with_interpreter(text, "f", *arguments, *terms, product.destination("f32", 16),
                           np.full(len(groups), np.nan, np.float32))
