# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""quantize, dequantize and relayout against the formulas and formats of test/python, to the byte."""

import ml_dtypes
import numpy as np
import pytest

import format_formulas as formulas
import nvfp4
from nvfp4_formats import FORMATS, load_scales, random_scaled, row_pieces, store_scales, unpack

NAMES = {"four_over_six": formulas.four_over_six}
CASES = [(name, "nvfp4") for name in ("cutlass", "trtllm", "te", "modelopt", "mega16", "triton_nearest", "four_over_six")]
CASES += [("ocp", "mxfp4"), ("ue8m0_up", "mxfp8_e4m3"), ("cutlass", "mxfp8_e5m2"), ("trtllm", "nvfp4_e8m0")]


def expected_blocks(name, x, fmt, scale):
    block = FORMATS[fmt].block
    codes, bytes_ = getattr(formulas, name)(x.reshape(-1, block), fmt, np.float32(scale))
    return codes.reshape(x.shape), bytes_.reshape(x.shape[0], -1)


@pytest.mark.parametrize("name,fmt", CASES)
def test_quantisers_write_their_bytes(rng, name, fmt):
    x = (rng.standard_normal((37, 96)) * np.exp2(rng.integers(-6, 6, (37, 1)))).astype(np.float32)
    convention = nvfp4.QUANTIZERS[name]
    scale = {"encode": 3.0, "multiplier": 0.25, None: None}[convention]
    if fmt != "nvfp4" and name in ("te",):
        scale = None
    result = nvfp4.quantize(x, fmt, quantizer=name, global_scale=scale)
    codes, scales = expected_blocks(name, x, fmt, 1.0 if scale is None else scale)
    np.testing.assert_array_equal(unpack(FORMATS[fmt], result.values, 96), codes)
    np.testing.assert_array_equal(result.scales.view(np.uint8), scales)


@pytest.mark.parametrize("layout", ["linear", "blocked", "blocked_8x4"])
def test_layouts_place_scales(rng, layout):
    x = rng.standard_normal((130, 80)).astype(ml_dtypes.bfloat16)
    result = nvfp4.quantize(x, layout=layout)
    _, scales = expected_blocks("trtllm", x.astype(np.float32), "nvfp4", 1.0)
    np.testing.assert_array_equal(load_scales(result.scales, layout, 130, 5 if layout == "linear" else 5), scales)
    np.testing.assert_array_equal(result.scales.view(np.uint8), store_scales(scales, layout, None, 0))


@pytest.mark.parametrize("fmt", list(FORMATS))
def test_dequantize_is_exact(rng, fmt):
    operand = random_scaled(rng, (19, 64), fmt, lattice=False)
    tensor = nvfp4.ScaledTensor(*operand.store(), fmt)
    out = np.full((19, 64), np.nan, np.float32)
    result = nvfp4.dequantize(tensor, global_scale=0.5, out=out)
    assert result is out
    np.testing.assert_array_equal(result, (0.5 * operand.values()).astype(np.float32))
    half = tensor.dequantize(dtype=ml_dtypes.bfloat16)
    np.testing.assert_array_equal(half, operand.values().astype(np.float32).astype(ml_dtypes.bfloat16))


@pytest.mark.parametrize("starts", ["compact", "upper_bound"])
def test_groups_have_scales_of_their_own(rng, starts):
    ends = np.array([3, 3, 140, 150], np.int32)
    x = rng.standard_normal((155, 64)).astype(np.float32)
    x[150:] = np.nan  # of no group
    groups, scales = nvfp4.ragged_rows(ends), np.array([1, 2, 4, 8], np.float32)
    result = nvfp4.quantize(x, layout="blocked", starts=starts, groups=groups, global_scale=scales)
    begins, counts = np.r_[0, ends[:-1]], np.diff(ends, prepend=0)
    bytes_ = np.zeros((155, 4), np.uint8)
    codes = np.zeros((155, 64), np.uint8)
    for begin, count, scale in zip(begins, counts, scales):
        if count:
            part = slice(begin, begin + count)
            codes[part], bytes_[part] = expected_blocks("trtllm", x[part], "nvfp4", scale)
    np.testing.assert_array_equal(unpack(FORMATS["nvfp4"], result.values, 64), codes)
    pieces = row_pieces(starts, "blocked", begins, counts, 4, 155)
    stored = store_scales(bytes_, "blocked", pieces, 0)
    np.testing.assert_array_equal(result.scales.view(np.uint8)[:len(stored)], stored)
    back = nvfp4.dequantize(result, groups=groups, out=np.full((155, 64), 7, np.float32))
    assert (back[150:] == 7).all() and np.isfinite(back).all()
    again = nvfp4.relayout(nvfp4.relayout(result, layout="linear", starts="whole", groups=groups), layout="blocked",
                           starts=starts, groups=groups)
    np.testing.assert_array_equal(nvfp4.dequantize(again, groups=groups)[:150], back[:150])


