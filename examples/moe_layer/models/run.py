# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the layer of a model, runs it on random weights, checks each stage and prints a table."""

import dataclasses
import os
import sys

from models.check import Checks, Mismatch
from models.sizes import MODELS
from models.text import ModelText
from models.weights import check_memory, draw_tokens, draw_weights, host_memory, pack
from on_device import Driver, OnDevice
from on_host import OnHost

TARGETS = ("cpu", "sm_90a+sim", "sm_100a+sim", "cuda")
GPUS = {(9, 0): "sm_90a", (10, 0): "sm_100a"}
MOST_TOKENS = 16384


def get_model(name, rows=None, **slices):
    """A model or a slice of it, also with other rows; SystemExit says what does not fit."""
    if name not in MODELS:
        sys.exit(f"moe_layer: expected --model as one of {', '.join(MODELS)}, but got {name}")
    model = MODELS[name]
    if rows not in (None, "bf16", model.rows):
        sys.exit(f"moe_layer: {name}: expected --rows {' or '.join(sorted({'bf16', model.rows}))}, but got {rows}")
    try:
        return dataclasses.replace(model, rows=rows or model.rows).slice(**slices)
    except ValueError as error:
        sys.exit(f"moe_layer: {name}: {error}")


class Layer:
    """The compiled layer of a model on ``target``, with weights and tokens."""

    def __init__(self, nvfp4, name, model, tokens, target, on_device, repeats=None):
        if not 1 <= tokens <= MOST_TOKENS:
            sys.exit(f"moe_layer: expected --tokens in [1, {MOST_TOKENS}], but got {tokens}")
        driver = Driver() if target == "cuda" else None
        if driver:
            capability = driver.capability()
            if capability not in GPUS:
                sys.exit(f"moe_layer: expected a GPU of compute capability 9.0 or 10.0, but got {'.'.join(map(str, capability))}")
            target = GPUS[capability]
        packed, simulated = target.startswith("sm_90a"), target.endswith("+sim")
        check_memory(name, model, tokens, packed, (host_memory(), driver and driver.free_memory()))
        self.text = ModelText(model, "wgmma" if packed else "linear")
        self.model, self.device = model, "sim" if simulated else "cuda" if driver else "cpu"
        # The simulator knows the number of rows: one kernel for each product is enough.
        self.program = nvfp4.compile(self.text.text(), target, device=None if simulated or not driver else "cuda",
                                     memory="device" if on_device else "host", versions=1 if simulated else 4)
        drawn = {**draw_weights(model), "x": draw_tokens(model, tokens)}
        #: As drawn, and with all results: what is checked.
        self.arrays = dict(drawn)
        given = pack(nvfp4, model, drawn) if packed else dict(drawn)
        if on_device:
            self.call = OnDevice(self.program, nvfp4, self.device, given)
        else:
            self.call = OnHost(self.program, nvfp4, given, repeats or (1 if simulated else 5))

    def run(self):
        """(stage, milliseconds, error as a share of its bound or None, note) of each stage; Mismatch where one is wrong."""
        checks = Checks(self.model, self.arrays)
        for stage in (*self.text.stages, "layer"):
            names = self.text.outputs(stage)
            results, milliseconds, _ = self.call(stage, self.text.inputs(stage), names)
            self.arrays.update(zip(names, results))
            yield stage, milliseconds, *getattr(checks, stage)()


def run(args, nvfp4, folder):
    """run.py --model."""
    model = get_model(args.model, args.rows, experts=args.experts, hidden=args.hidden, width=args.width)
    tokens = 256 if args.tokens is None else args.tokens
    target = args.target or "cpu"
    print(f"{args.model}: {tokens} tokens, {model.experts} experts (top {model.top_k}, {model.routing}), hidden {model.hidden}, width "
          f"{model.width}, {model.weights} weights, rows in {model.rows}.")
    layer = Layer(nvfp4, args.model, model, tokens, target, args.on_device, args.repeats)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{args.model}.mlir"
    path.write_text(layer.program.text)
    print(f"Layer: {os.path.relpath(path)}. Running each stage on {layer.device} ({layer.program.target}) ...")
    print(f"\n{'stage':<12}{'ms':>11}{'error/bound':>13}  result")
    try:
        for stage, milliseconds, ratio, note in layer.run():
            print(f"{stage:<12}{milliseconds:>11.3f}{'' if ratio is None else f'{ratio:.3f}':>13}  {note}", flush=True)
    except Mismatch as error:
        sys.exit(f"moe_layer: {error}")
