# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch: tensors of its types in and out, and the custom operations, eager and compiled. Skipped where torch is missing."""

import numpy as np
import pytest

import nvfp4
from nvfp4_cases import GROUPINGS, assert_equal, expected_result, make_product, ragged, swiglu
from nvfp4_formats import random_scaled

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def ops():
    import nvfp4.torch  # noqa: F401
    return torch.ops.nvfp4


def tensors(product):
    operand, (lhs, rhs) = product.arguments()
    return [torch.from_numpy(np.ascontiguousarray(t)) for t in (*lhs, *rhs, *operand)]


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16", "int32", "uint8", "float8_e4m3fn", "float8_e5m2",
                                  "float8_e8m0fnu"])
def test_types_are_shared(name):
    if not hasattr(torch, name):
        pytest.skip(f"this torch has no {name}")
    tensor = torch.ones(4, 3, dtype=torch.float32).to(getattr(torch, name))
    array = nvfp4.asarray(tensor)
    assert array.shape == (4, 3) and array.ctypes.data == tensor.data_ptr()
    assert str(array.dtype) == name and (array.astype(np.float32) == 1).all()


def test_tensors_without_memory_are_refused():
    for dtype in (torch.float32, torch.bfloat16):
        with pytest.raises(nvfp4.ArgumentError, match="memory of the CPU.*meta"):
            nvfp4.quantize(torch.empty(4, 32, dtype=dtype, device="meta"))


def test_results_go_back_without_a_copy():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    tensor = torch.from_dlpack(nvfp4.to_dlpack(array))
    tensor[0, 0] = 7
    assert array[0, 0] == 7
    half = nvfp4.quantize(torch.ones(4, 32, dtype=torch.bfloat16)).dequantize(dtype="float16")
    assert torch.from_dlpack(nvfp4.to_dlpack(half)).dtype == torch.float16


def test_destinations_of_torch_are_written(rng):
    product = make_product(rng, ragged([3, 0, 5]), 16, 64, "nvfp4")
    lhs, lhs_scales, rhs, rhs_scales, ends = tensors(product)
    out = torch.full((8, 16), float("nan"))  # every row is of a group
    nvfp4.grouped_matmul(nvfp4.ScaledTensor(lhs, lhs_scales), nvfp4.ScaledTensor(rhs, rhs_scales),
                         nvfp4.ragged_rows(ends), out=out)
    assert_equal(out.numpy(), expected_result(product, "f32"))


def test_operation(rng, ops):
    product = make_product(rng, ragged([3, 0, 5], extra=2), 16, 64, "nvfp4")
    alpha = torch.tensor([0.5, 1, 2])
    got = ops.grouped_matmul(*tensors(product), alpha=alpha, dtype=torch.float32)
    assert_equal(got.numpy(), expected_result(product, "f32", value=0, epilogue=lambda acc, g, i: acc * float(alpha[g])))


def test_arguments_keep_their_places(rng, ops):
    """Exported programs and callers pass them by place."""
    product = make_product(rng, ragged([3, 0, 5]), 16, 64, "mxfp4")
    got = ops.grouped_matmul(*tensors(product), None, None, "mxfp4", "linear", "identity", 0, True, torch.float32)
    assert_equal(got.numpy(), expected_result(product, "f32", value=0))
    names = [argument.name for argument in ops.grouped_matmul.default._schema.arguments]
    assert names == ["lhs", "lhs_scales", "rhs", "rhs_scales", "ends", "alpha", "bias", "format", "layout", "activation",
                     "granularity", "gate_first", "dtype", "prob", "grouping", "offsets", "align", "starts", "columns",
                     "addend", "beta", "activation_params", "swiglu_alpha", "swiglu_beta", "swiglu_limit", "round_bf16",
                     "row_scale"]


def test_rows_without_scales(rng, ops):
    """W4A16, with the probability of each row."""
    product = make_product(rng, ragged([3, 0, 5]), 16, 64, "nvfp4")
    _, _, rhs, rhs_scales, ends = tensors(product)
    rows = torch.from_numpy(rng.integers(-8, 9, (8, 64)).astype(np.float32)).bfloat16()
    prob = torch.from_numpy(np.exp2(rng.integers(-2, 2, 8)).astype(np.float32))
    weights = nvfp4.ScaledTensor(rhs, rhs_scales).dequantize().astype(float)
    got = ops.grouped_matmul(rows, None, rhs, rhs_scales, ends.long(), prob=prob, dtype=torch.float32)
    groups = np.repeat([0, 1, 2], [3, 0, 5])
    expected = np.einsum("rk,rnk->rn", rows.double().numpy(), weights[groups]) * prob.double().numpy()[:, None]
    assert_equal(got.numpy(), expected.astype(np.float32))
    torch.library.opcheck(ops.grouped_matmul.default, (rows, None, rhs, rhs_scales, ends))


