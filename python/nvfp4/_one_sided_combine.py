# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Combine of the one-sided exchange: ``give_back`` rows of slots to the ranks of their tokens."""

from __future__ import annotations

import functools

from . import _one_sided_pieces as pieces
from ._one_sided_window import GIVEN, RETURN, STATE_WORDS, Layout

__all__ = ["give_back_text"]


@functools.lru_cache(maxsize=64)
def give_back_text(layout: Layout, types: tuple[str, ...] = ()) -> str:
    """The text of ``give_back``: parts of rows [N, size] as ``fetch`` has them, and which of them each slot gets,
    [ranks * tokens, slots] (-1: none), or with ``grouped`` each message, [ranks * tokens, 1]."""
    ranks, tokens, types = layout.ranks, layout.tokens, types or pieces.byte_rows(layout.back)
    slots = 1 if layout.grouped else layout.slots
    which = (f"%line = arith.muli %t, %c{ranks} : index\n        %slot = arith.addi %line, %rank : index" if layout.grouped
             else f"%line = arith.muli %t, %c{slots} : index\n        %slot = arith.addi %line, %k : index")
    body = f"""{pieces.own_rank()}
    %epoch = memref.load %state[%c0] : memref<{STATE_WORDS}xi32>
    %none = arith.constant 0 : i32
    scf.for %entry = %bx to %all step %gx {{
      %k = arith.remui %entry, %c{slots} : index
      %message = arith.divui %entry, %c{slots} : index
      %row32 = memref.load %row_of[%message, %k] : memref<{ranks * tokens}x{slots}xi32>
      %has_row = arith.cmpi sge, %row32, %none : i32
      %is_row = arith.andi %has_row, %is_well : i1
      scf.if %is_row {{
        %row = arith.index_cast %row32 : i32 to index
        %per_rank = arith.constant {tokens} : index
        %r = arith.divui %message, %per_rank : index
        %t = arith.remui %message, %per_rank : index
        {pieces.peer("window", "%r", ranks)}
        {which}
        %room = arith.constant {layout.back_width} : index
        %offset = arith.muli %slot, %room : index{pieces.copy_parts(layout.back, types, "%row", "%window", "%offset", layout.returned, to_window=True)}
      }}
    }}
{pieces.publish(layout, GIVEN, RETURN, "%none")}"""
    arguments = [f"%p{i}: {kind}" for i, kind in enumerate(types)]
    return f"""func.func @give_back({', '.join(arguments)}, %row_of: memref<{ranks * tokens}x{slots}xi32>,
                     %peers: memref<{ranks}xi64>, %state: memref<{STATE_WORDS}xi32>) {{
  %all = arith.constant {ranks * tokens * slots} : index
{pieces.blocks_for("%all")}{pieces.launch("%blocks", pieces.THREADS, body, (slots, ranks, ranks * tokens * slots))}"""
