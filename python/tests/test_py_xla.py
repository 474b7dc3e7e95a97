# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The handlers that artefacts export for XLA, called as XLA does: on the host, and on the simulator in place of a GPU.

The last test needs JAX and is skipped without it.
"""

import os
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import nvfp4
from nvfp4_formats import random_scaled
from nvfp4_module import PRELOAD
from sim_driver import Driver
from xla_frame import INITIALIZE, XlaError, handler_of

HOST = """
!act = !grouped_scaled_gemm.scaled<?x64, nvfp4>
!w   = !grouped_scaled_gemm.scaled<3x32x64, nvfp4>
func.func @experts(%x: !act, %w: !w, %ends: tensor<3xi32>, %out: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %y = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<3xi32>)
      lhs(%x : !act) rhs(%w : !w) outs(%out : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}
func.func @scale(%x: memref<?xf32>, %a: f32, %y: memref<?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : memref<?xf32>) outs(%y : memref<?xf32>) {
  ^bb0(%from: f32, %to: f32):
    %p = arith.mulf %from, %a : f32
    linalg.yield %p : f32
  }
  return
}
func.func @sum(%a: i32, %b: i32) -> i32 {
  %c = arith.addi %a, %b : i32
  return %c : i32
}
"""
DEVICE = """
!w = !grouped_scaled_gemm.scaled<2x64x128, nvfp4>
func.func @call(%x: memref<?x128xbf16>, %w: memref<2x64x64xi8> {grouped_scaled_gemm.values_of = !w},
                %s: memref<2x64x8xf8E4M3FN> {grouped_scaled_gemm.scales_of = !w}, %ends: memref<2xi32>, %a: f32,
                %y: memref<?x64xf32>) {
  grouped_scaled_gemm.matmul <ragged_rows> groups(%ends : memref<2xi32>) lhs(%x : memref<?x128xbf16>)
      rhs(%w scaled_by %s : memref<2x64x64xi8>, memref<2x64x8xf8E4M3FN> as !w) alpha(%a : f32) outs(%y : memref<?x64xf32>)
  return
}
"""


@pytest.fixture(scope="module")
def program():
    return nvfp4.compile(HOST)


def make_experts(rng):
    x, w = (nvfp4.quantize(rng.standard_normal(shape).astype(np.float32)) for shape in ((6, 64), (3, 32, 64)))
    return [x.values, x.scales, w.values, w.scales, np.array([2, 2, 5], np.int32), np.full((6, 32), -1, np.float32)]


def test_results_are_copied_to_buffers(rng, program):
    arguments, out = make_experts(rng), np.empty((6, 32), np.float32)
    experts = handler_of(program, "experts")
    experts(arguments, [out])
    assert out.tobytes() == program.run(*arguments, entry="experts").tobytes()
    # The same buffer may hold the operand and the result.
    experts(arguments, [arguments[-1]])
    assert arguments[-1].tobytes() == out.tobytes()


def test_packed_values_count_values_where_xla_has_the_type(rng, program):
    arguments, out = make_experts(rng), np.empty((6, 32), np.float32)
    wanted = program.run(*arguments, entry="experts")
    # Memory is packed, the shape is that of the values.
    for i, shape in ((0, (6, 64)), (2, (3, 32, 64))):
        packed = np.zeros(shape, np.uint8)
        packed.reshape(-1)[:arguments[i].size] = arguments[i].reshape(-1)
        arguments[i] = packed
    handler_of(program, "experts")(arguments, [out], kinds=["float4_e2m1fn", None, "float4_e2m1fn"])
    assert out.tobytes() == wanted.tobytes()


def test_arguments_that_are_written_to_may_be_results(program):
    scale, x, y = handler_of(program, "scale"), np.arange(5, dtype=np.float32), np.zeros(5, np.float32)
    scale([x, np.array(3, np.float32)], [y])
    assert y.tolist() == [0, 3, 6, 9, 12]
    # Given as an attribute, a scalar is no operand.
    scale([x], [y], arg1=np.float32(2), other=np.int32(1))
    assert y.tolist() == [0, 2, 4, 6, 8]
    scale([x, y], [y], arg1=np.int64(5))
    assert y.tolist() == [0, 5, 10, 15, 20]


def test_scalar_results(program):
    out = np.zeros((), np.int32)
    handler_of(program, "sum")([np.array(3, np.int32)], [out], arg1=4)
    assert out == 7


def test_what_the_handler_is(program):
    assert handler_of(program, "sum").metadata() == ((0, 3), 0)
    on_device = nvfp4.compile(DEVICE, "sm_90a+sim", memory="device")
    assert handler_of(on_device, "call").metadata() == ((0, 3), 1)


INVALID, UNSUPPORTED = 3, 12
BAD = [
    ("sum", [np.zeros((), np.int32)], [np.zeros((), np.int32)], {}, "'sum': expected 3 operands and results in sum"),
    ("sum", [np.zeros((), np.int32)] * 4, [np.zeros((), np.int32)], {}, "but got 4 operands and 1 results"),
    ("sum", [np.zeros(2, np.int32)] * 2, [np.zeros((), np.int32)], {}, "argument 0 of 'sum': expected rank 0, but got 1"),
    ("sum", [np.zeros((), np.float32)] * 2, [np.zeros((), np.int32)], {}, "argument 0 of 'sum': expected element type i32, but got f32"),
    ("sum", [np.zeros((), np.int32)] * 2, [np.zeros((), np.float32)], {}, "result 0 of 'sum': expected element type i32, but got f32"),
    ("sum", [], [np.zeros((), np.int32)], {"arg0": 1, "arg1": 2**40}, "attribute arg1 of 'sum': expected a whole number from"),
    ("sum", [], [np.zeros((), np.int32)], {"arg0": 1, "arg7": 2}, "attribute arg7 of 'sum': expected the number of an argument that"),
    ("scale", [np.zeros(4, np.float32)], [np.zeros(4, np.float32)], {"arg0": 1.0}, "attribute arg0 of 'scale': expected the number"),
    ("scale", [np.zeros(4, np.float32)], [np.zeros(4, np.int32)], {"arg1": 1.0}, "argument 2 of 'scale': expected element type f32"),
]


@pytest.mark.parametrize("name, operands, results, attributes, message", BAD, ids=range(len(BAD)))
def test_bad_calls(program, name, operands, results, attributes, message):
    with pytest.raises(XlaError) as raised:
        handler_of(program, name)(operands, results, **attributes)
    assert raised.value.args[0] == INVALID and message in raised.value.args[1]


def test_bad_data(rng, program):
    arguments = make_experts(rng)
    arguments[4][:] = 3, 1, 5
    with pytest.raises(XlaError, match=r"expected group ends\[1\] to be at least 3"):
        handler_of(program, "experts")(arguments, [np.empty((6, 32), np.float32)])


class OnDevice:
    """A product on the simulator whose weights are packed in the workspace of each call."""

    def __init__(self, rng, monkeypatch):
        monkeypatch.setenv("NVFP4_DEVICE", "sim")
        self.program = nvfp4.compile(DEVICE, "sm_90a+sim", memory="device")
        self.handler = handler_of(self.program, "call")
        weights = random_scaled(rng, (2, 64, 128), "nvfp4", lattice=False).store()
        self.host = [rng.standard_normal((9, 128)).astype(ml_dtypes.bfloat16), *weights, np.array([4, 9], np.int32), np.float32(0.5),
                     np.zeros((9, 64), np.float32)]
        self.program.run(*self.host)
        self.wanted = self.host[-1].tobytes()
        self.operands = [nvfp4.DeviceArray.of(each, "sim") for each in self.host[:4]]
        self.out = nvfp4.DeviceArray.of(np.full((9, 64), 7, np.float32), "sim")

    def room(self, size=1 << 17):
        return nvfp4.DeviceArray.of(np.full(size, 127, np.uint8), "sim")


@pytest.fixture
def device(rng, monkeypatch):
    return OnDevice(rng, monkeypatch)


def test_workspace_as_a_result(device):
    device.handler(device.operands, [device.out, device.room()], arg4=np.float32(0.5))
    assert device.out.numpy().tobytes() == device.wanted and not device.handler.allocated


def test_workspace_of_xla(device):
    device.handler(device.operands, [device.out], arg4=np.float32(0.5))
    assert device.out.numpy().tobytes() == device.wanted
    assert len(device.handler.allocated) == device.handler.freed == 1


def test_result_that_shares_the_memory_of_an_operand(device):
    device.handler([*device.operands, device.out], [device.out, device.room()], arg4=np.float32(0.5))
    assert device.out.numpy().tobytes() == device.wanted


def test_capture_after_initialisation(device):
    """Without a call before: XLA initialises a call before it captures a command buffer."""
    handler, room = device.handler, device.room()
    handler(device.operands, [device.out, room], INITIALIZE)

    def work(stream):
        handler.stream = stream
        handler(device.operands, [device.out, room], arg4=np.float32(0.5))
        with pytest.raises(XlaError, match="workspace of 'call': expected it as a further result, of [0-9]+ bytes, since the stream"):
            handler(device.operands, [device.out], arg4=np.float32(0.5))

    replay = Driver().capture(work)
    assert (device.out.numpy() == 7).all()
    replay()
    assert device.out.numpy().tobytes() == device.wanted


def test_bad_calls_on_a_device(device):
    call = device.handler
    with pytest.raises(XlaError, match="argument 4 of 'call': expected the scalar as the attribute arg4"):
        call([*device.operands, nvfp4.DeviceArray.of(np.zeros((), np.float32), "sim")], [device.out])
    with pytest.raises(XlaError, match="workspace of 'call': expected a result of rank 1 of [0-9]+ bytes"):
        call(device.operands, [device.out, device.room(256)], arg4=np.float32(0.5))
    with pytest.raises(XlaError, match="argument 5 of 'call': expected element type f32, but got i32"):
        call(device.operands, [nvfp4.DeviceArray.of(np.zeros((9, 64), np.int32), "sim")], arg4=np.float32(0.5))
    call.ordinal = 7
    with pytest.raises(XlaError):
        call(device.operands, [device.out, device.room()], arg4=np.float32(0.5))


# A process with JAX and without the package.
PROGRAM = """
import ctypes, sys
import jax, numpy as np
library = ctypes.CDLL(sys.argv[1])
jax.ffi.register_ffi_target("scale", jax.ffi.pycapsule(library.nvfp4_xla_ffi_scale), platform="cpu")
call = jax.ffi.ffi_call("scale", jax.ShapeDtypeStruct((3,), np.float32))
print(jax.jit(lambda x: call(x, arg1=np.float32(2)) + 1)(np.arange(3, dtype=np.float32)), "nvfp4" in sys.modules)
"""


def test_jax_without_the_package(tmp_path):
    pytest.importorskip("jax")
    nvfp4.compile(HOST).save(tmp_path / "experts.so")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("NVFP4", "PYTHONPATH"))}
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path / "experts.so")], capture_output=True, text=True,
                          env={**environment, **PRELOAD}, cwd=tmp_path)
    assert done.stdout == "[1. 3. 5.] False\n", done.stderr