def grouping_options(groups):
    """The same for the operation."""
    ends = None if groups.operand is None else torch.from_numpy(groups.operand)
    return ends, dict(grouping=groups.kind, offsets=groups.offsets, align=groups.align)


@pytest.mark.parametrize("groups", GROUPINGS, ids=lambda g: f"{g.kind}-{g.offsets}")
@pytest.mark.parametrize("fmt", ["nvfp4", "mxfp4"])
def test_every_grouping(rng, ops, groups, fmt):
    along_k = groups.kind == "ragged_k"
    product = make_product(rng, groups, 16, None if along_k else 64, fmt, **({"m": 5} if along_k else {}))
    _, (lhs, rhs) = product.arguments()
    ends, options = grouping_options(groups)
    operands = [torch.from_numpy(np.ascontiguousarray(t)) for t in (*lhs, *rhs)]
    got = ops.grouped_matmul(*operands, ends, format=fmt, dtype=torch.float32, **options)
    assert_equal(got.numpy(), expected_result(product, "f32", value=0))
    torch.library.opcheck(ops.grouped_matmul.default, (*operands, ends), dict(format=fmt, **options),
                          test_utils=("test_schema", "test_faketensor"))


@pytest.mark.parametrize("groups,starts", [(ragged([3, 0, 150]), "compact"), (ragged([3, 0, 150]), "upper_bound"),
                                           (ragged([64, 32], kind="ragged_k", align=32), "compact")],
                         ids=["compact", "upper_bound", "along-k"])
def test_scales_that_start_by_group(rng, ops, groups, starts):
    along_k = groups.kind == "ragged_k"
    product = make_product(rng, groups, 16, None if along_k else 64, "nvfp4", **({"m": 5} if along_k else {}))
    _, (lhs, rhs) = product.arguments(lhs_layout="blocked", lhs_starts=starts, rhs_layout="blocked",
                                      rhs_starts=starts if along_k else "whole")
    ends, options = grouping_options(groups)
    operands = [torch.from_numpy(np.ascontiguousarray(t)) for t in (*lhs, *rhs)]
    got = ops.grouped_matmul(*operands, ends, layout="blocked", starts=starts, dtype=torch.float32, **options)
    assert_equal(got.numpy(), expected_result(product, "f32", value=0))


@pytest.mark.parametrize("options,message", [
    (dict(grouping="dense"), "no ends for dense"), (dict(grouping="grid"), "ragged_k, but got 'grid'"),
    (dict(offsets="sizes"), "offsets ends or starts, but got 'sizes'"), (dict(ends=None), "expected ends for ragged_rows"),
    (dict(ends=None, grouping="ragged_k"), "expected ends, where each group along K")], ids=str)
def test_groupings_that_are_none(rng, ops, options, message):
    *operands, ends = tensors(make_product(rng, ragged([3, 5]), 16, 64, "nvfp4"))
    with pytest.raises(nvfp4.ArgumentError, match=message):
        ops.grouped_matmul(*operands, **({"ends": ends} | options))


def test_exported_programs_hold_the_operation(rng, ops):
    product = make_product(rng, ragged([3, 5]), 16, 64, "nvfp4")
    arguments = tensors(product)

    class Layer(torch.nn.Module):
        def forward(self, *operands):
            return ops.grouped_matmul(*operands, dtype=torch.float32)

    exported = torch.export.export(Layer(), tuple(arguments))
    assert any("nvfp4.grouped_matmul" in str(node.target) for node in exported.graph.nodes)
    assert_equal(exported.module()(*arguments).numpy(), expected_result(product, "f32"))


def test_operation_under_compile_and_fake_tensors(rng, ops):
    product = make_product(rng, ragged([3, 5]), 32, 64, "nvfp4", codes="small")
    arguments = tensors(product)
    torch.library.opcheck(ops.grouped_matmul.default, tuple(arguments), dict(activation="swiglu"),
                          test_utils=("test_schema", "test_faketensor"))

    def layer(*operands):
        return ops.grouped_matmul(*operands, activation="swiglu", granularity=0, dtype=torch.float32) + 1

    got = torch.compile(layer, backend="eager", fullgraph=True)(*arguments)
    for g, (index, acc, _) in enumerate(product.accumulators()):
        np.testing.assert_allclose(got.numpy()[index], swiglu(acc[:, :16], acc[:, 16:]) + 1, rtol=1e-5, atol=1e-5)


