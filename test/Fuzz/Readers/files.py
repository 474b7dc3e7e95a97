# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Readers of files: safetensors, the index of a checkpoint, and the description within an artefact."""

import json
import shutil
import struct
import subprocess

import numpy as np

import mutate
import nvfp4
from isolate import Finding
from nvfp4 import checkpoint

SIZES = {"U8": 1, "I8": 1, "BOOL": 1, "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1, "I16": 2, "U16": 2, "F16": 2, "BF16": 2,
         "I32": 4, "U32": 4, "F32": 4, "I64": 8, "U64": 8, "F64": 8}
INDEX = "model.safetensors.index.json"


def pairs(items):
    """An object of JSON, in which no key is there twice."""
    if len(dict(items)) != len(items):
        raise ValueError("a key twice")
    return dict(items)


class Object(dict):
    """An object of JSON that knows which keys are there twice."""

    def __init__(self, items):
        super().__init__(items)
        keys = [key for key, _ in items]
        self.twice = {key for key in keys if keys.count(key) > 1}


def expected_tensors(data):
    """{name: bytes} of a safetensors file, by another reader; ValueError and the like for what is none."""
    size, = struct.unpack_from("<Q", data)
    if size > len(data) - 8:
        raise ValueError("header")
    header = json.loads(data[8:8 + size].decode(), object_pairs_hook=pairs)
    header.pop("__metadata__", None)
    tensors, rest = {}, data[8 + size:]
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        count = int(np.prod([int(n) for n in entry["shape"]], dtype=object))
        if not 0 <= begin <= end <= len(rest):
            raise ValueError("offsets")
        if entry["dtype"] in SIZES and count * SIZES[entry["dtype"]] != end - begin:
            raise ValueError("size")
        tensors[name] = rest[begin:end]
    return tensors


def read_all(path):
    """{name: bytes} as the package reads them, None where it says no."""
    try:
        opened = checkpoint.Checkpoint(path)
        names = list(opened)
    except nvfp4.NVFP4Error as error:
        if not str(error):
            raise Finding("an error without a message") from error
        return None
    tensors = {}
    for name in names:
        try:
            tensors[name] = opened[name].tobytes()
        except nvfp4.NVFP4Error:
            tensors[name] = None  # a type that numpy has not
    return tensors


def compare(got, expected, source):
    if expected is None:
        raise Finding(f"taken, but it is none: {source[:600]!r}")
    if set(got) != set(expected) or any(got[n] not in (None, expected[n]) for n in got):
        raise Finding(f"other tensors than the file's: {source[:600]!r}")


def tensor_file(rng):
    """(header, data) of a right file."""
    header, data = {}, b""
    for i in range(rng.randint(0, 4)):
        kind = rng.choice(sorted(SIZES))
        shape = [rng.randint(0, 4) for _ in range(rng.randint(0, 3))]
        size = int(np.prod(shape)) * SIZES[kind]
        header[f"t{i}"] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + size]}
        data += bytes(rng.randrange(256) for _ in range(size))
    if rng.random() < 0.3:
        header["__metadata__"] = {"format": "pt"}
    return header, data


class Safetensors:
    def __init__(self, build, folder):
        self.path = folder / "a.safetensors"

    def run(self, rng):
        header, data = tensor_file(rng)
        if rng.random() < 0.9:
            header = mutate.change_json(rng, header)
        text = mutate.dump(rng, header)
        size = len(text) if rng.random() < 0.9 else rng.choice([0, 1, len(text) + 1, 2**31, 2**63, 2**64 - 1])
        content = struct.pack("<Q", size) + text + data
        content = mutate.change_bytes(rng, content) if rng.random() < 0.1 else content
        self.path.write_bytes(content)
        got = read_all(self.path)
        if got is None:
            return "refused"
        try:
            expected = expected_tensors(content)
        except (ValueError, TypeError, KeyError, AttributeError, struct.error, RecursionError, OverflowError):
            expected = None
        compare(got, expected, content)
        return "read"


