#!/usr/bin/env python3
# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles layer.mlir, runs it on a CPU (or its products on a GPU or in the
simulator) and checks every stage.

Each stage runs on the bytes that the stage before it produced and is checked
twice: by nvfp4-run against the reference interpreter with its derived bound,
and here against float64 numpy (oracle.py), which shares nothing with either.
At the end the whole layer must give the very bits of its stages.

Prints a table and writes moe_layer.png. Exits non-zero on any mismatch.

--compile-only FOLDER stops after compiling and makes FOLDER all that another
machine needs, which has neither LLVM nor this tree:

  run.py --target=sm_90a --compile-only layer     here
  python3 layer/run.py --device=cuda              there

There the stages are called through the runtime, and checked against numpy;
with --on-device all of them are kernels and nothing but the result is copied.

--model NAME runs the layer of a published model instead (models/sizes.py), or a
slice of it, with random weights:

  run.py --model deepseek-v3 --experts 32 --tokens 64 [--target=cuda --on-device]
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys

import numpy as np

import artefact
import oracle
import report
from stages import run_stages

HERE = pathlib.Path(__file__).resolve().parent


class ToolRunner:
    """Calls functions of layer.mlir by nvfp4-run, with files for tensors."""

    def __init__(self, build, work, repeats, device, target):
        self.tool = build / "bin" / "nvfp4-run"
        self.work = work
        self.repeats = repeats
        self.device = [f"--device={device}"] + ([f"--target={target}"] if target else [])
        self.results = set()

    def find(self, name):
        if isinstance(name, int):
            return f"index:{name}"
        if name in self.results:
            return str(self.work / f"{name}.npy")
        return f"{self.work / ('tokens' if name == 'tokens' else 'layer')}.safetensors:{name}"

    def __call__(self, entry, inputs, outputs):
        paths = [self.work / f"{name}.npy" for name in outputs]
        command = [str(self.tool), str(HERE / "layer.mlir"), f"--entry={entry}", *self.device,
                   "--inputs=" + ",".join(map(self.find, inputs)), "--check=reference",
                   f"--time={self.repeats}", "--outputs=" + ",".join(map(str, paths))]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{result.stdout}{result.stderr}")
        elapsed = re.search(r"median ([0-9.]+) ms", result.stdout)
        ratios = [float(r) for r in re.findall(r"\(([0-9.eE+-]+) of its bound\)", result.stdout)]
        if not elapsed or not ratios:
            sys.exit(f"cannot read the output of nvfp4-run:\n{result.stdout}")
        self.results.update(outputs)
        return [np.load(p) for p in paths], float(elapsed[1]), max(ratios)


def make_inputs(work, args):
    """Writes tokens and a checkpoint; gives the arguments of the layer and the tokens."""
    # Not where an artefact runs: its inputs are made.
    from safetensors.numpy import save_file

    import generate
    from stack import Checkpoint, stack

    print(f"Writing tokens and a checkpoint ({args.naming} naming) ...")
    generate.write_inputs(work, args.naming, args.tokens or 256, seed=0)
    layer = stack(Checkpoint(work / "checkpoint.safetensors"))
    save_file(layer, work / "layer.safetensors")
    return layer, generate.read_tokens(work)


