# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The layers of published models (examples/moe_layer/models), made smaller: each stage against float64 on every target."""

import dataclasses
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import nvfp4

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "moe_layer"
sys.path.append(str(EXAMPLE))

from models.check import Checks, Mismatch  # noqa: E402
from models.run import Layer, get_model  # noqa: E402
from models.sizes import MODELS  # noqa: E402
from models.weights import bytes_needed, bytes_of_weights, check_memory, draw_weights  # noqa: E402

# Experts, hidden size and width, in about the proportions of the models.
SLICES = {"gpt-oss-20b": (8, 192, 192), "gpt-oss-120b": (24, 96, 96), "qwen3-30b-a3b": (16, 256, 96),
          "qwen3-235b-a22b": (32, 256, 96), "mixtral-8x7b": (8, 128, 448), "deepseek-v3": (32, 256, 64)}
# Each method of routing, activation, bias and shared expert once.
KINDS = ["gpt-oss-20b", "qwen3-30b-a3b", "mixtral-8x7b", "deepseek-v3"]


def make(name, tokens, target="cpu", on_device=False, rows=None):
    return Layer(nvfp4, name, get_model(name, rows, **dict(zip(("experts", "hidden", "width"), SLICES[name]))), tokens, target,
                 on_device, repeats=1)


def check(layer):
    """Every stage ran, and its result is right."""
    stages = [stage for stage, *_ in layer.run()]
    assert stages[-1] == "layer" and ("shared" in stages) == bool(layer.model.shared)
    assert np.abs(layer.arrays["layer"].astype(np.float32) - layer.arrays["x"].astype(np.float32)).max() > 0.1


@pytest.mark.parametrize("tokens", [1, 16, 257])
@pytest.mark.parametrize("name", MODELS)
def test_on_the_cpu(name, tokens):
    check(make(name, tokens))


@pytest.mark.parametrize("target", ["sm_90a+sim", "sm_100a+sim"])
@pytest.mark.parametrize("tokens", [1, 16, 257])
@pytest.mark.parametrize("name", KINDS)
def test_as_kernels(name, tokens, target):
    """Every operation on memory of the device."""
    check(make(name, tokens, target, on_device=True))


@pytest.mark.parametrize("name, target", [("gpt-oss-20b", "sm_90a+sim"), ("deepseek-v3", "sm_100a+sim")])
def test_products_as_kernels(name, target):
    """Beside code of the CPU for all else."""
    check(make(name, 16, target))


def results_of(name):
    plain = {"gate_up": ["glu"], "gather": ["rows"]}
    scaled = {"gate_up": ["glu.values", "glu.scales"], "gather": ["rows.values", "rows.scales"], "shared": ["shared"]}
    return {"norm": ["normed"], "router": ["logits"], "route": ["weights", "experts"],
            "sort": ["ends", "token_of_row", "row_of_slot"], "down": ["y"], "combine": ["routed"], "add": ["result"],
            "layer": ["layer"], **(plain if name.startswith("gpt-oss") else scaled)}


@pytest.mark.parametrize("target", ["cpu", "sm_90a+sim", "sm_100a+sim"])
def test_rows_of_bf16(target):
    """NVFP4 weights beside rows that are not quantised, with a shared expert."""
    layer = make("deepseek-v3", 16, target, target != "cpu", rows="bf16")
    check(layer)
    assert "quantize" not in layer.program.text


@pytest.mark.parametrize("name", ["gpt-oss-20b", "deepseek-v3"])
def test_checks_find_what_is_wrong(rng, name):
    """Two of the highest bits of a few numbers of one result, and nothing else, are enough for its check to fail."""
    layer = make(name, 16)
    check(layer)
    for stage, names in results_of(name).items():
        assert names == layer.text.outputs(stage)
        for result in names:
            array = layer.arrays[result]
            wrong = array.copy().reshape(-1)
            unsigned = wrong.view(f"u{wrong.itemsize}")
            places = rng.choice(unsigned.size, min(8, unsigned.size), replace=False)
            unsigned[places] ^= np.array(3 << (8 * wrong.itemsize - 4), unsigned.dtype)
            with pytest.raises(Mismatch):
                getattr(Checks(layer.model, {**layer.arrays, result: wrong.reshape(array.shape)}), stage)()
            getattr(Checks(layer.model, layer.arrays), stage)()


