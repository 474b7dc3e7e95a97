// A block-scaled product through the interpreter. Bytes are accepted for codes
// and scales, and scales may have another shape.
// REQUIRES: python-numpy
// RUN: %python %S/Inputs/make-inputs.py %t
// RUN: nvfp4-run %s --device=reference --check=reference:sampled=4 --outputs %t/d.npy \
// RUN:   --inputs %t/gemm.safetensors:a,%t/gemm.safetensors:a_scale,%t/gemm.safetensors:b,%t/gemm.safetensors:b_scale,%t/c.npy \
// RUN:   | FileCheck %s
// RUN: %python -c "import numpy as np; d = np.load('%t/d.npy'); assert (d == d.round()).all() and abs(d).max() <= 64 and d.any()"
// CHECK: result 0: [16, 32] f32
// CHECK: check of result 0: ok

// RUN: nvfp4-run %s --device=reference \
// RUN:   --inputs %t/gemm.safetensors:a,%t/gemm.safetensors:a_scale,%t/gemm.safetensors:b,%t/gemm.safetensors:flat_scale,%t/c.npy \
// RUN:   2>&1 | FileCheck %s --check-prefix=RESHAPE
// RESHAPE: note: argument 3: '{{.*}}flat_scale' of shape [128] read as [32, 4]
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @gemm(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}
