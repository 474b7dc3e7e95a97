// Public functions get a C interface, read-only tensors and a description.
// RUN: nvfp4-opt %s -nvfp4-declare-entry-points -split-input-file -verify-diagnostics | FileCheck %s

// CHECK: llvm.mlir.global external constant @nvfp4_metadata
// CHECK-SAME: \22device\22:\22cpu\22
// CHECK-SAME: {\22kind\22:\22tensor\22,\22shape\22:[-1,8],\22type\22:\22bf16\22}
// CHECK-SAME: {\22kind\22:\22memref\22,\22shape\22:[4],\22type\22:\22i8\22}
// CHECK-SAME: {\22kind\22:\22scalar\22,\22type\22:\22index\22}
// CHECK-SAME: \22name\22:\22entry\22
// CHECK-SAME: \22results\22:[{\22kind\22:\22scalar\22,\22type\22:\22f32\22}]
// CHECK-SAME: \22target\22:\22cpu\22
// CHECK-SAME: \22version\22:6
// CHECK-NOT: helper\22
// CHECK-LABEL: func.func @entry
// CHECK-SAME: tensor<?x8xbf16> {bufferization.writable = false}
// CHECK-SAME: memref<4xi8>, %{{.*}}: index)
// CHECK-SAME: llvm.emit_c_interface
func.func @entry(%a: tensor<?x8xbf16>, %b: memref<4xi8>, %c: index) -> f32 {
  %r = arith.constant 1.0 : f32
  return %r : f32
}
// CHECK: func.func private @helper(%{{.*}}: vector<4xf32>) {
func.func private @helper(%v: vector<4xf32>) {
  return
}

// -----

// The halves of a scaled argument or result name its type in the description,
// and in the description only.
// CHECK: llvm.mlir.global external constant @nvfp4_metadata
// CHECK-SAME: \22role\22:\22values\22,\22scaled\22:{\22axis\22:1,\22format\22:\22nvfp4\22,\22layout\22:\22linear\22,\22shape\22:[16,64],\22starts\22:\22whole\22,\22text\22:\22!grouped_scaled_gemm.scaled<16x64, nvfp4>\22}
// CHECK-SAME: \22role\22:\22scales\22,\22scaled\22:{\22axis\22:1,\22format\22:\22nvfp4\22,\22layout\22:\22linear\22,\22shape\22:[16,64],\22starts\22:\22whole\22,\22text\22:\22!grouped_scaled_gemm.scaled<16x64, nvfp4>\22}
// CHECK: func.func @scaled(%{{.*}}: tensor<16x32xi8> {bufferization.writable = false}, %{{.*}}) -> tensor<16x4xf8E4M3FN> attributes
func.func @scaled(%v: tensor<16x32xi8> {grouped_scaled_gemm.values_of = !grouped_scaled_gemm.scaled<16x64, nvfp4>}, %s: tensor<16x4xf8E4M3FN>)
    -> (tensor<16x4xf8E4M3FN> {grouped_scaled_gemm.scales_of = !grouped_scaled_gemm.scaled<16x64, nvfp4>}) {
  return %s : tensor<16x4xf8E4M3FN>
}
// CHECK: func.func private @inner(tensor<16x32xi8>)
func.func private @inner(%v: tensor<16x32xi8> {grouped_scaled_gemm.values_of = !grouped_scaled_gemm.scaled<16x64, nvfp4>})

// -----

// expected-error @below {{'func.func' op expected an entry point of ranked tensors, memrefs of identity layout and scalars, but argument 0 is 'vector<4xf32>'; make the function private}}
func.func @vector(%v: vector<4xf32>) {
  return
}

// -----

// expected-error @below {{but result 0 is 'tensor<*xf32>'}}
func.func @unranked(%v: tensor<4xf32>) -> tensor<*xf32> {
  %r = tensor.cast %v : tensor<4xf32> to tensor<*xf32>
  return %r : tensor<*xf32>
}

// -----

// expected-error @below {{'func.func' op expected no symbol 'nvfp4_metadata' before entry points are declared}}
func.func private @nvfp4_metadata()
