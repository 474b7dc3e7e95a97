// Codes that are looked up in a table of sixteen numbers, and scales that are
// powers of two, as models dequantise that know no type of four bits.

// RUN: nvfp4-opt %s --raise-to-grouped-scaled-gemm | FileCheck %s
// A table that is a resource, as exporters of torch write it, or one of other bytes.
// RUN: sed '/dense<\[0.0/{N;s/dense<[^>]*>/dense_resource<table>/}' %s > %t
// RUN: echo '{-# dialect_resources: { builtin: { table: "0x040000000000003F803FC03F004040408040C040008000BF80BFC0BF00C040C080C0C0C0" } } #-}' > %t.table
// RUN: cat %t %t.table > %t.mlir && nvfp4-opt %t.mlir --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=RESOURCE
// RUN: sed 's/803FC03F/803FC13F/' %t.mlir | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// RUN: sed 's/C0C0"/C0"/' %t.mlir | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// Another table, the high half first, or another bias: not these formats.
// RUN: sed 's/dense<\[0.0, 0.5, 1.0/dense<[0.0, 0.25, 1.0/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// RUN: sed 's/concat dim(3) %%l1, %%h1/concat dim(3) %%h1, %%l1/; s/slice %%vl into %%ve\[0, 0\]/slice %%vl into %%ve[0, 1]/; s/slice %%vh into %%half\[0, 1\]/slice %%vh into %%half[0, 0]/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// RUN: sed 's/constant 127 : i32/constant 126 : i32/; s/constant 23 : i32/constant 22 : i32/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// RUN: sed 's/constant 15 : i8/constant 7 : i8/; s/constant 4 : i32/constant 3 : i32/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT

// Codes with a sign, that count from the end of half a table where it is set: bit 3
// of the code says what it says in E2M1 only if no sign is left. Bytes that lose bits
// in a type of four.
// RUN: sed '/= arith.shrui/{n;s/= arith.extui %%n : i8/= arith.trunci %%n : i8 to i4\n    %%i = arith.extsi %%n4 : i4/;s/%%i =/%%n4 =/}; s/%%length = arith.constant 16/%%length = arith.constant 8/' %s > %t.signed
// RUN: nvfp4-opt %t.signed --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=LOOKUP
// RUN: sed '/= arith.extsi %%n4/{s/%%i =/%%s =/;s/$/\n    %%bits = arith.constant 15 : i64\n    %%i = arith.andi %%s, %%bits : i64/}' %t.signed | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s
// RUN: sed 's/%%e = arith.extui %%byte : i8 to i32/%%e1 = arith.index_castui %%byte : i8 to index\n    %%e2 = arith.index_castui %%e1 : index to i4\n    %%e = arith.extui %%e2 : i4 to i32/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=LOOKUP
// Exponents that wrap below zero, or are rounded to powers of two; bf16 holds them.
// RUN: sed 's/arith.sitofp/arith.uitofp/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=LOOKUP
// RUN: sed 's/%%two = arith.constant 2.0 : f32/%%two = arith.constant 2.0 : TYPE/; s/%%i : i32 to f32/%%i : i32 to TYPE/; s/%%p = math.powf %%two, %%f : f32/%%q = math.powf %%two, %%f : TYPE\n    %%p = arith.extf %%q : TYPE to f32/' %s > %t.floats
// RUN: sed 's/TYPE/bf16/' %t.floats | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s
// RUN: sed 's/TYPE/f8E8M0FNU/' %t.floats | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=LOOKUP
// Exponents of nine bits hold a byte, but not one more: 255 + 1 is -256.
// RUN: sed 's/%%e = arith.extui %%byte : i8 to i32/%%e0 = arith.extui %%byte : i8 to WIDE\n    %%one = arith.constant 1 : WIDE\n    %%e1 = arith.addi %%e0, %%one : WIDE\n    %%e = arith.extsi %%e1 : WIDE to i32/; s/constant 127 : i32/constant 128 : i32/' %s > %t.wide
// RUN: sed 's/WIDE/i10/' %t.wide | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s
// RUN: sed 's/WIDE/i9/' %t.wide | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=LOOKUP
// A bound above every exponent, but below one that is negative and has no sign.
// RUN: sed 's/%%f = arith.sitofp %%i :/%%most = arith.constant 300 : i32\n    %%least = arith.MIN %%i, %%most : i32\n    %%f = arith.sitofp %%least :/' %s > %t.bound
// RUN: sed 's/MIN/minsi/' %t.bound | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s
// RUN: sed 's/MIN/minui/' %t.bound | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=LOOKUP