def describe(layer, tokens):
    experts, rows, half = layer["w13.values"].shape
    print(f"{len(tokens)} tokens, {experts} experts (top {oracle.TOP_K}), hidden {2 * half}, width {rows // 2}.")
    ratio = layer["w13.alpha"][:, 0] / layer["w13.alpha"][:, 1]
    print(f"Global scales of gate and up differ by factors of {ratio.min():.2f} to {ratio.max():.2f}.")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0].replace("\n", " "))
    parser.add_argument("--build-dir", type=pathlib.Path, default=HERE.parents[1] / "build")
    parser.add_argument("--output", type=pathlib.Path, help="directory (default: <build>/moe_layer)")
    parser.add_argument("--naming", choices=["modelopt", "compressed-tensors"], default="modelopt")
    parser.add_argument("--tokens", type=int, help="how many (default: 256, or all of an artefact)")
    parser.add_argument("--repeats", type=int, help="calls to time (default: 5, one on sim)")
    parser.add_argument("--device", choices=["cpu", "sim", "cuda"],
                        help="where products run: on sim and cuda as kernels (default: cpu, or what an artefact is for)")
    parser.add_argument("--target", help="whose kernels they are, sm_100a or sm_90a (default: what the device is; sim is "
                        "sm_100a); with --model cpu, sm_90a+sim, sm_100a+sim or cuda")
    parser.add_argument("--compile-only", type=pathlib.Path, metavar="FOLDER",
                        help="make FOLDER an artefact of the layer and its inputs, and stop")
    parser.add_argument("--artefact", type=pathlib.Path, metavar="FOLDER", default=artefact.find_beside(HERE),
                        help="run what --compile-only made (default: the folder of this script, if it is one)")
    parser.add_argument("--on-device", action="store_true",
                        help="of an artefact for a GPU, or with --model: every stage as kernels, on memory of the device")
    parser.add_argument("--model", metavar="NAME", help="the layer of a published model with random weights, in place of "
                        "layer.mlir; another name lists all")
    for name in ("experts", "hidden", "width"):
        parser.add_argument(f"--{name}", type=int, help="with --model: a slice of it" + " in 32s" * (name != "experts"))
    parser.add_argument("--rows", help="with --model: rows beside the weights, bf16 or what the model has")
    args = parser.parse_args()
    check_target(parser, args)
    if args.model:
        return args
    if args.on_device and (args.compile_only or not args.artefact):
        parser.error("expected --on-device with --artefact, or from the folder that --compile-only made")
    if args.tokens is not None and args.tokens < 1:
        parser.error(f"expected --tokens of at least 1, but got {args.tokens}")
    return args


def check_target(parser, args):
    if args.model:
        targets, others = ("cpu", "sm_90a+sim", "sm_100a+sim", "cuda"), ("device", "compile_only")
    else:
        targets, others = ("sm_100a", "sm_90a"), ("experts", "hidden", "width", "rows")
    for name in others:
        if getattr(args, name) is not None:
            parser.error(f"expected --{name.replace('_', '-')} with{'out' if args.model else ''} --model")
    if args.target not in (None, *targets):
        parser.error(f"expected --target as one of {', '.join(targets)}, but got {args.target}")
    if args.model and args.on_device and args.target in (None, "cpu"):
        parser.error("expected --on-device with a GPU as --target: sm_90a+sim, sm_100a+sim or cuda")


def run_model(args):
    if not (HERE / "models").exists():
        sys.exit("moe_layer: expected --model where the compiler is, but this folder has only what --compile-only made")
    build = args.build_dir.resolve()
    os.environ.setdefault("NVFP4_LIBRARY_DIR", str(build / "lib"))
    sys.path.insert(0, str(HERE.parents[1] / "python"))
    import nvfp4
    from models.run import run

    run(args, nvfp4, (args.output or build / "moe_layer").resolve())


def run_artefact(args):
    made = artefact.Artefact(args.artefact, args.tokens)
    device = made.open(args.device)
    describe(made.layer, made.tokens)
    what = "device.so" if args.on_device else "layer.so"
    print(f"Running each stage of {made.folder / what} ({made.target}) on {device} ...")
    run = made.place() if args.on_device else made.load(args.repeats)
    stages = run_stages(run, made.layer, made.tokens)
    report.print_table(stages, report.Limits(made.layer))


def run_here(args):
    build = args.build_dir.resolve()
    work = (args.output or build / "moe_layer").resolve()
    layer, tokens = make_inputs(work, args)
    if args.compile_only:
        size = artefact.write(args.compile_only.resolve(), build, HERE, args.target or "cpu", layer, tokens)
        print(f"moe_layer: wrote {args.compile_only}, {size / 1e6:.1f} MB")
        return
    device = args.device or "cpu"
    describe(layer, tokens)
    print(f"Compiling and running each stage on {device}, checking it against exact arithmetic ...")
    repeats = args.repeats or (1 if device == "sim" else 5)
    stages = run_stages(ToolRunner(build, work, repeats, device, args.target), layer, tokens)
    limits = report.Limits(layer)
    report.print_table(stages, limits)
    report.draw(stages, limits, work / "moe_layer.png")
    print(f"Picture: {work / 'moe_layer.png'}")


def main():
    args = parse()
    if args.model:
        run_model(args)
    elif args.artefact and not args.compile_only:
        run_artefact(args)
    else:
        run_here(args)
    if not args.compile_only:
        print("moe_layer: all stages agree with exact arithmetic")


if __name__ == "__main__":
    main()
