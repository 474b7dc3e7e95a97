// Each pair of agents becomes the signals of the table of `pipeline`.
// RUN: warpspec-opt %s --pass-pipeline='builtin.module(gpu.module(warpspec.kernel(warpspec-plan-memory,warpspec-materialize-stages,warpspec-insert-fences,warpspec-lower-roles),convert-warpspec-to-nvvm,canonicalize,cse))' | FileCheck %s

!operand = !warpspec.pipeline<2 x (memref<128x128xi8, #warpspec.smem<128>>, memref<512xi8, #warpspec.smem>), tma to tensor_core>
!acc = !warpspec.pipeline<2 x (memref<128x128xf32, #warpspec.tmem>), tensor_core to threads>
!cols = !warpspec.pipeline<2 x (memref<128x4xi32, #warpspec.tmem>), tensor_core to tensor_core>

// CHECK: llvm.mlir.global external @nvfp4_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
gpu.module @m [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  // CHECK: warpspec.kernel_info @pairs shared_bytes({{[0-9]+}})
  // CHECK-LABEL: llvm.func @pairs(
  // CHECK-SAME: %{{.*}}: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}
  // CHECK-SAME: %{{.*}}: !llvm.ptr<1>
  // CHECK-SAME: attributes {gpu.kernel, nvvm.kernel, nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: 192, 1, 1>}
  // CHECK-NOT: warpspec.
  warpspec.kernel @pairs(%ma: !warpspec.tensor_map<128x128xi8, swizzle = 128>, %ms: !warpspec.tensor_map<256xi16>, %d: memref<?xf32, 1>, %n: i32) {
    %a = warpspec.smem_alloc : memref<2x128x128xi8, #warpspec.smem<128>>
    %s = warpspec.smem_alloc : memref<2x512xi8, #warpspec.smem>
    %t = warpspec.tmem_alloc : memref<2x128x128xf32, #warpspec.tmem>
    %c = warpspec.tmem_alloc : memref<2x128x4xi32, #warpspec.tmem>
    %in = warpspec.pipeline(%a, %s) tma to tensor_core : memref<2x128x128xi8, #warpspec.smem<128>>, memref<2x512xi8, #warpspec.smem>
    %acc = warpspec.pipeline(%t) tensor_core to threads : memref<2x128x128xf32, #warpspec.tmem>
    %cols = warpspec.pipeline(%c) tensor_core to tensor_core : memref<2x128x4xi32, #warpspec.tmem>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    warpspec.roles
    // 16384 + 512 bytes are expected by the acquire.
    // CHECK: nvvm.mbarrier.try_wait
    // CHECK: nvvm.mbarrier.arrive.expect_tx %{{.*}}, %c16896_i32
    // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global
    // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global
    role @load warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %fill, %x:2 = warpspec.acquire %in : !operand
        warpspec.tma_load %ma[%c0, %c0] to %x#0 fills(%fill) : !warpspec.tensor_map<128x128xi8, swizzle = 128> to memref<128x128xi8, #warpspec.smem<128>>
        warpspec.tma_load %ms[%c0] to %x#1 fills(%fill) : !warpspec.tensor_map<256xi16> to memref<512xi8, #warpspec.smem>
        warpspec.commit %fill
      }
    }
    // Accumulator and columns are waited for before, the operands are; two
    // commits free operands and columns, one hands the accumulator over.
    // CHECK: nvvm.mbarrier.try_wait
    // CHECK: nvvm.tcgen05.fence <after>
    // CHECK: nvvm.mbarrier.try_wait
    // CHECK: nvvm.mbarrier.try_wait
    // CHECK: nvvm.tcgen05.cp
    // CHECK: nvvm.tcgen05.commit
    // CHECK: nvvm.tcgen05.commit
    // CHECK: nvvm.tcgen05.commit
    role @mma warps(1) {
      %full, %z = warpspec.acquire %acc : !acc
      scf.for %i = %c0 to %n step %c1 : i32 {
        %drain, %x:2 = warpspec.wait %in : !operand
        %f, %col = warpspec.acquire %cols : !cols
        warpspec.copy_scales %x#1 to %col : memref<512xi8, #warpspec.smem> to memref<128x4xi32, #warpspec.tmem>
        warpspec.commit %f
        %g, %used = warpspec.wait %cols : !cols
        warpspec.release %g
        warpspec.release %drain
      }
      warpspec.commit %full
    }
    // CHECK: nvvm.mbarrier.try_wait
    // CHECK: nvvm.tcgen05.fence <after>
    // CHECK: nvvm.tcgen05.ld
    // CHECK: nvvm.tcgen05.wait <load>
    // CHECK: llvm.inline_asm has_side_effects
    // CHECK: nvvm.tcgen05.fence <before>
    // CHECK: nvvm.bar.warp.sync
    // CHECK: nvvm.elect.sync
    // CHECK: nvvm.mbarrier.arrive
    role @store warps(4) {
      %drain, %z = warpspec.wait %acc : !acc
      %part = warpspec.tmem_slice %z[%c0] : memref<128x128xf32, #warpspec.tmem> to memref<128x4xf32, #warpspec.tmem>
      %v = warpspec.tmem_load %part : memref<128x4xf32, #warpspec.tmem>
      %i = arith.index_cast %n : i32 to index
      vector.store %v, %d[%i] : memref<?xf32, 1>, vector<4xf32>
      warpspec.release %drain
    }
  }
}
