//===- ExchangeOps.td - Experts on several ranks -----------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The movement of tokens to experts on other ranks and back, on the tokens of
// all ranks one after the other. Their classes are generated apart from those
// of the other operations (Exchange.h), which every pass reads.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_EXCHANGEOPS_TD
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_EXCHANGEOPS_TD

include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemmBase.td"

def Gsg_RealTensor : RankedTensorOf<[F32, F16, BF16]>;
def Gsg_F32Tensor : RankedTensorOf<[F32]>;
def Gsg_I32Tensor : RankedTensorOf<[I32]>;

def Gsg_ExchangeRowsOp : Gsg_Op<"exchange_rows", [NoMemoryEffect]> {
  let summary = "send tokens to the ranks of their experts";
  let description = [{
    The program has the tokens of all R ranks: those of rank r are
    `[tokens[r-1], tokens[r])` of `input` `[T, K]`. Each of the E experts is on
    one rank, or on several that `table` lists; without `table` experts are
    spread over the ranks as neighbours, as many on each rank as on the others
    or one more, the first ranks having more. A slot goes to the rank of its
    token where that keeps the expert, and else to entry (t + r) mod n of the n
    ranks of the expert, t counting the tokens of rank r. Entry -1 of `experts`
    `[T, k]` is a slot that is not used. A rank has at most `capacity` tokens,
    where that is given.

    The rows of all ranks are in the order of experts, those of an expert in
    that of `token * k + slot`: row r of rank q is one of the rows whose slot
    goes to q. `ends` and `row_of_slot` are those of `sort_tokens`; rows behind
    the last end are zero. No result depends on R, `table` or the rank of a
    token. Quantisers by row may move before the exchange.

    R is the extent of `tokens`, E that of `ends`.

    Example:

    ```mlir
    func.func @f(%x: tensor<?x64xbf16>, %experts: tensor<?x2xi32>, %tokens: tensor<2xi32>)
        -> (tensor<?x64xbf16>, tensor<4xi32>, tensor<?x2xi32>) {
      %rows, %ends, %row_of_slot = grouped_scaled_gemm.exchange_rows
          (%x : tensor<?x64xbf16>) to(%experts : tensor<?x2xi32>)
          tokens(%tokens : tensor<2xi32>)
          {capacity = 128 : i64, table = [[0], [0, 1], [1], [1]]}
          -> tensor<?x64xbf16>, tensor<4xi32>, tensor<?x2xi32>
      return %rows, %ends, %row_of_slot
          : tensor<?x64xbf16>, tensor<4xi32>, tensor<?x2xi32>
    }
    ```
  }];
  let arguments = (ins
    Arg<Gsg_RealTensor, "[T, K]">:$input,
    Arg<Gsg_I32Tensor, "[T, k]">:$experts,
    Arg<Gsg_I32Tensor, "[R]">:$tokens,
    OptionalAttr<I64Attr>:$capacity,
    OptionalAttr<ArrayAttr>:$table);
  let results = (outs
    Res<Gsg_RealTensor, "[T * k, K]">:$rows,
    Res<Gsg_I32Tensor, "[E]">:$ends,
    Res<Gsg_I32Tensor, "[T, k]">:$row_of_slot);
  let assemblyFormat = [{
    `(` $input `:` type($input) `)` `to` `(` $experts `:` type($experts) `)`
    `tokens` `(` $tokens `:` type($tokens) `)` attr-dict
    `->` type($rows) `,` type($ends) `,` type($row_of_slot)
  }];
  let hasVerifier = 1;
}

def Gsg_ReturnRowsOp : Gsg_Op<"return_rows", [NoMemoryEffect]> {
  let summary = "return expert rows to the ranks of their tokens, and sum them";
  let description = [{
    The inverse of `exchange_rows`, with its operands, attributes and `ends`:
    the rank of a token adds up the rows of its slots in f32, in ascending order
    of slots, each step one fused multiply-add, rounded once at the end, as
    `combine` does. The result does not depend on R, `table` or the rank of a
    token.

    With `rank_grouped` each rank adds up its slots of a token in the same way,
    and the rank of the token adds up these sums in ascending order of ranks, in
    f32, leaving out ranks without a slot: less to return, but another result
    for another R, `table` or rank of the token.

    Example:

    ```mlir
    func.func @f(%y: tensor<?x64xf32>, %row_of_slot: tensor<?x2xi32>,
                 %weights: tensor<?x2xf32>, %experts: tensor<?x2xi32>,
                 %ends: tensor<4xi32>, %tokens: tensor<2xi32>) -> tensor<?x64xbf16> {
      %o = grouped_scaled_gemm.return_rows(%y : tensor<?x64xf32>)
          by(%row_of_slot : tensor<?x2xi32>) weights(%weights : tensor<?x2xf32>)
          from(%experts : tensor<?x2xi32>) ends(%ends : tensor<4xi32>)
          tokens(%tokens : tensor<2xi32>) {rank_grouped} -> tensor<?x64xbf16>
      return %o : tensor<?x64xbf16>
    }
    ```
  }];
  let arguments = (ins
    Arg<Gsg_RealTensor, "[rows, N]">:$input,
    Arg<Gsg_I32Tensor, "[T, k]">:$row_of_slot,
    Arg<Gsg_F32Tensor, "[T, k]">:$weights,
    Arg<Gsg_I32Tensor, "[T, k]">:$experts,
    Arg<Gsg_I32Tensor, "[E]">:$ends,
    Arg<Gsg_I32Tensor, "[R]">:$tokens,
    OptionalAttr<ArrayAttr>:$table,
    UnitAttr:$rank_grouped);
  let results = (outs Res<Gsg_RealTensor, "[T, N]">:$result);
  let assemblyFormat = [{
    `(` $input `:` type($input) `)` `by` `(` $row_of_slot `:`
    type($row_of_slot) `)` `weights` `(` $weights `:` type($weights) `)`
    `from` `(` $experts `:` type($experts) `)` `ends` `(` $ends `:`
    type($ends) `)` `tokens` `(` $tokens `:` type($tokens) `)` attr-dict
    `->` type($result)
  }];
  let hasVerifier = 1;
}

