// Upstream-style host code on the simulator: gpu.launch, asynchronous copies,
// registered memory of the host.
//
// UNSUPPORTED: asan
// RUN: mlir-opt %s --gpu-kernel-outlining \
// RUN:   --gpu-lower-to-nvvm-pipeline="cubin-chip=sm_90a cubin-features=+ptx80 \
// RUN:     cubin-format=isa" \
// RUN: | env NVFP4_DEVICE=sim NVFP4_SIM_OPTIONS="--arch sm_90a --check" \
// RUN:   mlir-runner --entry-point-result=void \
// RUN:     --shared-libs=%nvfp4_lib/libnvfp4_runtime.so \
// RUN:     --shared-libs=%llvmlib/libmlir_runner_utils.so \
// RUN: | FileCheck %s

func.func private @printMemrefF32(memref<*xf32>)

// The device reads and writes memory of the host.
func.func @registered() {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %half = arith.constant 0.5 : f32
  %memory = memref.alloc() : memref<8xf32>
  %any = memref.cast %memory : memref<8xf32> to memref<*xf32>
  gpu.host_register %any : memref<*xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c8, %sy = %c1, %sz = %c1) {
    %i = arith.index_cast %tx : index to i32
    %x = arith.sitofp %i : i32 to f32
    %y = arith.addf %x, %half : f32
    memref.store %y, %memory[%tx] : memref<8xf32>
    gpu.terminator
  }
  // CHECK: [0.5,  1.5,  2.5,  3.5,  4.5,  5.5,  6.5,  7.5]
  call @printMemrefF32(%any) : (memref<*xf32>) -> ()
  gpu.host_unregister %any : memref<*xf32>
  return
}

// Copies in and out, a fill, and shared memory, in one stream.
func.func @copied() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c63 = arith.constant 63 : index
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %three = arith.constant 3.0 : f32
  %in = memref.alloc() : memref<64xf32>
  %out = memref.alloc() : memref<64xf32>
  scf.for %i = %c0 to %c64 step %c1 {
    %j = arith.index_cast %i : index to i32
    %x = arith.sitofp %j : i32 to f32
    memref.store %x, %in[%i] : memref<64xf32>
  }
  %t0 = gpu.wait async
  %a, %t1 = gpu.alloc async [%t0] () : memref<64xf32>
  %b, %t2 = gpu.alloc async [%t1] () : memref<64xf32>
  %t3 = gpu.memcpy async [%t2] %a, %in : memref<64xf32>, memref<64xf32>
  %t4 = gpu.memset async [%t3] %b, %three : memref<64xf32>, f32
  %t5 = gpu.launch async [%t4]
      blocks(%bx, %by, %bz) in (%gx = %c2, %gy = %c1, %gz = %c1)
      threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1)
      workgroup(%tile : memref<32xf32, #gpu.address_space<workgroup>>) {
    %offset = arith.muli %bx, %c32 : index
    %i = arith.addi %offset, %tx : index
    %x = memref.load %a[%i] : memref<64xf32>
    memref.store %x, %tile[%tx] : memref<32xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %last = arith.constant 31 : index
    %mirror = arith.subi %last, %tx : index
    %y = memref.load %tile[%mirror]
        : memref<32xf32, #gpu.address_space<workgroup>>
    %z = memref.load %b[%i] : memref<64xf32>
    %sum = arith.addf %y, %z : f32
    memref.store %sum, %b[%i] : memref<64xf32>
    gpu.terminator
  }
  %t6 = gpu.memcpy async [%t5] %out, %b : memref<64xf32>, memref<64xf32>
  %t7 = gpu.dealloc async [%t6] %a : memref<64xf32>
  %t8 = gpu.dealloc async [%t7] %b : memref<64xf32>
  gpu.wait [%t8]
  %any = memref.cast %out : memref<64xf32> to memref<*xf32>
  // CHECK: [34,  33,  32,  {{.*}} 4,  3,  66,  65, {{.*}} 36,  35]
  call @printMemrefF32(%any) : (memref<*xf32>) -> ()
  return
}

func.func @main() {
  call @registered() : () -> ()
  call @copied() : () -> ()
  return
}
