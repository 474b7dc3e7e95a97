// Weights that are gathered by the expert of each token become one product of
// the tokens in the order of their experts.

// RUN: nvfp4-opt %s --raise-to-grouped-scaled-gemm | FileCheck %s
// RUN: nvfp4-opt %s --raise-to-grouped-scaled-gemm=move-global-scales | FileCheck %s --check-prefix=MOVED

#enk = affine_map<(e, n, k) -> (e, n, k)>
#enb = affine_map<(e, n, k) -> (e, n, k floordiv 32)>
#tnk = affine_map<(t, n, k) -> (t, n, k)>
#tsnk = affine_map<(t, s, n, k) -> (t, s, n, k)>

// W[ids] as torch exports it: dequantised, gathered with indices that may count
// from the end, and multiplied as a batch of one row each.

// CHECK-LABEL: func.func @one_expert_a_token(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x64xbf16>, %[[W:[a-z0-9]+]]: tensor<4x16x64xf8E4M3FN>, %[[WS:[a-z0-9]+]]: tensor<4x16x2xf8E8M0FNU>, %[[IDS:[a-z0-9]+]]: tensor<?xi64>
// CHECK:         %[[EXPERTS:.*]] = tensor.generate
// CHECK:           %[[INDEX:.*]] = arith.select %{{.*}} : i64
// CHECK:           %[[E:.*]] = arith.index_cast %[[INDEX]] : i64 to index
// CHECK:           %[[EXPERT:.*]] = arith.index_cast %[[E]] : index to i32
// CHECK:           tensor.yield %[[EXPERT]] : i32
// CHECK:         %[[SORTED:.*]]:3 = grouped_scaled_gemm.sort_tokens(%[[EXPERTS]] : tensor<?x1xi32>) outs({{.*}} : tensor<4xi32>, tensor<?xi32>, tensor<?x1xi32>)
// CHECK:         %[[ROWS:.*]] = grouped_scaled_gemm.permute(%[[X]] : tensor<?x64xbf16>) by(%[[SORTED]]#1 : tensor<?xi32>)
// CHECK:         %[[WEIGHTS:.*]] = grouped_scaled_gemm.make_scaled %[[W]], %[[WS]]
// CHECK:         %[[PRODUCT:.*]] = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%[[SORTED]]#0 : tensor<4xi32>) lhs(%[[ROWS]] : tensor<?x64xbf16>) rhs(%[[WEIGHTS]] : {{[^ ]*}}) outs(
// CHECK:         %[[PLACES:.*]] = tensor.collapse_shape %[[SORTED]]#2 {{.*}} into tensor<?xi32>
// CHECK:         grouped_scaled_gemm.permute(%[[PRODUCT]] : tensor<?x16xf32>) by(%[[PLACES]] : tensor<?xi32>)
func.func @one_expert_a_token(%x: tensor<?x64xbf16>, %w: tensor<4x16x64xf8E4M3FN>, %ws: tensor<4x16x2xf8E8M0FNU>,
                              %ids: tensor<?xi64>) -> tensor<?x16xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %t = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %we = tensor.empty() : tensor<4x16x64xbf16>
  %wd = linalg.generic {indexing_maps = [#enk, #enb, #enk], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w, %ws : tensor<4x16x64xf8E4M3FN>, tensor<4x16x2xf8E8M0FNU>) outs(%we : tensor<4x16x64xbf16>) {
  ^bb0(%code: f8E4M3FN, %scale: f8E8M0FNU, %o: bf16):
    %v = arith.scaling_extf %code, %scale : f8E4M3FN, f8E8M0FNU to bf16
    linalg.yield %v : bf16
  } -> tensor<4x16x64xbf16>
  %ge = tensor.empty(%t) : tensor<?x16x64xbf16>
  %g = linalg.generic {indexing_maps = [affine_map<(t, n, k) -> (t)>, #tnk],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%ids : tensor<?xi64>) outs(%ge : tensor<?x16x64xbf16>) {
  ^bb0(%id: i64, %o: bf16):
    %none = arith.constant 0 : i64
    %experts = arith.constant 4 : i64
    %isNegative = arith.cmpi slt, %id, %none : i64
    %fromEnd = arith.addi %id, %experts : i64
    %index = arith.select %isNegative, %fromEnd, %id : i64
    %e = arith.index_cast %index : i64 to index
    %n = linalg.index 1 : index
    %k = linalg.index 2 : index
    %v = tensor.extract %wd[%e, %n, %k] : tensor<4x16x64xbf16>
    linalg.yield %v : bf16
  } -> tensor<?x16x64xbf16>
  %x3 = tensor.expand_shape %x [[0, 1], [2]] output_shape [%t, 1, 64] : tensor<?x64xbf16> into tensor<?x1x64xbf16>
  %ye = tensor.empty(%t) : tensor<?x1x16xf32>
  %yz = linalg.fill ins(%zero : f32) outs(%ye : tensor<?x1x16xf32>) -> tensor<?x1x16xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(t, m, n, k) -> (t, m, k)>, affine_map<(t, m, n, k) -> (t, n, k)>,
                                        affine_map<(t, m, n, k) -> (t, m, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x3, %g : tensor<?x1x64xbf16>, tensor<?x16x64xbf16>) outs(%yz : tensor<?x1x16xf32>) {
  ^bb0(%a: bf16, %b: bf16, %acc: f32):
    %ae = arith.extf %a : bf16 to f32
    %be = arith.extf %b : bf16 to f32
    %ab = arith.mulf %ae, %be : f32
    %s = arith.addf %acc, %ab : f32
    linalg.yield %s : f32
  } -> tensor<?x1x16xf32>
  %y2 = tensor.collapse_shape %y [[0, 1], [2]] : tensor<?x1x16xf32> into tensor<?x16xf32>
  return %y2 : tensor<?x16xf32>
}

// Several experts a token, whose codes and scales are gathered before they are
// dequantised, rows with scales of their own, and sums that are added.

// CHECK-LABEL: func.func @experts_of_scaled_rows(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<6x64xf8E4M3FN>, %[[XS:[a-z0-9]+]]: tensor<6x2xf8E8M0FNU>, %[[W:[a-z0-9]+]]: tensor<4x16x64xf8E4M3FN>, %[[WS:[a-z0-9]+]]: tensor<4x16x2xf8E8M0FNU>, %{{.*}}: tensor<6x3x1xi32>, %[[OUT:[a-z0-9]+]]: tensor<6x3x16xf32>
// CHECK-NOT:     tensor.gather
// CHECK:         %[[DEST:.*]] = tensor.collapse_shape %[[OUT]]
// CHECK:         %[[SORTED:.*]]:3 = grouped_scaled_gemm.sort_tokens(%{{.*}} : tensor<6x3xi32>)
// CHECK:         %[[CODES:.*]] = linalg.generic {{.*}} ins(%[[SORTED]]#1 : tensor<18xi32>) outs(%{{.*}} : tensor<18x64xf8E4M3FN>)
// CHECK:           tensor.extract %[[X]]
// CHECK:         %[[SCALES:.*]] = linalg.generic {{.*}} ins(%[[SORTED]]#1 : tensor<18xi32>) outs(%{{.*}} : tensor<18x2xf8E8M0FNU>)
// CHECK:           tensor.extract %[[XS]]
// CHECK:         make_scaled %[[CODES]], %[[SCALES]]
// CHECK:         make_scaled %[[W]], %[[WS]]
// CHECK:         grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%[[SORTED]]#0 :
// CHECK-NOT:     beta(
// CHECK:         %[[SUMS:.*]] = grouped_scaled_gemm.permute(
// CHECK:         linalg.add ins(%[[DEST]], %[[SUMS]] :
func.func @experts_of_scaled_rows(%x: tensor<6x64xf8E4M3FN>, %xs: tensor<6x2xf8E8M0FNU>, %w: tensor<4x16x64xf8E4M3FN>,
                                  %ws: tensor<4x16x2xf8E8M0FNU>, %ids: tensor<6x3x1xi32>,
                                  %out: tensor<6x3x16xf32>) -> tensor<6x3x16xf32> {
  %wg = tensor.gather %w[%ids] gather_dims([0]) : (tensor<4x16x64xf8E4M3FN>, tensor<6x3x1xi32>) -> tensor<6x3x16x64xf8E4M3FN>
  %wsg = tensor.gather %ws[%ids] gather_dims([0]) : (tensor<4x16x2xf8E8M0FNU>, tensor<6x3x1xi32>) -> tensor<6x3x1x16x2xf8E8M0FNU>
  %y = linalg.generic {indexing_maps = [affine_map<(t, s, n, k) -> (t, k)>, affine_map<(t, s, n, k) -> (t, k floordiv 32)>,
        affine_map<(t, s, n, k) -> (t, s, n, k)>, affine_map<(t, s, n, k) -> (t, s, 0, n, k floordiv 32)>,
        affine_map<(t, s, n, k) -> (t, s, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %xs, %wg, %wsg : tensor<6x64xf8E4M3FN>, tensor<6x2xf8E8M0FNU>, tensor<6x3x16x64xf8E4M3FN>,
          tensor<6x3x1x16x2xf8E8M0FNU>) outs(%out : tensor<6x3x16xf32>) {
  ^bb0(%a: f8E4M3FN, %as: f8E8M0FNU, %b: f8E4M3FN, %bs: f8E8M0FNU, %acc: f32):
    %av = arith.scaling_extf %a, %as : f8E4M3FN, f8E8M0FNU to f32
    %bv = arith.scaling_extf %b, %bs : f8E4M3FN, f8E8M0FNU to f32
    %ab = arith.mulf %av, %bv : f32
    %s = arith.addf %acc, %ab : f32
    linalg.yield %s : f32
  } -> tensor<6x3x16xf32>
  return %y : tensor<6x3x16xf32>
}

// The second product of such a layer: a row for each expert of a token, and
// bytes, scales and one number a matrix that are looked up in one body.

// CHECK-LABEL: func.func @rows_of_experts(
// CHECK:         tensor.generate
// CHECK:           arith.minsi
// CHECK:           arith.maxsi
// CHECK:         grouped_scaled_gemm.sort_tokens(%{{.*}} : tensor<18x1xi32>)
// CHECK:         grouped_scaled_gemm.matmul <ragged_rows, ends>
// CHECK-NOT:     addf
// CHECK:         return
func.func @rows_of_experts(%x: tensor<6x3x2x32xf16>, %w: tensor<4x16x2x32xi8>, %ws: tensor<4x16x2xi8>,
                           %ids: tensor<6x3xi32>) -> tensor<6x3x16xf32> {
  %zero = arith.constant 0.0 : f32
  %ye = tensor.empty() : tensor<6x3x16xf32>
  %yz = linalg.fill ins(%zero : f32) outs(%ye : tensor<6x3x16xf32>) -> tensor<6x3x16xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(t, s, n, b, j) -> (t, s, b, j)>, affine_map<(t, s, n, b, j) -> (t, s)>,
        affine_map<(t, s, n, b, j) -> (t, s, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %ids : tensor<6x3x2x32xf16>, tensor<6x3xi32>) outs(%yz : tensor<6x3x16xf32>) {
  ^bb0(%a: f16, %id: i32, %acc: f32):
    %most = arith.constant 3 : i32
    %least = arith.constant 0 : i32
    %low = arith.minsi %id, %most : i32
    %clamped = arith.maxsi %low, %least : i32
    %e = arith.index_cast %clamped : i32 to index
    %n = linalg.index 2 : index
    %block = linalg.index 3 : index
    %j = linalg.index 4 : index
    %b = tensor.extract %w[%e, %n, %block, %j] : tensor<4x16x2x32xi8>
    %bs = tensor.extract %ws[%e, %n, %block] : tensor<4x16x2xi8>
    %code = arith.bitcast %b : i8 to f8E4M3FN
    %scale = arith.bitcast %bs : i8 to f8E8M0FNU
    %bv = arith.scaling_extf %code, %scale : f8E4M3FN, f8E8M0FNU to f32
    %av = arith.extf %a : f16 to f32
    %ab = arith.mulf %av, %bv : f32
    %s = arith.addf %acc, %ab : f32
    linalg.yield %s : f32
  } -> tensor<6x3x16xf32>
  return %y : tensor<6x3x16xf32>
}

// torch.einsum makes one batch of all dimensions that both have, puts weights
// first and multiplies by matrices of one column.

// CHECK-LABEL: func.func @matrix_by_vector(
// CHECK-SAME:    %{{.*}}, %[[W:[a-z0-9]+]]: tensor<4x16x64xf8E4M3FN>, %[[WS:[a-z0-9]+]]: tensor<4x16x2xf8E8M0FNU>, %[[IDS:[a-z0-9]+]]: tensor<6x3xi64>
// CHECK:           %[[T:.*]] = affine.apply
// CHECK:           %[[S:.*]] = affine.apply
// CHECK:           tensor.extract %[[IDS]][%[[T]], %[[S]]]
// CHECK:         make_scaled %[[W]], %[[WS]]
// CHECK:         grouped_scaled_gemm.matmul <ragged_rows, ends>
// CHECK-NOT:     linalg.batch_matmul
// CHECK:         return
func.func @matrix_by_vector(%x: tensor<6x3x64xbf16>, %w: tensor<4x16x64xf8E4M3FN>, %ws: tensor<4x16x2xf8E8M0FNU>,
                            %ids: tensor<6x3xi64>) -> tensor<6x3x16xf32> {
  %zero = arith.constant 0.0 : f32
  %we = tensor.empty() : tensor<4x16x64xf32>
  %wd = linalg.generic {indexing_maps = [#enk, #enb, #enk], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w, %ws : tensor<4x16x64xf8E4M3FN>, tensor<4x16x2xf8E8M0FNU>) outs(%we : tensor<4x16x64xf32>) {
  ^bb0(%code: f8E4M3FN, %scale: f8E8M0FNU, %o: f32):
    %v = arith.scaling_extf %code, %scale : f8E4M3FN, f8E8M0FNU to f32
    linalg.yield %v : f32
  } -> tensor<4x16x64xf32>
  %ge = tensor.empty() : tensor<6x3x16x64xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(t, s, n, k) -> (t, s)>, #tsnk],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%ids : tensor<6x3xi64>) outs(%ge : tensor<6x3x16x64xf32>) {
  ^bb0(%id: i64, %o: f32):
    %e = arith.index_cast %id : i64 to index
    %n = linalg.index 2 : index
    %k = linalg.index 3 : index
    %v = tensor.extract %wd[%e, %n, %k] : tensor<4x16x64xf32>
    linalg.yield %v : f32
  } -> tensor<6x3x16x64xf32>
  %gb = tensor.collapse_shape %g [[0, 1], [2], [3]] : tensor<6x3x16x64xf32> into tensor<18x16x64xf32>
  %xe = tensor.empty() : tensor<6x3x64xf32>
  %xf = arith.extf %x : tensor<6x3x64xbf16> to tensor<6x3x64xf32>
  %xc = tensor.collapse_shape %xf [[0, 1], [2]] : tensor<6x3x64xf32> into tensor<18x64xf32>
  %xb = tensor.expand_shape %xc [[0], [1, 2]] output_shape [18, 64, 1] : tensor<18x64xf32> into tensor<18x64x1xf32>
  %ye = tensor.empty() : tensor<18x16x1xf32>
  %yz = linalg.fill ins(%zero : f32) outs(%ye : tensor<18x16x1xf32>) -> tensor<18x16x1xf32>
  %y = linalg.batch_matmul ins(%gb, %xb : tensor<18x16x64xf32>, tensor<18x64x1xf32>)
      outs(%yz : tensor<18x16x1xf32>) -> tensor<18x16x1xf32>
  %yc = tensor.collapse_shape %y [[0], [1, 2]] : tensor<18x16x1xf32> into tensor<18x16xf32>
  %y3 = tensor.expand_shape %yc [[0, 1], [2]] output_shape [6, 3, 16] : tensor<18x16xf32> into tensor<6x3x16xf32>
  return %y3 : tensor<6x3x16xf32>
}

// Experts and columns are one dimension of the matrices where rows have neither.

// CHECK-LABEL: func.func @matrices_by_vector(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x64xbf16>, %[[W:[a-z0-9]+]]: tensor<4x16x64xf8E4M3FN>, %[[WS:[a-z0-9]+]]: tensor<4x16x2xf8E8M0FNU>, %[[IDS:[a-z0-9]+]]: tensor<?x3xi64>
// CHECK:           tensor.extract %[[IDS]][%{{.*}}, %{{.*}}]
// CHECK:         %[[SORTED:.*]]:3 = grouped_scaled_gemm.sort_tokens(%{{.*}} : tensor<?x3xi32>)
// CHECK:         grouped_scaled_gemm.permute(%[[X]] : tensor<?x64xbf16>) by(%[[SORTED]]#1 : tensor<?xi32>)
// CHECK:         make_scaled %[[W]], %[[WS]]
// CHECK:         grouped_scaled_gemm.matmul <ragged_rows, ends>
// CHECK-NOT:     linalg.batch_matmul
// CHECK:         return
func.func @matrices_by_vector(%x: tensor<?x64xbf16>, %w: tensor<4x16x64xf8E4M3FN>, %ws: tensor<4x16x2xf8E8M0FNU>,
                              %ids: tensor<?x3xi64>) -> tensor<?x3x16xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %t = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %we = tensor.empty() : tensor<4x16x64xf32>
  %wd = linalg.generic {indexing_maps = [#enk, #enb, #enk], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w, %ws : tensor<4x16x64xf8E4M3FN>, tensor<4x16x2xf8E8M0FNU>) outs(%we : tensor<4x16x64xf32>) {
  ^bb0(%code: f8E4M3FN, %scale: f8E8M0FNU, %o: f32):
    %v = arith.scaling_extf %code, %scale : f8E4M3FN, f8E8M0FNU to f32
    linalg.yield %v : f32
  } -> tensor<4x16x64xf32>
  %ge = tensor.empty(%t) : tensor<?x3x16x64xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(t, s, n, k) -> (t, s)>, #tsnk],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%ids : tensor<?x3xi64>) outs(%ge : tensor<?x3x16x64xf32>) {
  ^bb0(%id: i64, %o: f32):
    %e = arith.index_cast %id : i64 to index
    %n = linalg.index 2 : index
    %k = linalg.index 3 : index
    %v = tensor.extract %wd[%e, %n, %k] : tensor<4x16x64xf32>
    linalg.yield %v : f32
  } -> tensor<?x3x16x64xf32>
  %gb = tensor.collapse_shape %g [[0], [1, 2], [3]] : tensor<?x3x16x64xf32> into tensor<?x48x64xf32>
  %xf = arith.extf %x : tensor<?x64xbf16> to tensor<?x64xf32>
  %xb = tensor.expand_shape %xf [[0], [1, 2]] output_shape [%t, 64, 1] : tensor<?x64xf32> into tensor<?x64x1xf32>
  %ye = tensor.empty(%t) : tensor<?x48x1xf32>
  %yz = linalg.fill ins(%zero : f32) outs(%ye : tensor<?x48x1xf32>) -> tensor<?x48x1xf32>
  %y = linalg.batch_matmul ins(%gb, %xb : tensor<?x48x64xf32>, tensor<?x64x1xf32>)
      outs(%yz : tensor<?x48x1xf32>) -> tensor<?x48x1xf32>
  %yc = tensor.collapse_shape %y [[0], [1, 2]] : tensor<?x48x1xf32> into tensor<?x48xf32>
  %y3 = tensor.expand_shape %yc [[0], [1, 2]] output_shape [%t, 3, 16] : tensor<?x48xf32> into tensor<?x3x16xf32>
  return %y3 : tensor<?x3x16xf32>
}

// One number for each expert is looked up as well.

// CHECK-LABEL: func.func @numbers_of_experts(
// CHECK-NOT:     grouped_scaled_gemm.matmul
// MOVED-LABEL: func.func @numbers_of_experts(
// MOVED-SAME:    %[[NUMBERS:[a-z0-9]+]]: tensor<4xf32>
// MOVED:         grouped_scaled_gemm.sort_tokens
// MOVED:         %[[ALPHA:.*]] = tensor.generate
// MOVED:           tensor.extract %[[NUMBERS]]
// MOVED:         grouped_scaled_gemm.matmul <ragged_rows, ends> {{.*}} alpha(%[[ALPHA]] : tensor<4xf32>)
func.func @numbers_of_experts(%x: tensor<6x64xbf16>, %w: tensor<4x16x64xf8E4M3FN>, %ws: tensor<4x16x2xf8E8M0FNU>,
                              %numbers: tensor<4xf32>, %ids: tensor<6xindex>, %out: tensor<6x16xf32>) -> tensor<6x16xf32> {
  %we = tensor.empty() : tensor<4x16x64xf32>
  %wd = linalg.generic {indexing_maps = [#enk, #enb, affine_map<(e, n, k) -> (e)>, #enk],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w, %ws, %numbers : tensor<4x16x64xf8E4M3FN>, tensor<4x16x2xf8E8M0FNU>, tensor<4xf32>)
      outs(%we : tensor<4x16x64xf32>) {
  ^bb0(%code: f8E4M3FN, %scale: f8E8M0FNU, %number: f32, %o: f32):
    %s = arith.scaling_extf %code, %scale : f8E4M3FN, f8E8M0FNU to f32
    %v = arith.mulf %s, %number : f32
    linalg.yield %v : f32
  } -> tensor<4x16x64xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(t, n, k) -> (t, k)>, affine_map<(t, n, k) -> (t)>,
                                        affine_map<(t, n, k) -> (t, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %ids : tensor<6x64xbf16>, tensor<6xindex>) outs(%out : tensor<6x16xf32>) {
  ^bb0(%a: bf16, %e: index, %acc: f32):
    %n = linalg.index 1 : index
    %k = linalg.index 2 : index
    %b = tensor.extract %wd[%e, %n, %k] : tensor<4x16x64xf32>
    %ae = arith.extf %a : bf16 to f32
    %ab = arith.mulf %ae, %b : f32
    %s = arith.addf %acc, %ab : f32
    linalg.yield %s : f32
  } -> tensor<6x16xf32>
  return %y : tensor<6x16xf32>
}

// Two codes a byte, which are gathered as bytes and unpacked behind that, with
// scales of NVFP4.

// CHECK-LABEL: func.func @bytes_of_experts(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<6x64xf16>, %[[W:[a-z0-9]+]]: tensor<4x16x32xi8>, %[[WS:[a-z0-9]+]]: tensor<4x16x4xf8E4M3FN>
// CHECK:         grouped_scaled_gemm.sort_tokens
// CHECK:         make_scaled %[[W]], %[[WS]] : tensor<4x16x32xi8>, tensor<4x16x4xf8E4M3FN>
// CHECK:         grouped_scaled_gemm.matmul <ragged_rows, ends>
// CHECK-NOT:     addf
// CHECK:         return
func.func @bytes_of_experts(%x: tensor<6x64xf16>, %w: tensor<4x16x32xi8>, %ws: tensor<4x16x4xf8E4M3FN>,
                            %ids: tensor<6xi32>, %out: tensor<6x16xf32>) -> tensor<6x16xf32> {
  %ge = tensor.empty() : tensor<6x16x32xi8>
  %g = linalg.generic {indexing_maps = [affine_map<(t, n, k) -> (t)>, #tnk], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%ids : tensor<6xi32>) outs(%ge : tensor<6x16x32xi8>) {
  ^bb0(%id: i32, %o: i8):
    %e = arith.index_castui %id : i32 to index
    %n = linalg.index 1 : index
    %k = linalg.index 2 : index
    %v = tensor.extract %w[%e, %n, %k] : tensor<4x16x32xi8>
    linalg.yield %v : i8
  } -> tensor<6x16x32xi8>
  %se = tensor.empty() : tensor<6x16x4xf8E4M3FN>
  %sg = linalg.generic {indexing_maps = [affine_map<(t, n, b) -> (t)>, #tnk], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%ids : tensor<6xi32>) outs(%se : tensor<6x16x4xf8E4M3FN>) {
  ^bb0(%id: i32, %o: f8E4M3FN):
    %e = arith.index_castui %id : i32 to index
    %n = linalg.index 1 : index
    %b = linalg.index 2 : index
    %v = tensor.extract %ws[%e, %n, %b] : tensor<4x16x4xf8E4M3FN>
    linalg.yield %v : f8E4M3FN
  } -> tensor<6x16x4xf8E4M3FN>
  %he = tensor.empty() : tensor<6x16x32x2xf32>
  %halves = linalg.generic {indexing_maps = [affine_map<(t, n, k, h) -> (t, n, k)>, affine_map<(t, n, k, h) -> (t, n, k, h)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%g : tensor<6x16x32xi8>) outs(%he : tensor<6x16x32x2xf32>) {
  ^bb0(%byte: i8, %o: f32):
    %h = linalg.index 3 : index
    %half = arith.index_cast %h : index to i8
    %four = arith.constant 4 : i8
    %amount = arith.muli %half, %four : i8
    %shifted = arith.shrui %byte, %amount : i8
    %bits = arith.trunci %shifted : i8 to i4
    %code = arith.bitcast %bits : i4 to f4E2M1FN
    %v = arith.extf %code : f4E2M1FN to f32
    linalg.yield %v : f32
  } -> tensor<6x16x32x2xf32>
  %codes = tensor.collapse_shape %halves [[0], [1], [2, 3]] : tensor<6x16x32x2xf32> into tensor<6x16x64xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(t, n, k) -> (t, k)>, affine_map<(t, n, k) -> (t, n, k)>,
                                        affine_map<(t, n, k) -> (t, n, k floordiv 16)>, affine_map<(t, n, k) -> (t, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %codes, %sg : tensor<6x64xf16>, tensor<6x16x64xf32>, tensor<6x16x4xf8E4M3FN>) outs(%out : tensor<6x16xf32>) {
  ^bb0(%a: f16, %b: f32, %scale: f8E4M3FN, %acc: f32):
    %ae = arith.extf %a : f16 to f32
    %bs = arith.extf %scale : f8E4M3FN to f32
    %bv = arith.mulf %b, %bs : f32
    %ab = arith.mulf %ae, %bv : f32
    %s = arith.addf %acc, %ab : f32
    linalg.yield %s : f32
  } -> tensor<6x16xf32>
  return %y : tensor<6x16xf32>
}
