// RUN: nvfp4-opt %s --convert-linalg-to-gpu --split-input-file --verify-diagnostics

!x = memref<64xf32, #gpu.address_space<global>>
func.func @library(%x: !x) {
  linalg.map { math.cos } ins(%x : !x) outs(%x : !x)
  // expected-error @-1 {{'math.cos' op expected an operation that kernels have: operations of arith other than remf}}
  return
}

// -----

// The kernel would load what the host would not have.
!s = memref<1xf32, #gpu.address_space<global>>
!x = memref<64xf32, #gpu.address_space<global>>
func.func @changed(%s: !s, %x: !x, %other: !s) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{expected memory of the device that does not change between this load and the kernel that uses it; move the load behind the change}}
  %v = memref.load %s[%c0] : !s
  gpu.memcpy %s, %other : !s, !s
  linalg.fill ins(%v : f32) outs(%x : !x)
  return
}
