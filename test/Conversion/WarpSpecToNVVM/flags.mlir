// Flags in global memory, for the whole device.
// RUN: warpspec-opt %s --pass-pipeline='builtin.module(gpu.module(warpspec.kernel(warpspec-plan-memory,warpspec-materialize-stages,warpspec-insert-fences,warpspec-lower-roles),convert-warpspec-to-nvvm,canonicalize,cse))' | FileCheck %s

gpu.module @m [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  // CHECK: warpspec.kernel_info @flags shared_bytes(0) cooperative
  // CHECK-LABEL: llvm.func @flags
  warpspec.kernel @flags(%flags: memref<?xi32, 1>) {
    %c1 = arith.constant 1 : index
    warpspec.roles
    role @work warps(4) {
      // CHECK: llvm.store %c1_i32, %{{.*}} atomic syncscope("device") release {alignment = 4 : i64} : i32, !llvm.ptr<1>
      warpspec.publish %flags[%c1] : memref<?xi32, 1>
      // CHECK: scf.while
      // CHECK: %[[WORD:.*]] = llvm.load %{{.*}} atomic syncscope("device") acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32
      // CHECK: arith.cmpi {{(eq|ne)}}, %[[WORD]], %c0_i32
      warpspec.await %flags[%c1] : memref<?xi32, 1>
    }
  }
}
