# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The one-sided exchange: its kernels on several simulated devices, with faults, and its layer on virtual ranks."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
if not torch.distributed.is_available():
    pytest.skip("torch has no process groups", allow_module_level=True)

import distributed_work as cases  # noqa: E402
import nvfp4  # noqa: E402
import one_sided_ranks  # noqa: E402
from nvfp4 import _expert_programs, _torch_layer  # noqa: E402
from nvfp4.distributed import MoE, VirtualRanks  # noqa: E402
from torch_sim import SimulatedDevice  # noqa: E402

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


class SimulatedRanks(VirtualRanks):
    """Virtual ranks on the simulator, whose windows stay there."""

    def make_window(self, size):
        return nvfp4.DeviceArray.of(np.full(size, 0, np.uint8), "sim")

    def address(self, window):
        return window.address

    def bytes_of(self, window):
        return torch.from_numpy(window.numpy())


@pytest.fixture
def simulated(monkeypatch):
    device = SimulatedDevice()
    monkeypatch.setattr(_expert_programs, "find_device", lambda tensor: device)
    monkeypatch.setattr(_torch_layer, "_run", lambda *arguments: _torch_layer._on_device(device, *arguments))
    return device


def make_layers(ranks, case, **more):
    """A layer of each virtual rank for a case of distributed_work."""
    options = {**cases.options_of(case, ranks), "exchange": "one_sided", "max_tokens": cases.ALL, "top_k": cases.TOP_K, **more}
    group = SimulatedRanks(ranks, "cpu")
    layers = [MoE(group=group[rank], **options) for rank in range(ranks)]
    for layer in layers:
        layer.experts._repack(True)
        if layer.shared is not None:
            layer.shared._repack(True)
    return group, layers


def test_bits_of_one_rank(simulated):
    import time
    case = ("w4a4", "uniform", ())
    x, ids, factors = cases.make_tokens("uniform")
    found = {}
    for ranks in (1, 2, 4):
        group, layers = make_layers(ranks, case)
        for tokens in cases.TOKENS[ranks]:
            ends = np.cumsum((0, *tokens))
            parts = [tuple(each[a:b] for each in (x, ids, factors)) for a, b in zip(ends, ends[1:])]
            t = time.time()
            found[ranks, tokens] = torch.cat(group(layers, parts))
            print(ranks, tokens, time.time() - t)
    one = found[1, (23,)]
    assert one.any()
    for key, got in found.items():
        assert torch.equal(got, one), key
