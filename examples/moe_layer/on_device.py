# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The layer with everything on the device, as nvfp4-compile --memory=device makes it.

Each stage is a function on memory of the device, and so is the whole layer; nothing is read back within. On a GPU a stage
is timed as a CUDA graph.
"""

import ctypes
import time

import numpy as np

REPLAYS, REPEATS = 20, 10


class Driver:
    """A stream of a GPU, and what is captured from it."""

    def __init__(self):
        self.stream, context = ctypes.c_void_p(), ctypes.c_void_p()
        try:
            self.cuda = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise SystemExit(f"moe_layer: expected the CUDA driver on this machine: {error}") from None
        self("cuInit", 0)
        self("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self("cuCtxSetCurrent", context)
        self("cuStreamCreate", ctypes.byref(self.stream), 1)

    def __call__(self, name, *arguments):
        status = getattr(self.cuda, name)(*arguments)
        if status:
            raise SystemExit(f"moe_layer: {name} of the CUDA driver says {status}")

    def capability(self):
        """The compute capability of the GPU."""
        numbers = ctypes.c_int(), ctypes.c_int()
        for number, attribute in zip(numbers, (75, 76)):
            self("cuDeviceGetAttribute", ctypes.byref(number), attribute, 0)
        return numbers[0].value, numbers[1].value

    def free_memory(self):
        """Bytes."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    def time(self, launch):
        """Milliseconds of one launch, of many in a graph."""
        graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
        launch(self.stream.value)
        self("cuStreamSynchronize", self.stream)
        self("cuStreamBeginCapture_v2", self.stream, 0)
        for _ in range(REPEATS):
            launch(self.stream.value)
        self("cuStreamEndCapture", self.stream, ctypes.byref(graph))
        self("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_ulonglong(0))
        events, elapsed, times = (ctypes.c_void_p(), ctypes.c_void_p()), ctypes.c_float(), []
        for event in events:
            self("cuEventCreate", ctypes.byref(event), 0)
        for _ in range(REPLAYS + 1):
            self("cuEventRecord", events[0], self.stream)
            self("cuGraphLaunch", executable, self.stream)
            self("cuEventRecord", events[1], self.stream)
            self("cuEventSynchronize", events[1])
            self("cuEventElapsedTime", ctypes.byref(elapsed), *events)
            times.append(elapsed.value / REPEATS)
        return sorted(times[1:])[REPLAYS // 2]


class OnDevice:
    """Calls stages on the device; for run_stages."""

    def __init__(self, program, package, device, arrays):
        self.program, self.package, self.device = program, package, device
        self.arrays = {name: self._place(array) for name, array in arrays.items()}
        self.driver = Driver() if device == "cuda" else None

    def _place(self, array):
        return self.package.DeviceArray.of(array, self.device)

    def _time(self, call):
        if self.driver:
            return self.driver.time(call.launch)
        start = time.perf_counter()
        call.launch()
        return (time.perf_counter() - start) * 1e3

    def __call__(self, entry, inputs, outputs):
        function = self.package.on_device(self.program, self.device, entry=entry)
        arguments = [name if isinstance(name, int) else self.arrays[name] for name in inputs]
        call = function.bind(arguments)
        for result in call.results:
            # NaN, or out of range: what is not written shows.
            result.copy_from(np.full(result.nbytes, 0xFF, np.uint8).view(result.dtype).reshape(result.shape))
        milliseconds = self._time(call)
        self.arrays.update(zip(outputs, call.results))
        return [result.numpy() for result in call.results], milliseconds, None
