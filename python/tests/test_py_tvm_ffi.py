# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of artefacts by tvm-ffi's convention, with the package itself: results, memory, streams, and bad arguments.

Skipped without tvm-ffi.
"""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import nvfp4
from nvfp4 import _library
from nvfp4_module import PRELOAD

tvm_ffi = pytest.importorskip("tvm_ffi")

TEXT = """
!act = !grouped_scaled_gemm.scaled<?x64, nvfp4>
!w   = !grouped_scaled_gemm.scaled<3x32x64, nvfp4>
func.func @experts(%x: !act, %w: !w, %ends: tensor<3xi32>, %out: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %y = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<3xi32>)
      lhs(%x : !act) rhs(%w : !w) outs(%out : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}
func.func @numbers(%a: i8, %b: i1, %c: i64, %d: f16, %e: bf16, %f: f32, %g: f64) -> (i8, i1, i64, f16, bf16, f32, f64) {
  return %a, %b, %c, %d, %e, %f, %g : i8, i1, i64, f16, bf16, f32, f64
}
func.func @double(%x: memref<?xf32>) {
  linalg.add ins(%x, %x : memref<?xf32>, memref<?xf32>) outs(%x : memref<?xf32>)
  return
}
func.func @quantize(%x: tensor<?x64xf32>) -> !act {
  %y = grouped_scaled_gemm.quantize <trtllm>(%x : tensor<?x64xf32>) -> !act
  return %y : !act
}
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("tvm_ffi") / "experts.so"
    nvfp4.compile(TEXT).save(path)
    return path


@pytest.fixture(scope="module")
def module(path):
    return tvm_ffi.load_module(str(path))


def make_arguments(rng):
    x, w = (nvfp4.quantize(rng.standard_normal(shape).astype(np.float32)) for shape in ((6, 64), (3, 32, 64)))
    return [x.values, x.scales.view(np.uint8), w.values, w.scales.view(np.uint8), np.array([2, 2, 5], np.int32),
            np.full((6, 32), -1, np.float32)]


def expect(path, arguments, function="experts"):
    return nvfp4.load(path).run(*arguments, entry=function)


def test_results_are_new_tensors_or_those_given(rng, path, module):
    arguments = make_arguments(rng)
    wanted = expect(path, arguments)
    got = module.experts(*arguments)
    assert np.from_dlpack(got).tobytes() == wanted.tobytes()
    out = np.empty_like(wanted)
    assert module.experts(*arguments, out) is None
    assert out.tobytes() == wanted.tobytes()
    # An argument that is no memref is not written to.
    assert (arguments[-1] == -1).all()


def test_values_and_scales_as_pairs(rng, path, module):
    x, xs, w, ws, ends, out = make_arguments(rng)
    got = module.experts((x, xs), [w, ws], ends, out)
    assert np.from_dlpack(got).tobytes() == expect(path, [x, xs, w, ws, ends, out]).tobytes()


def test_several_results_are_an_array(rng, path, module):
    x = rng.standard_normal((5, 64)).astype(np.float32)
    values, scales = module.quantize(x)
    wanted = nvfp4.quantize(x)
    assert str(values.dtype) == "uint8" and np.from_dlpack(values).tobytes() == wanted.values.tobytes()
    room = np.empty((5, 4), np.uint8)
    given = np.empty((5, 32), np.uint8)
    assert module.quantize(x, given, room) is None
    assert given.tobytes() == wanted.values.tobytes() and room.tobytes() == wanted.scales.tobytes()


def test_memrefs_are_written_to(module):
    x = np.arange(4, dtype=np.float32)
    assert module.double(x) is None
    assert x.tolist() == [0, 2, 4, 6]


def test_numbers(module):
    assert list(module.numbers(-128, True, 2**62 + 1, 0.5, 3, 0.1, 0.1)) == [-128, True, 2**62 + 1, 0.5, 3, float(np.float32(0.1)),
                                                                           0.1]
    # A tensor without dimensions is a number, too.
    assert module.numbers(np.array(7, np.int8), 0, 0, 0.0, 0.0, 0.0, np.array(2.5))[0] == 7


BAD_NUMBERS = [
    (0, 128, "argument 0 of 'numbers': expected a whole number from -128 to 127, but got 128"),
    (0, 1.0, "argument 0 of 'numbers': expected a whole number from -128 to 127, but got 1.0"),
    (1, 2, "argument 1 of 'numbers': expected a whole number from 0 to 1, but got 2"),
    (3, 1e5, "argument 3 of 'numbers': expected a number that f16 holds, but got 100000.0"),
    (4, 257, "argument 4 of 'numbers': expected a number that bf16 holds, but got 257"),
    (5, 1e39, "argument 5 of 'numbers': expected a number that f32 holds, but got 1e\\+39"),
    (6, "one", "argument 6 of 'numbers': expected a number, but got a value of tvm-ffi's type index"),
    (6, None, "argument 6 of 'numbers': expected a number, but got None"),
    (2, np.array(1.0), "argument 2 of 'numbers': expected element type i64, but got f64"),
]


