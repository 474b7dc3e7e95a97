# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches in place give what calls give, and programs on disk are those that were compiled."""

import ml_dtypes
import numpy as np
import pytest

import nvfp4
from nvfp4 import _device_programs
from nvfp4._launcher import Launcher

TEXT = """!w = !grouped_scaled_gemm.scaled<64x128, nvfp4, wgmma>
func.func @f(%x: tensor<?x128xbf16>, %a: f32, %w: !w) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x128xbf16>
  %e = tensor.empty(%n) : tensor<?x64xf32>
  %y = grouped_scaled_gemm.matmul <dense> lhs(%x : tensor<?x128xbf16>) rhs(%w : !w) alpha(%a : f32)
      outs(%e : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}"""


@pytest.fixture
def weights(rng):
    return nvfp4.quantize(rng.standard_normal((64, 128)).astype(np.float32))


def launch(launcher, x, packed, key=None):
    """The rows of one launch, in memory that was used before."""
    placed = [nvfp4.DeviceArray.of(each, "sim") for each in (x, packed.values, packed.scales)]
    out = nvfp4.DeviceArray.of(np.full((len(x), 64), np.nan, np.float32), "sim")
    for operand, array in zip((*launcher.arguments, *launcher.results), (*placed, out)):
        operand.place(array.address, array.shape)
    size = launcher.workspace(len(x) if key is None else key)
    room = nvfp4.DeviceArray.of(np.full(size + 1, 127, np.uint8), "sim")
    launcher.launch(room.address, size, 0)
    return out.numpy()


def test_operands_change_in_place(rng, weights):
    packed = nvfp4.relayout(weights, layout="wgmma")
    launcher = Launcher(_device_programs.device_function(TEXT, "sm_90a", "sim"), {1: 0.5})
    for rows in (3, 70, 0, 3):
        x = rng.standard_normal((rows, 128)).astype(ml_dtypes.bfloat16)
        wanted = x.astype(float) @ weights.dequantize().astype(float).T / 2
        np.testing.assert_allclose(launch(launcher, x, packed), wanted, rtol=1e-4, atol=1e-3)


def test_shapes_are_checked_at_the_launch(rng, weights):
    packed = nvfp4.relayout(weights, layout="wgmma")
    launcher = Launcher(_device_programs.device_function(TEXT, "sm_90a", "sim"), {1: 0.5})
    launch(launcher, np.zeros((4, 128), ml_dtypes.bfloat16), packed)
    for shape in ((4, 64), (4,), (2, 2, 128)):
        with pytest.raises(nvfp4.NVFP4Error, match="argument 0 of 'f'.*(shape|rank|dimension)"):
            launch(launcher, np.zeros(shape, ml_dtypes.bfloat16), packed, 4)


def test_programs_are_kept_in_a_folder(rng, weights, tmp_path, monkeypatch):
    monkeypatch.setenv("NVFP4_CACHE_DIR", str(tmp_path / "new"))
    packed, x = nvfp4.relayout(weights, layout="wgmma"), rng.standard_normal((5, 128)).astype(ml_dtypes.bfloat16)
    path = _device_programs.cached_path(TEXT, "sm_90a")
    assert path not in (_device_programs.cached_path(TEXT, "sm_100a"), _device_programs.cached_path(TEXT + " ", "sm_90a"))
    results = []
    for content in (None, "kept", b"cut off"):
        nvfp4.cache_clear()
        if isinstance(content, bytes):
            path.write_bytes(content)
        if content == "kept":
            # Nothing is compiled.
            monkeypatch.setattr(_device_programs, "Program", None)
        results.append(launch(Launcher(_device_programs.device_function(TEXT, "sm_90a", "sim"), {1: 1.0}), x, packed))
        monkeypatch.setattr(_device_programs, "Program", nvfp4.Program)
        assert [each.name for each in path.parent.iterdir()] == [path.name] and path.stat().st_size > 1000
    assert results[0].tobytes() == results[1].tobytes() == results[2].tobytes()
    nvfp4.cache_clear()
