# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels of the one-sided exchange on several simulated devices at the same time, beside numpy.

    NVFP4_SIM_OPTIONS="--check --devices 2 --seed 3" python one_sided_ranks.py 2 [FAULT | dead | wrap]

Every device has all launches of all rounds in its stream before the host waits, so that rounds of different ranks meet. The
experts give rows back as they come, and every round has other tokens. A FAULT is a change of the kernels; the exit status is
then 1 if it is found: by the simulator, or because results are others. With `dead` the last rank makes no call in the second
round, and the others print what they have noted of it; with `wrap` the number of the call passes 2^32. All rows of windows are
NaN before.
"""

import ctypes
import functools
import sys

import numpy as np

import nvfp4
from nvfp4 import _one_sided_text as kernels
from nvfp4._expert_programs import sort_text, sum_text
from nvfp4._placement import Placement

HIDDEN, SLOTS, TOKENS, EXPERTS, ROUNDS = 16, 2, 3, 4, 3
#: A change of the text of each kernel whose name begins so.
FAULTS = {
    "no-release": ("push", "fence.acq_rel.sys;", ""),
    "release-of-results-missing": ("give_back", "fence.acq_rel.sys;", ""),
    "release-gpu": ("push", "fence.acq_rel.sys;", "fence.acq_rel.gpu;"),
    "relaxed-count": ("push", "atom.acq_rel.gpu", "atom.relaxed.gpu"),
    "count-of-a-block": ("give_back", "atom.acq_rel.gpu", "atom.acq_rel.cta"),
    "no-barrier": ("push", "barrier.sync 0;", ""),
    "relaxed-acquire": ("await_rows", "ld.acquire.sys", "ld.relaxed.sys"),
    "acquire-gpu": ("await_results", "ld.acquire.sys", "ld.acquire.gpu"),
    "cell-gpu": ("push", "st.relaxed.sys.global.b64", "st.relaxed.gpu.global.b64"),
    "weak-cell": ("give_back", "st.relaxed.sys.global.b64", "st.global.b64"),
    "reused-epoch": ("push", "%epoch = arith.addi %done, %next", "%epoch = arith.ori %done, %next"),
    "no-wait-for-rows": ("await_rows", "%is_ready = arith.cmpi eq", "%is_ready = arith.cmpi ule"),
    "no-tokens-no-cell": ("push", "%is_first = arith.andi %is_leader, %is_well : i1",
                          "%has_tokens = arith.cmpi ne, %tokens, %c0 : index\n    %would = arith.andi %is_leader, %is_well : i1\n"
                          "    %is_first = arith.andi %would, %has_tokens : i1"),
    "no-wait-for-results": ("await_results", "%is_ready = arith.cmpi eq", "%is_ready = arith.cmpi ule"),
}


def enable_peers(ranks):
    from sim_driver import Driver
    driver, contexts = Driver(), [ctypes.c_void_p() for _ in range(ranks)]
    for rank, context in enumerate(contexts):
        driver("cuDevicePrimaryCtxRetain", ctypes.byref(context), rank)
    for rank, context in enumerate(contexts):
        driver("cuCtxSetCurrent", context)
        for other, peer in enumerate(contexts):
            if other != rank:
                driver("cuCtxEnablePeerAccess", peer, 0)


@functools.cache
def compiled(text):
    return nvfp4.compile(text, "sm_90a+sim", memory="device")


@functools.cache
def load(text, device):
    return nvfp4.on_device(compiled(text), device)


class Rank:
    """What a rank has on its device, and its launches."""

    def __init__(self, rank, layout, placement, fault=None, limit=10**9, calls=0):
        self.rank, self.layout, self.device, self.fault, self.limit = rank, layout, f"sim:{rank}", fault, limit
        window = np.full(layout.size, 0xFF, np.uint8)
        window[:layout.heads] = 0
        self.window = self.put(window)
        state = np.zeros(kernels.STATE_WORDS, np.int32)
        state[kernels.RANK], state[kernels.EPOCH] = rank, calls
        self.state = self.put(state)
        self.heard = self.put(np.zeros((layout.ranks, 2), np.int32))
        self.experts = len(placement.local[rank])
        table, copies = placement.codes(rank)
        self.table, self.copies = self.put(table), self.put(copies)
        self.bound = []

    def put(self, array):
        return nvfp4.DeviceArray.of(array, self.device)

    def connect(self, windows):
        self.peers = self.put(np.array([each.address for each in windows], np.int64))

    def bind(self, text, *arguments, results=()):
        if self.fault:
            kernel, old, new = self.fault
            if f"@{kernel}(" in text:
                assert old in text, old
                text = text.replace(old, new)
        function = load(text, self.device)
        size = function.workspace(*arguments)
        call = function.bind(arguments, list(results), self.put(np.full(size + 1, 0x7f, np.uint8)))
        self.bound.append(call)
        return call

    def round(self, x, ids, weights, said=-1):
        """The launches of a call, and where its result will be."""
        layout, rank, count = self.layout, self.rank, len(x)
        messages = layout.ranks * layout.tokens
        parts = [self.put(each.reshape(count, size).view(np.uint8)) for each, size in ((x, HIDDEN), (ids, SLOTS))]
        ids, weights, places = self.put(ids), self.put(weights), self.put(np.zeros((count, SLOTS), np.int32))
        numbers, row_of = (self.put(np.full((messages, SLOTS), -9, np.int32)) for _ in range(2))
        ends, origin = self.put(np.zeros(self.experts, np.int32)), self.put(np.zeros(messages * SLOTS, np.int32))
        rows = [self.put(np.zeros((messages * SLOTS, size), np.uint8)) for size in layout.parts]
        out = self.put(np.zeros((count, HIDDEN), np.float32))
        back = nvfp4.DeviceTensor(self.window.address + layout.returned, (layout.tokens * SLOTS, HIDDEN), np.float32, self.device)
        self.bound.append((rows, numbers))
        calls = [
            self.bind(kernels.push_text(layout, "i64", self.table.shape), *parts, ids, places, said, self.table,
                      self.copies, self.peers, self.state),
            self.bind(kernels.await_text(layout, kernels.DISPATCH), self.state, places, self.peers, self.limit),
            self.bind(kernels.number_text(layout, self.experts), numbers, self.heard, self.peers, self.state),
            self.bind(sort_text(SLOTS, self.experts), numbers, results=[ends, origin, row_of]),
            self.bind(kernels.fetch_text(layout, self.experts), *rows, origin, ends, self.peers, self.state),
            self.bind(kernels.give_back_text(layout), rows[0], row_of, self.peers, self.state),
            self.bind(kernels.await_text(layout, kernels.RETURN), self.state, places, self.peers, self.limit)]
        if count:
            import torch
            calls.append(self.bind(sum_text(torch.float32, HIDDEN, SLOTS, torch.float32), back, places, weights, results=[out]))
        return calls, out, numbers


def rank_of(placement, expert, token, rank):
    """The rank that a slot of a token of a rank goes to."""
    entry = placement.table[expert]
    return rank if rank in entry else entry[(token + rank) % len(entry)]


def expected(x, ids, weights):
    """The sum of slots in their order, fused multiply-adds in float32."""
    total = np.zeros_like(x)
    for slot in range(SLOTS):
        factor = np.where((ids[:, slot] >= 0) & (ids[:, slot] < EXPERTS), weights[:, slot], 0)[:, None]
        total = (factor.astype(np.float64) * x + total).astype(np.float32)
    return total


def draw(rng, rank, number, ranks):
    """Tokens of a round: none for some ranks, all to one expert at times, and slots without an expert."""
    count = (TOKENS, int(rng.integers(0, TOKENS + 1)), 0)[(rank + number) % 3]
    ids = np.array([rng.permutation(EXPERTS)[:SLOTS] for _ in range(count)], np.int64).reshape(count, SLOTS)
    if number % 3 == 2:
        ids[:] = EXPERTS - 1
    ids[rng.random(ids.shape) < 0.15] = rng.choice([-1, EXPERTS, 2**40])
    return rng.standard_normal((count, HIDDEN)).astype(np.float32), ids, rng.random((count, SLOTS)).astype(np.float32)


def run_with_dead(all_ranks, rounds):
    """The others end, and say of whom they have not heard."""
    for number, of_ranks in enumerate(rounds):
        for each, (_, calls, _, _) in zip(all_ranks, of_ranks):
            if number == 0 or each.rank < len(all_ranks) - 1:
                for call in calls:
                    call.launch()
    for each in all_ranks[:-1]:
        words = each.state.numpy()[kernels.FAILURE:kernels.FAILURE + kernels.FAILURE_WORDS].tolist()
        print(each.rank, *words)


def main(ranks, fault=None, seed=0):
    enable_peers(ranks)
    table = None if ranks != 2 else [0, 1, [0, 1], 1]
    placement = Placement(EXPERTS, ranks, table)
    layout = kernels.Layout(ranks, TOKENS, SLOTS, (4 * HIDDEN, 8 * SLOTS), (4 * HIDDEN,))
    # Kernels of a healthy run wait for much less.
    limit, before = 200_000 if fault in ("dead", "no-tokens-no-cell") else 10**9, -2 if fault == "wrap" else 0
    all_ranks = [Rank(rank, layout, placement, FAULTS.get(fault), limit, before) for rank in range(ranks)]
    for each in all_ranks:
        each.connect([other.window for other in all_ranks])
    rng = np.random.default_rng(seed)
    rounds = []
    for number in range(ROUNDS):
        given = [draw(rng, rank, number, ranks) for rank in range(ranks)]
        rounds.append([(data, *each.round(*data)) for each, data in zip(all_ranks, given)])
    if fault == "dead":
        return run_with_dead(all_ranks, rounds)
    for of_ranks in rounds:
        for _, calls, _, _ in of_ranks:
            for call in calls:
                call.launch()
    for number, of_ranks in enumerate(rounds):
        for rank, (data, _, out, numbers) in enumerate(of_ranks):
            np.testing.assert_array_equal(out.numpy(), expected(*data), err_msg=f"round {number} of rank {rank}")
            wanted = np.full(numbers.shape, -1, np.int32)
            for source, (other, _, _, _) in enumerate(of_ranks):
                local = placement.numbers(rank).numpy()
                for t, line in enumerate(other[1]):
                    for k, expert in enumerate(line):
                        if 0 <= expert < EXPERTS and rank_of(placement, int(expert), t, source) == rank:
                            wanted[source * TOKENS + t, k] = local[expert]
            np.testing.assert_array_equal(numbers.numpy(), wanted)
    for each in all_ranks:
        state = each.state.numpy()
        assert state[kernels.EPOCH] == before + ROUNDS and state[kernels.RANK] == each.rank and not np.delete(state, (kernels.EPOCH, kernels.RANK)).any(), state
        counts = [max(len(of_ranks[other][0][0]) for of_ranks in rounds) for other in range(ranks)]
        np.testing.assert_array_equal(each.heard.numpy(), [[count, 0] for count in counts])
    print("equal")


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:3])
