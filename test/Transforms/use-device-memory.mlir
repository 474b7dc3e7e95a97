// Functions on device memory: every memref is the device's, results are memory
// of the caller.
// RUN: nvfp4-opt %s --nvfp4-use-device-memory -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @allocated(
// CHECK-SAME: %[[X:.*]]: memref<?xf32, #gpu.address_space<global>>, %[[N:.*]]: index) -> (memref<?xf32, #gpu.address_space<global>>, memref<4xi8, #gpu.address_space<global>>)
func.func @allocated(%x: memref<?xf32>, %n: index) -> (memref<?xf32>, memref<4xi8>) {
  // CHECK: %[[Y:.*]] = warpspec.result 0(%[[N]]) : memref<?xf32, #gpu.address_space<global>>
  %y = memref.alloc(%n) : memref<?xf32>
  // CHECK: %[[T:.*]] = gpu.alloc (%[[N]])
  %t = memref.alloc(%n) : memref<?xf32>
  // CHECK: gpu.memcpy %[[T]], %[[X]]
  memref.copy %x, %t : memref<?xf32> to memref<?xf32>
  // CHECK: gpu.memcpy %[[Y]], %[[T]]
  memref.copy %t, %y : memref<?xf32> to memref<?xf32>
  // CHECK: gpu.dealloc %[[T]]
  memref.dealloc %t : memref<?xf32>
  // CHECK: %[[Z:.*]] = warpspec.result 1()
  %z = memref.alloc() : memref<4xi8>
  // CHECK: gpu.memset %[[Z]], %{{.*}} : memref<4xi8, #gpu.address_space<global>>, i8
  %zero = arith.constant 0 : i8
  linalg.fill ins(%zero : i8) outs(%z : memref<4xi8>)
  // CHECK: return %[[Y]], %[[Z]]
  return %y, %z : memref<?xf32>, memref<4xi8>
}

// -----

// A result that is no allocation of the function's is copied to the caller's.
// CHECK-LABEL: func.func @chosen(
func.func @chosen(%c: i1, %n: index) -> memref<?xf32> {
  // CHECK: %[[Y:.*]] = scf.if
  %y = scf.if %c -> memref<?xf32> {
    %a = memref.alloc(%n) : memref<?xf32>
    scf.yield %a : memref<?xf32>
  } else {
    %b = memref.alloc(%n) : memref<?xf32>
    scf.yield %b : memref<?xf32>
  }
  // CHECK: %[[EXTENT:.*]] = memref.dim %[[Y]]
  // CHECK-NEXT: %[[R:.*]] = warpspec.result 0(%[[EXTENT]])
  // CHECK-NEXT: gpu.memcpy %[[R]], %[[Y]]
  // CHECK-NEXT: gpu.dealloc %[[Y]]
  // CHECK-NEXT: return %[[R]]
  return %y : memref<?xf32>
}

// -----

// Only the caller of a public function has memory for results.
// CHECK-LABEL: func.func private @inner(
// CHECK: gpu.alloc
// CHECK-NOT: warpspec.result
// CHECK-LABEL: func.func @outer(
// CHECK: warpspec.result
func.func private @inner() -> memref<4xf32> {
  %y = memref.alloc() : memref<4xf32>
  return %y : memref<4xf32>
}
func.func @outer() -> memref<4xf32> {
  %y = call @inner() : () -> memref<4xf32>
  return %y : memref<4xf32>
}

// -----

func.func @inner() {
  return
}
func.func @public() {
  // expected-error @below {{expected a call of a private function on device memory, but got @inner}}
  call @inner() : () -> ()
  return
}

// -----

memref.global "private" constant @c : memref<2xf32> = dense<1.0>
func.func @constant() {
  // expected-error @below {{expected no constant tensor in a function on device memory; make it an argument}}
  %c = memref.get_global @c : memref<2xf32>
  return
}
