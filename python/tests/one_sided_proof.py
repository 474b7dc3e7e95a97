# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules of the kernels of the one-sided exchange, and faults planted in them one at a time.

    python one_sided_proof.py schedules [--ranks 1,2,4,8] [--seeds 64]      each has to be clean and right
    python one_sided_proof.py faults [--kernels push,...] [--part 1/8]      each has to be found

Both run one_sided_ranks.py with the checker, in a process for each run. Odd seeds delay writes uniformly, even ones as an
adversary. A fault is one change of one line of a kernel's text, or of the order of launches; it is found by the checker, by
results or words that are others, or by a run that does not end. A fault that compiles to the PTX of the kernel itself is none.
The exit status is 1 if a schedule is not clean, or if a fault survives all of its runs that is not in EQUIVALENT.
"""

import argparse
import collections
import functools
import os
import re
import resource
import sys
import tempfile
import time

import nvfp4
import one_sided_ranks
from nvfp4 import _one_sided_pieces as pieces
from nvfp4 import _one_sided_text as kernels

#: Ranks of the runs of faults.
RANKS = 3
#: The runs of a fault by kind and seed, until one finds it.
RUNS = [("", 1), ("late", 2), ("dead", 1), ("mute", 1), ("", 2), ("wrap", 3), ("late", 3), ("", 4)]
#: A run that takes more seconds of the processor does not end; others take one or two.
PATIENCE = 30

#: Instructions of order and scope, and what replaces them.
ORDERS = {
    "fence.acq_rel.sys;": ["", "fence.acq_rel.gpu;", "fence.acq_rel.cta;"],
    "barrier.sync 0;": [""],
    "atom.acq_rel.gpu.global.inc": ["atom.relaxed.gpu.global.inc", "atom.acquire.gpu.global.inc", "atom.release.gpu.global.inc",
                                    "atom.acq_rel.cta.global.inc"],
    "st.relaxed.sys.global.b64": ["st.relaxed.gpu.global.b64", "st.relaxed.cta.global.b64", "st.global.b64", ""],
    "ld.acquire.sys.global.b64": ["ld.relaxed.sys.global.b64", "ld.acquire.gpu.global.b64", "ld.acquire.cta.global.b64", "ld.global.b64"],
    "ld.relaxed.sys.global.u32": ["ld.relaxed.gpu.global.u32", "ld.relaxed.cta.global.u32", "ld.global.u32"],
    "ld.relaxed.sys.global.b64": ["ld.relaxed.gpu.global.b64", "ld.relaxed.cta.global.b64", "ld.global.b64"],
    "atom.relaxed.gpu.global.cas": ["atom.relaxed.cta.global.cas"],
    "st.relaxed.sys.global.u32": ["st.relaxed.gpu.global.u32", "st.relaxed.cta.global.u32", "st.global.u32", ""],
}
#: Operations, and what replaces them.
OPERATIONS = {
    "cmpi eq,": ["cmpi ne,", "cmpi ule,"], "cmpi ne,": ["cmpi eq,"], "cmpi slt,": ["cmpi sle,", "cmpi sge,"],
    "cmpi sge,": ["cmpi sgt,", "cmpi slt,"], "cmpi sgt,": ["cmpi sge,", "cmpi sle,"], "cmpi ult,": ["cmpi ule,", "cmpi uge,"],
    "arith.addi": ["arith.subi"], "arith.subi": ["arith.addi"], "arith.muli": ["arith.addi"], "arith.divui": ["arith.remui"],
    "arith.remui": ["arith.divui"], "arith.andi": ["arith.ori"], "arith.ori": ["arith.andi"], "arith.xori": ["arith.ori"],
    "arith.shrsi": ["arith.shrui"], "arith.shrui": ["arith.shli"], "arith.shli": ["arith.shrui"],
    "arith.maxsi": ["arith.minsi"], "arith.minsi": ["arith.maxsi"],
}


def constants_near(value):
    """Constants in the place of one: next ones, or for offsets and sizes the next that are aligned as well, and other cells."""
    if value in (256, 512):
        yield 768 - value
    step = 1 if -8 < value < 8 or value % 4 else next(each for each in (16, 8, 4) if value % each == 0)
    yield from (value + step, value - step)


def faults_of(text):
    """The lines of a kernel that a fault changes: (number of the line, what it is instead)."""
    lines = text.split("\n")
    for i, line in enumerate(lines):
        for old, others in (ORDERS | OPERATIONS).items():
            if old in line:
                for new in others:
                    # An instruction that goes takes its operands with it.
                    yield i, re.sub(r'att "[^"]*"', 'att ""', line) if not new else line.replace(old, new)
        if found := re.search(r"arith\.constant (-?\d+) : (?:index|i32|i64)", line):
            for value in constants_near(int(found[1])):
                yield i, line[:found.start(1)] + str(value) + line[found.end(1):]
        if "arith.constant true" in line:
            yield i, line.replace("true", "false")
        if found := re.search(r"scf\.if (%\w+)", line):
            for value in ("true", "false"):
                yield i, f"%other_{i} = arith.constant {value}\n" + line.replace(found[1], f"%other_{i}", 1)
        if found := re.search(r"arith\.select (%\w+), (%\w+), (%\w+)", line):
            yield i, line.replace(found[0], f"arith.select {found[1]}, {found[3]}, {found[2]}")
        if line.strip().startswith(("memref.store", "llvm.store")):
            yield i, ""
        if found := re.search(r"scf\.for %\w+ = (%\w+) to (%\w+) step", line):
            yield i, f"%other_{i} = arith.addi {found[1]}, %c1 : index\n" + line.replace(f"= {found[1]} to", f"= %other_{i} to")
            yield i, f"%other_{i} = arith.subi {found[2]}, %c1 : index\n" + line.replace(f"to {found[2]} step", f"to %other_{i} step")


#: Faults of the order of launches of a round: push, await, number, sort, fetch, give_back, await, sum.
REARRANGED = {
    "no wait for rows": lambda calls: [calls[0], *calls[2:]],
    "no wait for results": lambda calls: calls[:6] + calls[7:],
    "waits are swapped": lambda calls: [calls[0], calls[6], *calls[2:6], calls[1], *calls[7:]],
    "rows are waited for after they are numbered": lambda calls: [calls[0], calls[2], calls[1], *calls[3:]],
    "rows are waited for after they are given back": lambda calls: [calls[0], *calls[2:6], calls[1], *calls[6:]],
    "results are summed before they are waited for": lambda calls: calls[:6] + calls[:5:-1],
    "no push": lambda calls: calls[1:],
    "no results": lambda calls: calls[:5] + calls[6:],
    "pushed twice": lambda calls: [calls[0], *calls],
    "given back twice": lambda calls: [*calls[:6], *calls[5:]],
}
#: Survivors that are no faults: a pattern of "kernel: before -> after", and the reason.
EQUIVALENT = [
    (r"%most_blocks = arith.constant 512 : index -> ", "how many blocks at most share the work"),
    (r"%fewer = arith.minsi", "here there is less work than most blocks"),
    (r"%threads = arith.constant (64|256) : index -> ", "any number of threads shares the work"),
    (r"cmpi eq, %\w+, %(c0|lost_none|none|\w*_0) : \w+ -> .*cmpi ule", "nothing unsigned is below 0"),
    (r"push: %owner = arith.shrsi .* arith.shrui", "the upper half of -1 is no rank either way"),
    (r"push: %none = arith.constant -1 : i32 -> .* -2 ", "any negative code is no expert"),
    (r"(push|fetch|give_back): %blocks = arith.maxsi .* arith.minsi", "one block does the work of all"),
    (r"push: %unit = arith.constant 16 : index -> ", "the second part is one unit, at byte 0"),
    (r"await_\w+: %threads = arith.constant 32 : index -> .* 48 ", "threads after those of ranks do nothing"),
    (r"await_rows: (%nowhere = |memref.store %nowhere|%tokens = |scf.for %[tk] )", "the wait for results, which then fails too, writes places again"),
    (r"push: scf.if %is_mine \{ -> .* true", "each thread of a slot stores the same place"),
]


def texts():
    """The text of each kernel."""
    layout, placement = one_sided_ranks.make_layout(RANKS), one_sided_ranks.make_placement(RANKS)
    experts = len(placement.local[0])
    return {"push": kernels.push_text(layout, "i64", placement.codes(0)[0].shape),
            "await_rows": kernels.await_text(layout, kernels.DISPATCH), "await_results": kernels.await_text(layout, kernels.RETURN),
            "number": kernels.number_text(layout, experts), "fetch": kernels.fetch_text(layout, experts),
            "give_back": kernels.give_back_text(layout)}


def changed(text, number, line):
    lines = text.split("\n")
    return "\n".join([*lines[:number], line, *lines[number + 1:]])


def in_process(work):
    """The answer of a process that does some work: its exit status, not 0 either if it does not end, and its output."""
    with tempfile.TemporaryFile("w+") as output:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE))
            status = 1
            try:
                work()
                status = 0
            except BaseException as error:  # noqa: BLE001
                print(f"{type(error).__name__}: {error}")
            sys.stdout.flush()
            os._exit(status)
        status = os.waitpid(child, 0)[1]
        output.seek(0)
        return status, output.read() or "does not end" * os.WIFSIGNALED(status)


def run(ranks, seed, kind="", **faults):
    """A run of one_sided_ranks under a schedule."""
    delays = "uniform" if seed % 2 else "adversarial"

    def work():
        os.environ["NVFP4_SIM_OPTIONS"] = (f"--check --devices {ranks} --seed {seed} --delays {delays} --max-idle 300000 "
                                           "--max-instructions 3000000")
        one_sided_ranks.main(ranks, kind or None, seed, **faults)
    return in_process(work)


def first_line(output):
    """The finding of a run, in words."""
    lines = [line for line in output.split("\n") if line.strip()]
    kinds = [line for line in lines if re.match(r"\S*(data-race|uninitialized|out-of|misaligned|livelock|deadlock|illegal|instruction-limit)", line)]
    return (kinds or lines or ["?"])[0].strip()[:100]


def compile_ahead(ranks, change=lambda text: text):
    """Processes of runs find compiled what all ranks launch."""
    for text in one_sided_ranks.texts_of(ranks):
        one_sided_ranks.compiled(change(text))


def try_schedules(ranks, seeds):
    bad = 0
    for count in ranks:
        start = time.monotonic()
        compile_ahead(count)
        clean = 0
        for seed in range(1, seeds + 1):
            status, output = run(count, seed)
            clean += status == 0
            if status != 0:
                print(f"{count} ranks, seed {seed}: {first_line(output)}", flush=True)
        bad += seeds - clean
        print(f"{count} ranks: {clean} of {seeds} schedules clean and right, {time.monotonic() - start:.0f} s", flush=True)
    return bad


@functools.cache
def ptx_of(text):
    """The PTX of a kernel; None if its text is not legal."""
    try:
        return one_sided_ranks.compiled(text).emit("ptx")
    except nvfp4.CompileError:
        return None


def find(**faults):
    """The finding of a fault, or None."""
    for kind, seed in RUNS:
        status, output = run(RANKS, seed, kind, **faults)
        if status != 0:
            return f"{kind or 'round'} {seed}: {first_line(output)}"
    return None


def all_faults(chosen):
    """The faults of some kernels: kernel, name, text before, and what the run gets."""
    for kernel, text in texts().items():
        if kernel in chosen:
            for number, line in faults_of(text):
                before = text.split("\n")[number].strip()
                yield kernel, before, " ; ".join(map(str.strip, line.split("\n"))), text, changed(text, number, line)
    if "order" in chosen:
        for name in REARRANGED:
            yield "order", "", name, None, None


def try_faults(chosen, part, parts):
    counts, survivors, seen = collections.Counter(), [], set()
    compile_ahead(RANKS)
    for index, (kernel, before, after, text, other) in enumerate(all_faults(chosen)):
        if index % parts != part:
            continue
        if text is None:
            found = find(rearrange=REARRANGED[after])
        else:
            ptx = ptx_of(other)
            is_on_host = text.index("gpu.launch") > text.index(before)
            if ptx is None or (ptx == ptx_of(text) and not is_on_host):
                counts["not legal" if ptx is None else "the same PTX"] += 1
                continue
            if ptx in seen and not is_on_host:
                counts["as another"] += 1
                continue
            seen.add(ptx)
            change = functools.partial(as_changed, kernel=kernel, text=text, other=other)
            compile_ahead(RANKS, change)
            found = find(change=change)
        counts["found" if found else "survive"] += 1
        name = f"{kernel}: {before} -> {after}"
        reason = next((reason for pattern, reason in EQUIVALENT if re.search(pattern, name)), None)
        if not found and not reason:
            survivors.append(name)
        print(f"{name}: {found or (f'no fault, {reason}' if reason else 'SURVIVES')}", flush=True)
    equivalent = counts["survive"] - len(survivors)
    print(f"{counts['found']} of {counts['found'] + len(survivors)} faults found; {equivalent} equivalent by reason; {dict(counts)}")
    return len(survivors)


def as_changed(given, kernel, text, other):
    """A text of a rank with the fault: ranks of other numbers of experts have other constants."""
    if f"@{kernel}(" not in given:
        return given
    if given == text:
        return other
    lines, old, new = given.split("\n"), text.split("\n"), other.split("\n")
    at = next(i for i, (a, b) in enumerate(zip(old, new)) if a != b)
    inserted = new[at:at + 1 + len(new) - len(old)]
    return "\n".join([*lines[:at], *inserted, *lines[at + 1:]])


def main():
    pieces.THREADS = 64
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["schedules", "faults"])
    parser.add_argument("--ranks", type=lambda text: [int(each) for each in text.split(",")], default=[1, 2, 4, 8])
    parser.add_argument("--seeds", type=int, default=64)
    parser.add_argument("--kernels", type=lambda text: text.split(","), default=["order", *texts()])
    parser.add_argument("--part", default="0/1", help="I/N: every Nth fault, from the Ith on")
    args = parser.parse_args()
    if args.what == "schedules":
        return 1 if try_schedules(args.ranks, args.seeds) else 0
    part, parts = map(int, args.part.split("/"))
    return 1 if try_faults(args.kernels, part % parts, parts) else 0


if __name__ == "__main__":
    sys.exit(main())
