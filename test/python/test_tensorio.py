# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of NumPy, ml_dtypes and safetensors through our readers, and ours through theirs.

Everything goes through the tool nvfp4-tensors: it reads what the packages wrote
and copies a tensor to a new file, which the packages read back.
"""

import json
import os
import pathlib
import subprocess

import ml_dtypes
import numpy as np
import pytest
import safetensors
import safetensors.numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("NVFP4_BUILD_DIR", ROOT / "build"))
TOOL = BUILD / "bin" / "nvfp4-tensors"

PLAIN = [np.bool_, np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.uint64,
         np.int64, np.float16, np.float32, np.float64]
# Our name, and the name in a safetensors header.
EXTENDED = {ml_dtypes.bfloat16: ("bf16", "BF16"),
            ml_dtypes.float8_e4m3fn: ("f8_e4m3fn", "F8_E4M3"),
            ml_dtypes.float8_e5m2: ("f8_e5m2", "F8_E5M2"),
            ml_dtypes.float8_e8m0fnu: ("f8_e8m0fnu", "F8_E8M0")}
SHAPES = [(), (0,), (5,), (2, 3, 4), (3, 0, 2), (1, 1)]
NAMES = lambda dtype: np.dtype(dtype).name


def run(*arguments):
    return subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, check=False)


def tool(*arguments):
    result = run(*arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout


def sample(dtype, shape):
    """All kinds of bit patterns of a type, NaN among them."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape))
    if dtype == np.bool_:
        return (np.arange(count) % 3 == 1).reshape(shape)
    raw = np.random.default_rng(7).integers(0, 256, count * dtype.itemsize, dtype=np.uint8)
    return raw.view(dtype).reshape(shape) if count else np.empty(shape, dtype)


def same_bytes(a, b):
    return a.shape == b.shape and np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()


def printed(spec):
    """Shape, type and elements as the tool prints them."""
    head, values = tool("--print=1000", spec).splitlines()
    shape, dtype = head[len(str(spec)) + 2:].split("  ")[0].rsplit(" ", 1)
    return tuple(json.loads(shape)), dtype, [float(value) for value in values.split()]


@pytest.mark.parametrize("dtype", PLAIN, ids=NAMES)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("endian", ["<", ">"])
def test_npy_plain_types(tmp_path, dtype, order, endian):
    for shape in SHAPES:
        array = np.asarray(sample(dtype, shape), order=order)
        np.save(tmp_path / "a.npy", array.astype(array.dtype.newbyteorder(endian)))
        tool(tmp_path / "a.npy", f"--output={tmp_path / 'b.npy'}")
        back = np.load(tmp_path / "b.npy")
        assert back.dtype == array.dtype and back.flags.c_contiguous
        assert same_bytes(back, array)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_npy_versions(tmp_path, version):
    array = sample(np.float32, (2, 3))
    with open(tmp_path / "a.npy", "wb") as file:
        np.lib.format.write_array(file, array, version=version)
    tool(tmp_path / "a.npy", f"--output={tmp_path / 'b.npy'}")
    assert same_bytes(np.load(tmp_path / "b.npy"), array)


@pytest.mark.parametrize("dtype", EXTENDED, ids=NAMES)
@pytest.mark.parametrize("shape", SHAPES)
def test_npy_ml_dtypes(tmp_path, dtype, shape):
    array = sample(dtype, shape)
    name = EXTENDED[dtype][0]
    np.save(tmp_path / "a.npy", array)
    # Only float8_e5m2 and bfloat16 can be told from other raw bytes.
    spec = str(tmp_path / "a.npy") + ("" if name in ("bf16", "f8_e5m2") else "@" + name)
    read_shape, read_dtype, values = printed(spec)
    assert (read_shape, read_dtype) == (shape, name)
    np.testing.assert_array_equal(np.array(values).reshape(shape), array.astype(np.float64))
    tool(spec, f"--output={tmp_path / 'b.npy'}")
    assert same_bytes(np.load(tmp_path / "b.npy").view(dtype), array)
    # A file of ours needs no type from the caller.
    assert printed(tmp_path / "b.npy")[:2] == (shape, name)


def test_npy_raw_bytes_need_a_type(tmp_path):
    np.save(tmp_path / "a.npy", sample(ml_dtypes.float8_e4m3fn, (3,)))
    result = run(tmp_path / "a.npy")
    assert result.returncode == 1
    assert "name the type, as in '@f8_e4m3fn'" in result.stderr


def test_npy_every_code_of_small_types(tmp_path):
    for dtype, (name, _) in EXTENDED.items():
        bits = np.arange(256, dtype=np.uint8)
        if np.dtype(dtype).itemsize == 2:
            bits = np.arange(0, 65536, 67, dtype=np.uint16)
        np.save(tmp_path / "a.npy", bits.view(np.int8 if bits.itemsize == 1 else np.int16))
        values = printed(f"{tmp_path / 'a.npy'}@{name}")[2]
        expected = bits.view(dtype).astype(np.float32)[:1000]
        np.testing.assert_array_equal(np.array(values, np.float32), expected)


