// D[M, N] = A[M, K] * B[N, K]^T in NVFP4, f32 out, by pairs of blocks: tiles of
// 256x128x256, of which each block loads half of A and half of B. The columns of
// scales are a pipeline of the tensor core with itself: a copy waits until the
// multiplications that read the columns before have finished.
!a = memref<128x128xi8, #warpspec.smem<128>>
!b = memref<64x128xi8, #warpspec.smem<128>>
!s = memref<4x512xi8, #warpspec.smem>
!acc = memref<128x128xf32, #warpspec.tmem>
!cols = memref<128x16xi32, #warpspec.tmem>
!in = !warpspec.pipeline<4 x (!a, !b, !s, !s), tma to tensor_core>
!out = !warpspec.pipeline<2 x (!acc), tensor_core to threads>
!columns = !warpspec.pipeline<2 x (!cols, !cols), tensor_core to tensor_core>
!operand = !warpspec.tensor_map<128x128xi8, swizzle = 128>
!half = !warpspec.tensor_map<64x128xi8, swizzle = 128>
!scales = !warpspec.tensor_map<1x4x256xi16>

gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx88", O = 3>] {
  warpspec.kernel @pair(%ma: !operand, %mb: !half, %msa: !scales, %msb: !scales,
                        %d: memref<?xf32, 1>, %m_tiles: i32, %n_tiles: i32, %k_tiles: i32) {
    %a = warpspec.smem_alloc : memref<4x128x128xi8, #warpspec.smem<128>>
    %b = warpspec.smem_alloc : memref<4x64x128xi8, #warpspec.smem<128>>
    %sa = warpspec.smem_alloc : memref<4x4x512xi8, #warpspec.smem>
    %sb = warpspec.smem_alloc : memref<4x4x512xi8, #warpspec.smem>
    %acc = warpspec.tmem_alloc : memref<2x128x128xf32, #warpspec.tmem>
    %ta = warpspec.tmem_alloc : memref<2x128x16xi32, #warpspec.tmem>
    %tb = warpspec.tmem_alloc : memref<2x128x16xi32, #warpspec.tmem>
    %in = warpspec.pipeline(%a, %b, %sa, %sb) tma to tensor_core
        : memref<4x128x128xi8, #warpspec.smem<128>>, memref<4x64x128xi8, #warpspec.smem<128>>,
          memref<4x4x512xi8, #warpspec.smem>, memref<4x4x512xi8, #warpspec.smem>
    %columns = warpspec.pipeline(%ta, %tb) tensor_core to tensor_core
        : memref<2x128x16xi32, #warpspec.tmem>, memref<2x128x16xi32, #warpspec.tmem>
    %out = warpspec.pipeline(%acc) tensor_core to threads : memref<2x128x128xf32, #warpspec.tmem>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c4 = arith.constant 4 : i32
    %c128 = arith.constant 128 : i32
    %c2 = arith.constant 2 : i32
    %c64 = arith.constant 64 : i32
    %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
    warpspec.roles
    role @load warps(1) {
      warpspec.for_each_tile m_fastest of %c1 extents(%g) {
        warpspec.yield %m_tiles, %n_tiles : i32, i32
      } do(%g, %m, %n) {
        %twice = arith.muli %m, %c2 : i32
        %block = arith.addi %twice, %rank : i32
        %row = arith.muli %block, %c128 : i32
        %start = arith.muli %n, %c128 : i32
        %offset = arith.muli %rank, %c64 : i32
        %column = arith.addi %start, %offset : i32
        scf.for %k = %c0 to %k_tiles step %c1 : i32 {
          %fill, %s:4 = warpspec.acquire %in : !in
          %byte = arith.muli %k, %c128 : i32
          %atom = arith.muli %k, %c4 : i32
          warpspec.tma_load %ma[%row, %byte] to %s#0 fills(%fill) : !operand to !a
          warpspec.tma_load %mb[%column, %byte] to %s#1 fills(%fill) cache evict_last : !half to !b
          warpspec.tma_load %msa[%block, %atom, %c0] to %s#2 fills(%fill) : !scales to !s
          warpspec.tma_load %msb[%n, %atom, %c0] to %s#3 fills(%fill) : !scales to !s
          warpspec.commit %fill
        }
      }
    }
    role @mma warps(1) {
      warpspec.for_each_tile m_fastest of %c1 extents(%g) {
        warpspec.yield %m_tiles, %n_tiles : i32, i32
      } do(%g, %m, %n) {
        %full, %d0 = warpspec.acquire %out : !out
        scf.for %k = %c0 to %k_tiles step %c1 : i32 {
          %drain, %s:4 = warpspec.wait %in : !in
          %copied, %t:2 = warpspec.acquire %columns : !columns
          warpspec.copy_scales %s#2 to %t#0 : !s to !cols
          warpspec.copy_scales %s#3 to %t#1 : !s to !cols
          warpspec.commit %copied
          %read, %u:2 = warpspec.wait %columns : !columns
          %more = arith.cmpi ne, %k, %c0 : i32
          warpspec.mma_scaled <mxf4nvf4> %d0 += %s#0 scaled_by %u#0, %s#1 scaled_by %u#1
              accumulate(%more) : !acc, !a, !cols, !b, !cols
          warpspec.release %read
          warpspec.release %drain
        }
        warpspec.commit %full
      }
    }
    role @store warps(4) {
      %thread = warpspec.thread_index : i32
      %width = arith.muli %n_tiles, %c128 : i32
      %c32 = arith.constant 32 : i32
      warpspec.for_each_tile m_fastest of %c1 extents(%g) {
        warpspec.yield %m_tiles, %n_tiles : i32, i32
      } do(%g, %m, %n) {
        %twice = arith.muli %m, %c2 : i32
        %block = arith.addi %twice, %rank : i32
        %row0 = arith.muli %block, %c128 : i32
        %row = arith.addi %row0, %thread : i32
        %column = arith.muli %n, %c128 : i32
        %start = arith.muli %row, %width : i32
        %first = arith.addi %start, %column : i32
        %drain, %s = warpspec.wait %out : !out
        scf.for %c = %c0 to %c128 step %c32 : i32 {
          %part = warpspec.tmem_slice %s[%c] : !acc to memref<128x32xf32, #warpspec.tmem>
          %v = warpspec.tmem_load %part : memref<128x32xf32, #warpspec.tmem>
          %at = arith.addi %first, %c : i32
          %i = arith.index_castui %at : i32 to index
          vector.store %v, %d[%i] {alignment = 16 : i64} : memref<?xf32, 1>, vector<32xf32>
        }
        warpspec.release %drain
      }
    }
  } cluster(2) pair
}
