// Rows without scales: f16 is multiplied as f16, by weights decoded to it.
// RUN: nvfp4-opt %s --gsg-assign-scale-layout=target=sm_90a --gsg-insert-transfers --gsg-expand-epilogue --convert-gsg-to-warpspec=target=sm_90a | FileCheck %s

!b = !grouped_scaled_gemm.scaled<384x512, mxfp4>

// CHECK-LABEL: func.func @halves
func.func @halves(%a: memref<64x512xf16>, %b: memref<384x256xi8>, %bs: memref<384x16xf8E8M0FNU>,
                  %out: memref<64x384xf16>) {
  // The elements as they are, and weights for f16.
  // CHECK: %[[X:.*]] = gpu.alloc () : memref<64x512xf16, #gpu.address_space<global>>
  // CHECK-NOT: stage_rows
  // CHECK: warpspec.encode_tensor_map %[[X]] sizes [8, 64, 64] strides [128, 1024] : {{.*}} to <2x8x64xf16, swizzle = 128>
  // CHECK: warpspec.stage_weights(%{{.*}}) format "mxfp4" to_f16
  grouped_scaled_gemm.matmul <dense> lhs(%a : memref<64x512xf16>)
      rhs(%b scaled_by %bs : memref<384x256xi8>, memref<384x16xf8E8M0FNU> as !b)
      outs(%out : memref<64x384xf16>)
  return
}

// CHECK-LABEL: warpspec.kernel @nvfp4_gemm_0
// CHECK: warpspec.smem_alloc : memref<4x2x96x64xf16, #warpspec.smem<128>>
// CHECK: warpspec.mma_decoded %{{.*}} step 8 of e2m1_ue8m0
