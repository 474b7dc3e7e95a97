// RUN: nvfp4-opt %s --nvfp4-share-call | FileCheck %s

llvm.func @nvfp4_check_equal(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64) -> i32
llvm.func @nvfp4_task_i32(!llvm.ptr, i32)
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

// CHECK-LABEL: func @task(
// CHECK:         nvfp4_call_current
func.func @task(%p: !llvm.ptr, %n: i32) {
  omp.parallel {
    llvm.call @nvfp4_task_i32(%p, %n) : (!llvm.ptr, i32) -> ()
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
