# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products and quantisers of torch on the path to a GPU, with the simulator in its place. Skipped without torch.

Operands are small numbers of a lattice, so that every product is exact.
"""

import concurrent.futures

import numpy as np
import pytest

import nvfp4
from nvfp4_cases import (GROUPINGS, activation_bound, assert_equal, assert_within, expected_result, make_product, ragged,
                         swiglu)

torch = pytest.importorskip("torch")

import nvfp4.torch  # noqa: E402
from nvfp4 import _torch_matmul  # noqa: E402
from torch_sim import SimulatedDevice  # noqa: E402

N, K = 96, 128
ROWS = [each for each in GROUPINGS if each.kind != "ragged_k"]


@pytest.fixture
def device():
    return SimulatedDevice()


def packed_arguments(product, rows=None):
    """lhs, its scales, packed rhs, its scales, ends, and the options that say how."""
    operand, (lhs, rhs) = product.arguments()
    weights = nvfp4.relayout(nvfp4.ScaledTensor(*rhs, product.rhs.fmt.name), layout="wgmma")
    arrays = (*lhs, weights.values, weights.scales, *operand)
    tensors = [torch.from_numpy(np.ascontiguousarray(each)) for each in arrays]
    if rows is not None:
        tensors[:2] = rows, None
    groups = product.groups
    return tensors, dict(format=product.rhs.fmt.name, layout="wgmma", columns=product.n, grouping=groups.kind,
                         offsets=groups.offsets, align=groups.align)


@pytest.mark.parametrize("groups", ROWS, ids=lambda g: f"{g.kind}-{g.offsets}")
@pytest.mark.parametrize("fmt", ["nvfp4", "mxfp4"])
def test_scaled_rows(rng, device, groups, fmt):
    product = make_product(rng, groups, N, K, fmt)
    for _ in range(2):
        tensors, options = packed_arguments(product)
        got = _torch_matmul._multiply(device, *tensors, dtype=torch.float32, **options)
        assert_equal(got.numpy(), expected_result(product, "f32", value=0))
        # Other numbers of the same shapes are the same call.
        product = make_product(rng, groups, N, K, fmt)


@pytest.mark.parametrize("groups", ROWS, ids=lambda g: f"{g.kind}-{g.offsets}")
def test_rows_without_scales(rng, device, groups):
    """W4A16 with every clause; offsets of 64 bits."""
    product = make_product(rng, groups, N, K, "nvfp4")
    shape = product.lhs.shape
    rows = torch.from_numpy(rng.integers(-8, 9, shape).astype(np.float32)).bfloat16()
    tensors, options = packed_arguments(product, rows)
    tensors[4:] = [each.long() for each in tensors[4:]]
    count = len(groups)
    alpha = torch.tensor([0.5, 1, 2, 4][:count])
    bias = torch.from_numpy(rng.integers(-4, 5, (count, N)).astype(np.float32))
    prob = torch.from_numpy(np.exp2(rng.integers(-2, 2, shape[:-1])).astype(np.float32))
    bias = bias[0] if groups.kind == "dense" else bias
    got = _torch_matmul._multiply(device, *tensors, alpha=alpha, bias=bias.bfloat16(), prob=prob.bfloat16(),
                                  dtype=torch.float32, **options)
    wanted = np.zeros(product.out_shape())
    for g, (index, _, w) in enumerate(product.problems()):
        x = rows.double().numpy()[index]
        z = float(alpha[g]) * (x @ w.values().T) + (bias if groups.kind == "dense" else bias[g]).numpy()
        wanted[index] = prob.numpy()[index][..., None] * z
    assert_equal(got.numpy(), wanted.astype(np.float32))


@pytest.mark.parametrize("alpha", [torch.tensor(0.5), torch.tensor([0.5, 0.25, 2]).bfloat16()], ids=["one", "bf16"])
def test_factors_are_numbers_in_memory(rng, device, alpha):
    product = make_product(rng, ragged([3, 0, 5], extra=2), N, K, "nvfp4")
    tensors, options = packed_arguments(product)
    got = _torch_matmul._multiply(device, *tensors, alpha=alpha, dtype=torch.float32, **options)
    factor = alpha.expand(3).tolist()
    assert_equal(got.numpy(), expected_result(product, "f32", value=0, epilogue=lambda acc, g, i: acc * factor[g]))


def test_pairs_in_runs(rng, device):
    product = make_product(rng, ragged([3, 5]), N, K, "nvfp4", codes="small")
    tensors, options = packed_arguments(product)
    got = _torch_matmul._multiply(device, *tensors, activation="swiglu", granularity=16, dtype=torch.float32, **options)
    for index, acc, _ in product.accumulators():
        blocks = acc.reshape(len(acc), -1, 2, 16)
        gate, up = (blocks[:, :, i].reshape(len(acc), -1) for i in (0, 1))
        np.testing.assert_allclose(got.numpy()[index], swiglu(gate, up), rtol=1e-5, atol=1e-5)


def gpt_oss(gate, up, alpha=1.702, beta=1.0, limit=7.0):
    gate, up = np.minimum(gate, limit), np.clip(up, -limit, limit)
    return gate / (1 + np.exp(-alpha * gate)) * (up + beta)


@pytest.mark.parametrize("per_group", [False, True])
def test_parameters_of_an_activation(rng, device, per_group):
    """On the path to a GPU and on the CPU, with an addend and its factor."""
    product = make_product(rng, ragged([3, 5]), N, K, "nvfp4", codes="small")
    tensors, options = packed_arguments(product)
    _, (lhs, rhs) = product.arguments()
    plain = [torch.from_numpy(np.ascontiguousarray(each)) for each in (*lhs, *rhs)]
    addend = torch.from_numpy(rng.standard_normal((8, N)).astype(np.float32)).bfloat16()
    values = [(1.702, 1.0, 7.0), (1.5, 0.5, 3.0)] if per_group else [(1.702, 1.0, 7.0)] * 2
    given = dict(activation_params=torch.tensor(values)) if per_group else \
        dict(zip(("swiglu_alpha", "swiglu_beta", "swiglu_limit"), values[0]))
    given |= dict(activation="swiglu", granularity=1, dtype=torch.float32, addend=addend, beta=0.5)
    results = [_torch_matmul._multiply(device, *tensors, **options, **given),
               nvfp4.torch.grouped_matmul(*plain, tensors[4], **given)]
    for g, (index, acc, _) in enumerate(product.accumulators()):
        z = acc + 0.5 * addend.double().numpy()[index]
        wanted = gpt_oss(z[:, 0::2], z[:, 1::2], *values[g])
        for got in results:
            np.testing.assert_allclose(got.numpy()[index], wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("activation", ["identity", "swiglu"])
def test_scale_of_each_row(rng, device, activation):
    """On the path to a GPU and on the CPU, beside alpha and prob."""
    product = make_product(rng, ragged([3, 5]), N, K, "nvfp4", codes="small")
    tensors, options = packed_arguments(product)
    _, (lhs, rhs) = product.arguments()
    plain = [torch.from_numpy(np.ascontiguousarray(each)) for each in (*lhs, *rhs)]
    scale, prob = (torch.from_numpy(np.exp2(rng.integers(-3, 4, 8)).astype(np.float32)) for _ in range(2))
    granularity = 16 if activation == "swiglu" else 0
    given = dict(alpha=torch.tensor([0.5, 0.25]), row_scale=scale, prob=prob, activation=activation, granularity=granularity, dtype=torch.float32)
    results = [_torch_matmul._multiply(device, *tensors, **options, **given), nvfp4.torch.grouped_matmul(*plain, tensors[4], **given)]
    for g, (index, acc, _) in enumerate(product.accumulators()):
        z = acc * (0.5, 0.25)[g] * scale.double().numpy()[index[0], None]
        gate, up = (z.reshape(len(z), -1, 2, 16)[:, :, i].reshape(len(z), -1) for i in range(2))
        p = prob.double().numpy()[index[0], None]
        for got in results:
            if activation == "identity":
                np.testing.assert_array_equal(got.numpy()[index], (z * p).astype(np.float32))
            else:
                y = swiglu(gate, up) * p
                assert_within(got.numpy()[index], y, activation_bound(y, gate), "f32")


@pytest.mark.parametrize("change, message", [
    (dict(beta=0.5), "addend= with beta"), (dict(swiglu_limit=7.0), "an activation with limit, but got identity"),
    (dict(grouping="grid"), "but got 'grid'"),
    (dict(bias=torch.zeros(N, dtype=torch.int32)), "bias of f32, f16, bf16, but got int32"),
    (dict(prob=torch.zeros(8, 1)), "prob of rank 1"), (dict(row_scale=torch.zeros(8, 1)), "row_scale of rank 1"),
    (dict(activation_params=torch.zeros(3)), "activation_params of rank 2")], ids=str)
def test_fakes_refuse_what_the_run_refuses(rng, change, message):
    product = make_product(rng, ragged([3, 5]), N, K, "nvfp4")
    operand, (lhs, rhs) = product.arguments()
    tensors = [torch.from_numpy(np.ascontiguousarray(each)) for each in (*lhs, *rhs, *operand)]
    from torch._subclasses.fake_tensor import FakeTensorMode
    for wrap in (lambda each: each, FakeTensorMode().from_tensor):
        with pytest.raises(nvfp4.ArgumentError, match=message):
            nvfp4.torch.grouped_matmul(*map(wrap, tensors), **{
                name: wrap(value) if isinstance(value, torch.Tensor) else value for name, value in change.items()})


@pytest.mark.parametrize("fmt, scale", [("nvfp4", 4.0), ("mxfp4", None), ("mxfp8_e4m3", None)])
def test_quantised_results(rng, device, fmt, scale):
    """The bytes of the CPU's function, on the path to a GPU and by the operation."""
    product = make_product(rng, ragged([3, 0, 5], extra=2), N, K, "nvfp4", codes="small")
    tensors, options = packed_arguments(product)
    operand, (lhs, rhs) = product.arguments()
    wanted = nvfp4.grouped_matmul(nvfp4.ScaledTensor(*lhs), nvfp4.ScaledTensor(*rhs), nvfp4.ragged_rows(*operand),
                                  activation="relu", out_format=fmt, global_scale=scale)
    plain = [torch.from_numpy(np.ascontiguousarray(each)) for each in (*lhs, *rhs, *operand)]
    given = dict(out_format=fmt, global_scale=scale, activation="relu")
    for got in (_torch_matmul._multiply_scaled(device, fmt, scale, None, *tensors, activation="relu", **options),
                nvfp4.torch.grouped_matmul_scaled(*plain, **given)):
        assert_equal(got[0].numpy()[:8], wanted.values.view(np.uint8)[:8])
        assert_equal(got[1].numpy()[:8], wanted.scales.view(np.uint8)[:8])
        assert not got[0][8:].any()
    torch.library.opcheck(torch.ops.nvfp4.grouped_matmul_scaled.default, (fmt, scale, None, *plain),
                          test_utils=("test_schema", "test_faketensor"))
    with pytest.raises(nvfp4.ArgumentError, match="out_format nvfp4, .*, but got 'fp6'"):
        nvfp4.torch.grouped_matmul_scaled(*plain, out_format="fp6")
    with pytest.raises(nvfp4.ArgumentError, match="a quantised result has no gradient"):
        nvfp4.torch.grouped_matmul_scaled(*plain, alpha=torch.ones(3, requires_grad=True))


