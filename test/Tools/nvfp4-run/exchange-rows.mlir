// REQUIRES: python-numpy
// Constraints of the data of return_rows, and of a body, in the interpreter.

// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: %python -c "import numpy as n; s = n.save; s('y', n.ones((4, 8), 'f4')); s('r', n.array([[0, 1], [2, 4]], 'i4')); s('w', n.ones((2, 2), 'f4')); s('e', n.zeros((2, 2), 'i4')); s('t', n.array([1, 2], 'i4')); s('x', n.ones((2, 8), 'f4'))"

// return_rows_c4
// RUN: not nvfp4-run %s --entry=return_rows --device=reference --inputs y.npy,r.npy,w.npy,e.npy,t.npy 2>&1 | FileCheck %s --check-prefix=ROW
// ROW: expected rows in [-1, 4), but got 4 for token 1, slot 1
func.func @return_rows(%y: tensor<?x8xf32>, %r: tensor<?x2xi32>, %w: tensor<?x2xf32>, %e: tensor<?x2xi32>, %t: tensor<2xi32>)
    -> tensor<?x8xf32> {
  %ends = arith.constant dense<[4, 4]> : tensor<2xi32>
  %o = grouped_scaled_gemm.return_rows(%y : tensor<?x8xf32>) by(%r : tensor<?x2xi32>) weights(%w : tensor<?x2xf32>)
      from(%e : tensor<?x2xi32>) ends(%ends : tensor<2xi32>) tokens(%t : tensor<2xi32>) -> tensor<?x8xf32>
  return %o : tensor<?x8xf32>
}

// expert_parallel_c4
// RUN: not nvfp4-run %s --entry=body --device=reference --inputs x.npy,e.npy,w.npy,t.npy 2>&1 | FileCheck %s --check-prefix=BODY
// BODY: expected a body that yields as many rows as it gets, 4, but got tensor<3x8xf32>
func.func @body(%x: tensor<?x8xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>, %t: tensor<2xi32>) -> tensor<?x8xf32> {
  %o = grouped_scaled_gemm.expert_parallel(%x : tensor<?x8xf32>) to(%e : tensor<?x2xi32>) weights(%w : tensor<?x2xf32>)
      tokens(%t : tensor<2xi32>) {
  ^bb0(%rows: tensor<?x8xf32>, %ends: tensor<2xi32>):
    %three = arith.constant dense<0.0> : tensor<3x8xf32>
    %z = tensor.cast %three : tensor<3x8xf32> to tensor<?x8xf32>
    grouped_scaled_gemm.yield_rows %z : tensor<?x8xf32>
  } -> tensor<?x8xf32>
  return %o : tensor<?x8xf32>
}
