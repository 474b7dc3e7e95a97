# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forward and backward passes of nvfp4.training against the same recipe in float64, and a model that learns."""

import itertools
import os
import pathlib
import sys

import ml_dtypes
import numpy as np
import pytest

import nvfp4
from nvfp4.training import LinearProgram, MoEProgram, MoEShape, Recipe, linear_text, moe_text
from nvfp4_module import run, tool

BF16 = ml_dtypes.bfloat16
#: Fewer cases, unless all are asked for.
STEP = 1 if os.environ.get("NVFP4_FULL_TESTS") else 2
EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "training"
RECIPES = [Recipe(squares=False, stochastic=False, hadamard=False), Recipe(stochastic=False, hadamard=False),
           Recipe(stochastic=False), Recipe(hadamard=False), Recipe(), Recipe("mxfp8_e4m3"), Recipe("mxfp4")]
ACTIVATIONS = [nvfp4.swiglu(), nvfp4.gpt_oss_swiglu(), nvfp4.geglu_tanh(), nvfp4.Activation("relu2"), nvfp4.Activation("silu")]


def bf16(x):
    return np.asarray(x, BF16).astype(np.float64)


class Composed:
    """The recipe from its parts: quantised operands as numbers, products in float64. Seeds count as in the functions."""

    def __init__(self, recipe, seed=0):
        self.recipe, self.seed = recipe, seed

    def quantizer(self, of_weights, of_gradient):
        if self.recipe.format != "nvfp4":
            return nvfp4.Quantizer({"mxfp8_e4m3": "ue8m0_up", "mxfp4": "ocp"}[self.recipe.format]), None
        rounding = "stochastic" if of_gradient and self.recipe.stochastic else "nearest"
        seed = None
        if rounding == "stochastic":
            seed, self.seed = self.seed, self.seed + 1
        return nvfp4.Quantizer("te", rounding=rounding, two_d=of_weights and self.recipe.squares), seed

    def numbers(self, x, of_weights=False, of_gradient=False, groups=None):
        """The numbers of a quantised matrix."""
        x = np.asarray(x, np.float32)
        quantizer, seed = self.quantizer(of_weights, of_gradient)
        scale = nvfp4.encode_scale(x) if self.recipe.format == "nvfp4" else None
        q = nvfp4.quantize(x, self.recipe.format, quantizer=quantizer, global_scale=scale, seed=seed, groups=groups)
        return nvfp4.dequantize(q, groups=groups).astype(np.float64) / (scale or 1)

    def stack(self, w, transposed=False):
        w = np.asarray(w, np.float32)
        return np.stack([self.numbers(each.T.copy() if transposed else each, of_weights=True) for each in w])

    def turned(self, rows, of_gradient=False, groups=None):
        """[N, R], with blocks along the tokens."""
        t = np.ascontiguousarray(np.asarray(rows, np.float32).T)
        if self.recipe.turns:
            t = nvfp4.hadamard(t, normalized=True, sign_mask=self.recipe.sign_mask)
        return self.numbers(t, of_gradient=of_gradient, groups=groups)


