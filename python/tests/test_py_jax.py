# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations of JAX on the CPU, within jit and without, their derivatives, and what is refused. Skipped without JAX."""

import functools

import ml_dtypes
import numpy as np
import pytest

import nvfp4

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

import nvfp4.jax as nj  # noqa: E402
from nvfp4.jax import ScaledArray  # noqa: E402

G, M, N, K = 3, 7, 32, 64
ENDS, COUNTS = np.array([2, 2, 5], np.int32), np.array([7, 0, 3], np.int32)
GROUPINGS = {"ragged_rows": ((M, K), (G, N, K), ENDS), "dense": ((M, K), (N, K), None), "batched": ((G, M, K), (G, N, K), None),
             "masked": ((G, M, K), (G, N, K), COUNTS)}


def make(rng, grouping, rows="bf16", format="nvfp4"):
    """lhs for JAX, the same for the package, weights, and what groups them in both."""
    shape, of_weights, groups = GROUPINGS[grouping]
    x = rng.standard_normal(shape).astype(np.float32)
    weights = nvfp4.quantize(rng.standard_normal(of_weights).astype(np.float32), format)
    if rows in ("bf16", "f16"):
        here = x.astype(ml_dtypes.bfloat16 if rows == "bf16" else np.float16)
        there = jnp.asarray(here)
    else:
        here = nvfp4.quantize(x, format)
        there = ScaledArray.of(here)
    form = {"ragged_rows": lambda: nvfp4.ragged_rows(groups), "dense": nvfp4.dense, "batched": nvfp4.batched,
            "masked": lambda: nvfp4.masked(groups)}[grouping]()
    return there, here, weights, groups, form


@pytest.mark.parametrize("grouping", GROUPINGS)
@pytest.mark.parametrize("rows, format", [("bf16", "nvfp4"), ("f16", "mxfp4"), ("scaled", "nvfp4"), ("scaled", "mxfp8_e4m3")])
def test_products_are_those_of_the_package(rng, grouping, rows, format):
    there, here, weights, groups, form = make(rng, grouping, rows, format)
    wanted = nvfp4.grouped_matmul(here, weights, form)
    product = functools.partial(nj.grouped_matmul, grouping=grouping, dtype=jnp.float32)
    assert np.asarray(product(there, weights, groups)).tobytes() == wanted.tobytes()
    got = jax.jit(product)(there, ScaledArray.of(weights), groups)
    assert np.asarray(got).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_epilogues(rng, grouping):
    there, here, weights, groups, form = make(rng, grouping)
    count = 1 if grouping == "dense" else G
    alpha = rng.standard_normal((count, 2)).astype(np.float32)
    bias = rng.standard_normal((N,) if grouping == "dense" else (G, N)).astype(np.float32)
    prob = rng.standard_normal(here.shape[:-1]).astype(np.float32)
    wanted = nvfp4.grouped_matmul(here, weights, form, alpha=alpha, bias=bias, prob=prob, activation=nvfp4.gpt_oss_swiglu(),
                                  dtype=ml_dtypes.bfloat16)
    got = jax.jit(lambda *arrays: nj.grouped_matmul(arrays[0], ScaledArray.of(weights), groups, grouping=grouping, alpha=arrays[1],
                                                    bias=arrays[2], prob=arrays[3], activation=nvfp4.gpt_oss_swiglu()))(
        there, alpha, bias, prob)
    assert np.asarray(got).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("format, options", [("nvfp4", {}), ("nvfp4", {"global_scale": 3.0}), ("mxfp8_e4m3", {}),
                                             ("nvfp4", {"quantizer": "cutlass"})])
def test_quantisers_are_those_of_the_package(rng, format, options):
    x = rng.standard_normal((5, 33 if format == "nvfp4" else 64)).astype(np.float32)
    wanted = nvfp4.quantize(x, format, **options)
    got = jax.jit(functools.partial(nj.quantize, format=format, **options))(x)
    assert got.shape == wanted.shape and got.values.tobytes() == wanted.values.tobytes()
    assert got.scales.tobytes() == wanted.scales.tobytes()
    if not options:
        assert np.array_equal(got.dequantize(), wanted.dequantize())


