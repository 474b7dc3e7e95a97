// RUN: nvfp4-opt %s -split-input-file -verify-diagnostics -allow-unregistered-dialect

// Constraints of operations across ranks; each case names the one of docs/Spec.md that it breaks.

// ranks_c1: as many ranks as experts at most
func.func @ranks_c1(%x: tensor<?x64xbf16>, %e: tensor<?x2xi32>, %t: tensor<5xi32>) {
  // expected-error @below {{expected from 1 to 4 ranks, the number of experts, but got 5}}
  %r, %ends, %s = grouped_scaled_gemm.exchange_rows(%x : tensor<?x64xbf16>) to(%e : tensor<?x2xi32>) tokens(%t : tensor<5xi32>)
      -> tensor<?x64xbf16>, tensor<4xi32>, tensor<?x2xi32>
  return
}

// -----

// ranks_c1: the numbers are known
func.func @ranks_c1_known(%x: tensor<?x64xbf16>, %e: tensor<?x2xi32>, %t: tensor<?xi32>) {
  // expected-error @below {{expected known numbers of ranks and experts, the extents of tokens and ends, but got ? and 4}}
  %r, %ends, %s = grouped_scaled_gemm.exchange_rows(%x : tensor<?x64xbf16>) to(%e : tensor<?x2xi32>) tokens(%t : tensor<?xi32>)
      -> tensor<?x64xbf16>, tensor<4xi32>, tensor<?x2xi32>
  return
}

// -----

// ranks_c2: an entry for each expert
func.func @ranks_c2(%x: tensor<?x64xbf16>, %e: tensor<?x2xi32>, %t: tensor<2xi32>) {
  // expected-error @below {{expected a table of 4 entries, one for each expert, but got 2}}
  %r, %ends, %s = grouped_scaled_gemm.exchange_rows(%x : tensor<?x64xbf16>) to(%e : tensor<?x2xi32>) tokens(%t : tensor<2xi32>) {table = [[0], [1]]}
      -> tensor<?x64xbf16>, tensor<4xi32>, tensor<?x2xi32>
  return
}

// -----

// ranks_c2: which lists ranks
func.func @ranks_c2_list(%x: tensor<?x64xbf16>, %e: tensor<?x2xi32>, %t: tensor<2xi32>) {
  // expected-error @below {{expected a list of ranks of i64 for expert 2, but got 1 : i64}}
  %r, %ends, %s = grouped_scaled_gemm.exchange_rows(%x : tensor<?x64xbf16>) to(%e : tensor<?x2xi32>) tokens(%t : tensor<2xi32>) {table = [[0], [1], 1, [0]]}
      -> tensor<?x64xbf16>, tensor<4xi32>, tensor<?x2xi32>
  return
}

// -----

// ranks_c3: that there are
func.func @ranks_c3(%x: tensor<?x64xbf16>, %e: tensor<?x2xi32>, %t: tensor<2xi32>) {
  // expected-error @below {{expected ranks in [0, 2) for expert 2, but got 2}}
  %r, %ends, %s = grouped_scaled_gemm.exchange_rows(%x : tensor<?x64xbf16>) to(%e : tensor<?x2xi32>) tokens(%t : tensor<2xi32>) {table = [[0], [1], [2], [0]]}
      -> tensor<?x64xbf16>, tensor<4xi32>, tensor<?x2xi32>
  return
}

// -----

// ranks_c3: once each
func.func @ranks_c3_once(%x: tensor<?x64xbf16>, %e: tensor<?x2xi32>, %t: tensor<2xi32>) {
  // expected-error @below {{expected each rank once for expert 2, but got 0 again}}
  %r, %ends, %s = grouped_scaled_gemm.exchange_rows(%x : tensor<?x64xbf16>) to(%e : tensor<?x2xi32>) tokens(%t : tensor<2xi32>) {table = [[0], [1], [0, 1, 0], [0]]}
      -> tensor<?x64xbf16>, tensor<4xi32>, tensor<?x2xi32>
  return
}

// -----

// ranks_c4: each rank has an expert
func.func @ranks_c4(%x: tensor<?x64xbf16>, %e: tensor<?x2xi32>, %t: tensor<2xi32>) {
  // expected-error @below {{expected an expert on each rank, but got none on rank 1}}
  %r, %ends, %s = grouped_scaled_gemm.exchange_rows(%x : tensor<?x64xbf16>) to(%e : tensor<?x2xi32>) tokens(%t : tensor<2xi32>) {table = [[0], [0], [0], [0]]}
      -> tensor<?x64xbf16>, tensor<4xi32>, tensor<?x2xi32>
  return
}

