# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tries each part of the package on this machine, and says of those that do not work why."""

from __future__ import annotations

import ctypes
import importlib
import importlib.metadata
import os
import pathlib
import platform
import shutil
import subprocess
from collections.abc import Callable, Iterator
from typing import NamedTuple

from . import _library
from .errors import NVFP4Error

__all__ = ["Part", "collect"]

#: Targets of GPUs, and the compute capabilities that run their kernels.
TARGETS = {"sm_90a": ((9, 0),), "sm_100a": ((10, 0),), "sm_103a": ((10, 3),)}
#: Distributions, the module of this package for them, and the versions that its tests were last run with.
FRAMEWORKS = {"torch": ("nvfp4.torch", "2.11"), "transformers": ("nvfp4.transformers", "5.17, 5.20"), "jax": ("nvfp4.jax", "0.10, 0.11"),
              "apache-tvm-ffi": ("tvm_ffi", "0.1.11, 0.1.15"), "vllm": ("nvfp4.vllm", "0.33")}


class Part(NamedTuple):
    """A part; ``works`` is None for what is only told."""

    name: str
    works: bool | None
    detail: str


def _attempt(name: str, work: Callable[[], str]) -> Part:
    """A part that works unless ``work`` raises; its detail is the result or the reason."""
    try:
        return Part(name, True, work())
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        return Part(name, False, reason if isinstance(error, (NVFP4Error, _Missing)) else f"{type(error).__name__}: {reason}")


class _Missing(Exception):
    """Something that is not here."""


def _path_of(name: str) -> str:
    """Where a library of this package is."""
    return next((str(folder / name) for folder in _library.library_folders() if (folder / name).exists()), name)


def _runtime() -> str:
    library = _library.runtime()
    isa = library.nvfp4_cpu_isa_name(library.nvfp4_cpu_isa()).decode()
    return f"{isa}, {library.nvfp4_num_threads()} threads, {_path_of('libnvfp4_runtime.so.0')}"


def _compiler() -> str:
    """Compiles a function and calls it."""
    import numpy as np

    from .compiler import compile
    program = compile("func.func @f(%a: i32) -> i32 {\n  %b = arith.addi %a, %a : i32\n  return %b : i32\n}\n")
    if int(np.asarray(program.run(21))) != 42:
        raise _Missing("compiled code gave a wrong result")
    return _path_of("libNVFP4Compiler.so.0")


def _kernels(target: str) -> Callable[[], str]:
    def compile_one() -> str:
        from .compiler import compile
        weights, rows = "!grouped_scaled_gemm.scaled<64x128, nvfp4>", "tensor<?x128xbf16>"
        compile(f"""func.func @f(%x: {rows}, %w: {weights}, %y: tensor<?x64xf32>) -> tensor<?x64xf32> {{
  %r = grouped_scaled_gemm.matmul <dense> lhs(%x : {rows}) rhs(%w : {weights}) outs(%y : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %r : tensor<?x64xf32>
}}""" if target == "sm_90a" else f"""!a = !grouped_scaled_gemm.scaled<?x128, nvfp4, blocked>
!w = !grouped_scaled_gemm.scaled<64x128, nvfp4, blocked>
func.func @f(%x: !a, %w: !w, %y: tensor<?x64xf32>) -> tensor<?x64xf32> {{
  %r = grouped_scaled_gemm.matmul <dense> lhs(%x : !a) rhs(%w : !w) outs(%y : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %r : tensor<?x64xf32>
}}""", target=target, memory="device")
        return "kernels are compiled to PTX"

    return compile_one


def _program(name: str, folders: list[str], help: str) -> Callable[[], str]:
    def find() -> str:
        path = shutil.which(name, path=os.pathsep.join([*folders, os.environ.get("PATH", "")]))
        if path is None:
            raise _Missing(help)
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30, check=False)
        version = next((line for line in done.stdout.splitlines() if "release" in line), "of an unknown version")
        return f"{path}, {version.strip()}"

    return find


def _linker() -> str:
    chosen = os.environ.get("NVFP4_LINKER")
    for name in [chosen] if chosen else ["ld.lld-22", "ld.lld", "ld"]:
        path = shutil.which(name)
        if path is not None:
            return f"{path}, which Program.save links with"
    raise _Missing(f"no linker '{chosen}', which NVFP4_LINKER names" if chosen else
                   "Program.save expects ld.lld-22, ld.lld or ld in PATH (Debian: apt-get install lld-22)")


