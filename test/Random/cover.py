# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws choices: first so that every pair of values meets in some program, then at random.

Which values go together is asked of a function, that is, of the verifier.
"""

import itertools
import random

from choices import FAMILIES, PARTS, axes_of, plain


def active_axes(c):
    """The axes that the text of a program depends on."""
    out = set(axes_of(c))
    if c["family"] == "single":
        out = {"op", "form", "sizes", "n", "static", "storage", *PARTS[c["op"]]}
        return out - ({"index", "slack", "align"} if c["form"] in ("none", "batched") else set())
    if c["family"] == "list":
        return out
    if ":" not in c["out"]:
        out -= {"out_axis", "out_layout", "out_starts", "out_mode", "global"}
    if c["activation"] == "none":
        out -= {"gate", "round"}
    if c["form"] in ("dense", "k_ends", "k_starts"):
        out -= {"weights"}
    if c["form"] in ("dense", "batched"):
        out -= {"index", "slack"}
    if c["lhs"] in ("bf16", "f16"):
        out -= {"lhs_layout", "lhs_starts"}
    return out


class Coverage:
    """Which pairs of (axis, value) have met, and which never can."""

    def __init__(self, family):
        axes = FAMILIES[family]
        self.order = {axis: i for i, axis in enumerate(axes)}
        self.open = {pair for a, b in itertools.combinations(axes, 2)
                     for pair in itertools.product([(a, v) for v in axes[a]], [(b, v) for v in axes[b]])}
        self.family, self.total, self.covered, self.illegal = family, len(self.open), set(), set()

    def pairs(self, choices):
        used = sorted(active_axes(choices), key=self.order.get)
        return set(itertools.combinations([(axis, choices[axis]) for axis in used], 2))

    def add(self, choices):
        """Counts the pairs of a program; how many are new."""
        new = self.pairs(choices) & self.open
        self.open -= new
        self.covered |= new
        return len(new)

    def exclude(self, pair):
        self.open.discard(pair)
        self.illegal.add(pair)

    def gain(self, choices, axis):
        """Open pairs of the value of one axis."""
        item = (axis, choices[axis])
        return sum(tuple(sorted((item, other), key=lambda x: self.order[x[0]])) in self.open
                   for other in choices.items() if other[0] not in (axis, "family"))

    def __str__(self):
        return (f"{self.family}: {self.total} pairs of choices, {len(self.covered)} covered, {len(self.illegal)} "
                f"illegal, {len(self.open)} open")


class Sampler:
    """Choices by a seed; `legal(choices)` says which may be."""

    def __init__(self, family, seed, legal):
        self.axes, self.rng, self.legal = FAMILIES[family], random.Random(f"{family} {seed}"), legal
        self.coverage, self.plain = Coverage(family), plain(family)

    def repair(self, choices, fixed, tries=150):
        """The choices with one or two others changed so that they are legal, or None."""
        if self.legal(choices):
            return choices
        single = [(axis, v) for axis in self.axes if axis not in fixed for v in self.axes[axis] if v != choices[axis]]
        for axis, value in single:
            if self.legal({**choices, axis: value}):
                return {**choices, axis: value}
        for _ in range(tries):
            (a, v), (b, w) = self.rng.sample(single, 2)
            if self.legal({**choices, a: v, b: w}):
                return {**choices, a: v, b: w}
        return None

    def cover(self):
        """The next choices that cover an open pair, or None where none is left."""
        while self.coverage.open:
            pair = self.rng.choice(sorted(self.coverage.open, key=repr)[:400])
            fixed = {axis for axis, _ in pair}
            choices = self.repair({**self.plain, **dict(pair)}, fixed)
            if choices is None or not fixed <= active_axes(choices):
                self.coverage.exclude(pair)
                continue
            return self.spread(choices, fixed)
        return None

    def spread(self, choices, fixed):
        """Other axes get the values that have most open pairs, as far as that is legal."""
        for axis in self.rng.sample(sorted(set(self.axes) - fixed), len(self.axes) - len(fixed)):
            options = self.rng.sample(self.axes[axis], min(4, len(self.axes[axis])))
            options.sort(key=lambda v: -self.coverage.gain({**choices, axis: v}, axis))
            for value in options[:2]:
                if value == choices[axis] or self.legal({**choices, axis: value}):
                    choices = {**choices, axis: value}
                    break
        return choices

    def draw(self):
        """Choices at random: some axes away from the plain value, those that make it illegal back again."""
        rng, choices = self.rng, dict(self.plain)
        for axis in rng.sample(sorted(self.axes), rng.randint(2, len(self.axes) // 2)):
            trial = {**choices, axis: rng.choice(self.axes[axis])}
            if self.legal(trial):
                choices = trial
        return choices
