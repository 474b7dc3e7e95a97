// An artefact says what it was compiled for, and is compared with the bound of that target: where
// 6 * 6 - 6 * 6 with large scales stands beside a small number, sm_90a loses the number, CPUs do not.
// REQUIRES: python-numpy
// DEFINE: %{inputs} = --inputs %t/cancels.safetensors:a,%t/cancels.safetensors:a_scale,%t/cancels.safetensors:b,%t/cancels.safetensors:b_scale,%t/cancels.safetensors:c
// RUN: %python %S/Inputs/make-inputs.py %t
// RUN: nvfp4-compile %s -o %t/cpu.so
// RUN: nvfp4-run %t/cpu.so --reference=%s --check=reference %{inputs} | FileCheck %s --check-prefix=CPU
// CPU: ok: 8 compared, 0 unspecified, 0 beyond the bound, max error 0 before
// RUN: nvfp4-compile %s --target=sm_90a -O1 -o %t/sm90.so
// RUN: env NVFP4_DEVICE=sim NVFP4_SIM_OPTIONS="--arch sm_90a" nvfp4-run %t/sm90.so \
// RUN:   --reference=%s --check=reference %{inputs} | FileCheck %s --check-prefix=SM90
// SM90: ok: 8 compared, 0 unspecified, 0 beyond the bound, max error 0.000244141 before

!a = !grouped_scaled_gemm.scaled<1x32, nvfp4>
!b = !grouped_scaled_gemm.scaled<8x32, nvfp4>
func.func @f(%a: !a, %b: !b, %c: tensor<1x8xf32>) -> tensor<1x8xf32> {
  %y = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<1x8xf32>) -> tensor<1x8xf32>
  return %y : tensor<1x8xf32>
}
