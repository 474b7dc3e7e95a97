# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The layer as a folder that other machines run: compiled, with its inputs.

  layer.so            what nvfp4-compile made of layer.mlir
  target              the machine that its products are for
  tensors/*.npy       arguments of the layer; bytes of types that numpy lacks
  run.py, ...         this example
  nvfp4/              the Python package; in lib/ the runtime, libomp and the
                      simulator, but no compiler

It needs Python 3.9 with numpy and ml_dtypes, the C and C++ libraries, and for
products on a GPU NVIDIA's driver.
"""

import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

import ml_dtypes
import numpy as np

SCRIPTS = ("run.py", "artefact.py", "stages.py", "oracle.py", "report.py", "nvfp4_numpy.py")
LIBRARIES = ("libnvfp4_runtime.so.0", "libnvfp4_sim.so.0")
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


def write(folder, build, example, target, layer, tokens):
    """Compiles `example`/layer.mlir into `folder`, with what running it needs; gives the bytes of it all."""
    tensors, library = folder / "tensors", folder / "nvfp4" / "lib"
    shutil.rmtree(folder / "nvfp4", ignore_errors=True)
    shutil.copytree(example.parents[1] / "python" / "nvfp4", folder / "nvfp4",
                    ignore=shutil.ignore_patterns("__pycache__", "lib"))
    for path in (tensors, library):
        path.mkdir(parents=True, exist_ok=True)
    command = [str(build / "bin" / "nvfp4-compile"), str(example / "layer.mlir"), f"--target={target}",
               "-o", str(folder / "layer.so")]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{result.stdout}{result.stderr}")
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
    """Calls functions of layer.so in this process; for run_stages."""

    def __init__(self, folder, tokens):
        self.folder = folder.resolve()
        if not find_beside(self.folder):
            sys.exit(f"moe_layer: expected {folder} to be what --compile-only makes, but layer.so or target is missing")
        self.target = (self.folder / "target").read_text().strip()
        self.layer = {path.stem: self._read(path) for path in sorted((self.folder / "tensors").glob("*.npy"))}
        self.tokens = self.layer.pop("tokens")[:tokens]
        if tokens and len(self.tokens) < tokens:
            sys.exit(f"moe_layer: expected --tokens of at most {len(self.tokens)}, as many as there are, but got {tokens}")
        self.arrays = {**self.layer, "tokens": self.tokens}

    @staticmethod
    def _read(path):
        array = np.load(path)
        return array.view(FLOATS[path.stem]) if path.stem in FLOATS else array

    def open(self, device, repeats):
        """Loads layer.so for `device`, or the default, and gives its name."""
        expected = ("cpu",) if self.target == "cpu" else ("cuda", "sim")
        device = device or expected[0]
        if device not in expected:
            sys.exit(f"moe_layer: expected --device={' or '.join(expected)} for kernels of {self.target}, but got {device}")
        if device == "sim" and self.target == "sm_90a":
            os.environ["NVFP4_SIM_OPTIONS"] = os.environ.get("NVFP4_SIM_OPTIONS", "") + " --arch sm_90a"
        # The package that came along, not one that is installed.
        sys.path.insert(0, str(self.folder))
        import nvfp4

        self.scaled = nvfp4.ScaledTensor
        self.module = nvfp4.load(self.folder / "layer.so", device=None if device == "cpu" else device)
        self.repeats = repeats or (1 if device == "sim" else 5)
        return device

    def __call__(self, entry, inputs, outputs):
        arguments = [name if isinstance(name, int) else self.arrays[name] for name in inputs]
        times = []
        # The first call loads kernels, so it is timed only where it is all there is.
        for _ in range(self.repeats + (self.repeats > 1)):
            start = time.perf_counter()
            results = self.module.run(*arguments, entry=entry)
            times.append((time.perf_counter() - start) * 1e3)
        flat = []
        for result in results if isinstance(results, tuple) else (results,):
            flat += [result.values, result.scales] if isinstance(result, self.scaled) else [result]
        self.arrays.update(zip(outputs, flat))
        return flat, statistics.median(times[1:] or times), None
