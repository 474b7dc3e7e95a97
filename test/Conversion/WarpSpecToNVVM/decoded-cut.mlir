// Tiles that blocks share: accumulators begin as another block left them, or are added to those of parts.
// RUN: warpspec-opt %s --pass-pipeline='builtin.module(gpu.module(warpspec.kernel(warpspec-verify-schedule,warpspec-plan-memory,warpspec-materialize-stages,warpspec-insert-fences,warpspec-lower-roles),convert-warpspec-to-nvvm,canonicalize,cse))' | FileCheck %s

!w = memref<2x4608xi8, #warpspec.smem>
!t = memref<2x16x64xbf16, #warpspec.smem<128>>
!p = !warpspec.pipeline<3 x (!w, !t), tma to threads>
!m8 = !warpspec.tensor_map<2x8x64xbf16, swizzle = 128>
!m16 = !warpspec.tensor_map<2x16x64xbf16, swizzle = 128>
!tile = !warpspec.pipeline<2 x (memref<8xi32, #warpspec.smem>), threads to threads>

gpu.module @m [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  // CHECK-LABEL: llvm.func @cut(
  // CHECK-NOT: warpspec.
  warpspec.kernel @cut(%m8: !m8, %m16: !m16, %src: memref<?xi8, 1>, %steps: i32, %n: i32, %at: i64,
                       %sums: memref<?xf32, 1>) {
    %ws = warpspec.smem_alloc : memref<3x2x4608xi8, #warpspec.smem>
    %ts = warpspec.smem_alloc : memref<3x2x16x64xbf16, #warpspec.smem<128>>
    %staging = warpspec.smem_alloc : memref<2x16x68xf32, #warpspec.smem>
    %slots = warpspec.smem_alloc : memref<2x8xi32, #warpspec.smem>
    %in = warpspec.pipeline(%ws, %ts) tma to threads : memref<3x2x4608xi8, #warpspec.smem>, memref<3x2x16x64xbf16, #warpspec.smem<128>>
    %tiles = warpspec.pipeline(%slots) threads to threads : memref<2x8xi32, #warpspec.smem>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    warpspec.roles
    role @math warps(8) registers(232) {
      warpspec.for_each_tile m_fastest of %n through %tiles : !tile cut(%steps) parts
      extents(%g) {
        warpspec.yield %n, %n, %n : i32, i32, i32
      } do(%g, %i, %j, %from, %to, %before) {
        // The tile, then the range of its steps.
        // CHECK: nvvm.setmaxregister increase 232
        // CHECK-COUNT-2: llvm.load {{.*}} : !llvm.ptr<3> -> vector<4xi32>
        %is_after = arith.cmpi eq, %before, %c0 : i32
        // Width 8: a piece of four values of each of 256 threads.
        // CHECK: ld.global.v4.f32 {$0, $1, $2, $3}, [$4+0];
        // CHECK-NOT: ld.global.v4.f32
        // CHECK: wgmma.mma_async.sync.aligned.m64n8k16
        // CHECK: ld.global.v4.f32 {$0, $1, $2, $3}, [$4+0];
        // CHECK: ld.global.v4.f32 {$0, $1, $2, $3}, [$4+4096];
        // CHECK: wgmma.mma_async.sync.aligned.m64n16k16
        %acc, %stage, %phase = warpspec.mma_decoded %in from %from to %to width(%n) step 16
            after %sums[%i] if %is_after : memref<?xf32, 1> : !p -> vector<8xf32>
        // CHECK: st.global.v4.f32 [$0+0], {$1, $2, $3, $4};
        // CHECK: st.global.v4.f32 [$0+4096], {$1, $2, $3, $4};
        warpspec.store_fragment %acc width(%n) to %sums[%i] : vector<8xf32> to memref<?xf32, 1>
        // CHECK: ld.global.v4.f32
        // CHECK: arith.addf
        %all = warpspec.add_fragments %acc width(%n) to %before of %sums[%i] : vector<8xf32>, memref<?xf32, 1>
        warpspec.stage_fragment %all[%c0] to %staging : vector<8xf32> to memref<2x16x68xf32, #warpspec.smem>
      }
    }
    role @load warps(1) registers(40) {
      warpspec.for_each_tile m_fastest of %n through %tiles : !tile cut(%steps) parts
      extents(%g) {
        warpspec.yield %n, %n, %n : i32, i32, i32
      } do(%g, %i, %j, %from, %to, %before) {
        scf.for %k = %from to %to step %c1 : i32 {
          %fill, %dst:2 = warpspec.acquire %in : !p
          warpspec.bulk_load %src[%at] to 0 of %dst#0 fills(%fill) : memref<?xi8, 1> to !w
          warpspec.bulk_load %src[%at] to 1 of %dst#0 fills(%fill) : memref<?xi8, 1> to !w
          warpspec.tma_load_rows %n of %m8, %m16[%c0, %k, %c0] to %dst#1 fills(%fill) : !m8, !m16 to !t
          warpspec.commit %fill
        }
      }
    }
  }
}
