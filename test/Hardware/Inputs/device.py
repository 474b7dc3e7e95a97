# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of the differential test, and running one through nvfp4_device.h."""

import ctypes as c
from dataclasses import dataclass, field

import numpy as np


@dataclass
class TensorMap:
    """A tiled tensor over the buffer with index `buffer`."""

    buffer: int
    type: int
    size: list
    stride: list
    box: list
    step: list = None
    swizzle: int = 0
    fill_nan: int = 0


@dataclass
class Case:
    """One launch of the kernel `k`. Its parameters are the addresses of
    `buffers`, then `maps`. Buffers named in `outputs` are the result."""

    group: str
    name: str
    ptx: str
    buffers: list
    outputs: list
    grid: int = 1
    block: int = 32
    cluster: int = 0
    shared: int = 0
    maps: list = field(default_factory=list)
    # "bits", or the float type whose distance in ulp is reported.
    compare: str = "bits"


class _Launch(c.Structure):
    _fields_ = [("grid", c.c_uint32 * 3), ("block", c.c_uint32 * 3),
                ("cluster", c.c_uint32 * 3), ("shared", c.c_uint32),
                ("flags", c.c_uint32), ("stream", c.c_void_p)]


class _Map(c.Structure):
    _fields_ = [("type", c.c_int), ("rank", c.c_uint32),
                ("address", c.c_void_p), ("size", c.c_uint64 * 5),
                ("stride", c.c_uint64 * 4), ("box", c.c_uint32 * 5),
                ("step", c.c_uint32 * 5), ("swizzle", c.c_int),
                ("promotion", c.c_int), ("fill_nan", c.c_int)]


class _Info(c.Structure):
    _fields_ = [("kind", c.c_char_p), ("name", c.c_char_p), ("ordinal", c.c_int),
                ("architecture", c.c_int), ("multiprocessors", c.c_int),
                ("shared_memory", c.c_size_t), ("memory", c.c_size_t)]


class Device:
    """A device of the runtime's C interface; failures raise RuntimeError."""

    def __init__(self, library, name):
        self.lib = c.CDLL(library)
        self.lib.nvfp4_last_error.restype = c.c_char_p
        self.handle = c.c_void_p()
        self._check(self.lib.nvfp4_device_open(name.encode(),
                                               c.byref(self.handle)))
        info = _Info()
        self._check(self.lib.nvfp4_device_query(self.handle, c.byref(info)))
        self.name = info.name.decode()
        self.architecture = info.architecture

    def _check(self, status):
        if status:
            raise RuntimeError(self.lib.nvfp4_last_error().decode())

    def usable(self):
        """Whether the device takes more work: faults of kernels last."""
        return self.lib.nvfp4_device_synchronize(self.handle) == 0

    def run(self, case):
        """Bytes of the output buffers after the launch."""
        lib, handle = self.lib, self.handle
        module, kernel = c.c_void_p(), c.c_void_p()
        self._check(lib.nvfp4_device_module_load(handle, case.ptx.encode(),
                                                 c.byref(module)))
        self._check(lib.nvfp4_device_module_kernel(module, b"k",
                                                   c.byref(kernel)))
        pointers = []
        for data in case.buffers:
            pointer = c.c_void_p()
            self._check(lib.nvfp4_device_alloc(handle, c.c_size_t(data.nbytes),
                                               c.byref(pointer)))
            self._copy(pointer, data.ctypes.data, data.nbytes)
            pointers.append(pointer)
        values = list(pointers)
        for spec in case.maps:
            values.append(self._encode(spec, pointers[spec.buffer]))
        arguments = (c.c_void_p * len(values))(
            *[c.cast(c.byref(v), c.c_void_p) if isinstance(v, c.c_void_p)
              else c.c_void_p(v.ctypes.data) for v in values])
        cluster = [case.cluster, 1, 1] if case.cluster else [0, 0, 0]
        launch = _Launch((c.c_uint32 * 3)(case.grid, 1, 1),
                         (c.c_uint32 * 3)(case.block, 1, 1),
                         (c.c_uint32 * 3)(*cluster), case.shared, 0, None)
        self._check(lib.nvfp4_kernel_launch(kernel, c.byref(launch), arguments))
        self._check(lib.nvfp4_device_synchronize(handle))
        result = b""
        for i in case.outputs:
            out = np.empty(case.buffers[i].nbytes, np.uint8)
            self._copy(out.ctypes.data, pointers[i], out.nbytes)
            result += out.tobytes()
        for pointer in pointers:
            self._check(lib.nvfp4_device_free(handle, pointer))
        lib.nvfp4_device_module_release(module)
        return result

    def _copy(self, target, source, size):
        as_pointer = lambda p: p if isinstance(p, c.c_void_p) else c.c_void_p(p)
        self._check(self.lib.nvfp4_device_copy(
            self.handle, as_pointer(target), as_pointer(source),
            c.c_size_t(size), None))

    def _encode(self, spec, address):
        fill = lambda values, n, of: (of * n)(*values, *[0] * (n - len(values)))
        raw = _Map(spec.type, len(spec.size), address,
                   fill(spec.size, 5, c.c_uint64),
                   fill(spec.stride, 4, c.c_uint64),
                   fill(spec.box, 5, c.c_uint32),
                   fill(spec.step or [1] * len(spec.box), 5, c.c_uint32),
                   spec.swizzle, 0, spec.fill_nan)
        room = np.zeros(192, np.uint8)
        room = room[-room.ctypes.data % 64:][:128]
        self._check(self.lib.nvfp4_tensor_map_encode(
            self.handle, c.byref(raw), c.c_void_p(room.ctypes.data)))
        return room
