// Kernels of an artefact are for a GPU: another device is refused by the name of that GPU and with the devices that there are.
// REQUIRES: x86, python-numpy

// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: %python -c "import numpy as np; np.save('w.npy', np.zeros((128, 32), np.int8)); np.save('s.npy', np.zeros((128, 4), np.uint8)); np.save('x.npy', np.zeros((8, 32), np.int8)); np.save('t.npy', np.zeros((8, 4), np.uint8)); np.save('c.npy', np.ones((8, 128), np.float32))"
// RUN: nvfp4-compile %s --target=sm_90a -o hopper.so
// RUN: nvfp4-compile %s --target=sm_103a -o ultra.so
// RUN: not nvfp4-run hopper.so --device=cpu --inputs x.npy,t.npy@f8_e4m3fn,w.npy,s.npy@f8_e4m3fn,c.npy 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: not nvfp4-run ultra.so --device=cpu --inputs x.npy,t.npy@f8_e4m3fn,w.npy,s.npy@f8_e4m3fn,c.npy 2>&1 | FileCheck %s --check-prefix=ULTRA
// RUN: not nvfp4-run ultra.so --device=sim --inputs x.npy,t.npy@f8_e4m3fn,w.npy,s.npy@f8_e4m3fn,c.npy 2>&1 | FileCheck %s --check-prefix=SIM
// RUN: not nvfp4-run hopper.so --device=sim --target=sm_100a 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: env NVFP4_SIM_OPTIONS="--arch sm_100a" not nvfp4-run hopper.so --device=sim --inputs x.npy,t.npy@f8_e4m3fn,w.npy,s.npy@f8_e4m3fn,c.npy 2>&1 | FileCheck %s --check-prefix=ARCH
// RUN: nvfp4-run hopper.so --device=sim --inputs x.npy,t.npy@f8_e4m3fn,w.npy,s.npy@f8_e4m3fn,c.npy | FileCheck %s
// RUN: env NVFP4_DEVICE=sim nvfp4-run hopper.so --inputs x.npy,t.npy@f8_e4m3fn,w.npy,s.npy@f8_e4m3fn,c.npy | FileCheck %s
// RUN: not nvfp4-run %s --device=sim --target=sm_103a 2>&1 | FileCheck %s --check-prefix=TARGET

// CPU: expected device cuda or sim for kernels for sm_90a, but got cpu
// ULTRA: expected device cuda or sim for kernels for sm_103a, but got cpu
// SIM: expected PTX for sm_90a, sm_100a or an older generic target, but got sm_103a, which no simulated device runs; compile for sm_90a or sm_100a
// ARCH: expected PTX for sm_100a or an older generic target, but got sm_90a; the option --arch sm_90a chooses a device that runs it
// OTHER: expected --target=sm_90a, for which 'hopper.so' was compiled, but got 'sm_100a'
// TARGET: expected --target=sm_90a, sm_100a or sm_100f with --device=sim, but got 'sm_103a'
// CHECK: result 0: {{.*}}
!x = !grouped_scaled_gemm.scaled<8x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<128x64, nvfp4>
func.func @f(%x: !x, %w: !w, %c: tensor<8x128xf32>) -> tensor<8x128xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%x : !x) rhs(%w : !w) outs(%c : tensor<8x128xf32>) -> tensor<8x128xf32>
  return %d : tensor<8x128xf32>
}
