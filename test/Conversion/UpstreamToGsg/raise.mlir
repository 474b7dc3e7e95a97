// Contractions of dequantised values, as exporters spell them, become products.

// RUN: nvfp4-opt %s --raise-to-grouped-scaled-gemm | FileCheck %s

#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id3 = affine_map<(r, b, j) -> (r, b, j)>
#blk = affine_map<(r, b, j) -> (r, b)>

// Blocks as a dimension of their own, scales broadcast along it, the result
// reshaped back: what exporters of torch and of StableHLO make. Weights are
// bytes of two codes, unpacked by a shift.

// CHECK-LABEL: func.func @blocks_and_bytes(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x32xi8>, %[[XS:[a-z0-9]+]]: tensor<?x4xf8E4M3FN>, %[[W:[a-z0-9]+]]: tensor<48x32xi8>, %[[WS:[a-z0-9]+]]: tensor<48x4xf8E4M3FN>, %[[OUT:[a-z0-9]+]]: tensor<?x48xf32>
// CHECK-DAG:     %[[ONE:.*]] = arith.constant 1.0{{.*}} : f32
// CHECK-DAG:     %[[LHS:.*]] = grouped_scaled_gemm.make_scaled %[[X]], %[[XS]] {{.*}} -> !scaled{{$}}
// CHECK-DAG:     %[[RHS:.*]] = grouped_scaled_gemm.make_scaled %[[W]], %[[WS]]
// CHECK-NOT:     linalg
// CHECK:         grouped_scaled_gemm.matmul <dense> lhs(%[[LHS]] : {{.*}}) rhs(%[[RHS]] : {{.*}}) beta(%[[ONE]] : f32) outs(%[[OUT]]
func.func @blocks_and_bytes(%x: tensor<?x32xi8>, %xs: tensor<?x4xf8E4M3FN>,
                            %w: tensor<48x32xi8>, %ws: tensor<48x4xf8E4M3FN>,
                            %out: tensor<?x48xf32>) -> tensor<?x48xf32> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x32xi8>
  %xe = tensor.empty(%m) : tensor<?x32x2xf4E2M1FN>
  %xc = linalg.generic {indexing_maps = [#blk, #id3],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<?x32xi8>) outs(%xe : tensor<?x32x2xf4E2M1FN>) {
  ^bb0(%byte: i8, %o: f4E2M1FN):
    %i = linalg.index 2 : index
    %i8 = arith.index_cast %i : index to i8
    %four = arith.constant 4 : i8
    %shift = arith.muli %i8, %four : i8
    %s = arith.shrui %byte, %shift : i8
    %t = arith.trunci %s : i8 to i4
    %c = arith.bitcast %t : i4 to f4E2M1FN
    linalg.yield %c : f4E2M1FN
  } -> tensor<?x32x2xf4E2M1FN>
  %xf = tensor.collapse_shape %xc [[0], [1, 2]] : tensor<?x32x2xf4E2M1FN> into tensor<?x64xf4E2M1FN>
  %xb = tensor.expand_shape %xf [[0], [1, 2]] output_shape [%m, 4, 16]
      : tensor<?x64xf4E2M1FN> into tensor<?x4x16xf4E2M1FN>
  %xde = tensor.empty(%m) : tensor<?x4x16xbf16>
  %xd = linalg.generic {indexing_maps = [#id3, #blk, #id3],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%xb, %xs : tensor<?x4x16xf4E2M1FN>, tensor<?x4xf8E4M3FN>)
      outs(%xde : tensor<?x4x16xbf16>) {
  ^bb0(%code: f4E2M1FN, %scale: f8E4M3FN, %o: bf16):
    %c = arith.extf %code : f4E2M1FN to bf16
    %e = arith.extf %scale : f8E4M3FN to bf16
    %v = arith.mulf %c, %e : bf16
    linalg.yield %v : bf16
  } -> tensor<?x4x16xbf16>
  %xr = tensor.collapse_shape %xd [[0], [1, 2]] : tensor<?x4x16xbf16> into tensor<?x64xbf16>

  %we = tensor.empty() : tensor<48x32x2xf4E2M1FN>
  %wc = linalg.generic {indexing_maps = [#blk, #id3],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w : tensor<48x32xi8>) outs(%we : tensor<48x32x2xf4E2M1FN>) {
  ^bb0(%byte: i8, %o: f4E2M1FN):
    %i = linalg.index 2 : index
    %i32 = arith.index_cast %i : index to i32
    %four = arith.constant 4 : i32
    %shift = arith.muli %four, %i32 : i32
    %wide = arith.extui %byte : i8 to i32
    %s = arith.shrui %wide, %shift : i32
    %t = arith.trunci %s : i32 to i4
    %c = arith.bitcast %t : i4 to f4E2M1FN
    linalg.yield %c : f4E2M1FN
  } -> tensor<48x32x2xf4E2M1FN>
  %wf = tensor.collapse_shape %wc [[0], [1, 2]] : tensor<48x32x2xf4E2M1FN> into tensor<48x64xf4E2M1FN>
  %wb = tensor.expand_shape %wf [[0], [1, 2]] output_shape [48, 4, 16]
      : tensor<48x64xf4E2M1FN> into tensor<48x4x16xf4E2M1FN>
  %wse = tensor.empty() : tensor<48x4x16xf8E4M3FN>
  %wsb = linalg.broadcast ins(%ws : tensor<48x4xf8E4M3FN>)
      outs(%wse : tensor<48x4x16xf8E4M3FN>) dimensions = [2]
  %wx = arith.extf %wb : tensor<48x4x16xf4E2M1FN> to tensor<48x4x16xf32>
  %sx = arith.extf %wsb : tensor<48x4x16xf8E4M3FN> to tensor<48x4x16xf32>
  %wm = arith.mulf %wx, %sx : tensor<48x4x16xf32>
  %wr = tensor.collapse_shape %wm [[0], [1, 2]] : tensor<48x4x16xf32> into tensor<48x64xf32>
  %wh = arith.truncf %wr : tensor<48x64xf32> to tensor<48x64xbf16>
  %te = tensor.empty() : tensor<64x48xbf16>
  %wt = linalg.transpose ins(%wh : tensor<48x64xbf16>) outs(%te : tensor<64x48xbf16>) permutation = [1, 0]
  %y = linalg.matmul ins(%xr, %wt : tensor<?x64xbf16>, tensor<64x48xbf16>)
      outs(%out : tensor<?x48xf32>) -> tensor<?x48xf32>
  return %y : tensor<?x48xf32>
}

// scaling_extf and scales indexed by k floordiv 32; weights [K, N] are
// transposed, whole codes packed; the sum starts from zero.

// CHECK-LABEL: func.func @scaling_extf(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<8x64xf8E5M2>, %[[XS:[a-z0-9]+]]: tensor<8x2xf8E8M0FNU>, %[[W:[a-z0-9]+]]: tensor<64x24xf4E2M1FN>, %[[WS:[a-z0-9]+]]: tensor<2x24xf8E8M0FNU>
// CHECK-DAG:     grouped_scaled_gemm.make_scaled %[[X]], %[[XS]] {{.*}}8x2xf8E8M0FNU
// CHECK-DAG:     %[[WT:[a-z0-9_]+]] = linalg.transpose ins(%[[W]] {{.*}} permutation = [1, 0]
// CHECK:         %[[BYTES:.*]] = linalg.generic {{.*}} ins(%[[WT]], %[[WT]] : tensor<24x64xf4E2M1FN>
// CHECK:         arith.shli
// CHECK:         %[[ST:.*]] = linalg.transpose ins(%[[WS]] {{.*}} permutation = [1, 0]
// CHECK:         make_scaled %[[BYTES]], %[[ST]]
// CHECK:         grouped_scaled_gemm.matmul <dense>
// CHECK-NOT:     beta
// CHECK-SAME:    outs(
func.func @scaling_extf(%x: tensor<8x64xf8E5M2>, %xs: tensor<8x2xf8E8M0FNU>,
                        %w: tensor<64x24xf4E2M1FN>, %ws: tensor<2x24xf8E8M0FNU>) -> tensor<8x24xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x24xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<8x24xf32>) -> tensor<8x24xf32>
  %y = linalg.generic {indexing_maps = [#mk, affine_map<(m, n, k) -> (m, k floordiv 32)>,
                                        affine_map<(m, n, k) -> (k, n)>,
                                        affine_map<(m, n, k) -> (k floordiv 32, n)>, #mn],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %xs, %w, %ws : tensor<8x64xf8E5M2>, tensor<8x2xf8E8M0FNU>,
                             tensor<64x24xf4E2M1FN>, tensor<2x24xf8E8M0FNU>)
      outs(%init : tensor<8x24xf32>) {
  ^bb0(%a: f8E5M2, %as: f8E8M0FNU, %b: f4E2M1FN, %bs: f8E8M0FNU, %acc: f32):
    %av = arith.scaling_extf %a, %as : f8E5M2, f8E8M0FNU to f32
    %bv = arith.scaling_extf %b, %bs : f4E2M1FN, f8E8M0FNU to f32
    %p = arith.mulf %av, %bv : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x24xf32>
  return %y : tensor<8x24xf32>
}

// A batch of products, and two reduction loops over blocks and within them.

// CHECK-LABEL: func.func @batched_blocks(
// CHECK:         tensor.collapse_shape %{{.*}} {{\[\[}}0], [1], [2, 3]] : tensor<5x8x2x32xf8E4M3FN> into tensor<5x8x64xf8E4M3FN>
// CHECK:         make_scaled {{.*}} -> !{{.*}}
// CHECK:         grouped_scaled_gemm.matmul <batched>
func.func @batched_blocks(%x: tensor<5x8x2x32xf8E4M3FN>, %xs: tensor<5x8x2xf8E8M0FNU>,
                          %w: tensor<5x24x2x32xf8E4M3FN>, %ws: tensor<5x24x2x1xf8E8M0FNU>,
                          %out: tensor<5x8x24xf32>) -> tensor<5x8x24xf32> {
  %y = linalg.generic {indexing_maps = [
        affine_map<(l, m, n, b, j) -> (l, m, b, j)>, affine_map<(l, m, n, b, j) -> (l, m, b)>,
        affine_map<(l, m, n, b, j) -> (l, n, b, j)>, affine_map<(l, m, n, b, j) -> (l, n, b, 0)>,
        affine_map<(l, m, n, b, j) -> (l, m, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %xs, %w, %ws : tensor<5x8x2x32xf8E4M3FN>, tensor<5x8x2xf8E8M0FNU>,
                             tensor<5x24x2x32xf8E4M3FN>, tensor<5x24x2x1xf8E8M0FNU>)
      outs(%out : tensor<5x8x24xf32>) {
  ^bb0(%a: f8E4M3FN, %as: f8E8M0FNU, %b: f8E4M3FN, %bs: f8E8M0FNU, %acc: f32):
    %ae = arith.extf %a : f8E4M3FN to f32
    %be = arith.extf %b : f8E4M3FN to f32
    %p = arith.mulf %ae, %be : f32
    %ase = arith.extf %as : f8E8M0FNU to f32
    %bse = arith.extf %bs : f8E8M0FNU to f32
    %q = arith.mulf %ase, %bse : f32
    %r = arith.mulf %p, %q : f32
    %s = arith.addf %r, %acc : f32
    linalg.yield %s : f32
  } -> tensor<5x8x24xf32>
  return %y : tensor<5x8x24xf32>
}

// One weight for a batch of sequences: their tokens are the rows of one
// product. Scales are bytes.

// CHECK-LABEL: func.func @sequences(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<3x8x64xf8E4M3FN>
// CHECK-DAG:     tensor.collapse_shape %[[X]] {{\[\[}}0, 1], [2]] : {{.*}} into tensor<24x64xf8E4M3FN>
// CHECK-DAG:     tensor.collapse_shape %{{.*}} : tensor<3x8x2xi8> into tensor<24x2xi8>
// CHECK:         grouped_scaled_gemm.matmul <dense> {{.*}} -> tensor<24x16xf32>
// CHECK:         tensor.expand_shape %{{.*}} {{\[\[}}0, 1], [2]] {{.*}} into tensor<3x8x16xf32>
func.func @sequences(%x: tensor<3x8x64xf8E4M3FN>, %xs: tensor<3x8x2xi8>,
                     %w: tensor<16x64xf8E4M3FN>, %ws: tensor<16x2xi8>,
                     %out: tensor<3x8x16xf32>) -> tensor<3x8x16xf32> {
  %y = linalg.generic {indexing_maps = [
        affine_map<(b, s, n, k) -> (b, s, k)>, affine_map<(b, s, n, k) -> (b, s, k floordiv 32)>,
        affine_map<(b, s, n, k) -> (n, k)>, affine_map<(b, s, n, k) -> (n, k floordiv 32)>,
        affine_map<(b, s, n, k) -> (b, s, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %xs, %w, %ws : tensor<3x8x64xf8E4M3FN>, tensor<3x8x2xi8>,
                             tensor<16x64xf8E4M3FN>, tensor<16x2xi8>)
      outs(%out : tensor<3x8x16xf32>) {
  ^bb0(%a: f8E4M3FN, %as: i8, %b: f8E4M3FN, %bs: i8, %acc: f32):
    %ast = arith.bitcast %as : i8 to f8E8M0FNU
    %bst = arith.bitcast %bs : i8 to f8E8M0FNU
    %av = arith.scaling_extf %a, %ast : f8E4M3FN, f8E8M0FNU to f32
    %bv = arith.scaling_extf %b, %bst : f8E4M3FN, f8E8M0FNU to f32
    %p = arith.mulf %av, %bv : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<3x8x16xf32>
  return %y : tensor<3x8x16xf32>
}

// Rows of bf16, here a product that is rounded, are an operand without scales.

// CHECK-LABEL: func.func @weight_only(
// CHECK-SAME:    %{{.*}}: tensor<?x64xf32>, %[[W:[a-z0-9]+]]: tensor<48x32xi8>, %[[WS:[a-z0-9]+]]: tensor<48x4xf8E4M3FN>
// CHECK:         %[[X:.*]] = linalg.generic
// CHECK:         arith.truncf
// CHECK:         %[[RHS:.*]] = grouped_scaled_gemm.make_scaled %[[W]], %[[WS]]
// CHECK-NOT:     linalg.matmul
// CHECK:         grouped_scaled_gemm.matmul <dense> lhs(%[[X]] : tensor<?x64xbf16>) rhs(%[[RHS]] : {{.*}}) beta
func.func @weight_only(%x: tensor<?x64xf32>, %w: tensor<48x32xi8>, %ws: tensor<48x4xf8E4M3FN>,
                       %out: tensor<?x48xf32>) -> tensor<?x48xf32> {
  %c0 = arith.constant 0 : index
  %two = arith.constant 2.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x64xf32>
  %xe = tensor.empty(%m) : tensor<?x64xbf16>
  %xh = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x64xf32>) outs(%xe : tensor<?x64xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %twice = arith.mulf %a, %two : f32
    %v = arith.truncf %twice : f32 to bf16
    linalg.yield %v : bf16
  } -> tensor<?x64xbf16>
  %ce = tensor.empty() : tensor<48x32x2xf4E2M1FN>
  %c = linalg.generic {indexing_maps = [#blk, #id3],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w : tensor<48x32xi8>) outs(%ce : tensor<48x32x2xf4E2M1FN>) {
  ^bb0(%byte: i8, %o: f4E2M1FN):
    %i = linalg.index 2 : index
    %i8 = arith.index_cast %i : index to i8
    %four = arith.constant 4 : i8
    %shift = arith.muli %i8, %four : i8
    %s = arith.shrui %byte, %shift : i8
    %t = arith.trunci %s : i8 to i4
    %v = arith.bitcast %t : i4 to f4E2M1FN
    linalg.yield %v : f4E2M1FN
  } -> tensor<48x32x2xf4E2M1FN>
  %cf = tensor.collapse_shape %c [[0], [1, 2]] : tensor<48x32x2xf4E2M1FN> into tensor<48x64xf4E2M1FN>
  %cb = tensor.expand_shape %cf [[0], [1, 2]] output_shape [48, 4, 16]
      : tensor<48x64xf4E2M1FN> into tensor<48x4x16xf4E2M1FN>
  %we = tensor.empty() : tensor<48x4x16xbf16>
  %wd = linalg.generic {indexing_maps = [#id3, #blk, #id3],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%cb, %ws : tensor<48x4x16xf4E2M1FN>, tensor<48x4xf8E4M3FN>) outs(%we : tensor<48x4x16xbf16>) {
  ^bb0(%code: f4E2M1FN, %scale: f8E4M3FN, %o: bf16):
    %ve = arith.extf %code : f4E2M1FN to bf16
    %se = arith.extf %scale : f8E4M3FN to bf16
    %v = arith.mulf %ve, %se : bf16
    linalg.yield %v : bf16
  } -> tensor<48x4x16xbf16>
  %wr = tensor.collapse_shape %wd [[0], [1, 2]] : tensor<48x4x16xbf16> into tensor<48x64xbf16>
  %te = tensor.empty() : tensor<64x48xbf16>
  %wt = linalg.transpose ins(%wr : tensor<48x64xbf16>) outs(%te : tensor<64x48xbf16>) permutation = [1, 0]
  %y = linalg.matmul ins(%xh, %wt : tensor<?x64xbf16>, tensor<64x48xbf16>)
      outs(%out : tensor<?x48xf32>) -> tensor<?x48xf32>
  return %y : tensor<?x48xf32>
}

// One row of f16, and a result of one dimension.

// CHECK-LABEL: func.func @weight_only_row(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<64xf16>
// CHECK:         %[[ROW:.*]] = tensor.expand_shape %[[X]] {{\[\[}}0, 1]] output_shape [1, 64] : tensor<64xf16> into tensor<1x64xf16>
// CHECK:         grouped_scaled_gemm.matmul <dense> lhs(%[[ROW]] : tensor<1x64xf16>) rhs({{.*}} -> tensor<1x16xf32>
func.func @weight_only_row(%x: tensor<64xf16>, %w: tensor<16x64xf8E4M3FN>, %ws: tensor<16x2xf8E8M0FNU>,
                           %out: tensor<16xf32>) -> tensor<16xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(n, k) -> (k)>, affine_map<(n, k) -> (n, k)>,
                                        affine_map<(n, k) -> (n, k floordiv 32)>, affine_map<(n, k) -> (n)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x, %w, %ws : tensor<64xf16>, tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>) outs(%out : tensor<16xf32>) {
  ^bb0(%a: f16, %b: f8E4M3FN, %bs: f8E8M0FNU, %acc: f32):
    %ae = arith.extf %a : f16 to f32
    %be = arith.scaling_extf %b, %bs : f8E4M3FN, f8E8M0FNU to f32
    %p = arith.mulf %ae, %be : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  return %y : tensor<16xf32>
}

// All rows by the weights of every expert, as models without routing in their
// graph do it: one batch, for which the rows are repeated.

// CHECK-LABEL: func.func @every_expert(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x64xbf16>, %[[W:[a-z0-9]+]]: tensor<3x16x64xf8E4M3FN>, %[[WS:[a-z0-9]+]]: tensor<3x16x2xf8E8M0FNU>, %[[OUT:[a-z0-9]+]]: tensor<3x?x16xf32>
// CHECK-DAG:     %[[LHS:.*]] = linalg.broadcast ins(%[[X]] : tensor<?x64xbf16>) outs(%{{.*}} : tensor<3x?x64xbf16>) dimensions = [0]
// CHECK-DAG:     %[[RHS:.*]] = grouped_scaled_gemm.make_scaled %[[W]], %[[WS]]
// CHECK:         grouped_scaled_gemm.matmul <batched> lhs(%[[LHS]] : tensor<3x?x64xbf16>) rhs(%[[RHS]] : {{.*}}) beta({{.*}}) outs(%[[OUT]] : tensor<3x?x16xf32>)
func.func @every_expert(%x: tensor<?x64xbf16>, %w: tensor<3x16x64xf8E4M3FN>, %ws: tensor<3x16x2xf8E8M0FNU>,
                        %out: tensor<3x?x16xf32>) -> tensor<3x?x16xf32> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %xe = tensor.empty(%m) : tensor<3x?x64xbf16>
  %xr = linalg.broadcast ins(%x : tensor<?x64xbf16>) outs(%xe : tensor<3x?x64xbf16>) dimensions = [0]
  %we = tensor.empty() : tensor<3x16x64xbf16>
  %wd = linalg.generic {indexing_maps = [#id3, affine_map<(g, r, k) -> (g, r, k floordiv 32)>, #id3],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w, %ws : tensor<3x16x64xf8E4M3FN>, tensor<3x16x2xf8E8M0FNU>) outs(%we : tensor<3x16x64xbf16>) {
  ^bb0(%code: f8E4M3FN, %scale: f8E8M0FNU, %o: bf16):
    %v = arith.scaling_extf %code, %scale : f8E4M3FN, f8E8M0FNU to bf16
    linalg.yield %v : bf16
  } -> tensor<3x16x64xbf16>
  %y = linalg.batch_matmul indexing_maps = [affine_map<(g, m, n, k) -> (g, m, k)>, affine_map<(g, m, n, k) -> (g, n, k)>,
                                            affine_map<(g, m, n, k) -> (g, m, n)>]
      ins(%xr, %wd : tensor<3x?x64xbf16>, tensor<3x16x64xbf16>) outs(%out : tensor<3x?x16xf32>) -> tensor<3x?x16xf32>
  return %y : tensor<3x?x16xf32>
}

// The same of rows with scales.

// CHECK-LABEL: func.func @every_expert_of_scaled_rows(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<8x64xf8E4M3FN>, %[[XS:[a-z0-9]+]]: tensor<8x2xf8E8M0FNU>
// CHECK-DAG:     %[[CODES:.*]] = linalg.broadcast ins(%[[X]] : tensor<8x64xf8E4M3FN>) outs(%{{.*}} : tensor<3x8x64xf8E4M3FN>) dimensions = [0]
// CHECK-DAG:     %[[SCALES:.*]] = linalg.broadcast ins(%[[XS]] : tensor<8x2xf8E8M0FNU>) outs(%{{.*}} : tensor<3x8x2xf8E8M0FNU>) dimensions = [0]
// CHECK:         grouped_scaled_gemm.make_scaled %[[CODES]], %[[SCALES]]
// CHECK:         grouped_scaled_gemm.matmul <batched>
func.func @every_expert_of_scaled_rows(%x: tensor<8x64xf8E4M3FN>, %xs: tensor<8x2xf8E8M0FNU>, %w: tensor<3x16x64xf8E4M3FN>,
                                       %ws: tensor<3x16x2xf8E8M0FNU>, %out: tensor<3x8x16xf32>) -> tensor<3x8x16xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(g, m, n, k) -> (m, k)>, affine_map<(g, m, n, k) -> (m, k floordiv 32)>,
        affine_map<(g, m, n, k) -> (g, n, k)>, affine_map<(g, m, n, k) -> (g, n, k floordiv 32)>,
        affine_map<(g, m, n, k) -> (g, m, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %xs, %w, %ws : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>, tensor<3x16x64xf8E4M3FN>,
          tensor<3x16x2xf8E8M0FNU>) outs(%out : tensor<3x8x16xf32>) {
  ^bb0(%a: f8E4M3FN, %as: f8E8M0FNU, %b: f8E4M3FN, %bs: f8E8M0FNU, %sum: f32):
    %av = arith.scaling_extf %a, %as : f8E4M3FN, f8E8M0FNU to f32
    %bv = arith.scaling_extf %b, %bs : f8E4M3FN, f8E8M0FNU to f32
    %p = arith.mulf %av, %bv : f32
    %t = arith.addf %sum, %p : f32
    linalg.yield %t : f32
  } -> tensor<3x8x16xf32>
  return %y : tensor<3x8x16xf32>
}

// What has nothing to do with scaled values stays.

// CHECK-LABEL: func.func @plain(
// CHECK:         linalg.generic
// CHECK-NOT:     grouped_scaled_gemm
func.func @plain(%a: tensor<8x64xbf16>, %b: tensor<16x64xbf16>, %out: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %y = linalg.generic {indexing_maps = [#mk, #nk, #mn],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<8x64xbf16>, tensor<16x64xbf16>) outs(%out : tensor<8x16xf32>) {
  ^bb0(%x: bf16, %z: bf16, %acc: f32):
    %p = arith.mulf %x, %z : bf16
    %w = arith.extf %p : bf16 to f32
    %s = arith.addf %acc, %w : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}
