# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory, kernels and launches by nvfp4_device.h: of a GPU or of the simulator."""

import ctypes

import numpy as np

POINTER, SIZE, U32 = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32


class Info(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_char_p), ("name", ctypes.c_char_p), ("ordinal", ctypes.c_int),
                ("architecture", ctypes.c_int), ("multiprocessors", ctypes.c_int), ("shared_memory", SIZE),
                ("memory", SIZE)]


class Launch(ctypes.Structure):
    _fields_ = [("grid", U32 * 3), ("block", U32 * 3), ("cluster", U32 * 3), ("shared_memory", U32), ("flags", U32),
                ("stream", POINTER)]


class MapSpec(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("rank", U32), ("address", POINTER), ("size", ctypes.c_uint64 * 5),
                ("stride", ctypes.c_uint64 * 4), ("box", U32 * 5), ("element_stride", U32 * 5),
                ("swizzle", ctypes.c_int), ("l2_promotion", ctypes.c_int), ("fill_nan", ctypes.c_int)]


class Map(ctypes.Structure):
    """A tensor map, as a kernel takes it."""

    _fields_ = [("bytes", ctypes.c_char * 128)]


class Array:
    """Row-major memory of a device; freed with the device."""

    def __init__(self, address, shape, dtype):
        self.address, self.shape, self.dtype = address, tuple(shape), np.dtype(dtype)

    @property
    def nbytes(self):
        return int(np.prod(self.shape)) * self.dtype.itemsize

    def pointer(self):
        return [POINTER(self.address)]

    def memref(self):
        """The words of a memref in a parameter list: pointer twice, offset, extents, strides."""
        strides = [int(np.prod(self.shape[i + 1:])) for i in range(len(self.shape))]
        return [POINTER(self.address)] * 2 + [ctypes.c_int64(word) for word in (0, *self.shape, *strides)]


class Device:
    def __init__(self, library, name):
        self.library, self.handle, self.stream = library, POINTER(), POINTER()
        self.call("device_open", name.encode(), ctypes.byref(self.handle))
        info = Info()
        self.call("device_query", self.handle, ctypes.byref(info))
        self.multiprocessors, self.name = info.multiprocessors, info.name.decode()
        self.call("stream_create", self.handle, ctypes.byref(self.stream))
        self.keep = []

    def call(self, function, *arguments):
        if getattr(self.library, "nvfp4_" + function)(*arguments):
            raise SystemExit(f"moe_layer: {self.library.nvfp4_last_error().decode(errors='replace')}")

    def empty(self, shape, dtype, fill=0xFF):
        """Memory full of `fill`, so that what was not written is NaN or out of range."""
        address = POINTER()
        array = Array(None, shape, dtype)
        self.call("device_alloc", self.handle, SIZE(max(array.nbytes, 1)), ctypes.byref(address))
        array.address = address.value
        self.fill(array, fill)
        return array

    def fill(self, array, byte):
        self.call("device_fill", self.handle, POINTER(array.address), U32(byte), ctypes.c_uint(1), SIZE(array.nbytes),
                  self.stream)

    def upload(self, host):
        host = np.ascontiguousarray(host)
        array = self.empty(host.shape, host.dtype)
        self.call("device_copy", self.handle, POINTER(array.address), POINTER(host.ctypes.data), SIZE(host.nbytes),
                  self.stream)
        self.synchronize()
        return array

    def download(self, array):
        host = np.empty(array.shape, array.dtype)
        self.call("device_copy", self.handle, POINTER(host.ctypes.data), POINTER(array.address), SIZE(array.nbytes),
                  self.stream)
        self.synchronize()
        return host

    def synchronize(self):
        self.call("stream_synchronize", self.handle, self.stream)

    def load(self, ptx, names):
        """Kernels of a module by their names."""
        module, kernels = POINTER(), {}
        self.call("device_module_load", self.handle, ctypes.c_char_p(ptx), ctypes.byref(module))
        for name in names:
            kernels[name] = POINTER()
            self.call("device_module_kernel", module, name.encode(), ctypes.byref(kernels[name]))
        return kernels

    def prepare(self, kernel, grid, block, shared, flags, arguments):
        """A launch that can be repeated: a function without arguments."""
        launch = Launch(grid=(grid, 1, 1), block=(block, 1, 1), shared_memory=shared, flags=flags, stream=self.stream)
        pointers = (POINTER * len(arguments))(*map(ctypes.addressof, arguments))
        self.keep.append((launch, pointers, arguments))
        return lambda: self.call("kernel_launch", kernel, ctypes.byref(launch), pointers)

    def token_map(self, tokens, rows, blocks):
        """Boxes of `rows` rows by `blocks` blocks of 64 columns of bf16, each block behind the other."""
        count, columns = tokens.shape
        spec = MapSpec(type=9, rank=3, address=tokens.address, size=(64, count, columns // 64),
                       stride=(2 * columns, 128), box=(64, rows, blocks), swizzle=3, l2_promotion=2)
        storage = ctypes.create_string_buffer(256)
        aligned = (ctypes.addressof(storage) + 63) // 64 * 64
        self.call("tensor_map_encode", self.handle, ctypes.byref(spec), POINTER(aligned))
        result = Map()
        ctypes.memmove(ctypes.addressof(result), aligned, 128)
        return result

    def time(self, work):
        """Milliseconds of `work`, by events of the device."""
        events = [POINTER(), POINTER()]
        for event in events:
            self.call("event_create", self.handle, ctypes.c_int(1), ctypes.byref(event))
        self.call("event_record", self.handle, events[0], self.stream)
        work()
        self.call("event_record", self.handle, events[1], self.stream)
        self.call("event_synchronize", self.handle, events[1])
        elapsed = ctypes.c_float()
        self.call("event_elapsed", self.handle, *events, ctypes.byref(elapsed))
        for event in events:
            self.call("event_destroy", self.handle, event)
        return elapsed.value


class Graph:
    """What `work` puts in the stream of a GPU, captured as a CUDA graph."""

    def __init__(self, device, work):
        self.device, self.cuda = device, ctypes.CDLL("libcuda.so.1")
        graph, context, self.handle = POINTER(), POINTER(), POINTER()
        # The runtime makes it current for its own calls alone.
        self.check(self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
        self.check(self.cuda.cuCtxSetCurrent(context))
        relaxed = ctypes.c_int(2)
        self.check(self.cuda.cuStreamBeginCapture_v2(device.stream, relaxed))
        work()
        self.check(self.cuda.cuStreamEndCapture(device.stream, ctypes.byref(graph)))
        self.check(self.cuda.cuGraphInstantiateWithFlags(ctypes.byref(self.handle), graph, ctypes.c_ulonglong(0)))

    def check(self, code):
        if code:
            raise SystemExit(f"moe_layer: the CUDA driver says {code}")

    def launch(self):
        self.check(self.cuda.cuGraphLaunch(self.handle, self.device.stream))
