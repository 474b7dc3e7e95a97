// Codes that are stacked before they are looked up, by indices with the guards that
// exporters put around every look-up: counted from the end where they are negative,
// clamped, and NaN where they leave the table. Four bits never do. Scales by exp2 as
// JAX writes it.

// RUN: nvfp4-opt %s --raise-to-grouped-scaled-gemm | FileCheck %s
// A table of f64 that is rounded to the type that is wanted.
// RUN: sed 's/^  %%table = /  %%doubles = /; s/-6.0\]> : tensor<16xf32>/-6.0]> : tensor<16xf64>\n  %%te = tensor.empty() : tensor<16xf32>\n  %%table = linalg.generic {indexing_maps = [#id1, #id1], iterator_types = ["parallel"]} ins(%%doubles : tensor<16xf64>) outs(%%te : tensor<16xf32>) {\n  ^bb0(%%d: f64, %%o: f32):\n    %%f = arith.truncf %%d : f64 to f32\n    linalg.yield %%f : f32\n  } -> tensor<16xf32>/' %s > %t.doubles
// RUN: nvfp4-opt %t.doubles --raise-to-grouped-scaled-gemm | FileCheck %s
// RUN: sed 's/3.0, 4.0, 6.0,/3.0, 4.0, 6.5,/' %t.doubles | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT

// A bound that cuts, a guard that is not always the same, NaN where the index is
// inside, high halves first, another base.
// RUN: sed 's/minsi %%above, %%most/minsi %%above, %%cut/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// RUN: sed 's/cmpi sle, %%index, %%last/cmpi slt, %%index, %%last/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// RUN: sed 's/select %%inside, %%number, %%nan/select %%inside, %%nan, %%number/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// RUN: sed 's/cmpi ult, %%code, %%zero8/cmpi slt, %%zero8, %%code/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// RUN: sed 's/%%low into %%pair\[0, 0, 0\]/%%low into %%pair[0, 0, 1]/; s/%%high into %%first\[0, 0, 1\]/%%high into %%first[0, 0, 0]/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// RUN: sed 's/constant 0.693147182/constant 0.693147/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT

// KEPT-LABEL: func.func @guarded(
// KEPT-NOT:     make_scaled %{{.*}} : tensor<16x32xi8>

#id1 = affine_map<(n) -> (n)>
#id2 = affine_map<(n, k) -> (n, k)>
#id3 = affine_map<(n, b, j) -> (n, b, j)>
#blk = affine_map<(n, b, j) -> (n, b)>

