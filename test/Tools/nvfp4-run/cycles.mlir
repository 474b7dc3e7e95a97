// Cycles by the simulator's model are printed for each launch on device sim, the same for every seed.
// REQUIRES: x86, python-numpy

// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: %python -c "import numpy as np; np.save('w.npy', np.zeros((128, 32), np.int8)); np.save('s.npy', np.zeros((128, 4), np.uint8)); np.save('x.npy', np.zeros((8, 32), np.int8)); np.save('t.npy', np.zeros((8, 4), np.uint8)); np.save('c.npy', np.ones((8, 128), np.float32))"
// RUN: nvfp4-compile %s --target=sm_100a -o product.so
// RUN: env NVFP4_SIM_OPTIONS=--cycles nvfp4-run product.so --device=sim --inputs x.npy,t.npy@f8_e4m3fn,w.npy,s.npy@f8_e4m3fn,c.npy 2> one
// RUN: env NVFP4_SIM_OPTIONS="--cycles --seed 7" nvfp4-run product.so --device=sim --inputs x.npy,t.npy@f8_e4m3fn,w.npy,s.npy@f8_e4m3fn,c.npy 2> seven
// RUN: FileCheck %s --input-file one
// RUN: cmp one seven

// Events are in modelled time, a microsecond for 1000 cycles, so --tune finds the best tile for a device of so many multiprocessors.
// RUN: env NVFP4_DEVICE=sim NVFP4_SIM_OPTIONS="--cycles --sms 2" nvfp4-compile %s --target=sm_100a --tune=2 --strategies=tiles --emit=ptx -o tuned.ptx 2> tuned
// RUN: env NVFP4_DEVICE=sim NVFP4_SIM_OPTIONS="--cycles --sms 2 --seed 3" nvfp4-compile %s --target=sm_100a --tune=2 --strategies=others --emit=ptx -o tuned.ptx
// RUN: cmp tiles others
// RUN: FileCheck %s --input-file tuned --check-prefix=TUNED
// TUNED: about {{[1-9][0-9]*}} cycles
// TUNED: tuned 'f' on {{.*}} us, the best of 2

// CHECK: nvfp4-sim: {{.+}}: about {{[1-9][0-9]*}} cycles, by a model, and {{[1-9][0-9]*}} warp instructions
!x = !grouped_scaled_gemm.scaled<8x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<128x64, nvfp4>
func.func @f(%x: !x, %w: !w, %c: tensor<8x128xf32>) -> tensor<8x128xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%x : !x) rhs(%w : !w) outs(%c : tensor<8x128xf32>) -> tensor<8x128xf32>
  return %d : tensor<8x128xf32>
}
