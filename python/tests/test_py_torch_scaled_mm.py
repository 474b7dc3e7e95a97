# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch.nn.functional.scaled_mm and scaled_grouped_mm with FP4 and MX recipes on the CPU, against float64."""

import numpy as np
import pytest

import nvfp4

torch = pytest.importorskip("torch")
F = torch.nn.functional
if not hasattr(F, "scaled_grouped_mm"):
    pytest.skip("needs torch with scaled_grouped_mm", allow_module_level=True)
from torch.nn.functional import ScalingType, SwizzleType  # noqa: E402

FORMATS = {"nvfp4": (torch.float4_e2m1fn_x2, torch.float8_e4m3fn, ScalingType.BlockWise1x16),
           "mxfp4": (torch.float4_e2m1fn_x2, torch.float8_e8m0fnu, ScalingType.BlockWise1x32),
           "mxfp8_e4m3": (torch.float8_e4m3fn, torch.float8_e8m0fnu, ScalingType.BlockWise1x32),
           "mxfp8_e5m2": (torch.float8_e5m2, torch.float8_e8m0fnu, ScalingType.BlockWise1x32)}
SWIZZLES = [SwizzleType.NO_SWIZZLE, SwizzleType.SWIZZLE_32_4_4]


@pytest.fixture(autouse=True)
def enabled():
    with nvfp4.torch.enable_scaled_mm() as handle:
        yield handle


