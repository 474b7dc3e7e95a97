# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""benchmarks/h200/run-parallel and its parallel_facts, as far as they need no GPU."""

import pathlib
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
