// The host's side of kernels: syntax, and parameters against the kernel.
// RUN: nvfp4-opt %s --verify-roundtrip
// RUN: nvfp4-opt %s --mlir-print-op-generic | nvfp4-opt | FileCheck %s

!bytes = memref<?x64xi8, #gpu.address_space<global>>
!words = memref<?xf32, #gpu.address_space<global>>
!map = !warpspec.tensor_map<128x64xi8, swizzle = 64>

gpu.module @kernels {
  warpspec.kernel @product(%map: !warpspec.tensor_map<128x64xi8, swizzle = 64>, %out: memref<?xf32, 1>, %rows: i32, %alpha: f32) {
    warpspec.roles
    role @work warps(4) {
    }
  }
}

// CHECK-LABEL: func.func @launch
func.func @launch(%a: !bytes, %out: !words, %rows: index, %alpha: f32) {
  // CHECK: %[[MAP:.*]] = warpspec.encode_tensor_map %{{.*}} sizes [%{{.*}}, 64] strides [64]
  %map = warpspec.encode_tensor_map %a sizes [%rows, 64] strides [64] : !bytes to !map
  %t0 = gpu.wait async
  // CHECK: warpspec.launch async [%{{.*}}] @kernels::@product tiles(%{{.*}})(%[[MAP]], writes %{{.*}}, %{{.*}}, %{{.*}} : !warpspec.tensor_map
  %t1 = warpspec.launch async [%t0] @kernels::@product tiles(%rows)(%map, writes %out, %rows, %alpha : !map, !words, index, f32)
  // CHECK: warpspec.write_table async [%{{.*}}] %{{.*}} rows(1) (%{{.*}}, %{{.*}}, %[[MAP]] : index, memref<?xf32, #gpu.address_space<global>>
  %table, %t2 = gpu.alloc async [%t1] () : memref<2x128xi8, #gpu.address_space<global>>
  %t3 = warpspec.write_table async [%t2] %table rows(1) (%rows, %out, %map : index, !words, !map) : memref<2x128xi8, #gpu.address_space<global>>
  gpu.wait [%t3]
  return
}

// Without asynchronous tokens the host waits.
// CHECK-LABEL: func.func @waits
func.func @waits(%a: !bytes, %out: !words, %rows: index, %alpha: f32) -> !words {
  %map = warpspec.encode_tensor_map %a sizes [%rows, 64] strides [64] : !bytes to !map
  // CHECK: warpspec.launch @kernels::@product tiles
  warpspec.launch @kernels::@product tiles(%rows)(%map, writes %out, %rows, %alpha : !map, !words, index, f32)
  // CHECK: warpspec.result 0(%{{.*}}) : memref<?xf32, #gpu.address_space<global>>
  %y = warpspec.result 0(%rows) : !words
  return %y : !words
}

// Operations for reports of bad data.
// CHECK-LABEL: func.func @checks
func.func @checks() -> (i64, i64) {
  // CHECK: warpspec.data_record
  %record = warpspec.data_record
  // CHECK: warpspec.data_checks "f.mlir:1:2: op" [#warpspec.data_check<groups, "", "", [0, 8]>, #warpspec.data_check<index, "permute_c4", "token_of_row">]
  %checks = warpspec.data_checks "f.mlir:1:2: op" [#warpspec.data_check<groups, "", "", [0, 8]>,
      #warpspec.data_check<index, "permute_c4", "token_of_row">]
  return %record, %checks : i64, i64
}
