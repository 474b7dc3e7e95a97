// Copies of a product's result: round trip, storage form, and the operations that do what no kernel does.
// RUN: nvfp4-opt %s --verify-roundtrip --split-input-file | FileCheck %s --check-prefix=PRINT
// RUN: nvfp4-opt %s --gsg-decompose-scaled --split-input-file | FileCheck %s --check-prefix=STORE
// RUN: nvfp4-opt %s --gsg-decompose-scaled --one-shot-bufferize="bufferize-function-boundaries" --gsg-separate-quantization --split-input-file \
// RUN:   | FileCheck %s --check-prefix=SEPARATE

!a = !grouped_scaled_gemm.scaled<?x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<2x32x64, nvfp4>
!rows = !grouped_scaled_gemm.scaled<?x32, nvfp4, blocked, starts = upper_bound>
!columns = !grouped_scaled_gemm.scaled<32x?, nvfp4, starts = compact>

// Each copy has its own clauses.
// PRINT-LABEL: func @both(
// PRINT:         grouped_scaled_gemm.matmul
// PRINT-SAME:      copies(<trtllm> global_scale(%{{.*}} : f32),
// PRINT-SAME:             <te, rounding = stochastic> transposed hadamard = <normalized, sign_mask = 27> global_scale(%{{.*}} : tensor<2xf32>) seed(%{{.*}}))
// PRINT-SAME:      -> !{{.*}}, !{{.*}}

// All values come before all scales; a group of the transposed copy may begin a block anywhere.
// STORE-LABEL: func @both(
// STORE-DAG:     %[[V0:.*]] = linalg.fill {{.*}} -> tensor<?x16xi8>
// STORE-DAG:     %[[V1:.*]] = linalg.fill {{.*}} -> tensor<32x?xi8>
// STORE-DAG:     %[[S0:.*]] = linalg.fill {{.*}} -> tensor<?x1x32x4x4xf8E4M3FN>
// STORE-DAG:     %[[S1:.*]] = linalg.fill {{.*}} -> tensor<32x?xf8E4M3FN>
// STORE:         %[[R:.*]]:4 = grouped_scaled_gemm.matmul
// STORE-SAME:      outs(%[[V0]] scaled_by %[[S0]] :
// STORE-SAME:      outs(%[[V1]] scaled_by %[[S1]] :
// STORE-SAME:      -> tensor<?x16xi8>, tensor<32x?xi8>, tensor<?x1x32x4x4xf8E4M3FN>, tensor<32x?xf8E4M3FN>
// STORE:         %[[CAST:.*]] = tensor.cast %[[R]]#2
// STORE:         return %[[R]]#0, %[[CAST]], %[[R]]#1, %[[R]]#3

// y in f32 lives as long as the operations that read it; groups of the transposed copy cut its columns.
// SEPARATE-LABEL: func @both(
// SEPARATE:         %[[Y:.*]] = memref.alloc(%{{.*}}) {{.*}} : memref<?x32xf32>
// SEPARATE:         grouped_scaled_gemm.matmul <ragged_rows, ends, align = 2>
// SEPARATE-NOT:       copies
// SEPARATE:           outs(%[[Y]] : memref<?x32xf32>)
// SEPARATE:         grouped_scaled_gemm.quantize <trtllm>(%[[Y]] : memref<?x32xf32>)
// SEPARATE-SAME:      as <ragged_rows, ends, align = 2> global_scale(%{{.*}} : f32)
// SEPARATE:         grouped_scaled_gemm.quantize <te, rounding = stochastic>(%[[Y]] : memref<?x32xf32>)
// SEPARATE-SAME:      hadamard = <normalized, sign_mask = 27>
// SEPARATE-SAME:      as <ragged_k, ends, align = 2> global_scale(%{{.*}} : memref<2xf32{{.*}}>) seed(%{{.*}})
// SEPARATE-SAME:      {transposed}
// SEPARATE:         memref.dealloc %[[Y]]
func.func @both(%a: !a, %b: !b, %ends: tensor<2xi32>, %s: f32, %t: tensor<2xf32>, %seed: i64) -> (!rows, !columns) {
  %r:2 = grouped_scaled_gemm.matmul <ragged_rows, ends, align = 2> groups(%ends : tensor<2xi32>)
      lhs(%a : !a) rhs(%b : !b)
      copies(<trtllm> global_scale(%s : f32),
             <te, rounding = stochastic> transposed hadamard = <normalized, sign_mask = 27>
                 global_scale(%t : tensor<2xf32>) seed(%seed))
      -> !rows, !columns
  return %r#0, %r#1 : !rows, !columns
}

// -----

!a = !grouped_scaled_gemm.scaled<16x64, mxfp8_e4m3>
!b = !grouped_scaled_gemm.scaled<32x64, mxfp8_e4m3>
!c = !grouped_scaled_gemm.scaled<32x16, mxfp8_e4m3>
!d = !grouped_scaled_gemm.scaled<16x32, mxfp8_e4m3>