// RESOURCE-LABEL: func.func @stacked(
// RESOURCE:         grouped_scaled_gemm.matmul
// RESOURCE:       func.func @every_other_column(
// LOOKUP-LABEL: func.func @stacked(
// LOOKUP-NOT:     grouped_scaled_gemm.matmul
// LOOKUP:       func.func @every_other_column(
// LOOKUP:         grouped_scaled_gemm.matmul
// KEPT-LABEL: func.func @stacked(
// KEPT-NOT:     grouped_scaled_gemm.matmul
// KEPT:       func.func @stacked_codes(

#id3 = affine_map<(r, b, j) -> (r, b, j)>
#blk = affine_map<(r, b, j) -> (r, b)>
#id2 = affine_map<(r, k) -> (r, k)>

// The table of gpt-oss by torch: halves of bytes looked up and stacked, scaled by
// 2^(s - 127).

// CHECK-LABEL: func.func @stacked(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x64xbf16>, %[[W:[a-z0-9]+]]: tensor<48x2x16xi8>, %[[WS:[a-z0-9]+]]: tensor<48x2xi8>, %[[OUT:[a-z0-9]+]]: tensor<?x48xf32>
// CHECK-NOT:     linalg.matmul
// CHECK-DAG:     %[[CODES:.*]] = tensor.collapse_shape %[[W]] {{\[\[}}0], [1, 2]] : tensor<48x2x16xi8> into tensor<48x32xi8>
// CHECK-DAG:     %[[SCALES:.*]] = linalg.generic {{.*}} ins(%[[WS]] : tensor<48x2xi8>) outs({{.*}} : tensor<48x2xf8E8M0FNU>)
// CHECK:         %[[RHS:.*]] = grouped_scaled_gemm.make_scaled %[[CODES]], %[[SCALES]]
// CHECK:         grouped_scaled_gemm.matmul <dense> lhs(%[[X]] : tensor<?x64xbf16>) rhs(%[[RHS]] :
func.func @stacked(%x: tensor<?x64xbf16>, %w: tensor<48x2x16xi8>, %ws: tensor<48x2xi8>,
                   %out: tensor<?x48xf32>) -> tensor<?x48xf32> {
  %table = arith.constant dense<[0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0,
                                 -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0]> : tensor<16xbf16>
  %ie = tensor.empty() : tensor<48x2x16xi64>
  %low = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w : tensor<48x2x16xi8>) outs(%ie : tensor<48x2x16xi64>) {
  ^bb0(%byte: i8, %o: i64):
    %mask = arith.constant 15 : i8
    %n = arith.andi %byte, %mask : i8
    %i = arith.extui %n : i8 to i64
    linalg.yield %i : i64
  } -> tensor<48x2x16xi64>
  %high = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w : tensor<48x2x16xi8>) outs(%ie : tensor<48x2x16xi64>) {
  ^bb0(%byte: i8, %o: i64):
    %four = arith.constant 4 : i8
    %n = arith.shrui %byte, %four : i8
    %i = arith.extui %n : i8 to i64
    linalg.yield %i : i64
  } -> tensor<48x2x16xi64>
  %ve = tensor.empty() : tensor<48x2x16xbf16>
  %l = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%low : tensor<48x2x16xi64>) outs(%ve : tensor<48x2x16xbf16>) {
  ^bb0(%i: i64, %o: bf16):
    %n = arith.index_cast %i : i64 to index
    %v = tensor.extract %table[%n] : tensor<16xbf16>
    linalg.yield %v : bf16
  } -> tensor<48x2x16xbf16>
  %h = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%high : tensor<48x2x16xi64>) outs(%ve : tensor<48x2x16xbf16>) {
  ^bb0(%i: i64, %o: bf16):
    %zero = arith.constant 0 : i64
    %length = arith.constant 16 : i64
    %isNegative = arith.cmpi slt, %i, %zero : i64
    %fromEnd = arith.addi %i, %length : i64
    %index = arith.select %isNegative, %fromEnd, %i : i64
    %n = arith.index_cast %index : i64 to index
    %v = tensor.extract %table[%n] : tensor<16xbf16>
    linalg.yield %v : bf16
  } -> tensor<48x2x16xbf16>
  %l1 = tensor.expand_shape %l [[0], [1], [2, 3]] output_shape [48, 2, 16, 1]
      : tensor<48x2x16xbf16> into tensor<48x2x16x1xbf16>
  %h1 = tensor.expand_shape %h [[0], [1], [2, 3]] output_shape [48, 2, 16, 1]
      : tensor<48x2x16xbf16> into tensor<48x2x16x1xbf16>
  %both = tensor.concat dim(3) %l1, %h1
      : (tensor<48x2x16x1xbf16>, tensor<48x2x16x1xbf16>) -> tensor<48x2x16x2xbf16>
  %codes = tensor.collapse_shape %both [[0], [1], [2, 3]] : tensor<48x2x16x2xbf16> into tensor<48x2x32xbf16>
  %pe = tensor.empty() : tensor<48x2xf32>
  %powers = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]}
      ins(%ws : tensor<48x2xi8>) outs(%pe : tensor<48x2xf32>) {
  ^bb0(%byte: i8, %o: f32):
    %bias = arith.constant 127 : i32
    %two = arith.constant 2.0 : f32
    %e = arith.extui %byte : i8 to i32
    %i = arith.subi %e, %bias : i32
    %f = arith.sitofp %i : i32 to f32
    %p = math.powf %two, %f : f32
    linalg.yield %p : f32
  } -> tensor<48x2xf32>
  %de = tensor.empty() : tensor<48x2x32xbf16>
  %d = linalg.generic {indexing_maps = [#id3, #blk, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%codes, %powers : tensor<48x2x32xbf16>, tensor<48x2xf32>) outs(%de : tensor<48x2x32xbf16>) {
  ^bb0(%code: bf16, %p: f32, %o: bf16):
    %c = arith.extf %code : bf16 to f32
    %v = arith.mulf %c, %p : f32
    %r = arith.truncf %v : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<48x2x32xbf16>
  %wd = tensor.collapse_shape %d [[0], [1, 2]] : tensor<48x2x32xbf16> into tensor<48x64xbf16>
  %y = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                                      affine_map<(m, n, k) -> (m, n)>]
      ins(%x, %wd : tensor<?x64xbf16>, tensor<48x64xbf16>) outs(%out : tensor<?x48xf32>) -> tensor<?x48xf32>
  return %y : tensor<?x48xf32>
}