// CHECK-LABEL: func.func @guarded(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<8x64xbf16>, %[[W:[a-z0-9]+]]: tensor<16x32xi8>, %[[WS:[a-z0-9]+]]: tensor<16x2xi8>
// CHECK:         %[[RHS:.*]] = grouped_scaled_gemm.make_scaled %[[W]], %{{.*}} : tensor<16x32xi8>, tensor<16x2xf8E8M0FNU>
// CHECK:         grouped_scaled_gemm.matmul <dense> lhs(%[[X]] : tensor<8x64xbf16>) rhs(%[[RHS]] :
func.func @guarded(%x: tensor<8x64xbf16>, %w: tensor<16x32xi8>, %ws: tensor<16x2xi8>,
                   %out: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %table = arith.constant dense<[0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0,
                                 -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0]> : tensor<16xf32>
  %he = tensor.empty() : tensor<16x32xi8>
  %lows = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<16x32xi8>) outs(%he : tensor<16x32xi8>) {
  ^bb0(%byte: i8, %o: i8):
    %mask = arith.constant 15 : i8
    %n = arith.andi %byte, %mask : i8
    linalg.yield %n : i8
  } -> tensor<16x32xi8>
  %highs = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<16x32xi8>) outs(%he : tensor<16x32xi8>) {
  ^bb0(%byte: i8, %o: i8):
    %four = arith.constant 4 : i8
    %n = arith.shrui %byte, %four : i8
    linalg.yield %n : i8
  } -> tensor<16x32xi8>
  %low = tensor.expand_shape %lows [[0], [1, 2]] output_shape [16, 32, 1] : tensor<16x32xi8> into tensor<16x32x1xi8>
  %high = tensor.expand_shape %highs [[0], [1, 2]] output_shape [16, 32, 1] : tensor<16x32xi8> into tensor<16x32x1xi8>
  %pair = tensor.empty() : tensor<16x32x2xi8>
  %first = tensor.insert_slice %low into %pair[0, 0, 0] [16, 32, 1] [1, 1, 1] : tensor<16x32x1xi8> into tensor<16x32x2xi8>
  %both = tensor.insert_slice %high into %first[0, 0, 1] [16, 32, 1] [1, 1, 1] : tensor<16x32x1xi8> into tensor<16x32x2xi8>
  %codes = tensor.collapse_shape %both [[0], [1, 2]] : tensor<16x32x2xi8> into tensor<16x64xi8>
  // A guard that does not depend on the index within one body stands in another.
  %ge = tensor.empty() : tensor<16x64xi1>
  %guards = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]}
      ins(%codes : tensor<16x64xi8>) outs(%ge : tensor<16x64xi1>) {
  ^bb0(%code: i8, %o: i1):
    %index = arith.extui %code : i8 to i32
    %zero = arith.constant 0 : i32
    %last = arith.constant 15 : i32
    %above = arith.cmpi sge, %index, %zero : i32
    %below = arith.cmpi sle, %index, %last : i32
    %inside = arith.andi %above, %below : i1
    linalg.yield %inside : i1
  } -> tensor<16x64xi1>
  %ve = tensor.empty() : tensor<16x64xf32>
  %values = linalg.generic {indexing_maps = [#id2, #id2, #id2], iterator_types = ["parallel", "parallel"]}
      ins(%codes, %guards : tensor<16x64xi8>, tensor<16x64xi1>) outs(%ve : tensor<16x64xf32>) {
  ^bb0(%code: i8, %inside: i1, %o: f32):
    %zero8 = arith.constant 0 : i8
    %length = arith.constant 16 : i8
    %isNegative = arith.cmpi ult, %code, %zero8 : i8
    %fromEnd = arith.addi %code, %length : i8
    %place = arith.select %isNegative, %fromEnd, %code : i8
    %wide = arith.extui %place : i8 to i32
    %index = arith.index_cast %wide : i32 to index
    %least = arith.constant 0 : index
    %most = arith.constant 15 : index
    %cut = arith.constant 14 : index
    %above = arith.maxsi %index, %least : index
    %below = arith.minsi %above, %most : index
    %number = tensor.extract %table[%below] : tensor<16xf32>
    %nan = arith.constant 0x7FC00000 : f32
    %value = arith.select %inside, %number, %nan : f32
    linalg.yield %value : f32
  } -> tensor<16x64xf32>
  %se = tensor.empty() : tensor<16x2xf32>
  %scales = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]}
      ins(%ws : tensor<16x2xi8>) outs(%se : tensor<16x2xf32>) {
  ^bb0(%byte: i8, %o: f32):
    %f = arith.uitofp %byte : i8 to f32
    %bias = arith.constant 127.0 : f32
    %e = arith.subf %f, %bias : f32
    %ln2 = arith.constant 0.693147182 : f32
    %p = arith.mulf %ln2, %e : f32
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<16x2xf32>
  %blocks = tensor.expand_shape %values [[0], [1, 2]] output_shape [16, 2, 32] : tensor<16x64xf32> into tensor<16x2x32xf32>
  %we = tensor.empty() : tensor<16x2x32xf32>
  %scaled = linalg.generic {indexing_maps = [#id3, #blk, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%blocks, %scales : tensor<16x2x32xf32>, tensor<16x2xf32>) outs(%we : tensor<16x2x32xf32>) {
  ^bb0(%v: f32, %s: f32, %o: f32):
    %p = arith.mulf %v, %s : f32
    linalg.yield %p : f32
  } -> tensor<16x2x32xf32>
  %wd = tensor.collapse_shape %scaled [[0], [1, 2]] : tensor<16x2x32xf32> into tensor<16x64xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                                        affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %wd : tensor<8x64xbf16>, tensor<16x64xf32>) outs(%out : tensor<8x16xf32>) {
  ^bb0(%a: bf16, %b: f32, %acc: f32):
    %ae = arith.extf %a : bf16 to f32
    %p = arith.mulf %ae, %b : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}
