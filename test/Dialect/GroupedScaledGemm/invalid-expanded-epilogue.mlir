// RUN: nvfp4-opt %s -split-input-file -verify-diagnostics

// Constraints of expanded epilogues; each case names the one of docs/Spec.md that it breaks.

// epilogue_c1: one argument, of acc
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @epilogue_c1(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected an expanded epilogue with one argument of type f32 (acc), but got 2}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <custom>
      epilogue {
      ^bb0(%acc: f32, %other: f32):
        grouped_scaled_gemm.store_result %acc
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// epilogue_c1: acc is f32
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @epilogue_c1(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected an expanded epilogue with one argument of type f32 (acc), but got 1 of another type}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <custom>
      epilogue {
      ^bb0(%acc: f64):
        %y = arith.constant 0.0 : f32
        grouped_scaled_gemm.store_result %y
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// epilogue_c2: no operations of other dialects
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @epilogue_c2(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected operations of expanded epilogues, and scalar ones of arith and math without side effects, in the epilogue region}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <custom>
      epilogue {
      ^bb0(%acc: f32):
        // expected-note @below {{got 'ub.poison'}}
        %y = ub.poison : f32
        grouped_scaled_gemm.store_result %y
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// epilogue_c3: what is loaded is an operand
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @epilogue_c3(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <custom>
      epilogue {
      ^bb0(%acc: f32):
        // expected-error @below {{expected one of 0 values of 'bias' that the product has, but got number 0}}
        %y = grouped_scaled_gemm.load_clause bias
        grouped_scaled_gemm.store_result %y
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// epilogue_c3: by a number that it has
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @epilogue_c3(%a: !a, %b: !b, %r: tensor<16xf32>, %c: tensor<16x32xf32>) {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <custom> row(%r : tensor<16xf32>)
      epilogue {
      ^bb0(%acc: f32):
        // expected-error @below {{expected one of 1 values of 'row' that the product has, but got number 1}}
        %y = grouped_scaled_gemm.load_clause row[1]
        grouped_scaled_gemm.store_result %y
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// epilogue_c3: numbers are not negative
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @epilogue_c3(%a: !a, %b: !b, %r: tensor<16xf32>, %c: tensor<16x32xf32>) {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <custom> row(%r : tensor<16xf32>)
      epilogue {
      ^bb0(%acc: f32):
        // expected-error @below {{attribute 'index' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
        %y = grouped_scaled_gemm.load_clause row[-1]
        grouped_scaled_gemm.store_result %y
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// epilogue_c3: one of several has a number
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @epilogue_c3(%a: !a, %b: !b, %r: tensor<16xf32>, %c: tensor<16x32xf32>) {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <custom> row(%r : tensor<16xf32>)
      epilogue {
      ^bb0(%acc: f32):
        // expected-error @below {{expected a number for 'row', but got none}}
        %y = grouped_scaled_gemm.load_clause row
        grouped_scaled_gemm.store_result %y
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// epilogue_c3: the only one has none
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @epilogue_c3(%a: !a, %b: !b, %s: f32, %c: tensor<16x32xf32>) {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) alpha(%s : f32)
      activation = <custom>
      epilogue {
      ^bb0(%acc: f32):
        // expected-error @below {{expected no number for 'alpha', but got one}}
        %y = grouped_scaled_gemm.load_clause alpha[0]
        grouped_scaled_gemm.store_result %y
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// epilogue_c4: the region uses alpha
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @epilogue_c4(%a: !a, %b: !b, %s: f32, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected the epilogue region to load 'alpha', which the product has, but got no load_clause of it}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) alpha(%s : f32)
      activation = <custom>
      epilogue {
      ^bb0(%acc: f32):
        grouped_scaled_gemm.store_result %acc
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// epilogue_c4: the region uses bias
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @epilogue_c4(%a: !a, %b: !b, %s: tensor<32xf32>, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected the epilogue region to load 'bias', which the product has, but got no load_clause of it}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) bias(%s : tensor<32xf32>)
      activation = <custom>
      epilogue {
      ^bb0(%acc: f32):
        grouped_scaled_gemm.store_result %acc
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// epilogue_c4: the region uses addend
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @epilogue_c4(%a: !a, %b: !b, %s: tensor<16x32xf32>, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected the epilogue region to load 'addend', which the product has, but got no load_clause of it}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) addend(%s : tensor<16x32xf32>)
      activation = <custom>
      epilogue {
      ^bb0(%acc: f32):
        grouped_scaled_gemm.store_result %acc
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// epilogue_c4: beta reads the destination
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @epilogue_c4(%a: !a, %b: !b, %s: f32, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected the epilogue region to load 'addend', which the product has, but got no load_clause of it}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) beta(%s : f32)
      activation = <custom>
      epilogue {
      ^bb0(%acc: f32):
        %s = grouped_scaled_gemm.load_clause beta
        %y = arith.mulf %s, %acc : f32
        grouped_scaled_gemm.store_result %y
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// epilogue_c5: columns of pairs meet
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @epilogue_c5(%a: !a, %b: !b, %c: tensor<16x16xf32>) {
  // expected-error @below {{expected one grouped_scaled_gemm.pair_columns in the epilogue region with gate and up, but got 0}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <custom, gate = <halves, gate_first>>
      epilogue {
      ^bb0(%acc: f32):
        grouped_scaled_gemm.store_result %acc
      }
      outs(%c : tensor<16x16xf32>) -> tensor<16x16xf32>
  return
}

// -----

// epilogue_c5: without a gate there are no pairs
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @epilogue_c5(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected no grouped_scaled_gemm.pair_columns in the epilogue region without gate and up, but got 1}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <custom>
      epilogue {
      ^bb0(%acc: f32):
        %g, %u = grouped_scaled_gemm.pair_columns %acc
        grouped_scaled_gemm.store_result %g
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// epilogue_c5: columns of pairs meet once
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @epilogue_c5(%a: !a, %b: !b, %c: tensor<16x16xf32>) {
  // expected-error @below {{expected one grouped_scaled_gemm.pair_columns in the epilogue region with gate and up, but got 2}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <custom, gate = <halves, gate_first>>
      epilogue {
      ^bb0(%acc: f32):
        %g, %u = grouped_scaled_gemm.pair_columns %acc
        %h, %v = grouped_scaled_gemm.pair_columns %g
        grouped_scaled_gemm.store_result %h
      }
      outs(%c : tensor<16x16xf32>) -> tensor<16x16xf32>
  return
}

// -----

// epilogue_c6: bias is added to columns of the product
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @epilogue_c6(%a: !a, %b: !b, %s: tensor<32xf32>, %c: tensor<16x16xf32>) {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) bias(%s : tensor<32xf32>)
      activation = <custom, gate = <halves, gate_first>>
      epilogue {
      ^bb0(%acc: f32):
        %g, %u = grouped_scaled_gemm.pair_columns %acc
        // expected-error @below {{expected 'bias', which belongs to a column of the product, before pair_columns}}
        %s = grouped_scaled_gemm.load_clause bias
        %y = arith.addf %g, %s : f32
        grouped_scaled_gemm.store_result %y
      }
      outs(%c : tensor<16x16xf32>) -> tensor<16x16xf32>
  return
}

// -----

// epilogue_c6: column operands are those of the result
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @epilogue_c6(%a: !a, %b: !b, %s: tensor<16xf32>, %c: tensor<16x16xf32>) {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <custom, gate = <halves, gate_first>> column(%s : tensor<16xf32>)
      epilogue {
      ^bb0(%acc: f32):
        // expected-error @below {{expected 'column', which belongs to a column of the result, after pair_columns}}
        %s = grouped_scaled_gemm.load_clause column[0]
        %z = arith.addf %acc, %s : f32
        %g, %u = grouped_scaled_gemm.pair_columns %z
        grouped_scaled_gemm.store_result %g
      }
      outs(%c : tensor<16x16xf32>) -> tensor<16x16xf32>
  return
}

// -----

// epilogue_c6: no value of a column of the product but in its pair
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @epilogue_c6(%a: !a, %b: !b, %c: tensor<16x16xf32>) {
  // expected-error @below {{expected no value from before pair_columns to be used after it}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <custom, gate = <halves, gate_first>>
      epilogue {
      ^bb0(%acc: f32):
        // expected-note @below {{got 'arith.addf'}}
        %z = arith.addf %acc, %acc : f32
        %g, %u = grouped_scaled_gemm.pair_columns %z
        %y = arith.addf %g, %z : f32
        grouped_scaled_gemm.store_result %y
      }
      outs(%c : tensor<16x16xf32>) -> tensor<16x16xf32>
  return
}

// -----

// epilogue_c6: nor acc itself
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @epilogue_c6(%a: !a, %b: !b, %c: tensor<16x16xf32>) {
  // expected-error @below {{expected acc to be used before pair_columns}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <custom, gate = <halves, gate_first>>
      epilogue {
      ^bb0(%acc: f32):
        %g, %u = grouped_scaled_gemm.pair_columns %acc
        // expected-note @below {{got 'arith.addf'}}
        %y = arith.addf %g, %acc : f32
        grouped_scaled_gemm.store_result %y
      }
      outs(%c : tensor<16x16xf32>) -> tensor<16x16xf32>
  return
}

// -----

// epilogue_c7: preact_outs is stored
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @epilogue_c7(%a: !a, %b: !b, %p: tensor<16x32xf32>, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected one grouped_scaled_gemm.store_preact in the epilogue region with preact_outs, but got 0}}
  %d:2 = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <custom>
      epilogue {
      ^bb0(%acc: f32):
        grouped_scaled_gemm.store_result %acc
      }
      preact_outs(%p : tensor<16x32xf32>) outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>, tensor<16x32xf32>
  return
}

// -----

// epilogue_c7: no store without preact_outs
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @epilogue_c7(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected no grouped_scaled_gemm.store_preact in the epilogue region without preact_outs, but got 1}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <custom>
      epilogue {
      ^bb0(%acc: f32):
        grouped_scaled_gemm.store_preact %acc
        grouped_scaled_gemm.store_result %acc
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// epilogue_c7: the pre-activation is before pairs
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @epilogue_c7(%a: !a, %b: !b, %p: tensor<16x32xf32>, %c: tensor<16x16xf32>) {
  // expected-error @below {{expected store_preact before and fold_amax after pair_columns}}
  %d:2 = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <custom, gate = <halves, gate_first>>
      epilogue {
      ^bb0(%acc: f32):
        %g, %u = grouped_scaled_gemm.pair_columns %acc
        // expected-note @below {{got 'grouped_scaled_gemm.store_preact'}}
        grouped_scaled_gemm.store_preact %g
        grouped_scaled_gemm.store_result %g
      }
      preact_outs(%p : tensor<16x32xf32>) outs(%c : tensor<16x16xf32>) -> tensor<16x32xf32>, tensor<16x16xf32>
  return
}

// -----

// epilogue_c8: amax_outs is of y
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @epilogue_c8(%a: !a, %b: !b, %p: tensor<1xf32>, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected one grouped_scaled_gemm.fold_amax in the epilogue region with amax_outs, but got 0}}
  %d:2 = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <custom>
      epilogue {
      ^bb0(%acc: f32):
        grouped_scaled_gemm.store_result %acc
      }
      outs(%c : tensor<16x32xf32>) amax_outs(%p : tensor<1xf32>) -> tensor<16x32xf32>, tensor<1xf32>
  return
}

// -----

// epilogue_c8: the maximum is of results
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @epilogue_c8(%a: !a, %b: !b, %p: tensor<1xf32>, %c: tensor<16x16xf32>) {
  // expected-error @below {{expected store_preact before and fold_amax after pair_columns}}
  %d:2 = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <custom, gate = <halves, gate_first>>
      epilogue {
      ^bb0(%acc: f32):
        // expected-note @below {{got 'grouped_scaled_gemm.fold_amax'}}
        grouped_scaled_gemm.fold_amax %acc
        %g, %u = grouped_scaled_gemm.pair_columns %acc
        grouped_scaled_gemm.store_result %g
      }
      outs(%c : tensor<16x16xf32>) amax_outs(%p : tensor<1xf32>) -> tensor<16x16xf32>, tensor<1xf32>
  return
}

// -----

// epilogue_c9: the region rounds
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @epilogue_c9(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected neither round_bf16 nor a position of prob beside an expanded epilogue, which says both}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <custom, round_bf16>
      epilogue {
      ^bb0(%acc: f32):
        grouped_scaled_gemm.store_result %acc
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// epilogue_c9: the region has prob in its place
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @epilogue_c9(%a: !a, %b: !b, %s: tensor<16xf32>, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected neither round_bf16 nor a position of prob beside an expanded epilogue, which says both}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) prob(%s : tensor<16xf32>) at gemm
      activation = <custom>
      epilogue {
      ^bb0(%acc: f32):
        %s = grouped_scaled_gemm.load_clause prob
        %y = arith.mulf %s, %acc : f32
        grouped_scaled_gemm.store_result %y
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// epilogue_c10: an f64 has no approximation
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @epilogue_c10(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <custom>
      epilogue {
      ^bb0(%acc: f32):
        %x = arith.extf %acc : f32 to f64
        // expected-error @below {{expected f32 with 'fast', but got 'f64'}}
        %s = grouped_scaled_gemm.sigmoid fast %x : f64
        %y = arith.truncf %s : f64 to f32
        grouped_scaled_gemm.store_result %y
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c18: a region goes with custom
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c18(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected no epilogue region for activation 'relu', but got one}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <relu>
      epilogue {
      ^bb0(%acc: f32):
        grouped_scaled_gemm.store_result %acc
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_list_c9: a list has no activation of a program
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_list_c9(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected an expanded epilogue, which ends in grouped_scaled_gemm.store_result, but got ub.unreachable}}
  %d = grouped_scaled_gemm.matmul_list lhs(%a : !a) rhs(%b : !b)
      epilogue {
      ^bb0(%acc: f32):
        ub.unreachable
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// epilogue_c4: a list with beta reads its destination
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @epilogue_c4(%a: !a, %b: !b, %s: f32, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected the epilogue region to load 'beta', which the product has, but got no load_clause of it}}
  %d = grouped_scaled_gemm.matmul_list lhs(%a : !a) rhs(%b : !b) beta(%s : f32)
      epilogue {
      ^bb0(%acc: f32):
        grouped_scaled_gemm.store_result %acc
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// The operations of the region stand nowhere else.
func.func @outside(%x: f32) -> f32 {
  // expected-error @below {{expects parent op to be one of 'grouped_scaled_gemm.matmul, grouped_scaled_gemm.matmul_list'}}
  %y = grouped_scaled_gemm.round_bf16 %x
  return %y : f32
}