@pytest.mark.parametrize("index, value, message", BAD_NUMBERS)
def test_bad_numbers(module, index, value, message):
    arguments = [0, 0, 0, 0.0, 0.0, 0.0, 0.0]
    arguments[index] = value
    with pytest.raises((TypeError, ValueError), match=message):
        module.numbers(*arguments)


BAD_TENSORS = [
    (lambda a: a[:-1], TypeError, "'experts': expected 6 arguments, or 7 with results to write to"),
    (lambda a: a + a, TypeError, "but got 12"),
    (lambda a: [3, *a[1:]], TypeError, r"argument 0 of 'experts' \(values of .*\): expected a tensor, but got an integer"),
    (lambda a: [*a[:4], "ends", a[5]], TypeError, "argument 4 of 'experts': expected a tensor, but got"),
    (lambda a: [[a[:2]], *a[2:]], TypeError, "'experts': expected 6 arguments"),
    (lambda a: [a[0].astype(np.float32), *a[1:]], ValueError, "argument 0 .*: expected element type i8, but got f32"),
    (lambda a: [a[0], a[1].astype(np.int32), *a[2:]], ValueError, "argument 1 .*: expected element type f8E4M3FN, but got i32"),
    (lambda a: [*a[:2], a[2][:2], *a[3:]], ValueError, r"argument 2 .*: expected shape \[3, 32, 32\], but got \[2, 32, 32\]"),
    (lambda a: [a[0][0], *a[1:]], ValueError, "argument 0 .*: expected rank 2, but got 1"),
    (lambda a: [a[0][:5], *a[1:]], ValueError, "argument 1 .*: expected leading extents"),
    (lambda a: [a[0][:, ::-1], *a[1:]], ValueError, "argument 0 .*: expected a row-major tensor without gaps"),
    (lambda a: [*a[:5], np.empty((6, 64), np.float32)[:, ::2]], ValueError, "argument 5 .*: expected a row-major tensor"),
    (lambda a: [*a[:4], np.array([2, 1, 5], np.int32), a[5]], ValueError, r"expected group ends\[1\] to be at least 2"),
    (lambda a: [*a, np.empty((5, 32), np.float32)], ValueError, r"result 0 of 'experts': expected shape \[6, 32\], but got"),
    (lambda a: [*a, np.empty((6, 31), np.float32)], ValueError, r"result 0 of 'experts': expected shape \[\?, 32\], but got"),
    (lambda a: [*a, 7], TypeError, "result 0 of 'experts': expected a tensor, but got an integer"),
]


@pytest.mark.parametrize("change, error, message", BAD_TENSORS, ids=range(len(BAD_TENSORS)))
def test_bad_arguments(rng, module, change, error, message):
    with pytest.raises(error, match=message):
        module.experts(*change(make_arguments(rng)))


def test_signature_as_documentation(module):
    text = module.get_function_doc("experts")
    assert "argument: i8[?, 32], values of !grouped_scaled_gemm.scaled<?x64, nvfp4>" in text
    assert "result: f32[?, 32]" in text


# Programs of other processes have no package of ours, and may open the artefact before tvm-ffi.
PROGRAM = """
import ctypes, sys
import numpy as np
if sys.argv[2] == "first":
    ctypes.CDLL(sys.argv[1])
import tvm_ffi
experts = tvm_ffi.load_module(sys.argv[1]).experts
rng = np.random.default_rng(1)
codes = lambda *shape: rng.integers(0, 256, shape, np.uint8)
x, w = codes(6, 32), codes(3, 32, 32)
y = np.from_dlpack(experts(x, np.full((6, 4), 0x38, np.uint8), w, np.full((3, 32, 4), 0x38, np.uint8),
                           np.array([2, 2, 6], np.int32), np.zeros((6, 32), np.float32)))
grid = np.array([0, .5, 1, 1.5, 2, 3, 4, 6])
value = lambda c: np.where(c & 8, -1, 1) * grid[c & 7]
unpack = lambda b: np.stack([value(b & 15), value(b >> 4)], -1).reshape(*b.shape[:-1], -1)
expert = np.array([0, 0, 2, 2, 2, 2])
wanted = np.einsum("rk,rnk->rn", unpack(x), unpack(w)[expert])
print((y == wanted).all(), "nvfp4" in sys.modules)
"""