// -----

// ranks_c5: experts of tokens
func.func @ranks_c5(%x: tensor<?x64xbf16>, %e: tensor<?xi32>, %t: tensor<2xi32>) {
  // expected-error @below {{expected experts [T, k] and tokens [R], but got}}
  %r, %ends, %s = grouped_scaled_gemm.exchange_rows(%x : tensor<?x64xbf16>) to(%e : tensor<?xi32>) tokens(%t : tensor<2xi32>)
      -> tensor<?x64xbf16>, tensor<4xi32>, tensor<?x2xi32>
  return
}

// -----

// ranks_c6: a capacity is positive
func.func @ranks_c6(%x: tensor<?x64xbf16>, %e: tensor<?x2xi32>, %t: tensor<2xi32>) {
  // expected-error @below {{expected a capacity >= 1, but got 0}}
  %r, %ends, %s = grouped_scaled_gemm.exchange_rows(%x : tensor<?x64xbf16>) to(%e : tensor<?x2xi32>) tokens(%t : tensor<2xi32>) {capacity = 0 : i64}
      -> tensor<?x64xbf16>, tensor<4xi32>, tensor<?x2xi32>
  return
}

// -----

// exchange_rows_c1: ends of experts
func.func @exchange_rows_c1(%x: tensor<?x64xbf16>, %e: tensor<?x2xi32>, %t: tensor<2xi32>) {
  // expected-error @below {{expected ends [E], but got}}
  %r, %ends, %s = grouped_scaled_gemm.exchange_rows(%x : tensor<?x64xbf16>) to(%e : tensor<?x2xi32>) tokens(%t : tensor<2xi32>)
      -> tensor<?x64xbf16>, tensor<4x1xi32>, tensor<?x2xi32>
  return
}

// -----

// exchange_rows_c2: the input has the tokens of experts
func.func @exchange_rows_c2(%x: tensor<5x64xbf16>, %e: tensor<6x2xi32>, %t: tensor<2xi32>) {
  // expected-error @below {{expected the input of shape 6x64 ([T, ...]), but got 5x64}}
  %r, %ends, %s = grouped_scaled_gemm.exchange_rows(%x : tensor<5x64xbf16>) to(%e : tensor<6x2xi32>) tokens(%t : tensor<2xi32>)
      -> tensor<?x64xbf16>, tensor<4xi32>, tensor<?x2xi32>
  return
}

// -----

// exchange_rows_c2: as a matrix
func.func @exchange_rows_c2_rank(%x: tensor<64xbf16>, %e: tensor<?x2xi32>, %t: tensor<2xi32>) {
  // expected-error @below {{expected the input as a matrix, but got}}
  %r, %ends, %s = grouped_scaled_gemm.exchange_rows(%x : tensor<64xbf16>) to(%e : tensor<?x2xi32>) tokens(%t : tensor<2xi32>)
      -> tensor<?x64xbf16>, tensor<4xi32>, tensor<?x2xi32>
  return
}

// -----

// exchange_rows_c3: a row for each slot
func.func @exchange_rows_c3(%x: tensor<5x64xbf16>, %e: tensor<5x2xi32>, %t: tensor<2xi32>) {
  // expected-error @below {{expected rows of shape 10x64 ([T * k, K]), but got 9x64}}
  %r, %ends, %s = grouped_scaled_gemm.exchange_rows(%x : tensor<5x64xbf16>) to(%e : tensor<5x2xi32>) tokens(%t : tensor<2xi32>)
      -> tensor<9x64xbf16>, tensor<4xi32>, tensor<?x2xi32>
  return
}

// -----

// exchange_rows_c3: a place for each slot
func.func @exchange_rows_c3_slots(%x: tensor<?x64xbf16>, %e: tensor<?x2xi32>, %t: tensor<2xi32>) {
  // expected-error @below {{expected row_of_slot of shape ?x2 ([T, k]), but got ?x3}}
  %r, %ends, %s = grouped_scaled_gemm.exchange_rows(%x : tensor<?x64xbf16>) to(%e : tensor<?x2xi32>) tokens(%t : tensor<2xi32>)
      -> tensor<?x64xbf16>, tensor<4xi32>, tensor<?x3xi32>
  return
}

