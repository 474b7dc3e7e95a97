// RUN: nvfp4-opt %s --gsg-select-strategy | FileCheck %s
// RUN: nvfp4-opt %s --gsg-select-strategy --gsg-select-strategy | FileCheck %s
// RUN: nvfp4-opt %s --gsg-decompose-scaled --gsg-select-strategy | FileCheck %s
// RUN: nvfp4-opt %s --gsg-select-strategy="target=sm_103a" | FileCheck %s
// RUN: nvfp4-opt %s --gsg-select-strategy="target=sm_100f" | FileCheck %s
// RUN: nvfp4-opt %s --gsg-select-strategy="expected-rows=8" | FileCheck %s --check-prefix=HINT

// gsg-select-strategy records a complete strategy on every product, in value
// and in storage form.

!act = !grouped_scaled_gemm.scaled<?x7168, nvfp4>
!weights = !grouped_scaled_gemm.scaled<8x4096x7168, nvfp4>

// Without a hint: 128 rows a group, weights on m.
// CHECK-LABEL: func.func @dynamic_rows
// CHECK:         strategy = #grouped_scaled_gemm.strategy<m = 256, n = 128, k = 256, stages = 7, ctas = 2, accumulator_stages = 2, scale_stages = 2, epilogue_n = 32, swap_ab = true>
// HINT-LABEL:  func.func @dynamic_rows
// HINT:          strategy = #grouped_scaled_gemm.strategy<m = 128, n = 8, k = 256, stages = 10, accumulator_stages = 2, scale_stages = 2, epilogue_n = 8, swap_ab = true>
func.func @dynamic_rows(%ends: tensor<8xi32>, %a: !act, %b: !weights, %c: tensor<?x4096xbf16>) -> tensor<?x4096xbf16> {
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<8xi32>)
      lhs(%a : !act) rhs(%b : !weights) outs(%c : tensor<?x4096xbf16>) -> tensor<?x4096xbf16>
  return %d : tensor<?x4096xbf16>
}

// The hint of an op wins over that of the pass.
// CHECK-LABEL: func.func @few_rows
// CHECK:         strategy = #grouped_scaled_gemm.strategy<m = 128, n = 8, {{.*}}swap_ab = true>
// HINT-LABEL:  func.func @many_rows
// HINT:          strategy = #grouped_scaled_gemm.strategy<m = 256, n = 256, k = 256, stages = 5, ctas = 2, accumulator_stages = 2, scale_stages = 1, epilogue_n = 32{{.*}}>
func.func @few_rows(%ends: tensor<8xi32>, %a: !act, %b: !weights, %c: tensor<?x4096xbf16>) -> tensor<?x4096xbf16> {
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<8xi32>)
      lhs(%a : !act) rhs(%b : !weights) outs(%c : tensor<?x4096xbf16>) {expected_rows = 16 : i64} -> tensor<?x4096xbf16>
  return %d : tensor<?x4096xbf16>
}
func.func @many_rows(%ends: tensor<8xi32>, %a: !act, %b: !weights, %c: tensor<?x4096xbf16>) -> tensor<?x4096xbf16> {
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<8xi32>)
      lhs(%a : !act) rhs(%b : !weights) outs(%c : tensor<?x4096xbf16>) {expected_rows = 65536 : i64} -> tensor<?x4096xbf16>
  return %d : tensor<?x4096xbf16>
}

// What the user gives is kept, what is left open is filled in.
// CHECK-LABEL: func.func @given
// CHECK:         strategy = #grouped_scaled_gemm.strategy<m = 128, n = 128, k = 256, stages = 3, accumulator_stages = 2, scale_stages = 2, epilogue_n = 32, scheduler = dynamic_counter>
func.func @given(%ends: tensor<8xi32>, %a: !act, %b: !weights, %c: tensor<?x4096xbf16>) -> tensor<?x4096xbf16> {
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<8xi32>)
      lhs(%a : !act) rhs(%b : !weights) outs(%c : tensor<?x4096xbf16>)
      {strategy = #grouped_scaled_gemm.strategy<m = 128, n = 128, k = 256, stages = 3, scheduler = dynamic_counter>} -> tensor<?x4096xbf16>
  return %d : tensor<?x4096xbf16>
}

