//===- EpilogueOps.td - Operations of expanded epilogues ---*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations that `gsg-expand-epilogue` puts into the `epilogue` region of a
// product beside those of arith and math. Each works on one element.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_EPILOGUEOPS_TD
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_EPILOGUEOPS_TD

include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemmBase.td"

/// An operation within the region of a product.
class Gsg_EpilogueOp<string mnemonic, list<Trait> traits = []>
    : Gsg_Op<mnemonic, !listconcat(traits,
        [ParentOneOf<["MatmulOp", "MatmulListOp"]>])>;

// Only within the compiler: neither C nor Python names a clause by number.
def Gsg_EpilogueClause : I32EnumAttr<"EpilogueClause",
    "operand of a product that its epilogue reads", [
  I32EnumAttrCase<"Alpha", 0, "alpha">,
  I32EnumAttrCase<"Beta", 1, "beta">,
  I32EnumAttrCase<"Addend", 2, "addend">,
  I32EnumAttrCase<"Bias", 3, "bias">,
  I32EnumAttrCase<"Prob", 4, "prob">,
  I32EnumAttrCase<"ActivationParams", 5, "activation_params">,
  I32EnumAttrCase<"Row", 6, "row">,
  I32EnumAttrCase<"Column", 7, "column">,
  I32EnumAttrCase<"Group", 8, "group">,
  I32EnumAttrCase<"RowScale", 9, "row_scale">]> {
  let cppNamespace = "::nvfp4::gsg";
}

def Gsg_LoadClauseOp : Gsg_EpilogueOp<"load_clause", [Pure]> {
  let summary = "load the value of a clause for an element";
  let description = [{
    The value of an operand of the product at the element of the epilogue, as
    f32: of its group, row or column, as the shape of the operand says. `addend`
    without such an operand is what the destination holds (`beta` alone, and
    `matmul_list`). `row`, `column` and `group` have the number of the operand,
    `activation_params` 0 for alpha, 1 for beta and 2 for the limit.

    `alpha`, `addend` and `bias` belong to a column of the product and `column`
    to one of the result, so they stand before and after `pair_columns`.

    Example:

    ```mlir
    !a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
    !b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
    func.func @f(%a: !a, %b: !b, %s: tensor<16xf32>, %c: tensor<16x32xf32>)
        -> tensor<16x32xf32> {
      %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
          activation = <custom> row(%s : tensor<16xf32>)
          epilogue {
          ^bb0(%acc: f32):
            %r = grouped_scaled_gemm.load_clause row[0]
            %y = arith.mulf %acc, %r : f32
            grouped_scaled_gemm.store_result %y
          }
          outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
      return %d : tensor<16x32xf32>
    }
    ```
  }];
  let arguments = (ins
    Gsg_EpilogueClause:$clause,
    OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$index);
  let results = (outs F32:$value);
  let assemblyFormat = "$clause (`[` $index^ `]`)? attr-dict";
}

def Gsg_PairColumnsOp : Gsg_EpilogueOp<"pair_columns", [Pure]> {
  let summary = "bring the gate and the up column of a pair together";
  let description = [{
    Ends the part of an epilogue that works on columns of the product: the
    operations before are done for each of them, those after for each column of
    the result. `gate` and `up` are the values that `z` has in the two columns
    of its pair, which the `gate` of the product's activation describes. No
    other value of the first part is used in the second, except constants.

    Example:

    ```mlir
    !a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
    !b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
    func.func @f(%a: !a, %b: !b, %c: tensor<16x16xf32>) -> tensor<16x16xf32> {
      %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
          activation = <custom, gate = <halves, gate_first>>
          epilogue {
          ^bb0(%acc: f32):
            %gate, %up = grouped_scaled_gemm.pair_columns %acc
            %y = arith.mulf %gate, %up : f32
            grouped_scaled_gemm.store_result %y
          }
          outs(%c : tensor<16x16xf32>) -> tensor<16x16xf32>
      return %d : tensor<16x16xf32>
    }
    ```
  }];
  let arguments = (ins F32:$z);
  let results = (outs F32:$gate, F32:$up);
  let assemblyFormat = "$z attr-dict";
}

def Gsg_RoundBf16Op : Gsg_EpilogueOp<"round_bf16", [Pure]> {
  let summary = "round to bf16, as f32";
  let description = [{
    The nearest bf16, ties to even, as f32. A NaN keeps its sign and the upper
    bits of its payload on every target, which `arith.truncf` does not say.

    Example:

    ```mlir
    !a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
    !b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
    func.func @f(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
      %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
          activation = <custom>
          epilogue {
          ^bb0(%acc: f32):
            %y = grouped_scaled_gemm.round_bf16 %acc
            grouped_scaled_gemm.store_result %y
          }
          outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
      return %d : tensor<16x32xf32>
    }
    ```
  }];
  let arguments = (ins F32:$input);
  let results = (outs F32:$result);
  let assemblyFormat = "$input attr-dict";
}

