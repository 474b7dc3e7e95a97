// RUN: nvfp4-opt %s --convert-gpu-host-to-llvm | FileCheck %s

!words = memref<?xf32, #gpu.address_space<global>>

module attributes {gpu.container_module} {

gpu.module @kernels {
  warpspec.kernel @fill(%out: memref<?xf32, 1>) {
    warpspec.roles
    role @work warps(4) {
    }
  }
}

// Threads of a parallel loop do not share the room of parameters.

// CHECK-LABEL: func.func @parallel(
// CHECK-NOT:     llvm.alloca
// CHECK:         scf.parallel
// CHECK:           llvm.alloca
// CHECK:           scf.for
// CHECK-NOT:         llvm.alloca
// CHECK:             llvm.call @nvfp4_kernel_start(
func.func @parallel(%x: !words, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    scf.for %j = %c0 to %n step %c1 {
      %t0 = gpu.wait async
      %t1 = warpspec.launch async [%t0] @kernels::@fill tiles(%n)(writes %x : !words)
      gpu.wait [%t1]
    }
    scf.reduce
  }
  return
}

}
