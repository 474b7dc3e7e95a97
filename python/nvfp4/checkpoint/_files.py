# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of tensors by name, read and written by the library (``nvfp4-c/TensorIO.h``)."""

from __future__ import annotations

import ctypes
import functools
import os
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

import ml_dtypes
import numpy as np

from .. import _dlpack, _library
from .._exit import release_with
from .._library import StringRef, TensorView, string_ref
from ..errors import ArgumentError, CheckpointError
from ._config import QuantizationConfig, read_config

# Names of the library.
_DTYPES: dict[str, np.dtype] = {name: np.dtype(kind) for name, kind in (
    ("f64", np.float64), ("f32", np.float32), ("f16", np.float16), ("bf16", ml_dtypes.bfloat16), ("i64", np.int64),
    ("i32", np.int32), ("i16", np.int16), ("i8", np.int8), ("u64", np.uint64), ("u32", np.uint32), ("u16", np.uint16),
    ("u8", np.uint8), ("bool", np.bool_), ("f8_e4m3fn", ml_dtypes.float8_e4m3fn), ("f8_e5m2", ml_dtypes.float8_e5m2),
    ("f8_e8m0fnu", ml_dtypes.float8_e8m0fnu))}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


class _Messages:
    """The messages of the library in one call, which fails with them."""

    def __init__(self) -> None:
        self._messages: list[str] = []
        self._callback = _library.DiagnosticCallback(self._take)
        self.sink = _library.Sink(self._callback, None)

    def _take(self, pointer: Any, _: Any) -> None:
        self._messages.append(str(pointer.contents.message))

    def error(self) -> CheckpointError:
        return CheckpointError("\n".join(self._messages))


class _Opened:
    """Files that are open while an array lies in them."""

    def __init__(self, path: str | os.PathLike[str]):
        self._library = _library.compiler()
        messages, name = _Messages(), string_ref(os.fsencode(path))
        self.handle = self._library.nvfp4CheckpointOpen(name, messages.sink)
        if not self.handle:
            raise messages.error()
        release_with(self, self._library.nvfp4CheckpointDestroy, self.handle)

    def names(self) -> list[str]:
        count = self._library.nvfp4CheckpointGetNumTensors(self.handle)
        return [str(self._library.nvfp4CheckpointGetName(self.handle, i)) for i in range(count)]

    def tensor(self, name: str) -> np.ndarray:
        messages, view, key = _Messages(), TensorView(), string_ref(name)
        if not self._library.nvfp4CheckpointGetTensor(self.handle, key, ctypes.byref(view), messages.sink):
            raise messages.error()
        dtype, shape = _DTYPES[str(view.dtype)], tuple(view.shape[:view.rank])
        if not view.size:
            try:
                return np.empty(shape, dtype)
            except ValueError:  # extents beside the zero
                raise CheckpointError(f"expected extents of '{name}' that numpy holds, but got {shape}") from None
        flat = np.asarray(_Mapped(self, view))
        if view.data % dtype.itemsize:
            flat = flat.copy()
        return flat.view(dtype).reshape(shape)


class _Mapped:
    """The bytes of a tensor in its file, as numpy sees them."""

    def __init__(self, opened: _Opened, view: TensorView):
        self._opened = opened
        self.__array_interface__ = {"data": (view.data, True), "shape": (view.size,), "typestr": "|u1", "version": 3}


class Checkpoint(Mapping[str, np.ndarray]):
    """The tensors of a ``.safetensors`` file, of an index, or of a folder with an index or with several files, by name.

    Arrays lie in the mapped file, read-only and without a copy; pairs of 4 bits are bytes. CheckpointError for files that
    are not what they say, and for tensors of types that numpy with ml_dtypes has not.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path: pathlib.Path = pathlib.Path(path)
        self._opened = _Opened(self.path)
        self._names = dict.fromkeys(self._opened.names())

    @functools.cached_property
    def quantization(self) -> QuantizationConfig | None:
        """What ``config.json`` or ``hf_quant_config.json`` of a folder says, None for a file or where they say nothing."""
        return read_config(self.path) if self.path.is_dir() else None

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._names:
            raise CheckpointError(f"{self.path}: expected a tensor called '{name}', but there is none")
        return self._opened.tensor(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def other_names(tensors: Mapping[str, Any]) -> str:
    """For a message: what there is where no name starts as expected."""
    names = sorted(tensors)
    return (f"no such name among {len(names)}, such as " if names else "no tensors") + ", ".join(names[:4])


def write_safetensors(path: str | os.PathLike[str], tensors: Mapping[str, Any],
                      metadata: Mapping[str, str] | None = None) -> None:
    """Writes arrays or DLPack tensors by name. The file appears whole or not at all; a link keeps pointing where it did.

    ArgumentError for types that safetensors has not, and names and metadata that are no text; CheckpointError where the
    file cannot be written, and for a tensor called ``__metadata__``.
    """
    views = (TensorView * max(len(tensors), 1))()
    arrays, texts = [], []  # what the views point to
    for view, (name, value) in zip(views, tensors.items()):
        array = _dlpack.asarray(value)
        array = np.ascontiguousarray(array).reshape(array.shape)
        if array.dtype not in _NAMES:
            raise ArgumentError(f"expected '{name}' of a type that safetensors has, but got {array.dtype}")
        texts += [_text("the name of a tensor", name), string_ref(_NAMES[array.dtype])]
        view.name, view.dtype = texts[-2:]
        view.rank, view.data, view.size = array.ndim, array.ctypes.data, array.nbytes
        view.shape[:array.ndim] = array.shape
        arrays.append(array)
    pairs = [_text("metadata", part) for pair in (metadata or {}).items() for part in pair]
    messages, target = _Messages(), string_ref(os.fsencode(path))
    if not _library.compiler().nvfp4SafetensorsWrite(target, views, len(tensors), (StringRef * max(len(pairs), 1))(*pairs),
                                                     len(pairs) // 2, messages.sink):
        raise messages.error()


def _text(what: str, text: Any) -> StringRef:
    """A text of UTF-8, which the returned object keeps alive."""
    try:
        return string_ref(text.encode())
    except (AttributeError, UnicodeEncodeError):
        raise ArgumentError(f"expected {what} as text in Unicode, but got {text!r}") from None
