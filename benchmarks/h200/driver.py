# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The CUDA driver's calls that launch a compiled kernel on torch's stream."""

import ctypes

import torch


class LaunchAttribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_int), ("value", ctypes.c_int),
                ("rest", ctypes.c_char * 60)]


class LaunchConfig(ctypes.Structure):
    _fields_ = ([(name, ctypes.c_uint) for name in ("gx", "gy", "gz", "bx", "by", "bz", "shared")]
                + [("stream", ctypes.c_void_p), ("attributes", ctypes.POINTER(LaunchAttribute)),
                   ("count", ctypes.c_uint)])


class Driver:
    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")

    def check(self, code):
        if code:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorString(code, ctypes.byref(text))
            raise RuntimeError(text.value.decode())

    def load(self, path, name, shared):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(self.cuda.cuModuleLoad(ctypes.byref(module), str(path).encode()))
        self.check(self.cuda.cuModuleGetFunction(ctypes.byref(function), module, name.encode()))
        self.check(self.cuda.cuFuncSetAttribute(function, 8, shared))
        return function

    def token_map(self, tokens, rows, depth):
        storage = ctypes.create_string_buffer(256)
        at = (ctypes.addressof(storage) + 127) // 128 * 128
        m, k = tokens.shape
        u64, u32 = ctypes.c_uint64, ctypes.c_uint32
        self.check(self.cuda.cuTensorMapEncodeTiled(
            ctypes.c_void_p(at), 9, 3, ctypes.c_void_p(tokens.data_ptr()),
            (u64 * 3)(64, m, k // 64), (u64 * 2)(2 * k, 128), (u32 * 3)(64, rows, depth // 64),
            (u32 * 3)(1, 1, 1), 0, 3, 3, 0))
        return ctypes.string_at(at, 128)

    def launch(self, function, grid, threads, shared, arguments, overlap):
        """`overlap`: the launch may start before the one before it has ended."""
        pointers = (ctypes.c_void_p * len(arguments))(*[ctypes.addressof(a) for a in arguments])
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        attribute = LaunchAttribute(6, 0, 1)  # programmatic stream serialization
        config = LaunchConfig(grid, 1, 1, threads, 1, 1, shared, stream,
                              ctypes.pointer(attribute), 1 if overlap else 0)
        self.check(self.cuda.cuLaunchKernelEx(ctypes.byref(config), function, pointers, None))


class Map(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 128)]
