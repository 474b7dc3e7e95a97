// RUN: nvfp4-opt %s --nvfp4-expand-math | FileCheck %s

// Nothing is left that would call a library.
// CHECK-LABEL: func.func @polynomials
// CHECK-NOT:     math.
// CHECK:         return
func.func @polynomials(%x: f32) -> (f32, f32, f32, f32, f32) {
  %a = math.exp %x : f32
  %b = math.exp2 %x : f32
  %c = math.log %x : f32
  %d = math.tanh %x : f32
  %e = math.erf %x : f32
  return %a, %b, %c, %d, %e : f32, f32, f32, f32, f32
}

// CHECK-LABEL: func.func @instructions
// CHECK:         llvm.call_intrinsic "llvm.fabs"
// CHECK:         llvm.call_intrinsic "llvm.sqrt"
// CHECK:         arith.divf
// CHECK:         llvm.call_intrinsic "llvm.fma"
func.func @instructions(%x: f32) -> f32 {
  %a = math.absf %x : f32
  %b = math.rsqrt %a : f32
  %c = math.fma %a, %b, %x : f32
  return %c : f32
}
