// The signature says what files to give: a scaled argument is two.
// RUN: nvfp4-run %s --print-signature --entry=f | FileCheck %s
// RUN: not nvfp4-run %s --print-signature 2>&1 | FileCheck %s --check-prefix=SEVERAL

// CHECK: function f
// CHECK-NEXT: argument 0: [?, 32] i8 (values of !grouped_scaled_gemm.scaled<?x64, nvfp4>)
// CHECK-NEXT: argument 1: [?, 4] f8E4M3FN (scales of !grouped_scaled_gemm.scaled<?x64, nvfp4>)
// CHECK-NEXT: argument 2: index
// CHECK-NEXT: argument 3: [4] bf16 (written)
// CHECK-NEXT: result 0: [] f32
func.func @f(%a: !grouped_scaled_gemm.scaled<?x64, nvfp4>, %i: index,
             %m: memref<4xbf16>) -> tensor<f32> {
  %r = tensor.empty() : tensor<f32>
  return %r : tensor<f32>
}

// SEVERAL: error: expected one public function or --entry with a name, but got functions f, g
func.func @g() {
  return
}
