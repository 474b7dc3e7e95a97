# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints that lie: what a file claims is checked before a tensor is handed out, and writers lose no file of others."""

import json
import multiprocessing
import os
import stat
import struct
import threading

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import nvfp4
from nvfp4 import checkpoint

INDEX = "model.safetensors.index.json"


def write(path, header, data=b""):
    text = header if isinstance(header, str) else json.dumps(header)
    path.write_bytes(struct.pack("<Q", len(text)) + text.encode() + data)
    return path


def entry(dtype="U8", shape=(4,), offsets=(0, 4)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def refused(path, message):
    with pytest.raises(nvfp4.CheckpointError, match=message):
        checkpoint.Checkpoint(path)


@pytest.mark.parametrize("name", ["../secret.safetensors", "{outside}/secret.safetensors", "sub/x.safetensors", "..", "",
                                  ".hidden.safetensors", "a\0b.safetensors"])
def test_an_index_names_files_beside_it(tmp_path, name):
    save_file({"secret": np.ones(4, np.uint8)}, tmp_path / "secret.safetensors")
    model = tmp_path / "model"
    (model / "sub").mkdir(parents=True)
    (model / "sub" / "x.safetensors").symlink_to(tmp_path / "secret.safetensors")
    (model / INDEX).write_text(json.dumps({"weight_map": {"secret": name.format(outside=tmp_path)}}))
    refused(model, f"{INDEX}: expected a plain file name for tensor 'secret'")


def test_an_index_and_its_shards_agree(tmp_path):
    save_file({"a": np.ones(4, np.uint8)}, tmp_path / "1.safetensors")
    save_file({"b": np.ones(4, np.uint8), "hidden": np.zeros(1, np.uint8)}, tmp_path / "2.safetensors")
    (tmp_path / INDEX).write_text(json.dumps({"weight_map": {"a": "2.safetensors"}}))
    refused(tmp_path, "expected tensor 'a' in '2.safetensors', but that file has none of that name")
    (tmp_path / INDEX).write_text(json.dumps({"weight_map": {"a": "1.safetensors", "b": "2.safetensors"}}))
    assert list(checkpoint.Checkpoint(tmp_path)) == ["a", "b"]
    assert list(checkpoint.Checkpoint(tmp_path / INDEX)) == ["a", "b"]
    (tmp_path / INDEX).write_text('{"weight_map": {"a": "1.safetensors", "a": "2.safetensors"}}')
    refused(tmp_path, "expected one tensor 'a', but got two")


def test_files_of_a_folder_without_an_index_share_no_name(tmp_path):
    save_file({"a": np.ones(4, np.uint8)}, tmp_path / "1.safetensors")
    save_file({"b": np.arange(3, dtype=np.int16)}, tmp_path / "2.safetensors")
    found = checkpoint.Checkpoint(tmp_path)
    np.testing.assert_array_equal(found["b"], [0, 1, 2])
    assert list(found) == ["a", "b"]
    save_file({"a": np.zeros(4, np.uint8)}, tmp_path / "3.safetensors")
    refused(tmp_path, "expected one tensor 'a', but got two, in '.*1.safetensors' and '.*3.safetensors'")


@pytest.mark.parametrize("header,data,message", [
    ({"a": entry(), "b": entry(offsets=(2, 6))}, b"6bytes", "expected tensors that do not overlap"),
    ({"a": entry(), "b": entry(offsets=(6, 10))}, b"10 bytes..", "expected tensor 'b' to start at 4"),
    ({"a": entry()}, b"and some more", "expected the tensors to fill the 13 bytes"),
    ('{"a": %s, "a": %s}' % ((json.dumps(entry()),) * 2), b"four", "expected one tensor 'a', but got two"),
    ({"a": entry(shape=[4.7])}, b"four", "expected an unsigned integer in the shape of tensor 'a', but got the number '4.7'"),
    ({"a": entry(shape=["4"])}, b"four", "expected an unsigned integer in the shape"),
    ({"a": entry(shape=[True] * 4)}, b"four", "expected an unsigned integer in the shape"),
    ({"a": entry(offsets=[0, 4.0])}, b"four", "expected an unsigned integer in the data_offsets"),
    ({"a": entry(offsets=[0, 4, 4])}, b"four", "expected 2 data_offsets"),
    ({"a": entry(shape=[10**30])}, b"four", "expected an unsigned integer in the shape of tensor 'a'"),
    ('{"a": {"dtype": "U8", "shape": [1e999], "data_offsets": [0, 4]}}', b"four", "expected"),
    ({"a": entry(shape=[2**63 - 1, 2**63 - 1])}, b"four", "tensor 'a': expected"),
    ({"a": entry(shape=[1] * 65, offsets=(0, 1))}, b"1", "expected a rank of at most 64"),
    ({"a": entry() | {"more": 3}}, b"four", "expected the key 'dtype', 'shape' or 'data_offsets'"),
    ({"a": entry(dtype="F4", shape=[3], offsets=(0, 1))}, b"1", "expected whole bytes"),
    ({"__metadata__": {"a": 3}}, b"", "expected a string for the metadata 'a'")])
def test_headers_that_lie(tmp_path, header, data, message):
    refused(write(tmp_path / "x.safetensors", header, data), f"x.safetensors: .*{message}")


def test_values_of_4_bits_are_bytes_and_other_types_are_named(tmp_path):
    path = write(tmp_path / "x.safetensors", {"six": entry("F6_E2M3", [4], (0, 3)), "f4": entry("F4", [2, 4], (3, 7)),
                                              "none": entry("F4", [0, 4], (7, 7))}, b"abcdefg")
    found = checkpoint.Checkpoint(path)
    np.testing.assert_array_equal(found["f4"], [[100, 101], [102, 103]])
    assert found["f4"].dtype == np.uint8 and found["none"].shape == (0, 2) and sorted(found) == ["f4", "none", "six"]
    with pytest.raises(nvfp4.CheckpointError, match="expected a supported dtype for tensor 'six', but got F6_E2M3"):
        found["six"]


@pytest.mark.parametrize("name", [INDEX, "x.safetensors", "config.json"])
def test_pipes_and_folders_are_no_files(tmp_path, name):
    """A named pipe has no writer: whoever reads it waits for ever."""
    if name == "config.json":
        nvfp4.checkpoint.write_safetensors(tmp_path / "model.safetensors", {"a.weight": np.zeros(3, np.uint8)})
    os.mkfifo(tmp_path / name)
    with pytest.raises(nvfp4.CheckpointError, match=f"{name}: expected a regular file"):
        checkpoint.load_linear(tmp_path, "a")
    (tmp_path / name).unlink()
    (tmp_path / name).mkdir()
    with pytest.raises(nvfp4.CheckpointError, match=f"{name}: (expected a regular file|could not read the file: Is a directory|expected a directory with)"):
        checkpoint.load_linear(tmp_path, "a")


def test_arrays_outlive_their_checkpoint_and_cannot_be_written(tmp_path):
    values = np.arange(1000, dtype=np.float32)
    save_file({"u": np.ones(3, np.uint8), "x": values}, tmp_path / "x.safetensors")
    array = checkpoint.Checkpoint(tmp_path / "x.safetensors")["x"]
    (tmp_path / "x.safetensors").unlink()
    np.testing.assert_array_equal(array, values)
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


@pytest.mark.parametrize("path", ["a\0b", ""])
def test_paths_that_are_none(tmp_path, path):
    with pytest.raises(nvfp4.CheckpointError):
        checkpoint.Checkpoint(path)
    with pytest.raises(nvfp4.CheckpointError):
        checkpoint.write_safetensors(path, {"x": np.ones(3)})


ARRAYS = {"scalar": np.float64(2.5), "empty": np.zeros((0, 3), np.int16), "bf16": np.ones((2, 3), ml_dtypes.bfloat16),
          "turned": np.arange(6, dtype=np.int32).reshape(2, 3).T, "ä\n\"": np.array([True, False])}


def test_written_files_are_those_of_the_format(tmp_path):
    path = tmp_path / "x.safetensors"
    checkpoint.write_safetensors(path, ARRAYS, {"format": "np", "ö": '"'})
    ours, theirs = checkpoint.Checkpoint(path), load_file(path)
    assert set(ours) == set(theirs) == set(ARRAYS)
    for name, array in ARRAYS.items():
        for found in (ours[name], theirs[name]):
            assert found.dtype == array.dtype and found.shape == array.shape
            np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize("tensors,metadata,kind,message", [
    ({"__metadata__": np.ones(3)}, None, nvfp4.CheckpointError, "differ from each other and from '__metadata__'"),
    ({"a": np.ones(3, complex)}, None, nvfp4.ArgumentError, "expected 'a' of a type that safetensors has, but got complex128"),
    ({3: np.ones(3)}, None, nvfp4.ArgumentError, "expected the name of a tensor as text in Unicode, but got 3"),
    ({"\ud800": np.ones(3)}, None, nvfp4.ArgumentError, "expected the name of a tensor as text"),
    ({"a": np.ones(3)}, {"a": 3}, nvfp4.ArgumentError, "expected metadata as text in Unicode, but got 3")])
def test_what_cannot_be_written_is_refused_and_nothing_remains(tmp_path, tensors, metadata, kind, message):
    path = tmp_path / "x.safetensors"
    path.write_bytes(b"old")
    with pytest.raises(kind, match=message):
        checkpoint.write_safetensors(path, tensors, metadata)
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["x.safetensors"]


def test_links_keep_pointing_where_they_did_and_devices_stay(tmp_path):
    target, link = tmp_path / "target.safetensors", tmp_path / "link.safetensors"
    target.write_bytes(b"old")
    link.symlink_to(target)
    checkpoint.write_safetensors(link, {"x": np.ones(3)})
    assert link.is_symlink() and list(load_file(target)) == ["x"]
    target.chmod(0o640)
    checkpoint.write_safetensors(link, {"x": np.ones(4)})
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    (tmp_path / "new").symlink_to("later.safetensors")
    checkpoint.write_safetensors(tmp_path / "new", {"x": np.ones(3)})
    assert (tmp_path / "new").is_symlink() and list(load_file(tmp_path / "later.safetensors")) == ["x"]
    device = tmp_path / "null"
    device.symlink_to("/dev/null")
    checkpoint.write_safetensors(device, {"x": np.ones(3)})
    assert device.is_symlink() and stat.S_ISCHR(os.stat("/dev/null").st_mode)


def _write_often(path, number):
    for _ in range(20):
        checkpoint.write_safetensors(path, {"x": np.full(5000, number, np.int32)})


@pytest.mark.parametrize("kind", [threading.Thread, multiprocessing.get_context("spawn").Process])
def test_writers_at_the_same_time_lose_no_file(tmp_path, kind):
    """Each file is that of one writer, whole, whichever was last; none fails because another one has finished."""
    path = tmp_path / "x.safetensors"
    _write_often(path, 9)
    writers = [kind(target=_write_often, args=(path, number)) for number in range(4)]
    failures = []
    hook, threading.excepthook = threading.excepthook, lambda failure: failures.append(failure.exc_value)
    try:
        for writer in writers:
            writer.start()
        while any(writer.is_alive() for writer in writers):
            found = load_file(path)["x"]
            assert len(found) == 5000 and (found == found[0]).all()
        for writer in writers:
            writer.join()
    finally:
        threading.excepthook = hook
    assert not failures and all(getattr(writer, "exitcode", 0) == 0 for writer in writers)
    assert os.listdir(tmp_path) == ["x.safetensors"]


def test_extents_beside_a_zero_fit_numpy(tmp_path):
    path = write(tmp_path / "a.safetensors", {"a": entry("I64", (0, 2**62), (0, 0))})
    with pytest.raises(nvfp4.CheckpointError, match="expected extents of 'a' that numpy holds"):
        checkpoint.Checkpoint(path)["a"]
