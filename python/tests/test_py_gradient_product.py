# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with gradient_of: to the bit what glu_backward makes of the product in float32, in every form on three targets.

Operands lie on a lattice, so that every target has the same sums. Rows of no group hold NaN in every operand and a pattern in
every destination, which stays there, or becomes zero.
"""

import dataclasses
import itertools

import ml_dtypes
import numpy as np
import pytest

import nvfp4
from device_calls import get_bytes
from nvfp4.matmul import plan_matmul
from nvfp4_cases import OUT, batched, dense, make_product, masked, poison, ragged
from test_py_copies import SR, assert_same, destination, quantized
from test_py_matmul import grouping_of, operands

TARGETS = ["cpu", "sm_90a+sim", "sm_100a+sim"]
FORMS = {
    "dense": (dense(37), {}), "batched": (batched(3, 5), {}), "masked": (masked([0, 5, 33, 40], 40), {}),
    "ragged": (ragged([3, 0, 130, 1, 40], align=16, extra=25), {}), "ragged_ends": (ragged([3, 0, 17], extra=2), {}),
    "ragged_starts": (ragged([64, 0, 32, 7], "starts", 32, dtype=np.int64), {}),
    "ragged_discrete": (ragged([3, 0, 40], align=16), {"weights": "discrete"})}
ACTIVATIONS = [
    nvfp4.Activation("swiglu", nvfp4.Gate(0)), "relu2", nvfp4.Activation("swiglu", nvfp4.Gate(1, "up_first"), 1.702, 1.0, 7.0),
    "silu", nvfp4.Activation("reglu", nvfp4.Gate(8)), "identity", nvfp4.Activation("geglu_tanh", nvfp4.Gate(32, "up_first")),
    "gelu_tanh", nvfp4.Activation("swiglu", nvfp4.Gate(16), limit=2.0), "relu",
    nvfp4.Activation("swiglu", nvfp4.Gate(64), round_bf16=True)]
#: Types of z; results.
TYPES = ["bf16", "f32", "f16", "bf16"]
OUTS = [dict(dtype="bfloat16"), dict(dtype=np.float32), dict(quantizer="te", out_format="nvfp4", out_layout="blocked"),
        dict(dtype=np.float16), dict(quantizer="ue8m0_up", out_format="mxfp8_e4m3")]
COPIES = [None, dict(quantizer="te", global_scale=0.5, transposed=True), None,
          dict(format="mxfp8_e4m3", quantizer="ue8m0_up"),
          dict(quantizer=SR, seed=9, transposed=True, hadamard=nvfp4.Hadamard(), layout="blocked")]
N = 128


def is_paired(activation):
    return isinstance(activation, nvfp4.Activation)


def inside(groups):
    """Which rows are of a group."""
    if groups.kind in ("dense", "batched"):
        return np.ones(((len(groups),) if groups.kind == "batched" else ()) + (groups.extent,), bool)
    rows = np.zeros(((len(groups),) if groups.kind == "masked" else ()) + (groups.extent,), bool)
    for g, (begin, count) in enumerate(zip(groups.begins, groups.counts)):
        (rows[g] if groups.kind == "masked" else rows)[begin:begin + count] = True
    return rows


def cases():
    """Forms with activations; targets and the rest by turns of other lengths."""
    for number, (form, activation) in enumerate(itertools.product(FORMS, range(len(ACTIVATIONS)))):
        target = TARGETS[number % 3]
        yield (target, form, activation, TYPES[number // 2 % 4], OUTS[(number + number // 11) % 5], COPIES[number // 3 % 5],
               number % 4 != 1, number // 4 % 2 == 0, ("preserve", "zero")[number // 2 % 2], number % 5 == 2, number % 7 < 3)


def make(rng, form, activation, z_type, has_prob):
    """Operands, z and factors of rows, NaN where no group is."""
    groups, kinds = FORMS[form]
    rows = inside(groups)
    lhs, rhs = operands(make_product(rng, groups, N, 96, "nvfp4", **dict(kinds)))
    columns = 2 * N if is_paired(activation) else N
    z = (rng.integers(-12, 13, (*rows.shape, columns)) / 4).astype(OUT[z_type])
    z[~rows] = np.nan
    prob = np.exp2(rng.integers(-2, 2, rows.shape)).astype(np.float32) if has_prob else None
    if has_prob:
        prob[~rows] = np.nan
    return lhs, rhs, grouping_of(groups), rows, z, prob


@pytest.mark.parametrize("target, form, activation, z_type, out, copy, has_prob, has_sum, tail, has_addend, has_scale", list(cases()))
def test_gradient_of(rng, target, form, activation, z_type, out, copy, has_prob, has_sum, tail, has_addend, has_scale):
    activation = ACTIVATIONS[activation]
    lhs, rhs, grouping, rows, z, prob = make(rng, form, activation, z_type, has_prob)
    options = dict(alpha=0.25)
    if has_addend:
        addend = (rng.integers(-8, 9, (*rows.shape, N)) / 8).astype(ml_dtypes.bfloat16)
        addend[~rows] = np.nan
        options.update(beta=0.5, addend=addend)
    if has_scale:
        scale = np.exp2(rng.integers(-3, 3, rows.shape)).astype(np.float32)
        scale[~rows] = np.nan
        options.update(row_scale=scale)
    dy = nvfp4.grouped_matmul(lhs, rhs, grouping, **options)
    # glu_backward alone has no groups here: every row, of which those of groups count.
    wanted = nvfp4.glu_backward(z, dy, activation, prob=prob, prob_gradient=True, dtype=out.get("dtype") or np.float32)

    def expect(array):
        full = np.zeros_like(array) if tail == "zero" else poison(array.shape, {v: k for k, v in OUT.items()}[array.dtype.type])
        full[rows] = array[rows]
        return full
    before = poison(rows.shape, "f32")
    result = dict(out)
    def cleared(scaled):
        if tail == "zero":
            scaled.values.view(np.uint8)[...] = 0
            scaled.scales.view(np.uint8)[...] = 0
        return scaled
    if "dtype" in out:
        result = dict(out=poison(z.shape, {v: k for k, v in OUT.items()}[wanted.z.dtype.type]))
    else:
        kind = nvfp4.QuantizedCopy(out["out_format"], out["quantizer"], layout=out.get("out_layout", "linear"))
        like = quantized(wanted.z, grouping, kind)
        result = dict(quantizer=out["quantizer"], out=destination(kind, like))
    copies = []
    if copy and not (copy.get("transposed") and grouping.kind == "masked"):
        starts = "compact" if copy.get("transposed") and form == "ragged_ends" else "whole"
        made = nvfp4.QuantizedCopy(**{"format": "nvfp4", "starts": starts, **copy})
        if starts == "compact":
            made = dataclasses.replace(made, layout="linear")
        plain = quantized(wanted.z, grouping, made)
        copies.append(dataclasses.replace(made, out=destination(made, plain)))
    plan = plan_matmul(lhs, rhs, grouping, **options, prob=prob, gradient_of=activation, z=z, tail=tail, **result,
                       prob_gradient=before if has_sum else None, copies=copies, target=target)
    got = plan.run()
    y = got.out if isinstance(got, tuple) else got
    if "dtype" in out:
        assert get_bytes(y) == get_bytes(expect(wanted.z))
    else:
        assert_same(y, quantized(wanted.z, grouping, kind, cleared(destination(kind, like))), "result")
    if has_sum:
        # Two sums in f64, each rounded once.
        np.testing.assert_allclose(got.prob[rows], wanted.prob[rows], rtol=2.0 ** -23, atol=0)
        assert get_bytes(got.prob[~rows]) == get_bytes(expect(wanted.prob)[~rows])
    for made in copies:
        assert_same(made.out, quantized(wanted.z, grouping, made, cleared(destination(made, made.out))), "copy")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("form", ["masked", "ragged"])
def test_glu_backward_of_groups(rng, target, form):
    """Rows of no group are neither read nor written."""
    activation = ACTIVATIONS[0]
    _, _, grouping, rows, z, prob = make(rng, form, activation, "bf16", True)
    dy = rng.standard_normal((*rows.shape, N)).astype(np.float32)
    plain = nvfp4.glu_backward(z, dy, activation, prob=prob, prob_gradient=True)
    out = poison(z.shape, "bf16")
    dy[~rows] = np.nan
    if target == "cpu":
        got = nvfp4.glu_backward(z, dy, activation, prob=prob, prob_gradient=True, groups=grouping, out=out)
        assert np.array_equal(got.prob[rows], plain.prob[rows]) and not np.any(got.prob[~rows])
    else:
        dims = "?x" * (z.ndim - 1)
        text = f"""func.func @f(%z: tensor<{dims}256xbf16>, %dy: tensor<{dims}128xf32>, %g: tensor<?xi32>, %p: tensor<{dims}f32>,
    %o: tensor<{dims}256xbf16>) -> tensor<{dims}256xbf16> {{
  %r = grouped_scaled_gemm.glu_backward <swiglu, gate = <halves, gate_first>>(%z : tensor<{dims}256xbf16>)
      gradient(%dy : tensor<{dims}128xf32>) groups(%g : tensor<?xi32>) as {grouping.attribute}
      prob(%p : tensor<{dims}f32>) outs(%o : tensor<{dims}256xbf16>) -> tensor<{dims}256xbf16>
  return %r : tensor<{dims}256xbf16>
}}"""
        out = np.asarray(nvfp4.compile(text, target).run(z, dy, np.asarray(grouping.groups), prob, out))
    assert get_bytes(out[rows]) == get_bytes(plain.z[rows])
    assert get_bytes(out[~rows]) == get_bytes(poison(z.shape, "bf16")[~rows])


@pytest.mark.parametrize("form, storage", [(form, storage) for form in ("<dense>", "<masked>", "<ragged_rows, ends>")
                                           for storage in (False, True)])
def test_interpreter(rng, form, storage):
    """The interpreter has a meaning of its own, in value and in storage form."""
    groups = {"<dense>": dense(9), "<masked>": masked([3, 0, 5], 6)}.get(form) or ragged([3, 0, 5], extra=2)
    rows = inside(groups)
    lhs, rhs = operands(make_product(rng, groups, 32, 64, "nvfp4"))
    dims = "x".join(map(str, rows.shape))
    count = f"{len(groups)}x" if form != "<dense>" else ""
    x, w, q = (f"!grouped_scaled_gemm.scaled<{shape}, nvfp4>" for shape in (f"{dims}x64", f"{count}32x64", f"{dims}x64"))
    z, p, o = f"tensor<{dims}x64xbf16>", f"tensor<{dims}xf32>", f"tensor<{dims}x64xf16>"
    head = f"%g: tensor<{len(groups)}xi32>, " if count else ""
    operand = f" groups(%g : tensor<{len(groups)}xi32>)" if count else ""
    clauses = (f"prob(%p : {p}) gradient_of = <swiglu, gate = <halves, gate_first>> preact(%z : {z})")
    arrays = [lhs, rhs, (rng.integers(-8, 9, (*rows.shape, 64)) / 4).astype(ml_dtypes.bfloat16),
              np.exp2(rng.integers(-2, 2, rows.shape)).astype(np.float32)]
    if storage:
        results, outs = f"{o}, {p}", f"outs(%o : {o}) prob_outs(%s : {p})"
        arrays += [np.zeros((*rows.shape, 64), np.float16), np.zeros(rows.shape, np.float32)]
        tail = f", %o: {o}, %s: {p}"
    else:
        results, outs, tail = f"{q}, {q}", "quantizer = <te> copies(<cutlass>)", ""
    text = f"""func.func @f({head}%x: {x}, %w: {w}, %z: {z}, %p: {p}{tail}) -> ({results}) {{
  %a, %b = grouped_scaled_gemm.matmul {form}{operand} lhs(%x : {x}) rhs(%w : {w})
      {clauses} {outs} -> {results}
  return %a, %b : {results}
}}"""
    arrays = ([groups.operand] if count else []) + arrays
    assert "0 beyond the bound" in nvfp4.compile(text, "cpu").check(*arrays)


def test_arguments(rng):
    lhs, rhs, grouping, _, z, _ = make(rng, "dense", "relu2", "f32", False)
    with pytest.raises(nvfp4.ArgumentError, match="expected gradient_of= and z=.* but got gradient_of alone"):
        nvfp4.grouped_matmul(lhs, rhs, gradient_of="relu2")
    with pytest.raises(nvfp4.CompileError, match="expected no bias beside gradient_of, but got one"):
        nvfp4.grouped_matmul(lhs, rhs, gradient_of="relu2", z=z, bias=np.zeros(N, np.float32))
    with pytest.raises(nvfp4.ArgumentError, match=r"expected z of shape \(37, 256\), that of the gradient, but got \(37, 128\)"):
        nvfp4.grouped_matmul(lhs, rhs, gradient_of=ACTIVATIONS[0], z=z)
    got = nvfp4.grouped_matmul(lhs, rhs, grouping, gradient_of="relu2", z=z, prob_gradient=True)
    assert isinstance(got, nvfp4.MatmulGradient) and got.copies == () and got.prob.shape == z.shape[:-1]


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_explain(rng, target):
    lhs, rhs, grouping, _, z, _ = make(rng, "ragged", "relu2", "f32", False)
    text = plan_matmul(lhs, rhs, grouping, gradient_of="relu2", z=z, target=f"{target}+sim").explain(target)
    assert "computed by glu_backward after the product, in a second pass over memory" in text
