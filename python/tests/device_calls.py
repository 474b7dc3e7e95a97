# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of the package in memory of the simulated device, for comparison with the CPU's code."""

import contextlib

import numpy as np

import nvfp4
from nvfp4 import _repeats
from nvfp4._calls import Call
from sim_driver import SimMemory


@contextlib.contextmanager
def calls_on(target, checks=True):
    """Within it, one-operation functions of the package run as kernels for ``target``: arrays are copied there and back.

    Bad data that kernels find are an error as that of the CPU's code, unless ``checks`` is false. The value
    is a list of the functions that ran there."""
    memory, on_host, bind, ran = SimMemory(), (Call.program, Call.call), _repeats._bind, []

    def program(call, *_):
        return nvfp4.compile(call.text(), f"{target}+sim", memory="device")

    def call_on_device(call, program):
        function = nvfp4.on_device(program, "sim")
        signature = call.text().split(") {", 1)[0].split(", %")
        is_tensor = ["memref" in parameter for parameter in signature]
        placed = [memory.put(array) if there else array for array, there in zip(call.arrays, is_tensor, strict=True)]
        workspace = memory.put(np.full(function.workspace(*placed) + 1, 0x7f, np.uint8))
        function.run(placed, [], workspace)
        ran.append(function)
        for array, tensor in zip(call.arrays, placed):
            if tensor is not array and array.flags.writeable:
                array[...] = memory.get(tensor)
        try:
            function.check()
        except nvfp4.DataError as error:
            if checks:
                raise call.explain(error) from None

    Call.program, Call.call = program, call_on_device
    # Calls that the CPU has bound are stated here anew.
    _repeats.forget()
    _repeats._bind = lambda *_: None
    try:
        yield ran
    finally:
        Call.program, Call.call = on_host
        _repeats._bind = bind


def get_bytes(array):
    """The bytes of an array; any NaN is as good as another."""
    array = np.array(array)
    if array.dtype.itemsize > 1 and array.dtype.kind in "fV":
        array[np.isnan(array)] = np.nan
    return array.tobytes()


def check_call(target, function, *arguments, **options):
    """The bytes of the result are those of the CPU's code."""
    wanted = function(*arguments, **options)
    with calls_on(target) as ran:
        got = function(*arguments, **options)
    assert ran, "the call did not run on the device"
    pairs = [(wanted, got)]
    if isinstance(wanted, nvfp4.ScaledTensor):
        pairs = [(wanted.values, got.values), (wanted.scales, got.scales)]
    for expected, result in pairs:
        assert get_bytes(expected) == get_bytes(result)