def Gsg_ExpertParallelOp : Gsg_Op<"expert_parallel", [
    RecursiveMemoryEffects, SingleBlock]> {
  let summary = "a layer whose experts are on several ranks";
  let description = [{
    `exchange_rows`, the body, and `return_rows`. Each rank runs the body once,
    on the rows `[rows, K]` that came to it, in the order of experts, and on
    their `ends` `[E]`: experts of other ranks have no rows. The body yields as
    many rows `[rows, N]`; it may use values from outside, such as weights of
    all experts, of which a rank needs its own.

    A row that the body yields must depend on nothing but the row and its
    expert, as those of quantisers by row and of products do, which on targets
    with several orders of additions need `determinism = batch_invariant`. The
    result is then that of one rank with all tokens and experts, to the bit,
    unless `rank_grouped` is there.

    Example:

    ```mlir
    !a = !grouped_scaled_gemm.scaled<?x64, nvfp4>
    !w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
    func.func @f(%x: tensor<?x64xbf16>, %experts: tensor<?x2xi32>,
                 %weights: tensor<?x2xf32>, %tokens: tensor<2xi32>, %w: !w)
        -> tensor<?x32xbf16> {
      %o = grouped_scaled_gemm.expert_parallel(%x : tensor<?x64xbf16>)
          to(%experts : tensor<?x2xi32>) weights(%weights : tensor<?x2xf32>)
          tokens(%tokens : tensor<2xi32>) {
      ^bb0(%rows: tensor<?x64xbf16>, %ends: tensor<4xi32>):
        %c0 = arith.constant 0 : index
        %count = tensor.dim %rows, %c0 : tensor<?x64xbf16>
        %q = grouped_scaled_gemm.quantize <trtllm>(%rows : tensor<?x64xbf16>) -> !a
        %e = tensor.empty(%count) : tensor<?x32xf32>
        %y = grouped_scaled_gemm.matmul <ragged_rows, ends>
            groups(%ends : tensor<4xi32>) lhs(%q : !a) rhs(%w : !w)
            outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
        grouped_scaled_gemm.yield_rows %y : tensor<?x32xf32>
      } -> tensor<?x32xbf16>
      return %o : tensor<?x32xbf16>
    }
    ```
  }];
  let arguments = (ins
    Arg<Gsg_RealTensor, "[T, K]">:$input,
    Arg<Gsg_I32Tensor, "[T, k]">:$experts,
    Arg<Gsg_F32Tensor, "[T, k]">:$weights,
    Arg<Gsg_I32Tensor, "[R]">:$tokens,
    OptionalAttr<I64Attr>:$capacity,
    OptionalAttr<ArrayAttr>:$table,
    UnitAttr:$rank_grouped);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Res<Gsg_RealTensor, "[T, N]">:$result);
  let assemblyFormat = [{
    `(` $input `:` type($input) `)` `to` `(` $experts `:` type($experts) `)`
    `weights` `(` $weights `:` type($weights) `)` `tokens` `(` $tokens `:`
    type($tokens) `)` attr-dict-with-keyword $body `->` type($result)
  }];
  let hasVerifier = 1;
}

def Gsg_YieldRowsOp : Gsg_Op<"yield_rows", [
    Pure, Terminator, HasParent<"ExpertParallelOp">]> {
  let summary = "end the body of expert_parallel";
  let description = [{
    Returns the rows of a rank from the body of `expert_parallel`.

    Example:

    ```mlir
    func.func @f(%x: tensor<?x64xf32>, %experts: tensor<?x2xi32>,
                 %weights: tensor<?x2xf32>, %tokens: tensor<2xi32>)
        -> tensor<?x64xf32> {
      %o = grouped_scaled_gemm.expert_parallel(%x : tensor<?x64xf32>)
          to(%experts : tensor<?x2xi32>) weights(%weights : tensor<?x2xf32>)
          tokens(%tokens : tensor<2xi32>) attributes {rank_grouped} {
      ^bb0(%rows: tensor<?x64xf32>, %ends: tensor<4xi32>):
        grouped_scaled_gemm.yield_rows %rows : tensor<?x64xf32>
      } -> tensor<?x64xf32>
      return %o : tensor<?x64xf32>
    }
    ```
  }];
  let arguments = (ins Gsg_RealTensor:$rows);
  let assemblyFormat = "$rows attr-dict `:` type($rows)";
}

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_EXCHANGEOPS_TD
