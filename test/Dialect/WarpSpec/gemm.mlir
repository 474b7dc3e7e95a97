// A whole GEMM kernel survives the round trip, in both forms.
// RUN: warpspec-opt %s --verify-roundtrip | FileCheck %s
// RUN: warpspec-opt %s --mlir-print-op-generic | warpspec-opt | FileCheck %s

!in = !warpspec.pipeline<4 x (memref<128x128xi8, #warpspec.smem<128>>, memref<128x128xi8, #warpspec.smem<128>>, memref<4x512xi8, #warpspec.smem>, memref<4x512xi8, #warpspec.smem>), tma to tensor_core>
!out = !warpspec.pipeline<2 x (memref<128x128xf32, #warpspec.tmem>), tensor_core to threads>
!operand = !warpspec.tensor_map<128x128xi8, swizzle = 128>
!scales = !warpspec.tensor_map<1x4x256xi16>

// CHECK-LABEL: warpspec.kernel @gemm(%{{.*}}: !warpspec.tensor_map<128x128xi8, swizzle = 128>,
warpspec.kernel @gemm(%ma: !operand, %mb: !operand, %msa: !scales, %msb: !scales,
                      %d: memref<?x1024xf32, 1>, %tiles: i32, %steps: i32) {
  %a = warpspec.smem_alloc : memref<4x128x128xi8, #warpspec.smem<128>>
  %b = warpspec.smem_alloc : memref<4x128x128xi8, #warpspec.smem<128>>
  %sa = warpspec.smem_alloc : memref<4x4x512xi8, #warpspec.smem>
  %sb = warpspec.smem_alloc : memref<4x4x512xi8, #warpspec.smem>
  %acc = warpspec.tmem_alloc : memref<2x128x128xf32, #warpspec.tmem>
  %ta = warpspec.tmem_alloc : memref<128x16xi32, #warpspec.tmem>
  %tb = warpspec.tmem_alloc : memref<128x16xi32, #warpspec.tmem>
  // CHECK: %[[IN:.*]] = warpspec.pipeline(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) tma to tensor_core : memref<4x128x128xi8, #warpspec.smem<128>>
  %in = warpspec.pipeline(%a, %b, %sa, %sb) tma to tensor_core
      : memref<4x128x128xi8, #warpspec.smem<128>>, memref<4x128x128xi8, #warpspec.smem<128>>,
        memref<4x4x512xi8, #warpspec.smem>, memref<4x4x512xi8, #warpspec.smem>
  // CHECK: %[[OUT:.*]] = warpspec.pipeline(%{{.*}}) tensor_core to threads
  %out = warpspec.pipeline(%acc) tensor_core to threads : memref<2x128x128xf32, #warpspec.tmem>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // CHECK: warpspec.roles
  warpspec.roles
  // CHECK-NEXT: role @load warps(1) registers(40) {
  role @load warps(1) registers(40) {
    // CHECK: warpspec.for_each_tile m_fastest of
    // CHECK-NEXT: extents(%{{.*}}) {
    warpspec.for_each_tile m_fastest of %c1 extents(%g) {
      warpspec.yield %tiles, %tiles : i32, i32
    // CHECK: } do(%{{.*}}, %{{.*}}, %{{.*}}) {
    } do(%g, %m, %n) {
      %c128 = arith.constant 128 : i32
      %row = arith.muli %m, %c128 : i32
      %column = arith.muli %n, %c128 : i32
      scf.for %k = %c0 to %steps step %c1 : i32 {
        // CHECK: %[[FILL:.*]], %{{.*}}:4 = warpspec.acquire %[[IN]] : !pipeline
        %fill, %s:4 = warpspec.acquire %in : !in
        %byte = arith.muli %k, %c128 : i32
        // CHECK: warpspec.tma_load %{{.*}}[%{{.*}}, %{{.*}}] to %{{.*}} fills(%[[FILL]])
        warpspec.tma_load %ma[%row, %byte] to %s#0 fills(%fill) : !operand to memref<128x128xi8, #warpspec.smem<128>>
        warpspec.tma_load %mb[%column, %byte] to %s#1 fills(%fill) : !operand to memref<128x128xi8, #warpspec.smem<128>>
        warpspec.tma_load %msa[%m, %k, %c0] to %s#2 fills(%fill) : !scales to memref<4x512xi8, #warpspec.smem>
        warpspec.tma_load %msb[%n, %k, %c0] to %s#3 fills(%fill) : !scales to memref<4x512xi8, #warpspec.smem>
        // CHECK: warpspec.commit %[[FILL]]
        warpspec.commit %fill
      }
    }
  }
  // CHECK: role @mma warps(1) {
  role @mma warps(1) {
    warpspec.for_each_tile m_fastest of %c1 extents(%g) {
      warpspec.yield %tiles, %tiles : i32, i32
    } do(%g, %m, %n) {
      %full, %d0 = warpspec.acquire %out : !out
      scf.for %k = %c0 to %steps step %c1 : i32 {
        // CHECK: %[[DRAIN:.*]], %{{.*}}:4 = warpspec.wait %[[IN]] : !pipeline
        %drain, %s:4 = warpspec.wait %in : !in
        // CHECK: warpspec.copy_scales
        warpspec.copy_scales %s#2 to %ta : memref<4x512xi8, #warpspec.smem> to memref<128x16xi32, #warpspec.tmem>
        warpspec.copy_scales %s#3 to %tb : memref<4x512xi8, #warpspec.smem> to memref<128x16xi32, #warpspec.tmem>
        %more = arith.cmpi ne, %k, %c0 : i32
        // CHECK: warpspec.mma_scaled <mxf4nvf4> %{{.*}} +{{ ?}}= %{{.*}} scaled_by %{{.*}}, %{{.*}} scaled_by %{{.*}} accumulate(%{{.*}}) :
        warpspec.mma_scaled <mxf4nvf4> %d0 += %s#0 scaled_by %ta, %s#1 scaled_by %tb accumulate(%more)
            : memref<128x128xf32, #warpspec.tmem>, memref<128x128xi8, #warpspec.smem<128>>, memref<128x16xi32, #warpspec.tmem>,
              memref<128x128xi8, #warpspec.smem<128>>, memref<128x16xi32, #warpspec.tmem>
        // CHECK: warpspec.release %[[DRAIN]]
        warpspec.release %drain
      }
      warpspec.commit %full
    }
  }
  role @store warps(4) registers(200) {
    %row = warpspec.thread_index : i32
    %sum = warpspec.for_each_tile m_fastest of %c1 iter_args(%count = %c0) -> (i32) extents(%g) {
      warpspec.yield %tiles, %tiles : i32, i32
    } do(%g, %m, %n) {
      %drain, %s = warpspec.wait %out : !out
      // CHECK: warpspec.tmem_slice %{{.*}}[%{{.*}}] : memref<128x128xf32, #warpspec.tmem> to memref<128x32xf32, #warpspec.tmem>
      %part = warpspec.tmem_slice %s[%c0] : memref<128x128xf32, #warpspec.tmem> to memref<128x32xf32, #warpspec.tmem>
      // CHECK: warpspec.tmem_load %{{.*}} : memref<128x32xf32, #warpspec.tmem>
      %v = warpspec.tmem_load %part : memref<128x32xf32, #warpspec.tmem>
      %i = arith.index_cast %row : i32 to index
      %z = arith.constant 0 : index
      vector.store %v, %d[%i, %z] : memref<?x1024xf32, 1>, vector<32xf32>
      warpspec.release %drain
      %next = arith.addi %count, %c1 : i32
      // CHECK: warpspec.yield %{{.*}} : i32
      warpspec.yield %next : i32
    }
  }
}
