// Sums over all groups in which the rows of other groups are masked, as a ragged
// product is spelled without loops, become one. Each edit below makes them
// compute something else, and then they stay.

// RUN: nvfp4-opt %s --raise-to-grouped-scaled-gemm | FileCheck %s

// Other starts, no starts, other rows, or something else outside the mask.
// RUN: sed 's/slice %%ends\[0\] \[2\]/slice %%ends[1] [2]/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT1
// RUN: sed 's/dense<0> : tensor<1xi32>/dense<1> : tensor<1xi32>/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT1
// RUN: sed 's/slice %%ends\[0\] \[2\]/slice %%others[0] [2]/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT1
// RUN: sed 's/linalg.index 1/linalg.index 2/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT1
// RUN: sed 's/cmpi slt, %%row, %%end/cmpi sle, %%row, %%end/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT1
// RUN: sed 's/arith.andi %%p, %%q/arith.ori %%p, %%q/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT1
// RUN: sed 's/dense<0.0> : tensor<3x10x64xbf16>/dense<1.0> : tensor<3x10x64xbf16>/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT1
// RUN: sed 's/slice %%starts\[1\] \[3\]/slice %%starts[0] [3]/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT2
// RUN: sed 's/cmpi sgt, %%end, %%row/cmpi sge, %%end, %%row/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT2
// RUN: sed 's/cmpi sgt, %%end, %%row/cmpi sgt, %%row, %%end/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT2

// A mask that is multiplied.
// RUN: sed 's/%%masked = arith.select %%inside, %%ab, %%zero : f32/%%one = arith.uitofp %%inside : i1 to f32\n    %%masked = arith.mulf %%one, %%ab : f32/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s

// Rows that are counted in 8 bits.
// RUN: sed 's/^    %%row = linalg.index 1 : index/    %%i = linalg.index 1 : index\n    %%i8 = arith.index_cast %%i : index to i8\n    %%row = arith.index_castui %%i8 : i8 to index/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT2

// KEPT1-LABEL: func.func @ragged_dot(
// KEPT1-NOT:     grouped_scaled_gemm.matmul
// KEPT1:       func.func @mask_in_the_product(
// KEPT2-LABEL: func.func @mask_in_the_product(
// KEPT2-NOT:     grouped_scaled_gemm.matmul

#all = affine_map<(g, m, k) -> (g, m, k)>
#gkn = affine_map<(g, k, n) -> (g, k, n)>
#gbn = affine_map<(g, k, n) -> (g, k floordiv 32, n)>

// jax.lax.ragged_dot, after its conversion to linalg: rows of bf16 repeated for
// each group, the mask a tensor of its own, starts made of ends.

// CHECK-LABEL: func.func @ragged_dot(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<10x64xbf16>, %[[W:[a-z0-9]+]]: tensor<3x64x16xf8E4M3FN>, %[[WS:[a-z0-9]+]]: tensor<3x2x16xf8E8M0FNU>, %[[ENDS:[a-z0-9]+]]: tensor<3xi32>
// CHECK:         %[[ZERO:.*]] = linalg.fill
// CHECK-NOT:     linalg.broadcast
// CHECK:         %[[RHS:.*]] = grouped_scaled_gemm.make_scaled
// CHECK:         %[[Y:.*]] = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%[[ENDS]] : tensor<3xi32>) lhs(%[[X]] : tensor<10x64xbf16>) rhs(%[[RHS]] : {{[^ ]*}}) outs(%[[ZERO]] : tensor<10x16xf32>) -> tensor<10x16xf32>
// CHECK-NEXT:    return %[[Y]]
func.func @ragged_dot(%x: tensor<10x64xbf16>, %w: tensor<3x64x16xf8E4M3FN>, %ws: tensor<3x2x16xf8E8M0FNU>,
                      %ends: tensor<3xi32>, %others: tensor<3xi32>) -> tensor<10x16xf32> {
  %first = arith.constant dense<0> : tensor<1xi32>
  %most = tensor.extract_slice %ends[0] [2] [1] : tensor<3xi32> to tensor<2xi32>
  %starts = tensor.concat dim(0) %first, %most : (tensor<1xi32>, tensor<2xi32>) -> tensor<3xi32>
  %xe = tensor.empty() : tensor<3x10x64xbf16>
  %xb = linalg.broadcast ins(%x : tensor<10x64xbf16>) outs(%xe : tensor<3x10x64xbf16>) dimensions = [0]
  %ie = tensor.empty() : tensor<3x10x64xi32>
  %rows = linalg.generic {indexing_maps = [#all], iterator_types = ["parallel", "parallel", "parallel"]}
      outs(%ie : tensor<3x10x64xi32>) {
  ^bb0(%o: i32):
    %i = linalg.index 1 : index
    %row = arith.index_cast %i : index to i32
    linalg.yield %row : i32
  } -> tensor<3x10x64xi32>
  %sb = linalg.broadcast ins(%starts : tensor<3xi32>) outs(%ie : tensor<3x10x64xi32>) dimensions = [1, 2]
  %eb = linalg.broadcast ins(%ends : tensor<3xi32>) outs(%ie : tensor<3x10x64xi32>) dimensions = [1, 2]
  %me = tensor.empty() : tensor<3x10x64xi1>
  %from = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%sb, %rows : tensor<3x10x64xi32>, tensor<3x10x64xi32>) outs(%me : tensor<3x10x64xi1>) {
  ^bb0(%start: i32, %row: i32, %o: i1):
    %p = arith.cmpi sle, %start, %row : i32
    linalg.yield %p : i1
  } -> tensor<3x10x64xi1>
  %to = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%rows, %eb : tensor<3x10x64xi32>, tensor<3x10x64xi32>) outs(%me : tensor<3x10x64xi1>) {
  ^bb0(%row: i32, %end: i32, %o: i1):
    %p = arith.cmpi slt, %row, %end : i32
    linalg.yield %p : i1
  } -> tensor<3x10x64xi1>
  %mask = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%from, %to : tensor<3x10x64xi1>, tensor<3x10x64xi1>) outs(%me : tensor<3x10x64xi1>) {
  ^bb0(%p: i1, %q: i1, %o: i1):
    %r = arith.andi %p, %q : i1
    linalg.yield %r : i1
  } -> tensor<3x10x64xi1>
  %none = arith.constant dense<0.0> : tensor<3x10x64xbf16>
  %xm = linalg.select ins(%mask, %xb, %none : tensor<3x10x64xi1>, tensor<3x10x64xbf16>, tensor<3x10x64xbf16>)
      outs(%xe : tensor<3x10x64xbf16>) -> tensor<3x10x64xbf16>
  %we = tensor.empty() : tensor<3x64x16xbf16>
  %wd = linalg.generic {indexing_maps = [#gkn, #gbn, #gkn], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w, %ws : tensor<3x64x16xf8E4M3FN>, tensor<3x2x16xf8E8M0FNU>) outs(%we : tensor<3x64x16xbf16>) {
  ^bb0(%code: f8E4M3FN, %scale: f8E8M0FNU, %o: bf16):
    %v = arith.scaling_extf %code, %scale : f8E4M3FN, f8E8M0FNU to bf16
    linalg.yield %v : bf16
  } -> tensor<3x64x16xbf16>
  %zero = arith.constant 0.0 : f32
  %ye = tensor.empty() : tensor<10x16xf32>
  %yz = linalg.fill ins(%zero : f32) outs(%ye : tensor<10x16xf32>) -> tensor<10x16xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k, g) -> (g, m, k)>, affine_map<(m, n, k, g) -> (g, k, n)>,
                                        affine_map<(m, n, k, g) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%xm, %wd : tensor<3x10x64xbf16>, tensor<3x64x16xbf16>) outs(%yz : tensor<10x16xf32>) {
  ^bb0(%a: bf16, %b: bf16, %acc: f32):
    %ae = arith.extf %a : bf16 to f32
    %be = arith.extf %b : bf16 to f32
    %ab = arith.mulf %ae, %be : f32
    %s = arith.addf %acc, %ab : f32
    linalg.yield %s : f32
  } -> tensor<10x16xf32>
  return %y : tensor<10x16xf32>
}

