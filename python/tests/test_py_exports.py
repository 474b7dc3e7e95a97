# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers that JAX and torch exported become products, and compute what the layers say: within a bound on the error of
any order of sums, and to the bit where every sum is exact. What JAX exports now is tested where it is installed, and is
compared with what JAX itself computes."""

import pathlib
import re
import sys

import numpy as np
import nvfp4
import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "test" / "Conversion" / "StablehloToLinalg" / "Inputs"
sys.path.insert(0, str(FOLDER))

import layer_inputs  # noqa: E402

PIPELINE = "builtin.module(stablehlo-to-gsg{move-global-scales})"
# How the products of a layer are grouped.
GROUPING = {
    "jax_mixtral": ["ragged_rows"] * 2, "cuda_mixtral": ["ragged_rows"] * 2, "jax_qwen3": ["ragged_rows"] * 2,
    "jax_all_experts": ["batched"] * 2, "jax_gpt_oss": ["ragged_rows"] * 2, "jax_ragged": ["ragged_rows"],
    "jax_linear": ["dense"], "torch_mixtral": ["ragged_rows"] * 2, "torch_gpt_oss": ["batched"] * 2}


# Layers whose SwiGLU the first product computes as it goes.
FUSED = GROUPING.keys() - {"jax_ragged", "jax_linear"}


def test_every_exported_file_is_tested():
    assert {path.stem for path in FOLDER.glob("*.mlir")} == GROUPING.keys()


def compile_layer(name, text):
    program = nvfp4.compile(text, pipeline=PIPELINE)
    assert re.findall(r"grouped_scaled_gemm\.matmul <(\w+)", program.ir()) == GROUPING[name]
    activations = re.findall(r"matmul <.* activation = <(\w+)", program.ir("gsg-fuse-epilogue"))
    assert activations == ["swiglu"] * (name in FUSED)
    assert program.ir().count(" bias(") == 2 * name.endswith("gpt_oss")
    return program


def run(program, given):
    return np.asarray(program.run(*(a.view(np.int8) if a.dtype == np.uint8 else a for a in given)))


def check(name, program, seed, other=None):
    given = layer_inputs.arguments(name, np.random.default_rng(seed))
    got = run(program, given).astype(np.float64)
    want, bound = layer_inputs.reference(name, given)
    assert (np.abs(got - want.astype(np.float64)) <= bound).all()
    if other:
        assert (np.abs(got - np.asarray(other(*given)).astype(np.float64)) <= 2 * bound).all()
    # A bound that allows anything would prove nothing.
    assert np.max(bound) <= 2.0**-6 * np.abs(want).max()


@pytest.mark.parametrize("name", GROUPING)
def test_exported_file(name):
    program = compile_layer(name, (FOLDER / f"{name}.mlir").read_text())
    for seed in range(3):
        check(name, program, seed)


@pytest.mark.parametrize("name", [name for name in GROUPING if not name.startswith("torch")])
def test_what_jax_exports(name):
    jax = pytest.importorskip("jax")
    jax_layers = __import__("jax_layers")
    program = compile_layer(name, jax_layers.export(name))
    for seed in range(3):
        check(name, program, seed, jax.jit(jax_layers.LAYERS[name]))


def test_the_document_runs(capsys):
    pytest.importorskip("jax")
    text = (FOLDER.parents[3] / "docs" / "Embedding.md").read_text()
    code, output = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL).groups()
    exec(code, {})
    assert capsys.readouterr().out == output


def test_what_no_pass_converts_is_refused_by_name():
    with pytest.raises(nvfp4.CompileError, match=r"but got stablehlo\.fft"):
        nvfp4.compile("""func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.fft"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}""", pipeline=PIPELINE)


def test_what_a_pipeline_leaves_is_refused():
    with pytest.raises(nvfp4.CompileError, match=r"stablehlo\.abs"):
        nvfp4.compile("""func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.abs"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}""", pipeline="builtin.module(canonicalize)")
