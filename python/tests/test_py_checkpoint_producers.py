# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MXFP4 layers as the producers' own packages compress them, and as they decompress what is written here. Each test is
skipped where its package is not installed."""

import numpy as np
import pytest

import nvfp4
from nvfp4 import checkpoint

torch = pytest.importorskip("torch")


def weight_of(rng):
    weight = rng.standard_normal((48, 96)) * np.exp2(rng.integers(-20, 20, (48, 1)))
    weight[3, 32:64] = 0
    return torch.from_numpy(weight.astype(np.float32)).bfloat16()


def test_compressed_tensors(rng, tmp_path):
    pytest.importorskip("compressed_tensors")
    from compressed_tensors.compressors.mxfp4.base import MXFP4PackedCompressor
    from compressed_tensors.quantization import preset_name_to_scheme
    from compressed_tensors.quantization.utils import calculate_qparams
    scheme, weight = preset_name_to_scheme("MXFP4A16", ["Linear"]), weight_of(rng)
    blocks = weight.reshape(48, 3, 32)
    scale, _ = calculate_qparams(blocks.amin(-1), blocks.amax(-1), scheme.weights)
    packed = MXFP4PackedCompressor.compress({"weight": weight, "weight_scale": scale}, scheme)
    layer = checkpoint.load_linear({f"q.{name}": tensor for name, tensor in packed.items()}, "q")
    theirs = MXFP4PackedCompressor.decompress(packed, scheme)["weight"].double().numpy()
    np.testing.assert_array_equal(layer.weight.dequantize().astype(float), theirs)
    assert np.abs(theirs - weight.double().numpy()).max() < np.abs(theirs).max() / 4
    # The other way.
    checkpoint.save_linear(tmp_path / "w.safetensors", {"q": layer}, convention="compressed-tensors")
    written = checkpoint.Checkpoint(tmp_path / "w.safetensors")
    state = {name.removeprefix("q."): torch.from_numpy(array.copy()) for name, array in written.items()}
    np.testing.assert_array_equal(MXFP4PackedCompressor.decompress(state, scheme)["weight"].double().numpy(), theirs)


def test_modelopt(rng, tmp_path):
    pytest.importorskip("modelopt")
    from modelopt.torch.quantization.qtensor import MXFP4QTensor
    weight = weight_of(rng)
    packed, scale = MXFP4QTensor.quantize(weight, 32)

    def decompress(values, scales):
        tensor = MXFP4QTensor(weight.shape, torch.float32, values)
        return tensor.dequantize(scale=scales, block_sizes={-1: 32}).double().numpy()

    theirs = decompress(packed._quantized_data, scale)
    layer = checkpoint.load_linear({"q.weight": packed._quantized_data, "q.weight_scale": scale.reshape(48, 3)}, "q")
    np.testing.assert_array_equal(layer.weight.dequantize().astype(float), theirs)
    checkpoint.save_linear(tmp_path / "w.safetensors", {"q": layer})
    written = checkpoint.Checkpoint(tmp_path / "w.safetensors")
    state = [torch.from_numpy(written[f"q.{name}"].copy()) for name in ("weight", "weight_scale")]
    np.testing.assert_array_equal(decompress(*state), theirs)
    # Its rule for scales is one of the quantisers here.
    ours = nvfp4.quantize(weight, "mxfp4", quantizer="ue8m0_up")
    nonzero = (weight.reshape(48, 3, 32) != 0).any(-1).numpy()
    np.testing.assert_array_equal(ours.scales.view(np.uint8)[nonzero], scale.reshape(48, 3).numpy()[nonzero])