def test_products_without_a_gradient_say_so(rng):
    product = make_product(rng, ragged([3, 5]), N, K, "nvfp4")
    _, _, rhs, scales, ends = [torch.from_numpy(np.ascontiguousarray(each)) for each in (
        *product.arguments()[1][0], *product.arguments()[1][1], *product.arguments()[0])]
    rows = torch.zeros(8, K, dtype=torch.bfloat16, requires_grad=True)
    nvfp4.torch.grouped_matmul(rows, None, rhs, scales, ends).sum().backward()
    assert rows.grad.shape == rows.shape
    with pytest.raises(nvfp4.ArgumentError, match="no addend where a gradient is asked for"):
        nvfp4.torch.grouped_matmul(rows, None, rhs, scales, ends, addend=torch.zeros(8, N))
    with pytest.raises(nvfp4.ArgumentError, match="no row_scale where a gradient is asked for"):
        nvfp4.torch.grouped_matmul(rows, None, rhs, scales, ends, row_scale=torch.ones(8))
    with torch.no_grad():
        assert not nvfp4.torch.grouped_matmul(rows, None, rhs, scales, ends, addend=torch.zeros(8, N)).any()


@pytest.mark.parametrize("shape", [(7, 48), (5,), (2, 3, 33), (0, 32)], ids=str)
def test_quantize(rng, device, shape):
    x = torch.from_numpy(rng.standard_normal(shape).astype(np.float32)).bfloat16()
    for scale in (2.0, 0.5):
        wanted = nvfp4.quantize(nvfp4.asarray(x), global_scale=scale)
        for got in (_torch_matmul._quantize(device, x, scale), nvfp4.torch.quantize(x, scale)):
            assert_equal(got[0].numpy(), wanted.values)
            assert_equal(got[1].numpy(), wanted.scales.view(np.uint8))
    torch.library.opcheck(torch.ops.nvfp4.quantize.default, (x,), test_utils=("test_schema", "test_faketensor"))


