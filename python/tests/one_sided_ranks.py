# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels of the one-sided exchange on several simulated devices at the same time, beside numpy.

    NVFP4_SIM_OPTIONS="--check --devices 2 --seed 3" python one_sided_ranks.py 2 [FAULT | dead | mute | late | wrap]

Every device has all launches of all rounds in its stream before the host waits, so that rounds of different ranks meet. The
experts give rows back as they come, every round has other tokens, and in the second one a rank without tokens has refused its
arguments. A FAULT is a change of the kernels; the exit status is then 1 if it is found: by the simulator, or because results
are others. Blocks have 64 threads, which the checker follows much faster than 256. With `dead` the last rank makes no call in the second round, and the others print what they have noted of it; with
`mute` it sends no results in it; with `late` waits are so short that some fail; with `wrap` the number of the call passes 2^32. All rows of windows are NaN before.
"""

import ctypes
import dataclasses
import functools
import sys
from typing import Any

import numpy as np

import nvfp4
from nvfp4 import _one_sided_pieces as pieces
from nvfp4 import _one_sided_text as kernels
from nvfp4._expert_programs import sort_text, sum_text
from nvfp4._placement import Placement

HIDDEN, SLOTS, ROUNDS = 16, 2, 3
#: Tokens of a rank, by the number of ranks: what the checker follows within seconds.
TOKENS = {1: 4, 2: 4, 3: 4, 4: 3, 8: 1}
#: A refused rank says that it had so many tokens.
TOO_MANY = 9
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


def experts_of(ranks):
    """How many experts there are: more than ranks, and one with copies where there are several ranks."""
    return max(4, ranks + 2)


def make_placement(ranks):
    table = [expert % ranks for expert in range(experts_of(ranks))]
    if ranks > 1:
        table[2] = sorted((2 % ranks, 3 % ranks))
    return Placement(len(table), ranks, table)


def make_layout(ranks):
    return kernels.Layout(ranks, TOKENS[ranks], SLOTS, (4 * HIDDEN, 8 * SLOTS), (4 * HIDDEN,))


def fault_of(name):
    """The change of texts of kernels that a name of FAULTS stands for."""
    kernel, old, new = FAULTS[name]

    def change(text):
        if f"@{kernel}(" not in text:
            return text
        assert old in text, old
        return text.replace(old, new)
    return change


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


@dataclasses.dataclass
class Round:
    """Tokens of a rank, launches, and what they write: results, numbers of experts, the place of each slot, and rows that have
    been fetched, with the message of each and the ends of experts."""

    given: tuple
    calls: list
    out: Any
    numbers: Any
    places: Any
    fetched: tuple


class Rank:
    """What a rank has on its device, and its launches."""

    def __init__(self, rank, layout, placement, change=None, limit=10**9, calls=0):
        self.rank, self.layout, self.device, self.change, self.limit = rank, layout, f"sim:{rank}", change, limit
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
        if self.change:
            text = self.change(text)
        function = load(text, self.device)
        size = function.workspace(*arguments)
        call = function.bind(arguments, list(results), self.put(np.full(size + 1, 0x7f, np.uint8)))
        self.bound.append(call)
        return call

    def round(self, x, ids, weights, said):
        """The launches of a call, and where its result will be."""
        x_ids_weights = x, ids, weights
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
            calls.append(self.bind(sum_of_slots(), back, places, weights, results=[out]))
        return Round(x_ids_weights, calls, out, numbers, places, (rows, origin, ends))


def texts_of(ranks):
    """The texts of what some rank of a run launches."""
    layout, placement = make_layout(ranks), make_placement(ranks)
    texts = [kernels.push_text(layout, "i64", placement.codes(0)[0].shape), kernels.await_text(layout, kernels.DISPATCH),
             kernels.await_text(layout, kernels.RETURN), kernels.give_back_text(layout), sum_of_slots()]
    for experts in {len(each) for each in placement.local}:
        texts += [kernels.number_text(layout, experts), sort_text(SLOTS, experts), kernels.fetch_text(layout, experts)]
    return texts


def sum_of_slots():
    import torch
    return sum_text(torch.float32, HIDDEN, SLOTS, torch.float32)


def rank_of(placement, expert, token, rank):
    """The rank that a slot of a token of a rank goes to."""
    entry = placement.table[expert]
    return rank if rank in entry else entry[(token + rank) % len(entry)]


def expected(x, ids, weights, experts):
    """The sum of slots in their order, fused multiply-adds in float32."""
    total = np.zeros_like(x)
    for slot in range(SLOTS):
        factor = np.where((ids[:, slot] >= 0) & (ids[:, slot] < experts), weights[:, slot], 0)[:, None]
        total = (factor.astype(np.float64) * x + total).astype(np.float32)
    return total


def is_refused(rank, number):
    """Whether a rank has refused the arguments of a round; it has no tokens then."""
    return number % 3 == 1 and rank % 3 == 1


def draw(rng, rank, number, experts, most):
    """Tokens of a round: none for some ranks, all to one expert at times, and slots without an expert; what the rank says."""
    count = (most, int(rng.integers(1, most + 1)), 0)[(rank + number) % 3]
    ids = np.array([rng.permutation(experts)[:SLOTS] for _ in range(count)], np.int64).reshape(count, SLOTS)
    if number % 3 == 2:
        ids[:] = experts - 1
    ids[rng.random(ids.shape) < 0.15] = rng.choice([-1, experts, 2**40])
    said = kernels.REFUSED + TOO_MANY - 2**32 if is_refused(rank, number) else -1
    return rng.standard_normal((count, HIDDEN)).astype(np.float32), ids, rng.random((count, SLOTS)).astype(np.float32), said


def expected_numbers(placement, of_ranks, rank, tokens):
    """The numbers of experts that a rank finds for the slots of all."""
    wanted, local = np.full((placement.ranks * tokens, SLOTS), -1, np.int32), placement.numbers(rank).numpy()
    for source, each in enumerate(of_ranks):
        for t, line in enumerate(each.given[1]):
            for k, expert in enumerate(line):
                if 0 <= expert < len(placement.table) and rank_of(placement, int(expert), t, source) == rank:
                    wanted[source * tokens + t, k] = local[expert]
    return wanted


def check_pushed(all_ranks, rounds, placement):
    """The experts that ranks have pushed in some rounds, the last one of each token's place, are in all windows."""
    tokens = all_ranks[0].layout.tokens
    for each in all_ranks:
        heads = each.window.numpy()[each.layout.heads:each.layout.rows].view(np.int32)[:len(all_ranks) * tokens * SLOTS].reshape(-1, SLOTS)
        wanted = np.full_like(heads, -1)
        for of_ranks in rounds:
            numbers = expected_numbers(placement, of_ranks, each.rank, tokens)
            for source, of_rank in enumerate(of_ranks):
                lines = slice(source * tokens, source * tokens + len(of_rank.given[0]))
                wanted[lines] = numbers[lines]
        np.testing.assert_array_equal(heads, wanted)


