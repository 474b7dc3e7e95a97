// REQUIRES: python-numpy
// A layer on four virtual ranks of the interpreter, checked against the program of one rank on the CPU, and constraints of
// its data.

// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: %python -c "import numpy as n; r = n.random.default_rng(1); s = n.save; s('x', r.standard_normal((9, 64), 'f4')); s('e', r.integers(-1, 5, (9, 2)).astype('i4')); s('g', r.random((9, 2), 'f4')); s('t', n.array([3, 3, 8, 9], 'i4')); s('w', r.integers(0, 256, (5, 32, 32)).astype('u1')); s('ws', r.integers(40, 70, (5, 32, 4)).astype('u1')); s('down', n.array([3, 2, 8, 9], 'i4')); s('short', n.array([3, 3, 8, 8], 'i4')); s('full', n.array([3, 3, 9, 9], 'i4')); s('none', n.full((9, 2), 5, 'i4'))"
// RUN: nvfp4-run %s --check=reference --inputs x.npy,e.npy,g.npy,t.npy,w.npy,ws.npy | FileCheck %s
// CHECK: result 0: [9, 32] f32
// CHECK: check of result 0: ok

// ranks_c7
// RUN: not nvfp4-run %s --device=reference --inputs x.npy,e.npy,g.npy,down.npy,w.npy,ws.npy 2>&1 | FileCheck %s --check-prefix=DOWN
// DOWN: expected tokens that do not decrease and end at 9, but got 2 for rank 1
// RUN: not nvfp4-run %s --device=reference --inputs x.npy,e.npy,g.npy,short.npy,w.npy,ws.npy 2>&1 | FileCheck %s --check-prefix=SHORT
// SHORT: expected tokens that do not decrease and end at 9, but got 8 for rank 3

// ranks_c8
// RUN: not nvfp4-run %s --device=reference --inputs x.npy,e.npy,g.npy,full.npy,w.npy,ws.npy 2>&1 | FileCheck %s --check-prefix=FULL
// FULL: expected at most 5 tokens on a rank, but got 6 on rank 2

// ranks_c9: code of one rank finds it as sort_tokens_c6
// RUN: not nvfp4-run %s --device=reference --inputs x.npy,none.npy,g.npy,t.npy,w.npy,ws.npy 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: expected experts in [-1, 5), but got 5 for token 0, slot 0
// RUN: not nvfp4-run %s --inputs x.npy,none.npy,g.npy,t.npy,w.npy,ws.npy 2>&1 | FileCheck %s --check-prefix=CODE
// CODE: grouped_scaled_gemm.sort_tokens: expected experts[0, 0] to be in [-1, 5), but got 5 {{.*}}[sort_tokens_c6]

!a = !grouped_scaled_gemm.scaled<?x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<5x32x64, nvfp4>
func.func @layer(%x: tensor<?x64xf32>, %experts: tensor<?x2xi32>, %weights: tensor<?x2xf32>, %tokens: tensor<4xi32>, %w: !w)
    -> tensor<?x32xf32> {
  %o = grouped_scaled_gemm.expert_parallel(%x : tensor<?x64xf32>) to(%experts : tensor<?x2xi32>)
      weights(%weights : tensor<?x2xf32>) tokens(%tokens : tensor<4xi32>)
      attributes {capacity = 5 : i64, table = [[0], [1, 3], [2], [3], [0, 1, 2, 3]]} {
  ^bb0(%rows: tensor<?x64xf32>, %ends: tensor<5xi32>):
    %c0 = arith.constant 0 : index
    %count = tensor.dim %rows, %c0 : tensor<?x64xf32>
    %q = grouped_scaled_gemm.quantize <trtllm>(%rows : tensor<?x64xf32>) -> !a
    %e = tensor.empty(%count) : tensor<?x32xf32>
    %y = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<5xi32>) lhs(%q : !a) rhs(%w : !w)
        outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
    grouped_scaled_gemm.yield_rows %y : tensor<?x32xf32>
  } -> tensor<?x32xf32>
  return %o : tensor<?x32xf32>
}