def Gsg_SigmoidOp : Gsg_EpilogueOp<"sigmoid",
    [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "1 / (1 + exp(-x))";
  let description = [{
    The result of an f32 is within 0.51 ulp, that of an f64 as accurate as an f32
    that is rounded from it needs. Every target gives the same bits. With `fast` a target may
    take what it has for an f32: an approximation on GPUs.

    Example:

    ```mlir
    !a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
    !b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
    func.func @f(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
      %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
          activation = <custom>
          epilogue {
          ^bb0(%acc: f32):
            %s = grouped_scaled_gemm.sigmoid fast %acc : f32
            %y = arith.mulf %acc, %s : f32
            grouped_scaled_gemm.store_result %y
          }
          outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
      return %d : tensor<16x32xf32>
    }
    ```
  }];
  let arguments = (ins AnyTypeOf<[F32, F64]>:$input, UnitAttr:$fast);
  let results = (outs AnyTypeOf<[F32, F64]>:$result);
  let assemblyFormat = "(`fast` $fast^)? $input attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Gsg_StorePreactOp : Gsg_EpilogueOp<"store_preact",
    [MemoryEffects<[MemWrite]>]> {
  let summary = "store the pre-activation";
  let description = [{
    Rounds z to the element type of `preact_outs` of the product and stores it.

    Example:

    ```mlir
    !a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
    !b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
    func.func @f(%a: !a, %b: !b, %c: tensor<16x32xf32>, %p: tensor<16x32xbf16>)
        -> (tensor<16x32xbf16>, tensor<16x32xf32>) {
      %d:2 = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
          activation = <custom>
          epilogue {
          ^bb0(%acc: f32):
            grouped_scaled_gemm.store_preact %acc
            %cst = arith.constant 0.0 : f32
            %y = arith.maximumf %acc, %cst : f32
            grouped_scaled_gemm.store_result %y
          }
          preact_outs(%p : tensor<16x32xbf16>) outs(%c : tensor<16x32xf32>)
          -> tensor<16x32xbf16>, tensor<16x32xf32>
      return %d#0, %d#1 : tensor<16x32xbf16>, tensor<16x32xf32>
    }
    ```
  }];
  let arguments = (ins F32:$z);
  let assemblyFormat = "$z attr-dict";
}

def Gsg_FoldAmaxOp : Gsg_EpilogueOp<"fold_amax", [MemoryEffects<[MemWrite]>]> {
  let summary = "add an element to the maximum of its group";
  let description = [{
    Makes the entry of the group in `amax_outs` at least |y|. NaN is larger than
    every number.

    Example:

    ```mlir
    !a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
    !b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
    func.func @f(%a: !a, %b: !b, %c: tensor<16x32xf32>, %m: tensor<1xf32>)
        -> (tensor<16x32xf32>, tensor<1xf32>) {
      %d:2 = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
          activation = <custom>
          epilogue {
          ^bb0(%acc: f32):
            grouped_scaled_gemm.fold_amax %acc
            grouped_scaled_gemm.store_result %acc
          }
          outs(%c : tensor<16x32xf32>) amax_outs(%m : tensor<1xf32>)
          -> tensor<16x32xf32>, tensor<1xf32>
      return %d#0, %d#1 : tensor<16x32xf32>, tensor<1xf32>
    }
    ```
  }];
  let arguments = (ins F32:$y);
  let assemblyFormat = "$y attr-dict";
}

def Gsg_StoreResultOp : Gsg_EpilogueOp<"store_result",
    [MemoryEffects<[MemWrite]>, Terminator]> {
  let summary = "store the result and end an expanded epilogue";
  let description = [{
    Rounds y to the element type of the destination, or quantises it by the
    `quantizer` of the product, and stores it. A region that ends so is an
    expanded epilogue; one that ends in `yield` is the activation of a program.

    Example:

    ```mlir
    !a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
    !b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
    func.func @f(%a: !a, %b: !b, %s: f32, %c: tensor<16x32xf32>)
        -> tensor<16x32xf32> {
      %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
          alpha(%s : f32) activation = <custom>
          epilogue {
          ^bb0(%acc: f32):
            %alpha = grouped_scaled_gemm.load_clause alpha
            %y = arith.mulf %alpha, %acc : f32
            grouped_scaled_gemm.store_result %y
          }
          outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
      return %d : tensor<16x32xf32>
    }
    ```
  }];
  let arguments = (ins F32:$y);
  let assemblyFormat = "$y attr-dict";
}

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_EPILOGUEOPS_TD
