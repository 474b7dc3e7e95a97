# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dispatch of the one-sided exchange: ``push`` rows and experts of tokens; ``number`` and ``fetch`` what has come."""

from __future__ import annotations

import functools

from . import _one_sided_pieces as pieces
from ._one_sided_window import DISPATCH, NUMBER_BITS, PUSHED, REFUSED, STATE_WORDS, Layout

__all__ = ["fetch_text", "number_text", "push_text"]


@functools.lru_cache(maxsize=64)
def push_text(layout: Layout, ids: str, entries: tuple[int, int], types: tuple[str, ...] = ()) -> str:
    """The text of ``push``: parts of rows [T, size] in bytes, or of other ``types`` of memory of that size, experts [T, slots] of
    an element type, the place of each slot in what returns, and what the rank says of its call (-1: T). ``table`` are the codes of
    experts, 65536 times the rank plus the number there, and ``copies`` how many of an expert's ``entries`` differ."""
    ranks, slots, tokens = layout.ranks, layout.slots, layout.tokens
    experts, columns = entries
    types = types or pieces.byte_rows(layout.parts)
    arguments = [f"%p{i}: {kind}" for i, kind in enumerate(types)]
    arguments += [f"%ids: memref<?x{slots}x{ids}>", f"%places: memref<?x{slots}xi32>", "%given: i32",
                  f"%table: memref<{experts}x{columns}xi32>", f"%copies: memref<{experts}xi32>",
                  f"%peers: memref<{ranks}xi64>", f"%state: memref<{STATE_WORDS}xi32>"]

    def code(name: str, slot: str) -> str:
        """%name is the code of a slot of token %t, -1 for no expert."""
        return f"""%{name}_id = memref.load %ids[%t, {slot}] : memref<?x{slots}x{ids}>
        %{name}_least = arith.constant 0 : {ids}
        %{name}_end = arith.constant {experts} : {ids}
        %{name}_low = arith.cmpi sge, %{name}_id, %{name}_least : {ids}
        %{name}_high = arith.cmpi slt, %{name}_id, %{name}_end : {ids}
        %{name}_in = arith.andi %{name}_low, %{name}_high : i1
        %{name}_known = arith.andi %{name}_in, %is_well : i1
        %{name} = scf.if %{name}_known -> i32 {{
          %e = arith.index_cast %{name}_id : {ids} to index
          %n32 = memref.load %copies[%e] : memref<{experts}xi32>
          %n = arith.index_cast %n32 : i32 to index
          %shifted = arith.addi %t, %rank : index
          %column = arith.remui %shifted, %n : index
          %found = memref.load %table[%e, %column] : memref<{experts}x{columns}xi32>
          scf.yield %found : i32
        }} else {{
          %none = arith.constant -1 : i32
          scf.yield %none : i32
        }}"""

    row = f"""%per_rank = arith.constant {tokens} : index
      %first = arith.muli %rank, %per_rank : index
      %row = arith.addi %t, %first : index"""
    copies = ""
    unit, start = pieces.unit_of(layout.parts), 0
    for i, size in enumerate(layout.parts):
        kind = pieces.element_of(unit)
        copies += f"""
      %base{i}_i = memref.extract_aligned_pointer_as_index %p{i} : {types[i]} -> index
      %base{i} = arith.index_cast %base{i}_i : index to i64
      %size{i} = arith.constant {size} : index
      %from{i} = arith.muli %t, %size{i} : index
      %into{i} = arith.constant {layout.rows + start} : index
      %width{i} = arith.constant {layout.width} : index
      %at{i} = arith.muli %row, %width{i} : index
      %to{i} = arith.addi %at{i}, %into{i} : index
      %count{i} = arith.constant {size // unit} : index
      scf.for %i = %tx to %count{i} step %nx {{
        %unit = arith.constant {unit} : index
        %bytes = arith.muli %i, %unit : index
        %source_at = arith.addi %from{i}, %bytes : index
        {pieces.pointer("source", f"%base{i}", "%source_at")}
        %value = llvm.load %source {{alignment = {unit} : i64}} : !llvm.ptr<1> -> {kind}
        %target_at = arith.addi %to{i}, %bytes : index
        scf.for %d = %c0 to %c{ranks} step %c1 {{
          %d32 = arith.index_cast %d : index to i32
          %bit = arith.shrui %mask, %d32 : i32
          %is_visited = arith.trunci %bit : i32 to i1
          scf.if %is_visited {{
            {pieces.peer("window", "%d", ranks)}
            {pieces.pointer("target", "%window", "%target_at")}
            llvm.store %value, %target {{alignment = {unit} : i64}} : {kind}, !llvm.ptr<1>
          }}
        }}
      }}"""
        start += size
    keep = f"      memref.store %epoch, %state[%c0] : memref<{STATE_WORDS}xi32>\n"
    body = f"""{pieces.own_rank()}
    %done = memref.load %state[%c0] : memref<{STATE_WORDS}xi32>
    %next = arith.constant 1 : i32
    %epoch = arith.addi %done, %next : i32
    scf.for %t = %bx to %tokens step %gx {{
      {row}
      %heads = arith.constant {ranks * slots} : index
      scf.for %i = %tx to %heads step %nx {{
        %d = arith.divui %i, %c{slots} : index
        %k = arith.remui %i, %c{slots} : index
        {code("code", "%k")}
        %bits = arith.constant {NUMBER_BITS} : i32
        %owner = arith.shrsi %code, %bits : i32
        %d32 = arith.index_cast %d : index to i32
        %is_there = arith.cmpi eq, %owner, %d32 : i32
        %low_bits = arith.constant {(1 << NUMBER_BITS) - 1} : i32
        %number = arith.andi %code, %low_bits : i32
        %nothing = arith.constant -1 : i32
        %head = arith.select %is_there, %number, %nothing : i32
        {pieces.peer("window", "%d", ranks)}
        %line = arith.muli %row, %c{slots} : index
        %in_line = arith.addi %line, %k : index
        %four = arith.constant 4 : index
        %head_bytes = arith.muli %in_line, %four : index
        %heads_at = arith.constant {layout.heads} : index
        %head_at = arith.addi %head_bytes, %heads_at : index
        scf.if %is_well {{
          {pieces.pointer("head_p", "%window", "%head_at")}
          llvm.store %head, %head_p {{alignment = 4 : i64}} : i32, !llvm.ptr<1>
        }}
        // Once: where this slot's row will come back.
        %is_mine = arith.cmpi eq, %d, %c0 : index
        scf.if %is_mine {{
          %slot = arith.muli %t, %c{slots} : index
          %slot_k = arith.addi %slot, %k : index
          %slot32 = arith.index_cast %slot_k : index to i32
          %is_known = arith.cmpi sge, %code, %bits_0 : i32
          %place = arith.select %is_known, %slot32, %nothing : i32
          memref.store %place, %places[%t, %k] : memref<?x{slots}xi32>
        }}
      }}
      %mask = scf.for %k = %c0 to %c{slots} step %c1 iter_args(%seen = %bits_0) -> i32 {{
        {code("code", "%k")}
        %bits = arith.constant {NUMBER_BITS} : i32
        %owner = arith.shrui %code, %bits : i32
        %is_known = arith.cmpi sge, %code, %bits_0 : i32
        %rank_of = arith.select %is_known, %owner, %bits_0 : i32
        %set = arith.extui %is_known : i1 to i32
        %bit = arith.shli %set, %rank_of : i32
        %more = arith.ori %seen, %bit : i32
        scf.yield %more : i32
      }}{copies}
    }}
    %counted = arith.index_cast %tokens : index to i32
    %minus = arith.constant -1 : i32
    %is_count = arith.cmpi eq, %given, %minus : i32
    %said = arith.select %is_count, %counted, %given : i32
{pieces.publish(layout, PUSHED, DISPATCH, "%said", "  " + keep)}"""
    zero = "    %bits_0 = arith.constant 0 : i32\n"
    return f"""func.func @push({', '.join(arguments)}) {{
  %zero = arith.constant 0 : index
  %tokens = memref.dim %ids, %zero : memref<?x{slots}x{ids}>
{pieces.blocks_for("%tokens")}{pieces.launch("%blocks", pieces.THREADS, zero + body, (slots, ranks))}"""


