// RUN: nvfp4-opt %s --convert-gsg-to-gpu --cse | FileCheck %s

// A table says where groups lie. A block has 32 columns of a group; a thread loads vectors of eight of four rows before it
// adds them. Eight threads of a warp share a column: three shuffles of each half of an f64 for each of the eight columns.

!x = memref<?x64xbf16, #gpu.address_space<global>>
!ends = memref<4xi32, #gpu.address_space<global>>
!o = memref<4x64xf32, #gpu.address_space<global>>

// CHECK-LABEL: func @f
// CHECK:       gpu.launch {{.*}}function(@nvfp4_sum_rows)
// CHECK:       gpu.launch {{.*}}function(@nvfp4_sum_rows)
// CHECK-SAME:    workgroup(%{{.*}} : memref<128xf64, #gpu.address_space<workgroup>>)
// CHECK:         scf.while
// CHECK-COUNT-4:   llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<8xi16>
// CHECK:         scf.while
// CHECK-COUNT-1:   llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<8xi16>
// CHECK-COUNT-48: gpu.shuffle xor
// CHECK-NOT:     gpu.shuffle
// CHECK:         gpu.barrier
// CHECK:         arith.truncf %{{.*}} : f64 to f32
func.func @f(%x: !x, %ends: !ends, %o: !o) {
  grouped_scaled_gemm.sum_rows(%x : !x) groups(%ends : !ends) as <ragged_rows, ends> outs(%o : !o)
  return
}
