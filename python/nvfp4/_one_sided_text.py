# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels of the one-sided exchange in MLIR: each rank writes into the windows of the others, and nobody else takes part.

A window is memory of a rank that all ranks reach. ``peers`` are the addresses of the windows by rank, and ``state`` is memory of
the rank alone (words: _one_sided_window). The kernels of a call are, in the order of their launches:

  push      rows and experts of tokens into the windows of the ranks of their experts; then a cell for each rank
  await     until the cells of all ranks have this call's epoch
  number    the expert of each slot that has come, by the cells and what was written before them
  fetch     rows out of the window, in the order of their experts
  give_back rows of slots into the windows of the ranks of their tokens; then a cell for each rank
  await     as before, for these cells

Texts are in _one_sided_dispatch (push, number, fetch), _one_sided_wait and _one_sided_combine (give_back), and what they share in
_one_sided_pieces and _one_sided_window. docs/ExpertParallel.md argues the order of memory edge by edge. Only `await` waits, with
one block, so that waiting ranks of one device never keep others from running.
"""

from ._one_sided_combine import give_back_text
from ._one_sided_dispatch import fetch_text, number_text, push_text
from ._one_sided_wait import await_text
from ._one_sided_window import DISPATCH, EPOCH, FAILURE, FAILURE_WORDS, MOST_RANKS, RANK, REFUSED, RETURN, STATE_WORDS, Layout

__all__ = ["DISPATCH", "EPOCH", "FAILURE", "FAILURE_WORDS", "MOST_RANKS", "RANK", "REFUSED", "RETURN", "STATE_WORDS", "Layout",
           "await_text", "fetch_text", "give_back_text", "number_text", "push_text"]
