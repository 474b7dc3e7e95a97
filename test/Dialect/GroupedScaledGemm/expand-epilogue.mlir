// Each clause of a product in its place within the epilogue region, in the order of docs/Spec.md, section 3.
// RUN: nvfp4-opt %s --gsg-expand-epilogue --verify-roundtrip --split-input-file | FileCheck %s
// RUN: nvfp4-opt %s --gsg-expand-epilogue --mlir-print-op-generic --verify-roundtrip --split-input-file -o /dev/null
// The pass leaves an expanded product as it is, and so do simplifications of the region.
// RUN: nvfp4-opt %s --gsg-expand-epilogue --canonicalize --cse --gsg-expand-epilogue --verify-roundtrip --split-input-file -o /dev/null

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>

// CHECK-LABEL: func @nothing(
// CHECK:         activation = <custom> epilogue {
// CHECK-NEXT:    ^bb0(%[[ACC:.*]]: f32):
// CHECK-NEXT:      store_result %[[ACC]]
// CHECK-NEXT:    } outs(
func.func @nothing(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// CHECK-LABEL: func @alpha(
// CHECK:         alpha(%{{.*}} : f32) activation = <custom> epilogue {
// CHECK-NEXT:    ^bb0(%[[ACC:.*]]: f32):
// CHECK-NEXT:      %[[ALPHA:.*]] = grouped_scaled_gemm.load_clause alpha
// CHECK-NEXT:      %[[Z:.*]] = arith.mulf %[[ALPHA]], %[[ACC]] : f32
// CHECK-NEXT:      store_result %[[Z]]
func.func @alpha(%a: !a, %b: !b, %s: f32, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) alpha(%s : f32)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// The destination is the addend.
// CHECK-LABEL: func @beta(
// CHECK:         ^bb0(%[[ACC:.*]]: f32):
// CHECK-NEXT:      %[[ADDEND:.*]] = grouped_scaled_gemm.load_clause addend
// CHECK-NEXT:      %[[BETA:.*]] = grouped_scaled_gemm.load_clause beta
// CHECK-NEXT:      %[[SCALED:.*]] = arith.mulf %[[BETA]], %[[ADDEND]] : f32
// CHECK-NEXT:      %[[Z:.*]] = arith.addf %[[ACC]], %[[SCALED]] : f32
// CHECK-NEXT:      store_result %[[Z]]
func.func @beta(%a: !a, %b: !b, %s: f32, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) beta(%s : f32)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// CHECK-LABEL: func @addend(
// CHECK:         ^bb0(%[[ACC:.*]]: f32):
// CHECK-NEXT:      %[[ADDEND:.*]] = grouped_scaled_gemm.load_clause addend
// CHECK-NEXT:      %[[Z:.*]] = arith.addf %[[ACC]], %[[ADDEND]] : f32
// CHECK-NEXT:      store_result %[[Z]]
func.func @addend(%a: !a, %b: !b, %s: tensor<16x32xbf16>, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) addend(%s : tensor<16x32xbf16>)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// CHECK-LABEL: func @bias(
// CHECK:         ^bb0(%[[ACC:.*]]: f32):
// CHECK-NEXT:      %[[BIAS:.*]] = grouped_scaled_gemm.load_clause bias
// CHECK-NEXT:      %[[Z:.*]] = arith.addf %[[ACC]], %[[BIAS]] : f32
// CHECK-NEXT:      store_result %[[Z]]
func.func @bias(%a: !a, %b: !b, %s: tensor<32xf16>, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) bias(%s : tensor<32xf16>)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// -----

// The second-level scale of each row follows alpha, and prob at gemm follows it.

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>

// CHECK-LABEL: func @row_scale(
// CHECK:         row_scale(%{{.*}} : tensor<16xf32>) beta(%{{.*}} : f32) prob(%{{.*}} : tensor<16xf32>)
// CHECK:         ^bb0(%[[ACC:.*]]: f32):
// CHECK-NEXT:      %[[ALPHA:.*]] = grouped_scaled_gemm.load_clause alpha
// CHECK-NEXT:      %[[Z0:.*]] = arith.mulf %[[ALPHA]], %[[ACC]] : f32
// CHECK-NEXT:      %[[SCALE:.*]] = grouped_scaled_gemm.load_clause row_scale
// CHECK-NEXT:      %[[Z1:.*]] = arith.mulf %[[Z0]], %[[SCALE]] : f32
// CHECK-NEXT:      %[[PROB:.*]] = grouped_scaled_gemm.load_clause prob
// CHECK-NEXT:      %[[Z2:.*]] = arith.mulf %[[Z1]], %[[PROB]] : f32
// CHECK-NEXT:      grouped_scaled_gemm.load_clause addend
func.func @row_scale(%a: !a, %b: !b, %s: f32, %r: tensor<16xf32>, %p: tensor<16xf32>, %c: tensor<16x32xf32>)
    -> tensor<16x32xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) alpha(%s : f32) row_scale(%r : tensor<16xf32>)
      beta(%s : f32) prob(%p : tensor<16xf32>) at gemm outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// -----

