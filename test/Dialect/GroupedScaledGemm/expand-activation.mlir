// Activations within an expanded epilogue: formulas as arith, pairs, rounding points, and regions of programs.
// RUN: nvfp4-opt %s --gsg-expand-epilogue --verify-roundtrip --split-input-file | FileCheck %s
// RUN: nvfp4-opt %s --gsg-expand-epilogue --canonicalize --cse --verify-roundtrip --split-input-file -o /dev/null

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<64x64, nvfp4>

// CHECK-LABEL: func @relu2(
// CHECK:         activation = <custom> epilogue
// CHECK:           %[[R:.*]] = arith.maximumf %[[ACC:.*]], %{{.*}} : f32
// CHECK-NEXT:      %[[Y:.*]] = arith.mulf %[[R]], %[[R]] : f32
// CHECK-NEXT:      store_result %[[Y]]
func.func @relu2(%a: !a, %b: !b, %c: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) activation = <relu2>
      outs(%c : tensor<16x64xf32>) -> tensor<16x64xf32>
  return %d : tensor<16x64xf32>
}

// CHECK-LABEL: func @silu(
// CHECK:         ^bb0(%[[ACC:.*]]: f32):
// CHECK-NEXT:      %[[S:.*]] = grouped_scaled_gemm.sigmoid %[[ACC]] : f32
// CHECK-NEXT:      arith.mulf %[[ACC]], %[[S]] : f32
func.func @silu(%a: !a, %b: !b, %c: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) activation = <silu>
      outs(%c : tensor<16x64xf32>) -> tensor<16x64xf32>
  return %d : tensor<16x64xf32>
}

// math = fast is a property of the sigmoid, and stays on the product for its tiles.
// CHECK-LABEL: func @fast_silu(
// CHECK:           %[[S:.*]] = grouped_scaled_gemm.sigmoid fast %[[ACC:.*]] : f32
// CHECK-NEXT:      arith.mulf %[[ACC]], %[[S]] : f32
// CHECK:         math = #grouped_scaled_gemm<math fast>
func.func @fast_silu(%a: !a, %b: !b, %c: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) activation = <silu>
      outs(%c : tensor<16x64xf32>) {math = #grouped_scaled_gemm<math fast>} -> tensor<16x64xf32>
  return %d : tensor<16x64xf32>
}

// The sigmoid of a rounded z is exact.
// CHECK-LABEL: func @rounded_silu(
// CHECK:         activation = <custom> epilogue
// CHECK:           %[[Z:.*]] = grouped_scaled_gemm.round_bf16 %{{.*}}
// CHECK-NEXT:      %[[S:.*]] = grouped_scaled_gemm.sigmoid %[[Z]] : f32
// CHECK-NEXT:      arith.mulf %[[Z]], %[[S]] : f32
func.func @rounded_silu(%a: !a, %b: !b, %c: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) activation = <silu, round_bf16>
      outs(%c : tensor<16x64xf32>) {math = #grouped_scaled_gemm<math fast>} -> tensor<16x64xf32>
  return %d : tensor<16x64xf32>
}

// In f64, rounded once.
// CHECK-LABEL: func @gelu_tanh(
// CHECK:         ^bb0(%[[ACC:.*]]: f32):
// CHECK-NEXT:      %[[Z:.*]] = arith.extf %[[ACC]] : f32 to f64
// CHECK:           %[[S:.*]] = grouped_scaled_gemm.sigmoid %{{.*}} : f64
// CHECK-NEXT:      %[[T:.*]] = arith.truncf %[[S]] : f64 to f32
// CHECK-NEXT:      %[[Y:.*]] = arith.mulf %[[ACC]], %[[T]] : f32
// CHECK-NEXT:      store_result %[[Y]]
func.func @gelu_tanh(%a: !a, %b: !b, %c: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) activation = <gelu_tanh>
      outs(%c : tensor<16x64xf32>) {math = #grouped_scaled_gemm<math fast>} -> tensor<16x64xf32>
  return %d : tensor<16x64xf32>
}

