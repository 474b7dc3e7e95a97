# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The window of a layer in the one-sided exchange, and the words of ``state``: where its kernels find what they read and write."""

from __future__ import annotations

import dataclasses

__all__ = ["ABORT", "DISPATCH", "EPOCH", "FAILURE", "FAILURE_WORDS", "GIVEN", "MOST_RANKS", "NUMBER_BITS", "PUSHED", "RANK", "REFUSED",
           "RETURN", "STATE_WORDS", "Layout", "round_up"]

#: Words of ``state``: the epoch, blocks that have ended by kernel, the number of the rank, and what the first wait that failed
#: has seen.
EPOCH, PUSHED, GIVEN, RANK, FAILURE = 0, 1, 2, 3, 4
#: Words of a failure: whether there is one, the role, the rank waited for, the epochs seen and expected, and the word that
#: another rank aborts with.
FAILURE_WORDS = 6
STATE_WORDS = 16
#: Roles of a wait.
DISPATCH, RETURN = 0, 1
#: A rank whose arguments were refused says so in this bit beside its number of tokens.
REFUSED = 1 << 31
#: Where the abort word is in a window.
ABORT = 0
#: Experts of a rank, in the lower half of a code.
NUMBER_BITS = 16
#: Ranks that a token visits are bits of a word.
MOST_RANKS = 32


def round_up(size: int, to: int) -> int:
    """The next multiple of ``to``."""
    return -(-size // to) * to


@dataclasses.dataclass(frozen=True)
class Layout:
    """The window of a layer: for at most ``tokens`` tokens of ``slots`` slots from each of ``ranks`` ranks, whose rows are
    ``parts`` (bytes); rows of the parts ``back`` return for each slot, or with ``grouped`` for each token and rank."""

    ranks: int
    tokens: int
    slots: int
    parts: tuple[int, ...]
    back: tuple[int, ...]
    grouped: bool = False

    @property
    def width(self) -> int:
        """Bytes from one row to the next."""
        return round_up(sum(self.parts), 16)

    @property
    def back_width(self) -> int:
        """The same of rows that return."""
        return round_up(sum(self.back), 16)

    @property
    def back_slots(self) -> int:
        """Rows that may return for a token."""
        return self.ranks if self.grouped else self.slots

    def cells(self, role: int) -> int:
        """Offset in bytes of the cells of a role: 8 bytes of each rank, the epoch and what the rank says of its call."""
        return 256 + 256 * role

    @property
    def heads(self) -> int:
        """Offset in bytes of the experts of slots, i32 [rank][token][slot]."""
        return 768

    @property
    def rows(self) -> int:
        """Offset in bytes of rows, [rank][token]."""
        return self.heads + round_up(4 * self.ranks * self.tokens * self.slots, 256)

    @property
    def returned(self) -> int:
        """Offset in bytes of rows that return, [token][slot], or [token][rank]."""
        return self.rows + round_up(self.ranks * self.tokens * self.width, 256)

    @property
    def size(self) -> int:
        """Bytes of a window."""
        return self.returned + round_up(self.tokens * self.back_slots * self.back_width, 256)