def by_groups(ends, block):
    """The rows of each group."""
    begin = 0
    for end in ends:
        yield slice(begin, end)
        begin = -(-end // block) * block


def composed_moe(recipe, shape, saved, weights, gradient, seed):
    """(sums, gradients of x, scores, w13, w2 and biases) from what the forward pass has sorted."""
    w13, w2, *biases = weights
    b13, b2 = biases or (np.zeros(w13.shape[:2]), np.zeros(w2.shape[:2]))
    block, tokens, places = recipe.block, saved.tokens, saved.places
    ends_k = -(-saved.ends // 16) * 16 if recipe.turns else saved.ends  # a Hadamard matrix mixes whole runs
    groups = nvfp4.ragged_k(ends_k, align=block)
    ranges = list(by_groups(saved.ends, block))
    c = Composed(recipe, seed)

    def rows_of(x):
        return np.where(tokens[:, None] < 0, 0, np.asarray(x, np.float64)[tokens])

    def products(rows, matrices):
        out = np.zeros((len(rows), matrices.shape[1]))
        for g, part in enumerate(ranges):
            out[part] = rows[part] @ matrices[g].T
        return out

    def add_bias(rows, bias, factors=1.0):
        rows = rows.copy()
        for g, part in enumerate(ranges):
            rows[part] += bias[g] * (factors if np.isscalar(factors) else factors[part, None])
        return rows

    def combine(rows):
        return np.where(places[..., None] < 0, 0, rows[places]).sum(1)
    x, factors = rows_of(saved.x.astype(np.float64)), saved.factors.astype(np.float64)
    z = add_bias(products(c.numbers(x), c.stack(w13)), b13)
    rounded = bf16(z)
    y = bf16(nvfp4.glu(z.astype(np.float32), shape.activation).astype(np.float64) * factors[:, None])
    out = combine(add_bias(products(c.numbers(y), c.stack(w2)), b2, factors))
    d = rows_of(gradient)
    dy = bf16(products(c.numbers(d, of_gradient=True), c.stack(w2, transposed=True)))
    found = nvfp4.glu_backward(rounded.astype(BF16), dy.astype(BF16), shape.activation, prob=saved.factors, prob_gradient=True)
    dz = found.z.astype(np.float64)
    dx = combine(products(c.numbers(dz, of_gradient=True), c.stack(w13, transposed=True)))
    again = bf16(nvfp4.glu(rounded.astype(BF16), shape.activation, dtype="float32").astype(np.float64) * factors[:, None])
    of_weights = []
    for left, right in ((dz, x), (d, again)):
        left, right = c.turned(left, of_gradient=True, groups=groups), c.turned(right, groups=groups)
        of_weights.append(np.stack([left[:, part] @ right[:, part].T for part in by_groups(ends_k, block)]))
    of_factors = found.prob.astype(np.float64)
    for g, part in enumerate(ranges):
        of_factors[part] += d[part] @ b2[g]
    of_biases = [np.stack([rows[part].sum(0) for part in ranges]) for rows in (dz, d * factors[:, None])] if biases else []
    return out, dx, np.where(places < 0, 0, of_factors[places]), *of_weights, *of_biases


def check_close(got, wanted, most=2e-3):
    """Within what a few numbers change that round the other way."""
    got = np.asarray(got, np.float64)
    assert got.shape == wanted.shape and np.all(np.isfinite(got))
    assert np.linalg.norm(got - wanted) <= most * np.linalg.norm(wanted) + 1e-30


def make_layer(rng, shape, tokens, dtype=np.float32):
    """x, experts, scores and weights with biases; some slots have no expert, and the last expert has no token."""
    x = rng.standard_normal((tokens, shape.hidden)).astype(BF16)
    chosen = np.array([rng.permutation(max(shape.experts - 1, shape.top_k))[:shape.top_k] for _ in range(tokens)])
    chosen = chosen.reshape(tokens, shape.top_k)
    chosen[rng.random(chosen.shape) < 0.1] = -1
    scores = rng.random((tokens, shape.top_k)).astype(np.float32)
    weights = [(rng.standard_normal(size) / 8).astype(dtype) for size in (shape.shape13, shape.shape2)]
    weights += [rng.standard_normal(size).astype(np.float32) for size in shape.bias_shapes.values()]
    return x, chosen.astype(np.int32), scores, weights


@pytest.mark.parametrize("recipe, activation, sizes, tokens, dtype, bias",
                         [(RECIPES[i % 7], ACTIVATIONS[i % 5], [(4, 64, 48, 2), (3, 32, 32, 1), (5, 96, 16, 3)][i % 3],
                           [37, 1, 130][i % 3], [np.float32, BF16][i // 2 % 2], i // STEP % 2 == 1) for i in range(0, 21, STEP)])
def test_moe(rng, recipe, activation, sizes, tokens, dtype, bias):
    shape = MoEShape(*sizes, activation=activation, bias=bias)
    x, experts, scores, weights = make_layer(rng, shape, tokens, dtype)
    program = MoEProgram(shape, recipe)
    out, saved = program.forward(x, experts, scores, *weights)
    gradient = rng.standard_normal(x.shape).astype(BF16)
    found = program.backward(gradient, saved, *weights, seed=11)
    wanted = composed_moe(recipe, shape, saved, [w.astype(np.float64) for w in weights], gradient, 11)
    found_all = [out, *(each for each in found if each is not None)]
    assert len(found_all) == len(wanted) == 7 if bias else 5
    for got, expected in zip(found_all, wanted):
        check_close(got, expected)
    assert not np.any(found.w13[-1]) and not np.any(found.w2[-1])


@pytest.mark.parametrize("recipe", RECIPES)
def test_gradients_are_those_of_the_layer(rng, recipe):
    """Few tokens for each expert, and numbers that every format has but for some rounding: gradients are near those of float64,
    by what formats of 4 and 8 bits lose."""
    shape = MoEShape(4, 64, 32, 1, bias=True)
    x, _, _, weights = make_layer(rng, shape, 21)
    w13, w2, b13, b2 = (np.asarray(each, np.float64) for each in weights)
    experts = (np.arange(21) ** 2 % 3).astype(np.int32)[:, None]  # of 3, 14 and 4 tokens, and none
    scores, d = rng.random((21, 1)).astype(np.float32) + 0.5, rng.standard_normal((21, 64)).astype(BF16)
    program = MoEProgram(shape, recipe)
    _, saved = program.forward(x, experts, scores, *weights)
    found = program.backward(d, saved, *weights)

    wanted = [np.zeros(np.shape(each)) for each in (x, scores, w13, w2, b13, b2)]
    dx, dscores, dw13, dw2, db13, db2 = wanted
    for t, e in enumerate(experts[:, 0]):
        row, up, p = x[t].astype(np.float64), d[t].astype(np.float64), np.float64(scores[t, 0])
        gate, value = np.split(w13[e] @ row + b13[e], 2)
        sigmoid = 1 / (1 + np.exp(-gate))
        y = gate * sigmoid * value
        dscores[t, 0] = up @ (w2[e] @ y + b2[e])
        dw2[e] += p * np.outer(up, y)
        db2[e] += p * up
        dy = p * (w2[e].T @ up)
        dz = np.concatenate([dy * value * sigmoid * (1 + gate * (1 - sigmoid)), dy * gate * sigmoid])
        dw13[e] += np.outer(dz, row)
        db13[e] += dz
        dx[t] = w13[e].T @ dz
    most = {"nvfp4": 0.35, "mxfp4": 0.45, "mxfp8_e4m3": 0.1}[recipe.format]
    for got, each in zip(found, wanted):
        assert np.linalg.norm(got - each) <= most * np.linalg.norm(each)


@pytest.mark.parametrize("recipe, tokens", list(itertools.product(RECIPES, [1, 33, 64])))
def test_linear(rng, recipe, tokens):
    x, w, gradient = (rng.standard_normal(size).astype(BF16) for size in ((tokens, 80), (48, 80), (tokens, 48)))
    program, c = LinearProgram(48, 80, recipe), Composed(recipe, 5)
    check_close(program.forward(x, w), c.numbers(x) @ c.numbers(w, of_weights=True).T, 1e-5)
    found = program.backward(gradient, x, w, seed=5)
    check_close(found.x, c.numbers(gradient, of_gradient=True) @ c.numbers(np.asarray(w).T.copy(), of_weights=True).T, 1e-5)
    padded = [np.concatenate([a.astype(np.float32), np.zeros((-tokens % 16 if recipe.turns else 0, a.shape[1]), np.float32)])
              for a in (gradient, x)]
    check_close(found.w, c.turned(padded[0], of_gradient=True) @ c.turned(padded[1]).T, 1e-5)


def test_nothing_to_do(rng):
    """No tokens, and tokens without experts: sums and gradients are zeros."""
    shape = MoEShape(3, 32, 16, 2)
    program = MoEProgram(shape)
    for tokens in (0, 5):
        x, _, scores, weights = make_layer(rng, shape, tokens)
        out, saved = program.forward(x, np.full((tokens, 2), 3, np.int64), scores, *weights)
        found = program.backward(x, saved, *weights)
        assert out.shape == (tokens, 32) and not any(np.any(each) for each in (out, *found[:4])) and found.b2 is None


def test_seeds(rng):
    """A seed gives its bits; the mean over seeds is nearer to the gradient of numbers that are not rounded at random."""
    program = LinearProgram(32, 64, Recipe(hadamard=False))
    x, w, gradient = (rng.standard_normal(size).astype(BF16) for size in ((96, 64), (32, 64), (96, 32)))
    found = [program.backward(gradient, x, w, seed=seed).w for seed in range(64)]
    assert np.array_equal(found[3], program.backward(gradient, x, w, seed=3).w) and not np.array_equal(found[3], found[4])
    c = Composed(program.recipe)
    wanted = np.asarray(gradient, np.float64).T @ c.numbers(np.asarray(x).T.copy()).T
    single, mean = (np.linalg.norm(each - wanted) for each in (found[0], np.mean(found, axis=0)))
    assert mean < single / 4


@pytest.mark.parametrize("target, recipe", [("sm_90a+sim", Recipe()), ("sm_100a+sim", Recipe("mxfp8_e4m3")), ("sm_90a+sim", Recipe("mxfp8_e4m3")),
                                            ("sm_100a+sim", Recipe())][:4 // STEP])
def test_kernels(rng, target, recipe):
    """Products by kernels, in either direction and along tokens, agree with those of the CPU."""
    shape = MoEShape(2, 128, 64, 1, activation=nvfp4.swiglu("gpt-oss"), bias=recipe.format == "nvfp4")  # runs of pairs, as kernels store them
    x, experts, scores, weights = make_layer(rng, shape, 20)
    wanted, got = [], []
    for results, program in ((wanted, MoEProgram(shape, recipe)), (got, MoEProgram(shape, recipe, target=target))):
        out, saved = program.forward(x, experts, scores, *weights)
        results += [out, *(each for each in program.backward(x, saved, *weights, seed=1) if each is not None)]
    for each, other in zip(got, wanted):
        check_close(each, np.asarray(other, np.float64), 5e-3)


def launches_of_quantizers(tmp_path, text):
    """How many launches of a function for GPUs quantise both directions of a matrix, and how many one."""
    source = tmp_path / "text.mlir"
    source.write_text(text)
    code, _, told = run(tool("nvfp4-compile"), source, "--target=sm_90a", "--memory=device", "--explain")
    assert code == 0, told
    lines = told[told.index("launches beside products"):].splitlines()[1:]
    table = [line.partition(":")[0] for line in itertools.takewhile(lambda line: "remark" not in line, lines)]
    return table.count("quantize of rows and columns"), sum(line in ("quantize", "permute and quantize") for line in table)


@pytest.mark.parametrize("recipe", RECIPES)
def test_gradients_are_read_once(tmp_path, recipe):
    """Quantisers of a gradient's rows and columns share a launch, in every recipe; a gradient that Hadamard matrices need
    padded is two matrices."""
    moe = moe_text(MoEShape(4, 64, 32, 2, activation=nvfp4.swiglu("gpt-oss"), bias=True), recipe)
    linear = linear_text(64, 96, recipe)
    for text, pairs in ((moe, 2), (linear, 0 if recipe.turns else 1)):
        backward = text[text.index("func.func @backward"):]
        assert backward.count(".quantize ") == (8 if text is moe else 4)
        both, single = launches_of_quantizers(tmp_path, backward)
        assert both == pairs and 2 * both + single == backward.count(".quantize ")


@pytest.mark.parametrize("build, message", [
    (lambda p, a: p.forward(a[0][:, :16], *a[1:]), r"expected x of shape \[T, 32\], but got \(4, 16\)"),
    (lambda p, a: p.forward(a[0], a[1][:, :1], *a[2:]), r"expected experts of shape \(4, 2\), but got \(4, 1\)"),
    (lambda p, a: p.forward(a[0], a[1].astype(np.float32), *a[2:]), "expected experts of int32 or int64, but got float32"),
    (lambda p, a: p.forward(*a[:3], a[3][1:], a[4]), r"expected w13 of shape \(3, 32, 32\), but got \(2, 32, 32\)"),
    (lambda p, a: p.forward(*a[:3], a[3].astype(BF16), a[4]), "expected weights of one type, but got bfloat16, float32"),
    (lambda p, a: p.backward(a[0], p.forward(*a)[1], *a[3:], seed=2**62), "seed"),
    (lambda p, a: p.forward(*a, np.zeros((3, 32), np.float32)), "expected no b13 for a layer with bias=False, but got one"),
    (lambda p, a: MoEProgram(MoEShape(3, 32, 16, 2, bias=True)).forward(*a), "expected b13 for a layer with bias=True, but got none"),
    (lambda p, a: MoEProgram(MoEShape(3, 32, 16, 2, bias=True)).forward(*a, np.zeros((3, 16), np.float32), np.zeros(3, np.float32)),
     r"expected b13 of shape \(3, 32\), but got \(3, 16\)"),
    (lambda p, a: MoEShape(2, 32, 16, 3), "expected top_k .* the number of experts"),
    (lambda p, a: Recipe("mxfp6"), "expected format nvfp4, mxfp8_e4m3, mxfp4, but got"),
], ids=range(11))
def test_wrong_arguments(rng, build, message):
    shape = MoEShape(3, 32, 16, 2)
    x, experts, scores, weights = make_layer(rng, shape, 4)
    with pytest.raises(nvfp4.ArgumentError, match=message):
        build(MoEProgram(shape), [x, experts, scores, *weights])


def test_experts_out_of_range_are_data_errors(rng):
    shape = MoEShape(3, 32, 16, 2)
    x, experts, scores, weights = make_layer(rng, shape, 4)
    experts[1, 0] = 4
    with pytest.raises(nvfp4.DataError):
        MoEProgram(shape).forward(x, experts, scores, *weights)


@pytest.mark.parametrize("form", ["nvfp4", "mxfp8_e4m3"][:2 // STEP])
def test_a_model_learns(form):
    """The example's language model: as far as in float32, within 2 % after 120 steps, and far below where it began."""
    sys.path.insert(0, str(EXAMPLE))
    import train
    wanted, _ = train.train(None, 120)
    got, entropy = train.train(Recipe(form), 120)
    assert abs(np.mean(got[-20:]) / np.mean(wanted[-20:]) - 1) < 0.02
    assert entropy < np.mean(got[-20:]) < 0.85 * got[0]