@functools.lru_cache(maxsize=64)
def number_text(layout: Layout, experts: int) -> str:
    """The text of ``number``: the number of the expert of each slot [ranks * tokens, slots], of which this rank has
    ``experts``, -1 for those that are none or elsewhere; and in ``heard`` [ranks, 2] the most tokens of each rank so far,
    and whether it has refused a call."""
    ranks, slots, tokens = layout.ranks, layout.slots, layout.tokens
    look = pieces.asm("ld.relaxed.sys.global.b64 $0, [$1];", "=l,l", "%cell_a", "i64", "i64")

    def say(rank_of: str) -> str:
        """%is_fresh, %count and %is_refused of a rank's cell, which has been waited for."""
        return f"""%cell_bytes = arith.constant 8 : index
      %eight = arith.muli {rank_of}, %cell_bytes : index
      %cells = arith.constant {layout.cells(DISPATCH)} : index
      %cell_i = arith.addi %eight, %cells : index
      %cell_o = arith.index_cast %cell_i : index to i64
      %cell_a = arith.addi %own, %cell_o : i64
      %cell = {look}
      %seen = arith.trunci %cell : i64 to i32
      %is_fresh = arith.cmpi eq, %seen, %epoch : i32
      %half = arith.constant 32 : i64
      %high = arith.shrui %cell, %half : i64
      %said = arith.trunci %high : i64 to i32
      %low_bits = arith.constant {REFUSED - 1} : i32
      %count = arith.andi %said, %low_bits : i32
      %is_refused = arith.cmpi slt, %said, %none : i32"""

    heard = f"memref<{ranks}x2xi32>"
    body = f"""{pieces.own_rank()}
    %epoch = memref.load %state[%c0] : memref<{STATE_WORDS}xi32>
    {pieces.peer("own", "%rank", ranks)}
    %none = arith.constant 0 : i32
    %first = arith.muli %bx, %nx : index
    %entry = arith.addi %first, %tx : index
    %all = arith.constant {ranks * tokens * slots} : index
    %is_entry = arith.cmpi slt, %entry, %all : index
    scf.if %is_entry {{
      %k = arith.remui %entry, %c{slots} : index
      %message = arith.divui %entry, %c{slots} : index
      %per_rank = arith.constant {tokens} : index
      %r = arith.divui %message, %per_rank : index
      %t = arith.remui %message, %per_rank : index
      {say("%r")}
      %t32 = arith.index_cast %t : index to i32
      %is_token = arith.cmpi slt, %t32, %count : i32
      %true = arith.constant true
      %is_taken = arith.xori %is_refused, %true : i1
      %is_heard = arith.andi %is_fresh, %is_taken : i1
      %is_valid = arith.andi %is_heard, %is_well : i1
      %has_head = arith.andi %is_valid, %is_token : i1
      %nothing = arith.constant -1 : i32
      %head = scf.if %has_head -> i32 {{
        %four = arith.constant 4 : index
        %bytes = arith.muli %entry, %four : index
        %heads = arith.constant {layout.heads} : index
        %head_at = arith.addi %bytes, %heads : index
        {pieces.pointer("head_p", "%own", "%head_at")}
        %found = llvm.load %head_p {{alignment = 4 : i64}} : !llvm.ptr<1> -> i32
        %experts = arith.constant {experts} : i32
        %is_known = arith.cmpi ult, %found, %experts : i32
        %number = arith.select %is_known, %found, %nothing : i32
        scf.yield %number : i32
      }} else {{
        scf.yield %nothing : i32
      }}
      memref.store %head, %numbers[%message, %k] : memref<{ranks * tokens}x{slots}xi32>
    }}
    %ranks_c = arith.constant {ranks} : index
    %is_rank = arith.cmpi slt, %entry, %ranks_c : index
    scf.if %is_rank {{
      {say("%entry")}
      scf.if %is_fresh {{
        %most = memref.load %heard[%entry, %c0] : {heard}
        %more = arith.maxsi %most, %count : i32
        memref.store %more, %heard[%entry, %c0] : {heard}
        %ever = memref.load %heard[%entry, %c1] : {heard}
        %refused = arith.extui %is_refused : i1 to i32
        %either = arith.ori %ever, %refused : i32
        memref.store %either, %heard[%entry, %c1] : {heard}
      }}
    }}"""
    blocks = -(-max(ranks * tokens * slots, ranks) // pieces.THREADS)
    return f"""func.func @number(%numbers: memref<{ranks * tokens}x{slots}xi32>, %heard: {heard}, %peers: memref<{ranks}xi64>,
                  %state: memref<{STATE_WORDS}xi32>) {{
  %blocks = arith.constant {blocks} : index
{pieces.launch("%blocks", pieces.THREADS, body, (slots,))}"""


@functools.lru_cache(maxsize=64)
def fetch_text(layout: Layout, experts: int, types: tuple[str, ...] = ()) -> str:
    """The text of ``fetch``: parts of rows [N, size] in bytes, or of other ``types`` of memory of that size, row n the one of
    message ``messages[n]``, up to the last of the ``ends`` of experts."""
    ranks, types = layout.ranks, types or pieces.byte_rows(layout.parts)
    copies = pieces.copy_parts(layout.parts, types, "%row", "%own", "%line", layout.rows, to_window=False)
    body = f"""{pieces.own_rank()}
    {pieces.peer("own", "%rank", ranks)}
    %last = arith.constant {experts - 1} : index
    %end32 = memref.load %ends[%last] : memref<{experts}xi32>
    %end = arith.index_cast %end32 : i32 to index
    scf.for %row = %bx to %end step %gx {{
      %message32 = memref.load %messages[%row] : memref<?xi32>
      %message = arith.index_cast %message32 : i32 to index
      %width = arith.constant {layout.width} : index
      %line = arith.muli %message, %width : index{copies}
    }}"""
    arguments = [f"%p{i}: {kind}" for i, kind in enumerate(types)]
    return f"""func.func @fetch({', '.join(arguments)}, %messages: memref<?xi32>, %ends: memref<{experts}xi32>, %peers: memref<{ranks}xi64>,
                 %state: memref<{STATE_WORDS}xi32>) {{
  %zero = arith.constant 0 : index
  %rows = memref.dim %messages, %zero : memref<?xi32>
{pieces.blocks_for("%rows")}{pieces.launch("%blocks", pieces.THREADS, body, ())}"""
