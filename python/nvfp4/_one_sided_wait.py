# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Waiting in the one-sided exchange: ``await`` is the only kernel that waits, for rows and for results."""

from __future__ import annotations

import functools

from . import _one_sided_pieces as pieces
from ._one_sided_window import ABORT, DISPATCH, FAILURE, STATE_WORDS, Layout, round_up

__all__ = ["await_text"]


@functools.lru_cache(maxsize=64)
def await_text(layout: Layout, role: int) -> str:
    """The text of ``await``: until every rank's cell of the role has the epoch, another rank has aborted, or ``limit``
    nanoseconds have passed. The words that the first failing wait has seen are in ``state``, all ranks hear of it, and no row that
    should have come has a place in ``places`` [T, slots]."""
    ranks, places = layout.ranks, f"memref<?x{layout.slots}xi32>"
    clock = pieces.asm("mov.u64 $0, %globaltimer;", "=l", result="i64")
    acquire = pieces.asm("ld.acquire.sys.global.b64 $0, [$1];", "=l,l", "%cell_a", "i64", "i64")
    look = pieces.asm("ld.relaxed.sys.global.u32 $0, [$1];", "=r,l", "%abort_a", "i64", "i32")
    claim = pieces.asm("atom.relaxed.gpu.global.cas.b32 $0, [$1], 0, 1;", "=r,l", "%failure_a", "i64", "i32")
    tell = pieces.asm("st.relaxed.sys.global.u32 [$0], $1;", "l,r", "%other_a, %mine", "i64, i32")
    words = "".join(f"""
          %at{i} = arith.constant {FAILURE + 1 + i} : index
          memref.store {value}, %state[%at{i}] : memref<{STATE_WORDS}xi32>"""
                    for i, value in enumerate(("%role", "%from", "%seen_epoch", "%epoch", "%aborted")))
    body = f"""{pieces.own_rank()}
    %ranks_c = arith.constant {ranks} : index
    %waits = arith.cmpi slt, %tx, %ranks_c : index
    scf.if %waits {{
      %epoch = memref.load %state[%c0] : memref<{STATE_WORDS}xi32>
      {pieces.peer("own", "%rank", ranks)}
      %cell_bytes = arith.constant 8 : index
      %eight = arith.muli %tx, %cell_bytes : index
      %cells = arith.constant {layout.cells(role)} : index
      %cell_i = arith.addi %eight, %cells : index
      %cell_o = arith.index_cast %cell_i : index to i64
      %cell_a = arith.addi %own, %cell_o : i64
      %abort_o = arith.constant {ABORT} : i64
      %abort_a = arith.addi %own, %abort_o : i64
      %start = {clock}
      %none = arith.constant 0 : i32
      %no = arith.constant false
      %ready:3 = scf.while (%a = %no, %b = %none, %c = %none) : (i1, i32, i32) -> (i1, i32, i32) {{
        %cell = {acquire}
        %seen = arith.trunci %cell : i64 to i32
        %is_ready = arith.cmpi eq, %seen, %epoch : i32
        %abort = {look}
        %now = {clock}
        %passed = arith.subi %now, %start : i64
        %is_late = arith.cmpi sgt, %passed, %limit : i64
        %is_aborted = arith.cmpi ne, %abort, %none : i32
        %ends = arith.ori %is_late, %is_aborted : i1
        %stops = arith.ori %ends, %is_ready : i1
        %yes = arith.constant true
        %again = arith.xori %stops, %yes : i1
        // Cells of a rank that has aborted come after its abort word, and mean nothing.
        %is_alone = arith.xori %is_aborted, %yes : i1
        %is_good = arith.andi %is_ready, %is_alone : i1
        scf.condition(%again) %is_good, %seen, %abort : i1, i32, i32
      }} do {{
      ^bb0(%a: i1, %b: i32, %c: i32):
        scf.yield %a, %b, %c : i1, i32, i32
      }}
      %true = arith.constant true
      %failed = arith.xori %ready#0, %true : i1
      scf.if %failed {{
        %nowhere = arith.constant -1 : i32
        %tokens = memref.dim %places, %c0 : {places}
        scf.for %t = %c0 to %tokens step %c1 {{
          scf.for %k = %c0 to %c{layout.slots} step %c1 {{
            memref.store %nowhere, %places[%t, %k] : {places}
          }}
        }}
        %state_i = memref.extract_aligned_pointer_as_index %state : memref<{STATE_WORDS}xi32> -> index
        %state_a = arith.index_cast %state_i : index to i64
        %failure_o = arith.constant {4 * FAILURE} : i64
        %failure_a = arith.addi %state_a, %failure_o : i64
        %old = {claim}
        %is_first = arith.cmpi eq, %old, %none : i32
        scf.if %is_first {{
          %role = arith.constant {role} : i32
          %from = arith.index_cast %tx : index to i32
          %seen_epoch = arith.addi %ready#1, %none : i32
          %aborted = arith.addi %ready#2, %none : i32{words}
          %next = arith.constant 1 : i32
          %mine = arith.addi %rank32, %next : i32
          scf.for %d = %c0 to %ranks_c step %c1 {{
            {pieces.peer("window", "%d", ranks)}
            %other_a = arith.addi %window, %abort_o : i64
            {tell}
          }}
        }}
      }}
    }}"""
    name = "await_rows" if role == DISPATCH else "await_results"
    return f"""func.func @{name}(%state: memref<{STATE_WORDS}xi32>, %places: {places}, %peers: memref<{ranks}xi64>,
                       %limit: i64) {{
{pieces.launch("%one", round_up(ranks, 32), body, (layout.slots,))}"""