def test_blocks_along_rows(rng):
    x = rng.standard_normal((48, 10)).astype(np.float32)
    result = nvfp4.quantize(x, axis=-2)
    codes, scales = expected_blocks("trtllm", np.ascontiguousarray(x.T), "nvfp4", 1.0)
    np.testing.assert_array_equal(unpack(FORMATS["nvfp4"], result.values, 10), codes.T)
    np.testing.assert_array_equal(result.scales.view(np.uint8), scales.T)


def test_odd_k_is_kept(rng):
    x = rng.standard_normal((5, 33)).astype(np.float32)
    result = nvfp4.quantize(x, layout="blocked")
    assert result.shape == (5, 33) and result.values.shape == (5, 17)
    assert np.abs(result.dequantize() - x).max() <= np.abs(x).max() / 6 * 1.07
    assert nvfp4.relayout(result, layout="linear").shape == (5, 33)


@pytest.mark.parametrize("fmt", ["nvfp4", "mxfp4", "nvfp4_e8m0"])
@pytest.mark.parametrize("shape", [(64,), (5, 33), (2, 3, 48), (1, 1)])
def test_codes_of_a_byte_each_are_packed(rng, fmt, shape):
    """The even index is in the low nibble, an odd K padded with 0; also where the array has gaps."""
    codes = rng.integers(0, 16, shape).astype(np.uint8)
    scales = np.full((*shape[:-1], -(-shape[-1] // nvfp4.FORMATS[fmt].block)), 1, nvfp4.FORMATS[fmt].scales)
    for array in (codes, np.repeat(codes, 2, -1)[..., ::2]):
        tensor = nvfp4.ScaledTensor(array.view(ml_dtypes.float4_e2m1fn), scales, fmt)
        assert tensor.shape == shape and tensor.values.shape == (*shape[:-1], -(-shape[-1] // 2))
        assert tensor.values.dtype == np.uint8 and tensor.values.flags.c_contiguous
        np.testing.assert_array_equal(unpack(FORMATS[fmt], tensor.values, shape[-1]), codes)
        if shape[-1] % 2:
            assert (tensor.values[..., -1] >> 4 == 0).all()
        np.testing.assert_array_equal(tensor.dequantize(), codes.view(ml_dtypes.float4_e2m1fn).astype(np.float32))


@pytest.mark.parametrize("values,scales,options,message", [
    (ml_dtypes.float4_e2m1fn, np.uint8, {"format": "mxfp8_e4m3"}, "as float8_e4m3fn or bytes, but got float4"),
    (ml_dtypes.float4_e2m1fn, np.uint8, {"shape": (4, 64)}, r"shape \(4, 64\), but got .* of shape \(4, 32\)"),
    (ml_dtypes.int4, np.uint8, {}, "values of nvfp4 as uint8, but got int4; two values of 4 bits are packed in a byte"),
    (ml_dtypes.uint4, np.uint8, {}, "values of nvfp4 as uint8, but got uint4"),
    (ml_dtypes.float8_e4m3fn, np.uint8, {}, "values of nvfp4 as uint8, but got float8_e4m3fn"),
    (np.uint8, ml_dtypes.float4_e2m1fn, {}, "scales of nvfp4 as float8_e4m3fn or bytes, but got float4_e2m1fn"),
    (np.uint8, ml_dtypes.float8_e8m0fnu, {}, "scales of nvfp4 as float8_e4m3fn or bytes, but got float8_e8m0fnu"),
    (ml_dtypes.float8_e5m2, np.uint8, {"format": "mxfp8_e4m3"}, "as float8_e4m3fn or bytes, but got float8_e5m2"),
    (ml_dtypes.float4_e2m1fn, np.uint8, {"layout": "wgmma", "shape": (4, 32)}, "wgmma as uint8, but got float4")])
def test_bytes_of_another_type_are_refused(values, scales, options, message):
    with pytest.raises(nvfp4.ArgumentError, match=message):
        nvfp4.ScaledTensor(np.zeros((4, 32), np.uint8).view(values), np.zeros((4, 4), np.uint8).view(scales), **options)


@pytest.mark.parametrize("call,message", [
    (lambda: nvfp4.quantize(np.ones((2, 32), np.float32), axis=5), "axis 0, 1, -1, -2 for rank 2, but got 5"),
    (lambda: nvfp4.quantize(np.ones((2, 32), np.float32), axis=1.0), "axis 0, 1, -1, -2 for rank 2, but got 1.0"),
    (lambda: nvfp4.quantize(np.ones((3, 32, 32), np.float32), axis=-3), "axis 1, 2, -1, -2 for rank 3, but got -3"),
    (lambda: nvfp4.quantize(np.ones(32, np.float32), axis=-2), "axis 0, -1 for rank 1, but got -2"),
    (lambda: nvfp4.ScaledTensor(np.ones((4, 16), np.uint8), np.ones((4, 2), np.uint8), axis=5), "axis 0, 1, .* got 5"),
    (lambda: nvfp4.grouped_matmul(*[nvfp4.quantize(np.ones((32, 32), np.float32))] * 2, out_format="nvfp4", out_axis=4),
     "axis 0, 1, -1, -2 for rank 2, but got 4")])
def test_axes_of_blocks_are_the_last_two(call, message):
    with pytest.raises(nvfp4.ArgumentError, match=f"expected {message}"):
        call()


def test_destinations_are_written_in_place(rng):
    x = rng.standard_normal((16, 32)).astype(np.float32)
    out = nvfp4.ScaledTensor(np.full((16, 16), 0xAA, np.uint8), np.full((16, 2), 0x7F, np.uint8))
    assert nvfp4.quantize(x, out=out) is out
    fresh = nvfp4.quantize(x)
    np.testing.assert_array_equal(out.values, fresh.values)
    np.testing.assert_array_equal(out.scales.view(np.uint8), fresh.scales.view(np.uint8))
    with pytest.raises(nvfp4.ArgumentError, match="expected out"):
        nvfp4.quantize(x[:8], out=out)


def test_stochastic_rounding_follows_its_seed(rng):
    x = rng.standard_normal((16, 64)).astype(np.float32)
    quantizer = nvfp4.Quantizer("te", rounding="stochastic")
    first, again, other = (nvfp4.quantize(x, quantizer=quantizer, seed=seed).values for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    with pytest.raises(nvfp4.CompileError, match="seed"):
        nvfp4.quantize(x, quantizer=quantizer)


@pytest.mark.parametrize("target", ["cudnn", "gpt-oss", "trtllm-cutlass"])
def test_gates_move_rows_with_their_scales(rng, target):
    operand = random_scaled(rng, (2, 128, 32), "nvfp4")
    gate = nvfp4.GATES[target]
    q = gate.granularity or 64
    c = np.arange(64)
    first = c // q * 2 * q + c % q
    rows = np.empty(128, int)
    rows[first], rows[first + q] = (c, c + 64) if gate.order == "gate_first" else (c + 64, c)
    result = nvfp4.relayout(nvfp4.ScaledTensor(*operand.store()), gate=("vllm", target))
    np.testing.assert_array_equal(result.dequantize(), operand.values()[:, rows].astype(np.float32))
    bias = np.arange(256, dtype=np.float32).reshape(2, 128)
    np.testing.assert_array_equal(nvfp4.relayout(bias, gate=("vllm", target)), bias[:, rows])


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("layout", ["wgmma", "wgmma_f16"])
def test_weights_for_hopper_and_back(rng, fmt, layout):
    weights = nvfp4.ScaledTensor(*random_scaled(rng, (3, 70, 97), fmt).store("linear", None, 0, 0), fmt, (3, 70, 97))
    laid = nvfp4.relayout(weights, layout=layout)
    assert laid.layout == layout and laid.shape == (3, 70, 97)
    assert laid.values.shape == (3, 2, 2, 4352 if fmt.startswith("mxfp8") else 2304)
    np.testing.assert_array_equal(laid.scales, np.full(3, 128, np.float32))
    back = nvfp4.relayout(laid, layout="linear")
    np.testing.assert_array_equal(back.dequantize(), weights.dequantize())
    # By way of linear, from tiles and from one decoder's to the other's.
    tiles = nvfp4.relayout(nvfp4.relayout(laid, layout="blocked"), layout="wgmma")
    np.testing.assert_array_equal(tiles.values, nvfp4.relayout(laid, layout="wgmma").values)
    one = nvfp4.relayout(laid[1], layout="linear")
    np.testing.assert_array_equal(one.dequantize(), weights.dequantize()[1])
    assert laid[1:].shape == (2, 70, 97) and "wgmma" in repr(laid)


def test_weights_for_hopper_that_are_none(rng):
    weights = nvfp4.quantize(rng.standard_normal((64, 128)).astype(np.float32), "mxfp4")
    weights.scales.view(np.uint8)[:2, 0] = 0, 254
    with pytest.raises(nvfp4.DataError, match="within a factor of 2\\^126"):
        nvfp4.relayout(weights, layout="wgmma")
    laid = nvfp4.relayout(nvfp4.quantize(np.ones((64, 128), np.float32)), layout="wgmma")
    code = np.zeros_like(laid.values)
    code[0, 0, 0] = 1  # under a scale of zero
    broken = nvfp4.ScaledTensor(code, laid.scales, "nvfp4", (64, 128), "wgmma")
    with pytest.raises(nvfp4.DataError, match="as relayout_weights lays them out"):
        nvfp4.relayout(broken, layout="linear")
    with pytest.raises(nvfp4.ArgumentError, match="values of shape"):
        nvfp4.ScaledTensor(laid.values, laid.scales, "nvfp4", (64, 129), "wgmma")
    with pytest.raises(nvfp4.ArgumentError, match="scales in layout wgmma as float32"):
        nvfp4.ScaledTensor(laid.values, laid.scales.astype(np.float64), "nvfp4", (64, 128), "wgmma")
    with pytest.raises(nvfp4.ArgumentError, match="last axis"):
        nvfp4.relayout(nvfp4.quantize(np.ones((64, 64), np.float32), axis=0), layout="wgmma")
    with pytest.raises(nvfp4.CompileError, match="another layout than 'wgmma'"):
        laid.dequantize()
    with pytest.raises(nvfp4.CompileError, match="expected target sm_90a for weights in the layout 'wgmma'"):
        nvfp4.grouped_matmul(nvfp4.quantize(np.ones((2, 128), np.float32)), laid)


def test_encode_scales():
    x = np.array([[[1.0, -4.0]], [[0, 0]]], np.float32)
    assert nvfp4.encode_scale(x) == 2688 / 4
    np.testing.assert_array_equal(nvfp4.encode_scale(x, by_expert=True), [672, 1])


@pytest.mark.parametrize("build,message", [
    (lambda: nvfp4.ScaledTensor(np.zeros((4, 8), np.uint8), np.zeros((4, 2), np.uint8)), r"\(4, 1\).*\(4, 2\)"),
    (lambda: nvfp4.ScaledTensor(np.zeros((4, 8), np.float32), np.zeros((4, 1), np.uint8)), "float32"),
    (lambda: nvfp4.ScaledTensor(np.zeros((4, 8), np.uint8), np.zeros((4, 1), np.uint8), "fp5"), "mxfp4"),
    (lambda: nvfp4.ScaledTensor(np.zeros((4, 8), np.uint8), np.zeros((4, 1), np.uint8), shape=(4, 18)), "values of shape"),
    (lambda: nvfp4.quantize(np.zeros((2, 2, 2, 2), np.float32)), "rank"),
    (lambda: nvfp4.quantize(np.zeros((2, 2), np.int32)), "int32"),
    (lambda: nvfp4.Quantizer("best"), "four_over_six"),
    (lambda: nvfp4.Quantizer(rounding="up"), "rounding nearest, stochastic, but got 'up'"),
    (lambda: nvfp4.Quantizer(neg_zero="drop"), "neg_zero keep, flush, but got 'drop'"),
    (lambda: nvfp4.ragged_rows(), "one of ends="),
    (lambda: nvfp4.ragged_rows(np.zeros(3, np.float32)), "float32"),
    (lambda: nvfp4.relayout(np.zeros(4, np.float32), layout="blocked"), "gate")])
def test_wrong_arguments_say_what_was_expected(build, message):
    with pytest.raises(nvfp4.ArgumentError, match=message):
        build()


def test_the_dialect_refuses_with_its_words():
    with pytest.raises(nvfp4.CompileError, match="UE4M3"):
        nvfp4.quantize(np.zeros((4, 32), np.float32), "mxfp4", quantizer="modelopt")


def test_layouts_that_are_none_are_told_of_all(rng):
    x = nvfp4.quantize(rng.standard_normal((64, 64)).astype(np.float32))
    for name, found in (("layout", "linear, blocked, blocked_8x4, wgmma, wgmma_f16"), ("starts", "whole, compact, upper_bound")):
        with pytest.raises(nvfp4.ArgumentError, match=f"^expected {name} {found}, but got 'swizzled'$"):
            nvfp4.relayout(x, **{name: "swizzled"})


@pytest.mark.parametrize("fmt,k", [("nvfp4", 48), ("mxfp8_e4m3", 96), ("nvfp4", 33)])
def test_rows_of_a_matrix_are_a_slice_on_the_same_memory(rng, fmt, k):
    x = nvfp4.quantize(rng.standard_normal((10, k)).astype(np.float32), fmt)
    rows = x[2:7]
    assert rows.shape == (5, k) and np.shares_memory(rows.values, x.values) and np.shares_memory(rows.scales, x.scales)
    np.testing.assert_array_equal(rows.dequantize(), x.dequantize()[2:7])
    np.testing.assert_array_equal(x[::3].dequantize(), x.dequantize()[::3])
    assert x[4:4].shape == (0, k)


def test_slices_of_rows_keep_where_scales_start():
    x = nvfp4.ScaledTensor(np.zeros((4, 12), np.uint8), np.zeros((4, 2), np.uint8), shape=(4, 23), starts="compact")
    assert x[1:3].starts == "compact" and x[1:3].shape == (2, 23)


def test_what_cannot_be_sliced_says_what_can(rng):
    x = nvfp4.quantize(rng.standard_normal((128, 64)).astype(np.float32))
    for bad in (lambda: x[3], lambda: x[:, :32], lambda: nvfp4.relayout(x, layout="blocked")[:8]):
        with pytest.raises(nvfp4.ArgumentError, match="a slice of rows of a matrix with linear scales"):
            bad()


def test_tensors_compare_and_describe_themselves(rng):
    x = rng.standard_normal((6, 32)).astype(np.float32)
    q, again = nvfp4.quantize(x), nvfp4.quantize(x)
    assert q == again and not q != again and len(q) == 6 and q.nbytes == 6 * 16 + 6 * 2
    assert q.dtype == ml_dtypes.float4_e2m1fn and nvfp4.quantize(x, "mxfp8_e4m3").dtype == ml_dtypes.float8_e4m3fn
    again.values[0, 0] ^= 1
    assert q != again and q != nvfp4.quantize(x, layout="blocked") and q != nvfp4.quantize(x, "nvfp4_e8m0") and q != x.tolist()
    with pytest.raises(TypeError, match="unhashable"):
        hash(q)
