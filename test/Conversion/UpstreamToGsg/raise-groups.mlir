// Loops over groups of rows become one product; loops that are something else
// keep a dense one.

// RUN: nvfp4-opt %s --raise-to-grouped-scaled-gemm | FileCheck %s
// RUN: nvfp4-opt %s --raise-to-grouped-scaled-gemm=move-global-scales | FileCheck %s --check-prefix=MOVED
// Sums of sizes that the loop counts in 64 bits.
// RUN: sed '/^func.func @sizes/,/^}/{s/%%s = %%first) -> (tensor<?x16xf32>, i32)/%%start = %%c0) -> (tensor<?x16xf32>, index)/;/%%start = arith.index_cast/d;s/addi %%s, %%size : i32/addi %%start, %%rows : index/;s/<?x16xf32>, i32/<?x16xf32>, index/}' %s | nvfp4-opt --raise-to-grouped-scaled-gemm=move-global-scales | FileCheck %s --check-prefix=WIDE
// WIDE-LABEL: func.func @sizes(
// WIDE-SAME:    %[[SIZES:[a-z0-9]+]]: tensor<3xi32>
// WIDE:           %[[SIZE:.*]] = tensor.extract %[[SIZES]]
// WIDE:           %[[LONG:.*]] = arith.extsi %[[SIZE]] : i32 to i64
// WIDE:           arith.addi %{{.*}}, %[[LONG]] : i64
// WIDE:         grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%{{.*}} : tensor<3xi64>)

#rk = affine_map<(r, k) -> (r, k)>
#rb = affine_map<(r, k) -> (r, k floordiv 32)>
#grk = affine_map<(g, r, k) -> (g, r, k)>
#grb = affine_map<(g, r, k) -> (g, r, k floordiv 32)>
#gkn = affine_map<(g, k, n) -> (g, k, n)>
#gbn = affine_map<(g, k, n) -> (g, k floordiv 32, n)>
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>

// All rows and weights are dequantised before, offsets are starts, and results
// are rounded.

