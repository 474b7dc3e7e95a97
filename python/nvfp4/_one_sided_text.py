# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels of the one-sided exchange in MLIR: each rank writes into the windows of the others, and nobody else takes part.

A window is memory of a rank that all ranks reach. ``peers`` are the addresses of the windows by rank, and ``state`` is memory of
the rank alone (its words are below). The kernels of a call are, in the order of their launches:

  push      rows and experts of tokens into the windows of the ranks of their experts; then a cell for each rank
  await     until the cells of all ranks have this call's epoch
  number    the expert of each slot that has come, by the cells and what was written before them
  fetch     rows out of the window, in the order of their experts
  give_back rows of slots into the windows of the ranks of their tokens; then a cell for each rank
  await     as before, for these cells

docs/ExpertParallel.md argues the order of memory edge by edge. Only `await` waits, with one block, so that waiting ranks of
one device never keep others from running.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence

__all__ = ["DISPATCH", "EPOCH", "FAILURE", "FAILURE_WORDS", "MOST_RANKS", "RANK", "REFUSED", "RETURN", "STATE_WORDS", "Layout",
           "await_text", "fetch_text", "give_back_text", "number_text", "push_text"]

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
_NUMBER_BITS = 16
_THREADS, _MOST_BLOCKS = 256, 512
#: Ranks that a token visits are bits of a word.
MOST_RANKS = 32


def _round(size: int, to: int) -> int:
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
        return _round(sum(self.parts), 16)

    @property
    def back_width(self) -> int:
        """The same of rows that return."""
        return _round(sum(self.back), 16)

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
        return self.heads + _round(4 * self.ranks * self.tokens * self.slots, 256)

    @property
    def returned(self) -> int:
        """Offset in bytes of rows that return, [token][slot], or [token][rank]."""
        return self.rows + _round(self.ranks * self.tokens * self.width, 256)

    @property
    def size(self) -> int:
        """Bytes of a window."""
        return self.returned + _round(self.tokens * self.back_slots * self.back_width, 256)


def _pointer(name: str, base: str, offset: str) -> str:
    """%name is the pointer ``offset`` (an index) after ``base`` (i64)."""
    return f"""%{name}_o = arith.index_cast {offset} : index to i64
        %{name}_a = arith.addi {base}, %{name}_o : i64
        %{name} = llvm.inttoptr %{name}_a : i64 to !llvm.ptr<1>"""


def _asm(text: str, constraints: str, arguments: str = "", types: str = "", result: str = "") -> str:
    """Instructions whose order and scope no pass may change. LLVM 22 drops both from `atomicrmw`."""
    constraints += "," * bool(constraints) + "~{memory}"
    return (f'llvm.inline_asm has_side_effects asm_dialect = att "{text}", "{constraints}" {arguments} : ({types}) -> '
            f'{result or "()"}')


def _constants(*numbers: int) -> str:
    return "\n".join(f"    %c{number} = arith.constant {number} : index" for number in dict.fromkeys(numbers))


def _launch(blocks: str, threads: int, body: str, constants: Sequence[int]) -> str:
    return f"""  %threads = arith.constant {threads} : index
  %one = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = {blocks}, %gy = %one, %gz = %one)
             threads(%tx, %ty, %tz) in (%nx = %threads, %ny = %one, %nz = %one) {{
{_constants(0, 1, *constants)}
{body}
    gpu.terminator
  }}
  return
}}
"""


def _blocks(count: str) -> str:
    """%blocks for so many pieces of work: one at least, for what a rank without any has to say."""
    return f"""  %most_blocks = arith.constant {_MOST_BLOCKS} : index
  %least_blocks = arith.constant 1 : index
  %fewer = arith.minsi {count}, %most_blocks : index
  %blocks = arith.maxsi %fewer, %least_blocks : index
"""


def _peer(name: str, rank: str, ranks: int) -> str:
    return f"%{name} = memref.load %peers[{rank}] : memref<{ranks}xi64>"


def _own_rank() -> str:
    """%rank and %rank32, the number of this rank, since kernels are the same on all; and whether it %is_well: after a wait that
    has failed it writes into no window."""
    return f"""    %lost_word = arith.constant {FAILURE} : index
    %lost32 = memref.load %state[%lost_word] : memref<{STATE_WORDS}xi32>
    %lost_none = arith.constant 0 : i32
    %is_well = arith.cmpi eq, %lost32, %lost_none : i32
    %rank_word = arith.constant {RANK} : index
    %rank32 = memref.load %state[%rank_word] : memref<{STATE_WORDS}xi32>
    %rank = arith.index_cast %rank32 : i32 to index"""


