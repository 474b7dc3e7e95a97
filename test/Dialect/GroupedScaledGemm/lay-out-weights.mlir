// Weights that are arguments become laid-out ones, with the function that lays
// them out.
// RUN: nvfp4-opt %s --gsg-lay-out-weights | FileCheck %s
// RUN: nvfp4-opt %s --gsg-lay-out-weights | nvfp4-opt --gsg-to-sm90-kernels -o /dev/null
// RUN: nvfp4-opt %s --gsg-lay-out-weights=functions-only | FileCheck %s --check-prefix=ONLY
// RUN: nvfp4-opt %s --gsg-lay-out-weights=functions-only | nvfp4-opt --gsg-to-cpu -o /dev/null
// RUN: nvfp4-opt %s --gsg-lay-out-weights=without-functions | FileCheck %s --check-prefix=WITHOUT
// RUN: not nvfp4-opt %s --gsg-lay-out-weights="functions-only without-functions" 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: error: expected functions-only or without-functions, but got both
// WITHOUT-NOT: @lay_out
// WITHOUT: grouped_scaled_gemm.matmul
// WITHOUT-NOT: @lay_out

!a = !grouped_scaled_gemm.scaled<?x512, nvfp4>
!h = !grouped_scaled_gemm.scaled<?x96, nvfp4>
!up = !grouped_scaled_gemm.scaled<8x192x512, nvfp4>
!down = !grouped_scaled_gemm.scaled<8x512x96, nvfp4>
!f16 = !grouped_scaled_gemm.scaled<64x512, mxfp4>

// Rows of gate and up are in runs that split N, 2 times 96.
// CHECK-DAG: ![[UP:.*]] = !grouped_scaled_gemm.scaled<8x192x512, nvfp4, wgmma>
// CHECK-DAG: ![[DOWN:.*]] = !grouped_scaled_gemm.scaled<8x512x96, nvfp4, wgmma>
// CHECK-DAG: ![[F16:.*]] = !grouped_scaled_gemm.scaled<64x512, mxfp4, wgmma_f16>

// CHECK-LABEL: func.func @gate_up
// CHECK-SAME:    %[[W:[a-z0-9]+]]: ![[UP]], %{{.*}}: f32
// CHECK:         rhs(%[[W]] : ![[UP]]) activation = <swiglu, gate = <32, up_first>, beta = 1.000000e+00> quantizer
func.func @gate_up(%ends: tensor<8xi32>, %a: !a, %w: !up, %s: f32) -> !h {
  %h = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<8xi32>)
      lhs(%a : !a) rhs(%w : !up)
      activation = <swiglu, gate = <halves, up_first>, beta = 1.0>
      quantizer = <trtllm> global_scale(%s : f32) -> !h
  return %h : !h
}

// CHECK-LABEL: func.func @down
// CHECK-SAME:    %{{[a-z0-9]+}}: ![[DOWN]], %{{.*}}: tensor<?x512xbf16>
func.func @down(%ends: tensor<8xi32>, %h: !h, %w: !down, %out: tensor<?x512xbf16>) -> tensor<?x512xbf16> {
  %y = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<8xi32>)
      lhs(%h : !h) rhs(%w : !down) outs(%out : tensor<?x512xbf16>) -> tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
}

// Who calls with the weights has them laid out.
// CHECK-LABEL: func.func @layer
// CHECK-SAME:    %[[W1:[a-z0-9]+]]: ![[UP]], %[[W2:[a-z0-9]+]]: ![[DOWN]]
// CHECK:         call @gate_up(%{{.*}}, %{{.*}}, %[[W1]], %{{.*}}) : (tensor<8xi32>, !{{.*}}, ![[UP]], f32)
// CHECK:         call @down(%{{.*}}, %{{.*}}, %[[W2]],
func.func @layer(%ends: tensor<8xi32>, %a: !a, %w1: !up, %w2: !down, %s: f32, %out: tensor<?x512xbf16>)
    -> tensor<?x512xbf16> {
  %h = call @gate_up(%ends, %a, %w1, %s) : (tensor<8xi32>, !a, !up, f32) -> !h
  %y = call @down(%ends, %h, %w2, %out) : (tensor<8xi32>, !h, !down, tensor<?x512xbf16>) -> tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
}

// CHECK-LABEL: func.func @rows_of_f16
// CHECK-SAME:    ![[F16]]
func.func @rows_of_f16(%x: tensor<?x512xf16>, %w: !f16, %out: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %y = grouped_scaled_gemm.matmul <dense> lhs(%x : tensor<?x512xf16>) rhs(%w : !f16)
      outs(%out : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// CHECK:       func.func @lay_out_gate_up(%[[W:.*]]: ![[LINEAR:.*]]) -> ![[UP]] {
// CHECK-NEXT:    %[[RUNS:.*]] = grouped_scaled_gemm.relayout_gate(%[[W]] : ![[LINEAR]]) from <halves, up_first> to <32, up_first> -> ![[LINEAR]]
// CHECK-NEXT:    %[[LAID:.*]] = grouped_scaled_gemm.relayout_weights(%[[RUNS]] : ![[LINEAR]]) -> ![[UP]]
// CHECK-NEXT:    return %[[LAID]]
// CHECK:       func.func @lay_out_down(
// CHECK-NOT:     relayout_gate
// CHECK:       func.func @lay_out_rows_of_f16(%{{.*}}) -> ![[F16]]

// ONLY-NOT: matmul
// ONLY:     func.func @lay_out_gate_up
// ONLY:     func.func @lay_out_down
// ONLY:     func.func @lay_out_rows_of_f16
// ONLY-NOT: func.func