// Every other column written by itself, scales shifted into the exponent of f32,
// elementwise operations on tensors.

// CHECK-LABEL: func.func @every_other_column(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<5x64xf16>, %[[W:[a-z0-9]+]]: tensor<48x32xi8>, %[[WS:[a-z0-9]+]]: tensor<48x2xi8>
// CHECK:         %[[SCALES:.*]] = linalg.generic {{.*}} ins(%[[WS]] : tensor<48x2xi8>) outs({{.*}} : tensor<48x2xf8E8M0FNU>)
// CHECK:         %[[RHS:.*]] = grouped_scaled_gemm.make_scaled %[[W]], %[[SCALES]]
// CHECK:         grouped_scaled_gemm.matmul <dense> lhs(%[[X]] : tensor<5x64xf16>) rhs(%[[RHS]] :
func.func @every_other_column(%x: tensor<5x64xf16>, %w: tensor<48x32xi8>, %ws: tensor<48x2xi8>,
                              %out: tensor<5x48xf32>) -> tensor<5x48xf32> {
  %table = arith.constant dense<[0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0,
                                 0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0]> : tensor<16xf32>
  %four = arith.constant 4 : i32
  %low = arith.constant dense<15> : tensor<48x32xi32>
  %fours = tensor.splat %four : tensor<48x32xi32>
  %wide = arith.extsi %w : tensor<48x32xi8> to tensor<48x32xi32>
  %shifted = arith.shrsi %wide, %fours : tensor<48x32xi32>
  %li = arith.andi %wide, %low : tensor<48x32xi32>
  %hi = arith.andi %shifted, %low : tensor<48x32xi32>
  %e = tensor.empty() : tensor<48x32xf32>
  %vl = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]}
      ins(%li : tensor<48x32xi32>) outs(%e : tensor<48x32xf32>) {
  ^bb0(%i: i32, %o: f32):
    %n = arith.index_castui %i : i32 to index
    %v = tensor.extract %table[%n] : tensor<16xf32>
    linalg.yield %v : f32
  } -> tensor<48x32xf32>
  %vh = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]}
      ins(%hi : tensor<48x32xi32>) outs(%e : tensor<48x32xf32>) {
  ^bb0(%i: i32, %o: f32):
    %n = arith.index_castui %i : i32 to index
    %v = tensor.extract %table[%n] : tensor<16xf32>
    linalg.yield %v : f32
  } -> tensor<48x32xf32>
  %ve = tensor.empty() : tensor<48x64xf32>
  %half = tensor.insert_slice %vl into %ve[0, 0] [48, 32] [1, 2] : tensor<48x32xf32> into tensor<48x64xf32>
  %codes = tensor.insert_slice %vh into %half[0, 1] [48, 32] [1, 2] : tensor<48x32xf32> into tensor<48x64xf32>
  %bits = arith.constant 23 : i32
  %by = tensor.splat %bits : tensor<48x2xi32>
  %exponents = arith.extui %ws : tensor<48x2xi8> to tensor<48x2xi32>
  %placed = arith.shli %exponents, %by : tensor<48x2xi32>
  %scales = arith.bitcast %placed : tensor<48x2xi32> to tensor<48x2xf32>
  %de = tensor.empty() : tensor<48x64xf32>
  %wd = linalg.generic {indexing_maps = [#id2, affine_map<(r, k) -> (r, k floordiv 32)>, #id2],
      iterator_types = ["parallel", "parallel"]}
      ins(%codes, %scales : tensor<48x64xf32>, tensor<48x2xf32>) outs(%de : tensor<48x64xf32>) {
  ^bb0(%c: f32, %s: f32, %o: f32):
    %v = arith.mulf %c, %s : f32
    linalg.yield %v : f32
  } -> tensor<48x64xf32>
  %xd = arith.extf %x : tensor<5x64xf16> to tensor<5x64xf32>
  %y = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                                      affine_map<(m, n, k) -> (m, n)>]
      ins(%xd, %wd : tensor<5x64xf32>, tensor<48x64xf32>) outs(%out : tensor<5x48xf32>) -> tensor<5x48xf32>
  return %y : tensor<5x48xf32>
}

