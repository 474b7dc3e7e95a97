# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults injected into the PTX of generated kernels, one at a time: the simulator
reports each, or the result is wrong.

The text lies in the artefact as a constant, so a mutant is the artefact with other
bytes: a dropped instruction is blanks, a changed number has as many digits. Every
mutant runs in a process of its own. `check-nvfp4-full` runs all of them, other
runs a sample.
"""

import os
import pathlib
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest

from nvfp4_cases import *  # noqa: F403
from nvfp4_kernels import compile_kernels, simulated, tile
from nvfp4_module import FULL, Module, scratch
from weight_only import plain_product

pytestmark = simulated("sm_100a")

# Every so many-th fault, but in full runs all.
STRIDE = 1 if FULL else 9
OPTIONS = "--check --profile strict --seed {} --max-instructions 3000000"

DROPPED = ["tcgen05.fence", "tcgen05.wait", "tcgen05.commit", "tcgen05.cp", "tcgen05.mma",
           "tcgen05.dealloc", "fence.proxy.async", "mbarrier.arrive", "mbarrier.init",
           "st.release", "bar.sync", "bar.warp.sync", "barrier.cluster", "cp.async.bulk.tensor",
           "cp.async.bulk.commit_group", "cp.async.bulk.wait_group", "st.shared", "st.global.v"]
# (name, pattern of a line, values for the number of its first group).
CHANGED = [("slots", r"setp\.eq\.b32 \s*%p\d+, %r\d+, ([23]);", lambda n: [n - 1, n + 1])]
# Orders of accesses of global memory that mean less.
WEAKENED = [("st.release", "st.relaxed"), ("ld.acquire", "ld.relaxed")]
# Constants of instructions come by registers: instruction, operand, values.
CONSTANTS = [("columns", r"tcgen05\.alloc\S* \s*\[%rd\d+\], (%r\d+);", lambda n: [n // 2]),
             ("bytes", r"mbarrier\.arrive\.expect_tx\S* \S+ \[%rd\d+\], (%r\d+);",
              lambda n: [n - 16, n + 16]),
             ("count", r"mbarrier\.init\S* \s*\[%rd\d+\], (%r\d+);", lambda n: [n + 1, n - 1]),
             ("instruction", r"tcgen05\.mma\S* \[%r\d+\], \[?%rd?\d+\]?, %rd\d+, (%r\d+),",
              lambda n: [n ^ 0x20, n ^ 0x20000])]


def blank(lines, at):
    return lines[:at] + [b" " * len(lines[at])] + lines[at + 1:]


def spelled(lines, at, begin, end, value):
    """The line with another number, in the same number of bytes if that is possible."""
    width = end - begin
    text = str(value).encode()
    if value < 0 or len(text) > width:
        return None
    line = lines[at]
    # Blanks before a number change nothing; zeros would make it octal.
    return lines[:at] + [line[:begin] + text.rjust(width) + line[end:]] + lines[at + 1:]


def mutants(lines):
    for opcode in DROPPED:
        found = [i for i, line in enumerate(lines)
                 if re.match(rb"\s*(@!?%p\d+ )?\s*" + re.escape(opcode.encode()), line)]
        for number, at in enumerate(found):
            yield f"drop {opcode} {number}", blank(lines, at)
    for strong, weak in WEAKENED:
        for at, line in enumerate(lines):
            if strong.encode() in line:
                changed = line.replace(strong.encode(), weak.encode())
                yield f"{weak} in line {at}", lines[:at] + [changed] + lines[at + 1:]
    for name, pattern, values in CHANGED:
        for at, line in enumerate(lines):
            if match := re.search(pattern.encode(), line):
                for value in values(int(match[1])):
                    if changed := spelled(lines, at, *match.span(1), value):
                        yield f"{name} of line {at}: {int(match[1])} to {value}", changed
    for name, pattern, values in CONSTANTS:
        registers = {match[1] for line in lines if (match := re.search(pattern.encode(), line))}
        for register in sorted(registers):
            move = re.compile(rb"mov\.b32 \s*" + re.escape(register) + rb", (\d+);")
            for at, line in enumerate(lines):
                if match := move.search(line):
                    for value in values(int(match[1])):
                        if changed := spelled(lines, at, *match.span(1), value):
                            yield f"{name} in {register.decode()}: {int(match[1])} to {value}", changed


# Changes that are no fault at their place.
HARMLESS = [
    # Nothing has touched tensor memory when its address is published, and loads have been
    # waited for when the block meets to release the columns.
    r".*: drop tcgen05\.fence (0|1|last|before last)",
    # An accumulator in two parts: who waits for both needs one fence after the last wait, and
    # each commit covers the products of both.
    r"shared columns: drop tcgen05\.fence [245]",
    # Before its first product the tensor core waits for decoded weights, too, and has the
    # fence of that wait.
    r"(unscaled|split): drop tcgen05\.fence 2",
    # The slot's next product also waits for the shared columns of the tile in between, and
    # the epilogue hands those back after it has read all of this one.
    r"shared columns: drop (tcgen05\.fence 7|bar\.warp\.sync 1)",
    # Lanes of one warp turn rows among themselves. Between reading them and storing the next
    # they meet to hand back an accumulator.
    r"turned( pair)?: drop bar\.warp\.sync 2", r"unscaled: drop bar\.warp\.sync 4",
    r"split: drop bar\.warp\.sync 5",
    # Lanes that have split rows meet again to hand back the codes, and before they hand over
    # the decoded weights that the tensor core waits for as well.
    r"split: drop bar\.warp\.sync [01]",
]


def attempt(path, case, seed, blocks):
    """0 if the artefact's result is right, 1 if it is wrong, 2 with an error's text."""
    environment = dict(os.environ, NVFP4_DEVICE="sim", NVFP4_MAX_BLOCKS=str(blocks),
                       NVFP4_SIM_OPTIONS=OPTIONS.format(seed))
    done = subprocess.run([sys.executable, __file__, str(path), str(case)], text=True,
                          capture_output=True, env=environment, timeout=300)
    return done.returncode, (done.stdout + done.stderr).strip()


def run_case(path, case):
    arguments, expected = pickle.loads(pathlib.Path(case).read_bytes())
    try:
        got = Module(path, "").f(*arguments)
    except RuntimeError as error:
        print("\n".join(str(error).split("\n")[:2])[:500])
        return 2
    return 0 if np.array_equal(np.nan_to_num(got.astype(np.float64)),
                               np.nan_to_num(expected.astype(np.float64))) else 1


# Each with the sizes of groups and N: blocks come back to every slot of every pipeline,
# some boxes of results are whole, some are cut, and the columns that accumulators of 256
# share are all stored.
KERNELS = {"rows": (dict(m=128, n=64), [130, 9], 136),
           "shared columns": (dict(m=128, n=256), [130, 9], 520),
           "pair": (dict(m=256, n=128, ctas=2), [260, 9], 136),
           "turned": (dict(m=128, n=16, swap_ab="true"), [9, 0, 37], 136),
           "turned pair": (dict(m=256, n=32, ctas=2, swap_ab="true"), [9, 0, 37], 136),
           "parts": (dict(m=128, n=64, split_k=3), [130, 9], 136),
           # Threads decode weights, and split the rows beside some.
           "unscaled": (dict(m=128, k=128, n=16, swap_ab="true"), [9, 0, 37], 136, "nvfp4", "bf16"),
           "split": (dict(m=128, k=128, n=32, stages=3, swap_ab="true"), [9, 0, 37], 136, "mxfp4", "f16"),
           # Threads read the destination, then TMA writes it.
           "beta": (dict(m=128, n=64), [130, 9], 136)}


class Subject:
    """A kernel, a call of it, and the lines of its PTX."""

    def __init__(self, rng, kernel):
        strategy, counts, n, *formats = KERNELS[kernel]
        fmt, rows = formats or ("nvfp4", None)
        if rows:
            product, _ = plain_product(rng, ragged(counts, extra=3), n, 1280, fmt, rows)
        else:
            product = make_product(rng, ragged(counts, extra=3), n, 1280, fmt)
        beta = "f32" if kernel == "beta" else None
        text = matmul_text("f", product.groups.attribute, f"tensor<?x?x{rows}>" if rows else scaled_type(fmt),
                           scaled_type(fmt, 3), "tensor<?x?xbf16>", alpha="f32", beta=beta,
                           attrs={**tile(**{"k": 256, "stages": 2, **strategy}), "determinism": "relaxed"})
        operand, operands = product.arguments()
        parts = [part for each in operands for part in (each if isinstance(each, tuple) else [each])]
        arguments = operand + parts + [np.float32(0.5)]
        # 0.25 * 12 is added where a result is, and 12 stays elsewhere.
        start = 12 if beta else None
        arguments += [np.float32(0.25)] if beta else []
        arguments.append(product.destination("bf16", value=start))
        expected = expected_result(product, "bf16", value=start,
                                   epilogue=lambda acc, g, i: 0.5 * acc + (3 if beta else 0))
        self.kernel, self.case = kernel, scratch() / f"faults-{kernel}.pickle"
        self.case.write_bytes(pickle.dumps((arguments, expected)))
        # Parts of a tile are on blocks of their own.
        self.blocks = strategy.get("split_k", 2)
        artefact = pathlib.Path(compile_kernels("sm_100a", text).path)
        self.binary = artefact.read_bytes()
        self.begin = self.binary.index(b".version")
        self.end = self.binary.index(b"\0", self.begin)
        self.lines = self.binary[self.begin:self.end].split(b"\n")
        for seed in (1, 2):
            code, said = attempt(artefact, self.case, seed, self.blocks)
            assert code == 0, f"the kernel itself is found faulty: {said}"

    def finds(self, mutant):
        """What is said of the mutant if it is reported or computes something else, or
        nothing."""
        changed = b"\n".join(mutant)
        assert len(changed) == self.end - self.begin
        path = scratch() / "mutant.so"
        path.write_bytes(self.binary[:self.begin] + changed + self.binary[self.end:])
        for seed in (1, 2):
            code, said = attempt(path, self.case, seed, self.blocks)
            if code:
                return said or "other results"
        return ""


@pytest.mark.parametrize("kernel", KERNELS if FULL else ["turned pair", "parts", "unscaled"])
def test_every_fault_is_caught(rng, kernel):
    subject = Subject(rng, kernel)
    fences = sum(b"tcgen05.fence" in line for line in subject.lines)
    caught, survivors = 0, []
    for name, mutant in list(mutants(subject.lines))[::STRIDE]:
        name = name.replace(f"fence {fences - 1}", "fence last").replace(
            f"fence {fences - 2}", "fence before last")
        if subject.finds(mutant):
            caught += 1
        elif not any(re.fullmatch(p, f"{kernel}: {name}") for p in HARMLESS):
            survivors.append(name)
    print(f"{kernel}: {caught} of {caught + len(survivors)} faults are caught")
    assert caught >= (60 if FULL else 7)
    assert not survivors, f"{kernel}: not caught"


def test_fence_between_reads_of_the_destination_and_tma(rng):
    """Without the fence of `beta` nothing orders what threads have read before what TMA
    writes there."""
    subject = Subject(rng, "beta")
    fences = [i for i, line in enumerate(subject.lines) if b"fence.proxy.async.global" in line]
    assert fences
    for at in fences:
        said = subject.finds(blank(subject.lines, at))
        assert "after a read by a thread, without fence.proxy.async in between" in said


if __name__ == "__main__":
    sys.exit(run_case(*sys.argv[1:]))