def run_python(program, *arguments):
    """A process without the package, where it begins with the sanitizer that this one has."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("NVFP4", "PYTHONPATH"))}
    return subprocess.run([sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True,
                          env={**environment, **PRELOAD}, cwd=pathlib.Path(arguments[0]).parent)


@pytest.mark.parametrize("order", ["first", "later"])
def test_process_without_the_package(path, order):
    done = run_python(PROGRAM, path, order)
    assert done.stdout == "True False\n", done.stderr


def test_process_without_tvm_ffi(path):
    program = ("import ctypes, sys; f = ctypes.CDLL(sys.argv[1]).__tvm_ffi_double; r = ctypes.CDLL('libnvfp4_runtime.so.0');"
               "r.nvfp4_last_error.restype = ctypes.c_char_p; print(f(None, None, 0, None), r.nvfp4_last_error().decode())")
    done = run_python(program, path)
    assert done.stdout.startswith("-1 expected libtvm_ffi in this process"), done.stderr


def is_mapped(path):
    return str(path) in pathlib.Path("/proc/self/maps").read_text()


def test_artefacts_stay_loaded_once_called(tmp_path):
    """Later modules of the same file are the same code."""
    path, x = tmp_path / "experts.so", np.ones(3, np.float32)
    nvfp4.compile(TEXT).save(path)
    module = tvm_ffi.load_module(str(path), keep_module_alive=False)
    assert is_mapped(path)
    del module
    assert not is_mapped(path)
    for _ in range(3):
        module = tvm_ffi.load_module(str(path), keep_module_alive=False)
        module.double(x)
        del module
        assert is_mapped(path)
    assert x.tolist() == [8, 8, 8]


# Nothing in the file is needed to unload it, or to end the process. The runtime is there before, as it is with the package:
# at its end libomp looks names up in the library that brought it.
TRUNCATED = """
import ctypes, os, sys
ctypes.CDLL(sys.argv[3])
import numpy as np
import tvm_ffi
path = sys.argv[1]
if sys.argv[2] == "link":
    os.symlink(path, path + ".link.so")
    path += ".link.so"
module = tvm_ffi.load_module(path, keep_module_alive=False)
x = np.ones(3, np.float32)
if sys.argv[2] != "uncalled":
    module.double(x)
os.truncate(path, 0)
del module
print("end")
"""


@pytest.mark.parametrize("case", ["called", "link", "uncalled"])
def test_truncated_artefacts_are_unloaded(tmp_path, case):
    path = tmp_path / "experts.so"
    nvfp4.compile(TEXT).save(path)
    done = run_python(TRUNCATED, path, case, _library.library_folders()[0] / "libnvfp4_runtime.so.0")
    assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr


def test_torch_tensors(rng, path, module):
    torch = pytest.importorskip("torch")
    arguments = make_arguments(rng)
    tensors = [torch.from_numpy(each) for each in arguments]
    got = module.experts(*tensors)
    assert isinstance(got, torch.Tensor)
    assert got.numpy().tobytes() == expect(path, arguments).tobytes()
    with pytest.raises(ValueError, match="argument 0 .*: expected a row-major tensor without gaps"):
        module.experts(tensors[0].T.contiguous().T, *tensors[1:])


def test_tensors_of_cpp(path, tmp_path):
    """A program in C++ with tvm-ffi's headers."""
    from tvm_ffi import libinfo
    library = pathlib.Path(libinfo.find_libtvm_ffi())
    source, program = tmp_path / "call.cpp", tmp_path / "call"
    source.write_text("""
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/module.h>
#include <cstdio>
int main(int, char **argv) {
  namespace ffi = tvm::ffi;
  ffi::Module module = ffi::Module::LoadFromFile(argv[1]);
  float values[3] = {1, 2, 3};
  int64_t shape = 3;
  DLTensor tensor{values, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, &shape, nullptr, 0};
  module->GetFunction("double").value()(&tensor);
  try {
    module->GetFunction("double").value()(1);
  } catch (const ffi::Error &error) {
    std::printf("%s: %s\\n", error.kind().c_str(), error.message().c_str());
  }
  std::printf("%g %g %g\\n", values[0], values[1], values[2]);
}
""")
    includes = [f"-I{path}" for path in (libinfo.find_include_path(), libinfo.find_dlpack_include_path())]
    build = subprocess.run(["clang++-22", "-std=c++17", "-O0", "-w", *includes, str(source), str(library), "-o", str(program),
                            f"-Wl,-rpath,{library.parent}"], capture_output=True, text=True)
    assert not build.returncode, build.stderr
    done = subprocess.run([str(program), str(path)], capture_output=True, text=True, env={**os.environ, **PRELOAD})
    assert done.stdout == ("TypeError: argument 0 of 'double': expected a tensor, but got an integer\n"
                           "2 4 6\n"), done.stderr
