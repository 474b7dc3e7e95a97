// RUN: nvfp4-opt %s --nvfp4-share-call | FileCheck %s

llvm.func @nvfp4_check_equal(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64) -> i32
llvm.func @mgpuStreamCreate() -> !llvm.ptr
llvm.func @nvfp4_kernel_extent(!llvm.ptr, i64) -> i32
llvm.func @nvfp4_stage_odd_values(!llvm.ptr, !llvm.ptr, i64, i64, !llvm.ptr, i64) -> i32
llvm.func @expf(f32) -> f32

// Threads of a region with a check work for the call of the thread before it.

// CHECK-LABEL: func @check(
// CHECK-NEXT:    %[[CALL:.*]] = llvm.call @nvfp4_call_current()
// CHECK-NEXT:    omp.parallel {
// CHECK-NEXT:      %[[BEFORE:.*]] = llvm.call @nvfp4_call_enter(%[[CALL]])
// CHECK-NEXT:      llvm.call @nvfp4_check_equal
// CHECK-NEXT:      llvm.call @nvfp4_call_enter(%[[BEFORE]])
// CHECK-NEXT:      omp.terminator
func.func @check(%p: !llvm.ptr, %n: i64) {
  omp.parallel {
    %ok = llvm.call @nvfp4_check_equal(%p, %p, %p, %n, %n)
        : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64) -> i32
    omp.terminator
  }
  return
}

// A check may be some functions away.

// CHECK-LABEL: func @distant(
// CHECK:         nvfp4_call_current
// CHECK-NEXT:    omp.parallel
func.func @distant(%p: !llvm.ptr, %n: i64) {
  omp.parallel {
    func.call @middle(%p, %n) : (!llvm.ptr, i64) -> ()
    omp.terminator
  }
  return
}
func.func private @middle(%p: !llvm.ptr, %n: i64) {
  func.call @check(%p, %n) : (!llvm.ptr, i64) -> ()
  return
}

// Work of a device belongs to a call, too.

// CHECK-LABEL: func @stream(
// CHECK:         nvfp4_call_current
func.func @stream() {
  omp.parallel {
    %s = llvm.call @mgpuStreamCreate() : () -> !llvm.ptr
    omp.terminator
  }
  return
}

// CHECK-LABEL: func @kernel(
// CHECK:         nvfp4_call_current
func.func @kernel(%p: !llvm.ptr, %n: i64) {
  omp.parallel {
    %x = llvm.call @nvfp4_kernel_extent(%p, %n) : (!llvm.ptr, i64) -> i32
    omp.terminator
  }
  return
}

// CHECK-LABEL: func @stage(
// CHECK:         nvfp4_call_current
func.func @stage(%p: !llvm.ptr, %n: i64) {
  omp.parallel {
    %ok = llvm.call @nvfp4_stage_odd_values(%p, %p, %n, %n, %p, %n)
        : (!llvm.ptr, !llvm.ptr, i64, i64, !llvm.ptr, i64) -> i32
    omp.terminator
  }
  return
}

// Other calls are none of the runtime's business.

// CHECK-LABEL: func @other(
// CHECK-NOT:     nvfp4_call
// CHECK:         return
func.func @other(%x: f32) {
  omp.parallel {
    %y = llvm.call @expf(%x) : (f32) -> f32
    omp.terminator
  }
  return
}