// Halves of bytes that are taken for codes and stacked: bytes stay as they are.

// CHECK-LABEL: func.func @stacked_codes(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<5x64xf16>, %[[W:[a-z0-9]+]]: tensor<48x32xi8>, %[[WS:[a-z0-9]+]]: tensor<48x4xf8E4M3FN>
// CHECK:         grouped_scaled_gemm.make_scaled %[[W]], %[[WS]]
func.func @stacked_codes(%x: tensor<5x64xf16>, %w: tensor<48x32xi8>, %ws: tensor<48x4xf8E4M3FN>,
                         %out: tensor<5x48xf32>) -> tensor<5x48xf32> {
  %fours = arith.constant dense<4> : tensor<48x32xi8>
  %shifted = arith.shrsi %w, %fours : tensor<48x32xi8>
  %li = arith.trunci %w : tensor<48x32xi8> to tensor<48x32xi4>
  %hi = arith.trunci %shifted : tensor<48x32xi8> to tensor<48x32xi4>
  %l = arith.bitcast %li : tensor<48x32xi4> to tensor<48x32xf4E2M1FN>
  %h = arith.bitcast %hi : tensor<48x32xi4> to tensor<48x32xf4E2M1FN>
  %l1 = tensor.expand_shape %l [[0], [1, 2]] output_shape [48, 32, 1] : tensor<48x32xf4E2M1FN> into tensor<48x32x1xf4E2M1FN>
  %h1 = tensor.expand_shape %h [[0], [1, 2]] output_shape [48, 32, 1] : tensor<48x32xf4E2M1FN> into tensor<48x32x1xf4E2M1FN>
  %both = tensor.concat dim(2) %l1, %h1
      : (tensor<48x32x1xf4E2M1FN>, tensor<48x32x1xf4E2M1FN>) -> tensor<48x32x2xf4E2M1FN>
  %codes = tensor.collapse_shape %both [[0], [1, 2]] : tensor<48x32x2xf4E2M1FN> into tensor<48x64xf4E2M1FN>
  %de = tensor.empty() : tensor<48x64xf32>
  %wd = linalg.generic {indexing_maps = [#id2, affine_map<(r, k) -> (r, k floordiv 16)>, #id2],
      iterator_types = ["parallel", "parallel"]}
      ins(%codes, %ws : tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN>) outs(%de : tensor<48x64xf32>) {
  ^bb0(%c: f4E2M1FN, %s: f8E4M3FN, %o: f32):
    %cf = arith.extf %c : f4E2M1FN to f32
    %sf = arith.extf %s : f8E4M3FN to f32
    %v = arith.mulf %cf, %sf : f32
    linalg.yield %v : f32
  } -> tensor<48x64xf32>
  %xd = arith.extf %x : tensor<5x64xf16> to tensor<5x64xf32>
  %y = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                                      affine_map<(m, n, k) -> (m, n)>]
      ins(%xd, %wd : tensor<5x64xf32>, tensor<48x64xf32>) outs(%out : tensor<5x48xf32>) -> tensor<5x48xf32>
  return %y : tensor<5x48xf32>
}

