// RUN: nvfp4-opt %s -split-input-file -verify-diagnostics

// Constraints of the activation and the region of matmul; each case names the one of docs/Spec.md that it breaks.

// gate_c2: pairs need an even N
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<33x64, nvfp4>
func.func @gate_c2(%a: !a, %b: !b, %c: tensor<16x?xf32>) {
  // expected-error @below {{expected N to be a multiple of twice the gate granularity 1, but got 33 (nearest: 32)}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) activation = <swiglu, gate = <halves, gate_first>>
      outs(%c : tensor<16x?xf32>) -> tensor<16x?xf32>
  return
}

// -----

// gate_c2: N is a multiple of 2q
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<48x64, nvfp4>
func.func @gate_c2(%a: !a, %b: !b, %c: tensor<16x?xf32>) {
  // expected-error @below {{expected N to be a multiple of twice the gate granularity 16, but got 48 (nearest: 32)}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) activation = <swiglu, gate = <16, up_first>>
      outs(%c : tensor<16x?xf32>) -> tensor<16x?xf32>
  return
}

// -----

// gate_c2: a hostile granularity does not overflow
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @gate_c2(%a: !a, %b: !b, %c: tensor<16x?xf32>) {
  // expected-error @below {{expected N to be a multiple of twice the gate granularity 4611686018427387904, but got 32}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) activation = <swiglu, gate = <4611686018427387904, up_first>>
      outs(%c : tensor<16x?xf32>) -> tensor<16x?xf32>
  return
}

// -----

// matmul_c16: activation_params are those of swiglu
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @matmul_c16(%a: !a, %w: !w, %g: tensor<4xi32>, %c: tensor<16x32xf32>, %x: tensor<4x3xf32>) {
  // expected-error @below {{expected activation_params with activation 'swiglu' only, but got 'silu'}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%g : tensor<4xi32>) lhs(%a : !a) rhs(%w : !w) activation = <silu>
      activation_params(%x : tensor<4x3xf32>)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c17: three parameters a group
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @matmul_c17(%a: !a, %w: !w, %g: tensor<4xi32>, %c: tensor<16x16xf32>, %x: tensor<4x2xf32>) {
  // expected-error @below {{expected activation_params of shape 4x3 ([G, 3]), but got 4x2}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%g : tensor<4xi32>) lhs(%a : !a) rhs(%w : !w) activation = <swiglu, gate = <1, gate_first>>
      activation_params(%x : tensor<4x2xf32>)
      outs(%c : tensor<16x16xf32>) -> tensor<16x16xf32>
  return
}

// -----

// matmul_c18: a custom activation has a region
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c18(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected an epilogue region for activation 'custom'}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) activation = <custom>
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c18: other activations have none
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c18(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected no epilogue region for activation 'silu'}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) activation = <silu> epilogue {
      ^bb0(%z: f32):
        grouped_scaled_gemm.yield %z : f32
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c19: operands of the region need it
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c19(%a: !a, %b: !b, %c: tensor<16x32xf32>, %x: tensor<16xf32>) {
  // expected-error @below {{expected operands row, column and group with activation 'custom' only, but got 'identity'}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) row(%x : tensor<16xf32>)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c20: one entry a row
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c20(%a: !a, %b: !b, %c: tensor<16x32xf32>, %x: tensor<32xf32>) {
  // expected-error @below {{expected row operand of shape 16 ([M]), but got 32}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) activation = <custom> row(%x : tensor<32xf32>)
      epilogue {
      ^bb0(%z: f32, %r: f32):
        grouped_scaled_gemm.yield %z : f32
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c21: one entry a column
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c21(%a: !a, %b: !b, %c: tensor<16x32xf32>, %x: tensor<16xf32>) {
  // expected-error @below {{expected column operand of shape 32 ([N_out]) or 1x32 ([G, N_out]), but got 16}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) activation = <custom> column(%x : tensor<16xf32>)
      epilogue {
      ^bb0(%z: f32, %r: f32):
        grouped_scaled_gemm.yield %z : f32
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c22: one entry a group
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @matmul_c22(%a: !a, %w: !w, %g: tensor<4xi32>, %c: tensor<16x32xf32>, %x: tensor<5xf32>) {
  // expected-error @below {{expected group operand of shape 4 ([G]), but got 5}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%g : tensor<4xi32>) lhs(%a : !a) rhs(%w : !w) activation = <custom> group(%x : tensor<5xf32>)
      epilogue {
      ^bb0(%z: f32, %r: f32):
        grouped_scaled_gemm.yield %z : f32
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c34: z comes first
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c34(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected an epilogue region with 1 arguments (z, then one for each row, column and group operand), but got 2}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) activation = <custom> epilogue {
      ^bb0(%z: f32, %u: f32):
        grouped_scaled_gemm.yield %z : f32
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c34: or gate and up
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c34(%a: !a, %b: !b, %c: tensor<16x16xf32>) {
  // expected-error @below {{expected an epilogue region with 2 arguments (gate, up, then one for each row, column and group operand), but got 1}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) activation = <custom, gate = <1, gate_first>> epilogue {
      ^bb0(%z: f32):
        grouped_scaled_gemm.yield %z : f32
      }
      outs(%c : tensor<16x16xf32>) -> tensor<16x16xf32>
  return
}

// -----

// matmul_c35: arguments are f32
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c35(%a: !a, %b: !b, %c: tensor<16x32xf32>, %x: tensor<16xf32>) {
  // expected-error @below {{expected arguments of the epilogue region of type f32, but got 'f64'}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) activation = <custom> row(%x : tensor<16xf32>) epilogue {
      ^bb0(%z: f32, %r: f64):
        grouped_scaled_gemm.yield %z : f32
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c36: the region ends in a yield
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c36(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected the epilogue region to end in grouped_scaled_gemm.yield, or store_result if it is expanded, but got ub.unreachable}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) activation = <custom> epilogue {
      ^bb0(%z: f32):
        ub.unreachable
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c37: the region computes with scalars and has no effects.
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func private @random() -> f32
func.func @matmul_c37(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected scalar operations of arith and math without side effects in the epilogue region}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <custom>
      epilogue {
      ^bb0(%z: f32):
        // expected-note @below {{got 'func.call'}}
        %y = func.call @random() : () -> f32
        grouped_scaled_gemm.yield %y : f32
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c37: vectors are no scalars.
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c37(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected scalar operations of arith and math without side effects in the epilogue region}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <custom>
      epilogue {
      ^bb0(%z: f32):
        // expected-note @below {{got 'arith.constant'}}
        %v = arith.constant dense<1.0> : vector<4xf32>
        grouped_scaled_gemm.yield %z : f32
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c38: the region sees its arguments only.
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c38(%a: !a, %b: !b, %c: tensor<16x32xf32>, %x: f32) {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <custom>
      epilogue {
      ^bb0(%z: f32):
        // expected-error @below {{use of undeclared SSA value name}}
        %y = arith.addf %z, %x : f32
        grouped_scaled_gemm.yield %y : f32
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}
