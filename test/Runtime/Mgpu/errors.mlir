// Functions called mgpu have no status to return: an error, or a report of the
// simulator, ends the process with a message.
//
// UNSUPPORTED: asan
// RUN: mlir-opt %s --gpu-kernel-outlining \
// RUN:   --gpu-lower-to-nvvm-pipeline="cubin-chip=sm_90a cubin-features=+ptx80 \
// RUN:     cubin-format=isa" -o %t.mlir
// RUN: env NVFP4_DEVICE=sim NVFP4_SIM_OPTIONS="--arch sm_90a" \
// RUN:   not mlir-runner %t.mlir --entry-point-result=void \
// RUN:     --shared-libs=%nvfp4_lib/libnvfp4_runtime.so 2>&1 \
// RUN: | FileCheck %s --check-prefix=BOUNDS
// RUN: env NVFP4_DEVICE=sim NVFP4_SIM_OPTIONS="--arch sm_100a" \
// RUN:   not mlir-runner %t.mlir --entry-point-result=void \
// RUN:     --shared-libs=%nvfp4_lib/libnvfp4_runtime.so 2>&1 \
// RUN: | FileCheck %s --check-prefix=TARGET
// RUN: env NVFP4_DEVICE=sim NVFP4_SIM_OPTIONS="--arch sm_80" \
// RUN:   not mlir-runner %t.mlir --entry-point-result=void \
// RUN:     --shared-libs=%nvfp4_lib/libnvfp4_runtime.so 2>&1 \
// RUN: | FileCheck %s --check-prefix=OPTION
// RUN: env NVFP4_DEVICE=sim NVFP4_SIM_OPTIONS=--chek \
// RUN:   not mlir-runner %t.mlir --entry-point-result=void \
// RUN:     --shared-libs=%nvfp4_lib/libnvfp4_runtime.so 2>&1 \
// RUN: | FileCheck %s --check-prefix=UNKNOWN
// RUN: env NVFP4_DEVICE=gpu not mlir-runner %t.mlir \
// RUN:     --entry-point-result=void \
// RUN:     --shared-libs=%nvfp4_lib/libnvfp4_runtime.so 2>&1 \
// RUN: | FileCheck %s --check-prefix=DEVICE

// BOUNDS: nvfp4: error: mgpuStreamSynchronize: cuStreamSynchronize: an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS): kernel main_kernel, seed 1:
// BOUNDS: out-of-bounds: 4 bytes at global address {{.*}}: 0 bytes after 'allocation' of 64 bytes
// TARGET: nvfp4: error: loading a module: {{.*}}expected PTX for sm_100a or an older generic target, but got sm_90a
// OPTION: nvfp4: error: opening the device: {{.*}}NVFP4_SIM_OPTIONS: expected sm_100a or sm_90a for --arch, but got 'sm_80'
// UNKNOWN: nvfp4: error: opening the device: {{.*}}NVFP4_SIM_OPTIONS: unknown option '--chek' (nearest: --check)
// DEVICE: nvfp4: error: opening the device: expected cpu, cuda, cuda:<number> or sim, but got 'gpu'

func.func @main() {
  %c1 = arith.constant 1 : index
  %c17 = arith.constant 17 : index
  %one = arith.constant 1.0 : f32
  %t0 = gpu.wait async
  %a, %t1 = gpu.alloc async [%t0] () : memref<16xf32>
  gpu.wait [%t1]
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c17, %sy = %c1, %sz = %c1) {
    memref.store %one, %a[%tx] : memref<16xf32>
    gpu.terminator
  }
  return
}