// All in one body, rows and weights with scales, offsets that are starts,
// and sums that are added to the destination.

// CHECK-LABEL: func.func @mask_in_the_product(
// CHECK-SAME:    %[[STARTS:[a-z0-9]+]]: tensor<4xi64>, %[[OUT:[a-z0-9]+]]: tensor<?x16xf32>
// CHECK-DAG:     %[[ONE:.*]] = arith.constant 1.0{{.*}} : f32
// CHECK:         grouped_scaled_gemm.matmul <ragged_rows, starts> groups(%[[STARTS]] : tensor<4xi64>) {{.*}} beta(%[[ONE]] : f32) outs(%[[OUT]] : tensor<?x16xf32>)
// CHECK-NEXT:    return
func.func @mask_in_the_product(%x: tensor<?x64xf8E4M3FN>, %xs: tensor<?x2xf8E8M0FNU>, %w: tensor<3x16x64xf8E4M3FN>,
                               %ws: tensor<3x16x2xf8E8M0FNU>, %starts: tensor<4xi64>,
                               %out: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %from = tensor.extract_slice %starts[0] [3] [1] : tensor<4xi64> to tensor<3xi64>
  %to = tensor.extract_slice %starts[1] [3] [1] : tensor<4xi64> to tensor<3xi64>
  %y = linalg.generic {indexing_maps = [affine_map<(g, m, n, k) -> (g)>, affine_map<(g, m, n, k) -> (g)>,
        affine_map<(g, m, n, k) -> (m, k)>, affine_map<(g, m, n, k) -> (m, k floordiv 32)>,
        affine_map<(g, m, n, k) -> (g, n, k)>, affine_map<(g, m, n, k) -> (g, n, k floordiv 32)>,
        affine_map<(g, m, n, k) -> (m, n)>],
      iterator_types = ["reduction", "parallel", "parallel", "reduction"]}
      ins(%from, %to, %x, %xs, %w, %ws : tensor<3xi64>, tensor<3xi64>, tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>,
          tensor<3x16x64xf8E4M3FN>, tensor<3x16x2xf8E8M0FNU>) outs(%out : tensor<?x16xf32>) {
  ^bb0(%s: i64, %e: i64, %a: f8E4M3FN, %as: f8E8M0FNU, %b: f8E4M3FN, %bs: f8E8M0FNU, %sum: f32):
    %row = linalg.index 1 : index
    %start = arith.index_cast %s : i64 to index
    %end = arith.index_cast %e : i64 to index
    %p = arith.cmpi ule, %start, %row : index
    %q = arith.cmpi sgt, %end, %row : index
    %inside = arith.andi %p, %q : i1
    %av = arith.scaling_extf %a, %as : f8E4M3FN, f8E8M0FNU to f32
    %bv = arith.scaling_extf %b, %bs : f8E4M3FN, f8E8M0FNU to f32
    %ab = arith.mulf %av, %bv : f32
    %zero = arith.constant 0.0 : f32
    %masked = arith.select %inside, %ab, %zero : f32
    %t = arith.addf %sum, %masked : f32
    linalg.yield %t : f32
  } -> tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}
