# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The parts that kernels of the one-sided exchange share, as text: launches, pointers, instructions with order and scope, the cells that
a rank writes when its blocks are done, and copies of rows."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ._one_sided_window import FAILURE, RANK, STATE_WORDS, Layout

__all__ = ["THREADS", "asm", "blocks_for", "byte_rows", "copy_parts", "element_of", "launch", "own_rank", "peer", "pointer", "publish",
           "unit_of"]

#: Threads of a block, and the most blocks of a launch.
THREADS, MOST_BLOCKS = 256, 512


def pointer(name: str, base: str, offset: str) -> str:
    """%name is the pointer ``offset`` (an index) after ``base`` (i64)."""
    return f"""%{name}_o = arith.index_cast {offset} : index to i64
        %{name}_a = arith.addi {base}, %{name}_o : i64
        %{name} = llvm.inttoptr %{name}_a : i64 to !llvm.ptr<1>"""


def asm(text: str, constraints: str, arguments: str = "", types: str = "", result: str = "") -> str:
    """Instructions whose order and scope no pass may change. LLVM 22 drops both from `atomicrmw`."""
    constraints += "," * bool(constraints) + "~{memory}"
    return (f'llvm.inline_asm has_side_effects asm_dialect = att "{text}", "{constraints}" {arguments} : ({types}) -> '
            f'{result or "()"}')


def _index_constants(*numbers: int) -> str:
    return "\n".join(f"    %c{number} = arith.constant {number} : index" for number in dict.fromkeys(numbers))


def launch(blocks: str, threads: int, body: str, constants: Sequence[int]) -> str:
    """The rest of a function: a launch of a body, which has %c0, %c1 and the constants as indices."""
    return f"""  %threads = arith.constant {threads} : index
  %one = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = {blocks}, %gy = %one, %gz = %one)
             threads(%tx, %ty, %tz) in (%nx = %threads, %ny = %one, %nz = %one) {{
{_index_constants(0, 1, *constants)}
{body}
    gpu.terminator
  }}
  return
}}
"""


def blocks_for(count: str) -> str:
    """%blocks for so many pieces of work: one at least, for what a rank without any has to say."""
    return f"""  %most_blocks = arith.constant {MOST_BLOCKS} : index
  %least_blocks = arith.constant 1 : index
  %fewer = arith.minsi {count}, %most_blocks : index
  %blocks = arith.maxsi %fewer, %least_blocks : index
"""


def peer(name: str, rank: str, ranks: int) -> str:
    return f"%{name} = memref.load %peers[{rank}] : memref<{ranks}xi64>"


def own_rank() -> str:
    """%rank and %rank32, the number of this rank, since kernels are the same on all; and whether it %is_well: after a wait that
    has failed it writes into no window."""
    return f"""    %lost_word = arith.constant {FAILURE} : index
    %lost32 = memref.load %state[%lost_word] : memref<{STATE_WORDS}xi32>
    %lost_none = arith.constant 0 : i32
    %is_well = arith.cmpi eq, %lost32, %lost_none : i32
    %rank_word = arith.constant {RANK} : index
    %rank32 = memref.load %state[%rank_word] : memref<{STATE_WORDS}xi32>
    %rank = arith.index_cast %rank32 : i32 to index"""


def publish(layout: Layout, counter: int, role: int, said: str, more: str = "") -> str:
    """Counts the blocks that are done; the last one writes this rank's cells, {epoch, %said}, to all ranks."""
    ranks = layout.ranks
    release = asm("fence.acq_rel.sys;", "")
    count = asm("atom.acq_rel.gpu.global.inc.u32 $0, [$1], $2;", "=r,l,r", "%counter_a, %final", "i64, i32", "i32")
    store = asm("st.relaxed.sys.global.b64 [$0], $1;", "l,l", "%cell_a, %cell", "i64, i64")
    # Not `gpu.barrier`, which the deallocation of buffers refuses; not `.aligned`, so that a copy of it is as good.
    barrier = asm("barrier.sync 0;", "")
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
          {peer("window", "%d", ranks)}
          %cell_a = arith.addi %window, %cell_at : i64
          {store}
        }}
{more}      }}
    }}"""


def unit_of(parts: Sequence[int]) -> int:
    """Bytes that one access moves, of rows of parts that follow each other."""
    return math.gcd(16, *parts)


def element_of(unit: int) -> str:
    return "vector<4xi32>" if unit == 16 else f"i{8 * unit}"


def byte_rows(sizes: Sequence[int]) -> tuple[str, ...]:
    """The types of rows in bytes, by parts."""
    return tuple(f"memref<?x{size}xi8>" for size in sizes)


def copy_parts(parts: Sequence[int], types: Sequence[str], row: str, window: str, line: str, region: int, to_window: bool) -> str:
    """Copies the parts of a row of arguments %p0, ... to or from where ``line`` (bytes) is in a region of a window."""
    unit, start, copies = unit_of(parts), 0, ""
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
    kind = element_of(unit)
    return f"""%count = arith.constant {count} : index
        scf.for %i = %tx to %count step %nx {{
          %unit = arith.constant {unit} : index
          %bytes = arith.muli %i, %unit : index
          %source_at = arith.addi {source[1]}, %bytes : index
          {pointer("source", source[0], "%source_at")}
          %value = llvm.load %source {{alignment = {unit} : i64}} : !llvm.ptr<1> -> {kind}
          %target_at = arith.addi {target[1]}, %bytes : index
          {pointer("target", target[0], "%target_at")}
          llvm.store %value, %target {{alignment = {unit} : i64}} : {kind}, !llvm.ptr<1>
        }}"""
