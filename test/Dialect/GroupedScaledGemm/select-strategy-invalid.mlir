// RUN: nvfp4-opt %s --gsg-select-strategy --split-input-file --verify-diagnostics
// RUN: not nvfp4-opt %s --gsg-select-strategy="target=sm_80" --split-input-file 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not nvfp4-opt %s --gsg-select-strategy="expected-rows=-1" --split-input-file 2>&1 | FileCheck %s --check-prefix=ROWS

// What a given strategy asks for and the machine has not is refused, with the
// nearest legal strategy.

// target_c3: the targets are named.
// TARGET: error: expected target sm_90a, sm_100a, sm_103a or sm_100f, but got 'sm_80'
// target_c6: a hint is no negative number.
// ROWS: error: expected expected-rows >= 0, but got -1

// target_c4: more stages than fit into shared memory.

!a = !grouped_scaled_gemm.scaled<512x1024, nvfp4>
!b = !grouped_scaled_gemm.scaled<512x1024, nvfp4>
func.func @stages(%a: !a, %b: !b, %c: tensor<512x512xbf16>) -> tensor<512x512xbf16> {
  // expected-error @below {{expected 1 to 5 stages of 36864 bytes in 232448 bytes of shared memory, but got 9; the nearest legal strategy is <m = 128, n = 128, k = 256, stages = 5, accumulator_stages = 2, scale_stages = 2, epilogue_n = 32>}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<512x512xbf16>)
      {strategy = #grouped_scaled_gemm.strategy<m = 128, n = 128, k = 256, stages = 9>} -> tensor<512x512xbf16>
  return %d : tensor<512x512xbf16>
}

// -----

// target_c4: results in f32 take more of it.

!a = !grouped_scaled_gemm.scaled<512x1024, nvfp4>
!b = !grouped_scaled_gemm.scaled<512x1024, nvfp4>
func.func @staging(%a: !a, %b: !b, %c: tensor<512x512xf32>) -> tensor<512x512xf32> {
  // expected-error @below {{expected 1 to 3 stages of 55296 bytes in 232448 bytes of shared memory, but got 4}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<512x512xf32>)
      {strategy = #grouped_scaled_gemm.strategy<m = 128, n = 256, k = 256, stages = 4>} -> tensor<512x512xf32>
  return %d : tensor<512x512xf32>
}

// -----

// target_c4: accumulators that share more than half of their columns.

!a = !grouped_scaled_gemm.scaled<512x1024, nvfp4>
!b = !grouped_scaled_gemm.scaled<512x1024, nvfp4>
func.func @columns(%a: !a, %b: !b, %c: tensor<512x512xf32>) -> tensor<512x512xf32> {
  // expected-error @below {{expected accumulator_stages = 1 or 2, but got 3; the nearest legal strategy is <m = 128, n = 192, k = 256, stages = 4, accumulator_stages = 2, scale_stages = 2, epilogue_n = 32>}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<512x512xf32>)
      {strategy = #grouped_scaled_gemm.strategy<m = 128, n = 192, k = 256, accumulator_stages = 3>} -> tensor<512x512xf32>
  return %d : tensor<512x512xf32>
}

// -----

// target_c4: an instruction that does not exist.

!a = !grouped_scaled_gemm.scaled<512x1024, nvfp4>
!b = !grouped_scaled_gemm.scaled<512x1024, nvfp4>
func.func @instruction(%a: !a, %b: !b, %c: tensor<512x512xbf16>) -> tensor<512x512xbf16> {
  // expected-error @below {{expected m = 128 for ctas = 1, but got 64; the nearest legal strategy is <m = 128, n = 128, k = 256, stages = 5,}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<512x512xbf16>)
      {strategy = #grouped_scaled_gemm.strategy<m = 64, n = 128, k = 256>} -> tensor<512x512xbf16>
  return %d : tensor<512x512xbf16>
}

// -----

// target_c4: K is split where the bits are fixed.

!a = !grouped_scaled_gemm.scaled<512x1024, nvfp4>
!b = !grouped_scaled_gemm.scaled<512x1024, nvfp4>
func.func @split(%a: !a, %b: !b, %c: tensor<512x512xbf16>) -> tensor<512x512xbf16> {
  // expected-error @below {{expected split_k = 1 unless determinism = relaxed, but got 2}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<512x512xbf16>)
      {strategy = #grouped_scaled_gemm.strategy<m = 128, n = 128, k = 256, split_k = 2>} -> tensor<512x512xbf16>
  return %d : tensor<512x512xbf16>
}

// -----

// target_c4: launch control needs a grid that the host knows.

!a = !grouped_scaled_gemm.scaled<512x1024, nvfp4>
!b = !grouped_scaled_gemm.scaled<4x512x1024, nvfp4>
func.func @scheduler(%ends: tensor<4xi32>, %a: !a, %b: !b, %c: tensor<512x512xbf16>) -> tensor<512x512xbf16> {
  // expected-error @below {{expected scheduler static_persistent or dynamic_counter for groups whose extents are on the device, but got launch_control}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<4xi32>) lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<512x512xbf16>)
      {strategy = #grouped_scaled_gemm.strategy<m = 128, n = 128, k = 256, scheduler = launch_control>} -> tensor<512x512xbf16>
  return %d : tensor<512x512xbf16>
}

// -----

// target_c5: rows that TMA cannot address.

!a = !grouped_scaled_gemm.scaled<512x1040, nvfp4>
!b = !grouped_scaled_gemm.scaled<512x1040, nvfp4>
func.func @addresses(%a: !a, %b: !b, %c: tensor<512x512xbf16>) -> tensor<512x512xbf16> {
  // expected-error @below {{expected K a multiple of 32, which TMA can address, but got 1040; the nearest is 1056}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<512x512xbf16>) -> tensor<512x512xbf16>
  return %d : tensor<512x512xbf16>
}

// -----

// target_c5: the same where K is grouped.

!a = !grouped_scaled_gemm.scaled<512x1040, nvfp4>
!b = !grouped_scaled_gemm.scaled<512x1040, nvfp4>
func.func @grouped_addresses(%ends: tensor<4xi32>, %a: !a, %b: !b, %c: tensor<4x512x512xf32>) -> tensor<4x512x512xf32> {
  // expected-error @below {{expected K a multiple of 32, which TMA can address, but got 1040; the nearest is 1056}}
  %d = grouped_scaled_gemm.matmul <ragged_k, ends, align = 32> groups(%ends : tensor<4xi32>) lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<4x512x512xf32>) -> tensor<4x512x512xf32>
  return %d : tensor<4x512x512xf32>
}

// -----

// target_c5: halves of gate and up whose rows do not start at scale atoms.

!a = !grouped_scaled_gemm.scaled<64x2880, nvfp4>
!b = !grouped_scaled_gemm.scaled<5760x2880, nvfp4>
func.func @halves(%a: !a, %b: !b, %c: tensor<64x2880xbf16>) -> tensor<64x2880xbf16> {
  // expected-error @below {{expected whole pairs of gate and up rows}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) activation = <swiglu, gate = <halves, gate_first>>
      outs(%c : tensor<64x2880xbf16>) -> tensor<64x2880xbf16>
  return %d : tensor<64x2880xbf16>
}
