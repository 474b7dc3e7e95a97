# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The test that scripts/check-wheel runs on the installed package: each of its parts once, with numpy alone as the oracle."""

import pathlib
import re
import shutil
import sys
import tempfile

import numpy as np

import nvfp4
import nvfp4.checkpoint
import nvfp4.cudnn
import nvfp4.gpumode


def main():
    place = pathlib.Path(nvfp4.__file__)
    assert "site-packages" in place.parts and pathlib.Path(sys.prefix) in place.parents, place
    assert (place.parent / "py.typed").exists()
    rng = np.random.default_rng(0)
    # Numbers of E2M1 in blocks whose largest is 6: exact in NVFP4, with scales of 1.
    x, w = (rng.choice([-6.0, -3, -1.5, 0, 0.5, 4], s).astype(np.float32) for s in ((20, 64), (3, 32, 64)))
    x[:, ::16], w[..., ::16] = 6, 6
    xq, wq = nvfp4.quantize(x), nvfp4.quantize(w)
    np.testing.assert_array_equal(xq.dequantize(), x)
    ends = np.array([5, 5, 18], np.int32)
    expected = np.full((20, 32), 7, np.float32)
    expected[:5], expected[5:18] = x[:5] @ w[0].T, x[5:18] @ w[2].T
    for target in ("cpu", "sm_100a+sim"):
        out = np.full((20, 32), np.nan, np.float32)
        out[18:] = 7
        nvfp4.grouped_matmul(xq, wq, nvfp4.ragged_rows(ends), out=out, target=target)
        np.testing.assert_array_equal(out, expected)
    program = nvfp4.compile("func.func @f(%x: memref<?xf32>) { return }")
    if any(shutil.which(linker) for linker in ("ld.lld-22", "ld.lld", "ld")):
        with tempfile.TemporaryDirectory() as folder:
            program.save(folder + "/f.so")
            assert nvfp4.load(folder + "/f.so").run(np.zeros(3, np.float32)) is None
    if "--bundled" in sys.argv:
        # No other LLVM of this machine was loaded.
        mapped = pathlib.Path("/proc/self/maps").read_text()
        used = set(re.findall(r"/\S*(?:LLVM|MLIR|libomp|NVFP4|nvfp4)\S*\.so\S*", mapped))
        assert used and all(pathlib.Path(path).parent == place.parent / "lib" for path in used), used
    try:
        nvfp4.compile("nonsense")
    except nvfp4.CompileError as error:
        assert error.diagnostics[0].line == 1
    else:
        raise AssertionError("nonsense was compiled")
    print(f"nvfp4 {nvfp4.__version__} on {sys.version.split()[0]}, {nvfp4.cpu_isa()}, {nvfp4.num_threads()} threads")


if __name__ == "__main__":
    main()
