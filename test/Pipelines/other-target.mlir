// A pipeline for one family of GPUs makes no kernels for the other.

// RUN: not nvfp4-opt %s --gsg-to-sm100=target=sm_90a 2>&1 | FileCheck %s --check-prefix=SM100
// RUN: not nvfp4-opt %s --pass-pipeline="builtin.module(gsg-to-sm100-kernels{target=sm_90a})" 2>&1 | FileCheck %s --check-prefix=SM100-KERNELS
// RUN: not nvfp4-opt %s --gsg-to-sm90=target=sm_100a 2>&1 | FileCheck %s --check-prefix=SM90
// RUN: not nvfp4-opt %s --gsg-to-sm90-kernels=target=sm_103a 2>&1 | FileCheck %s --check-prefix=SM90-KERNELS
// RUN: nvfp4-opt %s --gsg-to-sm100=target=sm_103a | FileCheck %s
// RUN: nvfp4-opt %s --gsg-to-sm90=target=sm_90a | FileCheck %s

// SM100: error: {{.*}}expected target sm_100a, sm_103a or sm_100f for gsg-to-sm100, but got 'sm_90a', for which gsg-to-sm90 is
// SM100-KERNELS: error: {{.*}}expected target sm_100a, sm_103a or sm_100f for gsg-to-sm100-kernels, but got 'sm_90a', for which gsg-to-sm90-kernels is
// SM90: error: {{.*}}expected target sm_90a for gsg-to-sm90, but got 'sm_100a', for which gsg-to-sm100 is
// SM90-KERNELS: error: {{.*}}expected target sm_90a for gsg-to-sm90-kernels, but got 'sm_103a', for which gsg-to-sm100-kernels is
// CHECK: llvm.func @f(
func.func @f() {
  return
}
