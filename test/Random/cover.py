# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws choices: first so that every pair of values meets in some program, then at random.

Which values go together is asked of a function, that is, of the verifier.
"""

import itertools
import random
import re

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
    if c["copy"] == "none":
        out -= {"copy_form", "copy_mode", "copy_layout", "copy_starts", "copy_global"}
    if c["gradient"] == "none":
        out -= {"z", "prob_out"}
        if c["activation"] == "none":
            out -= {"gate", "round"}
    if c["form"] in ("dense", "k_ends", "k_starts"):
        out -= {"weights"}
    if c["form"] in ("dense", "batched"):
        out -= {"index", "slack"}
    if c["form"] in ("dense", "batched", "masked"):
        out -= {"align"}
    if c["lhs"] in ("bf16", "f16"):
        out -= {"lhs_layout", "lhs_starts"}
    return out


#: Axes that say which others matter.
GOVERNING = ("op", "form", "out", "activation", "lhs", "copy", "gradient")
KINDS = ("refused", "inapplicable", "unreachable")


class Coverage:
    """Which pairs of (axis, value) have met, and which never can: the verifier refuses them, one makes the other
    meaningless, or the generator has no text for them, which is a gap."""

    def __init__(self, family):
        axes = FAMILIES[family]
        self.order = {axis: i for i, axis in enumerate(axes)}
        self.open = {pair for a, b in itertools.combinations(axes, 2)
                     for pair in itertools.product([(a, v) for v in axes[a]], [(b, v) for v in axes[b]])}
        self.family, self.total, self.covered = family, len(self.open), set()
        self.excluded = {kind: {} for kind in KINDS}

    def pairs(self, choices):
        used = sorted(active_axes(choices), key=self.order.get)
        return set(itertools.combinations([(axis, choices[axis]) for axis in used], 2))

    def add(self, choices):
        """Counts the pairs of a program; how many are new."""
        new = self.pairs(choices) & self.open
        self.open -= new
        self.covered |= new
        return len(new)

    def exclude(self, pair, kind, message):
        self.open.discard(pair)
        self.excluded[kind][pair] = message

    def gain(self, choices, axis):
        """Open pairs of the value of one axis."""
        item = (axis, choices[axis])
        return sum(tuple(sorted((item, other), key=lambda x: self.order[x[0]])) in self.open
                   for other in choices.items() if other[0] not in (axis, "family"))

    def __str__(self):
        words = ", ".join(f"{len(self.excluded[kind])} {kind}" for kind in KINDS)
        return (f"{self.family}: {self.total} pairs of choices, {len(self.covered)} covered, {words}, "
                f"{len(self.open)} open")


class Sampler:
    """Choices by a seed; `problem(choices)` is None for those that may be, else (kind, message) with the kind
    "refused" for what the verifier refuses, and "inapplicable" or "unreachable" for what has no text."""

    def __init__(self, family, seed, problem):
        self.axes, self.rng, self.problem = FAMILIES[family], random.Random(f"{family} {seed}"), problem
        self.coverage, self.plain = Coverage(family), plain(family)
        #: Of the pair in hand: edits left, and what is refused after the others.
        self.deepest = 4, None

    def candidates(self, pair):
        """Plain choices with the pair, and the axes on which its own depend so that both matter; nearest first."""
        start, fixed = {**self.plain, **dict(pair)}, {axis for axis, _ in pair}
        free = [axis for axis in GOVERNING if axis in self.axes and axis not in fixed]
        for count in range(min(3, len(free)) + 1):
            for changed in itertools.combinations(free, count):
                for values in itertools.product(*[self.axes[axis][1:] for axis in changed]):
                    choices = {**start, **dict(zip(changed, values))}
                    if fixed <= active_axes(choices):
                        yield choices

    def repair(self, pair, tries=300):
        """(choices with the pair that are legal, None), or (None, why there are none)."""
        fixed, first = {axis for axis, _ in pair}, None
        candidates = list(itertools.islice(self.candidates(pair), 60))
        if not candidates:
            return None, ("inapplicable", "")
        for choices in candidates:
            problem = self.problem(choices)
            if problem is None:
                return choices, None
            # What the verifier says is better known than that there is no text.
            if first is None or KINDS.index(problem[0]) < KINDS.index(first[0]):
                first = problem
        single = [(axis, v) for axis in self.axes if axis not in fixed for v in self.axes[axis]]
        for choices in candidates[:3]:
            for edit in single:
                if self.fits({**choices, **dict([edit])}, fixed):
                    return {**choices, **dict([edit])}, None
        self.deepest = 4, first
        for choices in candidates[:12]:
            found = self.follow(choices, fixed, {repr(choices)})
            if found is not None:
                return found, None
        for _ in range(tries):
            edits = dict(self.rng.sample(single, self.rng.choice([2, 2, 3, 4])))
            choices = {**self.rng.choice(candidates), **edits}
            if self.fits(choices, fixed):
                return choices, None
        return None, self.deepest[1]

    def follow(self, choices, fixed, seen, depth=3, limit=120):
        """Legal choices by edits to values that the messages name, or None."""
        problem = self.problem(choices)
        if problem is None:
            return choices
        if depth < self.deepest[0] and problem[0] == "refused":
            self.deepest = depth, problem
        words = set(re.findall(r"\w+", problem[1]))
        for axis in self.axes if depth else ():
            for value in self.axes[axis]:
                other = {**choices, axis: value}
                if axis in fixed or not set(re.findall(r"\w+", str(value))) <= words or repr(other) in seen:
                    continue
                seen.add(repr(other))
                if len(seen) > limit:
                    return None
                if fixed <= active_axes(other):
                    found = self.follow(other, fixed, seen, depth - 1)
                    if found is not None:
                        return found
        return None

    def fits(self, choices, fixed):
        return fixed <= active_axes(choices) and self.problem(choices) is None

    def cover(self):
        """The next choices that cover an open pair, or None where none is left."""
        while self.coverage.open:
            pair = self.rng.choice(sorted(self.coverage.open, key=repr)[:400])
            choices, reason = self.repair(pair)
            if choices is None:
                self.coverage.exclude(pair, *reason)
                continue
            return self.spread(choices, {axis for axis, _ in pair})
        return None

    def spread(self, choices, fixed):
        """Other axes get the values that have most open pairs, as far as that is legal."""
        for axis in self.rng.sample(sorted(set(self.axes) - fixed), len(self.axes) - len(fixed)):
            options = self.rng.sample(self.axes[axis], min(4, len(self.axes[axis])))
            options.sort(key=lambda v: -self.coverage.gain({**choices, axis: v}, axis))
            for value in options[:2]:
                if value == choices[axis] or self.fits({**choices, axis: value}, fixed):
                    choices = {**choices, axis: value}
                    break
        return choices

    def draw(self):
        """Choices at random: some axes away from the plain value, those that make it illegal back again."""
        rng, choices = self.rng, dict(self.plain)
        for axis in rng.sample(sorted(self.axes), rng.randint(2, len(self.axes) // 2)):
            trial = {**choices, axis: rng.choice(self.axes[axis])}
            if self.problem(trial) is None:
                choices = trial
        return choices
