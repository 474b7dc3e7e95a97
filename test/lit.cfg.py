# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Configuration of the lit suites. Features and substitutions:

features
  ptxas        NVIDIA's assembler is at hand (PATH, CUDA_HOME, /usr/local/cuda)
  nvcc         NVIDIA's compiler is at hand, likewise
  x86          the host is x86-64
  avx2, avx512f, avx512vnni, avxvnni   the host CPU has them
  python-numpy %python can import numpy, ml_dtypes and safetensors
  asan         built with sanitizers

substitutions
  %python      Python of .venv where there is one
  %ptxas, %nvcc  paths of ptxas and nvcc (with the features)
  %nvfp4_src   top of the source tree
  %nvfp4_obj   top of the build tree
  %nvfp4_lib   build/lib
  %nvfp4_llvm_tools, %llvmlib   folders of mlir-opt and of libMLIR.so
  %cmake %cc %cxx   what the tree was configured with
"""

import os
import pathlib
import platform
import shutil
import subprocess
import sys

import lit.formats

config.name = "NVFP4"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test", ".ptx"]
config.excludes = ["Inputs", "python", "CMakeLists.txt"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.nvfp4_test_root

config.environment["PATH"] = os.pathsep.join([
    os.path.join(config.nvfp4_binary_root, "bin"),
    config.llvm_tools_dir,
    config.environment.get("PATH", ""),
])
for name in ("HOME", "OMP_NUM_THREADS", "ASAN_OPTIONS", "UBSAN_OPTIONS",
             "MALLOC_PERTURB_"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

# A test that hangs is a failure. lit needs psutil for that.
if lit_config.maxIndividualTestTimeIsSupported[0]:
    lit_config.maxIndividualTestTime = 900


def find_cuda_tool(name):
    for home in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"),
                 "/usr/local/cuda"):
        candidate = os.path.join(home, "bin", name) if home else None
        if candidate and os.access(candidate, os.X_OK):
            return candidate
    return shutil.which(name)


def cpu_flags():
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return set()
    for line in text.splitlines():
        if line.startswith("flags"):
            return set(line.split(":", 1)[1].split())
    return set()


def find_python():
    private = os.path.join(config.nvfp4_source_root, ".venv", "bin", "python")
    return private if os.access(private, os.X_OK) else sys.executable


for tool in ("ptxas", "nvcc"):
    path = find_cuda_tool(tool)
    if path:
        config.available_features.add(tool)
        config.substitutions.append(("%" + tool, path))

if platform.machine() == "x86_64":
    config.available_features.add("x86")
    names = {"avx2": "avx2", "avx512f": "avx512f",
             "avx512_vnni": "avx512vnni", "avx_vnni": "avxvnni"}
    for flag in cpu_flags() & set(names):
        config.available_features.add(names[flag])

python = find_python()
if subprocess.run([python, "-c", "import numpy, ml_dtypes, safetensors"],
                  capture_output=True).returncode == 0:
    config.available_features.add("python-numpy")

if config.nvfp4_sanitized:
    config.available_features.add("asan")

config.substitutions += [
    ("%python", python),
    ("%nvfp4_src", config.nvfp4_source_root),
    ("%nvfp4_obj", config.nvfp4_binary_root),
    ("%nvfp4_llvm_tools", config.llvm_tools_dir),
    ("%nvfp4_lib", os.path.join(config.nvfp4_binary_root, "lib")),
    ("%llvmlib", config.llvm_library_dir),
    ("%cmake", config.nvfp4_cmake),
    ("%cxx", config.nvfp4_cxx_compiler),
    ("%cc", config.nvfp4_c_compiler),
]
