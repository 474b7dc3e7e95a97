// RUN: nvfp4-opt %s --convert-gsg-to-gpu --cse | FileCheck %s

// Operands as kernels of products read them.

#global = #gpu.address_space<global>

// A launch stores the factors, one packs: 64 bytes of codes and 8 of scales a thread.
// CHECK-LABEL: func @weights
// CHECK:       gpu.launch {{.*}}function(@nvfp4_stage_weights)
// CHECK:         memref.store %{{.*}}, %arg3[%{{.*}}] : memref<3xf32
// CHECK:       gpu.launch {{.*}}function(@nvfp4_stage_weights)
// CHECK:         llvm.store %{{.*}} {alignment = 16 : i64} : vector<16xi32>
// CHECK:         llvm.store %{{.*}} {alignment = 8 : i64} : vector<2xi32>
// CHECK-NOT:   gpu.launch
func.func @weights(%w: memref<3x70x32xi8, #global>, %s: memref<3x70x4xf8E4M3FN, #global>, %out: memref<3x9216xi8, #global>,
                   %factors: memref<3xf32, #global>) {
  %k = arith.constant 64 : index
  warpspec.stage_weights(%w, %s) format "nvfp4" columns(%k) stage(128) outs(%out, %factors)
      : memref<3x70x32xi8, #global>, memref<3x70x4xf8E4M3FN, #global> to memref<3x9216xi8, #global>, memref<3xf32, #global>
  return
}

// UE8M0 scales have one factor a matrix, by the smallest and the largest of them.
// CHECK-LABEL: func @powers
// CHECK:       %[[RANGES:.*]] = gpu.alloc (%{{.*}}) : memref<?x2xi32, #gpu.address_space<global>>
// CHECK:       gpu.launch
// CHECK:       gpu.launch
// CHECK:         memref.atomic_rmw mins %{{.*}}, %[[RANGES]]
// CHECK:         memref.atomic_rmw maxs %{{.*}}, %[[RANGES]]
// CHECK-COUNT-2: gpu.launch
// CHECK:       gpu.dealloc %[[RANGES]]
func.func @powers(%w: memref<64x64xi8, #global>, %s: memref<64x4xf8E8M0FNU, #global>, %out: memref<1x2x2304xi8, #global>,
                  %factors: memref<1xf32, #global>) {
  grouped_scaled_gemm.relayout_weights(%w scaled_by %s : memref<64x64xi8, #global>, memref<64x4xf8E8M0FNU, #global> as !grouped_scaled_gemm.scaled<64x128, mxfp4>)
      outs(%out scaled_by %factors : memref<1x2x2304xi8, #global>, memref<1xf32, #global> as !grouped_scaled_gemm.scaled<64x128, mxfp4, wgmma>)
  return
}

// Groups along K begin at stages of their own: a table says where each is.
// CHECK-LABEL: func @groups
// CHECK:       %[[TABLE:.*]] = gpu.alloc (%{{.*}}) : memref<?x3xi64, #gpu.address_space<global>>
// CHECK:       gpu.launch {{.*}}function(@nvfp4_stage_scales)
// CHECK:         memref.store %{{.*}}, %[[TABLE]]
// CHECK:       gpu.launch {{.*}}function(@nvfp4_stage_scales)
// CHECK:         scf.while
// CHECK:         llvm.store %{{.*}} {alignment = 4 : i64} : i32
// CHECK:       gpu.dealloc %[[TABLE]]
func.func @groups(%s: memref<8x13xf8E4M3FN, #global>, %ends: memref<2xi32, #global>, %k: index, %tiles: memref<1x6144xi8, #global>) {
  warpspec.stage_scales(%s) format "nvfp4" columns(%k) groups(%ends : memref<2xi32, #global>) k_ends stage(256) outs(%tiles)
      : memref<8x13xf8E4M3FN, #global> to memref<1x6144xi8, #global>
  return
}
