// target_c10: for what gets no kernel, whatever the tile, no strategy is named; the remarks of `explain` are of the others.
// RUN: nvfp4-opt %s --gsg-select-strategy="kernels explain" --split-input-file --verify-diagnostics -o /dev/null
// RUN: not nvfp4-opt %s --gsg-select-strategy="kernels explain target=sm_90a" --split-input-file -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark: --check-prefix=HOPPER

!a = !grouped_scaled_gemm.scaled<64x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<64x64, nvfp4>
func.func @squares(%a: !a, %b: !b) -> !grouped_scaled_gemm.scaled<64x64, nvfp4> {
  // HOPPER: error: {{.*}}kernels for sm_90a do not support this quantised result: squares of rows and columns share a scale
  // expected-error @below {{kernels for sm_100a do not support this quantised result: squares of rows and columns share a scale; run gsg-separate-quantization after one-shot-bufferize}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) quantizer = <te, two_d>
      -> !grouped_scaled_gemm.scaled<64x64, nvfp4>
  return %d : !grouped_scaled_gemm.scaled<64x64, nvfp4>
}

// One product that gets no kernel does not take the other's strategy.
func.func @beside(%a: !a, %b: !b, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // HOPPER: remark: strategy <
  // expected-remark @below {{strategy <}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %d : tensor<64x64xf32>
}

// -----

!a = !grouped_scaled_gemm.scaled<64x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<64x64, nvfp4>
func.func @tail(%ends: tensor<2xi32>, %a: !a, %b: !grouped_scaled_gemm.scaled<2x64x64, nvfp4>, %beta: f32, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // HOPPER: error: {{.*}}kernels for sm_90a do not support tail = zero
  // expected-error @below {{kernels for sm_100a do not support tail = zero with a destination that is read; give it as addend}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<2xi32>) lhs(%a : !a)
      rhs(%b : !grouped_scaled_gemm.scaled<2x64x64, nvfp4>) beta(%beta : f32) outs(%c : tensor<64x64xf32>)
      {tail = #grouped_scaled_gemm<tail zero>} -> tensor<64x64xf32>
  return %d : tensor<64x64xf32>
}

// -----

!a = !grouped_scaled_gemm.scaled<64x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<64x64, nvfp4>
func.func @region(%a: !a, %b: !b, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // HOPPER: error: {{.*}}kernels for sm_90a do not support 'math.cos' in an epilogue region
  // expected-error @below {{kernels for sm_100a do not support 'math.cos' in an epilogue region}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) activation = <custom>
      epilogue {
      ^bb0(%z: f32):
        %y = math.cos %z : f32
        grouped_scaled_gemm.yield %y : f32
      }
      outs(%c : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %d : tensor<64x64xf32>
}

// -----

!a = !grouped_scaled_gemm.scaled<64x64, mxfp4>
!b = !grouped_scaled_gemm.scaled<64x64, mxfp4>
func.func @short_runs(%a: !a, %b: !b) -> !grouped_scaled_gemm.scaled<64x32, mxfp8_e4m3> {
  // HOPPER: error: {{.*}}kernels for sm_90a do not support blocks of 32 of pairs
  // expected-error @below {{kernels for sm_100a do not support blocks of 32 of pairs in runs shorter than 32; use gate = <32, ...>}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) activation = <swiglu, gate = <8, gate_first>>
      quantizer = <ue8m0_up> -> !grouped_scaled_gemm.scaled<64x32, mxfp8_e4m3>
  return %d : !grouped_scaled_gemm.scaled<64x32, mxfp8_e4m3>
}

// -----

!a = !grouped_scaled_gemm.scaled<64x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<64x64, nvfp4>
func.func @swizzled(%a: !a, %b: !b) -> !grouped_scaled_gemm.scaled<64x64, nvfp4, blocked_8x4> {
  // HOPPER: error: {{.*}}kernels for sm_90a do not support this quantised result: its scales are in blocked_8x4
  // expected-error @below {{kernels for sm_100a do not support this quantised result: its scales are in blocked_8x4; run gsg-separate-quantization after one-shot-bufferize}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) quantizer = <te>
      -> !grouped_scaled_gemm.scaled<64x64, nvfp4, blocked_8x4>
  return %d : !grouped_scaled_gemm.scaled<64x64, nvfp4, blocked_8x4>
}

// -----

!a = !grouped_scaled_gemm.scaled<64x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<64x64, nvfp4>
func.func @no_rows(%a: !a, %b: !b) -> !grouped_scaled_gemm.scaled<64x64, nvfp4> {
  // HOPPER: error: {{.*}}kernels for sm_90a do not support this quantised result: a kernel stores rows beside transposed copies
  // expected-error @below {{kernels for sm_100a do not support this quantised result: a kernel stores rows beside transposed copies; run gsg-separate-quantization after one-shot-bufferize}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) copies(<te> transposed)
      -> !grouped_scaled_gemm.scaled<64x64, nvfp4>
  return %d : !grouped_scaled_gemm.scaled<64x64, nvfp4>
}

// -----

!a = !grouped_scaled_gemm.scaled<64x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<64x64, nvfp4>
func.func @gaps(%a: memref<64x32xi8>, %as: memref<64x4xf8E4M3FN>, %c: memref<64x64xf32, strided<[128, 1]>>) {
  // HOPPER: error: {{.*}}kernels for sm_90a do not support operands that are not contiguous
  // expected-error @below {{kernels for sm_100a do not support operands that are not contiguous; copy them first}}
  grouped_scaled_gemm.matmul <dense> lhs(%a scaled_by %as : memref<64x32xi8>, memref<64x4xf8E4M3FN> as !a)
      rhs(%a scaled_by %as : memref<64x32xi8>, memref<64x4xf8E4M3FN> as !b)
      outs(%c : memref<64x64xf32, strided<[128, 1]>>)
  return
}

// -----

!a = !grouped_scaled_gemm.scaled<64x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<64x64, nvfp4>
func.func @gaps_in_a_list(%a: memref<64x32xi8>, %as: memref<64x4xf8E4M3FN>, %c: memref<64x64xf32>,
                          %d: memref<64x64xf32, strided<[128, 1]>>) {
  // HOPPER: error: {{.*}}kernels for sm_90a do not support operands that are not contiguous
  // expected-error @below {{kernels for sm_100a do not support operands that are not contiguous; copy them first}}
  grouped_scaled_gemm.matmul_list
      lhs(%a scaled_by %as : memref<64x32xi8>, memref<64x4xf8E4M3FN> as !a,
          %a scaled_by %as : memref<64x32xi8>, memref<64x4xf8E4M3FN> as !a)
      rhs(%a scaled_by %as : memref<64x32xi8>, memref<64x4xf8E4M3FN> as !b,
          %a scaled_by %as : memref<64x32xi8>, memref<64x4xf8E4M3FN> as !b)
      outs(%c, %d : memref<64x64xf32>, memref<64x64xf32, strided<[128, 1]>>)
  return
}
