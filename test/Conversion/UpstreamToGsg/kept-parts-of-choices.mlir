// Sums over experts with a mask that reads the experts, or the ends of groups, in
// a part of a tensor or in a step of a loop: they stay as they are, or one product
// in each step.

// RUN: nvfp4-opt %s --raise-to-grouped-scaled-gemm=explain 2>&1 | FileCheck %s

#mk = affine_map<(m, n, e, k) -> (m, k)>
#emk = affine_map<(m, n, e, k) -> (e, m, k)>
#enk = affine_map<(m, n, e, k) -> (e, n, k)>
#enb = affine_map<(m, n, e, k) -> (e, n, k floordiv 32)>
#m = affine_map<(m, n, e, k) -> (m)>
#e = affine_map<(m, n, e, k) -> (e)>
#mn = affine_map<(m, n, e, k) -> (m, n)>

// CHECK: not raised: expected experts of rows at indices of loops alone, but got those of a slice

// CHECK-LABEL: func.func @some_rows(
// CHECK-NOT:     grouped_scaled_gemm.
func.func @some_rows(%x: tensor<12x64xf8E4M3FN>, %xs: tensor<12x2xf8E8M0FNU>, %w: tensor<4x16x64xf8E4M3FN>, %ws: tensor<4x16x2xf8E8M0FNU>, %ids: tensor<12xi64>,
                      %out: tensor<6x16xf32>) -> tensor<6x16xf32> {
  %zero = arith.constant 0.0 : f32
  %xe = tensor.empty() : tensor<4x12x64xf32>
  %xm = linalg.generic {indexing_maps = [affine_map<(e,t,k) -> (t,k)>, affine_map<(e,t,k) -> (t,k floordiv 32)>, affine_map<(e,t,k)->(t)>, affine_map<(e,t,k)->(e,t,k)>],
     iterator_types = ["parallel", "parallel", "parallel"]}
     ins(%x, %xs, %ids : tensor<12x64xf8E4M3FN>, tensor<12x2xf8E8M0FNU>, tensor<12xi64>) outs(%xe : tensor<4x12x64xf32>) {
    ^bb0(%a: f8E4M3FN, %as: f8E8M0FNU, %id: i64, %acc: f32):
      %av = arith.scaling_extf %a, %as : f8E4M3FN, f8E8M0FNU to f32
      %e = linalg.index 0 : index
      %number = arith.index_cast %e : index to i64
      %is = arith.cmpi eq, %id, %number : i64
      %t = arith.select %is, %av, %zero : f32
      linalg.yield %t : f32
  } -> tensor<4x12x64xf32>
  %xc = tensor.extract_slice %xm[0, 6, 0] [4, 6, 64] [1, 1, 1] : tensor<4x12x64xf32> to tensor<4x6x64xf32>
  %p = linalg.generic {indexing_maps = [#emk, #enk, #enb, #mn], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
        ins(%xc, %w, %ws : tensor<4x6x64xf32>, tensor<4x16x64xf8E4M3FN>, tensor<4x16x2xf8E8M0FNU>)
        outs(%out : tensor<6x16xf32>) {
    ^bb0(%a: f32, %b: f8E4M3FN, %bs: f8E8M0FNU, %acc: f32):
      %bv = arith.scaling_extf %b, %bs : f8E4M3FN, f8E8M0FNU to f32
      %ab = arith.mulf %a, %bv : f32
      %s = arith.addf %acc, %ab : f32
      linalg.yield %s : f32
    } -> tensor<6x16xf32>
  return %p : tensor<6x16xf32>
}

// Experts that each step reads elsewhere, and that each step computes.

// CHECK-LABEL: func.func @experts_of_a_part(
// CHECK:         scf.for
// CHECK:           grouped_scaled_gemm.matmul <ragged_rows, ends>
func.func @experts_of_a_part(%x: tensor<6x256xbf16>, %w: tensor<4x16x256xf8E4M3FN>, %ws: tensor<4x16x8xf8E8M0FNU>, %all: tensor<12xi64>,
                      %out: tensor<6x16xf32>) -> tensor<6x16xf32> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  %y = scf.for %k = %c0 to %c256 step %c64 iter_args(%sum = %out) -> (tensor<6x16xf32>) {
    %block = arith.divui %k, %c32 : index
    %ids = tensor.extract_slice %all[%block] [6] [1] : tensor<12xi64> to tensor<6xi64>
    %xk = tensor.extract_slice %x[0, %k] [6, 64] [1, 1] : tensor<6x256xbf16> to tensor<6x64xbf16>
    %wk = tensor.extract_slice %w[0, 0, %k] [4, 16, 64] [1, 1, 1] : tensor<4x16x256xf8E4M3FN> to tensor<4x16x64xf8E4M3FN>
    %wsk = tensor.extract_slice %ws[0, 0, %block] [4, 16, 2] [1, 1, 1] : tensor<4x16x8xf8E8M0FNU> to tensor<4x16x2xf8E8M0FNU>
    %p = linalg.generic {indexing_maps = [#mk, #enk, #enb, #m, #mn], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
        ins(%xk, %wk, %wsk, %ids : tensor<6x64xbf16>, tensor<4x16x64xf8E4M3FN>, tensor<4x16x2xf8E8M0FNU>, tensor<6xi64>)
        outs(%sum : tensor<6x16xf32>) {
    ^bb0(%a: bf16, %b: f8E4M3FN, %bs: f8E8M0FNU, %id: i64, %acc: f32):
      %av = arith.extf %a : bf16 to f32
      %bv = arith.scaling_extf %b, %bs : f8E4M3FN, f8E8M0FNU to f32
      %ab = arith.mulf %av, %bv : f32
      %e = linalg.index 2 : index
      %number = arith.index_cast %e : index to i64
      %is = arith.cmpi eq, %id, %number : i64
      %t = arith.select %is, %ab, %zero : f32
      %s = arith.addf %acc, %t : f32
      linalg.yield %s : f32
    } -> tensor<6x16xf32>
    scf.yield %p : tensor<6x16xf32>
  }
  return %y : tensor<6x16xf32>
}

// CHECK-LABEL: func.func @experts_of_a_step(
// CHECK:         scf.for
// CHECK:           grouped_scaled_gemm.matmul <ragged_rows, ends>
func.func @experts_of_a_step(%x: tensor<6x256xbf16>, %w: tensor<4x16x256xf8E4M3FN>, %ws: tensor<4x16x8xf8E8M0FNU>, %all: tensor<12xi64>,
                      %out: tensor<6x16xf32>) -> tensor<6x16xf32> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  %y = scf.for %k = %c0 to %c256 step %c64 iter_args(%sum = %out) -> (tensor<6x16xf32>) {
    %block = arith.divui %k, %c32 : index
    %ee = tensor.empty() : tensor<6xi64>
    %kk = arith.index_cast %k : index to i64
    %ids = linalg.generic {indexing_maps = [affine_map<(t) -> (t)>], iterator_types = ["parallel"]} outs(%ee : tensor<6xi64>) {
    ^bb0(%o: i64):
      %ti = linalg.index 0 : index
      %tt = arith.index_cast %ti : index to i64
      %ss = arith.addi %tt, %kk : i64
      linalg.yield %ss : i64
    } -> tensor<6xi64>
    %xk = tensor.extract_slice %x[0, %k] [6, 64] [1, 1] : tensor<6x256xbf16> to tensor<6x64xbf16>
    %wk = tensor.extract_slice %w[0, 0, %k] [4, 16, 64] [1, 1, 1] : tensor<4x16x256xf8E4M3FN> to tensor<4x16x64xf8E4M3FN>
    %wsk = tensor.extract_slice %ws[0, 0, %block] [4, 16, 2] [1, 1, 1] : tensor<4x16x8xf8E8M0FNU> to tensor<4x16x2xf8E8M0FNU>
    %p = linalg.generic {indexing_maps = [#mk, #enk, #enb, #m, #mn], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
        ins(%xk, %wk, %wsk, %ids : tensor<6x64xbf16>, tensor<4x16x64xf8E4M3FN>, tensor<4x16x2xf8E8M0FNU>, tensor<6xi64>)
        outs(%sum : tensor<6x16xf32>) {
    ^bb0(%a: bf16, %b: f8E4M3FN, %bs: f8E8M0FNU, %id: i64, %acc: f32):
      %av = arith.extf %a : bf16 to f32
      %bv = arith.scaling_extf %b, %bs : f8E4M3FN, f8E8M0FNU to f32
      %ab = arith.mulf %av, %bv : f32
      %e = linalg.index 2 : index
      %number = arith.index_cast %e : index to i64
      %is = arith.cmpi eq, %id, %number : i64
      %t = arith.select %is, %ab, %zero : f32
      %s = arith.addf %acc, %t : f32
      linalg.yield %s : f32
    } -> tensor<6x16xf32>
    scf.yield %p : tensor<6x16xf32>
  }
  return %y : tensor<6x16xf32>
}

// Ends of groups that each step computes.

// CHECK-LABEL: func.func @ends_of_a_step(
// CHECK:         scf.for
// CHECK:           grouped_scaled_gemm.matmul <ragged_rows, ends>
func.func @ends_of_a_step(%x: tensor<6x256xbf16>, %w: tensor<4x16x256xf8E4M3FN>, %ws: tensor<4x16x8xf8E8M0FNU>, %half: tensor<4xi64>,
                      %out: tensor<6x16xf32>) -> tensor<6x16xf32> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  %y = scf.for %k = %c0 to %c256 step %c64 iter_args(%sum = %out) -> (tensor<6x16xf32>) {
    %block = arith.divui %k, %c32 : index
    %kk = arith.index_cast %k : index to i64
    %sp = tensor.splat %kk : tensor<4xi64>
    %en = arith.addi %half, %sp : tensor<4xi64>
    %cut = tensor.extract_slice %en[0] [3] [1] : tensor<4xi64> to tensor<3xi64>
    %z64 = arith.constant dense<0> : tensor<1xi64>
    %st = tensor.concat dim(0) %z64, %cut : (tensor<1xi64>, tensor<3xi64>) -> tensor<4xi64>
    %xk = tensor.extract_slice %x[0, %k] [6, 64] [1, 1] : tensor<6x256xbf16> to tensor<6x64xbf16>
    %wk = tensor.extract_slice %w[0, 0, %k] [4, 16, 64] [1, 1, 1] : tensor<4x16x256xf8E4M3FN> to tensor<4x16x64xf8E4M3FN>
    %wsk = tensor.extract_slice %ws[0, 0, %block] [4, 16, 2] [1, 1, 1] : tensor<4x16x8xf8E8M0FNU> to tensor<4x16x2xf8E8M0FNU>
    %p = linalg.generic {indexing_maps = [#mk, #enk, #enb, #e, #e, #mn], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
        ins(%xk, %wk, %wsk, %st, %en : tensor<6x64xbf16>, tensor<4x16x64xf8E4M3FN>, tensor<4x16x2xf8E8M0FNU>, tensor<4xi64>, tensor<4xi64>)
        outs(%sum : tensor<6x16xf32>) {
    ^bb0(%a: bf16, %b: f8E4M3FN, %bs: f8E8M0FNU, %s0: i64, %e0: i64, %acc: f32):
      %av = arith.extf %a : bf16 to f32
      %bv = arith.scaling_extf %b, %bs : f8E4M3FN, f8E8M0FNU to f32
      %ab = arith.mulf %av, %bv : f32
      %e = linalg.index 0 : index
      %row = arith.index_cast %e : index to i64
      %is = arith.cmpi sle, %s0, %row : i64
      %is2 = arith.cmpi slt, %row, %e0 : i64
      %both = arith.andi %is, %is2 : i1
      %t = arith.select %both, %ab, %zero : f32
      %s = arith.addf %acc, %t : f32
      linalg.yield %s : f32
    } -> tensor<6x16xf32>
    scf.yield %p : tensor<6x16xf32>
  }
  return %y : tensor<6x16xf32>
}
