// Operations get copies of what is in the other memory.
// RUN: nvfp4-opt %s --gsg-insert-transfers | FileCheck %s
// RUN: nvfp4-opt %s --gsg-insert-transfers --nvfp4-cancel-transfers --canonicalize | FileCheck %s --check-prefix=CHAIN

!a = !grouped_scaled_gemm.scaled<128x128, mxfp8_e4m3, blocked>
#global = #gpu.address_space<global>

// CHECK-LABEL: func.func @product(
// CHECK-SAME: %[[A:[^:]*]]: memref<128x128xf8E4M3FN>, %[[S:[^:]*]]: memref<1x1x32x4x4xf8E8M0FNU>, %[[C:[^:]*]]: memref<128x128xbf16>
func.func @product(%a: memref<128x128xf8E4M3FN>, %s: memref<1x1x32x4x4xf8E8M0FNU>, %c: memref<128x128xbf16>) {
  // CHECK: %[[DA:.*]] = gpu.alloc () : memref<128x128xf8E4M3FN, #gpu.address_space<global>>
  // CHECK: gpu.memcpy %[[DA]], %[[A]]
  // CHECK: %[[DS:.*]] = gpu.alloc
  // CHECK: gpu.memcpy %[[DS]], %[[S]]
  // CHECK: %[[DC:.*]] = gpu.alloc
  // CHECK: matmul
  // CHECK-SAME: lhs(%[[DA]] scaled_by %[[DS]]
  // CHECK-SAME: rhs(%[[DA]] scaled_by %[[DS]]
  // CHECK-SAME: outs(%[[DC]]
  // CHECK: gpu.memcpy %[[C]], %[[DC]]
  // CHECK: gpu.dealloc %[[DC]]
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %s : memref<128x128xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU> as !a)
      rhs(%a scaled_by %s : memref<128x128xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU> as !a)
      outs(%c : memref<128x128xbf16>)
  return
}

// The result of the first product is an operand of the second: it stays on the
// device, and so do the operands that both have.
// CHAIN-LABEL: func.func @chain(
func.func @chain(%a: memref<128x128xf8E4M3FN>, %s: memref<1x1x32x4x4xf8E8M0FNU>, %out: memref<128x128xbf16>) {
  %c = memref.alloc() : memref<128x128xbf16>
  // CHAIN-COUNT-2: gpu.memcpy %{{.*}}, %{{.*}} : memref<{{.*}}, #gpu.address_space<global>>, memref
  // CHAIN-NOT: gpu.memcpy
  // CHAIN: grouped_scaled_gemm.matmul
  // CHAIN-SAME: outs(%[[FIRST:.*]] :
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %s : memref<128x128xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU> as !a)
      rhs(%a scaled_by %s : memref<128x128xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU> as !a)
      outs(%c : memref<128x128xbf16>)
  // Its own destination alone is copied there: rows without a group keep what
  // they hold.
  // CHAIN: gpu.memcpy %{{.*}} : memref<128x128xbf16, #gpu.address_space<global>>, memref<128x128xbf16>
  // CHAIN-NOT: gpu.memcpy
  // CHAIN: grouped_scaled_gemm.matmul
  // CHAIN-SAME: addend(%[[FIRST]]
  // CHAIN-SAME: outs(%[[SECOND:.*]] :
  // CHAIN: gpu.memcpy %{{.*}}, %[[SECOND]] : memref<128x128xbf16>, memref<128x128xbf16, #gpu.address_space<global>>
  // CHAIN-NOT: gpu.memcpy
  // CHAIN: return
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %s : memref<128x128xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU> as !a)
      rhs(%a scaled_by %s : memref<128x128xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU> as !a)
      addend(%c : memref<128x128xbf16>)
      outs(%out : memref<128x128xbf16>)
  memref.dealloc %c : memref<128x128xbf16>
  return
}

// Staging stays on the host until it has kernels.
// CHECK-LABEL: func.func @staging(
// CHECK-SAME: %[[A:[^:]*]]: memref<8x9xi8, #gpu.address_space<global>>
func.func @staging(%a: memref<8x9xi8, #global>, %rows: memref<8x16xi8, #global>) {
  // CHECK: %[[HA:.*]] = memref.alloc() : memref<8x9xi8>
  // CHECK: gpu.memcpy %[[HA]], %[[A]]
  // CHECK: %[[HR:.*]] = memref.alloc() : memref<8x16xi8>
  // CHECK: warpspec.stage_odd_values(%[[HA]]) outs(%[[HR]])
  // CHECK: gpu.memcpy %{{.*}}, %[[HR]]
  // CHECK: memref.dealloc %[[HR]]
  warpspec.stage_odd_values(%a) outs(%rows) : memref<8x9xi8, #global> to memref<8x16xi8, #global>
  return
}

// Rows with gaps are copied together on the host first.
// CHECK-LABEL: func.func @gaps(
// CHECK-SAME: %[[C:[^:]*]]: memref<128x128xbf16, strided<[256, 1]>>
func.func @gaps(%a: memref<128x128xf8E4M3FN>, %s: memref<1x1x32x4x4xf8E8M0FNU>, %c: memref<128x128xbf16, strided<[256, 1]>>) {
  // CHECK: %[[DENSE:.*]] = memref.alloc() : memref<128x128xbf16>
  // CHECK: matmul
  // CHECK: gpu.memcpy %[[DENSE]], %{{.*}}
  // CHECK: memref.copy %[[DENSE]], %[[C]]
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %s : memref<128x128xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU> as !a)
      rhs(%a scaled_by %s : memref<128x128xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU> as !a)
      outs(%c : memref<128x128xbf16, strided<[256, 1]>>)
  return
}