class Index:
    def __init__(self, build, folder):
        self.folder = folder / "model"

    def run(self, rng):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        places, shards = {}, {}
        for shard in range(rng.randint(1, 3)):
            header, data = tensor_file(rng)
            header = {f"{shard}.{name}" if name != "__metadata__" else name: e for name, e in header.items()}
            name = f"model-{shard}.safetensors"
            text = json.dumps(header).encode()
            (self.folder / name).write_bytes(struct.pack("<Q", len(text)) + text + data)
            shards[name] = expected_tensors((self.folder / name).read_bytes())
            places.update(dict.fromkeys(shards[name], name))
        index = {"metadata": {"total_size": 1}, "weight_map": places}
        text = mutate.dump(rng, mutate.change_json(rng, index))
        (self.folder / INDEX).write_bytes(text)
        got = read_all(rng.choice([self.folder, self.folder / INDEX]))
        if got is None:
            return "refused"
        try:
            given = json.loads(text.decode(), object_pairs_hook=Object)
            if "weight_map" in given.twice or given["weight_map"].twice:
                raise ValueError("a key twice")
            given = given["weight_map"]
            expected = {name: shards[place][name] for name, place in given.items()}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            expected = None
        compare(got, expected, text)
        return "read"


MODULE = """
!x = !grouped_scaled_gemm.scaled<?x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<2x32x64, nvfp4>
func.func @f(%x: !x, %w: !w, %ends: tensor<2xi32>, %alpha: f32, %o: tensor<?x32xbf16>) -> tensor<?x32xbf16> {
  %r = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<2xi32>) lhs(%x : !x) rhs(%w : !w)
      alpha(%alpha : f32) outs(%o : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  return %r : tensor<?x32xbf16>
}
"""


class Artefact:
    """The description of an artefact; its machine code stays, and nothing is called."""

    def __init__(self, build, folder):
        self.run_tool, self.path, self.count = build / "bin" / "nvfp4-run", folder, 0
        (folder / "f.mlir").write_text(MODULE)
        subprocess.run([build / "bin" / "nvfp4-compile", "f.mlir", "--target=cpu", "-o", "f.so"], check=True,
                       capture_output=True)
        self.content = (folder / "f.so").read_bytes()
        self.begin = self.content.index(b'{"device"')
        self.end = self.content.index(b"\0", self.begin)

    def run(self, rng):
        while True:
            text = mutate.dump(rng, mutate.change_json(rng, json.loads(self.content[self.begin:self.end])))
            if len(text) <= self.end - self.begin:
                break
        content = self.content[:self.begin] + text.ljust(self.end - self.begin, rng.choice([b"\0", b" "]))
        # A library of a path that is loaded already would not be read again.
        self.count += 1
        path = self.path / f"{self.count}.so"
        path.write_bytes(content + self.content[self.end:])
        try:
            return self.load(path, text, rng.random() < 0.1)
        finally:
            path.unlink()

    def load(self, path, text, with_tool):
        try:
            program = nvfp4.load(path)
            said = "\n".join(f"{name} {f!r}" for name, f in program.functions.items())
            outcome = "read"
        except nvfp4.NVFP4Error as error:
            said, outcome = str(error), "refused"
        if not said and b'"functions":[]' not in text.replace(b" ", b""):
            raise Finding(f"nothing said of {text!r}")
        if not said:
            return outcome  # no function: nvfp4-run has nothing to run
        if with_tool:
            done = subprocess.run([self.run_tool, path, "--print-signature"], capture_output=True, timeout=20, check=False)
            if done.returncode not in (0, 1) or (done.returncode == 1 and b"error:" not in done.stderr):
                raise Finding(f"nvfp4-run: status {done.returncode}, {done.stderr[-600:]!r} of {text!r}")
            if (done.returncode == 0) != (outcome == "read"):
                raise Finding(f"nvfp4-run: status {done.returncode}, but Python {outcome} ({said}): {text!r}")
        return outcome
