// A lookup of weights that is one product of sorted rows; each edit makes it
// something else, and then it stays.

// RUN: nvfp4-opt %s --raise-to-grouped-scaled-gemm=explain 2>&1 | FileCheck %s --check-prefix=RAISED
// RAISED-NOT: not raised
// RAISED:     grouped_scaled_gemm.sort_tokens
// RAISED:     grouped_scaled_gemm.matmul <ragged_rows, ends>

// An unknown number of experts.
// RUN: sed 's/4x16/?x16/g' %s | nvfp4-opt --raise-to-grouped-scaled-gemm=explain 2>&1 | FileCheck %s -DREASON="expected a known number of experts, each with a matrix"
// Scales of another expert than codes.
// RUN: sed 's/%%ws\[%%e,/%%ws[%%o,/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm=explain 2>&1 | FileCheck %s -DREASON="expected codes, scales and further factors of one expert, but got another number that is looked up"
// RUN: sed 's/%%ws\[%%e,/%%ws[%%first,/; s/^    %%n = /    %%first = arith.constant 0 : index\n    %%n = /' %s | nvfp4-opt --raise-to-grouped-scaled-gemm=explain 2>&1 | FileCheck %s -DREASON="expected scales that are a matrix of rows and blocks, transposed or in parts, but got tensor<4x16x2xf8E8M0FNU>"
// RUN: sed 's/index_cast %%other/index_castui %%id/; s/%%ws\[%%e,/%%ws[%%o,/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm=explain 2>&1 | FileCheck %s -DREASON="expected codes, scales and further factors of one expert, but got another number that is looked up"
// An expert for each column, or for parts of a sum.
// RUN: sed 's/%%ids\[%%t, %%s\]/%%ids[%%s, %%n]/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm=explain 2>&1 | FileCheck %s -DREASON="expected columns of the weights of an expert that are neither rows nor choose it"
// RUN: sed 's/%%ids\[%%t, %%s\]/%%ids[%%t, %%j]/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm=explain 2>&1 | FileCheck %s -DREASON="expected parallel loops over rows of an operand, but got one that repeats the product"
// RUN: sed 's/%%ids\[%%t, %%s\]/%%ids[%%s, %%j]/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm=explain 2>&1 | FileCheck %s -DREASON="expected one expert for all of a sum"
// Experts of a token behind the columns.
// RUN: sed 's/6x3x16/6x16x3/g; s/(t, s, n)>/(t, n, s)>/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm=explain 2>&1 | FileCheck %s -DREASON="expected a result of rows, their experts and columns in this order"
// Weights of two numbers.
// RUN: sed 's/%%w\[%%e, %%n,/%%w[%%e, %%o,/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm=explain 2>&1 | FileCheck %s -DREASON="expected one operand whose matrix is looked up for each row, by one index"

// CHECK:     not raised: [[REASON]]
// CHECK-NOT: grouped_scaled_gemm.matmul

func.func @lookup(%x: tensor<6x2x32xbf16>, %w: tensor<4x16x2x32xf8E4M3FN>, %ws: tensor<4x16x2xf8E8M0FNU>,
                  %ids: tensor<6x32xi32>, %others: tensor<6x32xi32>, %out: tensor<6x3x16xf32>) -> tensor<6x3x16xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(t, s, n, b, j) -> (t, b, j)>, affine_map<(t, s, n, b, j) -> (t, s, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x : tensor<6x2x32xbf16>) outs(%out : tensor<6x3x16xf32>) {
  ^bb0(%a: bf16, %acc: f32):
    %t = linalg.index 0 : index
    %s = linalg.index 1 : index
    %n = linalg.index 2 : index
    %block = linalg.index 3 : index
    %j = linalg.index 4 : index
    %id = tensor.extract %ids[%t, %s] : tensor<6x32xi32>
    %other = tensor.extract %others[%t, %s] : tensor<6x32xi32>
    %e = arith.index_cast %id : i32 to index
    %o = arith.index_cast %other : i32 to index
    %b = tensor.extract %w[%e, %n, %block, %j] : tensor<4x16x2x32xf8E4M3FN>
    %bs = tensor.extract %ws[%e, %n, %block] : tensor<4x16x2xf8E8M0FNU>
    %bv = arith.scaling_extf %b, %bs : f8E4M3FN, f8E8M0FNU to f32
    %av = arith.extf %a : bf16 to f32
    %ab = arith.mulf %av, %bv : f32
    %sum = arith.addf %acc, %ab : f32
    linalg.yield %sum : f32
  } -> tensor<6x3x16xf32>
  return %y : tensor<6x3x16xf32>
}
