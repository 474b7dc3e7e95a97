# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The layer with everything on the device: nine launches, nothing read back.

The two products are the kernels that nvfp4-compile made of layer.mlir, the
rest is kernels.mlir. Weights come coded, by gsg-lay-out-weights.
On a GPU a stage is timed as a CUDA graph.
"""

import ctypes
import json

import numpy as np

from device import Device, Graph
from oracle import TOP_K

BLOCK = 16
REPLAYS, REPEATS = 20, 10
KERNELS = ("router", "route", "sort", "quantize", "decode", "combine")


class Resident:
    """Calls stages by launches; for run_stages."""

    def __init__(self, folder, library, device, layer, coded, tokens):
        self.device = Device(library, device)
        self.graphs = device == "cuda"
        launches = json.loads((folder / "kernels.json").read_text())
        info, self.flags = launches["products"], launches["flags"]
        self.products = self.device.load((folder / "layer.ptx").read_bytes() + b"\0",
                                         [product["kernel"] for product in info.values()])
        self.kernels = self.device.load((folder / "kernels.ptx").read_bytes() + b"\0", KERNELS)
        self.encode = {name: float(layer[f"{name}.encode"][0]) for name in ("w13", "w2")}
        self._allocate(layer, coded, tokens)
        self._prepare(info)

    def _allocate(self, layer, coded, tokens):
        device = self.device
        count, hidden = tokens.shape
        experts, double, _ = layer["w13.values"].shape
        width, rows = double // 2, count * TOP_K
        self.buffers = {
            "tokens": device.upload(tokens.view(np.uint16)),
            "router": device.upload(layer["router"]),
            "w13": device.upload(coded["w13.values"].view(np.uint8)),
            "w2": device.upload(coded["w2.values"].view(np.uint8)),
            "w13.alpha": device.upload(layer["w13.alpha"]),
            "w2.alpha": device.upload(layer["w2.alpha"]),
        }
        self.results = {
            "logits": ((count, experts), np.float32),
            "weights": ((count, TOP_K), np.float32),
            "experts": ((count, TOP_K), np.int32),
            "ends": ((experts,), np.int32),
            "token_of_row": ((rows,), np.int32),
            "row_of_slot": ((count, TOP_K), np.int32),
            "q": ((rows, hidden // 2), np.uint8),
            "qs": ((rows, hidden // BLOCK), np.uint8),
            "x_rows": ((rows, hidden), np.uint16),
            "h": ((rows, width // 2), np.uint8),
            "hs": ((rows, width // BLOCK), np.uint8),
            "h_rows": ((rows, width), np.uint16),
            "y": ((rows, hidden), np.uint16),
            "combined": ((count, hidden), np.uint16),
        }
        for name, (shape, dtype) in self.results.items():
            self.buffers[name] = device.empty(shape, dtype)

    def _product(self, info, lhs, weights, columns, tail):
        """A launch of a compiled product: see docs/Hopper.md on its parameters."""
        tokens = self.buffers[lhs]
        rows, experts = tokens.shape[0], self.buffers["ends"].shape[0]
        maps = [self.device.token_map(tokens, 8 * (i + 1), info["blocks"]) for i in range(info["maps"])]
        # As many tiles as there can be at most, of 128 columns or more.
        tiles = (-(-rows // (8 * info["maps"])) + experts) * -(-columns // 128)
        blocks = min(self.device.multiprocessors, tiles)
        arguments = [*maps, *self.buffers[weights].pointer(), ctypes.c_int32(rows), *self.buffers["ends"].pointer(),
                     *self.buffers[weights + ".alpha"].pointer(), *tail]
        if info["parameters"] > len(arguments):
            # Partial sums and flags between blocks, with room for tiles of 256 columns; a launch leaves its flags at 0.
            sums = self.device.empty((blocks, 8 * info["maps"], 256), np.float32)
            flags = self.device.empty((blocks, 512), np.int32, fill=0)
            arguments += [*sums.pointer(), *flags.pointer()]
        return self.device.prepare(self.products[info["kernel"]], blocks, info["threads"], info["shared_bytes"],
                                   info["flags"], arguments)

    def _prepare(self, info):
        b = self.buffers
        count, rows = b["tokens"].shape[0], b["q"].shape[0]

        def kernel(name, grid, block, operands):
            words = [word for operand in operands
                     for word in (b[operand].memref() if isinstance(operand, str) else [operand])]
            return self.device.prepare(self.kernels[name], grid, block, 0, self.flags[name], words)

        def blocks(columns):
            return -(-rows * columns // (BLOCK * 128))

        hidden, width = b["x_rows"].shape[1], b["h_rows"].shape[1]
        self.stages = {
            "router": [kernel("router", count, 128, ["tokens", "router", "logits"])],
            "route": [kernel("route", -(-count // 64), 64, ["logits", "weights", "experts"])],
            "sort": [kernel("sort", 1, 512, ["experts", "ends", "token_of_row", "row_of_slot"])],
            "quantize": [kernel("quantize", blocks(hidden), 128,
                                ["tokens", "token_of_row", ctypes.c_float(self.encode["w13"]), "q", "qs", "x_rows"])],
            "gate_up": [self._product(info["gate_up"], "x_rows", "w13", 2 * width,
                                      [ctypes.c_float(self.encode["w2"]), *b["h"].pointer(), *b["hs"].pointer()])],
            "down": [kernel("decode", blocks(width), 128, ["h", "hs", "h_rows"]),
                     self._product(info["down"], "h_rows", "w2", hidden, b["y"].pointer())],
            "combine": [kernel("combine", count, 128, ["y", "row_of_slot", "weights", "combined"])],
        }
        self.stages["layer"] = [launch for stage in self.stages.values() for launch in stage]

    def _time(self, launches):
        """Milliseconds of `launches`, one after the other."""
        def run(times):
            for _ in range(times):
                for launch in launches:
                    launch()

        if not self.graphs:
            return self.device.time(lambda: run(1))
        graph = Graph(self.device, lambda: run(REPEATS))
        graph.launch()
        times = sorted(self.device.time(graph.launch) for _ in range(REPLAYS))
        return times[REPLAYS // 2] / REPEATS

    def __call__(self, entry, inputs, outputs):
        written = self.results if entry == "layer" else outputs
        for name in written:
            self.device.fill(self.buffers[name], 0xFF)
        milliseconds = self._time(self.stages[entry])
        names = ["combined"] if entry == "layer" else outputs
        return [self.device.download(self.buffers[name]) for name in names], milliseconds, None