@pytest.mark.parametrize("array", [np.zeros(2, complex), np.zeros(2, "S4"), np.zeros(2, "M8[s]"),
                                   np.zeros(2, [("a", "f4"), ("b", "f4")]),
                                   np.zeros(2, np.longdouble)], ids=lambda a: str(a.dtype))
def test_npy_refuses_other_types(tmp_path, array):
    np.save(tmp_path / "a.npy", array)
    result = run(tmp_path / "a.npy")
    assert result.returncode == 1 and "a.npy: expected" in result.stderr


def test_npy_refuses_every_truncation(tmp_path):
    np.save(tmp_path / "a.npy", sample(np.float32, (2, 3)))
    content = (tmp_path / "a.npy").read_bytes()
    specs = []
    for length in range(0, len(content), 3):
        specs.append(tmp_path / f"cut-{length}.npy")
        specs[-1].write_bytes(content[:length])
    result = run(*specs)
    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == len(specs) and result.stdout == ""


def save_specs(path, tensors):
    """safetensors.serialize_file with types that its NumPy front end lacks."""
    buffers = {name: (dtype, array, np.frombuffer(array.tobytes() or b"x", np.uint8))
               for name, (dtype, array) in tensors.items()}
    safetensors.serialize_file(
        {name: safetensors.TensorSpec(dtype=dtype, shape=array.shape,
                                      data_ptr=buffer.ctypes.data, data_len=array.nbytes)
         for name, (dtype, array, buffer) in buffers.items()}, path)


@pytest.mark.parametrize("dtype", [*PLAIN, *EXTENDED], ids=NAMES)
def test_safetensors(tmp_path, dtype):
    arrays = {f"t{index}": sample(dtype, shape) for index, shape in enumerate(SHAPES)}
    path = tmp_path / "m.safetensors"
    if dtype in PLAIN:
        safetensors.numpy.save_file(arrays, path, metadata={"format": "np"})
    else:
        save_specs(path, {name: (np.dtype(dtype).name, array) for name, array in arrays.items()})
    assert tool(path).splitlines()[0].endswith(f"{len(SHAPES)} tensors in 1 files")
    for name, array in arrays.items():
        tool(f"{path}:{name}", f"--output={tmp_path / 'b.safetensors'}")
        (read_name, read), = safetensors.deserialize((tmp_path / "b.safetensors").read_bytes())
        assert read_name == name and tuple(read["shape"]) == array.shape
        assert bytes(read["data"]) == array.tobytes()
        assert read["dtype"] == (EXTENDED[dtype][1] if dtype in EXTENDED else
                                 {v: k for k, v in safetensors.numpy._TYPES.items()}.get(dtype, "BOOL"))


def test_safetensors_packed_f4(tmp_path):
    codes = np.arange(6, dtype=np.uint8).reshape(2, 3)
    save_specs(tmp_path / "m.safetensors", {"w": ("float4_e2m1fn_x2", codes)})
    assert "  w  [2, 6] F4  6 bytes\n" in tool(tmp_path / "m.safetensors")
    assert printed(f"{tmp_path / 'm.safetensors'}:w") == ((2, 3), "u8", list(range(6)))


def test_safetensors_shards(tmp_path):
    for shard in (1, 2):
        safetensors.numpy.save_file({f"w{shard}": np.full(2, shard, np.float32)},
                                    tmp_path / f"model-{shard}.safetensors")
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(
        {"metadata": {"total_size": 16},
         "weight_map": {f"w{shard}": f"model-{shard}.safetensors" for shard in (1, 2)}}, indent=2))
    assert "2 tensors in 2 files" in tool(tmp_path)
    assert printed(f"{tmp_path}/:w2")[2] == [2.0, 2.0]


def test_safetensors_agrees_on_damage(tmp_path):
    """Whatever one flipped byte does, we accept no file that safetensors refuses."""
    content = safetensors.numpy.save({"a": np.arange(4, dtype=np.int16), "b": np.zeros((0, 2))})
    random, refused, specs = np.random.default_rng(3), {}, []
    for index in range(300):
        damaged = bytearray(content)
        damaged[random.integers(0, len(content) - 8)] = random.integers(0, 256)
        path = tmp_path / f"{index}.safetensors"
        path.write_bytes(damaged)
        try:
            safetensors.deserialize(bytes(damaged))
            refused[index] = False
        except safetensors.SafetensorError:
            refused[index] = True
        specs.append(path)
    errors = run("--no-values", *specs).stderr
    for index, was_refused in refused.items():
        if was_refused:
            assert f"/{index}.safetensors: " in errors, bytes(specs[index].read_bytes())
    assert 100 < sum(refused.values()) < len(refused)
