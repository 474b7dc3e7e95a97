// A module of kernels that were written by hand, with no function of the host.
// RUN: nvfp4-compile %s --target=sm_90a --emit=ptx | FileCheck %s
// RUN: not nvfp4-compile %s --target=sm_90a -o %t.so 2>&1 | FileCheck %s --check-prefix=HOST
// HOST: error: expected a public function with a body to compile, but '{{.*}}only-kernels.mlir' has none

// CHECK: .target sm_90a
// CHECK: .visible .entry twice(
// CHECK: .maxntid 64
// CHECK: griddepcontrol.wait
// CHECK: ld.global.v4.b32
// CHECK-COUNT-4: .bf16x2
// CHECK: st.global.v4.b32
gpu.module @kernels {
  gpu.func @twice(%x: memref<?x512xbf16>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    nvvm.griddepcontrol wait
    %c8 = arith.constant 8 : index
    %two = arith.constant dense<2.0> : vector<8xf32>
    %row = gpu.block_id x
    %thread = gpu.thread_id x
    %column = arith.muli %thread, %c8 : index
    %v = vector.load %x[%row, %column] {alignment = 16 : i64} : memref<?x512xbf16>, vector<8xbf16>
    %f = arith.extf %v : vector<8xbf16> to vector<8xf32>
    %t = arith.mulf %f, %two : vector<8xf32>
    %b = arith.truncf %t : vector<8xf32> to vector<8xbf16>
    vector.store %b, %x[%row, %column] {alignment = 16 : i64} : memref<?x512xbf16>, vector<8xbf16>
    gpu.return
  }
}