// -----

// exchange_rows_c3: nothing is rounded
func.func @exchange_rows_c3_type(%x: tensor<?x64xbf16>, %e: tensor<?x2xi32>, %t: tensor<2xi32>) {
  // expected-error @below {{expected rows of the element type of the input, 'bf16', but got 'f32'}}
  %r, %ends, %s = grouped_scaled_gemm.exchange_rows(%x : tensor<?x64xbf16>) to(%e : tensor<?x2xi32>) tokens(%t : tensor<2xi32>)
      -> tensor<?x64xf32>, tensor<4xi32>, tensor<?x2xi32>
  return
}

// -----

// return_rows_c1: ends of experts
func.func @return_rows_c1(%y: tensor<?x64xf32>, %s: tensor<?x2xi32>, %w: tensor<?x2xf32>, %e: tensor<?x2xi32>, %ends: tensor<i32>, %t: tensor<2xi32>) {
  // expected-error @below {{expected ends [E], but got}}
  %o = grouped_scaled_gemm.return_rows(%y : tensor<?x64xf32>) by(%s : tensor<?x2xi32>) weights(%w : tensor<?x2xf32>) from(%e : tensor<?x2xi32>) ends(%ends : tensor<i32>)
      tokens(%t : tensor<2xi32>) -> tensor<?x64xbf16>
  return
}

// -----

// return_rows_c2: weights of slots
func.func @return_rows_c2(%y: tensor<?x64xf32>, %s: tensor<?x2xi32>, %w: tensor<?x3xf32>, %e: tensor<?x2xi32>, %ends: tensor<4xi32>, %t: tensor<2xi32>) {
  // expected-error @below {{expected weights of shape ?x2 ([T, k]), but got ?x3}}
  %o = grouped_scaled_gemm.return_rows(%y : tensor<?x64xf32>) by(%s : tensor<?x2xi32>) weights(%w : tensor<?x3xf32>) from(%e : tensor<?x2xi32>) ends(%ends : tensor<4xi32>)
      tokens(%t : tensor<2xi32>) -> tensor<?x64xbf16>
  return
}

// -----

// return_rows_c2: rows of slots
func.func @return_rows_c2_rows(%y: tensor<?x64xf32>, %s: tensor<?x3xi32>, %w: tensor<?x2xf32>, %e: tensor<?x2xi32>, %ends: tensor<4xi32>, %t: tensor<2xi32>) {
  // expected-error @below {{expected row_of_slot of shape ?x2 ([T, k]), but got ?x3}}
  %o = grouped_scaled_gemm.return_rows(%y : tensor<?x64xf32>) by(%s : tensor<?x3xi32>) weights(%w : tensor<?x2xf32>) from(%e : tensor<?x2xi32>) ends(%ends : tensor<4xi32>)
      tokens(%t : tensor<2xi32>) -> tensor<?x64xbf16>
  return
}

// -----

// return_rows_c3: a sum for each token
func.func @return_rows_c3(%y: tensor<?x64xf32>, %s: tensor<?x2xi32>, %w: tensor<?x2xf32>, %e: tensor<?x2xi32>, %ends: tensor<4xi32>, %t: tensor<2xi32>) {
  // expected-error @below {{expected the result of shape ?x64 ([T, N]), but got ?x32}}
  %o = grouped_scaled_gemm.return_rows(%y : tensor<?x64xf32>) by(%s : tensor<?x2xi32>) weights(%w : tensor<?x2xf32>) from(%e : tensor<?x2xi32>) ends(%ends : tensor<4xi32>)
      tokens(%t : tensor<2xi32>) -> tensor<?x32xbf16>
  return
}

// -----

// return_rows_c3: rows are of a matrix
func.func @return_rows_c3_rank(%y: tensor<64xf32>, %s: tensor<?x2xi32>, %w: tensor<?x2xf32>, %e: tensor<?x2xi32>, %ends: tensor<4xi32>, %t: tensor<2xi32>) {
  // expected-error @below {{expected the input as a matrix, but got}}
  %o = grouped_scaled_gemm.return_rows(%y : tensor<64xf32>) by(%s : tensor<?x2xi32>) weights(%w : tensor<?x2xf32>) from(%e : tensor<?x2xi32>) ends(%ends : tensor<4xi32>)
      tokens(%t : tensor<2xi32>) -> tensor<?x64xbf16>
  return
}

