# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a script with arguments, then prints which libraries of LLVM and of the project it loaded, but for modules
and the simulator."""

import pathlib
import runpy
import sys

sys.argv = sys.argv[1:]
sys.path.insert(0, str(pathlib.Path(sys.argv[0]).resolve().parent))
runpy.run_path(sys.argv[0], run_name="__main__")
loaded = {line.split()[-1] for line in open("/proc/self/maps")}
for path in sorted(path for path in loaded if pathlib.Path(path).name.startswith(("libLLVM", "libMLIR", "libomp", "libNVFP4", "libnvfp4_runtime"))):
    print("loaded", path)
