#!/usr/bin/env python3
# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a small Mixture-of-Experts language model in NVFP4, MXFP8, MXFP4 and float32, and prints its losses.

  examples/training/train.py [--steps 300] [--recipes float32 mxfp8_e4m3 nvfp4] [--results FILE]

Text is made by a generator whose next letter depends on the two before it. The model is an embedding, two layers of
experts behind a norm with a residual, and a matrix of outputs; the experts run forward and backward as functions that
nvfp4.training compiles, all else in numpy. The table has the mean loss of the last tenth of the steps, in nats, beside the
entropy of the text, which no model can pass. With --results rows of it are added to a file, one for each twentieth of the
steps, of which the table has the mean of the last two.
"""

import argparse
import dataclasses
import datetime
import json
import platform

import numpy as np

from nvfp4.training import MoEProgram, MoEShape, Recipe

LETTERS, HIDDEN, WIDTH, EXPERTS, TOP_K, LAYERS = 24, 64, 64, 8, 2, 2
BATCH = 256


class Text:
    """Letters of a Markov chain of order two, each pair with a distribution of its own."""

    def __init__(self, rng):
        odds = np.exp(2 * rng.standard_normal((LETTERS, LETTERS, LETTERS)))
        self.chances = odds / odds.sum(-1, keepdims=True)
        self.rng = rng

    def batch(self, count):
        """(two letters, the next one) for ``count`` places."""
        pairs = self.rng.integers(0, LETTERS, (count, 2))
        chances = self.chances[pairs[:, 0], pairs[:, 1]]
        following = (chances.cumsum(-1) > self.rng.random((count, 1))).argmax(-1)
        return pairs, following

    @property
    def entropy(self):
        return float(-(self.chances * np.log(self.chances)).sum(-1).mean())


class Float32:
    """The experts in float32 by numpy, with the interface of MoEProgram."""

    def __init__(self, shape):
        self.shape = shape

    def forward(self, x, experts, scores, w13, w2):
        out, saved = np.zeros_like(x), (x, experts, scores)
        for e in range(self.shape.experts):
            token, slot = np.nonzero(experts == e)
            y = self._activate(x[token] @ w13[e].T)[0] * scores[token, slot][:, None]
            np.add.at(out, token, y @ w2[e].T)
        return out, saved

    def backward(self, gradient, saved, w13, w2, *, seed=0):
        x, experts, scores = saved
        dx, ds, dw13, dw2 = np.zeros_like(x), np.zeros_like(scores), np.zeros_like(w13), np.zeros_like(w2)
        for e in range(self.shape.experts):
            token, slot = np.nonzero(experts == e)
            y, by_gate, by_up = self._activate(x[token] @ w13[e].T)
            score, dy = scores[token, slot][:, None], gradient[token] @ w2[e]
            ds[token, slot] = (dy * y).sum(-1)
            dw2[e] = gradient[token].T @ (y * score)
            dz = np.concatenate([dy * score * by_gate, dy * score * by_up], axis=-1)
            dw13[e] = dz.T @ x[token]
            np.add.at(dx, token, dz @ w13[e])
        return dx, ds, dw13, dw2

    @staticmethod
    def _activate(z):
        """swiglu and its derivatives."""
        gate, up = np.split(z, 2, axis=-1)
        s = 1 / (1 + np.exp(-gate))
        return gate * s * up, up * s * (1 + gate * (1 - s)), gate * s


@dataclasses.dataclass
class Adam:
    """The optimiser of one array."""

    value: np.ndarray
    rate: float = 3e-3
    first: float = 0.0
    second: float = 0.0
    steps: int = 0

    def step(self, gradient):
        self.steps += 1
        self.first = 0.9 * self.first + 0.1 * gradient
        self.second = 0.99 * self.second + 0.01 * gradient**2
        mean, square = self.first / (1 - 0.9**self.steps), self.second / (1 - 0.99**self.steps)
        self.value -= self.rate * mean / (np.sqrt(square) + 1e-8)


class Block:
    """Router and experts behind a norm, with a residual."""

    def __init__(self, rng, experts):
        self.experts = experts
        shapes = ((EXPERTS, HIDDEN), experts.shape.shape13, experts.shape.shape2)
        self.parameters = [Adam((rng.standard_normal(shape) / HIDDEN**0.5).astype(np.float32)) for shape in shapes]

    def forward(self, x):
        router, w13, w2 = (each.value for each in self.parameters)
        norm = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)
        rows = x * norm
        logits = rows @ router.T
        chosen = np.argsort(-logits, axis=-1, kind="stable")[:, :TOP_K].astype(np.int32)
        odds = np.exp(np.take_along_axis(logits, chosen, -1) - logits.max(-1, keepdims=True))
        scores = (odds / odds.sum(-1, keepdims=True)).astype(np.float32)
        out, saved = self.experts.forward(rows, chosen, scores, w13, w2)
        self.saved = rows, norm, chosen, scores, saved
        return x + out

    def backward(self, gradient, seed):
        router, w13, w2 = (each.value for each in self.parameters)
        rows, norm, chosen, scores, saved = self.saved
        dx, ds, dw13, dw2, *_ = self.experts.backward(gradient, saved, w13, w2, seed=seed)
        of_logits = np.zeros((len(rows), EXPERTS), np.float32)
        np.put_along_axis(of_logits, chosen, scores * (ds - (scores * ds).sum(-1, keepdims=True)), -1)
        of_rows = dx + of_logits @ router
        for parameter, found in zip(self.parameters, (of_logits.T @ rows, dw13, dw2)):
            parameter.step(found)
        return gradient + norm * (of_rows - rows * (of_rows * rows).mean(-1, keepdims=True))


def train(recipe, steps, seed=0):
    """The loss of each step. ``recipe`` is a Recipe, or None for float32."""
    rng = np.random.default_rng(seed)
    text = Text(rng)
    shape = MoEShape(EXPERTS, HIDDEN, WIDTH, TOP_K)
    blocks = [Block(rng, Float32(shape) if recipe is None else MoEProgram(shape, recipe)) for _ in range(LAYERS)]
    embedding = Adam((rng.standard_normal((2, LETTERS, HIDDEN)) / 2**0.5).astype(np.float32))
    outputs = Adam((rng.standard_normal((LETTERS, HIDDEN)) / HIDDEN**0.5).astype(np.float32))
    losses = []
    for step in range(steps):
        pairs, following = text.batch(BATCH)
        x = embedding.value[0, pairs[:, 0]] + embedding.value[1, pairs[:, 1]]
        for block in blocks:
            x = block.forward(x)
        logits = x @ outputs.value.T
        logits -= logits.max(-1, keepdims=True)
        chances = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
        losses.append(float(-np.log(chances[np.arange(BATCH), following]).mean()))
        chances[np.arange(BATCH), following] -= 1
        chances /= BATCH
        gradient = chances @ outputs.value
        outputs.step(chances.T @ x)
        for number, block in reversed(list(enumerate(blocks))):
            gradient = block.backward(gradient, 1000 * (step * LAYERS + number))
        found = np.zeros_like(embedding.value)
        for place in range(2):
            np.add.at(found[place], pairs[:, place], gradient)
        embedding.step(found)
    return losses, text.entropy


def write_results(path, subject, losses, steps):
    """Rows as those of benchmarks/results."""
    with open(path, "a", encoding="utf-8") as file:
        for number, part in enumerate(np.array_split(losses, 20), 1):
            row = {"case": f"moe_language_model_{steps}", "subject": subject, "metric": f"loss_{5 * number}_percent",
                   "value": round(float(part.mean()), 4), "command": f"examples/training/train.py --steps {steps}",
                   "machine": f"{platform.machine()}, {platform.system()}", "date": datetime.date.today().isoformat()}
            file.write(json.dumps(row) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--recipes", nargs="+", default=["float32", "mxfp8_e4m3", "nvfp4"],
                        choices=["float32", "mxfp8_e4m3", "mxfp4", "nvfp4"])
    parser.add_argument("--results", help="a file of JSON lines")
    options = parser.parse_args()
    for name in options.recipes:
        losses, entropy = train(None if name == "float32" else Recipe(name), options.steps)
        if options.results:
            write_results(options.results, name, losses, options.steps)
        print(f"{name:<12} {np.mean(losses[-max(options.steps // 10, 1):]):.4f}  entropy {entropy:.4f}")


if __name__ == "__main__":
    main()