def test_other_data_and_offsets_without_another_compilation(rng):
    product = jax.jit(lambda x, w, ends: nj.grouped_matmul(nj.quantize(x), w, ends, dtype=jnp.float32))
    weights = nvfp4.quantize(rng.standard_normal((G, N, K)).astype(np.float32))
    for ends in ([2, 2, 5], [0, 0, 0], [7, 7, 7], [1, 6, 7]):
        x = rng.standard_normal((M, K)).astype(np.float32)
        wanted = nvfp4.grouped_matmul(nvfp4.quantize(x), weights, nvfp4.ragged_rows(np.array(ends, np.int32)))
        assert np.asarray(product(x, ScaledArray.of(weights), np.array(ends, np.int32))).tobytes() == wanted.tobytes()
    assert product._cache_size() == 1


def test_control_flow_and_no_rows(rng):
    there, here, weights, groups, form = make(rng, "ragged_rows")
    wanted = nvfp4.grouped_matmul(here, weights, form)

    def step(total, _):
        return total + nj.grouped_matmul(there, ScaledArray.of(weights), groups, dtype=jnp.float32), None

    total, _ = jax.lax.scan(step, jnp.zeros((M, N)), None, length=3)
    assert np.allclose(total, 3 * wanted)
    each = jax.lax.map(lambda x: nj.grouped_matmul(x, weights, groups, dtype=jnp.float32), jnp.stack([there, there]))
    assert each[1].tobytes() == wanted.tobytes()
    assert nj.grouped_matmul(there[:0], weights, np.zeros(3, np.int32)).shape == (0, N)


@pytest.mark.parametrize("dtype", [None, jnp.float32])
def test_ragged_dot_is_that_of_jax(rng, dtype):
    there, _, weights, _, _ = make(rng, "ragged_rows")
    sizes = jnp.array([2, 0, 3], jnp.int32)
    exact = jnp.asarray(weights.dequantize()).swapaxes(1, 2)
    wanted = jax.lax.ragged_dot(there.astype(jnp.float32), exact, sizes, precision=jax.lax.Precision.HIGHEST)
    got = jax.jit(functools.partial(nj.ragged_dot, preferred_element_type=dtype))(there, weights_of(weights), sizes)
    assert got.dtype == (dtype or jnp.bfloat16)
    assert np.allclose(got.astype(jnp.float32), wanted, rtol=1e-2 if dtype is None else 1e-5, atol=1e-2 if dtype is None else 1e-4)
    assert not np.asarray(got[5:].astype(jnp.float32)).any()


def weights_of(weights):
    return ScaledArray.of(weights)


@pytest.mark.parametrize("format", ["nvfp4", "mxfp4", "mxfp8_e4m3", "mxfp8_e5m2"])
def test_scaled_matmul_takes_what_jax_does(rng, format):
    operands = [nvfp4.quantize(rng.standard_normal((2, rows, K)).astype(np.float32), format) for rows in (5, 8)]
    arrays = []
    for each in operands:
        values = each.values
        if values.dtype == np.uint8:
            values = np.stack([values & 15, values >> 4], -1).reshape(each.shape).view(ml_dtypes.float4_e2m1fn)
        arrays.append((jnp.asarray(values), jnp.asarray(each.scales)))
    (lhs, lhs_scales), (rhs, rhs_scales) = arrays
    got = jax.jit(nj.scaled_matmul)(lhs, rhs, lhs_scales, rhs_scales)
    assert np.asarray(got).tobytes() == nvfp4.grouped_matmul(*operands, nvfp4.batched()).tobytes()


ACTIVATIONS = [None, "silu", "relu2", nvfp4.swiglu("vllm"), nvfp4.swiglu("gpt-oss"), nvfp4.geglu_tanh("trtllm-cutlass")]