def test_clamps_are_reached():
    """Some gates of gpt-oss are above its limit: without one, other numbers would be right."""
    layer = make("gpt-oss-20b", 16)
    check(layer)
    with pytest.raises(Mismatch, match="glu"):
        Checks(dataclasses.replace(layer.model, limit=float("inf")), layer.arrays).gate_up()


def check_routing(logits, experts):
    """The check of the stage `route` on one token, whose weights are those of its experts."""
    model = get_model("deepseek-v3", experts=32)
    logits, experts = np.array([logits], np.float32), np.array([experts], np.int32)
    arrays = {"x": logits, "logits": logits, "experts": experts, "correction": np.zeros(32, np.float32)}
    factors, _ = Checks(model, arrays)._factors(np.take_along_axis(logits.astype(np.float64), experts.clip(0, 31), 1))
    return Checks(model, {**arrays, "weights": factors.astype(np.float32)}).route()[1]


def test_ties_of_experts():
    """Experts 7 and 8 have one score. Either may be chosen, but a tie excuses no other choice."""
    logits = -0.1 * np.arange(32)
    logits[8] = logits[7]
    for last in (7, 8):
        assert check_routing(logits, [*range(7), last]) == "top-8 equal, 1 ties"
    for wrong, message in (([0, 1, 2, 3, 4, 5, 6, 9], "expert 9 of token 0 in slot 7: got score .*, expected at least"),
                           ([9, 1, 2, 3, 4, 5, 6, 7], "expert 9 of token 0 in slot 0"),
                           ([1, 0, 2, 3, 4, 5, 6, 7], "expert 1 of token 0 in slot 0"),
                           ([0, 1, 2, 3, 4, 5, 7, 7], "experts of token 0 are not distinct"),
                           ([0, 1, 2, 3, 4, 5, 6, 31], r"in groups \[0 1 7\], expected 4 groups of the best sums"),
                           ([0, 1, 2, 3, 4, 5, 6, 32], r"experts are out of \[0, 32\)")):
        with pytest.raises(Mismatch, match=message):
            check_routing(logits, wrong)


def test_ties_of_groups():
    """Groups 3 and 4 of 4 experts have one sum, of the two best experts that each group has. Either is chosen, but not a part of both."""
    logits = np.full(32, -4.0)
    for group in range(8):
        logits[4 * group:4 * group + 2] = 1 - 0.2 * group
    logits[16:18] = logits[12:14]
    best = [0, 1, 4, 5, 8, 9]
    for last in ([12, 13], [16, 17]):
        assert check_routing(logits, best + last) == "top-8 equal, 1 ties"
    for wrong, message in ((best + [12, 16], r"in groups \[0 1 2 3 4\], expected 4 groups"),
                           (best + [20, 21], r"in groups \[0 1 2 5\], expected 4 groups"),
                           ([0, 1, 4, 5, 12, 13, 16, 17], "expert 12 of token 0 in slot 4"),
                           (best + [12, 14], "expert 14 of token 0 in slot 7")):
        with pytest.raises(Mismatch, match=message):
            check_routing(logits, wrong)


def test_sizes_of_weights():
    """The experts of all layers have most of the parameters, in billions, that the models are published with."""
    models = {"gpt-oss-20b": (24, 20.9, 4.25), "gpt-oss-120b": (36, 116.8, 4.25), "qwen3-30b-a3b": (48, 30.5, 4.5),
              "qwen3-235b-a22b": (94, 235.1, 4.5), "mixtral-8x7b": (32, 46.7, 4.5), "deepseek-v3": (58, 671.0, 4.5)}
    assert models.keys() == MODELS.keys()
    for name, (layers, billions, bits) in models.items():
        assert 0.9 < bytes_of_weights(MODELS[name]) * layers * 8 / bits / 1e9 / billions < 0.985, name


