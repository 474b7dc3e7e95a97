# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The loop that validate-cycles runs: a warp that issues tensor copies and a warp that multiplies, as CUTLASS's main
loop has them."""


def kernel(row):
    """PTX of the loop for a tile, and the bytes of shared memory that it takes. `row` has the extents m, n and tile_k,
    its stages, whether it is fp8, a_bytes and b_bytes of a stage's operands, K of one instruction (atom), and the
    bytes of a row as it lies in shared memory (span)."""
    stage_bytes = row.a_bytes + row.b_bytes
    barriers = row.stages * stage_bytes
    kind = "f8f6f4" if row.fp8 else "f16"
    descriptor = 1 << 4 | (0 if row.fp8 else 1 << 7 | 1 << 10) | row.n // 8 << 17 | row.m // 16 << 24
    columns = max(32, 1 << (row.n - 1).bit_length())
    # Rows of at most 128 bytes, swizzled over their width.
    matrix = {128: 2, 64: 4, 32: 6}[row.span] << 61 | 1 << 46 | row.span * 8 // 16 << 32 | 1 << 16
    copies = ""
    for chunk in range(row.a_bytes // row.m // row.span):
        for tensor, start in (("a", chunk * row.m), ("b", row.a_bytes // row.span + chunk * row.n)):
            copies += ("  cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes "
                       f"[%buffer+{start * row.span}], [%map_{tensor}, {{%z, %z}}], [%full];\n")
    products = ""
    for j in range(row.tile_k // row.atom):
        chunk, within = divmod(32 * j, row.span)
        for tensor, rows in (("a", row.m), ("b", row.n)):
            products += f"  add.u64 %next_{tensor}, %{tensor}, {(chunk * rows * row.span + within) // 16};\n"
        products += f"  tcgen05.mma.cta_group::1.kind::{kind} [%tmem], %next_a, %next_b, %desc, %add;\n"
        products += "" if j else "  mov.pred %add, 1;\n"
    text = f""".version 8.8
.target sm_100a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry loop(.param .align 64 .b8 a[128], .param .align 64 .b8 b[128], .param .u32 tiles)
{{
  .reg .pred %p, %leader, %add;
  .reg .b32 %t, %warp, %base, %bar, %tiles, %i, %stage, %phase, %full, %empty, %buffer, %tmem, %desc, %r, %z;
  .reg .b64 %map_a, %map_b, %a, %b, %next_a, %next_b;
  mov.b64 %map_a, a;
  cvta.param.u64 %map_a, %map_a;
  mov.b64 %map_b, b;
  cvta.param.u64 %map_b, %map_b;
  mov.u32 %z, 0;
  ld.param.u32 %tiles, [tiles];
  mov.u32 %t, %tid.x;
  shr.u32 %warp, %t, 5;
  mov.u32 %base, smem;
  add.u32 %bar, %base, {barriers};
  setp.ne.u32 %p, %t, 0;
  @%p bra ready;
  mov.u32 %i, 0;
init:
  mad.lo.u32 %r, %i, 8, %bar;
  mbarrier.init.shared::cta.b64 [%r], 1;
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, {2 * row.stages + 1};
  @%p bra init;
  fence.mbarrier_init.release.cluster;
ready:
  setp.ne.u32 %p, %warp, 1;
  @%p bra allocated;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%bar+{16 * row.stages + 8}], {columns};
allocated:
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
  ld.shared.b32 %tmem, [%bar+{16 * row.stages + 8}];
  and.b32 %r, %t, 31;
  setp.eq.u32 %leader, %r, 0;
  @!%leader bra end;
  mov.u32 %i, 0;
  mov.u32 %stage, 0;
  setp.eq.u32 %p, %warp, 1;
  @%p bra multiply;

  mov.u32 %phase, 1;
load:
  mad.lo.u32 %full, %stage, 16, %bar;
wait_empty:
  mbarrier.try_wait.parity.shared::cta.b64 %p, [%full+8], %phase;
  @!%p bra wait_empty;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%full], {stage_bytes};
  mad.lo.u32 %buffer, %stage, {stage_bytes}, %base;
{copies}  add.u32 %stage, %stage, 1;
  setp.eq.u32 %p, %stage, {row.stages};
  @%p mov.u32 %stage, 0;
  @%p xor.b32 %phase, %phase, 1;
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, %tiles;
  @%p bra load;
  bra end;

multiply:
  mov.u32 %phase, 0;
  mov.pred %add, 0;
  mov.u32 %desc, {descriptor};
next:
  mad.lo.u32 %full, %stage, 16, %bar;
wait_full:
  mbarrier.try_wait.parity.shared::cta.b64 %p, [%full], %phase;
  @!%p bra wait_full;
  mad.lo.u32 %buffer, %stage, {stage_bytes}, %base;
  shr.u32 %r, %buffer, 4;
  cvt.u64.u32 %a, %r;
  or.b64 %a, %a, {matrix};
  add.u64 %b, %a, {row.a_bytes // 16};
{products}  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%full+8];
  add.u32 %stage, %stage, 1;
  setp.eq.u32 %p, %stage, {row.stages};
  @%p mov.u32 %stage, 0;
  @%p xor.b32 %phase, %phase, 1;
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, %tiles;
  @%p bra next;
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar+{16 * row.stages}];
wait_done:
  mbarrier.try_wait.parity.shared::cta.b64 %p, [%bar+{16 * row.stages}], 0;
  @!%p bra wait_done;
end:
  bar.warp.sync -1;
  setp.eq.u32 %p, %warp, 1;
  @%p tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tmem, {columns};
  ret;
}}
"""
    return text, barriers + 16 * row.stages + 16
