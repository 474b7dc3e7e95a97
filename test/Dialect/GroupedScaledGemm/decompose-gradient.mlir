// gsg-decompose-gradient makes these of a product: dy in f32, the gradient within the groups, and a quantisation for each
// quantised result.
// RUN: nvfp4-opt %s --verify-roundtrip --gsg-decompose-gradient --canonicalize | FileCheck %s
// RUN: nvfp4-opt %s --gsg-decompose-gradient=explain --verify-diagnostics -o /dev/null

!a = !grouped_scaled_gemm.scaled<?x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
!o = !grouped_scaled_gemm.scaled<?x64, nvfp4>
!t = !grouped_scaled_gemm.scaled<64x?, nvfp4>

// CHECK-LABEL: func @plain
// CHECK-SAME: %[[Z:[a-z0-9]*]]: tensor<?x64xbf16>, %[[P:[a-z0-9]*]]: tensor<?xf32>, %[[C:[a-z0-9]*]]: tensor<?x64xbf16>, %[[D:[a-z0-9]*]]: tensor<?xf32>)
// CHECK: %[[EMPTY:.*]] = tensor.empty(%{{.*}}) : tensor<?x32xf32>
// CHECK: %[[DY:.*]] = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%[[ENDS:[a-z0-9]*]] : tensor<4xi32>)
// CHECK-NOT: prob
// CHECK-SAME: addend(
// CHECK-SAME: outs(%[[EMPTY]] : tensor<?x32xf32>) -> tensor<?x32xf32>
// CHECK: %[[R:.*]]:2 = grouped_scaled_gemm.glu_backward <swiglu, gate = <halves, gate_first>>(%[[Z]] :
// CHECK-SAME: gradient(%[[DY]] : tensor<?x32xf32>) groups(%[[ENDS]] : tensor<4xi32>) as <ragged_rows, ends> prob(%[[P]] :
// CHECK-SAME: outs(%[[C]] : tensor<?x64xbf16>) prob_outs(%[[D]] : tensor<?xf32>)
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @plain(%a: !a, %b: !b, %ends: tensor<4xi32>, %y: tensor<?x32xf32>, %z: tensor<?x64xbf16>, %p: tensor<?xf32>,
                 %c: tensor<?x64xbf16>, %d: tensor<?xf32>) -> (tensor<?x64xbf16>, tensor<?xf32>) {
  // expected-remark @below {{the gradient of the activation is computed by glu_backward after the product, in a second pass over memory: the product writes dy in f32}}
  %r:2 = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<4xi32>) lhs(%a : !a) rhs(%b : !b)
      addend(%y : tensor<?x32xf32>) prob(%p : tensor<?xf32>)
      gradient_of = <swiglu, gate = <halves, gate_first>> preact(%z : tensor<?x64xbf16>)
      outs(%c : tensor<?x64xbf16>) prob_outs(%d : tensor<?xf32>) -> tensor<?x64xbf16>, tensor<?xf32>
  return %r#0, %r#1 : tensor<?x64xbf16>, tensor<?xf32>
}

// CHECK-LABEL: func @quantized
// CHECK: %[[DZ:.*]] = grouped_scaled_gemm.glu_backward <relu2>
// CHECK: %[[ROWS:.*]] = grouped_scaled_gemm.quantize <te>(%[[DZ]] : tensor<?x64xf32>) groups(%{{.*}}) as <ragged_rows, ends, align = 16>
// CHECK: %[[COLUMNS:.*]] = grouped_scaled_gemm.quantize <cutlass>(%[[DZ]] : tensor<?x64xf32>) groups(%{{.*}}) as <ragged_k, ends, align = 16>
// CHECK-SAME: {transposed}
// CHECK: return %[[ROWS]], %[[COLUMNS]]
func.func @quantized(%a: !a, %b: !grouped_scaled_gemm.scaled<4x64x64, nvfp4>, %ends: tensor<4xi32>, %z: tensor<?x64xf32>) -> (!o, !t) {
  // expected-remark @below {{second pass over memory}}
  %r:2 = grouped_scaled_gemm.matmul <ragged_rows, ends, align = 16> groups(%ends : tensor<4xi32>) lhs(%a : !a)
      rhs(%b : !grouped_scaled_gemm.scaled<4x64x64, nvfp4>)
      gradient_of = <relu2> preact(%z : tensor<?x64xf32>) quantizer = <te> copies(<cutlass> transposed) -> !o, !t
  return %r#0, %r#1 : !o, !t
}

// Rows outside every group become zero before, on memrefs in place.
// CHECK-LABEL: func @zeros
// CHECK: %[[MEMORY:.*]] = memref.alloc() {alignment = 64 : i64} : memref<2x16x32xf32>
// CHECK: grouped_scaled_gemm.matmul <masked>
// CHECK-SAME: outs(%[[MEMORY]] :
// CHECK-NOT: tail
// CHECK: linalg.fill ins(%{{.*}}) outs(%[[C:.*]] : memref<2x16x32xf16>)
// CHECK: linalg.fill ins(%{{.*}}) outs(%[[D:.*]] : memref<2x16xf32>)
// CHECK: grouped_scaled_gemm.glu_backward <silu>(%{{.*}}) gradient(%[[MEMORY]] : {{.*}}) groups(%{{.*}}) as <masked> outs(%[[C]] : memref<2x16x32xf16>) prob_outs(%[[D]] : memref<2x16xf32>)
func.func @zeros(%a: memref<2x16x32xi8>, %as: memref<2x16x4xf8E4M3FN>, %b: memref<2x32x32xi8>, %bs: memref<2x32x4xf8E4M3FN>,
                 %g: memref<2xi32>, %z: memref<2x16x32xbf16>, %c: memref<2x16x32xf16>, %d: memref<2x16xf32>) {
  // expected-remark @below {{second pass over memory}}
  grouped_scaled_gemm.matmul <masked> groups(%g : memref<2xi32>)
      lhs(%a scaled_by %as : memref<2x16x32xi8>, memref<2x16x4xf8E4M3FN> as !grouped_scaled_gemm.scaled<2x16x64, nvfp4>)
      rhs(%b scaled_by %bs : memref<2x32x32xi8>, memref<2x32x4xf8E4M3FN> as !grouped_scaled_gemm.scaled<2x32x64, nvfp4>)
      gradient_of = <silu> preact(%z : memref<2x16x32xbf16>)
      outs(%c : memref<2x16x32xf16>) prob_outs(%d : memref<2x16xf32>) {tail = #grouped_scaled_gemm<tail zero>}
  return
}
