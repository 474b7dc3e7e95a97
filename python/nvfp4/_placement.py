# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The placement of experts on ranks: a table from each expert to the ranks that keep it, and the choice between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Union

import numpy as np
import torch

from ._scalars import check_count
from .errors import ArgumentError

__all__ = ["Placement", "PlacementLike", "balanced_placement", "experts_of"]

#: For each expert its rank, or the ranks that keep a copy of it.
PlacementLike = Sequence[Union[int, Sequence[int]]]


def experts_of(rank: int, ranks: int, experts: int) -> range:
    """The experts of a rank: neighbours, as many as the others have or one more."""
    if not 1 <= ranks <= experts:
        raise ArgumentError(f"expected from 1 to {experts} ranks, the number of experts, but got {ranks}")
    least, more = divmod(experts, ranks)
    first = rank * least + min(rank, more)
    return range(first, first + least + (rank < more))


def balanced_placement(loads: Sequence[float], ranks: int, copies: int = 0) -> list[list[int]]:
    """A table for ``placement`` from the ``loads`` of experts, such as how many slots each had: ranks with as many experts as
    others or one less, and about equal loads.

    The experts with the most load for each copy get ``copies`` further ones, none two on a rank. Experts are then placed, those
    with most copies first and then by falling load, on the ranks with the least so far. The same loads give the same table.
    ArgumentError for loads that are negative or not finite, and for numbers of ranks or copies that do not fit.
    """
    experts = len(loads)
    values = [float(load) for load in loads]
    for expert, load in enumerate(values):
        if not 0 <= load < float("inf"):
            raise ArgumentError(f"expected a finite load of 0 or more for each expert, but got {load} for expert {expert}")
    ranks = check_count("ranks", ranks, experts, "the number of experts")
    copies = check_count("copies", copies, experts * (ranks - 1), "one of each expert on each other rank", least=0)
    counts = [1] * experts
    for _ in range(copies):
        hottest = max((e for e in range(experts) if counts[e] < ranks), key=lambda e: (values[e] / counts[e], -e))
        counts[hottest] += 1
    least, more = divmod(experts + copies, ranks)
    table: list[list[int]] = [[] for _ in range(experts)]
    taken, load_of = [0] * ranks, [0.0] * ranks
    # The experts with most copies first, which have the fewest ranks to choose from.
    for expert in sorted(range(experts), key=lambda e: (-counts[e], -values[e] / counts[e], e)):
        for _ in range(counts[expert]):
            free = [r for r in range(ranks) if r not in table[expert]]
            may_exceed = sum(each > least for each in taken) < more
            room = [r for r in free if taken[r] < least or taken[r] == least and may_exceed] or free
            rank = min(room, key=lambda r: (load_of[r], taken[r], r))
            table[expert].append(rank)
            taken[rank] += 1
            load_of[rank] += values[expert] / counts[expert]
    return [sorted(entry) for entry in table]


class Placement:
    """The ranks of each of ``experts`` experts: those of :func:`experts_of` where ``table`` is None.

    A slot of a token goes to the rank of the token where that keeps the expert, and else to entry (t + r) mod n of the n
    ranks of the expert, with t the number of the token on its rank r. ArgumentError for tables that do not fit.
    """

    def __init__(self, experts: int, ranks: int, table: PlacementLike | None = None):
        if table is None:
            table = [rank for rank in range(ranks) for _ in experts_of(rank, ranks, experts)]
        if len(table) != experts:
            raise ArgumentError(f"expected a placement of {experts} entries, one for each expert, but got {len(table)}")
        self.ranks = ranks
        self.table = tuple(self._entry(expert, entry) for expert, entry in enumerate(table))
        #: The experts of each rank, in ascending order.
        self.local = [[e for e, entry in enumerate(self.table) if rank in entry] for rank in range(ranks)]
        for rank, local in enumerate(self.local):
            if not local:
                raise ArgumentError(f"expected a placement with an expert on each of {ranks} ranks, but got none on rank {rank}")

    def _entry(self, expert: int, entry: int | Sequence[int]) -> tuple[int, ...]:
        found = tuple(entry) if isinstance(entry, Sequence) else (entry,)
        if not found or len(set(found)) != len(found):
            raise ArgumentError(f"expected one rank or more, each once, for expert {expert}, but got {found}")
        return tuple(check_count(f"rank of expert {expert}", each, self.ranks - 1, "the last rank", least=0) for each in found)

    def numbers(self, rank: int) -> torch.Tensor:
        """The number of each expert among those of a rank ``[E + 1]`` int32, and -1 for others and for no expert."""
        numbers = torch.full((len(self.table) + 1,), -1, dtype=torch.int32)
        numbers[self.local[rank]] = torch.arange(len(self.local[rank]), dtype=torch.int32)
        return numbers

    def choices(self, rank: int) -> tuple[torch.Tensor, torch.Tensor]:
        """For tokens of a rank the ranks of each expert, repeated to one length, ``[E + 1, n]``, and how many are
        different; those of no expert are the number of ranks."""
        entries = [(rank,) if rank in entry else entry for entry in self.table] + [(self.ranks,)]
        longest = max(map(len, entries))
        table = torch.tensor([[entry[i % len(entry)] for i in range(longest)] for entry in entries])
        return table, torch.tensor([len(entry) for entry in entries])

    def codes(self, rank: int) -> tuple[np.ndarray, np.ndarray]:
        """For tokens of a rank the codes of each expert, ``[E, n]`` int32, and how many are different: 65536 times a rank
        that it may go to, plus its number there. Entry (t + rank) mod n is that of token t, as for :meth:`choices`."""
        entries = [(rank,) if rank in entry else entry for entry in self.table]
        longest = max(map(len, entries))
        codes = [[entry[i % len(entry)] << 16 | self.local[entry[i % len(entry)]].index(expert) for i in range(longest)]
                 for expert, entry in enumerate(entries)]
        return np.array(codes, np.int32), np.array([len(entry) for entry in entries], np.int32)