def test_quantize(rng, ops):
    x = torch.from_numpy(rng.standard_normal((7, 48)).astype(np.float32)).bfloat16()
    values, scales = ops.quantize(x, 2.0)
    expected = nvfp4.quantize(nvfp4.asarray(x), global_scale=2.0)
    assert_equal(values.numpy(), expected.values)
    assert_equal(scales.numpy(), expected.scales.view(np.uint8))
    torch.library.opcheck(ops.quantize.default, (x,), test_utils=("test_schema", "test_faketensor"))


def test_cudnn_with_tensors_of_torch(rng):
    from nvfp4.cudnn import grouped_gemm_glu_wrapper_sm100
    a, b = random_scaled(rng, (256, 64), "nvfp4", codes="small"), random_scaled(rng, (1, 64, 64), "nvfp4", codes="small")
    views = [torch.from_numpy(s.store("blocked")[1].reshape(1, -1, 1, 32, 4, 4)).view(torch.float8_e4m3fn).permute(
        3, 4, 1, 5, 2, 0) for s in (a, b)]
    results = grouped_gemm_glu_wrapper_sm100(
        torch.from_numpy(a.store()[0])[:, :, None].view(torch.float4_e2m1fn_x2), views[0],
        torch.tensor([256], dtype=torch.int32), torch.tensor([0.125]),
        torch.from_numpy(b.store()[0]).permute(1, 2, 0).view(torch.float4_e2m1fn_x2), views[1], c_dtype=torch.float32,
        d_dtype=torch.bfloat16)
    c, d = results["c_tensor"], results["d_tensor"]
    assert c.dtype == torch.float32 and d.dtype == torch.bfloat16 and d.stride() == (32, 1, 256 * 32)
    z = 0.125 * (a.values() @ b.values()[0].T)
    assert_equal(c[:, :, 0].numpy(), z.astype(np.float32))
    np.testing.assert_allclose(d[:, :, 0].float().numpy(), swiglu(z[:, :32], z[:, 32:]), rtol=2.0**-8, atol=1e-30)


def test_the_contest_with_tensors_of_torch(rng):
    from nvfp4 import gpumode
    sides = [random_scaled(rng, (rows, 64), "nvfp4") for rows in (5, 24)]
    a, b = (torch.from_numpy(s.store()[0][:, :, None]) for s in sides)
    sfa, sfb = (torch.from_numpy(s.store()[1][:, :, None]).view(torch.float8_e4m3fn) for s in sides)
    if hasattr(torch, "float4_e2m1fn_x2"):
        a, b = a.view(torch.float4_e2m1fn_x2), b.view(torch.float4_e2m1fn_x2)
    c = torch.full((1, 5, 24), float("nan"), dtype=torch.float16).permute(1, 2, 0)
    result, = gpumode.custom_kernel(([(a, b, c)], [(sfa, sfb)], [(5, 24, 64, 1)]))
    assert result is c
    assert_equal(c[:, :, 0].numpy(), (sides[0].values() @ sides[1].values().T).astype(np.float16))


def test_functions_on_arrays_give_tensors_and_cut_no_gradient(rng):
    """Rows of torch make results of torch; one that requires a gradient is refused, for these functions have none."""
    x = torch.from_numpy(rng.standard_normal((17, 64)).astype(np.float32)).bfloat16()
    w, groups = nvfp4.quantize(rng.standard_normal((3, 32, 64)).astype(np.float32)), nvfp4.ragged_rows(ends=[5, 5, 17])
    got = nvfp4.grouped_matmul(x, w, groups, dtype="bfloat16")
    assert isinstance(got, torch.Tensor) and got.dtype == torch.bfloat16
    result = nvfp4.grouped_matmul(x, w, groups, amax=True)
    assert isinstance(result.out, torch.Tensor) and isinstance(result.amax, torch.Tensor) and result.preact is None
    assert torch.equal(result.out.bfloat16(), got) and float(result.amax[0]) == float(result.out[:5].abs().max())
    x.requires_grad_()
    for call in (lambda: nvfp4.grouped_matmul(x, w, groups), lambda: nvfp4.quantize(x)):
        with pytest.raises(nvfp4.ArgumentError, match="expected a tensor without requires_grad, .* use detach"):
            call()
        with torch.no_grad():
            call()
