# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results in tensors of the caller, calls past torch's dispatcher, and rows of float32. Skipped where torch is missing."""

import numpy as np
import pytest

import nvfp4
from nvfp4_cases import GROUPINGS, make_product, ragged
from test_py_torch import grouping_options

torch = pytest.importorskip("torch")

import nvfp4.torch as nt  # noqa: E402
from nvfp4 import _torch_direct  # noqa: E402

M, N, K = 8, 32, 64
DTYPES = [torch.float32, torch.float16, torch.bfloat16]
SPOILT = 0x55
DENSE = next(each for each in GROUPINGS if each.kind == "dense")


def make(rng, grouping=ragged([3, 0, 5], extra=2), fmt="nvfp4"):
    """The operands of a product, and its options."""
    along_k = grouping.kind == "ragged_k"
    product = make_product(rng, grouping, N, None if along_k else K, fmt, **({"m": 5} if along_k else {}))
    _, (lhs, rhs) = product.arguments()
    ends, options = grouping_options(grouping)
    return [torch.from_numpy(np.ascontiguousarray(each)) for each in (*lhs, *rhs)] + [ends], dict(format=fmt, **options)


def spoilt(like):
    """A tensor of the same kind that holds other bits."""
    return torch.full((like.numel() * like.element_size(),), SPOILT, dtype=torch.uint8).view(like.dtype).view(like.shape)


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and nvfp4.asarray(a).tobytes() == nvfp4.asarray(b).tobytes()


@pytest.mark.parametrize("groups", GROUPINGS, ids=lambda g: f"{g.kind}-{g.offsets}")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_products_are_written(rng, groups, dtype):
    for _ in range(3):
        operands, options = make(rng, groups)
        wanted = torch.ops.nvfp4.grouped_matmul(*operands, dtype=dtype, **options)
        assert same(nt.grouped_matmul(*operands, dtype=dtype, **options), wanted)
        out = spoilt(wanted)
        assert nt.grouped_matmul(*operands, out=out, **options) is out and same(out, wanted)
        out = spoilt(wanted)
        torch.ops.nvfp4.grouped_matmul.out(*operands, dtype=dtype, out=out, **options)
        assert same(out, wanted)


@pytest.mark.parametrize("out_format", nvfp4.FORMATS)
def test_quantised_results_are_written(rng, out_format):
    quantizer = {"nvfp4": "trtllm"}.get(out_format)
    x = torch.from_numpy(rng.standard_normal((9, 33)).astype(np.float32))
    for _ in range(2):
        operands, options = make(rng)
        wanted = nt.grouped_matmul_scaled(*operands, out_format=out_format, quantizer=quantizer, **options)
        out = tuple(map(spoilt, wanted))
        found = nt.grouped_matmul_scaled(*operands, out_format=out_format, quantizer=quantizer, out=out, **options)
        assert found[0] is out[0] and found[1] is out[1] and all(map(same, out, wanted))
        wanted = torch.ops.nvfp4.quantize(x, 3.0)
        out = tuple(map(spoilt, wanted))
        assert all(map(same, nt.quantize(x, 3.0), wanted))
        assert nt.quantize(x, 3.0, out=out)[1] is out[1] and all(map(same, out, wanted))
        x = -x


def weights_of(rng, experts=4, hidden=64, inner=32):
    return nvfp4.MoEWeights(*(nvfp4.quantize(rng.standard_normal(shape).astype(np.float32)) for shape in
                              ((experts, 2 * inner, hidden), (experts, hidden, inner))))


