// RUN: nvfp4-opt %s --convert-gsg-to-gpu --cse | FileCheck %s

// One launch clears the results; warps of the other meet in an atomic maximum of bits. A vector of a row has 16 bytes. A
// transform along rows has sixteen rows of two columns, and those of a last run that is not whole one by one.

!x = memref<4x?x64xbf16, #gpu.address_space<global>>
!o = memref<4xf32, #gpu.address_space<global>>

// CHECK-LABEL: func @plain
// CHECK:       gpu.launch {{.*}}function(@nvfp4_amax)
// CHECK:         llvm.store
// CHECK:       gpu.launch {{.*}}function(@nvfp4_amax)
// CHECK:         scf.for {{.*}} -> (i32)
// CHECK-COUNT-1:   llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<8xi16>
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK-NOT:     gpu.shuffle
// CHECK:         llvm.atomicrmw max {{.*}} monotonic : !llvm.ptr, i32
func.func @plain(%x: !x, %o: !o) {
  grouped_scaled_gemm.amax(%x : !x) outs(%o : !o)
  return
}

// CHECK-LABEL: func @mixed
// CHECK:       gpu.launch {{.*}}function(@nvfp4_amax)
// CHECK:       gpu.launch {{.*}}function(@nvfp4_amax)
// CHECK:         scf.if
// CHECK-COUNT-16:  llvm.load {{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<2xi16>
// CHECK:         else
// CHECK-COUNT-16:  scf.if
// CHECK:         llvm.atomicrmw max
func.func @mixed(%x: !x, %o: !o) {
  grouped_scaled_gemm.amax(%x : !x) hadamard = <normalized> outs(%o : !o) {transposed}
  return
}