// -----

// The gate layout stays on the product, in each order and granularity; the region has gate and up.

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<64x64, nvfp4>

// CHECK-LABEL: func @reglu_halves_gate_first(
// CHECK:         activation = <custom, gate = <halves, gate_first>> epilogue
// CHECK:           %[[GATE:.*]], %[[UP:.*]] = grouped_scaled_gemm.pair_columns %{{.*}}
// CHECK:           %[[R:.*]] = arith.maximumf %[[GATE]], %{{.*}} : f32
// CHECK-NEXT:      %[[Y:.*]] = arith.mulf %[[R]], %[[UP]] : f32
// CHECK-NEXT:      store_result %[[Y]]
func.func @reglu_halves_gate_first(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) activation = <reglu, gate = <halves, gate_first>>
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// CHECK-LABEL: func @reglu_32_up_first(
// CHECK:         activation = <custom, gate = <32, up_first>> epilogue
// CHECK:           %[[GATE:.*]], %[[UP:.*]] = grouped_scaled_gemm.pair_columns %{{.*}}
// CHECK:           %[[R:.*]] = arith.maximumf %[[GATE]], %{{.*}} : f32
// CHECK-NEXT:      %[[Y:.*]] = arith.mulf %[[R]], %[[UP]] : f32
func.func @reglu_32_up_first(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) activation = <reglu, gate = <32, up_first>>
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// CHECK-LABEL: func @geglu_tanh_1_up_first(
// CHECK:         activation = <custom, gate = <1, up_first>> epilogue
// CHECK:           %[[GATE:.*]], %[[UP:.*]] = grouped_scaled_gemm.pair_columns %{{.*}}
// CHECK-NEXT:      arith.extf %[[GATE]] : f32 to f64
// CHECK:           %[[H:.*]] = arith.mulf %[[GATE]], %{{.*}} : f32
// CHECK-NEXT:      arith.mulf %[[H]], %[[UP]] : f32
func.func @geglu_tanh_1_up_first(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) activation = <geglu_tanh, gate = <1, up_first>>
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// Parameters of the attribute are constants of the region, and no longer of the attribute.
// CHECK-LABEL: func @swiglu_parameters(
// CHECK:         activation = <custom, gate = <halves, gate_first>> epilogue
// CHECK:           %[[GATE:.*]], %[[UP:.*]] = grouped_scaled_gemm.pair_columns %{{.*}}
// CHECK-DAG:       %[[ALPHA:.*]] = arith.constant 1.702{{.*}} : f32
// CHECK-DAG:       %[[BETA:.*]] = arith.constant 1.0{{.*}} : f32
// CHECK-DAG:       %[[LIMIT:.*]] = arith.constant 7.0{{.*}} : f32
// CHECK:           %[[G:.*]] = arith.minimumf %[[GATE]], %[[LIMIT]] : f32
// CHECK:           %[[SCALED:.*]] = arith.mulf %[[ALPHA]], %[[G]] : f32
// CHECK-NEXT:      grouped_scaled_gemm.sigmoid fast %[[SCALED]] : f32
// CHECK:           arith.addf %{{.*}}, %[[BETA]] : f32
func.func @swiglu_parameters(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <swiglu, gate = <halves, gate_first>, alpha = 1.702, beta = 1.0, limit = 7.0>
      outs(%c : tensor<16x32xf32>) {math = #grouped_scaled_gemm<math fast>} -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// -----

// The region of a program becomes a part of the whole one: its arguments are loads, if it uses them, after rounding.

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<64x64, nvfp4>

// CHECK-LABEL: func @custom(
// CHECK:         activation = <custom> row(%{{.*}}, %{{.*}} : tensor<16xf32>, tensor<16xf32>)
// CHECK:         ^bb0(%[[ACC:.*]]: f32):
// CHECK-NEXT:      %[[BIAS:.*]] = grouped_scaled_gemm.load_clause bias
// CHECK-NEXT:      %[[SUM:.*]] = arith.addf %[[ACC]], %[[BIAS]] : f32
// CHECK-NEXT:      %[[Z:.*]] = grouped_scaled_gemm.round_bf16 %[[SUM]]
// CHECK-NEXT:      %[[ROW:.*]] = grouped_scaled_gemm.load_clause row[1]
// CHECK-NEXT:      %[[COLUMN:.*]] = grouped_scaled_gemm.load_clause column[0]
// CHECK-NEXT:      %[[GROUP:.*]] = grouped_scaled_gemm.load_clause group[0]
// CHECK-NEXT:      %[[TWO:.*]] = arith.constant 2.0
// CHECK-NEXT:      %[[P:.*]] = arith.mulf %[[Z]], %[[ROW]] : f32
// CHECK-NEXT:      %[[Q:.*]] = arith.addf %[[P]], %[[COLUMN]] : f32
// CHECK-NEXT:      %[[R:.*]] = arith.mulf %[[Q]], %[[GROUP]] : f32
// CHECK-NEXT:      %[[Y:.*]] = arith.mulf %[[R]], %[[TWO]] : f32
// CHECK-NEXT:      %[[PROB:.*]] = grouped_scaled_gemm.load_clause prob
// CHECK-NEXT:      %[[RESULT:.*]] = arith.mulf %[[Y]], %[[PROB]] : f32
// CHECK-NEXT:      store_result %[[RESULT]]
func.func @custom(%a: !a, %b: !b, %bi: tensor<64xf32>, %p: tensor<16xf32>, %row: tensor<16xf32>, %column: tensor<64xf32>,
                  %group: tensor<1xf32>, %c: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) bias(%bi : tensor<64xf32>)
      prob(%p : tensor<16xf32>) at post_activation activation = <custom, round_bf16>
      row(%row, %row : tensor<16xf32>, tensor<16xf32>) column(%column : tensor<64xf32>) group(%group : tensor<1xf32>)
      epilogue {
      ^bb0(%z: f32, %unused: f32, %r: f32, %n: f32, %g: f32):
        %two = arith.constant 2.0 : f32
        %0 = arith.mulf %z, %r : f32
        %1 = arith.addf %0, %n : f32
        %2 = arith.mulf %1, %g : f32
        %3 = arith.mulf %2, %two : f32
        grouped_scaled_gemm.yield %3 : f32
      }
      outs(%c : tensor<16x64xf32>) -> tensor<16x64xf32>
  return %d : tensor<16x64xf32>
}

// CHECK-LABEL: func @custom_pairs(
// CHECK:         activation = <custom, gate = <8, up_first>> column(
// CHECK:         ^bb0(%[[ACC:.*]]: f32):
// CHECK-NEXT:      %[[GATE:.*]], %[[UP:.*]] = grouped_scaled_gemm.pair_columns %[[ACC]]
// CHECK-NEXT:      %[[COLUMN:.*]] = grouped_scaled_gemm.load_clause column[0]
// CHECK-NEXT:      %[[P:.*]] = arith.mulf %[[GATE]], %[[COLUMN]] : f32
// CHECK-NEXT:      %[[Y:.*]] = arith.subf %[[UP]], %[[P]] : f32
// CHECK-NEXT:      store_result %[[Y]]
func.func @custom_pairs(%a: !a, %b: !b, %column: tensor<32xf32>, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) activation = <custom, gate = <8, up_first>>
      column(%column : tensor<32xf32>)
      epilogue {
      ^bb0(%gate: f32, %up: f32, %n: f32):
        %0 = arith.mulf %gate, %n : f32
        %1 = arith.subf %up, %0 : f32
        grouped_scaled_gemm.yield %1 : f32
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}
