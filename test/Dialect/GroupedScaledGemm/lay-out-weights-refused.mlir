// What gsg-lay-out-weights leaves, and why.
// RUN: nvfp4-opt %s --split-input-file --verify-diagnostics --gsg-lay-out-weights | FileCheck %s

// CHECK-NOT: wgmma
// CHECK-NOT: lay_out

!a = !grouped_scaled_gemm.scaled<64x512, nvfp4>

func.func @both_sides(%a: !a, %out: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // expected-remark @below {{weights not laid out: it is more than the only weights of a product}}
  %y = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%a : !a) outs(%out : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

!a = !grouped_scaled_gemm.scaled<?x512, nvfp4>
!b = !grouped_scaled_gemm.scaled<64x512, nvfp4>

func.func @used_otherwise(%a: !a, %b: !b, %out: tensor<?x64xf32>) -> (tensor<?x64xf32>, !b) {
  // expected-remark @below {{weights not laid out: it is used by func.return}}
  %y = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%out : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %y, %b : tensor<?x64xf32>, !b
}

// -----

!a = !grouped_scaled_gemm.scaled<?x512, nvfp4>
!b = !grouped_scaled_gemm.scaled<64x512, nvfp4>

func.func @computed(%w: tensor<64x512xbf16>, %a: !a, %out: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %b = grouped_scaled_gemm.quantize <trtllm>(%w : tensor<64x512xbf16>) -> !b
  %y = call @product(%a, %b, %out) : (!a, !b, tensor<?x64xf32>) -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

func.func @product(%a: !a, %b: !b, %out: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // expected-remark @below {{weights not laid out: a caller passes what is no argument of its own}}
  %y = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%out : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

!a = !grouped_scaled_gemm.scaled<?x512, nvfp4>
!b = !grouped_scaled_gemm.scaled<?x512, nvfp4>

func.func @unknown_n(%a: !a, %b: !b, %out: tensor<?x?xf32>) -> tensor<?x?xf32> {
  // expected-remark @below {{weights not laid out: N and K are not known}}
  %y = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%out : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// -----

!a = !grouped_scaled_gemm.scaled<?x512, nvfp4>
!b = !grouped_scaled_gemm.scaled<64x512, nvfp4, blocked>

func.func @blocked(%a: !a, %b: !b, %out: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // expected-remark @below {{weights not laid out: it is no linear matrix with blocks along K}}
  %y = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%out : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

!a = !grouped_scaled_gemm.scaled<?x512, nvfp4>
!b = !grouped_scaled_gemm.scaled<64x512, nvfp4>

func.func @bias(%a: !a, %b: !b, %bias: tensor<64xf32>, %out: tensor<?x32xf32>) -> tensor<?x32xf32> {
  // expected-remark @below {{weights not laid out: its product has other operands with columns of gate and up; bring all of them to runs of 32 by relayout_gate first}}
  %y = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) bias(%bias : tensor<64xf32>)
      activation = <swiglu, gate = <halves, gate_first>> outs(%out : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

!a = !grouped_scaled_gemm.scaled<?x512, nvfp4>
!b = !grouped_scaled_gemm.scaled<64x512, nvfp4>

func.func @two_rows(%a: !a, %x: tensor<?x512xf16>, %b: !b, %out: tensor<?x64xf32>)
    -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  // expected-remark @below {{weights not laid out: its products want different layouts}}
  %y = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%out : tensor<?x64xf32>) -> tensor<?x64xf32>
  %z = grouped_scaled_gemm.matmul <dense> lhs(%x : tensor<?x512xf16>) rhs(%b : !b) outs(%out : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %y, %z : tensor<?x64xf32>, tensor<?x64xf32>
}