@pytest.mark.parametrize("grouping", GROUPINGS)
@pytest.mark.parametrize("activation", ACTIVATIONS, ids=range(len(ACTIVATIONS)))
def test_derivatives_are_those_of_the_numbers(rng, grouping, activation):
    """Against differences of the product itself, in float32, along a random direction of each operand."""
    there, here, weights, groups, _ = make(rng, grouping)
    count = 1 if grouping == "dense" else G
    is_paired = isinstance(activation, nvfp4.Activation)
    operands = [there.astype(jnp.float32), jnp.asarray(rng.uniform(0.5, 1, (count, 2) if is_paired else count), jnp.float32),
                jnp.asarray(rng.standard_normal((N,) if grouping == "dense" else (G, N)), jnp.float32),
                jnp.asarray(rng.standard_normal(there.shape[:-1]), jnp.float32)]
    direction = jnp.asarray(rng.standard_normal(nj.grouped_matmul(there, weights, groups, grouping=grouping, activation=activation).shape),
                            jnp.float32)

    def loss(x, alpha, bias, prob):
        y = nj.grouped_matmul(x.astype(jnp.bfloat16), weights_of(weights), groups, grouping=grouping, alpha=alpha, bias=bias, prob=prob,
                              activation=activation, dtype=jnp.float32)
        return (y * direction).sum()

    found = jax.jit(jax.grad(loss, argnums=(0, 1, 2, 3)))(*operands)
    assert found[0].shape == there.shape
    # Rows are bfloat16, so their steps must be of it: powers of two on a lattice.
    operands[0] = jnp.round(operands[0] * 4) / 4
    found = jax.grad(loss, argnums=(0, 1, 2, 3))(*operands)
    for i, (operand, gradient) in enumerate(zip(operands, found)):
        step = jnp.asarray(rng.integers(-1, 2, operand.shape), jnp.float32) * 2.0**-6
        up, down = (loss(*operands[:i], operand + sign * step, *operands[i + 1:]) for sign in (1, -1))
        slope = float((gradient * step).sum())
        assert abs(float(up - down) / 2 - slope) <= 0.02 * max(float(jnp.abs(gradient * step).sum()), 1.0), i


def test_gradients_keep_types_and_rows_of_no_group_have_none(rng):
    there, _, weights, groups, _ = make(rng, "ragged_rows")
    gradient = jax.grad(lambda x: nj.grouped_matmul(x, weights_of(weights), groups).astype(jnp.float32).sum())(there)
    assert gradient.dtype == jnp.bfloat16 and not np.asarray(gradient[5:].astype(jnp.float32)).any()
    assert np.asarray(gradient[:5].astype(jnp.float32)).any()


def product(rng, **options):
    there, _, weights, groups, _ = make(rng, "ragged_rows")
    arguments = dict(lhs=there, rhs=weights_of(weights), ends=groups) | options
    return lambda **changes: nj.grouped_matmul(**(arguments | changes))


BAD = [
    (dict(lhs=np.zeros((M, K), np.int32)), "expected lhs as ScaledArray, or of bfloat16, float16 or float32, but got int32"),
    (dict(lhs=jnp.zeros((M, K + 16), jnp.bfloat16)), "expected as many columns of lhs and rhs, their K, but got 80 and 64"),
    (dict(rhs=np.zeros((G, N, K))), "expected rhs as ScaledArray .*, but got ndarray"),
    (dict(rhs=ScaledArray(jnp.zeros((G, N, 32), jnp.uint8), jnp.zeros((G, N, 5), jnp.uint8))), r"expected rhs.scales of uint8 and shape"),
    (dict(ends=None), "expected ends for grouping ragged_rows"),
    (dict(ends=np.zeros(2, np.int32)), r"expected ends of int32 and shape \(3,\)"),
    (dict(ends=np.zeros(3, np.float32)), "expected ends of int32"),
    (dict(grouping="dense"), "expected lhs of rank 2 and rhs of rank 2 for grouping dense"),
    (dict(grouping="ragged_k"), "expected grouping"),
    (dict(dtype=jnp.int32), "expected dtype float32, float16 or bfloat16, but got int32"),
    (dict(alpha=np.zeros(2, np.float32)), r"expected alpha of shape \(\) or \(3,\) or \(3, 2\), but got \(2,\)"),
    (dict(bias=np.zeros(N + 1, np.float32)), r"expected bias of shape \(32,\) or \(3, 32\), but got \(33,\)"),
    (dict(prob=np.zeros((M, 1), np.float32)), r"expected prob of shape \(7,\), but got \(7, 1\)"),
    (dict(activation="nonsense"), "nonsense"),
]


