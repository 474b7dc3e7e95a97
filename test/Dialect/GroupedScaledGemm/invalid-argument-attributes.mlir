// What a function says of its arguments and results must be so.
// RUN: nvfp4-opt %s -split-input-file -verify-diagnostics

// Tensors before bufferization, memrefs after it: both are right.
!a = !grouped_scaled_gemm.scaled<?x63, nvfp4, blocked>
func.func private @tensors(tensor<?x32xi8> {grouped_scaled_gemm.values_of = !a},
    tensor<?x1x32x4x4xf8E4M3FN> {grouped_scaled_gemm.scales_of = !a})
    -> (tensor<?x32xi8> {grouped_scaled_gemm.values_of = !a})
func.func private @memrefs(memref<?x32xi8> {grouped_scaled_gemm.values_of = !a},
    memref<?x1x32x4x4xf8E4M3FN, strided<[?, ?, ?, ?, ?]>> {grouped_scaled_gemm.scales_of = !a})

// Descriptors are several arguments in the LLVM dialect.
llvm.func @descriptor(%allocated: !llvm.ptr {grouped_scaled_gemm.values_of = !a},
                      %size: i64 {grouped_scaled_gemm.values_of = !a}) {
  llvm.return
}

// -----

// arg_c1
// expected-error @below {{'func.func' op expected values_of or scales_of of grouped_scaled_gemm on argument 0, but got "grouped_scaled_gemm.value_of"}}
func.func private @unknown(tensor<16x32xi8> {grouped_scaled_gemm.value_of = !grouped_scaled_gemm.scaled<16x64, nvfp4>})

// -----

// arg_c2
// expected-error @below {{'func.func' op expected "grouped_scaled_gemm.values_of" of argument 0 to be a type scaled, but got 1 : i32}}
func.func private @not_a_type(tensor<16x32xi8> {grouped_scaled_gemm.values_of = 1 : i32})

// -----

// arg_c2
// expected-error @below {{'func.func' op expected "grouped_scaled_gemm.values_of" of argument 0 to be a type scaled, but got tensor<16x64xf4E2M1FN>}}
func.func private @not_scaled(tensor<16x32xi8> {grouped_scaled_gemm.values_of = tensor<16x64xf4E2M1FN>})

// -----

// arg_c3
// expected-error @below {{'func.func' op expected argument 1, values of '!grouped_scaled_gemm.scaled<16x64, nvfp4>', to be 'tensor<16x32xi8>' or such a memref, but got 'tensor<16x64xi8>'}}
func.func private @values_shape(i32, tensor<16x64xi8> {grouped_scaled_gemm.values_of = !grouped_scaled_gemm.scaled<16x64, nvfp4>})

// -----

// arg_c3
// expected-error @below {{'func.func' op expected argument 0, scales of '!grouped_scaled_gemm.scaled<16x64, mxfp4>', to be 'tensor<16x2xf8E8M0FNU>' or such a memref, but got 'memref<16x2xf8E4M3FN>'}}
func.func private @scales_element(memref<16x2xf8E4M3FN> {grouped_scaled_gemm.scales_of = !grouped_scaled_gemm.scaled<16x64, mxfp4>})

// -----

// arg_c3
// expected-error @below {{'func.func' op expected argument 0, values of '!grouped_scaled_gemm.scaled<64, mxfp8_e4m3>', to be 'tensor<64xf8E4M3FN>' or such a memref, but got 'f8E4M3FN'}}
func.func private @scalar(f8E4M3FN {grouped_scaled_gemm.values_of = !grouped_scaled_gemm.scaled<64, mxfp8_e4m3>})

// -----

// arg_c3: results alike.
// expected-error @below {{'func.func' op expected result 0, scales of '!grouped_scaled_gemm.scaled<16x64, nvfp4>', to be 'tensor<16x4xf8E4M3FN>' or such a memref, but got 'tensor<16x2xf8E4M3FN>'}}
func.func private @result() -> (tensor<16x2xf8E4M3FN> {grouped_scaled_gemm.scales_of = !grouped_scaled_gemm.scaled<16x64, nvfp4>})
