# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Artefacts rewritten by test/Hardware/every-lane-arrives: the same results without a
race in the simulator, and a race with --fault. There is one as well, which racecheck cannot
tell, where the lanes of a warp do not meet before one arrives. Each runs in a process of its own."""

import os
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest

from nvfp4_cases import *  # noqa: F403
from nvfp4_kernels import compile_kernels, simulated
from nvfp4_module import Module, scratch

pytestmark = simulated("sm_90a")

SCRIPT = pathlib.Path(__file__).resolve().parents[1] / "Hardware" / "every-lane-arrives"


def run_case(path, case):
    try:
        got = Module(path, "").f(*pickle.loads(pathlib.Path(case).read_bytes()))
    except RuntimeError as error:
        sys.exit(str(error))
    pathlib.Path(path).with_suffix(".result").write_bytes(pickle.dumps(got))


def attempt(path, case):
    """The result, or the text of the error."""
    environment = dict(os.environ, NVFP4_DEVICE="sim", NVFP4_MAX_BLOCKS="2",
                       NVFP4_SIM_OPTIONS="--check --profile strict --arch sm_90a --delays adversarial")
    done = subprocess.run([sys.executable, __file__, str(path), str(case)], text=True,
                          capture_output=True, env=environment, timeout=300)
    return done.stderr if done.returncode else pickle.loads(path.with_suffix(".result").read_bytes())


def rewrite(source, target, *options):
    return subprocess.run([sys.executable, SCRIPT, source, target, *options], text=True, capture_output=True)


@pytest.mark.parametrize("epilogue", ["f32", "bf16"])
def test_results_and_a_fault(rng, epilogue):
    product = make_product(rng, ragged([40, 9]), 1040, 256, "nvfp4")
    text = matmul_text("f", product.groups.attribute, scaled_type("nvfp4"), scaled_type("nvfp4", 3),
                       f"tensor<?x?x{epilogue}>", alpha="f32")
    operand, operands = product.arguments()
    flat = operand + [part for pair in operands for part in pair]
    case = scratch() / "case.pickle"
    case.write_bytes(pickle.dumps([*flat, np.float32(0.5), product.destination(epilogue)]))
    artefact = compile_kernels("sm_90a", text).path
    every, fault, unmet = (scratch() / f"{name}.so" for name in ("every", "fault", "unmet"))
    assert rewrite(artefact, every).returncode == 0
    assert rewrite(artefact, fault, "--fault").returncode == 0
    got = attempt(every, case)
    assert not isinstance(got, str), got
    expected = expected_result(product, epilogue, epilogue=lambda acc, g, i: 0.5 * acc)
    assert_equal(got, expected, epilogue)
    assert "data-race" in attempt(fault, case)
    binary = pathlib.Path(artefact).read_bytes()
    read = binary.index(b"bar.warp.sync", binary.index(b"ld.shared.v4"))
    end = binary.index(b";", read) + 1
    unmet.write_bytes(binary[:read] + b" " * (end - read) + binary[end:])
    assert "data-race" in attempt(unmet, case)


def test_other_files(tmp_path):
    (tmp_path / "other.ptx").write_text("//\n.version 8.0\n.target sm_90a\n.entry f() { ret; }\n")
    (tmp_path / "empty.ptx").write_text("")
    for name, said in (("other", "without barriers that warps release"), ("empty", "expected PTX in")):
        done = rewrite(tmp_path / f"{name}.ptx", tmp_path / "out.ptx")
        assert done.returncode != 0 and said in done.stderr and not (tmp_path / "out.ptx").exists()


if __name__ == "__main__":
    run_case(*sys.argv[1:])
