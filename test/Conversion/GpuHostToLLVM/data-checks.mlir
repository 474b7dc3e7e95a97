// The checks of kernels are constants with their texts; the record is the
// runtime's.
// RUN: nvfp4-opt %s --convert-gpu-host-to-llvm | FileCheck %s
// RUN: nvfp4-opt %s --convert-gpu-host-to-llvm --convert-func-to-llvm --reconcile-unrealized-casts | mlir-translate --mlir-to-llvmir | FileCheck %s --check-prefix=LLVM

// CHECK-LABEL: func.func @f
func.func @f() -> (i64, i64) {
  // CHECK: %[[RECORD:.*]] = llvm.call @nvfp4_kernel_data_record(%{{.*}}) : (!llvm.ptr) -> !llvm.ptr
  // CHECK: llvm.ptrtoint %[[RECORD]] : !llvm.ptr to i64
  %record = warpspec.data_record
  // CHECK: %[[CHECKS:.*]] = llvm.mlir.addressof @nvfp4_data_checks_0 : !llvm.ptr
  // CHECK: llvm.ptrtoint %[[CHECKS]] : !llvm.ptr to i64
  %checks = warpspec.data_checks "f.mlir:1:2: op" [#warpspec.data_check<groups, "", "", [1, 8]>,
      #warpspec.data_check<index, "permute_c4", "token_of_row">]
  return %record, %checks : i64, i64
}

// CHECK: llvm.mlir.global internal constant @nvfp4_data_checks_0() {{.*}} : !llvm.array<2 x struct<(ptr, ptr, ptr, i64, i64, i64)>>

// LLVM-DAG: @[[PLACE:.*]] = internal constant [15 x i8] c"f.mlir:1:2: op\00"
// LLVM-DAG: @[[LABEL:.*]] = internal constant [11 x i8] c"permute_c4\00"
// LLVM-DAG: @[[WHAT:.*]] = internal constant [13 x i8] c"token_of_row\00"
// LLVM-DAG: @[[NONE:.*]] = internal constant [1 x i8] zeroinitializer
// LLVM: @nvfp4_data_checks_0 = internal constant [2 x { ptr, ptr, ptr, i64, i64, i64 }] [{ ptr, ptr, ptr, i64, i64, i64 } { ptr @[[PLACE]], ptr @[[NONE]], ptr @[[NONE]], i64 0, i64 1, i64 8 }, { ptr, ptr, ptr, i64, i64, i64 } { ptr @[[PLACE]], ptr @[[LABEL]], ptr @[[WHAT]], i64 1, i64 0, i64 0 }]