def check_fetched(all_ranks, of_ranks, placement, is_last):
    """Fetched rows of a round have both parts of the tokens, and after the last one those of windows."""
    layout = all_ranks[0].layout
    sent = np.zeros((layout.ranks * layout.tokens, layout.width), np.uint8)
    for source, each in enumerate(of_ranks):
        lines = np.concatenate([part.view(np.uint8).reshape(len(part), size) for part, size in zip(each.given, layout.parts)], 1)
        sent[source * layout.tokens:][:len(lines)] = lines
    for each, of_rank in zip(all_ranks, of_ranks):
        numbers = expected_numbers(placement, of_ranks, each.rank, layout.tokens)
        visited = (numbers >= 0).any(1)
        rows = each.window.numpy()[layout.rows:][:sent.size].reshape(sent.shape)
        if is_last:
            np.testing.assert_array_equal(rows[visited], sent[visited])
        parts, origin, ends = of_rank.fetched
        count = (numbers >= 0).sum()
        assert ends.numpy()[-1] == count
        np.testing.assert_array_equal(np.concatenate([part.numpy()[:count] for part in parts], 1), sent[origin.numpy()[:count]])
        assert not any(part.numpy()[count:].any() for part in parts)


def check_untouched(all_ranks, rounds, placement):
    """Rows of windows that no round has a use for are as they were."""
    layout, experts = all_ranks[0].layout, len(placement.table)
    for each in all_ranks:
        window = each.window.numpy()
        used = [(expected_numbers(placement, of_ranks, each.rank, layout.tokens) >= 0).any(1) for of_ranks in rounds]
        rows = window[layout.rows:][:layout.ranks * layout.tokens * layout.width].reshape(-1, layout.width)
        assert (rows[~np.any(used, 0)] == 0xFF).all()
        used = np.zeros((layout.tokens, SLOTS), bool)
        for of_ranks in rounds:
            ids = of_ranks[each.rank].given[1]
            used[:len(ids)] |= (ids >= 0) & (ids < experts)
        returned = window[layout.returned:][:used.size * layout.back_width].reshape(-1, layout.back_width)
        assert (returned[~used.ravel()] == 0xFF).all()