// -----

// expert_parallel_c1: a body of rows and ends
func.func @expert_parallel_c1(%x: tensor<?x64xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>, %t: tensor<2xi32>) {
  // expected-error @below {{expected a body of rows [?, K] of }}
  %o = grouped_scaled_gemm.expert_parallel(%x : tensor<?x64xf32>) to(%e : tensor<?x2xi32>) weights(%w : tensor<?x2xf32>) tokens(%t : tensor<2xi32>) {
  ^bb0(%rows: tensor<?x64xbf16>, %ends: tensor<4xi32>):
    %z = arith.constant dense<0.0> : tensor<1x64xf32>
    %c = tensor.cast %z : tensor<1x64xf32> to tensor<?x64xf32>
    grouped_scaled_gemm.yield_rows %c : tensor<?x64xf32>
  } -> tensor<?x64xf32>
  return
}

// -----

// expert_parallel_c2: weights of slots
func.func @expert_parallel_c2(%x: tensor<?x64xf32>, %e: tensor<?x2xi32>, %w: tensor<?x3xf32>, %t: tensor<2xi32>) {
  // expected-error @below {{expected weights of shape ?x2 ([T, k]), but got ?x3}}
  %o = grouped_scaled_gemm.expert_parallel(%x : tensor<?x64xf32>) to(%e : tensor<?x2xi32>) weights(%w : tensor<?x3xf32>) tokens(%t : tensor<2xi32>) {
  ^bb0(%rows: tensor<?x64xf32>, %ends: tensor<4xi32>):
    grouped_scaled_gemm.yield_rows %rows : tensor<?x64xf32>
  } -> tensor<?x64xf32>
  return
}

// -----

// expert_parallel_c2: rows of tokens
func.func @expert_parallel_c2_rows(%x: tensor<?x32xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>, %t: tensor<2xi32>) {
  // expected-error @below {{expected rows of the body of shape ?x32 ([?, K]), but got ?x64}}
  %o = grouped_scaled_gemm.expert_parallel(%x : tensor<?x32xf32>) to(%e : tensor<?x2xi32>) weights(%w : tensor<?x2xf32>) tokens(%t : tensor<2xi32>) {
  ^bb0(%rows: tensor<?x64xf32>, %ends: tensor<4xi32>):
    grouped_scaled_gemm.yield_rows %rows : tensor<?x64xf32>
  } -> tensor<?x64xf32>
  return
}

// -----

// expert_parallel_c3: the end of the body
func.func @expert_parallel_c3(%x: tensor<?x64xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>, %t: tensor<2xi32>) {
  // expected-error @below {{expected a body that ends in yield_rows}}
  %o = grouped_scaled_gemm.expert_parallel(%x : tensor<?x64xf32>) to(%e : tensor<?x2xi32>) weights(%w : tensor<?x2xf32>) tokens(%t : tensor<2xi32>) {
  ^bb0(%rows: tensor<?x64xf32>, %ends: tensor<4xi32>):
    "test.end"() : () -> ()
  } -> tensor<?x64xf32>
  return
}

// -----

// expert_parallel_c3: as wide as the result
func.func @expert_parallel_c3_width(%x: tensor<?x64xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>, %t: tensor<2xi32>) {
  // expected-error @below {{expected yielded rows of shape ?x32 ([?, N]), but got ?x64}}
  %o = grouped_scaled_gemm.expert_parallel(%x : tensor<?x64xf32>) to(%e : tensor<?x2xi32>) weights(%w : tensor<?x2xf32>) tokens(%t : tensor<2xi32>) {
  ^bb0(%rows: tensor<?x64xf32>, %ends: tensor<4xi32>):
    grouped_scaled_gemm.yield_rows %rows : tensor<?x64xf32>
  } -> tensor<?x32xf32>
  return
}

// -----

// A body without operations has no end.
func.func @empty(%x: tensor<?x64xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>, %t: tensor<2xi32>) {
  // expected-error @below {{expects a non-empty block}}
  %o = grouped_scaled_gemm.expert_parallel(%x : tensor<?x64xf32>) to(%e : tensor<?x2xi32>) weights(%w : tensor<?x2xf32>) tokens(%t : tensor<2xi32>) {
  ^bb0(%rows: tensor<?x64xf32>, %ends: tensor<4xi32>):
  } -> tensor<?x64xf32>
  return
}
