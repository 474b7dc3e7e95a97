# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Injects faults into a lowered kernel, one at a time, and runs each mutant in
the simulator: every one must end in a finding or a wrong result.

usage: mutate.py KERNEL.mlir SHARED MINIMUM (CASE DIRECTORY GRID PROFILE ARGUMENTS)...

KERNEL.mlir is what convert-warpspec-to-nvvm gives. Several runs, for the strict
profile wants fences that the other does not, and does not accept that a ring is
reused. Fails if a mutant survives them all that is not among the harmless, or
if fewer than MINIMUM faults are found to inject."""

import pathlib
import re
import subprocess
import sys

LOWER = ("builtin.module(gpu.module(convert-scf-to-cf,convert-vector-to-llvm,"
         "convert-gpu-to-nvvm,canonicalize,cse,convert-nvvm-to-llvm,"
         "reconcile-unrealized-casts),gpu-module-to-binary{format=isa})")
HERE = pathlib.Path(__file__).resolve().parent

# Operations that are dropped, each occurrence by itself.
DROPPED = [
    "nvvm.tcgen05.fence", "nvvm.tcgen05.wait", "nvvm.tcgen05.commit",
    "nvvm.tcgen05.cp", "nvvm.tcgen05.mma", "nvvm.tcgen05.dealloc",
    "nvvm.barrier", "nvvm.fence.proxy", "nvvm.mbarrier.arrive.expect_tx",
    "nvvm.cp.async.bulk.tensor", "nvvm.cp.async.bulk.commit",
    "nvvm.cp.async.bulk.wait", "nvvm.mbarrier.init"]
# (name, pattern, replacements of its first group).
CHANGED = [
    ("bytes", r"expect_tx %\w+, %c(\d+)_i32", lambda n: [n - 16, n + 16, n // 2]),
    ("count", r"mbarrier\.init %\w+, %c(\d+)_i32", lambda n: [n + 1]),
    ("depth", r"cmpi eq, %\w+, %c([2-4])_i32", lambda n: [n - 1, n + 1]),
    ("descriptor", r"mma\.block_scale.*%c(136316032)_i32", lambda n: [n ^ 0x20, n ^ 0x20000]),
    ("parity", r"scf\.(?:for|while).*%arg\d+ = %c([01])_i32\) ->",
     lambda n: [1 - n]),
]
# Survivors that are no faults: the fences of the prologue and of the end.
HARMLESS = {
    # Nothing has touched tensor memory when its address is published.
    "drop nvvm.tcgen05.fence 0", "drop nvvm.tcgen05.fence 1",
    # Loads have been waited for when the block meets to release the columns.
    "drop nvvm.tcgen05.fence 5", "drop nvvm.tcgen05.fence 6",
}


def drop(lines):
    for opcode in DROPPED:
        found = [i for i, line in enumerate(lines)
                 if line.strip().startswith(opcode)]
        for number, i in enumerate(found):
            yield f"drop {opcode} {number}", lines[:i] + lines[i + 1:]


def change(lines):
    for name, pattern, values in CHANGED:
        number = 0
        for i, line in enumerate(lines):
            for match in re.finditer(pattern, line):
                for value in values(int(match[1])):
                    text = (line[:match.start(1)] + str(value) +
                            line[match.end(1):])
                    constant = (f"    %c{value}_i32 = arith.constant {value} : "
                                "i32")
                    yield (f"{name} {number}: {match[1]} to {value}",
                           with_constant(lines[:i] + [text] + lines[i + 1:],
                                         value, constant))
                    number += 1


def with_constant(lines, value, constant):
    """Adds the constant to the function unless it is there."""
    if any(re.match(rf"\s*%c{value}_i32 = ", line) for line in lines):
        return lines
    head = next(i for i, line in enumerate(lines) if "llvm.func @" in line)
    return lines[:head + 1] + [constant] + lines[head + 1:]


def lower(lines, ptx):
    """Writes the PTX of a mutant."""
    lowered = subprocess.run(
        ["warpspec-opt", "-", f"--pass-pipeline={LOWER}"],
        input="\n".join(lines), capture_output=True, text=True)
    if lowered.returncode != 0:
        raise SystemExit("a mutant is no legal IR:\n" + lowered.stderr[:600])
    subprocess.run([sys.executable, HERE / "ptx.py", ptx], input=lowered.stdout,
                   text=True, check=True)


def simulate(ptx, shared, case, directory, grid, profile, arguments):
    """None if nothing is found, otherwise what is."""
    done = subprocess.run(
        ["nvfp4-sim", ptx, "--shared", shared, "--grid", grid, "--seeds", "2",
         "--check", "--profile", profile, "--max-instructions", "2000000",
         "--args", arguments], capture_output=True, text=True)
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).split("\n")
        return next((line for line in lines if not line.startswith("seed")), "")
    checked = subprocess.run(
        [sys.executable, HERE / "cases.py", "check", case, directory],
        capture_output=True, text=True)
    return "wrong result" if checked.returncode != 0 else None


def find(lines, shared, runs):
    """The first finding of all runs, or None."""
    ptx = pathlib.Path(runs[0][1]) / "mutant.ptx"
    lower(lines, ptx)
    for run in runs:
        if finding := simulate(ptx, shared, *run):
            return finding
    return None


def main():
    kernel, shared, minimum, *rest = sys.argv[1:]
    runs = [rest[i:i + 5] for i in range(0, len(rest), 5)]
    lines = pathlib.Path(kernel).read_text().split("\n")
    if finding := find(lines, shared, runs):
        raise SystemExit(f"the kernel itself is found faulty: {finding}")
    caught, survivors = 0, []
    mutants = [*drop(lines), *change(lines)]
    if len(mutants) < int(minimum):
        raise SystemExit(f"expected at least {minimum} faults to inject, but "
                         f"got {len(mutants)}")
    for name, mutant in mutants:
        finding = find(mutant, shared, runs)
        caught += finding is not None
        if finding is None:
            survivors.append(name)
        print(f"{name}: {finding[:70] if finding else 'SURVIVES'}", flush=True)
    print(f"{caught} of {caught + len(survivors)} faults are caught")
    return 1 if set(survivors) - HARMLESS else 0


sys.exit(main())