def test_drawn_bytes_are_those_of_weights():
    model = get_model("deepseek-v3", experts=16, hidden=256, width=128)
    layer = draw_weights(model)
    assert sum(layer[f"{name}.{part}"].nbytes for name in ("w13", "w2") for part in ("values", "scales")) == bytes_of_weights(model)


@pytest.mark.parametrize("options, message", [
    (dict(experts=7), "expected --experts of at least 16, divisible by 8, for 8 experts of a token, but got 7; the nearest is 16"),
    (dict(experts=20), "divisible by 8, for 8 experts of a token, but got 20; the nearest is 16"),
    (dict(experts=257), r"expected --experts in \[1, 256\], but got 257"),
    (dict(rows="mxfp4"), "expected --rows bf16 or nvfp4, but got mxfp4"),
    (dict(hidden=100), "expected --hidden divisible by 32, but got 100; the nearest is 96"),
    (dict(width=0), r"expected --width in \[1, 2048\], but got 0")])
def test_slices_that_do_not_fit(options, message):
    with pytest.raises(SystemExit, match="deepseek-v3: .*" + message):
        get_model("deepseek-v3", **options)


def test_memory_that_is_not_there():
    """The message has the bytes, and a slice that fits does."""
    model = MODELS["deepseek-v3"]
    needed, on_gpu = bytes_needed(model, 16384, True)
    assert bytes_of_weights(model, True) < on_gpu < needed
    check_memory("deepseek-v3", model, 16384, True, (needed, on_gpu))
    with pytest.raises(SystemExit, match=f"needs {needed:,} bytes of memory, but {needed - 1:,} are free; take a slice, "
                                         "--experts 248 at most"):
        check_memory("deepseek-v3", model, 16384, True, (needed - 1, None))
    check_memory("deepseek-v3", model.slice(248), 16384, True, (needed - 1, None))
    with pytest.raises(SystemExit, match="bytes of memory of the GPU, .* take fewer --tokens and --experts"):
        check_memory("deepseek-v3", model, 16384, True, (needed, 10**9))


def run_example(*arguments):
    return subprocess.run([sys.executable, EXAMPLE / "run.py", *arguments], capture_output=True, text=True)


def test_command_line(tmp_path):
    done = run_example("--model=deepseek-v3", "--experts=16", "--hidden=128", "--width=64", "--tokens=3", f"--output={tmp_path}")
    assert done.returncode == 0, done.stderr
    assert "deepseek-v3: 3 tokens, 16 experts (top 8, deepseek_v3), hidden 128, width 64, nvfp4 weights" in done.stdout
    assert "same bits as the stages" in done.stdout and done.stdout.endswith("all stages agree with exact arithmetic\n")
    assert "route deepseek_v3" in (tmp_path / "deepseek-v3.mlir").read_text()


@pytest.mark.parametrize("arguments, message", [
    (["--model=gpt-oss"], "expected --model as one of gpt-oss-20b, gpt-oss-120b, .*, but got gpt-oss"),
    (["--model=qwen3-30b-a3b", "--tokens=16385"], r"expected --tokens in \[1, 16384\], but got 16385"),
    (["--model=qwen3-30b-a3b", "--device=sim"], "expected --device without --model"),
    (["--model=qwen3-30b-a3b", "--target=sm_90a"], "expected --target as one of cpu, sm_90a.sim, sm_100a.sim, cuda, but got sm_90a"),
    (["--model=qwen3-30b-a3b", "--on-device"], "expected --on-device with a GPU as --target"),
    (["--experts=8"], "expected --experts with --model"),
    (["--model=gpt-oss-20b", "--rows=nvfp4"], "expected --rows bf16, but got nvfp4"),
    (["--target=cuda"], "expected --target as one of sm_100a, sm_90a, but got cuda")])
def test_options_that_do_not_go_together(arguments, message):
    done = run_example(*arguments)
    assert done.returncode != 0
    assert re.search(message, done.stderr), done.stderr
