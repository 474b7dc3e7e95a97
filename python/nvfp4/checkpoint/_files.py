# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of tensors by name, as the safetensors library writes them."""

from __future__ import annotations

import functools
import json
import mmap
import os
import pathlib
import struct
from collections.abc import Iterator, Mapping
from typing import Any

import ml_dtypes
import numpy as np

from .. import _dlpack
from ..errors import ArgumentError, CheckpointError
from ._config import QuantizationConfig, read_config, read_json

_DTYPES: dict[str, Any] = {
    "F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16, "I64": np.int64,
    "I32": np.int32, "I16": np.int16, "I8": np.int8, "U64": np.uint64, "U32": np.uint32, "U16": np.uint16,
    "U8": np.uint8, "BOOL": np.bool_, "F8_E4M3": ml_dtypes.float8_e4m3fn, "F8_E5M2": ml_dtypes.float8_e5m2,
    "F8_E8M0": ml_dtypes.float8_e8m0fnu}
_NAMES = {np.dtype(kind): name for name, kind in _DTYPES.items()}
_LONGEST_HEADER = 100_000_000


class Checkpoint(Mapping[str, np.ndarray]):
    """The tensors of a ``.safetensors`` file, or of a folder with an index or with several files, by name.

    Arrays lie in the mapped file, read-only and without a copy. CheckpointError for files that are not what they say.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = pathlib.Path(path)
        self._places: dict[str, tuple[mmap.mmap, np.dtype, tuple[int, ...], int]] = {}
        for file in self._files():
            self._open(file)

    def _files(self) -> list[pathlib.Path]:
        if not self.path.is_dir():
            return [self.path]
        index = self.path / "model.safetensors.index.json"
        if index.exists():
            names = read_json(index).get("weight_map")
            if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
                raise CheckpointError(f"{index}: expected weight_map, an object of file names")
            return sorted({self.path / name for name in names.values()})
        files = sorted(self.path.glob("*.safetensors"))
        if not files:
            raise CheckpointError(f"expected .safetensors files in {self.path}, but there is none")
        return files

    def _open(self, file: pathlib.Path) -> None:
        def fail(why: str) -> None:
            raise CheckpointError(f"{file}: {why}")

        try:
            with open(file, "rb") as stream:
                size = os.fstat(stream.fileno()).st_size
                if size < 8:
                    fail(f"expected a safetensors file, but got {size} bytes")
                length, = struct.unpack("<Q", stream.read(8))
                if length > min(size - 8, _LONGEST_HEADER):
                    fail(f"expected a safetensors file, with a header of at most {min(size - 8, _LONGEST_HEADER)} bytes, but "
                         f"its length is {length}")
                header = json.loads(stream.read(length))
                data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise CheckpointError(f"could not read {file}: {error.strerror}") from None
        except CheckpointError:
            raise
        except (ValueError, RecursionError) as error:
            raise CheckpointError(f"{file}: expected a header in JSON, but {error}") from None
        if not isinstance(header, dict):
            fail("expected a header that is an object")
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            try:
                dtype = np.dtype(_DTYPES[entry["dtype"]])
                shape = tuple(int(extent) for extent in entry["shape"])
                begin, end = (int(offset) for offset in entry["data_offsets"])
            except (KeyError, TypeError, ValueError) as error:
                fail(f"expected dtype, shape and data_offsets of '{name}', but {error!r}")
            count = 1
            for extent in shape:
                count *= extent
            if min((0, *shape)) < 0 or not 0 <= begin <= end <= size - 8 - length or end - begin != count * dtype.itemsize:
                fail(f"expected {count * dtype.itemsize} bytes within the file for '{name}', but got offsets {begin} to {end}")
            if name in self._places:
                fail(f"expected one tensor called '{name}', but there are two")
            self._places[name] = data, dtype, shape, 8 + length + begin

    @functools.cached_property
    def quantization(self) -> QuantizationConfig | None:
        """What ``config.json`` or ``hf_quant_config.json`` of a folder says, None for a file or where they say nothing."""
        return read_config(self.path) if self.path.is_dir() else None

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._places:
            raise CheckpointError(f"{self.path}: expected a tensor called '{name}', but there is none")
        data, dtype, shape, offset = self._places[name]
        count = int(np.prod(shape, dtype=np.int64))
        flat = np.frombuffer(data, np.uint8, count * dtype.itemsize, offset)
        if offset % dtype.itemsize:
            flat = flat.copy()
        return flat.view(dtype).reshape(shape)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def other_names(tensors: Mapping[str, Any]) -> str:
    """For a message: what there is where no name starts as expected."""
    names = sorted(tensors)
    return (f"no such name among {len(names)}, such as " if names else "no tensors") + ", ".join(names[:4])


def write_safetensors(path: str | os.PathLike[str], tensors: Mapping[str, Any],
                      metadata: Mapping[str, str] | None = None) -> None:
    """Writes arrays or DLPack tensors by name. The file appears whole or not at all."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    arrays, offset = [], 0
    for name, value in tensors.items():
        array = np.ascontiguousarray(_dlpack.asarray(value)).reshape(np.shape(value))
        if array.dtype not in _NAMES:
            raise ArgumentError(f"expected '{name}' of a type that safetensors has, but got {array.dtype}")
        header[name] = {"dtype": _NAMES[array.dtype], "shape": list(array.shape),
                        "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
        arrays.append(array)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    target = pathlib.Path(path)
    part = target.with_name(target.name + ".part")
    with open(part, "wb") as stream:
        stream.write(struct.pack("<Q", len(text)) + text)
        for array in arrays:
            stream.write(array.reshape(-1).view(np.uint8).data)
    os.replace(part, target)