// The positions of prob, each with a bias and the stored pre-activation.

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>

// A position has no place in the text afterwards.
// CHECK-LABEL: func @prob_at_gemm(
// CHECK:         prob(%{{.*}} : tensor<16xf32>) activation = <custom> epilogue {
// CHECK:         ^bb0(%[[ACC:.*]]: f32):
// CHECK-NEXT:      %[[PROB:.*]] = grouped_scaled_gemm.load_clause prob
// CHECK-NEXT:      %[[SCALED:.*]] = arith.mulf %[[ACC]], %[[PROB]] : f32
// CHECK-NEXT:      %[[BIAS:.*]] = grouped_scaled_gemm.load_clause bias
// CHECK-NEXT:      %[[Z:.*]] = arith.addf %[[SCALED]], %[[BIAS]] : f32
// CHECK-NEXT:      store_preact %[[Z]]
// CHECK:           %[[Y:.*]] = arith.maximumf %[[Z]], %{{.*}} : f32
// CHECK-NEXT:      store_result %[[Y]]
func.func @prob_at_gemm(%a: !a, %b: !b, %s: tensor<32xf32>, %p: tensor<16xf32>, %z: tensor<16x32xbf16>,
                        %c: tensor<16x32xf32>) -> (tensor<16x32xbf16>, tensor<16x32xf32>) {
  %d:2 = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) bias(%s : tensor<32xf32>)
      prob(%p : tensor<16xf32>) at gemm activation = <relu> preact_outs(%z : tensor<16x32xbf16>)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xbf16>, tensor<16x32xf32>
  return %d#0, %d#1 : tensor<16x32xbf16>, tensor<16x32xf32>
}

// CHECK-LABEL: func @prob_at_bias(
// CHECK:         ^bb0(%[[ACC:.*]]: f32):
// CHECK-NEXT:      %[[BIAS:.*]] = grouped_scaled_gemm.load_clause bias
// CHECK-NEXT:      %[[PROB:.*]] = grouped_scaled_gemm.load_clause prob
// CHECK-NEXT:      %[[SCALED:.*]] = arith.mulf %[[BIAS]], %[[PROB]] : f32
// CHECK-NEXT:      %[[Z:.*]] = arith.addf %[[ACC]], %[[SCALED]] : f32
// CHECK-NEXT:      store_preact %[[Z]]
func.func @prob_at_bias(%a: !a, %b: !b, %s: tensor<32xf32>, %p: tensor<16xf32>, %z: tensor<16x32xbf16>,
                        %c: tensor<16x32xf32>) -> (tensor<16x32xbf16>, tensor<16x32xf32>) {
  %d:2 = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) bias(%s : tensor<32xf32>)
      prob(%p : tensor<16xf32>) at bias activation = <relu> preact_outs(%z : tensor<16x32xbf16>)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xbf16>, tensor<16x32xf32>
  return %d#0, %d#1 : tensor<16x32xbf16>, tensor<16x32xf32>
}

// CHECK-LABEL: func @prob_at_pre_activation(
// CHECK:           %[[SUM:.*]] = arith.addf
// CHECK-NEXT:      %[[PROB:.*]] = grouped_scaled_gemm.load_clause prob
// CHECK-NEXT:      %[[Z:.*]] = arith.mulf %[[SUM]], %[[PROB]] : f32
// CHECK-NEXT:      store_preact %[[Z]]
func.func @prob_at_pre_activation(%a: !a, %b: !b, %s: tensor<32xf32>, %p: tensor<16xf32>, %z: tensor<16x32xbf16>,
                                  %c: tensor<16x32xf32>) -> (tensor<16x32xbf16>, tensor<16x32xf32>) {
  %d:2 = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) bias(%s : tensor<32xf32>)
      prob(%p : tensor<16xf32>) at pre_activation activation = <relu> preact_outs(%z : tensor<16x32xbf16>)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xbf16>, tensor<16x32xf32>
  return %d#0, %d#1 : tensor<16x32xbf16>, tensor<16x32xf32>
}

