# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions on device memory by tvm-ffi's convention, on the simulator: the caller's stream, allocator and graphs.

Skipped without tvm-ffi.
"""

import functools
import os
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import nvfp4
from device_products import FORMS, get_bias, make_text, pack
from nvfp4_formats import random_scaled
from nvfp4_module import PRELOAD

tvm_ffi = pytest.importorskip("tvm_ffi")

from sim_driver import Driver  # noqa: E402
from tvm_sim import SIM, Environment, copy, get, put, view  # noqa: E402

CLAUSES = "alpha(%a : f32) bias(%b : tensor<3x128xf32>)"
_, _, ROWS, WEIGHTS, RESULT = FORMS["masked"]


# Weights as kernels read them; those of a plain layout are packed in the workspace of each call.
LAYOUTS = {"sm_90a": "wgmma", "sm_90a packing": "", "sm_100a": "blocked"}


@functools.cache
def weights_of(layout):
    weights = random_scaled(np.random.default_rng(1), WEIGHTS, "nvfp4", lattice=False)
    if layout != "wgmma":
        return weights.store(layout) if layout else weights.store()
    packed = pack(weights, "nvfp4", layout)
    return packed.values, packed.scales


class Product:
    """A masked product for a target: the function of an artefact by tvm-ffi, and the same on memory of the host."""

    def __init__(self, folder, case):
        target, layout = case.split()[0], LAYOUTS[case]
        self.is_hopper, self.needs_workspace = target == "sm_90a", not layout
        packed = f", {layout}" if layout else ""
        text = make_text("masked", "bf16" if self.is_hopper else None, "nvfp4", packed, packed, CLAUSES)
        self.on_host = nvfp4.compile(text, f"{target}+sim", versions=2)
        path = folder / f"{target}.so"
        nvfp4.compile(text, f"{target}+sim", memory="device", versions=2).save(path)
        self.call, self.weights = tvm_ffi.load_module(str(path)).f, weights_of(layout)

    def arguments(self, rng, groups=(40, 0, 7)):
        """New arguments, of the host."""
        if self.is_hopper:
            rows = [rng.standard_normal(ROWS).astype(ml_dtypes.bfloat16)]
        else:
            rows = list(random_scaled(rng, ROWS, "nvfp4", lattice=False).store("blocked"))
        bias = rng.standard_normal(get_bias("masked")[1]).astype(np.float32)
        return [*rows, *self.weights, np.array(groups, np.int32), bias, 0.75, np.full(RESULT, np.nan, np.float32)]

    @staticmethod
    def place(arguments):
        return [put(each) if np.ndim(each) else each for each in arguments]

    def expect(self, arguments):
        return self.on_host.run(*arguments).tobytes()


@pytest.fixture(scope="module", params=LAYOUTS)
def product(request, tmp_path_factory):
    return Product(tmp_path_factory.mktemp("tvm_ffi"), request.param)


def test_results_and_workspace_of_the_allocator(rng, product):
    arguments = product.arguments(rng)
    with Environment() as environment:
        got = product.call(*product.place(arguments))
    assert get(got).tobytes() == product.expect(arguments)
    assert environment.allocated[0] == RESULT
    # One workspace at most.
    assert [len(shape) for shape in environment.allocated[1:]] == ([1] if product.needs_workspace else [])


def test_results_and_workspace_of_the_caller(rng, product):
    arguments = product.arguments(rng)
    out, room = put(np.full(RESULT, 7, np.float32)), put(np.full(1 << 20, 127, np.uint8))
    assert product.call(*product.place(arguments), out, room) is None
    assert get(out).tobytes() == product.expect(arguments)


def test_stream_and_graph(rng, product):
    """A capture records the call, and a replay computes with the data of then."""
    arguments = product.arguments(rng)
    placed, out = product.place(arguments), put(np.full(RESULT, 7, np.float32))
    # The allocator of this test has no memory for a stream that captures.
    room = put(np.full(1 << 20, 127, np.uint8))
    with Environment():
        product.call(*placed, out, room)
    first = get(out).tobytes()
    environment = Environment()

    def work(stream):
        environment.stream = stream
        with environment:
            product.call(*placed, out, room)

    replay = Driver().capture(work)
    later = product.arguments(rng, (1, 40, 39))
    for target, source in zip(placed, later):
        if np.ndim(source):
            source = np.ascontiguousarray(source)
            copy(view(target).address, source.ctypes.data, source.nbytes)
    assert get(out).tobytes() == first == product.expect(arguments)
    replay()
    assert get(out).tobytes() == product.expect(later)


def test_the_first_call_is_before_a_capture(rng, tmp_path):
    product = Product(tmp_path, "sm_100a")
    placed, out = product.place(product.arguments(rng)), put(np.full(RESULT, 7, np.float32))

    def work(stream):
        with Environment(stream), pytest.raises(ValueError, match="'f': expected a call before the stream captures"):
            product.call(*placed, out)

    Driver().capture(work)


def at(index, change):
    return lambda placed: [change(each) if i == index % len(placed) else each for i, each in enumerate(placed)]


LAST = -1
BAD = [
    (lambda p: p[:-1], TypeError, "'f': expected .+ arguments, or .+ with results to write to, or .+ with a workspace as well"),
    (at(0, lambda t: np.zeros(1, np.uint8)), ValueError, "argument 0 .*: expected memory of a GPU"),
    (at(LAST, lambda t: np.zeros(RESULT, np.float32)), ValueError, "argument . of 'f': expected memory of DLPack device type 12"),
    (at(LAST, lambda t: put(np.zeros(RESULT[1:], np.float32))), ValueError, "argument . of 'f': expected rank 3, but got 2"),
    (at(LAST, lambda t: put(np.zeros(RESULT, np.int32))), ValueError, "argument . of 'f': expected element type f32, but got i32"),
    (at(LAST, lambda t: put(np.zeros((3, 40, 64), np.float32))), ValueError, "argument . of 'f': expected shape"),
    (lambda p: [*p, np.zeros(RESULT, np.float32)], ValueError, "result 0 of 'f': expected memory of DLPack device type 12"),
    (lambda p: [*p, put(np.zeros((3, 41, 128), np.float32))], ValueError, "result 0 of 'f'|'f': .*result 0"),
    (lambda p: [*p, put(np.zeros(RESULT, np.float32)), 3], TypeError, "workspace of 'f': expected a tensor, but got an integer"),
    (lambda p: [*p, put(np.zeros(RESULT, np.float32)), np.zeros(8, np.uint8)], ValueError, "workspace of 'f': expected bytes"),
]


@pytest.mark.parametrize("change, error, message", BAD, ids=range(len(BAD)))
def test_bad_arguments(rng, product, change, error, message):
    with Environment(), pytest.raises(error, match=message):
        product.call(*change(product.place(product.arguments(rng))))


def test_workspace_that_is_too_small(rng, product):
    placed = [*product.place(product.arguments(rng)), put(np.zeros(RESULT, np.float32)), put(np.zeros(64, np.uint8))]
    if not product.needs_workspace:
        assert product.call(*placed) is None
        return
    with pytest.raises(ValueError, match="workspace of 'f': expected [0-9]+ bytes or more, but got 64"):
        product.call(*placed)


def test_no_allocator(rng, product):
    with pytest.raises(RuntimeError, match="result 0 of 'f': expected an allocator in tvm-ffi's environment"):
        product.call(*product.place(product.arguments(rng)))


def test_errors_of_the_allocator(rng, product):
    environment = Environment()
    environment.fails = True
    with environment, pytest.raises(MemoryError, match="no memory today"):
        product.call(*product.place(product.arguments(rng)))


# Some versions of tvm-ffi unload modules by a handler of exit(), when the driver may have ended already.
ENDING = """
import ctypes, pathlib, sys
sys.path[:0] = sys.argv[1].split(":")
import numpy as np
import tvm_ffi
from test_py_tvm_ffi_device import Product
process, handle = ctypes.CDLL(None), ctypes.CDLL(sys.argv[2])._handle
assert not process.__cxa_atexit(ctypes.cast(process.dlclose, ctypes.c_void_p), ctypes.c_void_p(handle), None)
product = Product.__new__(Product)
product.is_hopper, product.weights = True, sys.modules["test_py_tvm_ffi_device"].weights_of("wgmma")
from tvm_sim import Environment
module = tvm_ffi.load_module(sys.argv[2], keep_module_alive=False)
with Environment():
    module.f(*product.place(product.arguments(np.random.default_rng(0))))
del module, product
print("called")
"""


def test_artefacts_that_an_exit_handler_unloads(tmp_path):
    Product(tmp_path, "sm_90a")
    done = subprocess.run([sys.executable, "-c", ENDING, ":".join(sys.path), str(tmp_path / "sm_90a.so")], capture_output=True,
                          text=True, env={**os.environ, **PRELOAD})
    assert (done.returncode, done.stdout) == (0, "called\n"), done.stderr


def test_place_is_that_of_the_simulator(rng):
    assert put(np.zeros(3, np.float32)).__dlpack_device__()[0] == SIM
