# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A run of many programs: which ones, what became of them on each target, and a summary."""

import collections
import concurrent.futures
import json
import queue

import advice
import engine
import families
from choices import FAMILIES, axes_of, plain
from cover import Coverage, Sampler
from known import find_known
from runner import Worker
from shrink import shrink, write
from writer import Inexpressible

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
FINDINGS = ("wrong", "failed", "crash", "hang", "broken", "no advice", "bad advice")
#: How often advice may be followed by more of it.
DEPTH = 8


def encode(choices):
    """The family, and a digit for each axis."""
    digits = (DIGITS[values.index(choices[axis])] for axis, values in axes_of(choices).items())
    return f"{choices['family']} {''.join(digits)}"


def decode(line):
    """Choices of a line; axes that are newer than the line have their plain value."""
    family, digits = line.split()
    return {**plain(family), **{axis: values[DIGITS.index(digit)]
                                for (axis, values), digit in zip(FAMILIES[family].items(), digits)}}


def problem_of(choices):
    """None, or ("refused", what the verifier says), of known extents as well: where they are not it speaks when the
    code runs; or ("inapplicable" or "unreachable", why there is no text)."""
    try:
        for static in dict.fromkeys((choices["static"], "all")):
            try:
                text = families.build({**choices, "static": static}, 0).text
            except Inexpressible as error:
                if error.type is None:
                    return "inapplicable" if error.excluded else "unreachable", str(error)
                text = f"func.func private @f({error.type})"
            engine.Text(text)
    except engine.Refused as error:
        return "refused", error.messages[0]
    return None


def generate(seed, count):
    """Choices by a seed: of each family those that cover pairs, then random ones; and what is covered."""
    samplers = [Sampler(family, seed, problem_of) for family in FAMILIES]
    programs, covering = [], samplers
    while len(programs) < count:
        # Families take turns until each is covered.
        covering = [s for s in covering if s.coverage.open] or samplers
        sampler = covering[len(programs) % len(covering)]
        choices = sampler.cover() or sampler.draw()
        sampler.coverage.add(choices)
        programs.append(choices)
    return programs, [sampler.coverage for sampler in samplers]


def examine(worker, choices, seed):
    """(outcome, detail, choices that ran): of a refused program that of what its diagnostics advise."""
    outcome, detail = worker.ask(choices, seed)
    for _ in range(DEPTH):
        if outcome != "refused":
            return outcome, detail, choices
        alternatives = list(advice.take(choices, detail))
        if not alternatives:
            return "no advice", detail, choices
        best = None
        for other, target in alternatives:
            if target:
                best = best or ("other target", detail, choices)
                continue
            # What is known where the code runs only, such as N, may exclude what a diagnostic names.
            if problem_of(other) is not None:
                continue
            next_outcome, next_detail = worker.ask(other, seed)
            if next_outcome not in ("refused", "illegal", "inexpressible"):
                return next_outcome, next_detail, other
            if next_outcome == "refused" and next_detail != detail:
                best = (next_outcome, next_detail, other)
        if best is None:
            return "bad advice", detail, choices
        outcome, detail, choices = best
    return "bad advice", detail, choices


class Campaign:
    """Programs on one target."""

    def __init__(self, target, jobs, seed, failures):
        self.target, self.jobs, self.seed, self.failures = target, jobs, seed, failures
        self.outcomes, self.known = collections.Counter(), collections.Counter()
        self.coverage, self.findings = {family: Coverage(family) for family in FAMILIES}, []

    def run(self, programs):
        workers = queue.Queue()
        for i in range(self.jobs):
            workers.put(Worker(self.target, self.seed + 1000 * i))

        def one(item):
            number, choices = item
            reason = find_known(choices, self.target)
            if reason:
                return number, "known", reason, choices
            worker = workers.get()
            try:
                outcome, detail, ran = examine(worker, choices, number)
                reason = find_known(ran, self.target)
                if reason and outcome in FINDINGS:
                    return number, "known", reason, ran
                if outcome in FINDINGS and outcome in ("wrong", "failed", "crash"):
                    ran, detail = shrink(worker, ran, number, outcome, detail)
                return number, outcome, detail, ran
            finally:
                workers.put(worker)

        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for number, outcome, detail, choices in pool.map(one, enumerate(programs)):
                self.take(number, outcome, detail, choices)
        while not workers.empty():
            workers.get().close()

    def take(self, number, outcome, detail, choices):
        self.outcomes[outcome] += 1
        if outcome == "known":
            self.known[detail] += 1
        elif outcome == "ok":
            self.coverage[choices["family"]].add(choices)
        elif outcome in FINDINGS:
            self.findings.append((number, outcome, detail, choices))
            print(f"{self.target}: program {number}: {outcome}: {describe(choices)}\n  {detail[:1500]}", flush=True)
            if self.failures:
                write(self.failures / f"{self.target}-{number}", choices, number, self.target, detail)

    def report(self):
        words = ", ".join(f"{count} {outcome}" for outcome, count in sorted(self.outcomes.items()))
        pairs = ", ".join(f"{len(c.covered)} pairs of {family}" for family, c in self.coverage.items())
        print(f"{self.target}: {words}; ran {pairs}")
        for reason, count in self.known.items():
            print(f"{self.target}: {count} left out: {reason}")


def describe(choices):
    """The choices that are not plain, as --choices takes them."""
    start = plain(choices["family"])
    return json.dumps({axis: value for axis, value in choices.items() if axis == "family" or value != start[axis]})


def run(options):
    """Exit status."""
    if options.choices:
        given = json.loads(options.choices)
        programs = [{**plain(given.get("family", "matmul")), **given}]
        print(families.build(programs[0], 0).text)
    elif options.suite:
        programs = [decode(line) for line in options.suite.read_text().splitlines()][:options.count]
    else:
        programs, coverage = generate(options.seed, options.count)
        print(f"seed {options.seed}: {len(programs)} programs", *coverage, sep="\n  ", flush=True)
        if options.write_suite:
            options.write_suite.write_text("".join(encode(c) + "\n" for c in programs))
            return 0
    found = 0
    for target in options.target.split(","):
        campaign = Campaign(target, options.jobs, options.seed, options.failures)
        campaign.run(programs)
        campaign.report()
        found += len(campaign.findings)
    return 1 if found else 0
