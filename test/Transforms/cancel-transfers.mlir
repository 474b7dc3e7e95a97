// Copies between host and device that nobody needs vanish; the others stay.
// RUN: nvfp4-opt %s --nvfp4-cancel-transfers | FileCheck %s

!host = memref<4xf32>
!dev = memref<4xf32, #gpu.address_space<global>>

// Two kernels in a row: the host's copy between them is nobody's.
// CHECK-LABEL: func.func @chain(
// CHECK-SAME: %[[X:.*]]: memref<4xf32>)
func.func @chain(%x: !host) -> !host {
  // CHECK: %[[A:.*]] = gpu.alloc () : memref<4xf32, #gpu.address_space<global>>
  // CHECK-NEXT: gpu.memcpy %[[A]], %[[X]]
  // CHECK-NEXT: %[[B:.*]] = gpu.alloc
  // CHECK-NEXT: linalg.generic {{.*}} ins(%[[A]] : {{.*}}) outs(%[[B]] :
  // CHECK: gpu.dealloc %[[A]]
  // CHECK-NEXT: %[[OUT:.*]] = memref.alloc
  // CHECK-NEXT: %[[C:.*]] = gpu.alloc
  // CHECK-NEXT: linalg.generic {{.*}} ins(%[[B]] : {{.*}}) outs(%[[C]] :
  // CHECK: gpu.dealloc %[[B]]
  // CHECK-NEXT: gpu.memcpy %[[OUT]], %[[C]]
  // CHECK-NEXT: gpu.dealloc %[[C]]
  // CHECK-NEXT: return %[[OUT]]
  %mid = memref.alloc() : !host
  %a = gpu.alloc () : !dev
  gpu.memcpy %a, %x : !dev, !host
  %b = gpu.alloc () : !dev
  gpu.memcpy %b, %mid : !dev, !host
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a : !dev) outs(%b : !dev) {
  ^bb0(%in: f32, %old: f32):
    linalg.yield %in : f32
  }
  gpu.memcpy %mid, %b : !host, !dev
  gpu.dealloc %a : !dev
  gpu.dealloc %b : !dev
  %out = memref.alloc() : !host
  %c = gpu.alloc () : !dev
  gpu.memcpy %c, %mid : !dev, !host
  %d = gpu.alloc () : !dev
  gpu.memcpy %d, %out : !dev, !host
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%c : !dev) outs(%d : !dev) {
  ^bb0(%in: f32, %old: f32):
    linalg.yield %in : f32
  }
  gpu.memcpy %out, %d : !host, !dev
  gpu.dealloc %c : !dev
  gpu.dealloc %d : !dev
  memref.dealloc %mid : !host
  return %out : !host
}

// The host reads what is between them.
// CHECK-LABEL: func.func @read_between(
func.func @read_between(%d: !dev, %e: !dev, %i: index) -> f32 {
  // CHECK: %[[H:.*]] = memref.alloc
  // CHECK-NEXT: gpu.memcpy %[[H]], %{{.*}}
  // CHECK-NEXT: gpu.memcpy %{{.*}}, %{{.*}} : memref<4xf32, #gpu.address_space<global>>, memref<4xf32, #gpu.address_space<global>>
  // CHECK-NEXT: memref.load %[[H]]
  %h = memref.alloc() : !host
  gpu.memcpy %h, %d : !host, !dev
  gpu.memcpy %e, %h : !dev, !host
  %v = memref.load %h[%i] : !host
  memref.dealloc %h : !host
  return %v : f32
}

// The host changes what it has before it goes back.
// CHECK-LABEL: func.func @written_between(
// CHECK-SAME: %[[D:.*]]: memref<4xf32, #gpu.address_space<global>>, %[[E:.*]]: memref<4xf32, #gpu.address_space<global>>,
func.func @written_between(%d: !dev, %e: !dev, %i: index, %v: f32) {
  // CHECK: %[[H:.*]] = memref.alloc
  // CHECK-NEXT: gpu.memcpy %[[H]], %[[D]]
  // CHECK-NEXT: memref.store %{{.*}}, %[[H]]
  // CHECK-NEXT: gpu.memcpy %[[E]], %[[H]]
  %h = memref.alloc() : !host
  gpu.memcpy %h, %d : !host, !dev
  memref.store %v, %h[%i] : !host
  gpu.memcpy %e, %h : !dev, !host
  memref.dealloc %h : !host
  return
}

// The device changes the original: the copy is of what it was.
// CHECK-LABEL: func.func @original_written(
func.func @original_written(%d: !dev, %e: !dev, %x: !host) {
  // CHECK: %[[H:.*]] = memref.alloc
  // CHECK-NEXT: gpu.memcpy %[[H]], %{{.*}} : memref<4xf32>, memref<4xf32, #gpu.address_space<global>>
  // CHECK-NEXT: gpu.memcpy %{{.*}}, %{{.*}} : memref<4xf32, #gpu.address_space<global>>, memref<4xf32>
  // CHECK-NEXT: gpu.memcpy %{{.*}}, %[[H]] : memref<4xf32, #gpu.address_space<global>>, memref<4xf32>
  %h = memref.alloc() : !host
  gpu.memcpy %h, %d : !host, !dev
  gpu.memcpy %d, %x : !dev, !host
  gpu.memcpy %e, %h : !dev, !host
  memref.dealloc %h : !host
  return
}

// Arguments may be the same memory, so writing one may change the other.
// CHECK-LABEL: func.func @arguments_alias(
func.func @arguments_alias(%x: !host, %y: !host, %d: !dev, %i: index, %v: f32) -> f32 {
  // CHECK: %[[H:.*]] = memref.alloc
  // CHECK-NEXT: memref.copy
  // CHECK-NEXT: memref.store
  // CHECK-NEXT: memref.load %[[H]]
  %h = memref.alloc() : !host
  memref.copy %x, %h : !host to !host
  memref.store %v, %y[%i] : !host
  %w = memref.load %h[%i] : !host
  memref.dealloc %h : !host
  return %w : f32
}

// What was copied to the device and comes back is read where it was.
// CHECK-LABEL: func.func @back(
// CHECK-SAME: %[[X:[^:]*]]: memref<4xf32>, %[[I:.*]]: index)
func.func @back(%x: !host, %i: index) -> f32 {
  // CHECK-NEXT: %[[V:.*]] = memref.load %[[X]][%[[I]]]
  // CHECK-NEXT: return %[[V]]
  %d = gpu.alloc () : !dev
  gpu.memcpy %d, %x : !dev, !host
  %h = memref.alloc() : !host
  gpu.memcpy %h, %d : !host, !dev
  %v = memref.load %h[%i] : !host
  memref.dealloc %h : !host
  gpu.dealloc %d : !dev
  return %v : f32
}

// The same within a branch that run-time checks make.
// CHECK-LABEL: func.func @branch(
// CHECK-SAME: %[[X:[^:]*]]: memref<4xf32>, %[[OUT:[^:]*]]: memref<f32>,
func.func @branch(%x: !host, %out: memref<f32>, %i: index, %c: i1) {
  // CHECK-NEXT: scf.if
  // CHECK-NEXT: memref.load %[[X]]
  // CHECK-NOT: memref.alloc
  %d = gpu.alloc () : !dev
  gpu.memcpy %d, %x : !dev, !host
  scf.if %c {
    %h = memref.alloc() : !host
    gpu.memcpy %h, %d : !host, !dev
    %v = memref.load %h[%i] : !host
    memref.store %v, %out[] : memref<f32>
    memref.dealloc %h : !host
  }
  gpu.dealloc %d : !dev
  return
}