def _publish(layout: Layout, counter: int, role: int, said: str, more: str = "") -> str:
    """Counts the blocks that are done; the last one writes this rank's cells, {epoch, %said}, to all ranks."""
    ranks = layout.ranks
    release = _asm("fence.acq_rel.sys;", "")
    count = _asm("atom.acq_rel.gpu.global.inc.u32 $0, [$1], $2;", "=r,l,r", "%counter_a, %final", "i64, i32", "i32")
    store = _asm("st.relaxed.sys.global.b64 [$0], $1;", "l,l", "%cell_a, %cell", "i64, i64")
    # Not `gpu.barrier`, which the deallocation of buffers refuses; not `.aligned`, so that a copy of it is as good.
    barrier = _asm("barrier.sync 0;", "")
    return f"""    {barrier}
    %is_leader = arith.cmpi eq, %tx, %c0 : index
    %is_first = arith.andi %is_leader, %is_well : i1
    scf.if %is_first {{
      %state_i = memref.extract_aligned_pointer_as_index %state : memref<{STATE_WORDS}xi32> -> index
      %state_a = arith.index_cast %state_i : index to i64
      %counter_at = arith.constant {4 * counter} : i64
      %counter_a = arith.addi %state_a, %counter_at : i64
      %last = arith.subi %gx, %c1 : index
      %final = arith.index_cast %last : index to i32
      %before = {count}
      %is_last = arith.cmpi eq, %before, %final : i32
      scf.if %is_last {{
        %low = arith.extui %epoch : i32 to i64
        %wide = arith.extui {said} : i32 to i64
        %half = arith.constant 32 : i64
        %high = arith.shli %wide, %half : i64
        %cell = arith.ori %high, %low : i64
        %cells = arith.constant {layout.cells(role)} : i64
        %rank64 = arith.extui %rank32 : i32 to i64
        %cell_bytes = arith.constant 8 : i64
        %in_cells = arith.muli %rank64, %cell_bytes : i64
        %cell_at = arith.addi %cells, %in_cells : i64
        {release}
        scf.for %d = %c0 to %c{ranks} step %c1 {{
          {_peer("window", "%d", ranks)}
          %cell_a = arith.addi %window, %cell_at : i64
          {store}
        }}
{more}      }}
    }}"""


def _unit(parts: Sequence[int]) -> int:
    """Bytes that one access moves, of rows of parts that follow each other."""
    return math.gcd(16, *parts)


def _element(unit: int) -> str:
    return "vector<4xi32>" if unit == 16 else f"i{8 * unit}"