@pytest.mark.parametrize("change, error, message", [
    (dict(layout="linear", columns=0), nvfp4.ArgumentError, "packed weights on a GPU .* but got layout linear"),
    (dict(columns=0), nvfp4.ArgumentError, "columns=, the N of packed weights, of 1 or more, but got 0"),
    (dict(columns=N + 64), nvfp4.ArgumentError, "values of shape"),
    (dict(activation="swiglu"), nvfp4.CompileError, "gate layout .*relayout_gate"),
    (dict(format="mxfp8_e4m3"), nvfp4.ArgumentError, "shape")], ids=str)
def test_mistakes_are_named(rng, device, change, error, message):
    tensors, options = packed_arguments(make_product(rng, ragged([3, 5]), N, K, "nvfp4"))
    with pytest.raises(error, match=message):
        _torch_matmul._multiply(device, *tensors, **(options | change))
    assert not device.launches


def test_kernels_are_not_loaded_while_a_graph_captures(rng, device):
    tensors, options = packed_arguments(make_product(rng, ragged([3, 5]), N, K, "nvfp4"))
    nvfp4.cache_clear()
    device.capturing = True
    with pytest.raises(RuntimeError, match="capturing"):
        _torch_matmul._multiply(device, *tensors, dtype=torch.float16, **options)