@pytest.mark.parametrize("changes, message", BAD, ids=range(len(BAD)))
def test_bad_arguments(rng, changes, message):
    call = product(rng)
    for function in (call, lambda **options: jax.jit(lambda: call(**options))()):
        with pytest.raises(nvfp4.NVFP4Error, match=message):
            function(**changes)


def test_offsets_that_are_no_ends_fail_the_call(rng):
    with pytest.raises(Exception, match=r"INVALID_ARGUMENT.*expected group ends\[1\] to be at least 4"):
        jax.jit(product(rng))(ends=np.array([4, 1, 5], np.int32)).block_until_ready()


def test_what_is_refused_is_named(rng):
    there, _, weights, groups, _ = make(rng, "ragged_rows")
    call = product(rng)
    with pytest.raises(nvfp4.ArgumentError, match="nvfp4.jax.grouped_matmul has no vmap"):
        jax.vmap(lambda x: call(lhs=x))(jnp.stack([there, there]))
    with pytest.raises(nvfp4.ArgumentError, match="nvfp4.jax.quantize has no vmap"):
        jax.vmap(lambda x: nj.quantize(x).values)(jnp.zeros((2, 4, 64)))
    with pytest.raises(nvfp4.ArgumentError, match="nvfp4.jax.quantize has no derivative"):
        jax.grad(lambda x: nj.grouped_matmul(nj.quantize(x), weights_of(weights), groups, dtype=jnp.float32).sum())(jnp.ones((M, K)))
    with pytest.raises(nvfp4.ArgumentError, match="expected no group_offset and no precision"):
        nj.ragged_dot(there, weights, jnp.array([1, 1, 1]), precision="highest")
    with pytest.raises(nvfp4.ArgumentError, match="expected lhs of rank 3 in float4_e2m1fn"):
        nj.scaled_matmul(there, there, there, there)
    with pytest.raises(nvfp4.ArgumentError, match="expected an activation with a derivative"):
        jax.grad(lambda x: call(lhs=x, activation=nvfp4.gpt_oss_swiglu(), dtype=jnp.float32).sum())(there)


def test_lowering_for_a_gpu(rng, monkeypatch, tmp_path):
    """Compiled without one: the custom call gets its workspace as a result, and writes into what starts as zero."""
    from nvfp4 import _jax_call
    monkeypatch.setattr(_jax_call, "_gpu_target", lambda: "sm_90a")
    there, _, weights, groups, _ = make(rng, "ragged_rows")
    function = jax.jit(lambda x, w, ends: nj.grouped_matmul(x, w, ends, alpha=2.0, dtype=jnp.float32))
    for layout, has_workspace in (("wgmma", False), ("linear", True)):
        packed = ScaledArray.of(nvfp4.relayout(weights, layout=layout))
        text = function.trace(there, packed, groups).lower(lowering_platforms=("cuda",)).as_text()
        calls = [line for line in text.splitlines() if "stablehlo.custom_call @nvfp4_" in line]
        assert len(calls) == 1 and "output_operand_alias" in calls[0]
        assert ("xui8>)" in calls[0].split("->")[1]) == has_workspace, calls[0]


def test_a_gpu_of_another_kind_is_refused(monkeypatch):
    from nvfp4 import _jax_call
    device = type("Device", (), {"compute_capability": "8.0"})()
    monkeypatch.setattr(_jax_call.jax, "local_devices", lambda backend: [device])
    with pytest.raises(nvfp4.UnsupportedError, match="expected GPUs of one compute capability of 9.0, 10.0, 10.3, but got 8.0"):
        _jax_call._gpu_target()