@pytest.mark.parametrize("act", ["nvfp4", "bf16"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_layers_are_written(rng, act, dtype):
    layer = nt.MoELayer(weights_of(rng), top_k=2, activation_format=act)
    for tokens in (5, 1, 0):
        x = torch.from_numpy(rng.standard_normal((tokens, 64)).astype(np.float32)).to(dtype)
        logits = torch.from_numpy(rng.standard_normal((tokens, 4)).astype(np.float32))
        wanted = layer(x, logits)
        assert wanted.dtype == dtype
        out = spoilt(wanted)
        assert layer(x, logits, out=out) is out and same(out, wanted)
        with torch.profiler.profile(acc_events=True):  # by the dispatcher
            assert same(layer(x, logits), wanted)
    for bad, message in ((torch.empty(0, 63, dtype=dtype), "expected out of shape"), (x[:, ::2], "out of shape"), (x, "memory of its own")):
        if bad is not x or x.numel():
            with pytest.raises(nvfp4.ArgumentError, match=message):
                layer(x, logits, out=bad)


BAD = [
    (lambda a, out: out.double(), "expected out of shape .* of torch.float32 on cpu, but got .* of torch.float64"),
    (lambda a, out: out[1:], r"expected out of shape \(10, 32\) of torch.float32 on cpu, but got \(9, 32\)"),
    (lambda a, out: torch.empty(10, 2 * N)[:, ::2], "expected out row-major without gaps, but got strides"),
    (lambda a, out: torch.empty_like(out, device="meta"), "on cpu, but got .* on meta"),
    (lambda a, out: out.requires_grad_(), "expected out without requires_grad"),
    (lambda a, out: a[-1], "expected out in memory of its own"),
]


@pytest.mark.parametrize("change, message", BAD, ids=range(len(BAD)))
@pytest.mark.parametrize("is_known", [False, True])
def test_bad_destinations(rng, change, message, is_known):
    operands, options = make(rng)
    addend = torch.zeros(10, N)
    product = lambda out: nt.grouped_matmul(*operands, addend=addend, dtype=torch.float32, out=out, **options)  # noqa: E731
    if is_known:
        product(torch.empty(10, N))
    with pytest.raises(nvfp4.ArgumentError, match=message):
        product(change([*operands, addend], torch.empty(10, N)))


def test_what_has_gradients_is_not_written(rng):
    operands, options = make(rng)
    alpha = torch.ones(3, requires_grad=True)
    out = torch.empty(10, N)
    with pytest.raises(nvfp4.ArgumentError, match="without requires_grad with out"):
        nt.grouped_matmul(*operands, alpha=alpha, out=out, **options)
    with torch.no_grad():
        nt.grouped_matmul(*operands, alpha=alpha, out=out, **options)
    assert same(out, nt.grouped_matmul(*operands, alpha=alpha.detach(), dtype=torch.float32, **options))
    for bad in (out, [out], 3):
        with pytest.raises(nvfp4.ArgumentError, match="out as two tensors, values and scales"):
            nt.quantize(out, out=bad)


def test_operations_with_out_keep_torchs_rules(rng):
    operands, options = make(rng)
    out = torch.empty(10, N)
    torch.library.opcheck(torch.ops.nvfp4.grouped_matmul.out, (*operands,), dict(dtype=torch.float32, out=out, **options),
                          test_utils=("test_schema", "test_faketensor"))
    x = torch.ones(4, 32)
    values, scales = nt.quantize(x)
    torch.library.opcheck(torch.ops.nvfp4.quantize.out, (x,), dict(values=values, scales=scales),
                          test_utils=("test_schema", "test_faketensor"))
    torch.library.opcheck(torch.ops.nvfp4.grouped_matmul_scaled.out, ("nvfp4", None, None, *operands), dict(
        values=torch.empty(10, N // 2, dtype=torch.uint8), scales=torch.empty(10, N // 16, dtype=torch.uint8), **options),
        test_utils=("test_schema", "test_faketensor"))


def test_compiled_with_out(rng):
    operands, options = make(rng)

    def step(*given):
        out = torch.empty(10, N)
        nt.grouped_matmul(*given, out=out, **options)
        return out + 1

    wanted = step(*operands)
    torch._dynamo.reset()
    assert same(torch.compile(step, backend="aot_eager", fullgraph=True)(*operands), wanted)


# Everything that has to see operations sees those of the package.
def test_operations_are_seen(rng):
    operands, options = make(rng)
    product = lambda *given: nt.grouped_matmul(*given, **options)  # noqa: E731
    wanted = [product(*operands) for _ in range(2)][1]
    assert _torch_direct.kinds_of(operands) is not None
    with torch.profiler.profile(acc_events=True) as profile:
        product(*operands)
    assert "nvfp4::grouped_matmul_forward" in {each.key for each in profile.key_averages()}
    from torch.fx.experimental.proxy_tensor import make_fx
    graph = make_fx(product)(*operands)
    assert "grouped_matmul_forward" in graph.code and same(graph(*operands), wanted)
    from torch._subclasses import FakeTensorMode
    with FakeTensorMode() as mode:
        fake = product(*map(mode.from_tensor, operands))
    assert type(fake) is not torch.Tensor and fake.shape == wanted.shape
    traced = torch.jit.trace(product, tuple(operands))
    assert "grouped_matmul_forward" in str(traced.graph)
    rows = torch.from_numpy(rng.standard_normal((2, 10, K)).astype(np.float32)).bfloat16()
    one = lambda x: nt.grouped_matmul(x, None, *operands[2:], **options)  # noqa: E731
    assert same(torch.vmap(one)(rows), torch.stack([one(each) for each in rows]))
    alpha = torch.ones(3, requires_grad=True)
    product_of = lambda: nt.grouped_matmul(*operands, alpha=alpha, dtype=torch.float32, **options)  # noqa: E731
    with torch.no_grad():
        assert not product_of().requires_grad
    product_of().sum().backward()
    assert alpha.grad is not None

    class Named(torch.Tensor):
        pass

    assert type(product(operands[0].as_subclass(Named), *operands[1:])) is Named
    gaps = torch.stack([operands[0]] * 2, -1)[..., 0]
    assert same(product(gaps, *operands[1:]), wanted)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rows_of_float32_are_rounded(rng, dtype):
    operands, options = make(rng)
    x = torch.from_numpy(rng.standard_normal((10, K)).astype(np.float32))
    weights = nvfp4.ScaledTensor(operands[2], operands[3])
    wanted = nt.grouped_matmul(x.bfloat16(), None, *operands[2:], dtype=dtype, **options)
    for packed in ((operands[2], operands[3]), (nt.PackedWeights(weights), None)):
        got = nt.grouped_matmul(x, None, *packed, operands[4], dtype=dtype)
        assert same(got, wanted)
    groups = nvfp4.ragged_rows(operands[4].numpy())
    here = nvfp4.grouped_matmul(x.numpy(), weights, groups, dtype=dtype)
    assert same(torch.from_dlpack(nvfp4.to_dlpack(here)), wanted)
    there = nvfp4.grouped_matmul(x, weights, groups, dtype=dtype)
    assert same(there, wanted)
    with pytest.raises(nvfp4.ArgumentError, match="lhs of numbers that bfloat16 holds, but got 3.4028"):
        nvfp4.grouped_matmul(np.full((10, K), np.finfo(np.float32).max), weights, groups)


def test_gradients_of_rows_of_float32(rng):
    operands, options = make(rng)
    rows = torch.from_numpy(rng.standard_normal((10, K)).astype(np.float32))
    wide, narrow = rows.clone().requires_grad_(), rows.bfloat16().requires_grad_()
    for each in (wide, narrow):
        nt.grouped_matmul(each, None, *operands[2:], dtype=torch.float32, **options).square().sum().backward()
    assert wide.grad.dtype == torch.float32 and torch.equal(wide.grad, narrow.grad.float())


def test_types_of_torch_where_arrays_are_made(rng):
    x, w = (nvfp4.quantize(torch.from_numpy(rng.standard_normal(shape).astype(np.float32))) for shape in ((M, K), (N, K)))
    for dtype in DTYPES:
        name = str(dtype).partition(".")[2]
        assert nvfp4.grouped_matmul(x, w, dtype=dtype).dtype.name == name
        assert x.dequantize(dtype=dtype).dtype.name == name
        assert nvfp4.grouped_matmul(x, w, preact=dtype).preact.dtype.name == name
        layer = nvfp4.moe_layer(rng.standard_normal((5, 64)).astype(np.float32), weights_of(rng), np.zeros((5, 4), np.float32), top_k=2,
                                dtype=dtype)
        assert layer.dtype.name == name
    with pytest.raises(nvfp4.NVFP4Error):
        nvfp4.grouped_matmul(x, w, dtype=torch.complex64)
    with pytest.raises(nvfp4.ArgumentError, match="torch.quint8"):
        nvfp4.grouped_matmul(x, w, dtype=torch.quint8)


@pytest.mark.parametrize("direct", [True, False], ids=["direct", "dispatched"])
def test_autograd_sees_what_is_written(rng, direct):
    """A tensor that is saved for a derivative and then written, past the dispatcher or through it, is told apart."""
    operands, options = make(rng, DENSE)
    out = torch.zeros_like(nt.grouped_matmul(*operands, dtype=torch.float32, **options))
    for _ in range(3):
        weight = torch.ones_like(out, requires_grad=True)
        loss = (weight * out).sum()
        if direct:
            nt.grouped_matmul(*operands, out=out, **options)
        else:
            torch.ops.nvfp4.grouped_matmul.out(*operands, dtype=torch.float32, out=out, **options)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()
    with torch.inference_mode():
        made = torch.zeros_like(out)
        nt.grouped_matmul(*operands, out=made, **options)
    assert same(made, out)