def _gpus() -> Iterator[Part]:
    """The driver and its GPUs, each of which works if there are kernels for it."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        yield Part("driver", False, f"no NVIDIA driver: {error}; kernels run on the device sim alone")
        return
    status = driver.cuInit(0)
    if status:
        text = ctypes.c_char_p()
        driver.cuGetErrorString(status, ctypes.byref(text))
        yield Part("driver", False, f"cuInit fails with error {status}, {(text.value or b'unknown').decode()}")
        return
    version, count = ctypes.c_int(), ctypes.c_int()
    driver.cuDriverGetVersion(ctypes.byref(version))
    driver.cuDeviceGetCount(ctypes.byref(count))
    yield Part("driver", True, f"CUDA {version.value // 1000}.{version.value % 1000 // 10}, {count.value} GPUs")
    for number in range(count.value):
        device, name = ctypes.c_int(), ctypes.create_string_buffer(256)
        driver.cuDeviceGet(ctypes.byref(device), number)
        driver.cuDeviceGetName(name, len(name), device)
        capability = []
        for attribute in (75, 76):  # major and minor number of the compute capability
            value = ctypes.c_int()
            driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, device)
            capability.append(value.value)
        yield _gpu(number, name.value.decode(errors="replace"), (capability[0], capability[1]))


def _gpu(number: int, name: str, capability: tuple[int, int]) -> Part:
    shown = f"{name}, compute capability {capability[0]}.{capability[1]}"
    for target, capabilities in TARGETS.items():
        if capability in capabilities:
            return Part(f"cuda:{number}", True, f"{shown}, target {target}")
    known = ", ".join(f"{major}.{minor} ({target})" for target, each in TARGETS.items() for major, minor in each)
    return Part(f"cuda:{number}", False, f"{shown}: there are kernels for {known}")


def _framework(name: str) -> Part:
    module, tested = FRAMEWORKS[name]
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return Part(name, False, f"not installed (tested: {tested})")
    return _attempt(name, lambda: f"{version} (tested: {tested}), {importlib.import_module(module).__name__}")


def _environment() -> Iterator[Part]:
    names = sorted(name for name in os.environ if name.startswith("NVFP4_"))
    for name in names:
        yield Part(f"${name}", None, os.environ[name])
    folder = os.environ.get("NVFP4_CACHE_DIR")
    if folder:
        path = pathlib.Path(folder)
        parent = next(each for each in (path, *path.parents) if each.exists())
        writable = parent.is_dir() and os.access(parent, os.W_OK)
        kept = len(list(path.glob("*.so"))) if path.is_dir() else 0
        yield Part("cache", writable, f"{kept} programs in {folder}" if writable else f"{parent} cannot be written to")
    else:
        yield Part("cache", None, "none: NVFP4_CACHE_DIR names a folder that keeps compiled kernels")


def collect() -> list[Part]:
    """All parts; each is tried."""
    from . import __version__
    system = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {' '.join(platform.libc_ver())}"
    parts = [Part("nvfp4", None, f"{__version__}, {system.strip()}"), _attempt("runtime", _runtime)]
    compiler = _attempt("compiler", _compiler)
    parts.append(compiler)
    for target in TARGETS:
        parts.append(_attempt(target, _kernels(target)) if compiler.works else
                     Part(target, False, "there is no compiler; kernels that were compiled elsewhere run without one"))
    home = [os.path.join(os.environ["CUDA_HOME"], "bin")] if "CUDA_HOME" in os.environ else []
    parts += [_attempt("ptxas", _program("ptxas", home, "not in $CUDA_HOME/bin or PATH: the driver assembles PTX where it is loaded")),
              _attempt("linker", _linker), *_gpus()]
    simulator = _path_of("libnvfp4_sim.so.0")
    parts.append(Part("sim", os.path.exists(simulator), simulator if os.path.exists(simulator) else f"expected {simulator}"))
    parts += [Part(name, None, importlib.metadata.version(name)) for name in ("numpy", "ml_dtypes")]
    parts += [_framework(name) for name in FRAMEWORKS]
    return [*parts, *_environment()]
