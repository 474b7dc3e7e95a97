// Launches, tensor maps, tables and memory of results become calls of the
// runtime; upstream's patterns lower what upstream has.
// RUN: nvfp4-opt %s --convert-gpu-host-to-llvm | FileCheck %s
// RUN: nvfp4-opt %s --convert-gpu-host-to-llvm --finalize-memref-to-llvm --convert-func-to-llvm --convert-arith-to-llvm --reconcile-unrealized-casts | FileCheck %s --check-prefix=LLVM
// LLVM-NOT: unrealized_conversion_cast

!bytes = memref<?x64xi8, #gpu.address_space<global>>
!words = memref<?xf32, #gpu.address_space<global>>
!map = !warpspec.tensor_map<128x64xi8, swizzle = 64>

module attributes {gpu.container_module} {

// CHECK-DAG: llvm.mlir.global external constant @kernels_product_entry() {{.*}}: i8
// CHECK-DAG: llvm.mlir.global internal constant @[[WHERE:nvfp4_check_text_.*]]("{{.*}}launch.mlir:[[@LINE+30]]:{{[0-9]+}}: warpspec.launch\00")
gpu.module @kernels {
  warpspec.kernel @product(%map: !map, %out: memref<?xf32, 1>, %rows: i32, %alpha: f32) {
    warpspec.roles
    role @work warps(4) {
    }
  }
}

// CHECK-LABEL: func.func @launch(
// CHECK-SAME: %[[A:[^:]*]]: memref<?x64xi8>, %[[OUT:[^:]*]]: memref<?xf32>, %{{.*}}: index, %[[ALPHA:.*]]: f32)
func.func @launch(%a: !bytes, %out: !words, %rows: index, %alpha: f32) {
  // The map's bytes have room once, at the start.
  // CHECK: %[[BYTES:.*]] = llvm.mlir.constant(128 : i64) : i64
  // CHECK-NEXT: %[[ROOM:.*]] = llvm.alloca %[[BYTES]] x i8 {alignment = 128 : i64}
  // Sizes, strides and the box come innermost first.
  // CHECK: %[[BOX0:.*]] = llvm.mlir.constant(128 : i32)
  // CHECK: %[[BOX1:.*]] = llvm.mlir.constant(64 : i32)
  // CHECK: %[[TYPE:.*]] = llvm.mlir.constant(0 : i32)
  // CHECK: %[[RANK:.*]] = llvm.mlir.constant(2 : i32)
  // CHECK: %[[SWIZZLE:.*]] = llvm.mlir.constant(2 : i32)
  // CHECK: llvm.call @nvfp4_kernel_tensor_map(%{{.*}}, %[[TYPE]], %[[RANK]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[SWIZZLE]], %[[ROOM]])
  %map = warpspec.encode_tensor_map %a sizes [%rows, 64] strides [64] : !bytes to !map
  // CHECK: %[[STREAM:.*]] = llvm.call @mgpuStreamCreate()
  %t0 = gpu.wait async
  // CHECK: %[[EXTENT:.*]] = llvm.call @nvfp4_kernel_extent(%{{.*}}, %{{.*}}) : (!llvm.ptr, i64) -> i32
  // CHECK: %[[ENTRY:.*]] = llvm.mlir.addressof @kernels_product_entry
  // CHECK: %[[PLACE:.*]] = llvm.mlir.addressof @[[WHERE]]
  // CHECK: llvm.store %[[EXTENT]]
  // CHECK: llvm.call @nvfp4_kernel_start(%[[ENTRY]], %[[PLACE]], %{{.*}}, %[[STREAM]], %{{.*}})
  %t1 = warpspec.launch async [%t0] @kernels::@product tiles(%rows)(%map, writes %out, %rows, %alpha : !map, !words, index, f32)
  // CHECK: llvm.call @mgpuMemAlloc
  %table, %t2 = gpu.alloc async [%t1] () : memref<4x128xi8, #gpu.address_space<global>>
  // CHECK: llvm.call @nvfp4_kernel_write_table(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[STREAM]])
  %t3 = warpspec.write_table async [%t2] %table rows(2) (%rows, %out, %map, %rows, %out, %map : index, !words, !map, index, !words, !map) : memref<4x128xi8, #gpu.address_space<global>>
  // CHECK: llvm.call @mgpuMemFree
  %t4 = gpu.dealloc async [%t3] %table : memref<4x128xi8, #gpu.address_space<global>>
  // CHECK: llvm.call @mgpuStreamSynchronize(%[[STREAM]])
  // CHECK: llvm.call @mgpuStreamDestroy(%[[STREAM]])
  gpu.wait [%t4]
  return
}

// CHECK-LABEL: func.func @result(
// CHECK-SAME: -> memref<?x64xbf16>
func.func @result(%rows: index) -> memref<?x64xbf16, #gpu.address_space<global>> {
  // CHECK: llvm.call @nvfp4_kernel_result(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr, i32, i32, i32, !llvm.ptr) -> !llvm.ptr
  %y = warpspec.result 1(%rows) : memref<?x64xbf16, #gpu.address_space<global>>
  return %y : memref<?x64xbf16, #gpu.address_space<global>>
}

// Upstream's launches start by table entries, too.
// CHECK-LABEL: func.func @grid(
func.func @grid(%x: memref<8xf32, #gpu.address_space<global>>, %n: index) {
  %c1 = arith.constant 1 : index
  %t0 = gpu.wait async
  // CHECK: llvm.mlir.addressof @others_scale_entry
  // CHECK: llvm.call @nvfp4_kernel_start_grid
  // CHECK-NOT: gpu.launch_func
  %t1 = gpu.launch_func async [%t0] @others::@scale blocks in (%n, %c1, %c1) threads in (%n, %c1, %c1) args(%x : memref<8xf32, #gpu.address_space<global>>)
  gpu.wait [%t1]
  return
}
gpu.module @others {
  gpu.func @scale(%x: memref<8xf32, #gpu.address_space<global>>) kernel {
    gpu.return
  }
}

}
