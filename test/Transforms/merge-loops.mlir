// RUN: nvfp4-opt %s --nvfp4-merge-loops=least=1 | FileCheck %s
// RUN: nvfp4-opt %s --nvfp4-merge-loops | FileCheck %s --check-prefix=SHORT

// Short bodies are not worth it.
// SHORT-NOT: llvm.loop_annotation

// Bounds and starts are selected; what has effects between the loops runs in the first round, what has none before.

// CHECK-LABEL: func @rounds(
// CHECK-SAME:    %[[M:[a-z0-9]+]]: memref<8xf32>, %[[A:[a-z0-9]+]]: index, %[[B:[a-z0-9]+]]: index
// CHECK-SAME:    %[[N:[a-z0-9]+]]: index, %[[STEP:[a-z0-9]+]]: index
// CHECK:         %[[END:.*]] = arith.addi %[[N]], %[[B]]
// CHECK:         scf.for %[[ROUND:.*]] = %[[ZERO:.*]] to %{{.*}} step
// CHECK:           %[[FIRST:.*]] = arith.cmpi eq, %[[ROUND]], %[[ZERO]] : i32
// CHECK:           %[[START:.*]] = arith.select %[[FIRST]], %[[A]], %[[B]] : index
// CHECK:           %[[UPPER:.*]] = arith.select %[[FIRST]], %[[N]], %[[END]] : index
// CHECK:           scf.for %[[I:.*]] = %{{.*}} to %[[UPPER]] step %[[STEP]] {
// CHECK-NEXT:        %[[AT:.*]] = arith.addi %[[START]], %[[I]]
// CHECK-NEXT:        memref.store %{{.*}}, %[[M]][%[[AT]]]
// CHECK-NEXT:      }
// CHECK-NEXT:      scf.if %[[FIRST]] {
// CHECK-NEXT:        gpu.barrier
// CHECK-NEXT:      }
// CHECK-NEXT:    } {llvm.loop_annotation = #{{.*}}}
// CHECK-NOT:     scf.for
// CHECK:         return
func.func @rounds(%m: memref<8xf32>, %a: index, %b: index, %x: f32, %n: index, %step: index) {
  %zero = arith.constant 0 : index
  scf.for %i = %zero to %n step %step {
    %at = arith.addi %a, %i : index
    memref.store %x, %m[%at] : memref<8xf32>
  }
  gpu.barrier
  %end = arith.addi %n, %b : index
  scf.for %i = %zero to %end step %step {
    %at = arith.addi %b, %i : index
    memref.store %x, %m[%at] : memref<8xf32>
  }
  return
}

// The second loop goes on with what the first returns.

// CHECK-LABEL: func @carried(
// CHECK-SAME:    %[[INIT:[a-z0-9]+]]: f32
// CHECK:         %[[SUM:.*]] = scf.for {{.*}} iter_args(%[[ROUND_SUM:.*]] = %[[INIT]]) -> (f32)
// CHECK:           %[[INNER:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[ROUND_SUM]]) -> (f32)
// CHECK:           scf.if
// CHECK-NEXT:        memref.store %[[INNER]]
// CHECK:           scf.yield %[[INNER]] : f32
// CHECK:         return %[[SUM]] : f32
func.func @carried(%m: memref<8xf32>, %a: memref<8xf32>, %init: f32, %x: f32, %y: f32, %n: index) -> f32 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %first = scf.for %i = %zero to %n step %one iter_args(%sum = %init) -> (f32) {
    %value = memref.load %a[%i] : memref<8xf32>
    %product = arith.mulf %value, %x : f32
    %next = arith.addf %sum, %product : f32
    scf.yield %next : f32
  }
  memref.store %first, %m[%zero] : memref<8xf32>
  %second = scf.for %i = %zero to %n step %one iter_args(%sum = %first) -> (f32) {
    %value = memref.load %a[%i] : memref<8xf32>
    %product = arith.mulf %value, %y : f32
    %next = arith.addf %sum, %product : f32
    scf.yield %next : f32
  }
  return %second : f32
}

// Bodies that differ, a number that is loaded after the first loop, buffers that cannot be selected, a first result
// that is needed afterwards, a number that changes in one of its two places, and signs that are compared in two ways
// keep the loops apart.

// CHECK-LABEL: func @apart(
// CHECK-COUNT-12: scf.for
// CHECK-NOT:     llvm.loop_annotation
// CHECK:         return
func.func @apart(%m: memref<8xf32>, %other: memref<8xf32>, %x: f32, %init: f32, %n: index) -> f32 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %n step %one {
    memref.store %x, %m[%i] : memref<8xf32>
  }
  scf.for %i = %zero to %n step %one {
    %y = arith.negf %x : f32
    memref.store %y, %m[%i] : memref<8xf32>
  }
  scf.for %i = %zero to %n step %one {
    %y = arith.addf %x, %x : f32
    memref.store %y, %m[%i] : memref<8xf32>
  }
  %loaded = memref.load %m[%zero] : memref<8xf32>
  scf.for %i = %zero to %n step %one {
    %y = arith.addf %loaded, %loaded : f32
    memref.store %y, %m[%i] : memref<8xf32>
  }
  scf.for %i = %zero to %n step %one {
    %y = arith.mulf %x, %x : f32
    memref.store %y, %m[%i] : memref<8xf32>
  }
  scf.for %i = %zero to %n step %one {
    %y = arith.mulf %x, %x : f32
    memref.store %y, %other[%i] : memref<8xf32>
  }
  %first = scf.for %i = %zero to %n step %one iter_args(%sum = %init) -> (f32) {
    %next = arith.addf %sum, %x : f32
    scf.yield %next : f32
  }
  %second = scf.for %i = %zero to %n step %one iter_args(%sum = %first) -> (f32) {
    %next = arith.addf %sum, %x : f32
    scf.yield %next : f32
  }
  scf.for %i = %zero to %n step %one {
    %y = arith.subf %x, %x : f32
    memref.store %y, %m[%i] : memref<8xf32>
  }
  scf.for %i = %zero to %n step %one {
    %y = arith.subf %x, %init : f32
    memref.store %y, %m[%i] : memref<8xf32>
  }
  scf.for %i = %zero to %n step %one {
    %y = arith.divf %x, %init : f32
    memref.store %y, %m[%i] : memref<8xf32>
  }
  scf.for unsigned %i = %zero to %n step %one {
    %y = arith.divf %x, %init : f32
    memref.store %y, %m[%i] : memref<8xf32>
  }
  %both = arith.addf %first, %second : f32
  return %both : f32
}
