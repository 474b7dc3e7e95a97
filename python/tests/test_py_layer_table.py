# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""benchmarks/h200/layer-table on records that a GPU need not have made."""

import json
import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "h200" / "layer-table"
LAYERS = ("gptoss20b", "qwen3_30b", "dsv3_32_experts", "example")
TOKENS = (1, 16, 64, 256, 1024, 4096)
SPEEDUP = "speed-up over the best layer of torch with products of bf16 grouped, triton_kernels, marlin"


def records(**changes):
    """All goals are reached, but for `changes`: of a case and subject, other fields or None for no record."""
    for layer in LAYERS:
        for tokens in TOKENS:
            case = f"{layer}_t{tokens}"
            us = {"layer": 20, "products": 18, "sort_tokens": 1, "quantize_rows": 1}
            lines = [{"subject": f"device function {name}, w4a16 nvfp4", "value": value, "host_us": 5, "launches": 4}
                     for name, value in us.items()]
            lines.append({"subject": "layer with products of marlin", "value": 30})
            lines.append({"subject": "layer with products of bf16 grouped", "value": 300})
            lines.append({"subject": "layer with products of triton_kernels", "value": 40})
            lines.append({"subject": "nvfp4.torch.MoELayer, w4a16 nvfp4", "value": 21, "host_us": 27})
            for line in lines:
                change = changes.get(f"{case} {line['subject'].split(',')[0].split()[-1]}", {})
                if change is not None:
                    yield {"case": case, "metric": "us", "machine": "NVIDIA H200", "date": "2026-01-02", **line, **change}


def run(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = subprocess.run([sys.executable, SCRIPT, "--results", path], capture_output=True, text=True)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines() if line.startswith("| ")]
    return done, {goal: cells for goal, *cells in rows[1:]}


def test_all_goals_reached(tmp_path):
    """Records of another day do not count, not even those that are worse."""
    earlier = [{**line, "value": 10**6, "date": "2026-01-01"} for line in records()]
    done, rows = run(tmp_path / "results.jsonl", [*earlier, *records()])
    assert done.returncode == 0 and "NVIDIA H200, 2026-01-02" in done.stdout, done.stderr
    assert len(rows) == 14 and {cells[-1] for cells in rows.values()} == {"reached"}


@pytest.mark.parametrize("changed, fields, goal, row", [
    ("gptoss20b_t1 layer", {"value": 36.5}, "gptoss20b, 1 tokens, us", ["gptoss20b_t1", "36.5", "36", "missed"]),
    ("qwen3_30b_t64 layer", {"value": 33}, "layer, at most 1.15 x its products + 12 us", ["qwen3_30b_t64", "33", "32.7", "missed"]),
    ("dsv3_32_experts_t4096 marlin", {"value": 19}, SPEEDUP,
     ["dsv3_32_experts_t4096", "0.95", "1", "missed"]),
    ("dsv3_32_experts_t1024 products", {"value": 10}, "time outside products, of the layer's from 64 tokens on",
     ["dsv3_32_experts_t1024", "0.5", "0.15", "missed"]),
    ("qwen3_30b_t1 layer", {"host_us": 12.5}, "host time of a call, at most 4 us + 2 us a launch",
     ["qwen3_30b_t1", "12.5", "12", "missed"]),
    ("gptoss20b_t4096 quantize_rows", {"value": 50}, "sort, permute and quantise, of DRAM's rate",
     ["gptoss20b_t4096", "0.205", "0.6", "missed"]),
    ("qwen3_30b_t16 nvfp4.torch.MoELayer", {"host_us": 29}, "a call from torch, at most the layer + 8 us", ["qwen3_30b_t16", "29", "28", "missed"]),
    ("qwen3_30b_t64 marlin", None, SPEEDUP, ["qwen3_30b_t64", "", "", "not run"]),
    ("qwen3_30b_t64 triton_kernels", None, "its geometric mean", ["qwen3_30b_t64", "", "", "not run"]),
    ("qwen3_30b_t64 grouped", None, SPEEDUP, ["qwen3_30b_t64", "", "", "not run"]),
    ("gptoss20b_t1 layer", {"error_of_bound": 1.01}, "gptoss20b, 1 tokens, us", ["gptoss20b_t1", "", "", "wrong"]),
    ("gptoss20b_t1 layer", {"error_of_bound": float("nan")}, "gptoss20b, 1 tokens, us", ["gptoss20b_t1", "", "", "wrong"]),
    ("gptoss20b_t1 layer", {"order_equal": False}, "gptoss20b, 1 tokens, us", ["gptoss20b_t1", "", "", "wrong"]),
    ("qwen3_30b_t16 nvfp4.torch.MoELayer", {"wrong": ["graph"]}, "a call from torch, at most the layer + 8 us",
     ["qwen3_30b_t16", "", "", "wrong"]),
    ("example_t256 layer", None, "example, 256 tokens, us", ["example_t256", "", "", "not run"]),
    ("qwen3_30b_t1024 layer", None, "its geometric mean", ["qwen3_30b_t1024", "", "", "not run"])])
