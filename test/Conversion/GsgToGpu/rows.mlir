// A block of 128 threads has a piece of a row, and a thread 16 bytes of it.
//
// RUN: nvfp4-opt %s --convert-gsg-to-gpu --cse | FileCheck %s
// RUN: nvfp4-opt %s --convert-gsg-to-gpu --gpu-kernel-outlining | FileCheck %s --check-prefix=KERNELS

// Launches have one module, and kernels the names of their operations.
// KERNELS: gpu.module @nvfp4_kernels
// KERNELS-DAG: gpu.func @nvfp4_permute({{.*}}) kernel attributes {known_block_size = array<i32: 128, 1, 1>}
// KERNELS-DAG: gpu.func @nvfp4_combine(
// KERNELS-DAG: gpu.func @nvfp4_glu(
// KERNELS-DAG: gpu.func @nvfp4_hadamard(
// KERNELS-DAG: gpu.func @nvfp4_permute_0(

!x = memref<64x2880xbf16, #gpu.address_space<global>>
!t = memref<256xi32, #gpu.address_space<global>>
!p = memref<256x2880xbf16, #gpu.address_space<global>>

// CHECK-LABEL: func.func @permute
// CHECK-SAME: (%[[X:.*]]: memref<64x2880xbf16, {{.*}}>, %[[T:.*]]: memref<256xi32, {{.*}}>, %[[P:.*]]: memref
// CHECK-DAG: %[[ROWS:.*]] = arith.constant 256 : index
// CHECK-DAG: %[[PIECES:.*]] = arith.ceildivui %c2880, %c1024
// CHECK: gpu.launch blocks(%[[ROW:.*]], %{{.*}}, %{{.*}}) in (%{{.*}} = %[[ROWS]], %{{.*}} = %[[PIECES]],
// CHECK-SAME: threads({{.*}}) in (%{{.*}} = %c128,
// CHECK: memref.load %[[T]][%[[ROW]]]
// CHECK: vector.load {{.*}} {alignment = 16 : i64} : memref<64x2880xbf16>, vector<8xbf16>
// CHECK: vector.store {{.*}} {alignment = 16 : i64} : memref<256x2880xbf16>, vector<8xbf16>
func.func @permute(%x: !x, %t: !t, %p: !p) {
  grouped_scaled_gemm.permute(%x : !x) by(%t : !t) outs(%p : !p)
  return
}

!y = memref<256x36xf32, #gpu.address_space<global>>
!r = memref<64x4xi32, #gpu.address_space<global>>
!w = memref<64x4xf32, #gpu.address_space<global>>
!o = memref<64x36xbf16, #gpu.address_space<global>>

// The wider elements decide: four f32, though 16 bytes hold eight bf16.
// CHECK-LABEL: func.func @combine
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<4xf32>)
// CHECK: llvm.intr.fma
// CHECK: arith.truncf {{.*}} : vector<4xf32> to vector<4xbf16>
// CHECK: vector.store {{.*}} {alignment = 8 : i64}
func.func @combine(%y: !y, %r: !r, %w: !w, %o: !o) {
  grouped_scaled_gemm.combine(%y : !y) by(%r : !r) weights(%w : !w) outs(%o : !o)
  return
}

!z = memref<2x3x128xbf16, #gpu.address_space<global>>
!h = memref<2x3x64xbf16, #gpu.address_space<global>>

// Vectors do not cross runs, here of four columns; all but the last dimension
// count rows.
// CHECK-LABEL: func.func @glu
// CHECK: memref.collapse_shape {{.*}} {{\[\[}}0, 1], [2]]
// CHECK: vector.load {{.*}} vector<4xbf16>
// CHECK: vector.load {{.*}} vector<4xbf16>
func.func @glu(%z: !z, %h: !h) {
  grouped_scaled_gemm.glu <swiglu, gate = <4, gate_first>>(%z : !z) outs(%h : !h)
  return
}

!c = memref<?x?xf32, #gpu.address_space<global>>

// An unknown number of columns, of which the verifier knows that there are
// whole transforms.
// CHECK-LABEL: func.func @hadamard
// CHECK-NOT: vector.load
// CHECK: gpu.launch
func.func @hadamard(%x: !c, %y: !c) {
  grouped_scaled_gemm.hadamard %x outs(%y) : !c, !c
  return
}

!s = memref<64x2880xbf16, strided<[4096, 1]>, #gpu.address_space<global>>

// Rows with gaps need not start at whole vectors.
// CHECK-LABEL: func.func @gaps
// CHECK: gpu.launch
// CHECK-NOT: vector.load
// CHECK: memref.store
func.func @gaps(%x: !s, %t: !t, %p: !p) {
  grouped_scaled_gemm.permute(%x : !s) by(%t : !t) outs(%p : !p)
  return
}

// CHECK-LABEL: func.func @host
// CHECK: grouped_scaled_gemm.permute
func.func @host(%x: memref<4x8xf32>, %t: memref<2xi32>, %p: memref<2x8xf32>) {
  grouped_scaled_gemm.permute(%x : memref<4x8xf32>) by(%t : memref<2xi32>) outs(%p : memref<2x8xf32>)
  return
}