// CHECK-LABEL: func.func @starts(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x64xf8E4M3FN>, %[[XS:[a-z0-9]+]]: tensor<?x2xf8E8M0FNU>, %[[W:[a-z0-9]+]]: tensor<3x16x64xf8E4M3FN>, %[[WS:[a-z0-9]+]]: tensor<3x16x2xf8E8M0FNU>, %[[STARTS:[a-z0-9]+]]: tensor<4xi32>, %[[OUT:[a-z0-9]+]]: tensor<?x16xbf16>
// CHECK-DAG:     %[[LHS:.*]] = grouped_scaled_gemm.make_scaled %[[X]], %[[XS]]
// CHECK-DAG:     %[[RHS:.*]] = grouped_scaled_gemm.make_scaled %[[W]], %[[WS]]
// CHECK-NOT:     scf.for
// CHECK:         %[[Y:.*]] = grouped_scaled_gemm.matmul <ragged_rows, starts> groups(%[[STARTS]] : tensor<4xi32>) lhs(%[[LHS]] : {{.*}}) rhs(%[[RHS]] : {{[^ ]*}}) outs(%[[OUT]] : tensor<?x16xbf16>) -> tensor<?x16xbf16>
// CHECK-NEXT:    return %[[Y]]
func.func @starts(%x: tensor<?x64xf8E4M3FN>, %xs: tensor<?x2xf8E8M0FNU>,
                  %w: tensor<3x16x64xf8E4M3FN>, %ws: tensor<3x16x2xf8E8M0FNU>,
                  %starts: tensor<4xi32>, %out: tensor<?x16xbf16>) -> tensor<?x16xbf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x64xf8E4M3FN>
  %xe = tensor.empty(%m) : tensor<?x64xf32>
  %xd = linalg.generic {indexing_maps = [#rk, #rb, #rk], iterator_types = ["parallel", "parallel"]}
      ins(%x, %xs : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>) outs(%xe : tensor<?x64xf32>) {
  ^bb0(%code: f8E4M3FN, %scale: f8E8M0FNU, %o: f32):
    %v = arith.scaling_extf %code, %scale : f8E4M3FN, f8E8M0FNU to f32
    linalg.yield %v : f32
  } -> tensor<?x64xf32>
  %we = tensor.empty() : tensor<3x16x64xf32>
  %wd = linalg.generic {indexing_maps = [#grk, #grb, #grk], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w, %ws : tensor<3x16x64xf8E4M3FN>, tensor<3x16x2xf8E8M0FNU>) outs(%we : tensor<3x16x64xf32>) {
  ^bb0(%code: f8E4M3FN, %scale: f8E8M0FNU, %o: f32):
    %v = arith.scaling_extf %code, %scale : f8E4M3FN, f8E8M0FNU to f32
    linalg.yield %v : f32
  } -> tensor<3x16x64xf32>
  %y = scf.for %g = %c0 to %c3 step %c1 iter_args(%acc = %out) -> (tensor<?x16xbf16>) {
    %first = tensor.extract %starts[%g] : tensor<4xi32>
    %next = arith.addi %g, %c1 : index
    %end = tensor.extract %starts[%next] : tensor<4xi32>
    %count = arith.subi %end, %first : i32
    %start = arith.index_cast %first : i32 to index
    %rows = arith.index_cast %count : i32 to index
    %xg = tensor.extract_slice %xd[%start, 0] [%rows, 64] [1, 1] : tensor<?x64xf32> to tensor<?x64xf32>
    %wg = tensor.extract_slice %wd[%g, 0, 0] [1, 16, 64] [1, 1, 1] : tensor<3x16x64xf32> to tensor<16x64xf32>
    %ye = tensor.empty(%rows) : tensor<?x16xf32>
    %yz = linalg.fill ins(%zero : f32) outs(%ye : tensor<?x16xf32>) -> tensor<?x16xf32>
    %yg = linalg.matmul indexing_maps = [#mk, #nk, #mn]
        ins(%xg, %wg : tensor<?x64xf32>, tensor<16x64xf32>) outs(%yz : tensor<?x16xf32>) -> tensor<?x16xf32>
    %yr = arith.truncf %yg : tensor<?x16xf32> to tensor<?x16xbf16>
    %all = tensor.insert_slice %yr into %acc[%start, 0] [%rows, 16] [1, 1] : tensor<?x16xbf16> into tensor<?x16xbf16>
    scf.yield %all : tensor<?x16xbf16>
  }
  return %y : tensor<?x16xbf16>
}

// Slices are dequantised, offsets are ends, the loop carries the start, and
// sums are added to the destination.

// CHECK-LABEL: func.func @ends(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<10x64xf8E4M3FN>, %[[XS:[a-z0-9]+]]: tensor<10x2xf8E8M0FNU>, %[[W:[a-z0-9]+]]: tensor<3x16x64xf8E4M3FN>, %[[WS:[a-z0-9]+]]: tensor<3x16x2xf8E8M0FNU>, %[[ENDS:[a-z0-9]+]]: tensor<3xi64>, %[[OUT:[a-z0-9]+]]: tensor<10x16xf32>
// CHECK-DAG:     %[[ONE:.*]] = arith.constant 1.0{{.*}} : f32
// CHECK-DAG:     %[[LHS:.*]] = grouped_scaled_gemm.make_scaled %[[X]], %[[XS]]
// CHECK-DAG:     %[[RHS:.*]] = grouped_scaled_gemm.make_scaled %[[W]], %[[WS]]
// CHECK-NOT:     scf.for
// CHECK:         grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%[[ENDS]] : tensor<3xi64>) lhs(%[[LHS]] : {{.*}}) rhs(%[[RHS]] : {{.*}}) beta(%[[ONE]] : f32) outs(%[[OUT]]
func.func @ends(%x: tensor<10x64xf8E4M3FN>, %xs: tensor<10x2xf8E8M0FNU>,
                %w: tensor<3x16x64xf8E4M3FN>, %ws: tensor<3x16x2xf8E8M0FNU>,
                %ends: tensor<3xi64>, %out: tensor<10x16xf32>) -> tensor<10x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %y:2 = scf.for %g = %c0 to %c3 step %c1 iter_args(%acc = %out, %start = %c0) -> (tensor<10x16xf32>, index) {
    %e = tensor.extract %ends[%g] : tensor<3xi64>
    %end = arith.index_cast %e : i64 to index
    %rows = arith.subi %end, %start : index
    %xg = tensor.extract_slice %x[%start, 0] [%rows, 64] [1, 1] : tensor<10x64xf8E4M3FN> to tensor<?x64xf8E4M3FN>
    %xsg = tensor.extract_slice %xs[%start, 0] [%rows, 2] [1, 1] : tensor<10x2xf8E8M0FNU> to tensor<?x2xf8E8M0FNU>
    %wg = tensor.extract_slice %w[%g, 0, 0] [1, 16, 64] [1, 1, 1] : tensor<3x16x64xf8E4M3FN> to tensor<16x64xf8E4M3FN>
    %wsg = tensor.extract_slice %ws[%g, 0, 0] [1, 16, 2] [1, 1, 1] : tensor<3x16x2xf8E8M0FNU> to tensor<16x2xf8E8M0FNU>
    %yg = tensor.extract_slice %acc[%start, 0] [%rows, 16] [1, 1] : tensor<10x16xf32> to tensor<?x16xf32>
    %p = linalg.generic {indexing_maps = [#mk, affine_map<(m, n, k) -> (m, k floordiv 32)>,
                                          #nk, affine_map<(m, n, k) -> (n, k floordiv 32)>, #mn],
        iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%xg, %xsg, %wg, %wsg : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>,
                                   tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>)
        outs(%yg : tensor<?x16xf32>) {
    ^bb0(%a: f8E4M3FN, %as: f8E8M0FNU, %b: f8E4M3FN, %bs: f8E8M0FNU, %sum: f32):
      %av = arith.scaling_extf %a, %as : f8E4M3FN, f8E8M0FNU to f32
      %bv = arith.scaling_extf %b, %bs : f8E4M3FN, f8E8M0FNU to f32
      %ab = arith.mulf %av, %bv : f32
      %s = arith.addf %sum, %ab : f32
      linalg.yield %s : f32
    } -> tensor<?x16xf32>
    %all = tensor.insert_slice %p into %acc[%start, 0] [%rows, 16] [1, 1] : tensor<?x16xf32> into tensor<10x16xf32>
    scf.yield %all, %end : tensor<10x16xf32>, index
  }
  return %y#0 : tensor<10x16xf32>
}

// Rows of bf16 by weights [K, N], sizes of groups, and one number a matrix.

// CHECK-LABEL: func.func @sizes(
// CHECK:         linalg.matmul
// CHECK-NOT:     grouped_scaled_gemm.matmul
// MOVED-LABEL: func.func @sizes(
// MOVED-SAME:    %[[X:[a-z0-9]+]]: tensor<?x64xbf16>, %[[W:[a-z0-9]+]]: tensor<3x64x16xf8E4M3FN>, %[[WS:[a-z0-9]+]]: tensor<3x2x16xf8E8M0FNU>, %[[G:[a-z0-9]+]]: tensor<3xf32>, %[[SIZES:[a-z0-9]+]]: tensor<3xi32>
// MOVED:         %[[ENDS:.*]]:2 = scf.for
// MOVED:           %[[SIZE:.*]] = tensor.extract %[[SIZES]]
// MOVED:           %[[END:.*]] = arith.addi %{{.*}}, %[[SIZE]] : i32
// MOVED:           tensor.insert %[[END]] into
// MOVED:         %[[ALPHA:.*]] = tensor.generate
// MOVED:           tensor.extract %[[G]]
// MOVED:         linalg.transpose ins(%[[W]] {{.*}} permutation = [0, 2, 1]
// MOVED:         linalg.transpose ins(%[[WS]] {{.*}} permutation = [0, 2, 1]
// MOVED:         grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%[[ENDS]]#0 : tensor<3xi32>) lhs(%[[X]] : tensor<?x64xbf16>) rhs({{.*}}) alpha(%[[ALPHA]] : tensor<3xf32>) outs(
// MOVED-NOT:     linalg.matmul
// MOVED:         return
func.func @sizes(%x: tensor<?x64xbf16>, %w: tensor<3x64x16xf8E4M3FN>, %ws: tensor<3x2x16xf8E8M0FNU>,
                 %global: tensor<3xf32>, %sizes: tensor<3xi32>, %out: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %first = arith.constant 0 : i32
  %m = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %xe = tensor.empty(%m) : tensor<?x64xf32>
  %xd = arith.extf %x : tensor<?x64xbf16> to tensor<?x64xf32>
  %we = tensor.empty() : tensor<3x64x16xf32>
  %wd = linalg.generic {indexing_maps = [#gkn, #gbn, affine_map<(g, k, n) -> (g)>, #gkn],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w, %ws, %global : tensor<3x64x16xf8E4M3FN>, tensor<3x2x16xf8E8M0FNU>, tensor<3xf32>)
      outs(%we : tensor<3x64x16xf32>) {
  ^bb0(%code: f8E4M3FN, %scale: f8E8M0FNU, %number: f32, %o: f32):
    %s = arith.scaling_extf %code, %scale : f8E4M3FN, f8E8M0FNU to f32
    %v = arith.mulf %s, %number : f32
    linalg.yield %v : f32
  } -> tensor<3x64x16xf32>
  %y:2 = scf.for %g = %c0 to %c3 step %c1 iter_args(%acc = %out, %s = %first) -> (tensor<?x16xf32>, i32) {
    %size = tensor.extract %sizes[%g] : tensor<3xi32>
    %start = arith.index_cast %s : i32 to index
    %rows = arith.index_cast %size : i32 to index
    %xg = tensor.extract_slice %xd[%start, 0] [%rows, 64] [1, 1] : tensor<?x64xf32> to tensor<?x64xf32>
    %wg = tensor.extract_slice %wd[%g, 0, 0] [1, 64, 16] [1, 1, 1] : tensor<3x64x16xf32> to tensor<64x16xf32>
    %ye = tensor.extract_slice %acc[%start, 0] [%rows, 16] [1, 1] : tensor<?x16xf32> to tensor<?x16xf32>
    %yz = linalg.fill ins(%zero : f32) outs(%ye : tensor<?x16xf32>) -> tensor<?x16xf32>
    %yg = linalg.matmul ins(%xg, %wg : tensor<?x64xf32>, tensor<64x16xf32>) outs(%yz : tensor<?x16xf32>) -> tensor<?x16xf32>
    %all = tensor.insert_slice %yg into %acc[%start, 0] [%rows, 16] [1, 1] : tensor<?x16xf32> into tensor<?x16xf32>
    %next = arith.addi %s, %size : i32
    scf.yield %all, %next : tensor<?x16xf32>, i32
  }
  return %y#0 : tensor<?x16xf32>
}

// One matrix of dequantised weights, as unrolled loops have it: the product is
// dense, and codes and scales are sliced.

// CHECK-LABEL: func.func @one_expert(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<8x64xbf16>, %[[W:[a-z0-9]+]]: tensor<3x16x64xf8E4M3FN>, %[[WS:[a-z0-9]+]]: tensor<3x16x2xf8E8M0FNU>
// CHECK-DAG:     %[[CODES:.*]] = tensor.extract_slice %[[W]][2, 0, 0] [1, 16, 64] [1, 1, 1] : tensor<3x16x64xf8E4M3FN> to tensor<1x16x64xf8E4M3FN>
// CHECK-DAG:     %[[CODES2:.*]] = tensor.collapse_shape %[[CODES]] {{\[\[}}0, 1], [2]]
// CHECK-DAG:     %[[SCALES:.*]] = tensor.extract_slice %[[WS]][2, 0, 0] [1, 16, 2] [1, 1, 1]
// CHECK-DAG:     %[[SCALES2:.*]] = tensor.collapse_shape %[[SCALES]]
// CHECK:         make_scaled %[[CODES2]], %[[SCALES2]]
// CHECK:         grouped_scaled_gemm.matmul <dense> lhs(%[[X]] :
func.func @one_expert(%x: tensor<8x64xbf16>, %w: tensor<3x16x64xf8E4M3FN>, %ws: tensor<3x16x2xf8E8M0FNU>,
                      %out: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %we = tensor.empty() : tensor<3x16x64xbf16>
  %wd = linalg.generic {indexing_maps = [#grk, #grb, #grk], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w, %ws : tensor<3x16x64xf8E4M3FN>, tensor<3x16x2xf8E8M0FNU>) outs(%we : tensor<3x16x64xbf16>) {
  ^bb0(%code: f8E4M3FN, %scale: f8E8M0FNU, %o: bf16):
    %v = arith.scaling_extf %code, %scale : f8E4M3FN, f8E8M0FNU to bf16
    linalg.yield %v : bf16
  } -> tensor<3x16x64xbf16>
  %wg = tensor.extract_slice %wd[2, 0, 0] [1, 16, 64] [1, 1, 1] : tensor<3x16x64xbf16> to tensor<16x64xbf16>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn]
      ins(%x, %wg : tensor<8x64xbf16>, tensor<16x64xbf16>) outs(%out : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// Bytes of one matrix, whose halves are looked up in a table and stacked in each
// step.

// CHECK-LABEL: func.func @halves(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x64xbf16>, %[[W:[a-z0-9]+]]: tensor<3x16x32xi8>, %[[WS:[a-z0-9]+]]: tensor<3x16x2xf8E8M0FNU>, %[[STARTS:[a-z0-9]+]]: tensor<4xi32>
// CHECK-NOT:     scf.for
// CHECK:         %[[RHS:.*]] = grouped_scaled_gemm.make_scaled %[[W]], %[[WS]]
// CHECK:         grouped_scaled_gemm.matmul <ragged_rows, starts> groups(%[[STARTS]] : tensor<4xi32>) lhs(%[[X]] : tensor<?x64xbf16>) rhs(%[[RHS]] :
// CHECK-NOT:     scf.for
// CHECK:         return
func.func @halves(%x: tensor<?x64xbf16>, %w: tensor<3x16x32xi8>, %ws: tensor<3x16x2xf8E8M0FNU>,
                  %starts: tensor<4xi32>, %out: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %table = arith.constant dense<[0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0,
                                 -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0]> : tensor<16xbf16>
  %y = scf.for %g = %c0 to %c3 step %c1 iter_args(%acc = %out) -> (tensor<?x16xf32>) {
    %first = tensor.extract %starts[%g] : tensor<4xi32>
    %next = arith.addi %g, %c1 : index
    %end = tensor.extract %starts[%next] : tensor<4xi32>
    %count = arith.subi %end, %first : i32
    %start = arith.index_cast %first : i32 to index
    %rows = arith.index_cast %count : i32 to index
    %xg = tensor.extract_slice %x[%start, 0] [%rows, 64] [1, 1] : tensor<?x64xbf16> to tensor<?x64xbf16>
    %wg = tensor.extract_slice %w[%g, 0, 0] [1, 16, 32] [1, 1, 1] : tensor<3x16x32xi8> to tensor<16x32xi8>
    %wsg = tensor.extract_slice %ws[%g, 0, 0] [1, 16, 2] [1, 1, 1] : tensor<3x16x2xf8E8M0FNU> to tensor<16x2xf8E8M0FNU>
    %he = tensor.empty() : tensor<16x32xbf16>
    %l = linalg.generic {indexing_maps = [#rk, #rk], iterator_types = ["parallel", "parallel"]}
        ins(%wg : tensor<16x32xi8>) outs(%he : tensor<16x32xbf16>) {
    ^bb0(%byte: i8, %o: bf16):
      %mask = arith.constant 15 : i8
      %n = arith.andi %byte, %mask : i8
      %i = arith.index_castui %n : i8 to index
      %v = tensor.extract %table[%i] : tensor<16xbf16>
      linalg.yield %v : bf16
    } -> tensor<16x32xbf16>
    %h = linalg.generic {indexing_maps = [#rk, #rk], iterator_types = ["parallel", "parallel"]}
        ins(%wg : tensor<16x32xi8>) outs(%he : tensor<16x32xbf16>) {
    ^bb0(%byte: i8, %o: bf16):
      %four = arith.constant 4 : i8
      %n = arith.shrui %byte, %four : i8
      %i = arith.index_castui %n : i8 to index
      %v = tensor.extract %table[%i] : tensor<16xbf16>
      linalg.yield %v : bf16
    } -> tensor<16x32xbf16>
    %l1 = tensor.expand_shape %l [[0], [1, 2]] output_shape [16, 32, 1] : tensor<16x32xbf16> into tensor<16x32x1xbf16>
    %h1 = tensor.expand_shape %h [[0], [1, 2]] output_shape [16, 32, 1] : tensor<16x32xbf16> into tensor<16x32x1xbf16>
    %both = tensor.concat dim(2) %l1, %h1 : (tensor<16x32x1xbf16>, tensor<16x32x1xbf16>) -> tensor<16x32x2xbf16>
    %codes = tensor.collapse_shape %both [[0], [1, 2]] : tensor<16x32x2xbf16> into tensor<16x64xbf16>
    %de = tensor.empty() : tensor<16x64xbf16>
    %wd = linalg.generic {indexing_maps = [#rk, #rb, #rk], iterator_types = ["parallel", "parallel"]}
        ins(%codes, %wsg : tensor<16x64xbf16>, tensor<16x2xf8E8M0FNU>) outs(%de : tensor<16x64xbf16>) {
    ^bb0(%code: bf16, %scale: f8E8M0FNU, %o: bf16):
      %s = arith.extf %scale : f8E8M0FNU to bf16
      %v = arith.mulf %code, %s : bf16
      linalg.yield %v : bf16
    } -> tensor<16x64xbf16>
    %ye = tensor.empty(%rows) : tensor<?x16xf32>
    %yz = linalg.fill ins(%zero : f32) outs(%ye : tensor<?x16xf32>) -> tensor<?x16xf32>
    %yg = linalg.matmul indexing_maps = [#mk, #nk, #mn]
        ins(%xg, %wd : tensor<?x64xbf16>, tensor<16x64xbf16>) outs(%yz : tensor<?x16xf32>) -> tensor<?x16xf32>
    %all = tensor.insert_slice %yg into %acc[%start, 0] [%rows, 16] [1, 1] : tensor<?x16xf32> into tensor<?x16xf32>
    scf.yield %all : tensor<?x16xf32>
  }
  return %y : tensor<?x16xf32>
}
