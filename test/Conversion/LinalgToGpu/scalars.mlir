// RUN: nvfp4-opt %s --convert-linalg-to-gpu --cse | FileCheck %s

// Scalars in memory of the device, which kernels load: those of the load, also
// where the memory changes until the kernel ends.

!s = memref<1xf32, #gpu.address_space<global>>
!x = memref<64xf32, #gpu.address_space<global>>

// CHECK-LABEL: func @unchanged
// CHECK:       gpu.launch
// CHECK:         nvvm.griddepcontrol wait
// CHECK:         %[[V:.*]] = memref.load %arg0
// CHECK:         memref.store %[[V]], %arg1
// CHECK-NOT:   gpu.launch
func.func @unchanged(%s: !s, %x: !x, %other: !s) {
  %c0 = arith.constant 0 : index
  %v = memref.load %s[%c0] : !s
  linalg.fill ins(%v : f32) outs(%x : !x)
  gpu.memcpy %s, %other : !s, !s
  return
}

// CHECK-LABEL: func @changed
// CHECK:       %[[COPY:.*]] = gpu.alloc () : memref<f32, #gpu.address_space<global>>
// CHECK:       gpu.launch {{.*}}nvfp4_load
// CHECK:         nvvm.griddepcontrol wait
// CHECK:         %[[V:.*]] = memref.load %arg0
// CHECK:         memref.store %[[V]], %[[COPY]][]
// CHECK:       gpu.memcpy %arg0
// CHECK:       gpu.launch
// CHECK-NOT:     memref.load %arg0
// CHECK:         %[[SAVED:.*]] = memref.load %[[COPY]][]
// CHECK:         memref.store %[[SAVED]], %arg1
// CHECK:       gpu.dealloc %[[COPY]]
func.func @changed(%s: !s, %x: !x, %other: !s) {
  %c0 = arith.constant 0 : index
  %v = memref.load %s[%c0] : !s
  gpu.memcpy %s, %other : !s, !s
  linalg.fill ins(%v : f32) outs(%x : !x)
  return
}

// CHECK-LABEL: func @changed_by_another_name
// CHECK:       gpu.alloc
// CHECK:       memref.load %arg0
// CHECK-NOT:   memref.load %arg0
func.func @changed_by_another_name(%s: !s, %x: !x, %v: f32) {
  %c0 = arith.constant 0 : index
  %scalar = memref.collapse_shape %s [] : !s into memref<f32, #gpu.address_space<global>>
  %loaded = memref.load %s[%c0] : !s
  linalg.fill ins(%v : f32) outs(%scalar : memref<f32, #gpu.address_space<global>>)
  linalg.fill ins(%loaded : f32) outs(%x : !x)
  return
}

// Every thread reads the first element, and one changes it.
// CHECK-LABEL: func @changed_by_the_kernel
// CHECK:       gpu.alloc
// CHECK:       memref.load %arg0
// CHECK-NOT:   memref.load %arg0
func.func @changed_by_the_kernel(%x: !x) {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : !x
  linalg.fill ins(%v : f32) outs(%x : !x)
  return
}

// The second turn would load what the first has written.
// CHECK-LABEL: func @changed_by_a_turn_before
// CHECK:       %[[COPY:.*]] = gpu.alloc
// CHECK:       memref.load %arg0
// CHECK:       scf.for
// CHECK-NOT:     memref.load %arg0
// CHECK:         memref.load %[[COPY]][]
// CHECK-NOT:     gpu.dealloc
// CHECK:         gpu.memcpy
// CHECK:       }
// CHECK:       gpu.dealloc %[[COPY]]
func.func @changed_by_a_turn_before(%s: !s, %x: !x, %other: !s, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = memref.load %s[%c0] : !s
  scf.for %i = %c0 to %n step %c1 {
    linalg.fill ins(%v : f32) outs(%x : !x)
    gpu.memcpy %s, %other : !s, !s
  }
  return
}
