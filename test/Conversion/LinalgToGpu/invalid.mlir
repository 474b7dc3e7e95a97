// RUN: nvfp4-opt %s --convert-linalg-to-gpu --split-input-file --verify-diagnostics

// An element of what the operation writes, by another name: which threads have been there?
!y = memref<64xf32, #gpu.address_space<global>>
func.func @own_result(%x: !y, %i: index) {
  %part = memref.subview %x[0] [32] [1] : !y to memref<32xf32, strided<[1]>, #gpu.address_space<global>>
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      outs(%part : memref<32xf32, strided<[1]>, #gpu.address_space<global>>) {
  ^bb0(%out: f32):
    // expected-error @below {{'memref.load' op expected an operation that kernels have}}
    %v = memref.load %x[%i] : !y
    linalg.yield %v : f32
  }
  return
}

// -----

!x = memref<64xf32, #gpu.address_space<global>>
func.func @library(%x: !x) {
  linalg.map { math.cos } ins(%x : !x) outs(%x : !x)
  // expected-error @-1 {{'math.cos' op expected an operation that kernels have: operations of arith other than remf}}
  return
}
