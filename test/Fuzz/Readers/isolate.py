# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a reader in processes of its own, so that a crash or a hang belongs to one input."""

import collections
import multiprocessing
import os
import pathlib
import random
import signal
import tempfile
import time
import traceback

#: Seconds for one input, after which it hangs.
LIMIT = 30


class Finding(Exception):
    """An input that a reader does not treat as it must."""


def _serve(reader, build, seed, first, count, deadline, pipe):
    """Sends (number, outcome, text of a finding) of each input, and None at the end."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("errors.txt", "w", encoding="utf-8") as errors:
            os.dup2(errors.fileno(), 2)
        subject = reader(build, pathlib.Path(folder))
        for number in range(first, first + count):
            if time.monotonic() > deadline:
                break
            try:
                outcome, text = subject.run(random.Random(f"{seed} {number}")), ""
            except Finding as finding:
                outcome, text = "finding", str(finding)
            except Exception:  # raw exceptions are what is looked for
                outcome, text = "finding", traceback.format_exc()
            pipe.send((number, outcome, text))
    pipe.send(None)


def run(reader, build, seed, first, count, deadline):
    """([(number, text)] of findings, how many inputs had which outcome)."""
    findings, outcomes, end = [], collections.Counter(), first + count
    context = multiprocessing.get_context("fork")
    while first < end and time.monotonic() < deadline:
        receive, send = context.Pipe(duplex=False)
        process = context.Process(target=_serve, args=(reader, build, seed, first, end - first, deadline, send))
        process.start()
        send.close()
        first, reason = _collect(receive, process, first, findings, outcomes)
        if reason is None:
            break
        findings.append((first, reason))
        first += 1
    return findings, outcomes


def _collect(receive, process, first, findings, outcomes):
    """(number of the next input, how the process died or None)."""
    while True:
        if not receive.poll(LIMIT):
            process.kill()
            process.join()
            return first, f"no answer for {LIMIT} s"
        try:
            answer = receive.recv()
        except EOFError:
            process.join()
            code = process.exitcode
            return first, signal.Signals(-code).name if code < 0 else f"exit status {code}"
        if answer is None:
            process.join()
            return first, None
        number, outcome, text = answer
        outcomes[outcome] += 1
        if text:
            findings.append((number, text))
        first = number + 1