def test_types_of_four_and_eight_bits(rng):
    """The bytes of codes and scales may come as torch's types for them."""
    product = make_product(rng, ragged([3, 5]), N, K, "nvfp4")
    operand, (lhs, rhs) = product.arguments()
    tensors = [torch.from_numpy(np.ascontiguousarray(each)) for each in (*lhs, *rhs, *operand)]
    types = [getattr(torch, "float4_e2m1fn_x2", torch.uint8), torch.float8_e4m3fn] * 2
    tensors[:4] = [each.view(torch.uint8).view(dtype) for each, dtype in zip(tensors, types)]
    got = nvfp4.torch.grouped_matmul(*tensors, dtype=torch.float32)
    assert_equal(got.numpy(), expected_result(product, "f32", value=0))


def test_threads_do_not_share_calls(rng):
    """Each has its own place for addresses."""
    product = make_product(rng, ragged([3, 5]), N, K, "nvfp4")
    operand, (lhs, rhs) = product.arguments()
    plain = [torch.from_numpy(np.ascontiguousarray(each)) for each in (*lhs, *rhs, *operand)]
    alphas = [torch.full((2,), float(i + 1)) for i in range(4)]
    wanted = [nvfp4.torch.grouped_matmul(*plain, alpha=alpha, dtype=torch.float32) for alpha in alphas]
    assert not torch.equal(wanted[0], wanted[1])

    def work(i):
        return all(torch.equal(nvfp4.torch.grouped_matmul(*plain, alpha=alphas[i], dtype=torch.float32), wanted[i])
                   for _ in range(200))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))


def test_packed_weights(rng):
    product = make_product(rng, ragged([3, 0, 5], extra=2), N, K, "nvfp4")
    operand, (lhs, rhs) = product.arguments()
    lhs, ends = [torch.from_numpy(np.ascontiguousarray(each)) for each in lhs], torch.from_numpy(*operand)
    for weights in (nvfp4.ScaledTensor(*rhs), nvfp4.relayout(nvfp4.ScaledTensor(*rhs), layout="wgmma")):
        packed = nvfp4.torch.PackedWeights(weights)
        assert packed.layout == "linear" and packed.to("cpu") is packed and packed.nbytes == 3 * N * K * 9 // 16
        got = nvfp4.torch.grouped_matmul(*lhs, packed, ends=ends, dtype=torch.float32)
        assert_equal(got.numpy(), expected_result(product, "f32", value=0))
    for arguments, message in (((rhs,), "as ScaledTensor .* but got list|tuple"),):
        with pytest.raises(nvfp4.ArgumentError, match=message):
            nvfp4.torch.PackedWeights(*arguments)
    with pytest.raises(nvfp4.ArgumentError, match="rows torch.bfloat16 or torch.float16, but got torch.int8"):
        nvfp4.torch.PackedWeights(weights, rows=torch.int8)
    with pytest.raises(nvfp4.ArgumentError, match="no rhs_scales, layout and columns beside PackedWeights"):
        nvfp4.torch.grouped_matmul(*lhs, packed, ends=ends, layout="wgmma")
    with pytest.raises(nvfp4.ArgumentError, match="expected rhs_scales, or rhs as PackedWeights"):
        nvfp4.torch.grouped_matmul(*lhs, packed.values, ends=ends)


def test_bad_offsets_are_told(rng, device):
    """By one question for all operations; a good call says nothing."""
    product = make_product(rng, ragged([3, 0, 5]), N, K, "nvfp4")
    tensors, options = packed_arguments(product)
    _torch_matmul._multiply(device, *tensors, dtype=torch.float32, **options)
    nvfp4.torch.check()
    tensors[4] = torch.full_like(tensors[4], -3)
    _torch_matmul._multiply(device, *tensors, dtype=torch.float32, **options)
    with pytest.raises(nvfp4.DataError, match=r"matmul: expected group .*\[\d\] to be in .*, but got -3 \[grouping_c6\]"):
        nvfp4.torch.check()
    nvfp4.torch.check()
