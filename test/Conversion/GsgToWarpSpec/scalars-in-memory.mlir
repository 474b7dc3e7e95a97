// RUN: nvfp4-opt %s --gsg-insert-transfers=memory=device | FileCheck %s

// Scalars of operations in memory of the device: the element that they are, if
// it is the same until the operation ends, else the work of a thread.

!s = memref<1xf32, #gpu.address_space<global>>
!x = memref<?x64xbf16, #gpu.address_space<global>>
!v = memref<?x32xi8, #gpu.address_space<global>>
!t = memref<?x4xf8E4M3FN, #gpu.address_space<global>>
!q = !grouped_scaled_gemm.scaled<?x64, nvfp4>

// CHECK-LABEL: func @unchanged
// CHECK:       %[[ELEMENT:.*]] = memref.collapse_shape %arg0 []
// CHECK:       grouped_scaled_gemm.quantize {{.*}}global_scale(%[[ELEMENT]]
func.func @unchanged(%s: !s, %x: !x, %v: !v, %t: !t, %other: !s) {
  %c0 = arith.constant 0 : index
  %e = memref.load %s[%c0] : !s
  grouped_scaled_gemm.quantize <trtllm>(%x : !x) global_scale(%e : f32)
      outs(%v scaled_by %t : !v, !t as !q)
  gpu.memcpy %s, %other : !s, !s
  return
}

// CHECK-LABEL: func @changed
// CHECK-NOT:   memref.collapse_shape
// CHECK:       gpu.memcpy %arg0
// CHECK:       %[[COPY:.*]] = gpu.alloc () : memref<f32, #gpu.address_space<global>>
// CHECK:       gpu.launch
// CHECK:         memref.store %{{.*}}, %[[COPY]][]
// CHECK:       grouped_scaled_gemm.quantize {{.*}}global_scale(%[[COPY]]
// CHECK:       gpu.dealloc %[[COPY]]
func.func @changed(%s: !s, %x: !x, %v: !v, %t: !t, %other: !s) {
  %c0 = arith.constant 0 : index
  %e = memref.load %s[%c0] : !s
  gpu.memcpy %s, %other : !s, !s
  grouped_scaled_gemm.quantize <trtllm>(%x : !x) global_scale(%e : f32)
      outs(%v scaled_by %t : !v, !t as !q)
  return
}
