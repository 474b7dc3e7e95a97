// RUN: nvfp4-opt %s --gsg-fuse-epilogue --split-input-file | FileCheck %s

// An activation and the quantiser behind it both move into the product.

!a = !grouped_scaled_gemm.scaled<?x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<4x64x64, nvfp4>

// CHECK-LABEL: func @glu_and_quantize(
// CHECK-SAME:    %[[A:[^:]*]]: !{{.*}}, %[[B:[^:]*]]: !{{.*}}, %[[ENDS:[^:]*]]: tensor<4xi32>
// CHECK-NOT:     grouped_scaled_gemm.glu
// CHECK:         %[[Q:.*]] = grouped_scaled_gemm.matmul <ragged_rows, ends>
// CHECK-SAME:      activation = <swiglu, gate = <1, gate_first>>
// CHECK-SAME:      quantizer = <te> global_scale
// CHECK-NOT:     grouped_scaled_gemm.quantize
// CHECK:         return %[[Q]]
func.func @glu_and_quantize(%a: !a, %b: !b, %ends: tensor<4xi32>, %m: index, %s: f32)
    -> !grouped_scaled_gemm.scaled<?x32, nvfp4> {
  %z = tensor.empty(%m) : tensor<?x64xf32>
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends>
      groups(%ends : tensor<4xi32>) lhs(%a : !a) rhs(%b : !b)
      outs(%z : tensor<?x64xf32>) -> tensor<?x64xf32>
  %y = tensor.empty(%m) : tensor<?x32xf32>
  %g = grouped_scaled_gemm.glu <swiglu, gate = <1, gate_first>>
      (%d : tensor<?x64xf32>) outs(%y : tensor<?x32xf32>) -> tensor<?x32xf32>
  %q = grouped_scaled_gemm.quantize <te>(%g : tensor<?x32xf32>)
      groups(%ends : tensor<4xi32>) as <ragged_rows, ends> global_scale(%s : f32)
      -> !grouped_scaled_gemm.scaled<?x32, nvfp4>
  return %q : !grouped_scaled_gemm.scaled<?x32, nvfp4>
}

// -----

// A pre-activation with other uses stays as a result. Being bf16, it is
// rounded before the activation sees it.

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<64x64, nvfp4>

// CHECK-LABEL: func @kept_preactivation(
// CHECK:         %[[D:.*]]:2 = grouped_scaled_gemm.matmul <dense>
// CHECK-SAME:      activation = <silu, round_bf16>
// CHECK-SAME:      preact_outs(
// CHECK:         return %[[D]]#0, %[[D]]#1
func.func @kept_preactivation(%a: !a, %b: !b, %z: tensor<16x64xbf16>,
                              %y: tensor<16x64xf32>)
    -> (tensor<16x64xbf16>, tensor<16x64xf32>) {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      outs(%z : tensor<16x64xbf16>) -> tensor<16x64xbf16>
  %g = grouped_scaled_gemm.glu <silu>(%d : tensor<16x64xbf16>)
      outs(%y : tensor<16x64xf32>) -> tensor<16x64xf32>
  return %d, %g : tensor<16x64xbf16>, tensor<16x64xf32>
}

// -----

// Rows outside every group: glu would read what the destination holds there,
// so nothing is fused.

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<4x64x64, nvfp4>

// CHECK-LABEL: func @defined_tail(
// CHECK:         grouped_scaled_gemm.matmul
// CHECK-NOT:     activation
// CHECK:         grouped_scaled_gemm.glu
func.func @defined_tail(%a: !a, %b: !b, %ends: tensor<4xi32>,
                        %z: tensor<16x64xf32>, %y: tensor<16x64xf32>)
    -> tensor<16x64xf32> {
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends>
      groups(%ends : tensor<4xi32>) lhs(%a : !a) rhs(%b : !b)
      outs(%z : tensor<16x64xf32>) -> tensor<16x64xf32>
  %g = grouped_scaled_gemm.glu <relu2>(%d : tensor<16x64xf32>)
      outs(%y : tensor<16x64xf32>) -> tensor<16x64xf32>
  return %g : tensor<16x64xf32>
}

// -----

// Zeros outside every group are zeros after the activation, too; they get the
// other sign where a number below zero is added to the second factor.

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<4x64x64, nvfp4>

