# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of XLA's handlers as XLA makes them (its C interface of version 0.3), on the simulator or with arrays of the host."""

import ctypes

import numpy as np

import nvfp4

P, S = ctypes.c_void_p, ctypes.c_size_t
INITIALIZE, EXECUTE = 2, 3
# XLA's numbers of element types.
TYPES = {"bool": 1, "int8": 2, "int32": 4, "int64": 5, "uint8": 6, "float16": 10, "float32": 11, "float64": 12, "bfloat16": 16,
         "float8_e4m3fn": 20, "float4_e2m1fn": 32, "float8_e8m0fnu": 33}


def struct(*fields):
    """A structure that begins with its size and its extensions."""
    return type("Struct", (ctypes.Structure,), {"_fields_": [("size", S), ("extensions", P), *fields]})


Version = struct(("major", ctypes.c_int), ("minor", ctypes.c_int))
Buffer = struct(("type", ctypes.c_int), ("data", P), ("rank", ctypes.c_int64), ("extents", ctypes.POINTER(ctypes.c_int64)))
Buffers = struct(("count", ctypes.c_int64), ("kinds", ctypes.POINTER(ctypes.c_int)), ("buffers", ctypes.POINTER(ctypes.POINTER(Buffer))))
Attributes = struct(("count", ctypes.c_int64), ("kinds", ctypes.POINTER(ctypes.c_int)), ("names", P), ("values", P))
Frame = struct(("api", P), ("context", P), ("stage", ctypes.c_int), ("arguments", Buffers), ("results", Buffers),
               ("attributes", Attributes), ("future", P))
ErrorCreate = struct(("message", ctypes.c_char_p), ("code", ctypes.c_int))
Get = struct(("context", P), ("value", P))
Ordinal = struct(("context", P), ("ordinal", ctypes.c_int32))
Allocate = struct(("context", P), ("bytes", S), ("alignment", S), ("data", P))
Free = struct(("context", P), ("bytes", S), ("data", P))


class Text(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("size", S)]


class Scalar(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("value", P)]


class Metadata(ctypes.Structure):
    _fields_ = [("size", S), ("version", Version), ("traits", ctypes.c_uint32), ("state", ctypes.c_int64)]


class MetadataExtension(ctypes.Structure):
    _fields_ = [("size", S), ("kind", ctypes.c_int), ("next", P), ("metadata", ctypes.POINTER(Metadata))]


class XlaError(Exception):
    """An error that a handler returned, with its code."""


def of(array, kind=None):
    """A buffer of an array of the host or the device."""
    shape = (ctypes.c_int64 * max(len(array.shape), 1))(*array.shape)
    address = array.address if isinstance(array, nvfp4.DeviceTensor) else array.ctypes.data
    buffer = Buffer(ctypes.sizeof(Buffer), None, TYPES[kind or array.dtype.name], address, len(array.shape), shape)
    buffer.keep = shape, array
    return buffer


class Handler:
    """A handler, called with a table of functions that remember what they were asked for."""

    def __init__(self, address):
        self.function = ctypes.CFUNCTYPE(P, P)(address)
        self.stream, self.ordinal, self.allocated, self.freed, self.error = None, 0, [], 0, None
        kinds = [(ErrorCreate, P, self._create), (Get, None, None), (Get, None, lambda _: None), (Get, None, None),
                 (Get, P, self._get_stream), *[(Get, None, None)] * 4, (Allocate, P, self._allocate), (Free, P, self._free),
                 *[(Get, None, None)] * 6, (Ordinal, P, self._get_ordinal)]
        self.calls = [ctypes.CFUNCTYPE(result, ctypes.POINTER(kind))(call) if call else None for kind, result, call in kinds]
        table = [ctypes.cast(call, P).value if call else None for call in self.calls]
        self.api = struct(("version", Version), ("internal", P), ("functions", P * len(table)))()
        self.api.size, self.api.functions = ctypes.sizeof(self.api), (P * len(table))(*table)

    def _create(self, arguments):
        self.error = XlaError(arguments.contents.code, arguments.contents.message.decode())
        return 1

    def _get_stream(self, arguments):
        arguments.contents.value = self.stream

    def _get_ordinal(self, arguments):
        arguments.contents.ordinal = self.ordinal

    def _allocate(self, arguments):
        memory = nvfp4.DeviceArray.of(np.full(arguments.contents.bytes, 127, np.uint8), "sim")
        self.allocated.append(memory)
        arguments.contents.data = memory.address

    def _free(self, _):
        self.freed += 1

    def metadata(self):
        """Version and traits."""
        found = Metadata(ctypes.sizeof(Metadata))
        extension = MetadataExtension(ctypes.sizeof(MetadataExtension), 1, None, ctypes.pointer(found))
        frame = Frame(ctypes.sizeof(Frame), ctypes.addressof(extension))
        assert not self.function(ctypes.addressof(frame))
        return (found.version.major, found.version.minor), found.traits

    def __call__(self, operands, results, stage=EXECUTE, kinds=(), **attributes):
        """Buffers are arrays; ``kinds`` are names of element types in place of those of the first operands."""
        kinds = [*kinds, *[None] * len(operands)]
        frame = Frame(ctypes.sizeof(Frame), None, ctypes.addressof(self.api), None, stage)
        keep = []
        for name, arrays, types in (("arguments", operands, kinds), ("results", results, [None] * len(results))):
            buffers = [of(array, kind) for array, kind in zip(arrays, types)]
            pointers = (ctypes.POINTER(Buffer) * max(len(buffers), 1))(*map(ctypes.pointer, buffers))
            setattr(frame, name, Buffers(ctypes.sizeof(Buffers), None, len(buffers), None, pointers))
            keep += [buffers, pointers]
        names = [Text(name.encode(), len(name)) for name in attributes]
        scalars = [np.asarray(value) for value in attributes.values()]
        values = [Scalar(TYPES[scalar.dtype.name], scalar.ctypes.data) for scalar in scalars]
        lists = [(ctypes.POINTER(type(each[0])) * len(each))(*map(ctypes.pointer, each)) if each else None for each in (names, values)]
        frame.attributes = Attributes(ctypes.sizeof(Attributes), None, len(names), (ctypes.c_int * max(len(names), 1))(*[3] * len(names)),
                                      *(ctypes.addressof(each) if each else None for each in lists))
        self.error = None
        self.function(ctypes.addressof(frame))
        if self.error:
            raise self.error


def handler_of(program, name):
    """The handler of a function of a program or of an artefact."""
    return Handler(nvfp4._library.runtime().nvfp4_function_xla_handler(program.functions[name]._pointer))