// Tiles hold whole pairs of gate and up rows: halves need 128 of each.
// CHECK-LABEL: func.func @halves
// CHECK:         strategy = #grouped_scaled_gemm.strategy<m = {{128|256}}, n = 256, k = 256,
// CHECK-NOT:     swap_ab
// CHECK-LABEL: func.func @fp8
func.func @halves(%ends: tensor<8xi32>, %a: !act, %b: !weights, %c: tensor<?x2048xbf16>) -> tensor<?x2048xbf16> {
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<8xi32>)
      lhs(%a : !act) rhs(%b : !weights) activation = <swiglu, gate = <halves, gate_first>>
      outs(%c : tensor<?x2048xbf16>) -> tensor<?x2048xbf16>
  return %d : tensor<?x2048xbf16>
}

// Eight bits an element: 128 elements of K a stage.
// CHECK:         strategy = #grouped_scaled_gemm.strategy<m = {{[0-9]+}}, n = {{[0-9]+}}, k = 128,
func.func @fp8(%a: !grouped_scaled_gemm.scaled<4x64x512, mxfp8_e4m3>, %b: !grouped_scaled_gemm.scaled<4x256x512, mxfp8_e4m3>,
               %c: tensor<4x64x256xf32>) -> tensor<4x64x256xf32> {
  %d = grouped_scaled_gemm.matmul <batched> lhs(%a : !grouped_scaled_gemm.scaled<4x64x512, mxfp8_e4m3>)
      rhs(%b : !grouped_scaled_gemm.scaled<4x256x512, mxfp8_e4m3>) outs(%c : tensor<4x64x256xf32>) -> tensor<4x64x256xf32>
  return %d : tensor<4x64x256xf32>
}

// K is grouped: both operands are large.
// CHECK-LABEL: func.func @ragged_k
// CHECK:         strategy =
// CHECK-LABEL: func.func @list
func.func @ragged_k(%ends: tensor<4xi32>, %a: !grouped_scaled_gemm.scaled<512x8192, mxfp4>,
                    %b: !grouped_scaled_gemm.scaled<1024x8192, mxfp4>, %c: tensor<4x512x1024xf32>) -> tensor<4x512x1024xf32> {
  %d = grouped_scaled_gemm.matmul <ragged_k, ends, align = 32> groups(%ends : tensor<4xi32>)
      lhs(%a : !grouped_scaled_gemm.scaled<512x8192, mxfp4>) rhs(%b : !grouped_scaled_gemm.scaled<1024x8192, mxfp4>)
      outs(%c : tensor<4x512x1024xf32>) -> tensor<4x512x1024xf32>
  return %d : tensor<4x512x1024xf32>
}

// A list of problems has one strategy; so has a masked product, whose capacity
// bounds the rows.
// CHECK:         strategy =
// CHECK-LABEL: func.func @masked
// CHECK:         strategy = #grouped_scaled_gemm.strategy<m = {{[0-9]+}}, n = 16, {{.*}}swap_ab = true>
func.func @list(%a0: !grouped_scaled_gemm.scaled<64x512, nvfp4>, %b0: !grouped_scaled_gemm.scaled<128x512, nvfp4>,
                %a1: !grouped_scaled_gemm.scaled<?x256, nvfp4>, %b1: !grouped_scaled_gemm.scaled<384x256, nvfp4>,
                %c0: tensor<64x128xf16>, %c1: tensor<?x384xf16>) -> (tensor<64x128xf16>, tensor<?x384xf16>) {
  %d:2 = grouped_scaled_gemm.matmul_list
      lhs(%a0 : !grouped_scaled_gemm.scaled<64x512, nvfp4>, %a1 : !grouped_scaled_gemm.scaled<?x256, nvfp4>)
      rhs(%b0 : !grouped_scaled_gemm.scaled<128x512, nvfp4>, %b1 : !grouped_scaled_gemm.scaled<384x256, nvfp4>)
      outs(%c0, %c1 : tensor<64x128xf16>, tensor<?x384xf16>) -> tensor<64x128xf16>, tensor<?x384xf16>
  return %d#0, %d#1 : tensor<64x128xf16>, tensor<?x384xf16>
}
func.func @masked(%n: tensor<32xi32>, %a: !grouped_scaled_gemm.scaled<32x16x2048, nvfp4>,
                  %b: !grouped_scaled_gemm.scaled<32x4096x2048, nvfp4>, %c: tensor<32x16x4096xbf16>) -> tensor<32x16x4096xbf16> {
  %d = grouped_scaled_gemm.matmul <masked> groups(%n : tensor<32xi32>)
      lhs(%a : !grouped_scaled_gemm.scaled<32x16x2048, nvfp4>) rhs(%b : !grouped_scaled_gemm.scaled<32x4096x2048, nvfp4>)
      outs(%c : tensor<32x16x4096xbf16>) -> tensor<32x16x4096xbf16>
  return %d : tensor<32x16x4096xbf16>
}
