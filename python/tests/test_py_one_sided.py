# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The one-sided exchange: its kernels on several simulated devices, with faults, and its layer on virtual ranks."""

import os
import pathlib
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
if not torch.distributed.is_available():
    pytest.skip("torch has no process groups", allow_module_level=True)

import one_sided_ranks  # noqa: E402

IS_FULL = bool(os.environ.get("NVFP4_FULL_TESTS"))
HERE = pathlib.Path(__file__).parent


def run_ranks(ranks, *arguments, seed=1):
    """What `one_sided_ranks` prints and its status, on so many devices, with the checker."""
    folders = os.pathsep.join([str(HERE), *sys.path])
    environment = {**os.environ, "PYTHONPATH": folders, "NVFP4_SIM_OPTIONS": f"--check --devices {ranks} --seed {seed}"}
    done = subprocess.run([sys.executable, HERE / "one_sided_ranks.py", str(ranks), *arguments], env=environment,
                          capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("ranks, seed", [(ranks, seed) for ranks in (2, 3, 4) for seed in range(1, 17 if IS_FULL else 2)])
def test_kernels_of_several_devices(ranks, seed):
    status, output = run_ranks(ranks, seed=seed)
    assert status == 0 and output.strip() == "equal", output


@pytest.mark.parametrize("fault", list(one_sided_ranks.FAULTS) if IS_FULL else list(one_sided_ranks.FAULTS)[::4])
def test_faults_are_found(fault):
    status, output = run_ranks(2, fault)
    assert status != 0 and ("data-race" in output or "livelock" in output), output
