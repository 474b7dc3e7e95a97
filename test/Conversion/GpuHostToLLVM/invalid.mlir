// Host code that touches device memory has no GPU code; synchronous operations
// have no stream.
// RUN: nvfp4-opt %s --convert-gpu-host-to-llvm -split-input-file -verify-diagnostics

func.func @load(%x: memref<8xf32, #gpu.address_space<global>>, %i: index) -> f32 {
  // expected-error @below {{expected memory of the host, but got 'memref<8xf32, #gpu.address_space<global>>': the operation has no GPU code}}
  %y = memref.load %x[%i] : memref<8xf32, #gpu.address_space<global>>
  return %y : f32
}

// -----

func.func @structured(%x: memref<8xf32, #gpu.address_space<global>>, %v: f32) {
  // expected-error @below {{expected memory of the host, but got 'memref<8xf32, #gpu.address_space<global>>': the operation has no GPU code}}
  linalg.fill ins(%v : f32) outs(%x : memref<8xf32, #gpu.address_space<global>>)
  return
}

// -----

gpu.module @kernels {
  warpspec.kernel @f() {
  }
}
func.func @synchronous(%n: index) {
  // expected-error @below {{failed to legalize operation 'warpspec.launch'}}
  warpspec.launch @kernels::@f tiles(%n)()
  return
}

// -----

// A transposed matrix is no rows.
func.func @columns(%to: memref<4x4xi8, strided<[1, 4]>, #gpu.address_space<global>>, %from: memref<4x4xi8>) {
  %t0 = gpu.wait async
  // expected-error @below {{expected memrefs of which the first dimension alone has gaps, but got 'memref<4x4xi8, strided<[1, 4]>, #gpu.address_space<global>>'}}
  %t1 = gpu.memcpy async [%t0] %to, %from : memref<4x4xi8, strided<[1, 4]>, #gpu.address_space<global>>, memref<4x4xi8>
  gpu.wait [%t1]
  return
}
