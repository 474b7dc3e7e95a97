// REQUIRES: python-numpy
// A destination with fewer rows than the groups have is refused, by compiled
// code and by the interpreter. Without checks it is written as far as it goes
// and never beyond.

// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: %python -c "import numpy as n; z = lambda s, t: n.zeros(s, t); n.save('x', z((64, 32), 'u1')); n.save('xs', z((64, 4), 'u1')); n.save('w', z((2, 96, 32), 'u1')); n.save('ws', z((2, 96, 4), 'u1')); n.save('ends', n.array([30, 64], 'i4')); n.save('short', z((5, 96), 'f4'))"
// RUN: nvfp4-run %s --runtime-checks=false --inputs x.npy,xs.npy,w.npy,ws.npy,ends.npy,short.npy --outputs y.npy | FileCheck %s
// RUN: not nvfp4-run %s --inputs x.npy,xs.npy,w.npy,ws.npy,ends.npy,short.npy 2>&1 | FileCheck %s --check-prefix=CHECKED
// RUN: nvfp4-compile %s -o f.so
// RUN: not nvfp4-run f.so --inputs x.npy,xs.npy,w.npy,ws.npy,ends.npy,short.npy 2>&1 | FileCheck %s --check-prefix=CHECKED
// RUN: not nvfp4-run %s --device=reference --inputs x.npy,xs.npy,w.npy,ws.npy,ends.npy,short.npy 2>&1 | FileCheck %s --check-prefix=REFUSED

// CHECK: result 0: [5, 96] f32
// CHECKED: error: 'f': {{.*}}disagreeing-extents.mlir:[[# @LINE + 7]]:8: grouped_scaled_gemm.matmul: expected M of outs to be 64, but got 5 [matmul_c25]
// REFUSED: expected outs of 64 rows and 96 columns, but got

!x = !grouped_scaled_gemm.scaled<?x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<2x96x64, nvfp4>
func.func @f(%x: !x, %w: !w, %ends: tensor<2xi32>, %out: tensor<?x96xf32>)
    -> tensor<?x96xf32> {
  %y = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<2xi32>)
      lhs(%x : !x) rhs(%w : !w) outs(%out : tensor<?x96xf32>) -> tensor<?x96xf32>
  return %y : tensor<?x96xf32>
}
