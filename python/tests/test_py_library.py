# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Libraries are found, or what is missing is named; code compiled ahead of time needs no compiler; others' LLVM lives on."""

import os
import subprocess
import sys

import numpy as np
import pytest

import nvfp4
from conftest import ROOT
from nvfp4_module import PRELOAD

SETUP = f"import sys; sys.path.insert(0, {str(ROOT / 'python')!r})\n"


def run(code, **environment):
    done = subprocess.run([sys.executable, "-c", SETUP + code], capture_output=True, text=True,
                          env={**os.environ, **PRELOAD, **environment}, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("variable,words", [("NVFP4_LIBRARY_DIR", ("libnvfp4_runtime.so.0", "pip install .")),
                                            ("NVFP4_MLIR_LIBRARY_DIR", ("libLLVM.so.22.1", "/nowhere"))])
def test_missing_libraries_are_named(variable, words):
    code, text = run("import nvfp4\ntry:\n  nvfp4.compile('module {}')\nexcept nvfp4.LibraryError as e:\n  print('said:', e)",
                     **{variable: "/nowhere"})
    assert code == 0 and "said:" in text, text
    for word in words:
        assert word in text


def test_a_broken_compiler_names_what_to_install(tmp_path):
    folder = os.environ["NVFP4_LIBRARY_DIR"]
    for name in ("libnvfp4_runtime.so.0",):
        (tmp_path / name).symlink_to(os.path.join(folder, name))
    (tmp_path / "libNVFP4Compiler.so.0").write_bytes(b"no library")
    code, text = run("import nvfp4\nprint(nvfp4.cpu_isa())\ntry:\n  nvfp4.compile('module {}')\n"
                     "except nvfp4.LibraryError as e:\n  print('said:', e)", NVFP4_LIBRARY_DIR=str(tmp_path))
    assert code == 0 and "apt-get install libmlir-22" in text, text


def test_compiled_files_run_without_mlir(tmp_path):
    nvfp4.compile("func.func @f(%x: memref<?xf32>, %v: f32) {\n  linalg.fill ins(%v : f32) outs(%x : memref<?xf32>)\n"
                  "  return\n}").save(tmp_path / "f.so")
    code, text = run(f"import numpy as np, nvfp4\nx = np.zeros(3, np.float32)\nnvfp4.load({str(tmp_path / 'f.so')!r})"
                     ".run(x, 2.5)\nprint(x, 'libMLIR' in open('/proc/self/maps').read())")
    assert code == 0 and "[2.5 2.5 2.5] False" in text, text


def test_modules_of_others_conventions_are_imported_on_use():
    names = "checkpoint", "cudnn", "gpumode"
    code, text = run(f"import nvfp4\nassert not any('nvfp4.' + n in sys.modules for n in {(*names, 'torch')})\n"
                     "assert 'torch' not in sys.modules\n"
                     "print(nvfp4.checkpoint.load_moe, nvfp4.cudnn.GroupedGemmGluSm100, nvfp4.gpumode.custom_kernel)\n"
                     f"assert all(sys.modules['nvfp4.' + n] is getattr(nvfp4, n) for n in {names})\n"
                     "assert not hasattr(nvfp4, 'triton') and 'torch' not in sys.modules\nprint('good')")
    assert code == 0 and text.endswith("good\n"), text


def test_llvm_stays_out_of_the_global_symbols():
    """Another copy of LLVM in the process, such as Triton's, would otherwise be bound to ours and crash."""
    code, text = run("import ctypes, nvfp4\nnvfp4.compile('func.func @f() { return }').run()\n"
                     "main = ctypes.CDLL(None)\nprint([hasattr(main, n) for n in "
                     "('LLVMContextCreate', 'nvfp4ContextCreate', '__kmpc_fork_call')])")
    assert code == 0 and "[False, False, False]" in text, text


def test_programs_live_on_several_threads():
    import threading
    program = nvfp4.compile("func.func @f(%x: memref<?xf32>, %v: f32) {\n"
                            "  linalg.fill ins(%v : f32) outs(%x : memref<?xf32>)\n  return\n}")
    arrays = [np.full(1000, np.nan, np.float32) for _ in range(8)]
    failures = []

    def work(index):
        try:
            for _ in range(20):
                program.run(arrays[index], float(index))
            nvfp4.compile("func.func @g() { return }").run()
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    for index, array in enumerate(arrays):
        assert (array == index).all()
