// Second-level scales, one number a matrix, become alpha if that is allowed.

// RUN: nvfp4-opt %s --raise-to-grouped-scaled-gemm=move-global-scales | FileCheck %s
// RUN: nvfp4-opt %s --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// RUN: sed 's/mulf %%ase, %%ga/divf %%ase, %%ga/; s/mulf %%bse, %%gb/divf %%bse, %%gb/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm=move-global-scales | FileCheck %s --check-prefix=DIVIDED
// One that is rounded first is another number.
// RUN: sed 's/%%bg = arith.mulf %%bse, %%gb : f32/%%gh = arith.truncf %%gb : f32 to bf16\n    %%gr = arith.extf %%gh : bf16 to f32\n    %%bg = arith.mulf %%bse, %%gr : f32/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm='move-global-scales explain' 2> %t.remarks | FileCheck %s --check-prefix=KEPT
// RUN: FileCheck %s --check-prefix=ROUNDED < %t.remarks
// ROUNDED: not raised: expected further factors as they are, but got rounded ones

// KEPT-NOT: grouped_scaled_gemm.matmul

#x  = affine_map<(l, m, n, k) -> (l, m, k)>
#xs = affine_map<(l, m, n, k) -> (l, m, k floordiv 16)>
#w  = affine_map<(l, m, n, k) -> (l, n, k)>
#ws = affine_map<(l, m, n, k) -> (l, n, k floordiv 16)>
#g  = affine_map<(l, m, n, k) -> (l)>
#s  = affine_map<(l, m, n, k) -> ()>
#o  = affine_map<(l, m, n, k) -> (l, m, n)>

// CHECK-LABEL: func.func @one_a_matrix(
// CHECK-SAME:    %[[G:[a-z0-9]+]]: tensor<5xf32>, %[[H:[a-z0-9]+]]: tensor<f32>
// CHECK:         %[[ALPHA:.*]] = tensor.generate
// CHECK-NEXT:    ^bb0(%[[L:.*]]: index):
// CHECK-DAG:       %[[A:.*]] = tensor.extract %[[G]][%{{.*}}]
// CHECK-DAG:       %[[B:.*]] = tensor.extract %[[H]][]
// CHECK:           %[[P:.*]] = arith.mulf %[[A]], %[[B]] : f32
// CHECK:           tensor.yield %[[P]]
// CHECK:         grouped_scaled_gemm.matmul <batched> {{.*}} alpha(%[[ALPHA]] : tensor<5xf32>)
// DIVIDED-LABEL: func.func @one_a_matrix(
// DIVIDED-SAME:  %[[G:[a-z0-9]+]]: tensor<5xf32>, %[[H:[a-z0-9]+]]: tensor<f32>
// DIVIDED:       %[[A:.*]] = tensor.extract %[[G]][%{{.*}}]
// DIVIDED:       %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// DIVIDED:       %[[R:.*]] = arith.divf %[[ONE]], %[[A]] : f32
// DIVIDED:       %[[B:.*]] = tensor.extract %[[H]][]
// DIVIDED:       %[[P:.*]] = arith.divf %[[R]], %[[B]] : f32
// DIVIDED:       tensor.yield %[[P]]
func.func @one_a_matrix(%x: tensor<5x8x64xf4E2M1FN>, %xs: tensor<5x8x4xf8E4M3FN>,
                        %w: tensor<5x24x64xf4E2M1FN>, %ws: tensor<5x24x4xf8E4M3FN>,
                        %g: tensor<5xf32>, %h: tensor<f32>,
                        %out: tensor<5x8x24xf32>) -> tensor<5x8x24xf32> {
  %y = linalg.generic {indexing_maps = [#x, #xs, #w, #ws, #g, #s, #o],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %xs, %w, %ws, %g, %h : tensor<5x8x64xf4E2M1FN>, tensor<5x8x4xf8E4M3FN>,
          tensor<5x24x64xf4E2M1FN>, tensor<5x24x4xf8E4M3FN>, tensor<5xf32>, tensor<f32>)
      outs(%out : tensor<5x8x24xf32>) {
  ^bb0(%a: f4E2M1FN, %as: f8E4M3FN, %b: f4E2M1FN, %bs: f8E4M3FN, %ga: f32, %gb: f32, %acc: f32):
    %ae = arith.extf %a : f4E2M1FN to f32
    %ase = arith.extf %as : f8E4M3FN to f32
    %ag = arith.mulf %ase, %ga : f32
    %av = arith.mulf %ae, %ag : f32
    %be = arith.extf %b : f4E2M1FN to f32
    %bse = arith.extf %bs : f8E4M3FN to f32
    %bg = arith.mulf %bse, %gb : f32
    %bv = arith.mulf %be, %bg : f32
    %p = arith.mulf %av, %bv : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<5x8x24xf32>
  return %y : tensor<5x8x24xf32>
}