// CHECK-LABEL: func @prob_at_post_activation(
// CHECK:           store_preact
// CHECK:           %[[Y:.*]] = arith.maximumf
// CHECK-NEXT:      %[[PROB:.*]] = grouped_scaled_gemm.load_clause prob
// CHECK-NEXT:      %[[SCALED:.*]] = arith.mulf %[[Y]], %[[PROB]] : f32
// CHECK-NEXT:      store_result %[[SCALED]]
func.func @prob_at_post_activation(%a: !a, %b: !b, %s: tensor<32xf32>, %p: tensor<16xf32>, %z: tensor<16x32xbf16>,
                                   %c: tensor<16x32xf32>) -> (tensor<16x32xbf16>, tensor<16x32xf32>) {
  %d:2 = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) bias(%s : tensor<32xf32>)
      prob(%p : tensor<16xf32>) at post_activation activation = <relu> preact_outs(%z : tensor<16x32xbf16>)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xbf16>, tensor<16x32xf32>
  return %d#0, %d#1 : tensor<16x32xbf16>, tensor<16x32xf32>
}

// -----

// All clauses together: one step after the other, the maximum before the store, and the quantiser stays on the product.

!a = !grouped_scaled_gemm.scaled<?x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x64x64, nvfp4>
!y = !grouped_scaled_gemm.scaled<?x32, nvfp4>

// CHECK-LABEL: func @all(
// CHECK:         activation = <custom, gate = <16, up_first>>
// CHECK-SAME:    activation_params(%{{.*}} : tensor<4x3xf32>) epilogue {
// CHECK-NEXT:    ^bb0(%[[ACC:.*]]: f32):
// CHECK-NEXT:      %[[ALPHA:.*]] = grouped_scaled_gemm.load_clause alpha
// CHECK-NEXT:      %[[Z0:.*]] = arith.mulf %[[ALPHA]], %[[ACC]] : f32
// CHECK-NEXT:      %[[ADDEND:.*]] = grouped_scaled_gemm.load_clause addend
// CHECK-NEXT:      %[[BETA:.*]] = grouped_scaled_gemm.load_clause beta
// CHECK-NEXT:      %[[SCALED:.*]] = arith.mulf %[[BETA]], %[[ADDEND]] : f32
// CHECK-NEXT:      %[[Z1:.*]] = arith.addf %[[Z0]], %[[SCALED]] : f32
// CHECK-NEXT:      %[[BIAS:.*]] = grouped_scaled_gemm.load_clause bias
// CHECK-NEXT:      %[[Z:.*]] = arith.addf %[[Z1]], %[[BIAS]] : f32
// CHECK-NEXT:      store_preact %[[Z]]
// CHECK-NEXT:      %[[GATE:.*]], %[[UP:.*]] = grouped_scaled_gemm.pair_columns %[[Z]]
// CHECK-NEXT:      %[[A:.*]] = grouped_scaled_gemm.load_clause activation_params[0]
// CHECK-NEXT:      %[[B:.*]] = grouped_scaled_gemm.load_clause activation_params[1]
// CHECK-NEXT:      %[[LIMIT:.*]] = grouped_scaled_gemm.load_clause activation_params[2]
// CHECK-NEXT:      %[[G0:.*]] = grouped_scaled_gemm.round_bf16 %[[GATE]]
// CHECK-NEXT:      %[[U0:.*]] = grouped_scaled_gemm.round_bf16 %[[UP]]
// CHECK-NEXT:      %[[G:.*]] = arith.minimumf %[[G0]], %[[LIMIT]] : f32
// CHECK-NEXT:      %[[U1:.*]] = arith.minimumf %[[U0]], %[[LIMIT]] : f32
// CHECK-NEXT:      %[[LOW:.*]] = arith.negf %[[LIMIT]] : f32
// CHECK-NEXT:      %[[U:.*]] = arith.maximumf %[[U1]], %[[LOW]] : f32
// CHECK-NEXT:      %[[X:.*]] = arith.mulf %[[A]], %[[G]] : f32
// CHECK-NEXT:      %[[S:.*]] = grouped_scaled_gemm.sigmoid %[[X]] : f32
// CHECK-NEXT:      %[[GS:.*]] = arith.mulf %[[G]], %[[S]] : f32
// CHECK-NEXT:      %[[UB:.*]] = arith.addf %[[U]], %[[B]] : f32
// CHECK-NEXT:      %[[Y:.*]] = arith.mulf %[[GS]], %[[UB]] : f32
// CHECK-NEXT:      %[[PROB:.*]] = grouped_scaled_gemm.load_clause prob
// CHECK-NEXT:      %[[RESULT:.*]] = arith.mulf %[[Y]], %[[PROB]] : f32
// CHECK-NEXT:      fold_amax %[[RESULT]]
// CHECK-NEXT:      store_result %[[RESULT]]
// CHECK-NEXT:    } quantizer = <trtllm> global_scale(
func.func @all(%ends: tensor<4xi32>, %a: !a, %w: !w, %s: tensor<4x2xf32>, %be: tensor<4xf32>, %c: tensor<?x64xf32>,
               %bi: tensor<4x64xbf16>, %p: tensor<?xf32>, %par: tensor<4x3xf32>, %gs: f32, %z: tensor<?x64xbf16>,
               %m: tensor<4xf32>) -> (tensor<?x64xbf16>, !y, tensor<4xf32>) {
  %d:3 = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<4xi32>) lhs(%a : !a) rhs(%w : !w)
      alpha(%s : tensor<4x2xf32>) beta(%be : tensor<4xf32>) addend(%c : tensor<?x64xf32>) bias(%bi : tensor<4x64xbf16>)
      prob(%p : tensor<?xf32>) at post_activation activation = <swiglu, gate = <16, up_first>, round_bf16>
      activation_params(%par : tensor<4x3xf32>) quantizer = <trtllm> global_scale(%gs : f32)
      preact_outs(%z : tensor<?x64xbf16>) amax_outs(%m : tensor<4xf32>)
      {math = #grouped_scaled_gemm<math fast>} -> tensor<?x64xbf16>, !y, tensor<4xf32>
  return %d#0, %d#1, %d#2 : tensor<?x64xbf16>, !y, tensor<4xf32>
}

