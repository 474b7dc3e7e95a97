# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The placement of experts on ranks: a table from each expert to the ranks that keep it, and the choice between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Union

import torch

from ._scalars import check_count
from .errors import ArgumentError

__all__ = ["Placement", "PlacementLike", "experts_of"]

#: For each expert its rank, or the ranks that keep a copy of it.
PlacementLike = Sequence[Union[int, Sequence[int]]]


def experts_of(rank: int, ranks: int, experts: int) -> range:
    """The experts of a rank: neighbours, as many as the others have or one more."""
    if not 1 <= ranks <= experts:
        raise ArgumentError(f"expected from 1 to {experts} ranks, the number of experts, but got {ranks}")
    least, more = divmod(experts, ranks)
    first = rank * least + min(rank, more)
    return range(first, first + least + (rank < more))


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
