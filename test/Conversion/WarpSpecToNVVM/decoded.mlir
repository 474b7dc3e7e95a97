// Weights decoded in registers: A of wgmma in registers, tokens by descriptor.
// RUN: warpspec-opt %s --pass-pipeline='builtin.module(gpu.module(warpspec.kernel(warpspec-verify-schedule,warpspec-plan-memory,warpspec-materialize-stages,warpspec-insert-fences,warpspec-lower-roles),convert-warpspec-to-nvvm,canonicalize,cse))' | FileCheck %s

!w = memref<2x4608xi8, #warpspec.smem>
!t = memref<2x16x64xbf16, #warpspec.smem<128>>
!p = !warpspec.pipeline<3 x (!w, !t), tma to threads>
!m8 = !warpspec.tensor_map<2x8x64xbf16, swizzle = 128>
!m16 = !warpspec.tensor_map<2x16x64xbf16, swizzle = 128>
!tile = !warpspec.pipeline<2 x (memref<4xi32, #warpspec.smem>), threads to threads>

gpu.module @m [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  // CHECK-LABEL: llvm.func @decoded(
  // 8 warps, then one that loads, one that finds tiles, and two to fill up.
  // CHECK-SAME: nvvm.reqntid = array<i32: 384, 1, 1>
  // CHECK-NOT: warpspec.
  warpspec.kernel @decoded(%m8: !m8, %m16: !m16, %src: memref<?xi8, 1>, %steps: i32, %n: i32, %at: i64, %out: memref<?xf32, 1>) {
    %ws = warpspec.smem_alloc : memref<3x2x4608xi8, #warpspec.smem>
    %ts = warpspec.smem_alloc : memref<3x2x16x64xbf16, #warpspec.smem<128>>
    %staging = warpspec.smem_alloc : memref<2x16x68xf32, #warpspec.smem>
    %slots = warpspec.smem_alloc : memref<2x4xi32, #warpspec.smem>
    %in = warpspec.pipeline(%ws, %ts) tma to threads : memref<3x2x4608xi8, #warpspec.smem>, memref<3x2x16x64xbf16, #warpspec.smem<128>>
    %tiles = warpspec.pipeline(%slots) threads to threads : memref<2x4xi32, #warpspec.smem>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c4 = arith.constant 4 : i32
    warpspec.roles
    role @math warps(8) registers(232) {
      warpspec.for_each_tile m_fastest of %c4 through %tiles : !tile
      extents(%g) {
        warpspec.yield %n, %n : i32, i32
      } do(%g, %i, %j) {
        // The warp that loads is sent on its way first.
        // CHECK: nvvm.setmaxregister decrease 40
        // Two copies of weights and 256 bytes for each row of tokens.
        // CHECK: %[[ROWS:.*]] = arith.muli %{{.*}}, %c256_i32
        // CHECK: %[[BYTES:.*]] = arith.addi %[[ROWS]], %c9216_i32
        // CHECK: nvvm.mbarrier.arrive.expect_tx %{{.*}}, %[[BYTES]]
        // CHECK-COUNT-2: nvvm.cp.async.bulk.shared.cluster.global
        // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global
        // CHECK: nvvm.setmaxregister increase 232
        // The tile from the ring, and whether there is one.
        // CHECK: nvvm.mbarrier.try_wait
        // CHECK: llvm.load {{.*}} : !llvm.ptr<3> -> vector<4xi32>
        // No jump table: a compare for each width but the last.
        // CHECK: arith.cmpi slt, %{{.*}}, %c16_i32
        // CHECK: "mov.u32 $0, %tid.x;"
        // CHECK: "ld.shared.v4.b32 {$0,$1,$2,$3}, [$4];"
        // CHECK: "lop3.b32 $0, $1, 267390960, $2, 0xEA;"
        // CHECK: mul.rn.bf16x2
        // CHECK: wgmma.fence.sync.aligned; add.u32 l, $24, 0;
        // CHECK-SAME: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, {$8, $9, $10, $11}
        // CHECK-SAME: add.u32 l, $24, 2;
        // CHECK-SAME: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, {$12, $13, $14, $15}
        // CHECK-SAME: wgmma.commit_group.sync.aligned;}
        // CHECK: nvvm.wgmma.wait.group.sync.aligned 0
        // CHECK: wgmma.mma_async.sync.aligned.m64n16k16
        %acc, %stage, %phase = warpspec.mma_decoded %in from %c0 to %steps width(%n) step 16 : !p -> vector<8xf32>
        // CHECK: nvvm.barrier id = %{{.*}} number_of_threads = %{{.*}}
        // CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<3>
        // CHECK: nvvm.barrier id = %{{.*}} number_of_threads = %{{.*}}
        warpspec.stage_fragment %acc[%c0] to %staging : vector<8xf32> to memref<2x16x68xf32, #warpspec.smem>
      }
    }
    role @load warps(1) registers(40) {
      warpspec.for_each_tile m_fastest of %c4 through %tiles : !tile
      extents(%g) {
        warpspec.yield %n, %n : i32, i32
      } do(%g, %i, %j) {
        scf.for %k = %c0 to %steps step %c1 : i32 {
          %fill, %dst:2 = warpspec.acquire %in : !p
          warpspec.bulk_load %src[%at] to 0 of %dst#0 fills(%fill) : memref<?xi8, 1> to !w
          warpspec.bulk_load %src[%at] to 1 of %dst#0 fills(%fill) : memref<?xi8, 1> to !w
          warpspec.tma_load_rows %n of %m8, %m16[%k, %i, %c0] to %dst#1 fills(%fill) : !m8, !m16 to !t
          warpspec.commit %fill
        }
      }
    }
  }
}
