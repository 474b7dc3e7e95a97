// A cluster of two CTAs: each copies its half of a matrix to shared memory by
// TMA with the 128-byte swizzle, and stores what lies there.
//
// UNSUPPORTED: asan
// RUN: mlir-opt %s --convert-nvgpu-to-nvvm --gpu-kernel-outlining \
// RUN:   --convert-nvvm-to-llvm \
// RUN:   --gpu-lower-to-nvvm-pipeline="cubin-chip=sm_90a cubin-features=+ptx80 \
// RUN:     cubin-format=isa" -o %t.mlir
// RUN: mlir-translate --mlir-to-llvmir %t.mlir \
// RUN: | FileCheck %s --check-prefix=HOST
// RUN: env NVFP4_DEVICE=sim NVFP4_SIM_OPTIONS="--arch sm_90a --check" \
// RUN:   mlir-runner %t.mlir --entry-point-result=void \
// RUN:     --shared-libs=%nvfp4_lib/libnvfp4_runtime.so \
// RUN:     --shared-libs=%llvmlib/libmlir_runner_utils.so \
// RUN: | FileCheck %s

// HOST-DAG: mgpuTensorMapEncodeTiledMemref
// HOST-DAG: mgpuLaunchClusterKernel

!tile = memref<8x32xf32, 3>
!map = !nvgpu.tensormap.descriptor<tensor = !tile, swizzle = swizzle_128b,
    l2promo = none, oob = zero, interleave = none>
!barriers = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

memref.global "private" @tile : !tile {alignment = 1024 : i64}

func.func private @printMemrefF32(memref<*xf32>)

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %bytes = arith.constant 1024 : index
  %patience = arith.constant 10000000 : index

  // Element (i, j) is 100 i + j.
  %in = memref.alloc() : memref<16x32xf32>
  %out = memref.alloc() : memref<16x32xf32>
  scf.for %i = %c0 to %c16 step %c1 {
    scf.for %j = %c0 to %c32 step %c1 {
      %hundred = arith.constant 100 : index
      %row = arith.muli %i, %hundred : index
      %sum = arith.addi %row, %j : index
      %n = arith.index_cast %sum : index to i32
      %x = arith.sitofp %n : i32 to f32
      memref.store %x, %in[%i, %j] : memref<16x32xf32>
    }
  }
  %t0 = gpu.wait async
  %a, %t1 = gpu.alloc async [%t0] () : memref<16x32xf32>
  %b, %t2 = gpu.alloc async [%t1] () : memref<16x32xf32>
  %t3 = gpu.memcpy async [%t2] %a, %in : memref<16x32xf32>, memref<16x32xf32>
  gpu.wait [%t3]
  %any = memref.cast %a : memref<16x32xf32> to memref<*xf32>
  %map = nvgpu.tma.create.descriptor %any box[%c8, %c32]
      : memref<*xf32> -> !map

  gpu.launch clusters(%cx, %cy, %cz) in (%kx = %c2, %ky = %c1, %kz = %c1)
             blocks(%bx, %by, %bz) in (%gx = %c2, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %tile = memref.get_global @tile : !tile
    %group = nvgpu.mbarrier.create -> !barriers
    %leader = arith.cmpi eq, %tx, %c0 : index
    nvgpu.mbarrier.init %group[%c0], %c1, predicate = %leader : !barriers
    gpu.barrier
    %rank = gpu.cluster_block_id x
    %first = arith.muli %rank, %c8 : index
    scf.if %leader {
      nvgpu.mbarrier.arrive.expect_tx %group[%c0], %bytes : !barriers
      nvgpu.tma.async.load %map[%c0, %first], %group[%c0] to %tile
          : !map, !barriers -> !tile
    }
    %phase = arith.constant false
    nvgpu.mbarrier.try_wait.parity %group[%c0], %phase, %patience : !barriers
    scf.for %i = %c0 to %c8 step %c1 {
      %x = memref.load %tile[%i, %tx] : !tile
      %row = arith.addi %first, %i : index
      memref.store %x, %b[%row, %tx] : memref<16x32xf32>
    }
    gpu.terminator
  }

  %t4 = gpu.wait async
  %t5 = gpu.memcpy async [%t4] %out, %b : memref<16x32xf32>, memref<16x32xf32>
  gpu.wait [%t5]
  %result = memref.cast %out : memref<16x32xf32> to memref<*xf32>
  // Chunk c of 16 bytes of row r lies at chunk c ^ r of its tile.
  // CHECK:      {{\[\[}}0,  1,  2,  3,  4,  5,
  // CHECK-NEXT: [104,  105,  106,  107,  100,  101,  102,  103,  112,
  // CHECK-NEXT: [208,  209,  210,  211,  212,  213,  214,  215,  200,
  // CHECK:      [728,  729,  730,  731,  724,
  // CHECK-NEXT: [800,  801,
  // CHECK-NEXT: [904,  905,
  call @printMemrefF32(%result) : (memref<*xf32>) -> ()
  return
}
