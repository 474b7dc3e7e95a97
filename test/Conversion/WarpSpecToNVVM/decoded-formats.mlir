// Decoders of weights of 8 bits to bf16, and of 4 bits to f16.
// RUN: warpspec-opt %s --pass-pipeline='builtin.module(gpu.module(warpspec.kernel(warpspec-verify-schedule,warpspec-plan-memory,warpspec-materialize-stages,warpspec-insert-fences,warpspec-lower-roles),convert-warpspec-to-nvvm,canonicalize,cse))' | FileCheck %s

!w8 = memref<4x8704xi8, #warpspec.smem>
!t8 = memref<2x8x64xbf16, #warpspec.smem<128>>
!p8 = !warpspec.pipeline<3 x (!w8, !t8), tma to threads>
!w4 = memref<4x4608xi8, #warpspec.smem>
!t4 = memref<2x8x64xf16, #warpspec.smem<128>>
!p4 = !warpspec.pipeline<3 x (!w4, !t4), tma to threads>

gpu.module @m [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  // CHECK-LABEL: llvm.func @bytes(
  warpspec.kernel @bytes(%src: memref<?xi8, 1>, %steps: i32, %n: i32, %at: i64) {
    %ws = warpspec.smem_alloc : memref<3x4x8704xi8, #warpspec.smem>
    %ts = warpspec.smem_alloc : memref<3x2x8x64xbf16, #warpspec.smem<128>>
    %in = warpspec.pipeline(%ws, %ts) tma to threads : memref<3x4x8704xi8, #warpspec.smem>, memref<3x2x8x64xbf16, #warpspec.smem<128>>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    warpspec.roles
    role @load warps(1) {
      scf.for %k = %c0 to %steps step %c1 : i32 {
        %fill, %dst:2 = warpspec.acquire %in : !p8
        warpspec.bulk_load %src[%at] to 0 of %dst#0 fills(%fill) : memref<?xi8, 1> to !w8
        warpspec.commit %fill
      }
    }
    role @math warps(16) {
      // 32 bytes of codes in two loads.
      // CHECK-NOT: 0x70007000
      // CHECK-COUNT-2: "ld.shared.v4.b32 {$0,$1,$2,$3}, [$4];"
      // CHECK: "ld.shared.v2.b32 {$0,$1}, [$2];"
      // The sign stays, the rest moves by 4.
      // CHECK: "lop3.b32 $0, $1, $2, 2147516416, 0xE4;"
      // CHECK: arith.andi %{{.*}}, %c-2014279696_i32
      // CHECK: mul.rn.bf16x2
      // CHECK: m64n8k16.f32.bf16.bf16
      %acc, %stage, %phase = warpspec.mma_decoded %in from %c0 to %steps width(%n) step 8 of e4m3_ue8m0 : !p8 -> vector<4xf32>
    }
  }

  // CHECK-LABEL: llvm.func @halves(
  warpspec.kernel @halves(%src: memref<?xi8, 1>, %steps: i32, %n: i32, %at: i64) {
    %ws = warpspec.smem_alloc : memref<3x4x4608xi8, #warpspec.smem>
    %ts = warpspec.smem_alloc : memref<3x2x8x64xf16, #warpspec.smem<128>>
    %in = warpspec.pipeline(%ws, %ts) tma to threads : memref<3x4x4608xi8, #warpspec.smem>, memref<3x2x8x64xf16, #warpspec.smem<128>>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    warpspec.roles
    role @load warps(1) {
      scf.for %k = %c0 to %steps step %c1 : i32 {
        %fill, %dst:2 = warpspec.acquire %in : !p4
        warpspec.bulk_load %src[%at] to 0 of %dst#0 fills(%fill) : memref<?xi8, 1> to !w4
        warpspec.commit %fill
      }
    }
    role @math warps(16) {
      // CHECK: arith.andi %{{.*}}, %c-1912566272_i32
      // CHECK: mul.rn.f16x2
      // CHECK: m64n8k16.f32.f16.f16
      %acc, %stage, %phase = warpspec.mma_decoded %in from %c0 to %steps width(%n) step 8 : !p4 -> vector<4xf32>
    }
  }
}