// CHECK-LABEL: func @zero_tail(
// CHECK:         grouped_scaled_gemm.matmul {{.*}} activation = <swiglu, gate = <halves, gate_first>, beta = 1.0{{.*}}tail = #grouped_scaled_gemm<tail zero>
// CHECK-NOT:     grouped_scaled_gemm.glu
// CHECK:         grouped_scaled_gemm.matmul {{.*}} outs(%{{.*}} : tensor<16x64xf32>)
// CHECK:         grouped_scaled_gemm.glu {{.*}} beta = -1.0
func.func @zero_tail(%a: !a, %b: !b, %ends: tensor<4xi32>) -> (tensor<16x32xf32>, tensor<16x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<16x64xf32>) -> tensor<16x64xf32>
  %y = tensor.empty() : tensor<16x32xf32>
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<4xi32>) lhs(%a : !a) rhs(%b : !b)
      outs(%z : tensor<16x64xf32>) -> tensor<16x64xf32>
  %g = grouped_scaled_gemm.glu <swiglu, gate = <halves, gate_first>, beta = 1.0>(%d : tensor<16x64xf32>)
      outs(%y : tensor<16x32xf32>) -> tensor<16x32xf32>
  %d2 = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<4xi32>) lhs(%a : !a) rhs(%b : !b)
      outs(%z : tensor<16x64xf32>) -> tensor<16x64xf32>
  %h = grouped_scaled_gemm.glu <swiglu, gate = <halves, gate_first>, beta = -1.0>(%d2 : tensor<16x64xf32>)
      outs(%y : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %g, %h : tensor<16x32xf32>, tensor<16x32xf32>
}

// -----

// A result that was rounded before it was quantised is left alone.

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<64x64, nvfp4>

// CHECK-LABEL: func @rounded(
// CHECK:         grouped_scaled_gemm.matmul
// CHECK:         grouped_scaled_gemm.quantize
func.func @rounded(%a: !a, %b: !b, %z: tensor<16x64xbf16>) -> !a {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      outs(%z : tensor<16x64xbf16>) -> tensor<16x64xbf16>
  %q = grouped_scaled_gemm.quantize <trtllm>(%d : tensor<16x64xbf16>) -> !a
  return %q : !a
}

// -----

// A product that rounds z to bf16 does so after the fusion as well.

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<64x64, nvfp4>

// CHECK-LABEL: func @rounding_product(
// CHECK:         grouped_scaled_gemm.matmul <dense>
// CHECK-SAME:      activation = <silu, round_bf16>
// CHECK-NOT:     grouped_scaled_gemm.glu
func.func @rounding_product(%a: !a, %b: !b, %z: tensor<16x64xf32>,
                            %y: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <identity, round_bf16>
      outs(%z : tensor<16x64xf32>) -> tensor<16x64xf32>
  %g = grouped_scaled_gemm.glu <silu>(%d : tensor<16x64xf32>)
      outs(%y : tensor<16x64xf32>) -> tensor<16x64xf32>
  return %g : tensor<16x64xf32>
}

// -----

// A pre-activation in f32 would not be rounded, but its other uses see bf16.

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<64x64, nvfp4>

// CHECK-LABEL: func @rounding_product_with_uses(
// CHECK:         grouped_scaled_gemm.matmul <dense>
// CHECK:         grouped_scaled_gemm.glu
func.func @rounding_product_with_uses(%a: !a, %b: !b, %z: tensor<16x64xf32>,
                                      %y: tensor<16x64xf32>)
    -> (tensor<16x64xf32>, tensor<16x64xf32>) {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <identity, round_bf16>
      outs(%z : tensor<16x64xf32>) -> tensor<16x64xf32>
  %g = grouped_scaled_gemm.glu <silu>(%d : tensor<16x64xf32>)
      outs(%y : tensor<16x64xf32>) -> tensor<16x64xf32>
  return %d, %g : tensor<16x64xf32>, tensor<16x64xf32>
}

// -----

// A product does not store its result transposed.
// CHECK-LABEL: func @transposed(
// CHECK:         grouped_scaled_gemm.quantize {{.*}} {transposed}
func.func @transposed(%a: !grouped_scaled_gemm.scaled<16x64, nvfp4>, %b: !grouped_scaled_gemm.scaled<64x64, nvfp4>, %o: tensor<16x64xf32>)
    -> !grouped_scaled_gemm.scaled<64x16, nvfp4> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !grouped_scaled_gemm.scaled<16x64, nvfp4>)
      rhs(%b : !grouped_scaled_gemm.scaled<64x64, nvfp4>) outs(%o : tensor<16x64xf32>) -> tensor<16x64xf32>
  %q = grouped_scaled_gemm.quantize <te>(%d : tensor<16x64xf32>) {transposed} -> !grouped_scaled_gemm.scaled<64x16, nvfp4>
  return %q : !grouped_scaled_gemm.scaled<64x16, nvfp4>
}