def expected_places(ids, experts):
    return np.where((ids >= 0) & (ids < experts), np.arange(ids.size).reshape(ids.shape), -1)


def words_of(window, offset, ranks):
    """The numbers of calls in the cells of a window."""
    return window[offset:offset + 8 * ranks].view(np.uint32)[::2].tolist()


def check_dead(all_ranks, rounds, placement):
    """The others have ended, say of whom they have not heard, and have written into no window since."""
    *alive, dead = all_ranks
    ranks, layout = len(all_ranks), dead.layout
    failures = [each.state.numpy()[kernels.FAILURE:kernels.FAILURE + kernels.FAILURE_WORDS].tolist() for each in alive]
    for each, (failed, role, source, seen, wanted, told) in zip(alive, failures):
        # 1 + the rank that told of it; or the one that made no call.
        assert (failed, role, wanted) == (1, kernels.DISPATCH, 2) and told - 1 != each.rank and told < ranks, failures
        # The first has waited long enough, the others only hear of it.
        assert told == (1 if each.rank else 0) and (told or (source, seen) == (dead.rank, 1)), failures
        assert each.state.numpy()[kernels.EPOCH] == 2
    # The rows that round 1 has pushed are there, and nothing after it.
    pushed = [rounds[0], [each if each is not rounds[1][-1] else rounds[0][-1] for each in rounds[1]]]
    check_pushed(all_ranks, pushed, placement)
    for each in all_ranks:
        window = each.window.numpy()
        assert 1 <= window[:4].view(np.uint32)[0] <= len(alive)
        assert words_of(window, layout.cells(kernels.DISPATCH), ranks) == [2] * len(alive) + [1]
        assert words_of(window, layout.cells(kernels.RETURN), ranks) == [1] * ranks
    for number, of_ranks in enumerate(rounds):
        for each, of_rank in zip(alive, of_ranks):
            if number:
                assert (of_rank.places.numpy() == -1).all() and (of_rank.numbers.numpy() == -1).all() and not of_rank.out.numpy().any()
    for each, words in zip(alive, failures):
        print(each.rank, *words)


def check_mute(all_ranks, rounds):
    """The others have ended the second call for want of the last rank's results, and made nothing of the third."""
    *alive, mute = all_ranks
    ranks, layout = len(all_ranks), mute.layout
    for each in alive:
        words = each.state.numpy()[kernels.FAILURE:kernels.FAILURE + kernels.FAILURE_WORDS].tolist()
        assert words[0] == 1 and words[4] == 2 and words[5] == (1 if each.rank else 0), words
        assert each.rank or words[1:4] == [kernels.RETURN, mute.rank, 1], words
        assert each.state.numpy()[kernels.EPOCH] == 2
        for of_ranks in rounds[1:]:
            assert (of_ranks[each.rank].places.numpy() == -1).all() and not of_ranks[each.rank].out.numpy().any()
    for each in all_ranks:
        window = each.window.numpy()
        assert 1 <= window[:4].view(np.uint32)[0] <= len(alive)
        assert words_of(window, layout.cells(kernels.DISPATCH), ranks) == [2] * ranks
        assert words_of(window, layout.cells(kernels.RETURN), ranks) == [2] * len(alive) + [1]


def check_late(all_ranks, rounds, experts):
    """Ranks have ended, those whose waits have failed have noted it, and rounds before that are right."""
    for each in all_ranks:
        failed, role, source, seen, wanted, told = each.state.numpy()[kernels.FAILURE:kernels.FAILURE + kernels.FAILURE_WORDS].tolist()
        assert failed in (0, 1) and (failed or not any((role, source, seen, wanted, told)))
        assert not failed or role in (kernels.DISPATCH, kernels.RETURN) and source < len(all_ranks) and told <= len(all_ranks)
        for number, of_ranks in enumerate(rounds):
            if not failed or number + 1 < wanted:
                np.testing.assert_array_equal(of_ranks[each.rank].out.numpy(), expected(*of_ranks[each.rank].given, experts))


