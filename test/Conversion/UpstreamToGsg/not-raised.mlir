// Contractions that are no scaled product stay as they are, and the pass says why.

// RUN: nvfp4-opt %s -split-input-file -verify-diagnostics --raise-to-grouped-scaled-gemm=explain | FileCheck %s

// CHECK-NOT: grouped_scaled_gemm.matmul

// Blocks along the rows.

func.func @blocks_of_rows(%x: tensor<8x64xf4E2M1FN>, %xs: tensor<8x64xf8E4M3FN>,
                          %w: tensor<32x64xf4E2M1FN>, %ws: tensor<32x64xf8E4M3FN>,
                          %out: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %xe = tensor.empty() : tensor<8x64xf32>
  %xd = linalg.generic {indexing_maps = [affine_map<(r, k) -> (r, k)>,
      affine_map<(r, k) -> (r floordiv 8, k)>, affine_map<(r, k) -> (r, k)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %xs : tensor<8x64xf4E2M1FN>, tensor<8x64xf8E4M3FN>)
      outs(%xe : tensor<8x64xf32>) {
  ^bb0(%c: f4E2M1FN, %s: f8E4M3FN, %o: f32):
    %ce = arith.extf %c : f4E2M1FN to f32
    %se = arith.extf %s : f8E4M3FN to f32
    %v = arith.mulf %ce, %se : f32
    linalg.yield %v : f32
  } -> tensor<8x64xf32>
  %we = tensor.empty() : tensor<32x64xf32>
  %wd = linalg.generic {indexing_maps = [affine_map<(r, k) -> (r, k)>,
      affine_map<(r, k) -> (r floordiv 8, k)>, affine_map<(r, k) -> (r, k)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%w, %ws : tensor<32x64xf4E2M1FN>, tensor<32x64xf8E4M3FN>)
      outs(%we : tensor<32x64xf32>) {
  ^bb0(%c: f4E2M1FN, %s: f8E4M3FN, %o: f32):
    %ce = arith.extf %c : f4E2M1FN to f32
    %se = arith.extf %s : f8E4M3FN to f32
    %v = arith.mulf %ce, %se : f32
    linalg.yield %v : f32
  } -> tensor<32x64xf32>
  // expected-remark @below {{not raised: expected scales that 16 or 32 neighbours along K share, but got one that changes at each}}
  %y = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
      affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%xd, %wd : tensor<8x64xf32>, tensor<32x64xf32>)
      outs(%out : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// -----

// Blocks of 8.

func.func @blocks_of_8(%x: tensor<8x64xf4E2M1FN>, %xs: tensor<8x8xf8E4M3FN>,
                       %w: tensor<32x64xf4E2M1FN>, %ws: tensor<32x8xf8E4M3FN>,
                       %out: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %xe = tensor.empty() : tensor<8x64xf32>
  %xd = linalg.generic {indexing_maps = [affine_map<(r, k) -> (r, k)>,
      affine_map<(r, k) -> (r, k floordiv 8)>, affine_map<(r, k) -> (r, k)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %xs : tensor<8x64xf4E2M1FN>, tensor<8x8xf8E4M3FN>)
      outs(%xe : tensor<8x64xf32>) {
  ^bb0(%c: f4E2M1FN, %s: f8E4M3FN, %o: f32):
    %ce = arith.extf %c : f4E2M1FN to f32
    %se = arith.extf %s : f8E4M3FN to f32
    %v = arith.mulf %ce, %se : f32
    linalg.yield %v : f32
  } -> tensor<8x64xf32>
  %we = tensor.empty() : tensor<32x64xf32>
  %wd = linalg.generic {indexing_maps = [affine_map<(r, k) -> (r, k)>,
      affine_map<(r, k) -> (r, k floordiv 8)>, affine_map<(r, k) -> (r, k)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%w, %ws : tensor<32x64xf4E2M1FN>, tensor<32x8xf8E4M3FN>)
      outs(%we : tensor<32x64xf32>) {
  ^bb0(%c: f4E2M1FN, %s: f8E4M3FN, %o: f32):
    %ce = arith.extf %c : f4E2M1FN to f32
    %se = arith.extf %s : f8E4M3FN to f32
    %v = arith.mulf %ce, %se : f32
    linalg.yield %v : f32
  } -> tensor<32x64xf32>
  // expected-remark @below {{not raised: expected blocks of 16 along K of f4E2M1FN, or of 32 of any code with scales in f8E8M0FNU, but got blocks of 8 of }}
  %y = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
      affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%xd, %wd : tensor<8x64xf32>, tensor<32x64xf32>)
      outs(%out : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// -----

// Blocks of 32 have scales in E8M0.

func.func @blocks_of_32(%x: tensor<8x64xf4E2M1FN>, %xs: tensor<8x2xf8E4M3FN>,
                        %w: tensor<32x64xf4E2M1FN>, %ws: tensor<32x2xf8E4M3FN>,
                        %out: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %xe = tensor.empty() : tensor<8x64xf32>
  %xd = linalg.generic {indexing_maps = [affine_map<(r, k) -> (r, k)>,
      affine_map<(r, k) -> (r, k floordiv 32)>, affine_map<(r, k) -> (r, k)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %xs : tensor<8x64xf4E2M1FN>, tensor<8x2xf8E4M3FN>)
      outs(%xe : tensor<8x64xf32>) {
  ^bb0(%c: f4E2M1FN, %s: f8E4M3FN, %o: f32):
    %ce = arith.extf %c : f4E2M1FN to f32
    %se = arith.extf %s : f8E4M3FN to f32
    %v = arith.mulf %ce, %se : f32
    linalg.yield %v : f32
  } -> tensor<8x64xf32>
  %we = tensor.empty() : tensor<32x64xf32>
  %wd = linalg.generic {indexing_maps = [affine_map<(r, k) -> (r, k)>,
      affine_map<(r, k) -> (r, k floordiv 32)>, affine_map<(r, k) -> (r, k)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%w, %ws : tensor<32x64xf4E2M1FN>, tensor<32x2xf8E4M3FN>)
      outs(%we : tensor<32x64xf32>) {
  ^bb0(%c: f4E2M1FN, %s: f8E4M3FN, %o: f32):
    %ce = arith.extf %c : f4E2M1FN to f32
    %se = arith.extf %s : f8E4M3FN to f32
    %v = arith.mulf %ce, %se : f32
    linalg.yield %v : f32
  } -> tensor<32x64xf32>
  // expected-remark @below {{not raised: expected blocks of 16 along K of f4E2M1FN, or of 32 of any code with scales in f8E8M0FNU, but got blocks of 32 of }}
  %y = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
      affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%xd, %wd : tensor<8x64xf32>, tensor<32x64xf32>)
      outs(%out : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// -----

// Scales of E8M0 leave the range of f16.

func.func @powers_in_f16(%x: tensor<8x64xf4E2M1FN>, %xs: tensor<8x2xf8E8M0FNU>,
                         %w: tensor<32x64xf4E2M1FN>, %ws: tensor<32x2xf8E8M0FNU>,
                         %out: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %xe = tensor.empty() : tensor<8x64xf16>
  %xd = linalg.generic {indexing_maps = [affine_map<(r, k) -> (r, k)>,
      affine_map<(r, k) -> (r, k floordiv 32)>, affine_map<(r, k) -> (r, k)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %xs : tensor<8x64xf4E2M1FN>, tensor<8x2xf8E8M0FNU>)
      outs(%xe : tensor<8x64xf16>) {
  ^bb0(%c: f4E2M1FN, %s: f8E8M0FNU, %o: f16):
    %ce = arith.extf %c : f4E2M1FN to f16
    %se = arith.extf %s : f8E8M0FNU to f16
    %v = arith.mulf %ce, %se : f16
    linalg.yield %v : f16
  } -> tensor<8x64xf16>
  %we = tensor.empty() : tensor<32x64xf16>
  %wd = linalg.generic {indexing_maps = [affine_map<(r, k) -> (r, k)>,
      affine_map<(r, k) -> (r, k floordiv 32)>, affine_map<(r, k) -> (r, k)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%w, %ws : tensor<32x64xf4E2M1FN>, tensor<32x2xf8E8M0FNU>)
      outs(%we : tensor<32x64xf16>) {
  ^bb0(%c: f4E2M1FN, %s: f8E8M0FNU, %o: f16):
    %ce = arith.extf %c : f4E2M1FN to f16
    %se = arith.extf %s : f8E8M0FNU to f16
    %v = arith.mulf %ce, %se : f16
    linalg.yield %v : f16
  } -> tensor<32x64xf16>
  // expected-remark @below {{not raised: expected an intermediate type with the exponents of f8E8M0FNU, but got f16}}
  %y = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
      affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%xd, %wd : tensor<8x64xf16>, tensor<32x64xf16>)
      outs(%out : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// -----

// Six bits times six do not fit the eight of bf16.

func.func @product_in_bf16(%x: tensor<8x64xf4E2M1FN>, %xs: tensor<8x4xf8E4M3FN>,
                           %w: tensor<32x64xf4E2M1FN>, %ws: tensor<32x4xf8E4M3FN>,
                           %out: tensor<8x32xf32>) -> tensor<8x32xf32> {
  // expected-remark @below {{not raised: expected an intermediate type that holds 12 significant bits exactly, but got bf16}}
  %y = linalg.generic {indexing_maps = [
        affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (m, k floordiv 16)>,
        affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (n, k floordiv 16)>,
        affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %xs, %w, %ws : tensor<8x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>,
                             tensor<32x64xf4E2M1FN>, tensor<32x4xf8E4M3FN>)
      outs(%out : tensor<8x32xf32>) {
  ^bb0(%a: f4E2M1FN, %as: f8E4M3FN, %b: f4E2M1FN, %bs: f8E4M3FN, %acc: f32):
    %ae = arith.extf %a : f4E2M1FN to bf16
    %ase = arith.extf %as : f8E4M3FN to bf16
    %av = arith.mulf %ae, %ase : bf16
    %be = arith.extf %b : f4E2M1FN to bf16
    %bse = arith.extf %bs : f8E4M3FN to bf16
    %bv = arith.mulf %be, %bse : bf16
    %p = arith.mulf %av, %bv : bf16
    %pe = arith.extf %p : bf16 to f32
    %s = arith.addf %acc, %pe : f32
    linalg.yield %s : f32
  } -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// -----

// Sums are in f32.

func.func @sum_in_f64(%x: tensor<8x64xf4E2M1FN>, %xs: tensor<8x4xf8E4M3FN>,
                      %w: tensor<32x64xf4E2M1FN>, %ws: tensor<32x4xf8E4M3FN>,
                      %out: tensor<8x32xf64>) -> tensor<8x32xf64> {
  %xe = tensor.empty() : tensor<8x64xf32>
  %xd = linalg.generic {indexing_maps = [affine_map<(r, k) -> (r, k)>,
      affine_map<(r, k) -> (r, k floordiv 16)>, affine_map<(r, k) -> (r, k)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %xs : tensor<8x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>)
      outs(%xe : tensor<8x64xf32>) {
  ^bb0(%c: f4E2M1FN, %s: f8E4M3FN, %o: f32):
    %ce = arith.extf %c : f4E2M1FN to f32
    %se = arith.extf %s : f8E4M3FN to f32
    %v = arith.mulf %ce, %se : f32
    linalg.yield %v : f32
  } -> tensor<8x64xf32>
  %we = tensor.empty() : tensor<32x64xf32>
  %wd = linalg.generic {indexing_maps = [affine_map<(r, k) -> (r, k)>,
      affine_map<(r, k) -> (r, k floordiv 16)>, affine_map<(r, k) -> (r, k)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%w, %ws : tensor<32x64xf4E2M1FN>, tensor<32x4xf8E4M3FN>)
      outs(%we : tensor<32x64xf32>) {
  ^bb0(%c: f4E2M1FN, %s: f8E4M3FN, %o: f32):
    %ce = arith.extf %c : f4E2M1FN to f32
    %se = arith.extf %s : f8E4M3FN to f32
    %v = arith.mulf %ce, %se : f32
    linalg.yield %v : f32
  } -> tensor<32x64xf32>
  // expected-remark @below {{not raised: expected a sum in f32, but got f64}}
  %y = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
      affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%xd, %wd : tensor<8x64xf32>, tensor<32x64xf32>)
      outs(%out : tensor<8x32xf64>) -> tensor<8x32xf64>
  return %y : tensor<8x32xf64>
}

// -----

// A factor of the whole matrix is rounded into each value.

func.func @global_scale(%x: tensor<8x64xf4E2M1FN>, %xs: tensor<8x4xf8E4M3FN>,
                        %w: tensor<32x64xf4E2M1FN>, %ws: tensor<32x4xf8E4M3FN>, %gl: tensor<f32>,
                        %out: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %xe = tensor.empty() : tensor<8x64xf32>
  %xd = linalg.generic {indexing_maps = [affine_map<(r, k) -> (r, k)>,
      affine_map<(r, k) -> (r, k floordiv 16)>, affine_map<(r, k) -> (r, k)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %xs : tensor<8x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>)
      outs(%xe : tensor<8x64xf32>) {
  ^bb0(%c: f4E2M1FN, %s: f8E4M3FN, %o: f32):
    %ce = arith.extf %c : f4E2M1FN to f32
    %se = arith.extf %s : f8E4M3FN to f32
    %v = arith.mulf %ce, %se : f32
    linalg.yield %v : f32
  } -> tensor<8x64xf32>
  %we = tensor.empty() : tensor<32x64xf32>
  %wd = linalg.generic {indexing_maps = [affine_map<(r, k) -> (r, k)>,
      affine_map<(r, k) -> (r, k floordiv 16)>, affine_map<(r, k) -> ()>, affine_map<(r, k) -> (r, k)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%w, %ws, %gl : tensor<32x64xf4E2M1FN>, tensor<32x4xf8E4M3FN>, tensor<f32>)
      outs(%we : tensor<32x64xf32>) {
  ^bb0(%c: f4E2M1FN, %s: f8E4M3FN, %g: f32, %o: f32):
    %ce = arith.extf %c : f4E2M1FN to f32
    %se = arith.extf %s : f8E4M3FN to f32
    %v = arith.mulf %ce, %se : f32
    %u = arith.mulf %v, %g : f32
    linalg.yield %u : f32
  } -> tensor<32x64xf32>
  // expected-remark @below {{not raised: expected products of codes, block scales and rows of bf16 or f16 alone, but got a further factor}}
  %y = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
      affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%xd, %wd : tensor<8x64xf32>, tensor<32x64xf32>)
      outs(%out : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// -----

// Of a scale in E4M3 scaling_extf takes the exponent.

func.func @exponent_of_e4m3(%x: tensor<8x64xf4E2M1FN>, %xs: tensor<8x4xf8E4M3FN>,
                            %w: tensor<32x64xf4E2M1FN>, %ws: tensor<32x4xf8E4M3FN>,
                            %out: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %xe = tensor.empty() : tensor<8x64xf32>
  %xd = linalg.generic {indexing_maps = [affine_map<(r, k) -> (r, k)>,
      affine_map<(r, k) -> (r, k floordiv 16)>, affine_map<(r, k) -> (r, k)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %xs : tensor<8x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>)
      outs(%xe : tensor<8x64xf32>) {
  ^bb0(%c: f4E2M1FN, %s: f8E4M3FN, %o: f32):
    %v = arith.scaling_extf %c, %s : f4E2M1FN, f8E4M3FN to f32
    linalg.yield %v : f32
  } -> tensor<8x64xf32>
  %we = tensor.empty() : tensor<32x64xf32>
  %wd = linalg.generic {indexing_maps = [affine_map<(r, k) -> (r, k)>,
      affine_map<(r, k) -> (r, k floordiv 16)>, affine_map<(r, k) -> (r, k)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%w, %ws : tensor<32x64xf4E2M1FN>, tensor<32x4xf8E4M3FN>)
      outs(%we : tensor<32x64xf32>) {
  ^bb0(%c: f4E2M1FN, %s: f8E4M3FN, %o: f32):
    %v = arith.scaling_extf %c, %s : f4E2M1FN, f8E4M3FN to f32
    linalg.yield %v : f32
  } -> tensor<32x64xf32>
  // expected-remark @below {{not raised: expected scaling_extf with scales in f8E8M0FNU}}
  %y = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
      affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%xd, %wd : tensor<8x64xf32>, tensor<32x64xf32>)
      outs(%out : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// -----

// Codes of eight bits have scales in E8M0.

func.func @e4m3_by_e4m3(%x: tensor<8x64xf8E4M3FN>, %xs: tensor<8x4xf8E4M3FN>,
                        %w: tensor<32x64xf8E4M3FN>, %ws: tensor<32x4xf8E4M3FN>,
                        %out: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %xe = tensor.empty() : tensor<8x64xf32>
  %xd = linalg.generic {indexing_maps = [affine_map<(r, k) -> (r, k)>,
      affine_map<(r, k) -> (r, k floordiv 16)>, affine_map<(r, k) -> (r, k)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %xs : tensor<8x64xf8E4M3FN>, tensor<8x4xf8E4M3FN>)
      outs(%xe : tensor<8x64xf32>) {
  ^bb0(%c: f8E4M3FN, %s: f8E4M3FN, %o: f32):
    %ce = arith.extf %c : f8E4M3FN to f32
    %se = arith.extf %s : f8E4M3FN to f32
    %v = arith.mulf %ce, %se : f32
    linalg.yield %v : f32
  } -> tensor<8x64xf32>
  %we = tensor.empty() : tensor<32x64xf32>
  %wd = linalg.generic {indexing_maps = [affine_map<(r, k) -> (r, k)>,
      affine_map<(r, k) -> (r, k floordiv 16)>, affine_map<(r, k) -> (r, k)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%w, %ws : tensor<32x64xf8E4M3FN>, tensor<32x4xf8E4M3FN>)
      outs(%we : tensor<32x64xf32>) {
  ^bb0(%c: f8E4M3FN, %s: f8E4M3FN, %o: f32):
    %ce = arith.extf %c : f8E4M3FN to f32
    %se = arith.extf %s : f8E4M3FN to f32
    %v = arith.mulf %ce, %se : f32
    linalg.yield %v : f32
  } -> tensor<32x64xf32>
  // expected-remark @below {{not raised: expected blocks of 16 along K of f4E2M1FN}}
  %y = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
      affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%xd, %wd : tensor<8x64xf32>, tensor<32x64xf32>)
      outs(%out : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// -----

// Rows that are rounded in the product itself are no tensor of f16.

func.func @rounded_rows(%x: tensor<8x64xbf16>, %w: tensor<16x64xf8E4M3FN>, %ws: tensor<16x2xf8E8M0FNU>,
                        %out: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-remark @below {{not raised: expected rows of bf16 or f16 as they are, but got rounded ones}}
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                                        affine_map<(m, n, k) -> (n, k floordiv 32)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w, %ws : tensor<8x64xbf16>, tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>)
      outs(%out : tensor<8x16xf32>) {
  ^bb0(%a: bf16, %b: f8E4M3FN, %bs: f8E8M0FNU, %acc: f32):
    %q = arith.truncf %a : bf16 to f8E5M2
    %ae = arith.extf %q : f8E5M2 to f32
    %be = arith.scaling_extf %b, %bs : f8E4M3FN, f8E8M0FNU to f32
    %p = arith.mulf %ae, %be : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

// Rows after the columns, of which it is not known how many they are.

func.func @weights_first(%x: tensor<?x64xbf16>, %w: tensor<16x64xf8E4M3FN>, %ws: tensor<16x2xf8E8M0FNU>,
                         %out: tensor<16x?xf32>) -> tensor<16x?xf32> {
  // expected-remark @below {{not raised: expected a result of batch, rows and columns or batch, columns and rows, of known extents, in this order}}
  %y = linalg.generic {indexing_maps = [affine_map<(n, m, k) -> (m, k)>, affine_map<(n, m, k) -> (n, k)>,
                                        affine_map<(n, m, k) -> (n, k floordiv 32)>, affine_map<(n, m, k) -> (n, m)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w, %ws : tensor<?x64xbf16>, tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>)
      outs(%out : tensor<16x?xf32>) {
  ^bb0(%a: bf16, %b: f8E4M3FN, %bs: f8E8M0FNU, %acc: f32):
    %ae = arith.extf %a : bf16 to f32
    %be = arith.scaling_extf %b, %bs : f8E4M3FN, f8E8M0FNU to f32
    %p = arith.mulf %ae, %be : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<16x?xf32>
  return %y : tensor<16x?xf32>
}

// -----

// Rows that are left out by their numbers belong to no group.

func.func @constant_rows(%x: tensor<8x64xbf16>, %w: tensor<16x64xf8E4M3FN>, %ws: tensor<16x2xf8E8M0FNU>,
                         %out: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                                        affine_map<(m, n, k) -> (n, k floordiv 32)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w, %ws : tensor<8x64xbf16>, tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>)
      outs(%out : tensor<8x16xf32>) {
  ^bb0(%a: bf16, %b: f8E4M3FN, %bs: f8E8M0FNU, %acc: f32):
    %m = linalg.index 0 : index
    %row = arith.index_cast %m : index to i64
    %four = arith.constant 4 : i64
    %isBelow = arith.cmpi slt, %row, %four : i64
    %none = arith.constant 0.0 : f32
    %ae = arith.extf %a : bf16 to f32
    %be = arith.scaling_extf %b, %bs : f8E4M3FN, f8E8M0FNU to f32
    %p = arith.mulf %ae, %be : f32
    %t = arith.select %isBelow, %p, %none : f32
    %s = arith.addf %acc, %t : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

// The operation is named that made a factor of what no product has.

func.func @named_stop(%x: tensor<8x64xbf16>, %g: tensor<16xf32>, %w: tensor<16x64xf8E4M3FN>,
                      %ws: tensor<16x2xf8E8M0FNU>, %out: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %ge = tensor.empty() : tensor<16xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(n) -> (n)>, affine_map<(n) -> (n)>], iterator_types = ["parallel"]}
      ins(%g : tensor<16xf32>) outs(%ge : tensor<16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = math.tanh %a : f32
    linalg.yield %v : f32
  } -> tensor<16xf32>
  // expected-remark @below {{not raised: expected products of codes, block scales and rows of bf16 or f16 alone, but got a further factor, which math.tanh computes; move-global-scales}}
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n)>,
                                        affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (n, k floordiv 32)>,
                                        affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %t, %w, %ws : tensor<8x64xbf16>, tensor<16xf32>, tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>)
      outs(%out : tensor<8x16xf32>) {
  ^bb0(%a: bf16, %c: f32, %b: f8E4M3FN, %bs: f8E8M0FNU, %acc: f32):
    %ae = arith.extf %a : bf16 to f32
    %be = arith.scaling_extf %b, %bs : f8E4M3FN, f8E8M0FNU to f32
    %bc = arith.mulf %be, %c : f32
    %p = arith.mulf %ae, %bc : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

// Nor is a factor of bf16 moved unasked.

func.func @bf16_global(%x: tensor<8x64xbf16>, %g: tensor<bf16>, %w: tensor<16x64xf8E4M3FN>,
                       %ws: tensor<16x2xf8E8M0FNU>, %out: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-remark @below {{not raised: expected products of codes, block scales and rows of bf16 or f16 alone, but got a further factor}}
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> ()>,
                                        affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (n, k floordiv 32)>,
                                        affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %g, %w, %ws : tensor<8x64xbf16>, tensor<bf16>, tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>)
      outs(%out : tensor<8x16xf32>) {
  ^bb0(%a: bf16, %ag: bf16, %b: f8E4M3FN, %bs: f8E8M0FNU, %acc: f32):
    %ae = arith.extf %a : bf16 to f32
    %ge = arith.extf %ag : bf16 to f32
    %be = arith.scaling_extf %b, %bs : f8E4M3FN, f8E8M0FNU to f32
    %be2 = arith.mulf %be, %ge : f32
    %p = arith.mulf %ae, %be2 : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

// Parts of an index that round on their own: column 3 reads code 2.

func.func @rounded_parts(%x: tensor<8x64xbf16>, %w: tensor<16x64xf8E4M3FN>, %ws: tensor<16x2xf8E8M0FNU>,
                         %out: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-remark @below {{not raised: expected codes that are a matrix of rows and K, transposed or in parts}}
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
        affine_map<(m, n, k) -> (n, k - (k mod 4 + k floordiv 2) floordiv 2 + k floordiv 2 - k floordiv 4)>,
        affine_map<(m, n, k) -> (n, k floordiv 32)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w, %ws : tensor<8x64xbf16>, tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>)
      outs(%out : tensor<8x16xf32>) {
  ^bb0(%a: bf16, %b: f8E4M3FN, %bs: f8E8M0FNU, %acc: f32):
    %ae = arith.extf %a : bf16 to f32
    %be = arith.scaling_extf %b, %bs : f8E4M3FN, f8E8M0FNU to f32
    %p = arith.mulf %ae, %be : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

// Scales that divide.

#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#nb = affine_map<(m, n, k) -> (n, k floordiv 16)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @divided(%x: tensor<8x64xbf16>, %w: tensor<32x64xf4E2M1FN>,
                   %ws: tensor<32x4xf8E4M3FN>, %out: tensor<8x32xf32>) -> tensor<8x32xf32> {
  // expected-remark @below {{not raised: expected codes and scales that are multiplied and nothing else, but got arith.divf of them}}
  %y = linalg.generic {indexing_maps = [#mk, #nk, #nb, #mn],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w, %ws : tensor<8x64xbf16>, tensor<32x64xf4E2M1FN>, tensor<32x4xf8E4M3FN>)
      outs(%out : tensor<8x32xf32>) {
  ^bb0(%a: bf16, %c: f4E2M1FN, %s: f8E4M3FN, %sum: f32):
    %ae = arith.extf %a : bf16 to f32
    %ce = arith.extf %c : f4E2M1FN to f32
    %se = arith.extf %s : f8E4M3FN to f32
    %v = arith.divf %ce, %se : f32
    %p = arith.mulf %ae, %v : f32
    %t = arith.addf %sum, %p : f32
    linalg.yield %t : f32
  } -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// -----

// What has no scaled values needs no remark.

#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @plain(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>, %out: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %y = linalg.generic {indexing_maps = [#mk, #nk, #mn],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<8x64xf32>, tensor<32x64xf32>) outs(%out : tensor<8x32xf32>) {
  ^bb0(%a: f32, %c: f32, %sum: f32):
    %v = arith.negf %c : f32
    %p = arith.mulf %a, %v : f32
    %t = arith.addf %sum, %p : f32
    linalg.yield %t : f32
  } -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}
