// An object is the same from every run, and its tasks are marked for the
// optimiser, which leaves loops that count as they are.
// RUN: nvfp4-compile %s --emit=obj -o %t.1
// RUN: nvfp4-compile %s --emit=obj -o %t.2
// RUN: nvfp4-compile %s --emit=obj -o %t.3
// RUN: cmp %t.1 %t.2
// RUN: cmp %t.1 %t.3
// RUN: nvfp4-compile %s --emit=llvm --isa=generic -o - | FileCheck %s

// CHECK: define internal {{.*}} @nvfp4_matmul_0_tile({{.*}} #[[TASK:[0-9]+]] {
// CHECK: attributes #[[TASK]] = { {{.*}}"nvfp4-lowered"

!a = !grouped_scaled_gemm.scaled<?x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<4x64x64, nvfp4>

func.func @f(%ends: tensor<4xi32>, %a: !a, %b: !b, %alpha: tensor<4x2xf32>, %s: f32)
    -> !grouped_scaled_gemm.scaled<?x32, nvfp4> {
  %h = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<4xi32>) lhs(%a : !a) rhs(%b : !b)
      alpha(%alpha : tensor<4x2xf32>) activation = <swiglu, gate = <halves, gate_first>>
      quantizer = <trtllm> global_scale(%s : f32) -> !grouped_scaled_gemm.scaled<?x32, nvfp4>
  return %h : !grouped_scaled_gemm.scaled<?x32, nvfp4>
}
