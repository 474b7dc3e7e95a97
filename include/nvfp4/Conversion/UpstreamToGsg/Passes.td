//===- Passes.td - From upstream's spelling to ours --------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The way into the dialect for compilers that dequantise with `arith` and
// multiply with `linalg`.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_UPSTREAMTOGSG_PASSES_TD
#define NVFP4_CONVERSION_UPSTREAMTOGSG_PASSES_TD

include "mlir/Pass/PassBase.td"

def RaiseToGroupedScaledGemmPass : Pass<"raise-to-grouped-scaled-gemm"> {
  let summary = "make scaled products of matmuls of dequantised values";
  let description = [{
    Accepts any IR. Afterwards every operation of `linalg` on tensors that sums
    products of two block-scaled operands in f32 is a `matmul` of this dialect,
    `dense` or `batched`, and a loop of such over groups of rows one that is
    `ragged_rows`; all else stays as it is, but for dequantisations that are no
    longer used. Where only the size of a value is left, it becomes that of what the
    value was computed from.

    An operation qualifies by what it computes for each element and not by how
    that is spelled: values are followed through elementwise operations of `arith`
    and `linalg`, broadcasts, transpositions, `expand_shape` and `collapse_shape`
    down to tensors of codes (f4E2M1FN, f8E4M3FN, f8E5M2, or bytes that hold two
    of f4E2M1FN, the even index in the low nibble; a tensor that is unpacked from
    bytes in another order is packed again) and of scales (f8E4M3FN,
    f8E8M0FNU, also as bytes). So `arith.extf` and `arith.mulf`,
    `arith.scaling_extf` with scales in E8M0, and blocks of the form `[.., K/16, 16]`
    are the same to it, before and after fusion. Codes may also be looked up in a
    constant table of the numbers of f4E2M1FN, low and high halves of bytes stacked
    or written to every other column, before or after the look-up, with guards of the
    index that four bits never need; and scales in E8M0 be 2 to the power of a byte
    less 127 (also exp of the product with ln 2 in f32, which then is exact), or a byte
    shifted into the exponent of f32 (0 is then 2^-127, and 255 NaN). Needed are

    - scales that 16 or 32 neighbours along K share, as a format of
      `!grouped_scaled_gemm.scaled` has it, of one type and block for both operands.
      A scale that all of K shares belongs to one block, which has room for K;
    - or instead of a first operand with scales numbers of bf16 or f16, which are
      multiplied as they are (weight-only quantisation);
    - intermediate types that hold values times scales exactly: with E8M0 scales
      types with an exponent of 8 bits. What leaves their range becomes inf or
      zero before, and is exact in the product;
    - sums in f32, K known;
    - tensors of fewer than 2^63 elements.

    `tosa.matmul_t_block_scaled` of codes in f4E2M1FN, f8E4M3FN or f8E5M2 is written
    out as a contraction and raised like others; values of
    `tosa.cast_from_block_scaled` are codes times scales.

    A loop over groups is an `scf.for` from 0 to a known number of them in steps of
    1. A step multiplies a slice of the rows by the matrix of weights with its
    number, dequantised before or after they are sliced, and puts the result, in
    f32 or rounded from it, where the rows were. It takes these from one tensor: of
    starts with one more than there are groups, of ends, or of sizes, with the end
    of the group before carried by the loop. Other loops keep a `dense` product.

    An `scf.for` that adds to what it carries the product of slices along K, at
    offsets that are affine in its step and cover K once, is one product; it may
    be what a step of a loop over groups multiplies, and carry the rows of that
    group or of all.

    A sum over groups and K whose terms are zero outside the rows of a group,
    `select(start[g] <= row and row < end[g], term, 0)`, is `ragged_rows` as well, if
    starts and ends are slices of one tensor, or starts are a zero and all ends but
    the last (`tensor.concat`, `tensor.pad` or `tensor.insert_slice`). The select may
    stand at the rows, before or after they are dequantised, or in the product, and
    be a product with 1 or 0.
    Masked terms, among them 0 times NaN or Inf of the weights of other groups,
    vanish from the sum.

    Weights that are looked up by the expert of a row, `W[ids]`, are `ragged_rows`
    of the rows in the order of their experts: `sort_tokens`, rows gathered,
    the product, and `permute` back to where they were. The index is any
    computation of integers from elements at the loops of the rows, and one for
    codes and scales; the number of experts is known. A row may have several
    experts, in dimensions of the result after its own. An index that leaves the
    weights is undefined before; afterwards -1 gives zero and others are an error
    of `sort_tokens`.

    So is a sum over experts and K whose terms are zero, by a selection or a factor
    of 1 or 0, where `expert == id` does not hold; and a sum over experts of such
    factors times what a sum over K gave, if nothing else reads that. Numbers of no
    expert give zero, and masked terms vanish as above.

    Rows of bf16 or f16 may follow the columns in a result of known extents, which
    then is a transposed product.

    A number for each column that is added to all rows of a product, or of an
    expert whose weights are looked up, is its bias, if nothing else reads the sums.
    SwiGLU that is written out on the columns of a product, gate * (up + beta) /
    (1 + exp(-alpha * gate)) in any order of its factors in f32, perhaps clamped,
    becomes `glu`, which `gsg-fuse-epilogue` moves into the product. `glu` has the
    accuracy of its own exponential function, and NaN goes through its clamps.

    Sums keep their terms but not their order. Scales in E4M3 must not be negative,
    as no quantiser makes them: a negative one makes NaN.

    With `move-global-scales` a factor that is one number a matrix becomes `alpha`,
    and a divisor its reciprocal.
    With `explain` each sum of products and each product of TOSA left as it is that
    has 4- or 8-bit floating point operands gets a remark that says why, and so does
    each operation of linalg that works on the elements of a product.

    Before:

    ```mlir
    #row   = affine_map<(m, kb, kj) -> (m, kb, kj)>
    #block = affine_map<(m, kb, kj) -> (m, kb)>
    func.func @f(%w: tensor<16x32xf8E4M3FN>, %s: tensor<16x1xf8E8M0FNU>,
                 %a: tensor<8x32xf8E4M3FN>, %as: tensor<8x1xf8E8M0FNU>,
                 %out: tensor<8x16xf32>) -> tensor<8x16xf32> {
      %w3 = tensor.expand_shape %w [[0], [1, 2]] output_shape [16, 1, 32]
          : tensor<16x32xf8E4M3FN> into tensor<16x1x32xf8E4M3FN>
      %we = tensor.empty() : tensor<16x1x32xf32>
      %wd = linalg.generic {indexing_maps = [#row, #block, #row],
          iterator_types = ["parallel", "parallel", "parallel"]}
          ins(%w3, %s : tensor<16x1x32xf8E4M3FN>, tensor<16x1xf8E8M0FNU>)
          outs(%we : tensor<16x1x32xf32>) {
      ^bb0(%code: f8E4M3FN, %scale: f8E8M0FNU, %o: f32):
        %v = arith.scaling_extf %code, %scale : f8E4M3FN, f8E8M0FNU to f32
        linalg.yield %v : f32
      } -> tensor<16x1x32xf32>
      %wf = tensor.collapse_shape %wd [[0], [1, 2]] : tensor<16x1x32xf32> into tensor<16x32xf32>
      %a3 = tensor.expand_shape %a [[0], [1, 2]] output_shape [8, 1, 32]
          : tensor<8x32xf8E4M3FN> into tensor<8x1x32xf8E4M3FN>
      %ae = tensor.empty() : tensor<8x1x32xf32>
      %ad = linalg.generic {indexing_maps = [#row, #block, #row],
          iterator_types = ["parallel", "parallel", "parallel"]}
          ins(%a3, %as : tensor<8x1x32xf8E4M3FN>, tensor<8x1xf8E8M0FNU>)
          outs(%ae : tensor<8x1x32xf32>) {
      ^bb0(%code: f8E4M3FN, %scale: f8E8M0FNU, %o: f32):
        %c = arith.extf %code : f8E4M3FN to f32
        %e = arith.extf %scale : f8E8M0FNU to f32
        %v = arith.mulf %c, %e : f32
        linalg.yield %v : f32
      } -> tensor<8x1x32xf32>
      %af = tensor.collapse_shape %ad [[0], [1, 2]] : tensor<8x1x32xf32> into tensor<8x32xf32>
      %y = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
                                          affine_map<(m, n, k) -> (n, k)>,
                                          affine_map<(m, n, k) -> (m, n)>]
          ins(%af, %wf : tensor<8x32xf32>, tensor<16x32xf32>)
          outs(%out : tensor<8x16xf32>) -> tensor<8x16xf32>
      return %y : tensor<8x16xf32>
    }
    ```

    After:

    ```mlir
    !a = !grouped_scaled_gemm.scaled<8x32, mxfp8_e4m3>
    !w = !grouped_scaled_gemm.scaled<16x32, mxfp8_e4m3>
    func.func @f(%w: tensor<16x32xf8E4M3FN>, %s: tensor<16x1xf8E8M0FNU>,
                 %a: tensor<8x32xf8E4M3FN>, %as: tensor<8x1xf8E8M0FNU>,
                 %out: tensor<8x16xf32>) -> tensor<8x16xf32> {
      %0 = grouped_scaled_gemm.make_scaled %a, %as
          : tensor<8x32xf8E4M3FN>, tensor<8x1xf8E8M0FNU> -> !a
      %1 = grouped_scaled_gemm.make_scaled %w, %s
          : tensor<16x32xf8E4M3FN>, tensor<16x1xf8E8M0FNU> -> !w
      %one = arith.constant 1.0 : f32
      %y = grouped_scaled_gemm.matmul <dense> lhs(%0 : !a) rhs(%1 : !w)
          beta(%one : f32) outs(%out : tensor<8x16xf32>) -> tensor<8x16xf32>
      return %y : tensor<8x16xf32>
    }
    ```
  }];
  let options = [
    Option<"moveGlobalScales", "move-global-scales", "bool", "false",
           "factors that are one number a matrix become alpha">,
    Option<"explain", "explain", "bool", "false",
           "say at each operation that is left why it is">];
  let dependentDialects = [
    "::nvfp4::gsg::GroupedScaledGemmDialect", "::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

#endif // NVFP4_CONVERSION_UPSTREAMTOGSG_PASSES_TD
