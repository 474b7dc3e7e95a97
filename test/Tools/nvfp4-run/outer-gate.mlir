// REQUIRES: python-numpy
// matmul_c41: the interpreter has one gate layout, so it refuses an addend in another.

// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: %python -c "import numpy as n; z = lambda s, t: n.zeros(s, t); n.save('x', z((16, 32), 'u1')); n.save('xs', z((16, 4), 'u1')); n.save('w', z((32, 32), 'u1')); n.save('ws', z((32, 4), 'u1')); n.save('c', z((16, 32), 'f4')); n.save('d', z((16, 16), 'f4'))"
// RUN: not nvfp4-run %s --device=reference --inputs x.npy,xs.npy,w.npy,ws.npy,c.npy,d.npy 2>&1 | FileCheck %s

// CHECK: expected no outer_gate: addend and preact_outs in the gate layout of the weights

!x = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @f(%x: !x, %w: !w, %c: tensor<16x32xf32>, %d: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %y = grouped_scaled_gemm.matmul <dense> lhs(%x : !x) rhs(%w : !w) addend(%c : tensor<16x32xf32>)
      activation = <swiglu, gate = <8, gate_first>> outer_gate = <halves, gate_first>
      outs(%d : tensor<16x16xf32>) -> tensor<16x16xf32>
  return %y : tensor<16x16xf32>
}
