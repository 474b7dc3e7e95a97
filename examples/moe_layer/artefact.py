# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The layer as a folder that other machines run: compiled, with its inputs.

  layer.so            what nvfp4-compile made of layer.mlir
  target              the machine that its products are for
  tensors/*.npy       arguments of the layer; bytes of types that numpy lacks
  coded/*.npy         for sm_90a: the weights as its kernels read them, coded
                      here, so that no call does it again
  device.so           for a GPU: the same on memory of the device, for --on-device
  run.py, ...         this example
  nvfp4/              the Python package; in lib/ the runtime, libomp and the
                      simulator, but no compiler

It needs Python 3.9 with numpy and ml_dtypes, the C and C++ libraries, and for
products on a GPU NVIDIA's driver.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import time

import ml_dtypes
import numpy as np

from on_host import OnHost

SCRIPTS = ("run.py", "artefact.py", "stages.py", "oracle.py", "report.py", "nvfp4_numpy.py", "on_device.py", "on_host.py")
LIBRARIES = ("libnvfp4_runtime.so.0", "libnvfp4_sim.so.0")
# Weights, and the functions of gsg-lay-out-weights that code them.
CODED = {"w13": "lay_out_gate_up", "w2": "lay_out_down"}
OPENMP = "libomp.so.5"
FLOATS = {"tokens": ml_dtypes.bfloat16, "w13.scales": ml_dtypes.float8_e4m3fn, "w2.scales": ml_dtypes.float8_e4m3fn}


def find_beside(folder):
    """`folder`, if it is an artefact."""
    return folder if (folder / "layer.so").exists() and (folder / "target").exists() else None


def find_openmp(runtime):
    """The file of the OpenMP library that the runtime loads here."""
    listed = subprocess.run(["ldd", str(runtime)], capture_output=True, text=True).stdout
    for line in listed.splitlines():
        name, _, rest = line.strip().partition(" => ")
        if name == OPENMP and rest.startswith("/"):
            return pathlib.Path(rest.rsplit(" (", 1)[0])
    sys.exit(f"moe_layer: expected {runtime} to find {OPENMP}, but ldd does not:\n{listed}")


def run(*command):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{result.stdout[-2000:]}{result.stderr[-2000:]}")
    return result.stdout


def lay_out(folder, build, source, layer):
    """Weights as kernels for sm_90a read them, as files; gives the milliseconds that it took."""
    coded, work = folder / "coded", folder / "linear"
    for path in (coded, work):
        path.mkdir(exist_ok=True)
    functions = work / "lay_out.mlir"
    run(build / "bin" / "nvfp4-opt", source, "--gsg-lay-out-weights=functions-only", "-o", functions)
    start = time.perf_counter()
    for name, entry in CODED.items():
        parts = [f"{name}.{part}" for part in ("values", "scales")]
        for part in parts:
            np.save(work / f"{part}.npy", layer[part].view(np.uint8))
        run(build / "bin" / "nvfp4-run", functions, f"--entry={entry}",
            "--inputs=" + ",".join(str(work / f"{part}.npy") for part in parts),
            "--outputs=" + ",".join(str(coded / f"{part}.npy") for part in parts))
    shutil.rmtree(work)
    return (time.perf_counter() - start) * 1e3


def write(folder, build, example, target, layer, tokens):
    """Compiles `example`/layer.mlir into `folder`, with what running it needs; gives the bytes of it all."""
    tensors, library = folder / "tensors", folder / "nvfp4" / "lib"
    shutil.rmtree(folder / "nvfp4", ignore_errors=True)
    shutil.copytree(example.parents[1] / "python" / "nvfp4", folder / "nvfp4",
                    ignore=shutil.ignore_patterns("__pycache__", "lib"))
    for path in (tensors, library):
        path.mkdir(parents=True, exist_ok=True)
    source = example / "layer.mlir"
    if target == "sm_90a":
        print(f"Coded weights once, in {lay_out(folder, build, source, layer):.0f} ms.")
        coded = folder / "layer.mlir"
        run(build / "bin" / "nvfp4-opt", source, "--gsg-lay-out-weights", "-o", coded)
        source = coded
    run(build / "bin" / "nvfp4-compile", source, f"--target={target}", "-o", folder / "layer.so")
    if target == "sm_90a":
        # Without the functions that code weights, which have no kernels.
        source = folder / "device.mlir"
        run(build / "bin" / "nvfp4-opt", example / "layer.mlir", "--gsg-lay-out-weights=without-functions", "-o", source)
    if target != "cpu":
        run(build / "bin" / "nvfp4-compile", source, f"--target={target}", "--memory=device", "-o", folder / "device.so")
    (folder / "target").write_text(target + "\n")
    for name in LIBRARIES:
        shutil.copyfile(build / "lib" / name, library / name)
    shutil.copyfile(find_openmp(build / "lib" / LIBRARIES[0]), library / OPENMP)
    for name in SCRIPTS:
        shutil.copyfile(example / name, folder / name)
    for name, array in {**layer, "tokens": tokens}.items():
        # As bytes of its own size, which every numpy reads.
        np.save(tensors / f"{name}.npy", array.view(f"u{array.dtype.itemsize}") if name in FLOATS else array)
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


class Artefact:
    """The files of --compile-only: the layer, its inputs, and the package to run it with."""

    def __init__(self, folder, tokens):
        self.folder = folder.resolve()
        if not find_beside(self.folder):
            sys.exit(f"moe_layer: expected {folder} to be what --compile-only makes, but layer.so or target is missing")
        self.target = (self.folder / "target").read_text().strip()
        self.layer = {path.stem: self._read(path) for path in sorted((self.folder / "tensors").glob("*.npy"))}
        self.tokens = self.layer.pop("tokens")[:tokens]
        if tokens and len(self.tokens) < tokens:
            sys.exit(f"moe_layer: expected --tokens of at most {len(self.tokens)}, as many as there are, but got {tokens}")
        # Stages are called with what their kernels read, and checked against what the layer means.
        self.coded = {path.stem: np.load(path) for path in sorted((self.folder / "coded").glob("*.npy"))}
        self.arrays = {**self.layer, "tokens": self.tokens, **self.coded}

    @staticmethod
    def _read(path):
        array = np.load(path)
        return array.view(FLOATS[path.stem]) if path.stem in FLOATS else array

    def open(self, device):
        """Loads the runtime for `device`, or the default, and gives its name."""
        expected = ("cpu",) if self.target == "cpu" else ("cuda", "sim")
        device = device or expected[0]
        if device not in expected:
            sys.exit(f"moe_layer: expected --device={' or '.join(expected)} for kernels of {self.target}, but got {device}")
        # The package that came along, not one that is installed.
        sys.path.insert(0, str(self.folder))
        import nvfp4

        self.package, self.device = nvfp4, device
        return device

    def load(self, repeats):
        """The layer on memory of the host, for run_stages."""
        module = self.package.load(self.folder / "layer.so", device=None if self.device == "cpu" else self.device)
        return OnHost(module, self.package, self.arrays, repeats or (1 if self.device == "sim" else 5))

    def place(self):
        """The layer on the device, called like this one."""
        if self.device == "cpu":
            sys.exit(f"moe_layer: expected an artefact for a GPU with --on-device, but {self.folder} is for {self.target}")
        from on_device import OnDevice

        return OnDevice(self.package.load(self.folder / "device.so"), self.package, self.device, self.arrays)
