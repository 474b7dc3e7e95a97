// A program may have an expanded epilogue: compilers take it, and the interpreter, which checks the pass that makes it,
// refuses it.

// REQUIRES: python-numpy
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: %python -c "import numpy as n; z = lambda s, t: n.zeros(s, t); n.save('x', z((16, 32), 'u1')); n.save('xs', z((16, 4), 'u1')); n.save('w', z((32, 32), 'u1')); n.save('ws', z((32, 4), 'u1')); n.save('b', n.arange(32, dtype='f4')); n.save('c', z((16, 32), 'f4')); n.save('p', n.arange(16, dtype='f4')); n.save('d', z((16, 16), 'f4'))"
// DEFINE: %{product} = --entry=product --inputs x.npy,xs.npy,w.npy,ws.npy,b.npy,c.npy
// DEFINE: %{list} = --entry=list --inputs x.npy,xs.npy,w.npy,ws.npy,c.npy
// RUN: nvfp4-run %s --device=cpu %{product} --outputs y.npy
// RUN: %python -c "import numpy as n; assert (n.load('y.npy') == 2 * n.arange(32, dtype='f4')).all()"
// RUN: nvfp4-run %s --device=cpu %{list} --outputs y.npy
// RUN: nvfp4-run %s --device=cpu --entry=pairs --pass-pipeline=cse --inputs x.npy,xs.npy,w.npy,ws.npy,b.npy,p.npy,d.npy --outputs y.npy
// RUN: %python -c "import numpy as n; b = n.load('b.npy'); p = n.load('p.npy')[:, None]; assert (n.load('y.npy') == (b[:16] + b[16:]) * p * -p).all()"
// RUN: nvfp4-compile %s --target=sm_90a --emit=ptx -o /dev/null
// RUN: nvfp4-compile %s --target=sm_100a --emit=ptx -o /dev/null

// RUN: not nvfp4-run %s --device=reference %{product} 2>&1 | FileCheck %s
// CHECK: expected a product before gsg-expand-epilogue, but got an expanded epilogue
// RUN: not nvfp4-run %s --device=reference %{list} 2>&1 | FileCheck %s --check-prefix=LIST
// LIST: expected a list before gsg-expand-epilogue, but got an expanded epilogue

!x = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @product(%x: !x, %w: !w, %b: tensor<32xf32>, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %y = grouped_scaled_gemm.matmul <dense> lhs(%x : !x) rhs(%w : !w) bias(%b : tensor<32xf32>) activation = <custom>
      epilogue {
      ^bb0(%acc: f32):
        %bias = grouped_scaled_gemm.load_clause bias
        %z = arith.addf %acc, %bias : f32
        %y = arith.addf %z, %z : f32
        grouped_scaled_gemm.store_result %y
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %y : tensor<16x32xf32>
}

func.func @list(%x: !x, %w: !w, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %y = grouped_scaled_gemm.matmul_list lhs(%x : !x) rhs(%w : !w)
      epilogue {
      ^bb0(%acc: f32):
        grouped_scaled_gemm.store_result %acc
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %y : tensor<16x32xf32>
}

// Simplification may make one value of two that stand before and after the pairs, if it is that of a row.
func.func @pairs(%x: !x, %w: !w, %b: tensor<32xf32>, %p: tensor<16xf32>, %d: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %y = grouped_scaled_gemm.matmul <dense> lhs(%x : !x) rhs(%w : !w) bias(%b : tensor<32xf32>)
      prob(%p : tensor<16xf32>) activation = <custom, gate = <halves, gate_first>>
      epilogue {
      ^bb0(%acc: f32):
        %bias = grouped_scaled_gemm.load_clause bias
        %z = arith.addf %acc, %bias : f32
        %prob = grouped_scaled_gemm.load_clause prob
        %negated = arith.negf %prob : f32
        %0 = arith.mulf %z, %negated : f32
        %gate, %up = grouped_scaled_gemm.pair_columns %0
        %1 = arith.addf %gate, %up : f32
        %again = grouped_scaled_gemm.load_clause prob
        %2 = arith.negf %again : f32
        %3 = arith.mulf %1, %2 : f32
        %4 = arith.negf %3 : f32
        grouped_scaled_gemm.store_result %4
      }
      outs(%d : tensor<16x16xf32>) -> tensor<16x16xf32>
  return %y : tensor<16x16xf32>
}
