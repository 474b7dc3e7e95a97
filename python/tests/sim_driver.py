# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory, streams and graphs of the simulator, as another library in the process makes them.

With NVFP4_SIM_LIBRARY=libcuda.so.1 they, and with them all tests of the simulated device, are those of a GPU."""

import ctypes
import gc
import os

import numpy as np

import nvfp4
from nvfp4._library import library_folders


class SimMemory:
    """Memory of a simulated device, through the C interface of devices."""

    def __init__(self, name="sim"):
        self.library, self.name = ctypes.CDLL(nvfp4._library.runtime()._name), name
        self.device = ctypes.c_void_p()
        assert not self.library.nvfp4_device_open(name.encode(), ctypes.byref(self.device))

    def put(self, array):
        pointer = ctypes.c_void_p()
        assert not self.library.nvfp4_device_alloc(self.device, ctypes.c_size_t(max(array.nbytes, 1)), ctypes.byref(pointer))
        self.copy(pointer, array.ctypes.data, array.nbytes)
        return nvfp4.DeviceTensor(pointer.value, array.shape, array.dtype, self.name)

    def get(self, tensor):
        array = np.empty(tensor.shape, tensor.dtype)
        self.copy(array.ctypes.data, tensor.address, array.nbytes)
        return array

    def copy(self, target, source, count):
        assert not self.library.nvfp4_device_copy(self.device, ctypes.c_void_p(getattr(target, "value", target)),
                                                  ctypes.c_void_p(source), ctypes.c_size_t(count), None)


class Driver:
    """What another library would do by the driver: streams and graphs of the simulator's first device."""

    def __init__(self):
        self._calls = ctypes.CDLL(os.environ.get("NVFP4_SIM_LIBRARY") or str(library_folders()[0] / "libnvfp4_sim.so.0"))
        context = ctypes.c_void_p()
        self("cuInit", 0)
        self("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self("cuCtxPushCurrent_v2", context)

    def __call__(self, name, *arguments):
        status = getattr(self._calls, name)(*arguments)
        assert status == 0, f"{name}: {status}"

    def stream(self):
        stream = ctypes.c_void_p()
        self("cuStreamCreate", ctypes.byref(stream), 1)
        return stream.value

    def capture(self, work):
        # As torch.cuda.graph does: a program of earlier that is collected now would unload its kernels, which ends a capture.
        gc.collect()
        stream, graph, executable = ctypes.c_void_p(self.stream()), ctypes.c_void_p(), ctypes.c_void_p()
        self("cuStreamBeginCapture_v2", stream, 0)
        work(stream.value)
        self("cuStreamEndCapture", stream, ctypes.byref(graph))
        self("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_uint64(0))

        def replay():
            self("cuGraphLaunch", executable, stream)
            self("cuStreamSynchronize", stream)
        return replay