// A kernel makes the transposed copy, and leaves the copy of rows to an operation, which reads the numbers where the product
// has put them.
// PRINT-LABEL: func @beside_bf16(
// STORE-LABEL: func @beside_bf16(
// STORE:         %[[R:.*]]:6 = grouped_scaled_gemm.matmul
// STORE-SAME:      -> tensor<16x32xbf16>, tensor<1xf32>, tensor<32x16xf8E4M3FN>, tensor<16x32xf8E4M3FN>, tensor<32x1xf8E8M0FNU>, tensor<16x1xf8E8M0FNU>
// SEPARATE-LABEL: func @beside_bf16(
// SEPARATE-NOT:     f32>
// SEPARATE:         grouped_scaled_gemm.matmul <dense>
// SEPARATE-SAME:      outs(%[[OUT:[a-z0-9_]*]] : memref<16x32xbf16, strided<[?, ?], offset: ?>>) amax_outs({{.*}}) copies(<ocp> transposed outs(%{{[a-z0-9_]*}} scaled_by %{{[a-z0-9_]*}} : memref<32x16xf8E4M3FN>, memref<32x1xf8E8M0FNU> as !{{[a-z0-9]*}}))
// SEPARATE:         grouped_scaled_gemm.quantize <ue8m0_up>(%[[OUT]] : memref<16x32xbf16{{.*}}>)
func.func @beside_bf16(%a: !a, %b: !b, %out: tensor<16x32xbf16>, %amax: tensor<1xf32>)
    -> (tensor<16x32xbf16>, tensor<1xf32>, !c, !d) {
  %r:4 = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      outs(%out : tensor<16x32xbf16>) amax_outs(%amax : tensor<1xf32>) copies(<ocp> transposed, <ue8m0_up>)
      -> tensor<16x32xbf16>, tensor<1xf32>, !c, !d
  return %r#0, %r#1, %r#2, %r#3 : tensor<16x32xbf16>, tensor<1xf32>, !c, !d
}

// -----

!a = !grouped_scaled_gemm.scaled<?x?, nvfp4>
!b = !grouped_scaled_gemm.scaled<?x?, nvfp4>
!c = !grouped_scaled_gemm.scaled<?x?x?, nvfp4>
!d = !grouped_scaled_gemm.scaled<?x?x?, nvfp4, axis = 1>

// The extents of y are those of operands: groups along K have a matrix each. The transposed copy has blocks along features.
// PRINT-LABEL: func @of_gradients(
// STORE-LABEL: func @of_gradients(
// SEPARATE-LABEL: func @of_gradients(
// SEPARATE:         memref.alloc(%{{.*}}, %{{.*}}, %{{.*}}) {{.*}} : memref<?x?x?xf32>
// SEPARATE:         quantize <te>(
// SEPARATE-NOT:     groups
// SEPARATE:         quantize <te>(
// SEPARATE-SAME:      {transposed}
func.func @of_gradients(%a: !a, %b: !b, %starts: tensor<?xi64>) -> (!c, !d) {
  %r:2 = grouped_scaled_gemm.matmul <ragged_k, starts, align = 16> groups(%starts : tensor<?xi64>)
      lhs(%a : !a) rhs(%b : !b) quantizer = <te> copies(<te> transposed) -> !c, !d
  return %r#0, %r#1 : !c, !d
}

// -----

!a = !grouped_scaled_gemm.scaled<?x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<2x64x64, nvfp4>
!rows = !grouped_scaled_gemm.scaled<?x32, nvfp4>
!columns = !grouped_scaled_gemm.scaled<32x?, nvfp4, blocked>

// Both are the kernel's: the rows become the result.
// PRINT-LABEL: func @within_a_kernel(
// STORE-LABEL: func @within_a_kernel(
// SEPARATE-LABEL: func @within_a_kernel(
// SEPARATE-NOT:     alloc{{.*}}f32>
// SEPARATE:         grouped_scaled_gemm.matmul
// SEPARATE-SAME:      quantizer = <trtllm> outs(%{{[a-z0-9_]*}} scaled_by
// SEPARATE-SAME:      copies(<te, rounding = stochastic> transposed hadamard = <normalized> seed(%{{.*}}) outs(
// SEPARATE-NOT:     quantize
func.func @within_a_kernel(%a: !a, %b: !b, %ends: tensor<2xi32>, %seed: i64) -> (!columns, !rows) {
  %r:2 = grouped_scaled_gemm.matmul <ragged_rows, ends, align = 16> groups(%ends : tensor<2xi32>)
      lhs(%a : !a) rhs(%b : !b) activation = <swiglu, gate = <halves, gate_first>>
      copies(<te, rounding = stochastic> transposed hadamard = <normalized> seed(%seed), <trtllm>)
      -> !columns, !rows
  return %r#0, %r#1 : !columns, !rows
}
