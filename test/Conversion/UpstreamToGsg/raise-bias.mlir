// A vector that is added to the columns of a product is its bias. Each edit makes it
// something else, and then it stays after the product.

// RUN: nvfp4-opt %s --raise-to-grouped-scaled-gemm | FileCheck %s

// Another number for each row, no sum, and other experts.
// RUN: sed 's/^#bias = .*/#bias = affine_map<(m, n) -> (m, n)>/; s/%%b: tensor<16xf32>/%%b: tensor<8x16xf32>/; s/%%b : tensor<8x16xf32>, tensor<16xf32>/%%b : tensor<8x16xf32>, tensor<8x16xf32>/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT1
// RUN: sed 's/%%r1 = arith.addf/%%r1 = arith.subf/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT1
// RUN: sed 's/extract %%b\[%%e2, %%n2\]/extract %%b[%%t2, %%n2]/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT2

// KEPT1-LABEL: func.func @dense(
// KEPT1-NOT:     bias(
// KEPT1:       func.func @looked_up(
// KEPT2-LABEL: func.func @looked_up(
// KEPT2-NOT:     bias(

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#s = affine_map<(m, n, k) -> (n, k floordiv 32)>
#o = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#bias = affine_map<(m, n) -> (n)>

// CHECK-LABEL: func.func @dense(
// CHECK-SAME:    %[[B:[a-z0-9]+]]: tensor<16xf32>, %[[OUT:[a-z0-9]+]]: tensor<8x16xf32>
// CHECK:         %[[Y:.*]] = grouped_scaled_gemm.matmul <dense> {{.*}} beta(%{{.*}} : f32) bias(%[[B]] : tensor<16xf32>) outs(%[[OUT]] : tensor<8x16xf32>)
// CHECK-NEXT:    return %[[Y]]
func.func @dense(%x: tensor<8x64xbf16>, %w: tensor<16x64xf8E4M3FN>, %ws: tensor<16x2xf8E8M0FNU>, %b: tensor<16xf32>,
                 %out: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %y = linalg.generic {indexing_maps = [#x, #w, #s, #o], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w, %ws : tensor<8x64xbf16>, tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>) outs(%out : tensor<8x16xf32>) {
  ^bb0(%a: bf16, %c: f8E4M3FN, %cs: f8E8M0FNU, %acc: f32):
    %ae = arith.extf %a : bf16 to f32
    %ce = arith.scaling_extf %c, %cs : f8E4M3FN, f8E8M0FNU to f32
    %p = arith.mulf %ae, %ce : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  %e = tensor.empty() : tensor<8x16xf32>
  %r = linalg.generic {indexing_maps = [#id, #bias, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y, %b : tensor<8x16xf32>, tensor<16xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%v: f32, %bv: f32, %o: f32):
    %r1 = arith.addf %bv, %v : f32
    linalg.yield %r1 : f32
  } -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}

// The bias of the expert whose weights are looked up.

// CHECK-LABEL: func.func @looked_up(
// CHECK-SAME:    %[[B:[a-z0-9]+]]: tensor<4x16xf32>
// CHECK:         grouped_scaled_gemm.sort_tokens
// CHECK:         %[[Y:.*]] = grouped_scaled_gemm.matmul <ragged_rows, ends> {{.*}} bias(%[[B]] : tensor<4x16xf32>)
// CHECK:         %[[R:.*]] = grouped_scaled_gemm.permute(%[[Y]] :
// CHECK-NEXT:    return %[[R]]
func.func @looked_up(%x: tensor<8x64xbf16>, %w: tensor<4x16x64xf8E4M3FN>, %ws: tensor<4x16x2xf8E8M0FNU>,
                     %b: tensor<4x16xf32>, %ids: tensor<8xi32>) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %se = tensor.empty() : tensor<4x16x64xf8E8M0FNU>
  %scales = linalg.generic {indexing_maps = [affine_map<(g, n, k) -> (g, n, k floordiv 32)>, affine_map<(g, n, k) -> (g, n, k)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%ws : tensor<4x16x2xf8E8M0FNU>) outs(%se : tensor<4x16x64xf8E8M0FNU>) {
  ^bb0(%c: f8E8M0FNU, %o: f8E8M0FNU):
    linalg.yield %c : f8E8M0FNU
  } -> tensor<4x16x64xf8E8M0FNU>
  %y = linalg.generic {indexing_maps = [#x, affine_map<(m, n, k) -> (m)>, #o],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %ids : tensor<8x64xbf16>, tensor<8xi32>) outs(%z : tensor<8x16xf32>) {
  ^bb0(%a: bf16, %id: i32, %acc: f32):
    %g = arith.index_cast %id : i32 to index
    %n = linalg.index 1 : index
    %k = linalg.index 2 : index
    %c = tensor.extract %w[%g, %n, %k] : tensor<4x16x64xf8E4M3FN>
    %cs = tensor.extract %scales[%g, %n, %k] : tensor<4x16x64xf8E8M0FNU>
    %ae = arith.extf %a : bf16 to f32
    %ce = arith.scaling_extf %c, %cs : f8E4M3FN, f8E8M0FNU to f32
    %p = arith.mulf %ae, %ce : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  %r = linalg.generic {indexing_maps = [#id, affine_map<(m, n) -> (m)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y, %ids : tensor<8x16xf32>, tensor<8xi32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%v: f32, %id: i32, %o: f32):
    %e2 = arith.index_cast %id : i32 to index
    %n2 = linalg.index 1 : index
    %four = arith.constant 4 : index
    %m2 = linalg.index 0 : index
    %t2 = arith.remui %m2, %four : index
    %bv = tensor.extract %b[%e2, %n2] : tensor<4x16xf32>
    %r1 = arith.addf %v, %bv : f32
    linalg.yield %r1 : f32
  } -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}

// A loop may add it often to sums that are computed once.

// CHECK-LABEL: func.func @in_a_loop(
// CHECK:         %[[Y:.*]] = grouped_scaled_gemm.matmul <dense>
// CHECK-NOT:     bias(
// CHECK:         scf.for
// CHECK-NOT:     grouped_scaled_gemm.matmul
// CHECK:           linalg.generic {{.*}} ins(%[[Y]], %{{.*}} : tensor<8x16xf32>, tensor<16xf32>)
func.func @in_a_loop(%x: tensor<8x64xbf16>, %w: tensor<16x64xf8E4M3FN>, %ws: tensor<16x2xf8E8M0FNU>, %b: tensor<16xf32>,
                     %out: tensor<8x16xf32>, %sum: tensor<8x16xf32>, %n: index) -> tensor<8x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = linalg.generic {indexing_maps = [#x, #w, #s, #o], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w, %ws : tensor<8x64xbf16>, tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>) outs(%out : tensor<8x16xf32>) {
  ^bb0(%a: bf16, %c: f8E4M3FN, %cs: f8E8M0FNU, %acc: f32):
    %ae = arith.extf %a : bf16 to f32
    %ce = arith.scaling_extf %c, %cs : f8E4M3FN, f8E8M0FNU to f32
    %p = arith.mulf %ae, %ce : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%carried = %sum) -> tensor<8x16xf32> {
    %e = tensor.empty() : tensor<8x16xf32>
    %t = linalg.generic {indexing_maps = [#id, #bias, #id], iterator_types = ["parallel", "parallel"]}
        ins(%y, %b : tensor<8x16xf32>, tensor<16xf32>) outs(%e : tensor<8x16xf32>) {
    ^bb0(%v: f32, %bv: f32, %o: f32):
      %t1 = arith.addf %v, %bv : f32
      linalg.yield %t1 : f32
    } -> tensor<8x16xf32>
    %next = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%carried, %t : tensor<8x16xf32>, tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) {
    ^bb0(%v: f32, %tv: f32, %o: f32):
      %m = arith.mulf %v, %tv : f32
      linalg.yield %m : f32
    } -> tensor<8x16xf32>
    scf.yield %next : tensor<8x16xf32>
  }
  return %r : tensor<8x16xf32>
}
