// A sum over experts, with all but one masked for each row, that is one product
// of sorted rows; each edit makes it something else, and then it stays.

// RUN: nvfp4-opt %s --raise-to-grouped-scaled-gemm=explain 2>&1 | FileCheck %s --check-prefix=RAISED
// RAISED-NOT: not raised
// RAISED:     grouped_scaled_gemm.sort_tokens
// RAISED:     grouped_scaled_gemm.matmul <ragged_rows, ends>

// An unknown number of experts.
// RUN: sed 's/4x/?x/g' %s | nvfp4-opt --raise-to-grouped-scaled-gemm=explain 2>&1 | FileCheck %s -DREASON="expected one expert of a row in a sum over a known number of them"
// Fewer experts than there are weights of.
// RUN: sed 's/tensor<4xi32>/tensor<3xi32>/g' %s | nvfp4-opt --raise-to-grouped-scaled-gemm=explain 2>&1 | FileCheck %s -DREASON="expected a known number of experts, each with a matrix"
// A choice that the expert itself, or a part of the sum, makes.
// RUN: sed 's/%%ids\[%%t, %%first\]/%%ids[%%t, %%e]/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm=explain 2>&1 | FileCheck %s -DREASON="expected one expert of a row in a sum over a known number of them"
// RUN: sed 's/%%ids\[%%t, %%first\]/%%ids[%%t, %%j]/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm=explain 2>&1 | FileCheck %s -DREASON="expected one expert for all of a sum"
// Rows of experts as well.
// RUN: sed 's/%%x\[%%t,/%%x[%%e,/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm=explain 2>&1 | FileCheck %s -DREASON="expected one operand whose matrix is looked up for each row, by one index"
// Two masks.
// RUN: sed 's/%%av = arith.extf %%a : bf16 to f32/%%aw = arith.extf %%a : bf16 to f32\n    %%av = arith.select %%is, %%aw, %%zero : f32/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm=explain 2>&1 | FileCheck %s -DREASON="expected a mask of rows that is summed over its groups"

// CHECK:     not raised: [[REASON]]
// CHECK-NOT: grouped_scaled_gemm.matmul

func.func @choice(%x: tensor<6x2x32xbf16>, %w: tensor<4x16x2x32xf8E4M3FN>, %ws: tensor<4x16x2xf8E8M0FNU>,
                  %ids: tensor<6x32xi32>, %range: tensor<4xi32>, %out: tensor<6x16xf32>) -> tensor<6x16xf32> {
  %shape = tensor.empty() : tensor<2x32xi32>
  %y = linalg.generic {indexing_maps = [affine_map<(t, n, e, b, j) -> (e)>, affine_map<(t, n, e, b, j) -> (b, j)>,
                                        affine_map<(t, n, e, b, j) -> (t, n)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%range, %shape : tensor<4xi32>, tensor<2x32xi32>) outs(%out : tensor<6x16xf32>) {
  ^bb0(%u: i32, %v: i32, %acc: f32):
    %t = linalg.index 0 : index
    %n = linalg.index 1 : index
    %e = linalg.index 2 : index
    %b = linalg.index 3 : index
    %j = linalg.index 4 : index
    %first = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %id = tensor.extract %ids[%t, %first] : tensor<6x32xi32>
    %number = arith.index_cast %e : index to i32
    %is = arith.cmpi eq, %id, %number : i32
    %a = tensor.extract %x[%t, %b, %j] : tensor<6x2x32xbf16>
    %code = tensor.extract %w[%e, %n, %b, %j] : tensor<4x16x2x32xf8E4M3FN>
    %scale = tensor.extract %ws[%e, %n, %b] : tensor<4x16x2xf8E8M0FNU>
    %bv = arith.scaling_extf %code, %scale : f8E4M3FN, f8E8M0FNU to f32
    %av = arith.extf %a : bf16 to f32
    %ab = arith.mulf %av, %bv : f32
    %masked = arith.select %is, %ab, %zero : f32
    %s = arith.addf %acc, %masked : f32
    linalg.yield %s : f32
  } -> tensor<6x16xf32>
  return %y : tensor<6x16xf32>
}