def test_a_goal_that_is_not_reached(tmp_path, changed, fields, goal, row):
    """The worst size stands there, and the exit status says so."""
    done, rows = run(tmp_path / "results.jsonl", records(**{changed: fields}))
    assert done.returncode == 1 and rows[goal] == row, done.stderr


def test_missing_records_have_names(tmp_path):
    """A goal that is not run says which peer it lacks, and which result was wrong."""
    done, _ = run(tmp_path / "results.jsonl", records(**{"qwen3_30b_t64 marlin": None, "gptoss20b_t1 layer": {"order_equal": False}}))
    assert done.stdout.endswith("\nNot there, or wrong:\ngptoss20b_t1: device function layer, w4a16 nvfp4, wrong\n"), done.stdout
    done, _ = run(tmp_path / "results.jsonl", records(**{"qwen3_30b_t64 marlin": None}))
    assert done.stdout.endswith("\nNot there, or wrong:\nqwen3_30b_t64: layer with products of marlin\n")


def test_another_gpu(tmp_path):
    """The goals are not those of other GPUs: no row is printed."""
    done, rows = run(tmp_path / "results.jsonl", ({**line, "machine": "NVIDIA H100 80GB HBM3"} for line in records()))
    assert done.returncode == 1 and not rows
    assert "expected the last layer to be of NVIDIA H200, whose goals these are, but got NVIDIA H100 80GB HBM3" in done.stderr


@pytest.mark.parametrize("script, options, message", [
    ("layer-table", ["--build=a", "--artefacts=b"], "expected --build without --artefacts and --results"),
    ("layer-table", ["--build=a", "--results=b"], "expected --build without --artefacts and --results"),
    ("layer-table", ["--build-dir=a"], "expected --build-dir with --build"),
    ("device-layer", ["--build=a", "--artefacts=b"], "expected --build without --artefacts, --peers and --results"),
    ("device-layer", ["--build=a", "--peers"], "expected --build without --artefacts, --peers and --results"),
    ("device-layer", ["--build=a", "--results=b"], "expected --build without --artefacts, --peers and --results"),
    ("device-layer", ["--artefacts=a", "--build-dir=b"], "expected --build-dir with --build"),
    ("device-layer", ["--peers"], "expected --build or --artefacts")])
def test_options_that_would_be_ignored(script, options, message):
    done = subprocess.run([sys.executable, SCRIPT.parent / script, *options], capture_output=True, text=True)
    assert done.returncode == 2 and message in done.stderr


def test_no_records(tmp_path):
    done, _ = run(tmp_path / "results.jsonl", [])
    assert done.returncode == 1 and "expected records of device-layer, but there are none" in done.stderr