def swizzled(scales):
    """Rows of tiles of 128 x 4: byte 16 (r % 32) + 4 (r // 32) + c, padding of NaN."""
    rows, columns = scales.shape
    out = np.full((-(-rows // 128) * 128, -(-columns // 4) * 4), 0x7F, np.uint8)
    out[:rows, :columns] = scales
    tiles = out.reshape(out.shape[0] // 128, 4, 32, out.shape[1] // 4, 4).transpose(0, 3, 2, 1, 4)
    return tiles.reshape(-1)


def quantised(rng, shape, form):
    """(numbers, values, scales) of a random tensor; numbers are those of the codes."""
    q = nvfp4.quantize(rng.standard_normal(shape).astype(np.float32) * 3, form)
    kind, scale_type, _ = FORMATS[form]
    values = torch.from_numpy(q.values.view(np.uint8).copy()).view(kind)
    return nvfp4.dequantize(q).astype(np.float64), values, q.scales.view(np.uint8), scale_type


def to_torch(scales, scale_type):
    return torch.from_numpy(np.ascontiguousarray(scales)).view(scale_type)


def place(scales, scale_type, swizzle, ranges=None):
    """Scales of a matrix as torch takes them; groups of rows begin with a tile each."""
    if swizzle == SwizzleType.NO_SWIZZLE:
        return to_torch(scales, scale_type)
    parts = [swizzled(scales[begin:end]) for begin, end in ranges or [(0, len(scales))]]
    return to_torch(np.concatenate(parts), scale_type)


def check(got, wanted, dtype, k):
    assert got.dtype == dtype and tuple(got.shape) == wanted.shape
    epsilon = {torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11, torch.float32: 2.0**-21}[dtype]
    found = got.double().numpy()
    assert np.all(np.abs(found - wanted) <= epsilon * np.abs(wanted) + k * 2.0**-18)


@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("swizzle", SWIZZLES)
@pytest.mark.parametrize("form, sizes, dtype", [("nvfp4", (37, 48, 96), torch.bfloat16), ("nvfp4", (130, 130, 208), torch.float32),
                                                ("mxfp4", (5, 64, 160), torch.float16), ("mxfp8_e4m3", (129, 16, 64), torch.bfloat16),
                                                ("mxfp8_e5m2", (1, 33, 32), torch.float32)])
def test_scaled_mm(rng, form, sizes, dtype, swizzle, has_bias):
    m, n, k = sizes
    x, a, a_scales, scale_type = quantised(rng, (m, k), form)
    w, b, b_scales, _ = quantised(rng, (n, k), form)
    recipe, factor, wanted = [FORMATS[form][2]], [], x @ w.T
    if form == "nvfp4":
        recipe, factor, wanted = [*recipe, ScalingType.TensorWise], [torch.tensor(0.5), torch.tensor(3.0)], wanted * 1.5
    bias = torch.from_numpy(rng.standard_normal(n).astype(np.float32)).to(dtype) if has_bias else None
    if has_bias:
        wanted = wanted + bias.double().numpy()
    got = F.scaled_mm(a, b.t(), [place(a_scales, scale_type, swizzle), *factor[:1]], recipe,
                      [place(b_scales, scale_type, swizzle), *factor[1:]], recipe, swizzle_a=swizzle, swizzle_b=swizzle, bias=bias,
                      output_dtype=dtype)
    check(got, wanted, dtype, k)


@pytest.mark.parametrize("swizzle", SWIZZLES)
@pytest.mark.parametrize("form, sizes, dtype", [("nvfp4", [0, 5, 130, 1, 0], torch.bfloat16), ("nvfp4", [128, 256], torch.float32),
                                                ("mxfp4", [3], torch.bfloat16), ("mxfp8_e4m3", [40, 0, 88], torch.float16)])
def test_scaled_grouped_mm(rng, form, sizes, dtype, swizzle):
    n, k = 48, 96
    ends = np.cumsum(sizes).astype(np.int32)
    ranges = list(zip([0, *ends[:-1]], ends))
    x, a, a_scales, scale_type = quantised(rng, (int(ends[-1]), k), form)
    w, b, b_scales, _ = quantised(rng, (len(sizes), n, k), form)
    b_scales = torch.stack([place(each, scale_type, swizzle).view(torch.uint8) for each in b_scales]).view(scale_type)
    recipe, factor = [FORMATS[form][2]], np.ones(len(sizes))
    scale_a, scale_b = [place(a_scales, scale_type, swizzle, ranges)], [b_scales]
    if form == "nvfp4":
        recipe = [*recipe, ScalingType.TensorWise]
        factors = [torch.from_numpy(2.0 ** rng.integers(-2, 3, len(sizes))).float() for _ in range(2)]
        scale_a, scale_b, factor = [*scale_a, factors[0]], [*scale_b, factors[1]], (factors[0] * factors[1]).double().numpy()
    wanted = np.concatenate([factor[g] * x[begin:end] @ w[g].T for g, (begin, end) in enumerate(ranges)])
    arguments = scale_a, recipe, scale_b, recipe
    options = dict(swizzle_a=swizzle, swizzle_b=swizzle, offs=torch.from_numpy(ends), output_dtype=dtype)
    got = F.scaled_grouped_mm(a, b.transpose(-2, -1), *arguments, **options, contraction_dim=(-1, -2))
    check(got, wanted, dtype, k)


@pytest.mark.parametrize("swizzle", SWIZZLES)
def test_stacks(rng, swizzle):
    x, a, a_scales, scale_type = quantised(rng, (3, 20, 64), "nvfp4")
    w, b, b_scales, _ = quantised(rng, (3, 32, 64), "nvfp4")
    stacked = [torch.stack([place(each, scale_type, swizzle).view(torch.uint8) for each in scales]).view(scale_type)
               for scales in (a_scales, b_scales)]
    got = F.scaled_grouped_mm(a, b.transpose(1, 2), stacked[0], ScalingType.BlockWise1x16, stacked[1], ScalingType.BlockWise1x16,
                              swizzle_a=swizzle, swizzle_b=swizzle)
    check(got, x @ w.transpose(0, 2, 1), torch.bfloat16, 64)


def test_compiled(rng):
    """torch.compile leaves the call to torch 2.11 as it is, in a graph of its own."""
    x, a, a_scales, scale_type = quantised(rng, (16, 64), "mxfp8_e4m3")
    w, b, b_scales, _ = quantised(rng, (32, 64), "mxfp8_e4m3")
    scales = [to_torch(each, scale_type) for each in (a_scales, b_scales)]

    def product(a, b, first, second):
        return F.scaled_mm(a, b.t(), first, ScalingType.BlockWise1x32, second, ScalingType.BlockWise1x32,
                           output_dtype=torch.bfloat16) * 2
    wanted = product(a, b, *scales)
    assert torch.equal(torch.compile(product, backend="aot_eager")(a, b, *scales), wanted)
    check(wanted, 2 * x @ w.T, torch.bfloat16, 64)


def operands(rng):
    _, a, a_scales, scale_type = quantised(rng, (16, 64), "nvfp4")
    _, b, b_scales, _ = quantised(rng, (2, 32, 64), "nvfp4")
    return a, b, to_torch(a_scales, scale_type), to_torch(b_scales, scale_type)


BY_16 = ScalingType.BlockWise1x16
OFFS = torch.tensor([3, 16], dtype=torch.int32)


@pytest.mark.parametrize("call, message", [
    (lambda a, b, s, t: F.scaled_grouped_mm(a, b.transpose(1, 2), s, BY_16, t, BY_16), "expected offs with mat_a of two dimensions"),
    (lambda a, b, s, t: F.scaled_grouped_mm(a, b.transpose(1, 2), s, BY_16, t, BY_16, offs=OFFS.long()), "expected offs of torch.int32"),
    (lambda a, b, s, t: F.scaled_grouped_mm(a, b.transpose(1, 2), s, BY_16, t, BY_16, offs=OFFS, bias=torch.ones(2, 32)), "expected no bias"),
    (lambda a, b, s, t: F.scaled_grouped_mm(a, b.transpose(1, 2), s[:8], BY_16, t, BY_16, offs=OFFS), "expected 64 scales of mat_a, as 16x4, but got 32"),
    (lambda a, b, s, t: F.scaled_grouped_mm(a, b.transpose(1, 2), s, BY_16, t, BY_16, offs=OFFS, contraction_dim=(0, 1)), "contraction_dim"),
    (lambda a, b, s, t: F.scaled_grouped_mm(a, b.transpose(1, 2), s, BY_16, t, BY_16, offs=OFFS, output_dtype=torch.float64), "expected output_dtype"),
    (lambda a, b, s, t: F.scaled_grouped_mm(a, b.transpose(1, 2), s, BY_16, t, BY_16, offs=OFFS, swizzle_a=SwizzleType.NO_SWIZZLE,
                                            swizzle_b=SwizzleType.SWIZZLE_32_4_4), "scales of mat_b|one format and swizzle"),
    (lambda a, b, s, t: F.scaled_mm(a, b[0].t(), s.view(torch.uint8).view(torch.float8_e8m0fnu), BY_16, t[0], BY_16), "expected scales of mat_a of torch.float8_e4m3fn"),
    (lambda a, b, s, t: F.scaled_mm(a, b[0].t(), [s, s], [BY_16, BY_16], t[0], BY_16), "as many scales of mat_a as recipes"),
    (lambda a, b, s, t: F.scaled_mm(a[:, :16], b[0].t(), s, BY_16, t[0], BY_16), r"expected matrices \[M, K\]"),
])
def test_refusals(rng, call, message):
    with pytest.raises((ValueError, RuntimeError), match=message):
        call(*operands(rng))


def test_offsets_that_decrease_are_refused(rng):
    a, b, s, t = operands(rng)
    with pytest.raises(nvfp4.NVFP4Error, match="ends"):
        F.scaled_grouped_mm(a, b.transpose(1, 2), s, BY_16, t, BY_16, offs=torch.tensor([9, 3], dtype=torch.int32))


def test_other_recipes_are_torchs(rng):
    """One factor for a tensor of FP8 goes to the kernel that torch has, as before; FP4 does again when nobody holds ours."""
    a, b = (torch.randn(16, 32).to(torch.float8_e4m3fn) for _ in range(2))
    one, kind = torch.ones(()), ScalingType.TensorWise

    def result():
        try:
            return F.scaled_mm(a, b.t(), one, kind, one, kind, output_dtype=torch.bfloat16)
        except (NotImplementedError, RuntimeError, ValueError) as error:
            return type(error)
    first, second = result(), nvfp4.torch.enable_scaled_mm()
    again = result()
    second.disable()
    second.disable()
    assert torch.equal(first, again) if isinstance(first, torch.Tensor) else first == again
    values, wide, s, t = operands(rng)
    F.scaled_mm(values, wide[0].t(), s, BY_16, t[0], BY_16)  # the one of the fixture is still held


def test_disabled(enabled):
    """torch's own answer, for which it needs another machine."""
    x, a, a_scales, scale_type = quantised(np.random.default_rng(1), (16, 64), "nvfp4")
    scales = to_torch(a_scales, scale_type)
    enabled.disable()
    with pytest.raises((NotImplementedError, RuntimeError, ValueError)):
        F.scaled_mm(a, a.t(), scales, BY_16, scales, BY_16)
