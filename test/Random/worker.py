# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs programs on one target in a process of its own, so that a crash has one culprit.

Reads a line of JSON for each program, {"choices": ..., "seed": ...}, and answers with one, {"outcome": ..., "detail":
...}. The simulator of a process is of one architecture, with the schedule that its environment says.

Outcomes: ``ok``; ``illegal``, by the verifier; ``refused``, by the target; ``wrong``, against the oracle or the
interpreter; ``failed``, where a call of legal data ends with an error.
"""

import copy
import json
import sys
import traceback

import engine
import families
from writer import Inexpressible

#: Forms without rows of no group, which values have as zero and storage keeps.
COVERED = ("dense", "batched", "k")


def build(choices, seed):
    """The program, and the same on tensors for the interpreter."""
    program = families.build(choices, seed)
    if choices["storage"] != "memref":
        return program, program
    return program, families.build({**choices, "storage": "parts"}, seed)


def flatten(program, found):
    """Results by name, and in the order in which tensors are returned."""
    names = [n for name, is_scaled in program.results for n in [name] + [name + "_s"] * is_scaled]
    if program.choices["storage"] == "memref":
        by_name = dict(zip(program.names, program.arrays))
        found = [by_name[n] for n in names]
    return dict(zip(names, found)), found


def run(choices, seed, target):
    """(outcome, detail) of one program."""
    try:
        program, reference = build(choices, seed)
        text = engine.Text(program.text)
        reference_text = text if reference is program else engine.Text(reference.text)
    except Inexpressible as error:
        return "inexpressible", str(error)
    except engine.Refused as error:
        return "illegal", str(error)
    oracle = families.oracle(copy.deepcopy(program), target)
    try:
        code = engine.compile_text(program.text, target)
    except engine.Refused as error:
        return "refused", str(error)
    try:
        results, found = flatten(program, engine.call(code, program.arrays))
    except Exception as error:  # whatever a call of legal data raises is a finding
        return "failed", f"{type(error).__name__}: {error}"
    try:
        oracle.check(results)
    except AssertionError as error:
        return "wrong", f"oracle: {error}"
    if program.choices["storage"] != "value" and getattr(oracle, "has_uncertain_codes", False):
        # Bytes without their type are compared as bytes; of a value the interpreter knows which codes may be.
        if program.choices["form"].partition("_")[0] not in COVERED:
            return "ok", ""
        reference = families.build({**choices, "storage": "value"}, seed)
        reference_text = engine.Text(reference.text)
    # The interpreter takes what it is given as scales whatever their numpy type.
    said = reference_text.compare(target, reference.arrays, found, False)
    return ("wrong", f"interpreter: {said}") if said else ("ok", "")


def main():
    target = sys.argv[1]
    for line in sys.stdin:
        job = json.loads(line)
        try:
            outcome, detail = run(job["choices"], job["seed"], target)
        except Exception:  # a fault of these modules
            outcome, detail = "broken", traceback.format_exc()
        print(json.dumps({"outcome": outcome, "detail": detail}), flush=True)


if __name__ == "__main__":
    main()