// Bytes that are computed, or gathered, are tensors like any other.

// CHECK-LABEL: func.func @computed_bytes(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<5x64xf16>, %[[W:[a-z0-9]+]]: tensor<48x32xi8>
// CHECK:         %[[FLIPPED:.*]] = arith.xori %[[W]]
// CHECK:         %[[GATHERED:.*]] = linalg.generic
// CHECK:           tensor.extract
// CHECK:         %[[SCALES:.*]] = linalg.generic {{.*}} ins(%[[GATHERED]] : tensor<48x2xi8>)
// CHECK:         grouped_scaled_gemm.make_scaled %[[FLIPPED]], %[[SCALES]]
func.func @computed_bytes(%x: tensor<5x64xf16>, %w: tensor<48x32xi8>, %ws: tensor<96x2xi8>, %rows: tensor<48xi32>,
                          %out: tensor<5x48xf32>) -> tensor<5x48xf32> {
  %signs = arith.constant dense<0x88> : tensor<48x32xi8>
  %flipped = arith.xori %w, %signs : tensor<48x32xi8>
  %be = tensor.empty() : tensor<48x2xi8>
  %gathered = linalg.generic {indexing_maps = [affine_map<(r, b) -> (r)>, #id2], iterator_types = ["parallel", "parallel"]}
      ins(%rows : tensor<48xi32>) outs(%be : tensor<48x2xi8>) {
  ^bb0(%row: i32, %o: i8):
    %r = arith.index_cast %row : i32 to index
    %b = linalg.index 1 : index
    %s = tensor.extract %ws[%r, %b] : tensor<96x2xi8>
    linalg.yield %s : i8
  } -> tensor<48x2xi8>
  %ce = tensor.empty() : tensor<48x32x2xf4E2M1FN>
  %pairs = linalg.generic {indexing_maps = [#blk, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%flipped : tensor<48x32xi8>) outs(%ce : tensor<48x32x2xf4E2M1FN>) {
  ^bb0(%byte: i8, %o: f4E2M1FN):
    %i = linalg.index 2 : index
    %i8 = arith.index_cast %i : index to i8
    %four = arith.constant 4 : i8
    %by = arith.muli %i8, %four : i8
    %t = arith.shrui %byte, %by : i8
    %n = arith.trunci %t : i8 to i4
    %c = arith.bitcast %n : i4 to f4E2M1FN
    linalg.yield %c : f4E2M1FN
  } -> tensor<48x32x2xf4E2M1FN>
  %codes = tensor.collapse_shape %pairs [[0], [1, 2]] : tensor<48x32x2xf4E2M1FN> into tensor<48x64xf4E2M1FN>
  %de = tensor.empty() : tensor<48x64xf32>
  %wd = linalg.generic {indexing_maps = [#id2, affine_map<(r, k) -> (r, k floordiv 32)>, #id2],
      iterator_types = ["parallel", "parallel"]}
      ins(%codes, %gathered : tensor<48x64xf4E2M1FN>, tensor<48x2xi8>) outs(%de : tensor<48x64xf32>) {
  ^bb0(%c: f4E2M1FN, %s: i8, %o: f32):
    %cf = arith.extf %c : f4E2M1FN to f32
    %s8 = arith.bitcast %s : i8 to f8E8M0FNU
    %sf = arith.extf %s8 : f8E8M0FNU to f32
    %v = arith.mulf %cf, %sf : f32
    linalg.yield %v : f32
  } -> tensor<48x64xf32>
  %xd = arith.extf %x : tensor<5x64xf16> to tensor<5x64xf32>
  %y = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                                      affine_map<(m, n, k) -> (m, n)>]
      ins(%xd, %wd : tensor<5x64xf32>, tensor<48x64xf32>) outs(%out : tensor<5x48xf32>) -> tensor<5x48xf32>
  return %y : tensor<5x48xf32>
}
