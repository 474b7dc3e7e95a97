# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``python -m nvfp4 info`` says what works, and why the rest does not."""

import importlib.metadata
import json
import os
import re
import subprocess
import sys

import pytest

import nvfp4
from conftest import ROOT
from nvfp4 import _info
from nvfp4_module import PRELOAD

DRIVER = """
int cuInit(unsigned flags) { return STATUS; }
int cuGetErrorString(int status, const char **text) { *text = "no CUDA-capable device is detected"; return 0; }
int cuDriverGetVersion(int *version) { *version = 13020; return 0; }
int cuDeviceGetCount(int *count) { *count = 3; return 0; }
int cuDeviceGet(int *device, int number) { *device = number + 7; return 0; }
int cuDeviceGetName(char *name, int size, int device) { name[0] = 'G'; name[1] = '0' + device; name[2] = 0; return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  static const int values[3][2] = {{9, 0}, {8, 6}, {10, 3}};
  *value = values[device - 7][attribute - 75];
  return 0;
}
"""


def run(*arguments, **environment):
    variables = {**os.environ, **PRELOAD, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    return subprocess.run([sys.executable, "-m", "nvfp4", *arguments], capture_output=True, text=True,
                          env={name: value for name, value in variables.items() if value is not None})


def parts_of(done):
    assert done.stdout, done.stderr
    return {each["name"]: (each["works"], each["detail"]) for each in json.loads(done.stdout)}


@pytest.fixture
def driver(tmp_path):
    """The folder of a driver whose cuInit returns `status`."""
    def make(status):
        source = tmp_path / "driver.c"
        source.write_text(DRIVER)
        subprocess.run(["clang-22", "-shared", "-fPIC", "-w", f"-DSTATUS={status}", "-o", tmp_path / "libcuda.so.1", source], check=True)
        return str(tmp_path)
    return make


def test_parts_that_work_here():
    done = run("info")
    assert done.returncode == 0, done.stderr
    lines = {line.split()[0]: line.split(None, 1)[1] for line in done.stdout.splitlines()}
    assert lines["nvfp4"].startswith(f"{nvfp4.__version__}, Python {sys.version.split()[0]}")
    assert lines["runtime"].startswith(f"works  {nvfp4.cpu_isa()}, ")
    assert all(lines[name].startswith("works") for name in ("compiler", "sm_90a", "sm_100a", "sm_103a", "sim"))
    parts = {part.name: part for part in _info.collect()}
    assert set(lines) == set(parts)
    for name in _info.FRAMEWORKS:
        try:
            assert parts[name].detail.startswith(importlib.metadata.version(name)), parts[name]
        except importlib.metadata.PackageNotFoundError:
            assert (parts[name].works, parts[name].detail.split(" (")[0]) == (False, "not installed")


def test_why_nothing_works(tmp_path):
    done = run("info", "--json", NVFP4_LIBRARY_DIR=str(tmp_path / "none"), PATH="/nowhere", NVFP4_LINKER="ld.gold", CUDA_HOME=None,
               NVFP4_CACHE_DIR=__file__ + "/cache")
    assert done.returncode == 1
    parts = parts_of(done)
    for name, reason in {"runtime": f"expected libnvfp4_runtime.so.0 in {tmp_path}/none, but it is not there",
                         "compiler": "is not there", "sm_90a": "there is no compiler", "ptxas": "not in $CUDA_HOME/bin or PATH",
                         "linker": "no linker 'ld.gold', which NVFP4_LINKER names", "sim": "expected libnvfp4_sim.so.0",
                         "cache": f"{__file__} cannot be written to"}.items():
        assert parts[name][0] is False and reason in parts[name][1], (name, parts[name])
    assert parts["$NVFP4_LINKER"] == (None, "ld.gold")


def test_a_damaged_library_is_named(tmp_path):
    (tmp_path / "libnvfp4_runtime.so.0").write_bytes(b"no library")
    parts = parts_of(run("info", "--json", NVFP4_LIBRARY_DIR=str(tmp_path)))
    assert parts["runtime"][0] is False and f"could not load {tmp_path}/libnvfp4_runtime.so.0" in parts["runtime"][1]


def test_gpus_with_kernels_and_without(driver, tmp_path):
    parts = parts_of(run("info", "--json", LD_LIBRARY_PATH=driver(0), NVFP4_CACHE_DIR=str(tmp_path)))
    assert parts["driver"] == (True, "CUDA 13.2, 3 GPUs")
    assert parts["cuda:0"] == (True, "G7, compute capability 9.0, target sm_90a")
    assert parts["cuda:1"] == (False, "G8, compute capability 8.6: there are kernels for 9.0 (sm_90a), 10.0 (sm_100a), 10.3 (sm_103a)")
    assert parts["cuda:2"] == (True, "G9, compute capability 10.3, target sm_103a")
    assert parts["cache"] == (True, f"0 programs in {tmp_path}")
    parts = parts_of(run("info", "--json", LD_LIBRARY_PATH=driver(100)))
    assert parts["driver"] == (False, "cuInit fails with error 100, no CUDA-capable device is detected")
    assert "cuda:0" not in parts


def test_a_framework_that_cannot_be_imported(tmp_path):
    """Installed, but not for this package."""
    folder = tmp_path / "transformers"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise ImportError('expected a newer tokenizers')")
    information = tmp_path / "transformers-9.9.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: transformers\nVersion: 9.9\n")
    parts = parts_of(run("info", "--json", PYTHONPATH=os.pathsep.join([str(tmp_path), *sys.path])))
    works, detail = parts["transformers"]
    assert not works and ("expected a newer tokenizers" in detail or "No module named 'torch'" in detail)


def test_extras_are_the_frameworks():
    tomllib = pytest.importorskip("tomllib")  # of Python 3.11
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {re.match(r"[\w-]+", each)[0] for extra in project["optional-dependencies"].values() for each in extra}
    assert needed == set(_info.FRAMEWORKS)


def test_commands_are_checked():
    for arguments in ((), ("help",), ("info", "--all")):
        done = run(*arguments)
        assert done.returncode == 2 and "usage: python -m nvfp4" in done.stderr
