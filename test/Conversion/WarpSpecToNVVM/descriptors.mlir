// Instruction descriptors, operand descriptors and scale columns of each kind,
// against values that CuTe makes.
// RUN: warpspec-opt %s --pass-pipeline='builtin.module(gpu.module(convert-warpspec-to-nvvm,canonicalize,cse))' | FileCheck %s

!a = memref<128x128xi8, #warpspec.smem<128>>
!f8 = memref<128x128xf8E4M3FN, #warpspec.smem<128>>
!b = memref<64x128xi8, #warpspec.smem<128>>
!b256 = memref<256x128xi8, #warpspec.smem<128>>
gpu.module @m [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  // 0x08200480 four times; columns 4 apart; 32 bytes (2 units) apart.
  // CHECK-LABEL: llvm.func @nvfp4
  // CHECK-DAG: %[[I:.*]] = arith.constant 136316032 : i32
  // CHECK-DAG: arith.constant 4611756662049472512 : i64
  // CHECK-DAG: arith.constant 2 : i64
  // CHECK-DAG: arith.constant 4 : i64
  // CHECK-DAG: arith.constant 6 : i64
  // CHECK-COUNT-4: nvvm.tcgen05.mma.block_scale {{.*}}%[[I]], {{.*}}blockScale = #nvvm.tcgen05_mma_block_scale<block16>, {{.*}}<mxf4nvf4>}
  // CHECK-NOT: nvvm.tcgen05.mma
  warpspec.kernel @nvfp4() {
    %a = warpspec.smem_alloc at(0) : !a
    %acc = warpspec.tmem_alloc at(0) : memref<128x128xf32, #warpspec.tmem>
    %s = warpspec.tmem_alloc at(128) : memref<128x16xi32, #warpspec.tmem>
    warpspec.mma_scaled <mxf4nvf4> %acc += %a scaled_by %s, %a scaled_by %s
        : memref<128x128xf32, #warpspec.tmem>, !a, memref<128x16xi32, #warpspec.tmem>, !a, memref<128x16xi32, #warpspec.tmem>
  } shared_bytes(32768) tmem_columns(256) threads(32)

  // N = 64: 0x08100480; N = 256: 0x08400480, whose scale columns are 8 apart.
  // CHECK-LABEL: llvm.func @nvfp4_n
  // CHECK-DAG: arith.constant 135267456 : i32
  // CHECK-DAG: arith.constant 138413184 : i32
  // CHECK-COUNT-8: nvvm.tcgen05.mma.block_scale
  warpspec.kernel @nvfp4_n() {
    %a = warpspec.smem_alloc at(0) : !a
    %b = warpspec.smem_alloc at(16384) : !b
    %c = warpspec.smem_alloc at(32768) : !b256
    %acc = warpspec.tmem_alloc at(0) : memref<128x64xf32, #warpspec.tmem>
    %acc2 = warpspec.tmem_alloc at(64) : memref<128x256xf32, #warpspec.tmem>
    %s = warpspec.tmem_alloc at(320) : memref<128x32xi32, #warpspec.tmem>
    warpspec.mma_scaled <mxf4nvf4> %acc += %a scaled_by %s, %b scaled_by %s
        : memref<128x64xf32, #warpspec.tmem>, !a, memref<128x32xi32, #warpspec.tmem>, !b, memref<128x32xi32, #warpspec.tmem>
    warpspec.mma_scaled <mxf4nvf4> %acc2 += %a scaled_by %s, %c scaled_by %s
        : memref<128x256xf32, #warpspec.tmem>, !a, memref<128x32xi32, #warpspec.tmem>, !b256, memref<128x32xi32, #warpspec.tmem>
  } shared_bytes(65536) tmem_columns(512) threads(32)

  // Ids 0 and 2: 0x08a00480, 0x48a004a0.
  // CHECK-LABEL: llvm.func @mxfp4
  // CHECK-DAG: %[[I0:.*]] = arith.constant 144704640 : i32
  // CHECK-DAG: %[[I2:.*]] = arith.constant 1218446496 : i32
  // CHECK: nvvm.tcgen05.mma.block_scale {{.*}}%[[I0]], {{.*}}<mxf4>}
  // CHECK: nvvm.tcgen05.mma.block_scale {{.*}}%[[I2]], {{.*}}<mxf4>}
  // CHECK: nvvm.tcgen05.mma.block_scale {{.*}}%[[I0]], {{.*}}<mxf4>}
  // CHECK: nvvm.tcgen05.mma.block_scale {{.*}}%[[I2]], {{.*}}<mxf4>}
  warpspec.kernel @mxfp4() {
    %a = warpspec.smem_alloc at(0) : !a
    %acc = warpspec.tmem_alloc at(0) : memref<128x128xf32, #warpspec.tmem>
    %s = warpspec.tmem_alloc at(128) : memref<128x8xi32, #warpspec.tmem>
    warpspec.mma_scaled <mxf4> %acc += %a scaled_by %s, %a scaled_by %s
        : memref<128x128xf32, #warpspec.tmem>, !a, memref<128x8xi32, #warpspec.tmem>, !a, memref<128x8xi32, #warpspec.tmem>
  } shared_bytes(32768) tmem_columns(256) threads(32)

  // Ids 0 to 3: 0x08a00000 ... 0x68a00030.
  // CHECK-LABEL: llvm.func @mxfp8
  // CHECK-DAG: arith.constant 144703488 : i32
  // CHECK-DAG: arith.constant 1755316272 : i32
  // CHECK-COUNT-4: nvvm.tcgen05.mma.block_scale {{.*}}<mxf8f6f4>}
  warpspec.kernel @mxfp8() {
    %a = warpspec.smem_alloc at(0) : !f8
    %acc = warpspec.tmem_alloc at(0) : memref<128x128xf32, #warpspec.tmem>
    %s = warpspec.tmem_alloc at(128) : memref<128x4xi32, #warpspec.tmem>
    warpspec.mma_scaled <mxf8f6f4> %acc += %a scaled_by %s, %a scaled_by %s
        : memref<128x128xf32, #warpspec.tmem>, !f8, memref<128x4xi32, #warpspec.tmem>, !f8, memref<128x4xi32, #warpspec.tmem>
  } shared_bytes(32768) tmem_columns(256) threads(32)

  // Atoms 512 bytes (32 units) and 4 columns apart; rows of 16 bytes unswizzled.
  // CHECK-LABEL: llvm.func @scales
  // CHECK-DAG: arith.constant 70403103916032 : i64
  // CHECK-DAG: arith.constant 32 : i64
  // CHECK-COUNT-2: nvvm.tcgen05.cp {{.*}}multicast = #nvvm.tcgen05_cp_multicast<warpx4>, shape = #nvvm.tcgen05_cp_shape<shape_32x128b>
  warpspec.kernel @scales() {
    %a = warpspec.smem_alloc at(0) : memref<2x512xi8, #warpspec.smem>
    %s = warpspec.tmem_alloc at(0) : memref<128x8xi32, #warpspec.tmem>
    warpspec.copy_scales %a to %s : memref<2x512xi8, #warpspec.smem> to memref<128x8xi32, #warpspec.tmem>
  } shared_bytes(32768) tmem_columns(32) threads(32)

  // From a row on: descriptors count in its 16 bytes. The last atom is only read.
  // CHECK-LABEL: llvm.func @row
  // CHECK: %[[ROW:.*]] = arith.extui %arg0 : i32 to i64
  // CHECK: arith.addi %{{.*}}, %[[ROW]] : i64
  // CHECK: nvvm.tcgen05.cp
  // CHECK-NOT: nvvm.tcgen05.cp
  warpspec.kernel @row(%r: i32) {
    %a = warpspec.smem_alloc at(0) : memref<2x512xi8, #warpspec.smem>
    %s = warpspec.tmem_alloc at(0) : memref<128x4xi32, #warpspec.tmem>
    warpspec.copy_scales %a to %s row(%r) : memref<2x512xi8, #warpspec.smem> to memref<128x4xi32, #warpspec.tmem>
  } shared_bytes(32768) tmem_columns(32) threads(32)

  // Without scales: 0x08200490, A 8 columns and B 2 units further each step; the
  // fifth step is in the next K block, of 16384 bytes.
  // CHECK-LABEL: llvm.func @bf16
  // CHECK-DAG: %[[I:.*]] = arith.constant 136316048 : i32
  // CHECK-DAG: arith.constant 136 : i32
  // CHECK-DAG: arith.constant 1024 : i64
  // CHECK-COUNT-8: nvvm.tcgen05.mma {{.*}}, {{.*}}, {{.*}}, %[[I]], {{.*}}kind = #nvvm.tcgen05_mma_kind<f16>{{.*}} : (!llvm.ptr<6>, !llvm.ptr<6>, i64, i32, i1)
  // CHECK-NOT: nvvm.tcgen05.mma
  warpspec.kernel @bf16() {
    %b = warpspec.smem_alloc at(0) : memref<2x128x64xbf16, #warpspec.smem<128>>
    %acc = warpspec.tmem_alloc at(0) : memref<128x128xf32, #warpspec.tmem>
    %a = warpspec.tmem_alloc at(128) : memref<128x64xi32, #warpspec.tmem>
    warpspec.mma %acc += %a, %b
        : memref<128x128xf32, #warpspec.tmem>, memref<128x64xi32, #warpspec.tmem>, memref<2x128x64xbf16, #warpspec.smem<128>>
  } shared_bytes(32768) tmem_columns(256) threads(32)

  // N = 16 of f16: 0x08040010.
  // CHECK-LABEL: llvm.func @f16
  // CHECK: arith.constant 134479888 : i32
  // CHECK-COUNT-2: nvvm.tcgen05.mma {{.*}}<f16>
  // CHECK-NOT: nvvm.tcgen05.mma
  warpspec.kernel @f16() {
    %b = warpspec.smem_alloc at(0) : memref<16x32xf16, #warpspec.smem<64>>
    %acc = warpspec.tmem_alloc at(0) : memref<128x16xf32, #warpspec.tmem>
    %a = warpspec.tmem_alloc at(16) : memref<128x16xi32, #warpspec.tmem>
    warpspec.mma %acc += %a, %b
        : memref<128x16xf32, #warpspec.tmem>, memref<128x16xi32, #warpspec.tmem>, memref<16x32xf16, #warpspec.smem<64>>
  } shared_bytes(1024) tmem_columns(32) threads(32)
}