@functools.lru_cache(maxsize=64)
def push_text(layout: Layout, ids: str, entries: tuple[int, int], types: tuple[str, ...] = ()) -> str:
    """The text of ``push``: parts of rows [T, size] in bytes, or of other ``types`` of memory of that size, experts [T, slots] of
    an element type, the place of each slot in what returns, and what the rank says of its call (-1: T). ``table`` are the codes of
    experts, 65536 times the rank plus the number there, and ``copies`` how many of an expert's ``entries`` differ."""
    ranks, slots, tokens = layout.ranks, layout.slots, layout.tokens
    experts, columns = entries
    types = types or _bytes(layout.parts)
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
    unit, start = _unit(layout.parts), 0
    for i, size in enumerate(layout.parts):
        kind = _element(unit)
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
        {_pointer("source", f"%base{i}", "%source_at")}
        %value = llvm.load %source {{alignment = {unit} : i64}} : !llvm.ptr<1> -> {kind}
        %target_at = arith.addi %to{i}, %bytes : index
        scf.for %d = %c0 to %c{ranks} step %c1 {{
          %d32 = arith.index_cast %d : index to i32
          %bit = arith.shrui %mask, %d32 : i32
          %is_visited = arith.trunci %bit : i32 to i1
          scf.if %is_visited {{
            {_peer("window", "%d", ranks)}
            {_pointer("target", "%window", "%target_at")}
            llvm.store %value, %target {{alignment = {unit} : i64}} : {kind}, !llvm.ptr<1>
          }}
        }}
      }}"""
        start += size
    keep = f"      memref.store %epoch, %state[%c0] : memref<{STATE_WORDS}xi32>\n"
    body = f"""{_own_rank()}
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
        %bits = arith.constant {_NUMBER_BITS} : i32
        %owner = arith.shrsi %code, %bits : i32
        %d32 = arith.index_cast %d : index to i32
        %is_there = arith.cmpi eq, %owner, %d32 : i32
        %low_bits = arith.constant {(1 << _NUMBER_BITS) - 1} : i32
        %number = arith.andi %code, %low_bits : i32
        %nothing = arith.constant -1 : i32
        %head = arith.select %is_there, %number, %nothing : i32
        {_peer("window", "%d", ranks)}
        %line = arith.muli %row, %c{slots} : index
        %in_line = arith.addi %line, %k : index
        %four = arith.constant 4 : index
        %head_bytes = arith.muli %in_line, %four : index
        %heads_at = arith.constant {layout.heads} : index
        %head_at = arith.addi %head_bytes, %heads_at : index
        scf.if %is_well {{
          {_pointer("head_p", "%window", "%head_at")}
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
        %bits = arith.constant {_NUMBER_BITS} : i32
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
{_publish(layout, PUSHED, DISPATCH, "%said", "  " + keep)}"""
    zero = "    %bits_0 = arith.constant 0 : i32\n"
    return f"""func.func @push({', '.join(arguments)}) {{
  %zero = arith.constant 0 : index
  %tokens = memref.dim %ids, %zero : memref<?x{slots}x{ids}>
{_blocks("%tokens")}{_launch("%blocks", _THREADS, zero + body, (slots, ranks))}"""


@functools.lru_cache(maxsize=64)
def await_text(layout: Layout, role: int) -> str:
    """The text of ``await``: until every rank's cell of the role has the epoch, another rank has aborted, or ``limit``
    nanoseconds have passed. What the first wait that fails has seen is in ``state``, all ranks hear of it, and no row that
    should have come has a place in ``places`` [T, slots]."""
    ranks, places = layout.ranks, f"memref<?x{layout.slots}xi32>"
    clock = _asm("mov.u64 $0, %globaltimer;", "=l", result="i64")
    acquire = _asm("ld.acquire.sys.global.b64 $0, [$1];", "=l,l", "%cell_a", "i64", "i64")
    look = _asm("ld.relaxed.sys.global.u32 $0, [$1];", "=r,l", "%abort_a", "i64", "i32")
    claim = _asm("atom.relaxed.gpu.global.cas.b32 $0, [$1], 0, 1;", "=r,l", "%failure_a", "i64", "i32")
    tell = _asm("st.relaxed.sys.global.u32 [$0], $1;", "l,r", "%other_a, %mine", "i64, i32")
    words = "".join(f"""
          %at{i} = arith.constant {FAILURE + 1 + i} : index
          memref.store {value}, %state[%at{i}] : memref<{STATE_WORDS}xi32>"""
                    for i, value in enumerate(("%role", "%from", "%seen_epoch", "%epoch", "%aborted")))
    body = f"""{_own_rank()}
    %ranks_c = arith.constant {ranks} : index
    %waits = arith.cmpi slt, %tx, %ranks_c : index
    scf.if %waits {{
      %epoch = memref.load %state[%c0] : memref<{STATE_WORDS}xi32>
      {_peer("own", "%rank", ranks)}
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
            {_peer("window", "%d", ranks)}
            %other_a = arith.addi %window, %abort_o : i64
            {tell}
          }}
        }}
      }}
    }}"""
    name = "await_rows" if role == DISPATCH else "await_results"
    return f"""func.func @{name}(%state: memref<{STATE_WORDS}xi32>, %places: {places}, %peers: memref<{ranks}xi64>,
                       %limit: i64) {{
{_launch("%one", _round(ranks, 32), body, (layout.slots,))}"""


@functools.lru_cache(maxsize=64)
def number_text(layout: Layout, experts: int) -> str:
    """The text of ``number``: the number of the expert of each slot [ranks * tokens, slots], of which this rank has
    ``experts``, -1 for those that are none or elsewhere; and in ``heard`` [ranks, 2] the most tokens of each rank so far,
    and whether it has refused a call."""
    ranks, slots, tokens = layout.ranks, layout.slots, layout.tokens
    look = _asm("ld.relaxed.sys.global.b64 $0, [$1];", "=l,l", "%cell_a", "i64", "i64")

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
    body = f"""{_own_rank()}
    %epoch = memref.load %state[%c0] : memref<{STATE_WORDS}xi32>
    {_peer("own", "%rank", ranks)}
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
        {_pointer("head_p", "%own", "%head_at")}
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
    blocks = -(-max(ranks * tokens * slots, ranks) // _THREADS)
    return f"""func.func @number(%numbers: memref<{ranks * tokens}x{slots}xi32>, %heard: {heard}, %peers: memref<{ranks}xi64>,
                  %state: memref<{STATE_WORDS}xi32>) {{
  %blocks = arith.constant {blocks} : index
{_launch("%blocks", _THREADS, body, (slots,))}"""


def _bytes(sizes: Sequence[int]) -> tuple[str, ...]:
    """The types of rows in bytes, by parts."""
    return tuple(f"memref<?x{size}xi8>" for size in sizes)


def _copy_parts(parts: Sequence[int], types: Sequence[str], row: str, window: str, line: str, region: int, to_window: bool) -> str:
    """Copies the parts of a row of arguments %p0, ... to or from where ``line`` (bytes) is in a region of a window."""
    unit, start, copies = _unit(parts), 0, ""
    for i, (size, kind) in enumerate(zip(parts, types)):
        here, there = ("%base", "%own_at"), (window, "%there")
        copies += f"""
      scf.execute_region {{
        %base_i = memref.extract_aligned_pointer_as_index %p{i} : {kind} -> index
        %base = arith.index_cast %base_i : index to i64
        %size = arith.constant {size} : index
        %own_at = arith.muli {row}, %size : index
        %region = arith.constant {region + start} : index
        %there = arith.addi {line}, %region : index
        {_copy(size // unit, unit, *((here, there) if to_window else (there, here)))}
        scf.yield
      }}"""
        start += size
    return copies


def _copy(count: int, unit: int, source: tuple[str, str], target: tuple[str, str]) -> str:
    """The threads of a block copy ``count`` units from a base and an offset to others."""
    kind = _element(unit)
    return f"""%count = arith.constant {count} : index
        scf.for %i = %tx to %count step %nx {{
          %unit = arith.constant {unit} : index
          %bytes = arith.muli %i, %unit : index
          %source_at = arith.addi {source[1]}, %bytes : index
          {_pointer("source", source[0], "%source_at")}
          %value = llvm.load %source {{alignment = {unit} : i64}} : !llvm.ptr<1> -> {kind}
          %target_at = arith.addi {target[1]}, %bytes : index
          {_pointer("target", target[0], "%target_at")}
          llvm.store %value, %target {{alignment = {unit} : i64}} : {kind}, !llvm.ptr<1>
        }}"""


@functools.lru_cache(maxsize=64)
def fetch_text(layout: Layout, experts: int, types: tuple[str, ...] = ()) -> str:
    """The text of ``fetch``: parts of rows [N, size] in bytes, or of other ``types`` of memory of that size, row n the one of
    message ``messages[n]``, up to the last of the ``ends`` of experts."""
    ranks, types = layout.ranks, types or _bytes(layout.parts)
    copies = _copy_parts(layout.parts, types, "%row", "%own", "%line", layout.rows, to_window=False)
    body = f"""{_own_rank()}
    {_peer("own", "%rank", ranks)}
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
{_blocks("%rows")}{_launch("%blocks", _THREADS, body, ())}"""


@functools.lru_cache(maxsize=64)
def give_back_text(layout: Layout, types: tuple[str, ...] = ()) -> str:
    """The text of ``give_back``: parts of rows [N, size] as ``fetch`` has them, and which of them each slot gets,
    [ranks * tokens, slots] (-1: none), or with ``grouped`` each message, [ranks * tokens, 1]."""
    ranks, tokens, types = layout.ranks, layout.tokens, types or _bytes(layout.back)
    slots = 1 if layout.grouped else layout.slots
    which = (f"%line = arith.muli %t, %c{ranks} : index\n        %slot = arith.addi %line, %rank : index" if layout.grouped
             else f"%line = arith.muli %t, %c{slots} : index\n        %slot = arith.addi %line, %k : index")
    body = f"""{_own_rank()}
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
        {_peer("window", "%r", ranks)}
        {which}
        %room = arith.constant {layout.back_width} : index
        %offset = arith.muli %slot, %room : index{_copy_parts(layout.back, types, "%row", "%window", "%offset", layout.returned, to_window=True)}
      }}
    }}
{_publish(layout, GIVEN, RETURN, "%none")}"""
    arguments = [f"%p{i}: {kind}" for i, kind in enumerate(types)]
    return f"""func.func @give_back({', '.join(arguments)}, %row_of: memref<{ranks * tokens}x{slots}xi32>,
                     %peers: memref<{ranks}xi64>, %state: memref<{STATE_WORDS}xi32>) {{
  %all = arith.constant {ranks * tokens * slots} : index
{_blocks("%all")}{_launch("%blocks", _THREADS, body, (slots, ranks, ranks * tokens * slots))}"""
