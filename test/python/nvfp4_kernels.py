# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles products to kernels of a GPU and runs them in the simulator, with its
checker on.

The simulator has one --arch for a process, so that PTX for another target is refused:
tests of another one are skipped, and run in a process of their own. Inputs lie on a
lattice, so the answer is exact and every schedule gives its bits. Rows that no group
owns hold NaN scales; destinations hold poison.
"""

import os

import numpy as np
import pytest

from nvfp4_cases import *  # noqa: F403
from nvfp4_module import BUILD_DIR, compile_module, run, scratch, tool, uses_processes
from nvfp4_module import write_inputs


def simulated(target):
    """The mark of a file of tests: kernels of `target` run in the simulator, or on the
    device that NVFP4_DEVICE names."""
    arch = "" if target == "sm_100a" else f" --arch {target}"
    os.environ.setdefault("NVFP4_DEVICE", "sim")
    os.environ.setdefault("NVFP4_SIM_OPTIONS", "--check" + arch)
    # So that a block has several tiles.
    os.environ.setdefault("NVFP4_MAX_BLOCKS", "3")
    options = os.environ["NVFP4_SIM_OPTIONS"]
    if os.environ["NVFP4_DEVICE"] != "sim":
        return pytest.mark.skipif(uses_processes(), reason="there is no runtime library")
    return pytest.mark.skipif(
        uses_processes() or not (BUILD_DIR / "lib" / "libnvfp4_sim.so").exists()
        or (arch not in options if arch else "--arch" in options),
        reason="the simulator of this process is missing or of another architecture:"
        f" run the tests of {target} in a process of their own")


def compile_kernels(target, text, *options):
    return compile_module(text, f"--target={target}", *options)


def tile(m, n, k, **others):
    """The attributes of a matmul whose strategy is given."""
    words = [f"{a} = {b}" for a, b in {"m": m, "n": n, "k": k, **others}.items()]
    return {"strategy": "<" + ", ".join(words) + ">"}


def check(rng, target, groups, n, k, fmt="nvfp4", out="f32", lhs_layout="linear",
          lhs_starts="whole", rhs_layout="linear", attrs=None, index="i32"):
    """A product times one half has the exact result."""
    product = make_product(rng, groups, n, k, fmt)
    rank3 = groups.kind in ("batched", "masked")
    text = matmul_text("f", groups.attribute,
                       scaled_type(fmt, 3 if rank3 else 2, lhs_layout, lhs_starts),
                       scaled_type(fmt, 2 if groups.kind == "dense" else 3, rhs_layout),
                       f"tensor<{'x'.join('?' * (3 if rank3 else 2))}x{out}>",
                       alpha="f32", attrs=attrs, index=index)
    operand, operands = product.arguments(lhs_layout, lhs_starts, rhs_layout)
    got = compile_kernels(target, text).f(*operand, *operands, np.float32(0.5),
                                          product.destination(out))
    expected = expected_result(product, out, epilogue=lambda acc, g, i: 0.5 * acc)
    assert_equal(got, expected, (groups, n, k, fmt))


def run_schedule(target, name, text, operands, seed, *options, blocks=2, profile="cutlass"):
    """The command line on another schedule of `blocks` blocks, with the checker on."""
    if os.environ["NVFP4_DEVICE"] != "sim":
        pytest.skip("schedules are the simulator's")
    if os.environ.get("NVFP4_TEST_ARTEFACTS") and not os.path.exists(tool("nvfp4-run")):
        pytest.skip("artefacts come without nvfp4-run")
    source = scratch() / f"{name}.mlir"
    source.write_text(text)
    code, output, error = run(
        tool("nvfp4-run"), source, "--device=sim", f"--target={target}", *options,
        "--inputs=" + ",".join(write_inputs(operands)),
        env={"NVFP4_SIM_OPTIONS": f"--check --profile {profile} --seed {seed} --delays adversarial",
             "NVFP4_MAX_BLOCKS": str(blocks)})
    assert code == 0, output + error


# The interpreter as the oracle, to the bit.
EXACT = ("--check=reference", "--exact")


def check_schedule(rng, target, seed, attrs, profile="cutlass"):
    """The command line, another schedule of the blocks, and the interpreter as the oracle."""
    groups = ragged([3, 0, 130, 40], extra=5)
    product = make_product(rng, groups, 264, 800, "nvfp4")
    text = matmul_text("f", groups.attribute, scaled_type("nvfp4"), scaled_type("nvfp4", 3),
                       "tensor<?x?xbf16>", alpha="tensor<?xf32>", attrs=attrs)
    operand, operands = product.arguments()
    alpha = rng.choice([0.5, 1, 2], len(groups)).astype(np.float32)
    flat = operand + [part for pair in operands for part in pair]
    run_schedule(target, "schedule", text, flat + [alpha, product.destination("bf16")], seed,
                 *EXACT, profile=profile)
