# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""benchmarks/h200/run-parallel and its parallel_facts, as far as they need no GPU."""

import os
import pathlib
import re
import subprocess
import sys
import threading

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "h200"
sys.path.append(str(FOLDER))

import parallel_facts  # noqa: E402


class Ranks:
    """torch.distributed for threads of this process: a collective call fails after 10 s if a rank makes no such call, or another one."""

    def __init__(self, count):
        self.count, self.barrier, self.given, self.rank = count, threading.Barrier(count, timeout=10), [None] * count, threading.local()

    def gather(self, given):
        self.given[self.rank.number] = given
        self.barrier.wait()
        found = list(self.given)
        self.barrier.wait()
        return found

    def all_gather_object(self, found, given):
        calls, found[:] = zip(*self.gather(("all_gather_object", given)), strict=True)
        assert set(calls) == {"all_gather_object"}

    def run(self, work):
        """The results of work(rank) of all ranks."""
        results, errors = [None] * self.count, []

        def start(rank):
            self.rank.number = rank
            try:
                results[rank] = work(rank)
            except BaseException as error:
                errors.append(error)
                self.barrier.abort()
        threads = [threading.Thread(target=start, args=(rank,)) for rank in range(self.count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        return results


def copies(refuses):
    """The records of copies on 3 ranks, where the driver refuses a source if refuses(rank, direction, kind, chunk)."""
    ranks = Ranks(3)

    def work(rank):
        records = []

        def encode(*way):
            if refuses(rank, *way):
                raise RuntimeError("invalid argument")
            return way

        def copy(who, *way):
            assert way[:3] == way[-1]
            assert ranks.gather(("copy", (who, *way))) == [("copy", (who, *way))] * 3
            return 123.4567, True

        def add(case, metric, value=None, is_right=True, refusal=None):
            records.append(parallel_facts.record_of(case, metric, value, is_right, refusal))
        parallel_facts.measure_copies(ranks, 3, encode, copy, add)
        return records
    first, *others = ranks.run(work)
    assert others == [first, first]
    return first


@pytest.mark.parametrize("refusing", [{1}, {0, 2}, {0, 1, 2}])
def test_a_refusal_of_one_rank_is_one_of_all(refusing):
    """The other ranks wait for nothing. Cases keep their names, and those that were refused have a reason instead of a bandwidth."""
    copied = copies(lambda *_: False)
    assert len(copied) == 2 * 2 * 3 * len(parallel_facts.CHUNKS) * len(parallel_facts.BLOCKS)
    assert copied[0] == {"case": "peer_pull_vector_one_b1_c1024", "subject": "peer memory", "metric": "GB/s", "value": 123.457,
                         "equal": True}
    found = copies(lambda rank, direction, kind, chunk: rank in refusing and (direction, kind, chunk) == ("pull", "map", 4096))
    assert [record["case"] for record in found] == [record["case"] for record in copied]
    refused = [record for record in found if "refused" in record]
    assert [record["case"] for record in refused] == [f"peer_pull_map_{who}_b{blocks}_c4096" for who in ("one", "all")
                                                      for blocks in parallel_facts.BLOCKS]
    for record in refused:
        assert record == {"case": record["case"], "subject": "peer memory", "metric": "GB/s",
                          "refused": f"rank {min(refusing)}: invalid argument"}
    assert [record for record in found if "refused" not in record] == [record for record in copied
                                                                       if record["case"] not in {each["case"] for each in refused}]


def call(*options):
    return subprocess.run([sys.executable, FOLDER / "run-parallel", *options], capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("options, message", [
    ("--artefacts=a --ranks=3 --strong --one-sided", "expected --ranks to divide one of 1, 8, .*, 8192 tokens with --strong, but got 3; "
     "the nearest is 2"),
    ("--artefacts=a --ranks=2 --strong --one-sided --most=3", "expected --most of at least 4, the fewest tokens of a rank here, but got 3"),
    ("--artefacts=a --static --most=0", "expected --most of at least 1, .*, but got 0"),
    ("--artefacts=a --virtual --most=-1", "expected --most of at least 1, .*, but got -1"),
    ("--artefacts=a --virtual --strong", "expected --virtual without --strong: its ranks share one GPU"),
    ("--artefacts=a --virtual --static", "expected --virtual without --static: .*; use --static without --virtual"),
    ("--artefacts=a --virtual --memory=ipc", "expected --virtual without --memory: .*; use --one-sided"),
    ("--artefacts=a --virtual --results=b", "expected --virtual without --results: it prints times and records none"),
    ("--virtual --host", "expected --virtual without --host: it needs a GPU; use --artefacts"),
    *((f"--artefacts=a --facts {option}", f"expected --facts without {option.split('=')[0]}: .*; run the script once more for layers")
      for option in ("--strong", "--static", "--one-sided", "--virtual", "--layers=dsv3", "--activations=bf16", "--returned=f32",
                     "--most=64")),
    ("--facts --host", "expected --facts without --host: it needs GPUs; use --artefacts"),
    ("--facts --build=a", "expected --facts without --build: .*; use --artefacts"),
    ("--artefacts=a --facts --ranks=1", r"expected --ranks in \[2, 8\], but got 1; the nearest is 2"),
    ("--artefacts=a --facts --ranks=9", r"expected --ranks in \[2, 8\], but got 9; the nearest is 8"),
    ("--artefacts=a --ranks=0", r"expected --ranks in \[1, 8192\], but got 0; the nearest is 1"),
    *((f"--host {option}", f"expected --host without {option.split('=')[0]}: .*; use --artefacts")
      for option in ("--artefacts=a", "--build=a", "--layers=dsv3", "--results=a", "--one-sided")),
    ("--build=a --artefacts=b", "expected --build without --artefacts: it only compiles"),
    ("--build=a --results=b", "expected --build without --results: it measures nothing"),
    ("--artefacts=a --one-sided --static", "expected --one-sided without --static: its buffers have one size too"),
    ("--artefacts=a --memory=symmetric", "expected --memory with --one-sided or --facts, but got none of these"),
    ("--artefacts=a --most=0", "expected --most with --static or --one-sided or --virtual or --host, but got none of these"),
    ("--artefacts=a --build-dir=b", "expected --build-dir with --build or --host, but got none of these"),
    ("--artefacts=a --layers=qwen3_30b,qwen", "expected --layers of qwen3_30b, .*, but got qwen$"),
    ("--strong", "expected --build, --artefacts or --host")])
def test_options_that_do_not_go_together(options, message):
    """Nothing is measured where an option would be ignored or there is no case."""
    done = call(*options.split())
    assert done.returncode == 2 and re.search(message, done.stderr.strip()), done.stderr


@pytest.mark.parametrize("options, cases", [
    (["--strong", "--most=16"], [("T=8, 4 a rank,", 8), ("T=32, 16 a rank,", 32)]), (["--most=8"], [("T=1", 1), ("T=8", 8)])])
def test_one_rank_has_the_tokens_that_its_time_is_of(options, cases):
    """With --strong these are the tokens of all ranks, as a case says; without it, those of a rank."""
    pytest.importorskip("torch")
    done = call("--host", *options, "--build-dir", os.environ["NVFP4_BUILD_DIR"])
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("small ")]
    assert len(lines) == len(cases), done.stdout
    for line, (start, tokens) in zip(lines, cases):
        assert re.fullmatch(rf"small {start} on 2 ranks: \d+ us, .*, one rank with {tokens} tokens \d+, equal", line), line
