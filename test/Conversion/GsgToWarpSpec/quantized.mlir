// Results in NVFP4. sm_100a has an instruction for two codes, which rounds to the nearest even, makes 6 of NaN and keeps
// the sign of zero; quantisers that want another code take integer arithmetic, and so does sm_90a.
// RUN: nvfp4-opt %s --gsg-assign-scale-layout --gsg-insert-transfers --gsg-expand-epilogue --convert-gsg-to-warpspec | FileCheck %s
// RUN: nvfp4-opt %s --gsg-assign-scale-layout=target=sm_90a --gsg-insert-transfers --gsg-expand-epilogue --convert-gsg-to-warpspec=target=sm_90a \
// RUN:   | FileCheck %s --check-prefix=HOPPER

// HOPPER: warpspec.kernel
// HOPPER-NOT: nvvm.convert.f32x2.to.f4x2

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<128x64, nvfp4>
!c = !grouped_scaled_gemm.scaled<16x128, nvfp4>

// The even code is the low one.
// CHECK-LABEL: warpspec.kernel @nvfp4_gemm_0
// CHECK: %[[EVEN:.*]] = vector.extract %[[SCALED:.*]][0] : f32 from vector<16xf32>
// CHECK: %[[ODD:.*]] = vector.extract %[[SCALED]][1] : f32 from vector<16xf32>
// CHECK: %[[BYTE:.*]] = nvvm.convert.f32x2.to.f4x2 %[[ODD]], %[[EVEN]] : i8(f4E2M1FN)
// CHECK-COUNT-7: nvvm.convert.f32x2.to.f4x2
// CHECK: %[[BYTES:.*]] = vector.from_elements %[[BYTE]]{{.*}} : vector<8xi8>
// CHECK: vector.store %[[BYTES]]
func.func @keep(%a: memref<16x32xi8>, %as: memref<16x4xf8E4M3FN>, %b: memref<128x32xi8>, %bs: memref<128x4xf8E4M3FN>,
                %c: memref<16x64xi8>, %cs: memref<16x8xf8E4M3FN>) {
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<128x32xi8>, memref<128x4xf8E4M3FN> as !b)
      quantizer = <trtllm>
      outs(%c scaled_by %cs : memref<16x64xi8>, memref<16x8xf8E4M3FN> as !c)
  return
}

// CHECK-LABEL: warpspec.kernel @nvfp4_gemm_1
// CHECK-NOT: nvvm.convert.f32x2.to.f4x2
func.func @flush(%a: memref<16x32xi8>, %as: memref<16x4xf8E4M3FN>, %b: memref<128x32xi8>, %bs: memref<128x4xf8E4M3FN>,
                 %c: memref<16x64xi8>, %cs: memref<16x8xf8E4M3FN>) {
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<128x32xi8>, memref<128x4xf8E4M3FN> as !b)
      quantizer = <trtllm, neg_zero = flush>
      outs(%c scaled_by %cs : memref<16x64xi8>, memref<16x8xf8E4M3FN> as !c)
  return
}
