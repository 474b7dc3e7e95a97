// RUN: nvfp4-opt %s --allow-unregistered-dialect --nvfp4-inline-alloca-scopes \
// RUN:   | FileCheck %s

// A scope without stack allocations goes, even around an operation that does
// not tell its memory effects; results and order stay.

// CHECK-LABEL: func @no_allocation(
// CHECK-SAME:    %[[M:[a-z0-9]+]]: memref<4xf32>
// CHECK-NOT:     alloca_scope
// CHECK:         "unknown.effects"()
// CHECK:         %[[X:.*]] = memref.load %[[M]]
// CHECK:         return %[[X]]
func.func @no_allocation(%m: memref<4xf32>, %i: index) -> f32 {
  %r = memref.alloca_scope -> f32 {
    "unknown.effects"() : () -> ()
    %x = memref.load %m[%i] : memref<4xf32>
    memref.alloca_scope.return %x : f32
  }
  return %r : f32
}

// An allocation at any depth keeps the scopes around it, and only those.

// CHECK-LABEL: func @nested(
// CHECK:         memref.alloca_scope {
// CHECK:           memref.alloca_scope {
// CHECK-NEXT:        scf.if
// CHECK-NEXT:          memref.alloca()
// CHECK-NOT:     memref.alloca_scope
// CHECK:         return
func.func @nested(%c: i1, %x: f32, %m: memref<f32>) {
  memref.alloca_scope {
    memref.alloca_scope {
      scf.if %c {
        %a = memref.alloca() : memref<f32>
        memref.store %x, %a[] : memref<f32>
      }
    }
    memref.alloca_scope {
      memref.store %x, %m[] : memref<f32>
    }
  }
  return
}

// CHECK-LABEL: func @llvm_allocation(
// CHECK:         memref.alloca_scope
// CHECK-NEXT:      llvm.alloca
func.func @llvm_allocation(%n: i32) {
  memref.alloca_scope {
    %a = llvm.alloca %n x f32 : (i32) -> !llvm.ptr
    "unknown.use"(%a) : (!llvm.ptr) -> ()
  }
  return
}