// -----

// Other forms of groups have the same regions; a list has alpha, and beta with the destination.

!a = !grouped_scaled_gemm.scaled<4x16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>

// CHECK-LABEL: func @masked(
// CHECK:         ^bb0(%[[ACC:.*]]: f32):
// CHECK-NEXT:      %[[PROB:.*]] = grouped_scaled_gemm.load_clause prob
// CHECK-NEXT:      %[[Y:.*]] = arith.mulf %[[ACC]], %[[PROB]] : f32
// CHECK-NEXT:      fold_amax %[[Y]]
// CHECK-NEXT:      store_result %[[Y]]
func.func @masked(%counts: tensor<4xi32>, %a: !a, %b: !b, %p: tensor<4x16xf32>, %c: tensor<4x16x32xf16>,
                  %m: tensor<4xf32>) -> (tensor<4x16x32xf16>, tensor<4xf32>) {
  %d:2 = grouped_scaled_gemm.matmul <masked> groups(%counts : tensor<4xi32>) lhs(%a : !a) rhs(%b : !b)
      prob(%p : tensor<4x16xf32>) at gemm outs(%c : tensor<4x16x32xf16>) amax_outs(%m : tensor<4xf32>)
      -> tensor<4x16x32xf16>, tensor<4xf32>
  return %d#0, %d#1 : tensor<4x16x32xf16>, tensor<4xf32>
}

!x = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!v = !grouped_scaled_gemm.scaled<32x64, nvfp4>

// CHECK-LABEL: func @list(
// CHECK:         alpha(%{{.*}} : tensor<2xf32>) beta(%{{.*}} : f32) epilogue {
// CHECK-NEXT:    ^bb0(%[[ACC:.*]]: f32):
// CHECK-NEXT:      %[[ALPHA:.*]] = grouped_scaled_gemm.load_clause alpha
// CHECK-NEXT:      %[[Z:.*]] = arith.mulf %[[ALPHA]], %[[ACC]] : f32
// CHECK-NEXT:      %[[OUT:.*]] = grouped_scaled_gemm.load_clause addend
// CHECK-NEXT:      %[[BETA:.*]] = grouped_scaled_gemm.load_clause beta
// CHECK-NEXT:      %[[SCALED:.*]] = arith.mulf %[[BETA]], %[[OUT]] : f32
// CHECK-NEXT:      %[[Y:.*]] = arith.addf %[[Z]], %[[SCALED]] : f32
// CHECK-NEXT:      store_result %[[Y]]
// CHECK-NEXT:    } outs(
func.func @list(%x: !x, %v: !v, %s: tensor<2xf32>, %be: f32, %c: tensor<16x32xf32>)
    -> (tensor<16x32xf32>, tensor<16x32xf32>) {
  %d:2 = grouped_scaled_gemm.matmul_list lhs(%x : !x, %x : !x) rhs(%v : !v, %v : !v) alpha(%s : tensor<2xf32>)
      beta(%be : f32) outs(%c, %c : tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>, tensor<16x32xf32>
  return %d#0, %d#1 : tensor<16x32xf32>, tensor<16x32xf32>
}

// CHECK-LABEL: func @plain_list(
// CHECK:         ^bb0(%[[ACC:.*]]: f32):
// CHECK-NEXT:      store_result %[[ACC]]
func.func @plain_list(%x: !x, %v: !v, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %d = grouped_scaled_gemm.matmul_list lhs(%x : !x) rhs(%v : !v) outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}