def check(all_ranks, rounds, placement, before):
    """Results are those of numpy, and the state is that of a healthy rank."""
    experts = len(placement.table)
    for number, of_ranks in enumerate(rounds):
        for rank, each in enumerate(of_ranks):
            np.testing.assert_array_equal(each.out.numpy(), expected(*each.given, experts), err_msg=f"round {number} of rank {rank}")
            np.testing.assert_array_equal(each.places.numpy(), expected_places(each.given[1], experts))
            np.testing.assert_array_equal(each.numbers.numpy(), expected_numbers(placement, of_ranks, rank, all_ranks[rank].layout.tokens))
    check_pushed(all_ranks, rounds, placement)
    for of_ranks in rounds:
        check_fetched(all_ranks, of_ranks, placement, of_ranks is rounds[-1])
    check_untouched(all_ranks, rounds, placement)
    wanted = []
    for other in range(len(all_ranks)):
        refused = [is_refused(other, number) for number in range(len(rounds))]
        counts = [TOO_MANY if each else len(of_ranks[other].given[0]) for each, of_ranks in zip(refused, rounds)]
        wanted.append([max(counts), any(refused)])
    for each in all_ranks:
        state = np.zeros(kernels.STATE_WORDS, np.int32)
        state[kernels.EPOCH], state[kernels.RANK] = before + len(rounds), each.rank
        np.testing.assert_array_equal(each.state.numpy(), state)
        np.testing.assert_array_equal(each.heard.numpy(), wanted)
        # Nobody has aborted, and nothing is written beside cells and rows.
        head = each.window.numpy()[:each.layout.heads].view(np.uint32)
        cells = [(each.layout.cells(role) + 8 * rank) // 4 for role in (kernels.DISPATCH, kernels.RETURN) for rank in range(len(all_ranks))]
        assert (head[cells] == np.uint32((before + len(rounds)) % 2**32)).all()
        assert not np.delete(head, [*cells, *(cell + 1 for cell in cells)]).any()


def main(ranks, fault=None, seed=0, change=None, rearrange=list):
    """One run. ``change`` changes the texts of kernels, and ``rearrange`` the launches of each round of a rank."""
    pieces.THREADS = 64
    enable_peers(ranks)
    placement = make_placement(ranks)
    experts = len(placement.table)
    layout = make_layout(ranks)
    # Kernels of a healthy run wait for much less.
    limit = {"dead": 200_000, "mute": 200_000, "no-tokens-no-cell": 200_000, "late": 2_000}.get(fault, 10**9)
    before = -2 if fault == "wrap" else 0
    change = fault_of(fault) if fault in FAULTS else change
    all_ranks = [Rank(rank, layout, placement, change, limit if rank == 0 or fault not in ("dead", "mute") else 10**9, before) for rank in range(ranks)]
    for each in all_ranks:
        each.connect([other.window for other in all_ranks])
    rng = np.random.default_rng(seed)
    rounds = []
    for number in range(ROUNDS):
        given = [draw(rng, rank, number, experts, layout.tokens) for rank in range(ranks)]
        rounds.append([each.round(*data) for each, data in zip(all_ranks, given)])
    for number, of_ranks in enumerate(rounds):
        for each, of_rank in zip(all_ranks, of_ranks):
            if fault != "dead" or number == 0 or each.rank < ranks - 1:
                # A mute rank pushes, waits and fetches in its second call, and does no more.
                is_mute = fault == "mute" and number > 0 and each.rank == ranks - 1
                for call in rearrange(of_rank.calls)[:(5 if number == 1 else 0) if is_mute else None]:
                    call.launch()
    if fault == "dead":
        return check_dead(all_ranks, rounds, placement)
    if fault == "mute":
        check_mute(all_ranks, rounds)
    elif fault == "late":
        check_late(all_ranks, rounds, experts)
    else:
        check(all_ranks, rounds, placement, before)
    print("equal")


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:3])
