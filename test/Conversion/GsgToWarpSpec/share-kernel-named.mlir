// A kernel that stands in the module before is shared, whatever its name is.
// RUN: nvfp4-opt %s --gsg-insert-transfers --gsg-expand-epilogue --convert-gsg-to-warpspec=target=sm_90a --mlir-print-op-generic > %t.once
// RUN: grep "^[!#]" %t.once > %t.mlir
// RUN: grep -v "^}$" %s >> %t.mlir
// RUN: sed -n "/^  \"gpu.module/,/^  })/p" %t.once | sed "s/\"nvfp4_gemm_0\"/\"handwritten\"/" >> %t.mlir
// RUN: echo "}" >> %t.mlir
// RUN: nvfp4-opt %t.mlir --gsg-insert-transfers --gsg-expand-epilogue --convert-gsg-to-warpspec=target=sm_90a | FileCheck %s

!scaled = !grouped_scaled_gemm.scaled<?x?, nvfp4>

// CHECK: warpspec.launch @nvfp4_kernels::@handwritten
// CHECK: warpspec.kernel @handwritten
// CHECK-NOT: warpspec.kernel
module {
  func.func @product(%a: memref<?x?xi8>, %as: memref<?x?xf8E4M3FN>,
                     %b: memref<?x?xi8>, %bs: memref<?x?xf8E4M3FN>, %c: memref<?x?xf32>) {
    grouped_scaled_gemm.matmul <dense>
        lhs(%a scaled_by %as : memref<?x?xi8>, memref<?x?xf8E4M3FN> as !scaled)
        rhs(%b scaled_by %bs : memref<?x?xi8>, memref<?x?xf8E4M3FN> as !scaled)
        outs(%c : memref<?x?xf32>)
    return
  }
}
