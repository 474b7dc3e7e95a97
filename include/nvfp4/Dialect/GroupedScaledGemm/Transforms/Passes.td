//===- Passes.td - Passes of the tensor level --------------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What happens to products before they meet a machine: scaled values become
// tensors, epilogues are fused, and what no target can hold or execute is
// refused.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_PASSES_TD
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"
include "nvfp4/Dialect/GroupedScaledGemm/Transforms/DecomposePasses.td"
include "nvfp4/Dialect/GroupedScaledGemm/Transforms/LaunchPasses.td"

def DecomposeScaledPass : Pass<"gsg-decompose-scaled", "::mlir::ModuleOp"> {
  let summary = "replace scaled values by values and scales";
  let description = [{
    Converts every value of type `scaled` into two tensors, packed values and
    scales (1:N), across functions, calls and structured control flow.

    Accepts any module. Afterwards no value of type `scaled` remains:
    `make_scaled` and `split_scaled` are gone, and every other operation of the
    dialect is in storage form with the logical type kept as an attribute.
    Results that were scaled get destinations: `tensor.empty`, filled with zero
    values and finite scales where the operation does not write every element.

    An argument of type `scaled` becomes two arguments, values first, that
    carry the type in `grouped_scaled_gemm.values_of` and
    `grouped_scaled_gemm.scales_of`; results alike.

    Before:

    ```mlir
    !a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
    !b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
    func.func @f(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
      %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
          outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
      return %d : tensor<16x32xf32>
    }
    ```

    After:

    ```mlir
    !a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
    !b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
    func.func @f(%a: tensor<16x32xi8>, %as: tensor<16x4xf8E4M3FN>,
                 %b: tensor<32x32xi8>, %bs: tensor<32x4xf8E4M3FN>,
                 %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
      %d = grouped_scaled_gemm.matmul <dense>
          lhs(%a scaled_by %as : tensor<16x32xi8>, tensor<16x4xf8E4M3FN> as !a)
          rhs(%b scaled_by %bs : tensor<32x32xi8>, tensor<32x4xf8E4M3FN> as !b)
          outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
      return %d : tensor<16x32xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect",
                           "::nvfp4::gsg::GroupedScaledGemmDialect"];
}

def FuseEpiloguePass : Pass<"gsg-fuse-epilogue"> {
  let summary = "move activations and quantisers into the epilogue";
  let description = [{
    Moves a standalone `glu` or `quantize` into the epilogue of the `matmul`
    that produces its operand, where that changes no bit of any result:

    - `glu` of the result of a product without activation and quantiser, if
      that result is f32, or bf16 (the epilogue then rounds with `round_bf16`).
      A pre-activation that has other uses stays, as `preact_outs`. Rows outside
      every group are zero afterwards (`tail = zero`) if they were zero;
    - `quantize` of an f32 result, if both name the same groups and the result
      has no other use.

    Accepts any IR; keeps what it cannot fuse. Afterwards no further fusion of
    these two kinds is possible.

    Before:

    ```mlir
    !a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
    !b = !grouped_scaled_gemm.scaled<64x64, nvfp4>
    func.func @f(%a: !a, %b: !b, %z: tensor<16x64xf32>, %y: tensor<16x32xbf16>)
        -> tensor<16x32xbf16> {
      %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
          outs(%z : tensor<16x64xf32>) -> tensor<16x64xf32>
      %g = grouped_scaled_gemm.glu <swiglu, gate = <halves, gate_first>>
          (%d : tensor<16x64xf32>) outs(%y : tensor<16x32xbf16>)
          -> tensor<16x32xbf16>
      return %g : tensor<16x32xbf16>
    }
    ```

    After:

    ```mlir
    !a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
    !b = !grouped_scaled_gemm.scaled<64x64, nvfp4>
    func.func @f(%a: !a, %b: !b, %z: tensor<16x64xf32>, %y: tensor<16x32xbf16>)
        -> tensor<16x32xbf16> {
      %g = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
          activation = <swiglu, gate = <halves, gate_first>>
          outs(%y : tensor<16x32xbf16>) -> tensor<16x32xbf16>
      return %g : tensor<16x32xbf16>
    }
    ```
  }];
  let dependentDialects = ["::nvfp4::gsg::GroupedScaledGemmDialect"];
}

def ExpandEpiloguePass : Pass<"gsg-expand-epilogue"> {
  let summary = "replace the clauses of products by a region";
  let description = [{
    Puts all steps of `matmul` and `matmul_list` after the accumulator into
    their `epilogue` region, in the order of docs/Spec.md: operations of arith on
    one element in f32, `load_clause` for the values of operands, `round_bf16`
    and `sigmoid`, `pair_columns` where the columns of the product become those
    of the result, `store_preact`, `fold_amax` and `store_result`. The region of a
    custom activation becomes a part of it.

    Accepts any IR. Afterwards every product has such a region; `activation` is
    `custom`, with the gate layout, and neither rounds nor has parameters, and
    `prob` has no position. Operands and other attributes stay: `quantizer`,
    which `store_result` uses, and `math`, on which the tiles of kernels depend.

    `convert-gsg-to-cpu` and `convert-gsg-to-warpspec` lower the region and take
    no products without it. Passes that fuse, split and choose layouts come
    before. The interpreter refuses expanded products: it is the oracle of this
    pass.

    Before:

    ```mlir
    !a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
    !b = !grouped_scaled_gemm.scaled<64x64, nvfp4>
    func.func @f(%a: !a, %b: !b, %s: f32, %bias: tensor<64xbf16>,
                 %p: tensor<16xf32>, %y: tensor<16x32xbf16>)
        -> tensor<16x32xbf16> {
      %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
          alpha(%s : f32) bias(%bias : tensor<64xbf16>)
          prob(%p : tensor<16xf32>) at post_activation
          activation = <reglu, gate = <halves, gate_first>, round_bf16>
          outs(%y : tensor<16x32xbf16>) -> tensor<16x32xbf16>
      return %d : tensor<16x32xbf16>
    }
    ```

    After:

    ```mlir
    !a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
    !b = !grouped_scaled_gemm.scaled<64x64, nvfp4>
    func.func @f(%a: !a, %b: !b, %s: f32, %bias: tensor<64xbf16>,
                 %p: tensor<16xf32>, %y: tensor<16x32xbf16>)
        -> tensor<16x32xbf16> {
      %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
          alpha(%s : f32) bias(%bias : tensor<64xbf16>)
          prob(%p : tensor<16xf32>)
          activation = <custom, gate = <halves, gate_first>>
          epilogue {
          ^bb0(%acc: f32):
            %alpha = grouped_scaled_gemm.load_clause alpha
            %0 = arith.mulf %alpha, %acc : f32
            %1 = grouped_scaled_gemm.load_clause bias
            %z = arith.addf %0, %1 : f32
            %gate, %up = grouped_scaled_gemm.pair_columns %z
            %g = grouped_scaled_gemm.round_bf16 %gate
            %u = grouped_scaled_gemm.round_bf16 %up
            %cst = arith.constant 0.0 : f32
            %2 = arith.maximumf %g, %cst : f32
            %3 = arith.mulf %2, %u : f32
            %prob = grouped_scaled_gemm.load_clause prob
            %4 = arith.mulf %3, %prob : f32
            grouped_scaled_gemm.store_result %4
          }
          outs(%y : tensor<16x32xbf16>) -> tensor<16x32xbf16>
      return %d : tensor<16x32xbf16>
    }
    ```
  }];
  // Builders of GsgArithmetic have pointers among their types.
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::math::MathDialect",
                           "::nvfp4::gsg::GroupedScaledGemmDialect"];
}

def LayOutWeightsPass : Pass<"gsg-lay-out-weights", "::mlir::ModuleOp"> {
  let summary = "make functions expect weights laid out for sm_90a";
  let description = [{
    Weights that arrive as arguments are laid out once by who has them, instead
    of in every launch. Accepts any module with scaled values as values.
    Afterwards an argument of type `scaled` that is the only weights of products,
    in its own function or in one that is called with it, has the layout `wgmma`
    (`wgmma_f16` for rows of f16), and a GLU whose gate and up rows kernels for
    sm_90a cannot pair has them in runs of 32. A function `@lay_out_F` for each,
    F being the function of its first product, makes it of the linear weights:
    `relayout_gate` where rows move, and `relayout_weights`.

    What else is weights stays as it is, with a remark that says why. With
    `functions-only` the module keeps nothing but the functions that lay out,
    which compile for any CPU: products of laid weights need sm_90a. With
    `without-functions` it gets none of them, as functions on memory of a device
    want it, where packing has no code.

    Before:

    ```mlir
    !a = !grouped_scaled_gemm.scaled<?x512, nvfp4>
    !b = !grouped_scaled_gemm.scaled<8x256x512, nvfp4>
    func.func @up(%ends: tensor<8xi32>, %a: !a, %b: !b, %c: tensor<?x128xbf16>)
        -> tensor<?x128xbf16> {
      %d = grouped_scaled_gemm.matmul <ragged_rows, ends>
          groups(%ends : tensor<8xi32>) lhs(%a : !a) rhs(%b : !b)
          activation = <swiglu, gate = <halves, gate_first>>
          outs(%c : tensor<?x128xbf16>) -> tensor<?x128xbf16>
      return %d : tensor<?x128xbf16>
    }
    ```

    After:

    ```mlir
    !a = !grouped_scaled_gemm.scaled<?x512, nvfp4>
    !b = !grouped_scaled_gemm.scaled<8x256x512, nvfp4>
    !laid = !grouped_scaled_gemm.scaled<8x256x512, nvfp4, wgmma>
    func.func @up(%ends: tensor<8xi32>, %a: !a, %b: !laid, %c: tensor<?x128xbf16>)
        -> tensor<?x128xbf16> {
      %d = grouped_scaled_gemm.matmul <ragged_rows, ends>
          groups(%ends : tensor<8xi32>) lhs(%a : !a) rhs(%b : !laid)
          activation = <swiglu, gate = <32, gate_first>>
          outs(%c : tensor<?x128xbf16>) -> tensor<?x128xbf16>
      return %d : tensor<?x128xbf16>
    }
    func.func @lay_out_up(%w: !b) -> !laid {
      %runs = grouped_scaled_gemm.relayout_gate(%w : !b)
          from <halves, gate_first> to <32, gate_first> -> !b
      %laid = grouped_scaled_gemm.relayout_weights(%runs : !b) -> !laid
      return %laid : !laid
    }
    ```
  }];
  let options = [
    Option<"functionsOnly", "functions-only", "bool", /*default=*/"false",
           "keep only the functions that lay out">,
    Option<"withoutFunctions", "without-functions", "bool", /*default=*/"false",
           "leave out the functions that lay out">];
  let dependentDialects = ["::mlir::func::FuncDialect", "::nvfp4::gsg::GroupedScaledGemmDialect"];
}

def SplitListPass : Pass<"gsg-split-list"> {
  let summary = "make one product a problem of lists of products";
  let description = [{
    Accepts any IR. Afterwards a `matmul_list` in storage form on memrefs has
    several problems with results of one element type, for all of which there is
    one kernel. Each problem of another list is a `matmul <dense>` with the
    strategy of the list, in order. No result changes.

    Before:

    ```mlir
    !a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
    !b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
    func.func @f(%a: memref<16x32xi8>, %as: memref<16x4xf8E4M3FN>,
                 %b: memref<32x32xi8>, %bs: memref<32x4xf8E4M3FN>, %alpha: memref<1xf32>,
                 %c: memref<16x32xf32>) {
      grouped_scaled_gemm.matmul_list
          lhs(%a scaled_by %as : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a)
          rhs(%b scaled_by %bs : memref<32x32xi8>, memref<32x4xf8E4M3FN> as !b)
          alpha(%alpha : memref<1xf32>) outs(%c : memref<16x32xf32>)
      return
    }
    ```

    After:

    ```mlir
    !a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
    !b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
    func.func @f(%a: memref<16x32xi8>, %as: memref<16x4xf8E4M3FN>,
                 %b: memref<32x32xi8>, %bs: memref<32x4xf8E4M3FN>, %alpha: memref<1xf32>,
                 %c: memref<16x32xf32>) {
      %c0 = arith.constant 0 : index
      %0 = memref.load %alpha[%c0] : memref<1xf32>
      grouped_scaled_gemm.matmul <dense>
          lhs(%a scaled_by %as : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a)
          rhs(%b scaled_by %bs : memref<32x32xi8>, memref<32x4xf8E4M3FN> as !b)
          alpha(%0 : f32) outs(%c : memref<16x32xf32>)
      return
    }
    ```
  }];
  let options = [Option<"all", "all", "bool", /*default=*/"false",
                        "make products of every list in storage form">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

def SeparateQuantizationPass : Pass<"gsg-separate-quantization"> {
  let summary = "make a quantisation that no kernel does an operation";
  let options = [Option<"explain", "explain", "bool", /*default=*/"false",
                        "say in a remark what becomes an operation, and why">];
  let description = [{
    Accepts any IR. Afterwards no `matmul` in storage form on memrefs has a
    result that is quantised by squares (`two_d`), has blocks along rows or
    scales in `blocked_8x4`, or starts `compact`. Such a product writes f32 into
    memory that is freed after it, 4 bytes for each element, and a `quantize`
    follows. With `tail = zero` values and scales are zeroed first. No result
    changes.

    Kernels quantise rows, as the result of the product, and transposed K-major
    copies: blocks along rows, groups that begin with a block (`starts = whole`),
    scales in `linear` or `blocked`. A copy of rows becomes the result where there
    is none. All other copies become a `quantize` each, of `outs` where it has
    the numbers, or of y in f32 together with the result. With `explain` a
    remark says which, and why.

    Before:

    ```mlir
    !a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
    !b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
    !o = !grouped_scaled_gemm.scaled<16x32, nvfp4, axis = 0>
    func.func @f(%a: memref<16x32xi8>, %as: memref<16x4xf8E4M3FN>,
                 %b: memref<32x32xi8>, %bs: memref<32x4xf8E4M3FN>,
                 %o: memref<16x16xi8>, %os: memref<1x32xf8E4M3FN>) {
      grouped_scaled_gemm.matmul <dense>
          lhs(%a scaled_by %as : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a)
          rhs(%b scaled_by %bs : memref<32x32xi8>, memref<32x4xf8E4M3FN> as !b)
          quantizer = <te>
          outs(%o scaled_by %os : memref<16x16xi8>, memref<1x32xf8E4M3FN> as !o)
      return
    }
    ```

    After:

    ```mlir
    !a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
    !b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
    !o = !grouped_scaled_gemm.scaled<16x32, nvfp4, axis = 0>
    func.func @f(%a: memref<16x32xi8>, %as: memref<16x4xf8E4M3FN>,
                 %b: memref<32x32xi8>, %bs: memref<32x4xf8E4M3FN>,
                 %o: memref<16x16xi8>, %os: memref<1x32xf8E4M3FN>) {
      %y = memref.alloc() {alignment = 64 : i64} : memref<16x32xf32>
      grouped_scaled_gemm.matmul <dense>
          lhs(%a scaled_by %as : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a)
          rhs(%b scaled_by %bs : memref<32x32xi8>, memref<32x4xf8E4M3FN> as !b)
          outs(%y : memref<16x32xf32>)
      grouped_scaled_gemm.quantize <te>(%y : memref<16x32xf32>)
          outs(%o scaled_by %os : memref<16x16xi8>, memref<1x32xf8E4M3FN> as !o)
      memref.dealloc %y : memref<16x32xf32>
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect"];
}

def AssignScaleLayoutPass : Pass<"gsg-assign-scale-layout"> {
  let summary = "give products the scale and gate layouts of the target";
  let options = [Option<
    "target", "target", "std::string", /*default=*/"\"sm_100a\"",
    "sm_90a, sm_100a, sm_103a or sm_100f">];
  let description = [{
    Accepts any IR, but for `ragged_k` with pairs in a gate layout that no tile
    holds. Afterwards every `matmul` in storage form on memrefs has scales in
    the layout `blocked`: weights and rows of `dense`, `batched` and `masked` with
    starts `whole`, rows of `ragged_rows` with `upper_bound`, or
    `whole` if `align` is a multiple of 128. Scales of `matmul_list` are
    `blocked`, those of `ragged_k` `linear`, since they are laid out at the
    launch. Gate layouts become a power of two up to 64, from 32 on where the
    result has blocks of 32, for weights and bias; columns of `addend` and
    `preact_outs` stay where they are, and `outer_gate` of the product names their
    layout if it is another.

    For `target` sm_90a scales of weights and rows are `linear` instead, since
    they are coded at the launch, and gate layouts go up to 32, unless the
    product has `addend` or `preact_outs`: those of such a product stay. So do
    weights that `relayout_weights` has laid out, which are coded already.

    What is not so yet goes through `relayout_scales` or `relayout_gate` into
    memory that is freed behind the product. No result changes.

    Before:

    ```mlir
    !a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
    !b = !grouped_scaled_gemm.scaled<32x64, nvfp4, blocked>
    func.func @f(%a: memref<16x32xi8>, %as: memref<16x4xf8E4M3FN>,
                 %b: memref<32x32xi8>, %bs: memref<1x1x32x4x4xf8E4M3FN>,
                 %c: memref<16x32xf32>) {
      grouped_scaled_gemm.matmul <dense>
          lhs(%a scaled_by %as : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a)
          rhs(%b scaled_by %bs : memref<32x32xi8>, memref<1x1x32x4x4xf8E4M3FN> as !b)
          outs(%c : memref<16x32xf32>)
      return
    }
    ```

    After:

    ```mlir
    !a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
    !l = !grouped_scaled_gemm.scaled<16x64, nvfp4, blocked>
    !b = !grouped_scaled_gemm.scaled<32x64, nvfp4, blocked>
    func.func @f(%a: memref<16x32xi8>, %as: memref<16x4xf8E4M3FN>,
                 %b: memref<32x32xi8>, %bs: memref<1x1x32x4x4xf8E4M3FN>,
                 %c: memref<16x32xf32>) {
      %l = memref.alloc() : memref<1x1x32x4x4xf8E4M3FN>
      grouped_scaled_gemm.relayout_scales(
          %a scaled_by %as : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a)
          outs(%l : memref<1x1x32x4x4xf8E4M3FN> as !l)
      grouped_scaled_gemm.matmul <dense>
          lhs(%a scaled_by %l : memref<16x32xi8>, memref<1x1x32x4x4xf8E4M3FN> as !l)
          rhs(%b scaled_by %bs : memref<32x32xi8>, memref<1x1x32x4x4xf8E4M3FN> as !b)
          outs(%c : memref<16x32xf32>)
      memref.dealloc %l : memref<1x1x32x4x4xf8E4M3FN>
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect"];
}

def StackWeightsPass : Pass<"gsg-stack-weights"> {
  let summary = "copy weights of separate operands into one";
  let description = [{
    Weights of experts that are operands of their own become one operand of
    rank 3, copies one after the other. Kernels have one matrix of all weights,
    and what is done to weights before is one operation. Operates on storage
    form on memrefs.

    Before:

    ```mlir
    !a = !grouped_scaled_gemm.scaled<?x64, nvfp4>
    !b = !grouped_scaled_gemm.scaled<128x64, nvfp4>
    func.func @f(%a: memref<?x32xi8>, %sa: memref<?x4xf8E4M3FN>,
                 %b: memref<128x32xi8>, %sb: memref<128x4xf8E4M3FN>,
                 %c: memref<128x32xi8>, %sc: memref<128x4xf8E4M3FN>,
                 %ends: memref<2xi32>, %out: memref<?x128xf32>) {
      grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : memref<2xi32>)
          lhs(%a scaled_by %sa : memref<?x32xi8>, memref<?x4xf8E4M3FN> as !a)
          rhs(%b scaled_by %sb : memref<128x32xi8>, memref<128x4xf8E4M3FN> as !b,
              %c scaled_by %sc : memref<128x32xi8>, memref<128x4xf8E4M3FN> as !b)
          outs(%out : memref<?x128xf32>)
      return
    }
    ```

    After, the operand is a memref<2x128x32xi8> as
    !grouped_scaled_gemm.scaled<2x128x64, nvfp4>.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect",
                           "::mlir::arith::ArithDialect"];
}

def SelectStrategyPass : Pass<"gsg-select-strategy"> {
  let summary = "choose tiles, stages and scheduler of every product";
  let description = [{
    Afterwards every `matmul` and `matmul_list` has a `strategy` without open
    parameters, which `target` can execute: its instruction exists, and its
    stages and accumulators fit into shared and tensor memory. Changes nothing
    else. Running it again keeps what it found.

    On `sm_90a` a product whose groups are along K gets none, because the model
    is not of it: its kernel chooses the tile. The model depends on the format
    of weights, not on that of rows, which kernels multiply in 16 bits. Kernels
    choose the stages that a given strategy leaves open there.

    A product without strategy gets the one that the cost model of
    docs/Rationale/Strategy.md predicts to be fastest. One that has a strategy
    keeps it; open parameters are filled in. A given strategy that is illegal is
    an error that says why and names the nearest legal one, and so is a product
    that has no legal strategy.

    Rows of groups that only the device knows are assumed: `expected_rows` of
    the op, else `expected-rows`, spread over the groups at random; else all rows
    of a static buffer; else 128 rows a group, a choice that is near the best
    one for 1 to 128 rows. The strategy decides how fast other numbers of rows
    are, never whether they are correct.

    With `explain` a remark at each product lists the candidates, their
    predicted microseconds, and why each lost or is illegal, or says that its
    kernel chooses. With `kernels` a product that gets no kernel, whatever the
    tile, is an error and has no remark. This holds on memrefs after
    gsg-verify-target, gsg-split-list and gsg-assign-scale-layout for `target`;
    before them other forms may be refused, such as gate layouts that the last
    one changes, and what they refuse is not.

    Before:

    ```mlir
    !a = !grouped_scaled_gemm.scaled<?x7168, nvfp4>
    !b = !grouped_scaled_gemm.scaled<8x4096x7168, nvfp4>
    func.func @f(%ends: tensor<8xi32>, %a: !a, %b: !b, %c: tensor<?x4096xbf16>)
        -> tensor<?x4096xbf16> {
      %d = grouped_scaled_gemm.matmul <ragged_rows, ends>
          groups(%ends : tensor<8xi32>) lhs(%a : !a) rhs(%b : !b)
          outs(%c : tensor<?x4096xbf16>) {expected_rows = 64 : i64}
          -> tensor<?x4096xbf16>
      return %d : tensor<?x4096xbf16>
    }
    ```

    After:

    ```mlir
    !a = !grouped_scaled_gemm.scaled<?x7168, nvfp4>
    !b = !grouped_scaled_gemm.scaled<8x4096x7168, nvfp4>
    func.func @f(%ends: tensor<8xi32>, %a: !a, %b: !b, %c: tensor<?x4096xbf16>)
        -> tensor<?x4096xbf16> {
      %d = grouped_scaled_gemm.matmul <ragged_rows, ends>
          groups(%ends : tensor<8xi32>) lhs(%a : !a) rhs(%b : !b)
          outs(%c : tensor<?x4096xbf16>)
          {expected_rows = 64 : i64,
           strategy = #grouped_scaled_gemm.strategy<m = 128, n = 8, k = 256, stages = 10, accumulator_stages = 2, scale_stages = 2, epilogue_n = 8, swap_ab = true>}
          -> tensor<?x4096xbf16>
      return %d : tensor<?x4096xbf16>
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"sm_100a\"",
           "sm_100a, sm_103a, sm_100f or sm_90a">,
    Option<"expectedRows", "expected-rows", "int64_t", /*default=*/"0",
           "rows of all groups to expect where they are unknown, 0 for no hint">,
    Option<"multiprocessors", "multiprocessors", "int64_t", /*default=*/"0",
           "multiprocessors to choose for, 0 for those of the largest device">,
    Option<"dynamicN", "dynamic-n", "bool", /*default=*/"false",
           "consider tiles with dynamic_n">,
    Option<"kernels", "kernels", "bool", /*default=*/"false",
           "only what convert-gsg-to-warpspec makes kernels of is legal">,
    Option<"explain", "explain", "bool", /*default=*/"false",
           "list the candidates in a remark at each product">];
}

def VerifyTargetPass : Pass<"gsg-verify-target"> {
  let summary = "check that a target can execute every operation";
  let description = [{
    Accepts any IR and changes nothing. Fails, with a diagnostic at each
    operation that names the constraint and the alternatives, if `target` cannot
    execute one of the dialect; fails if there is no such target.

    | target    | machine                    | refuses                        |
    |-----------|----------------------------|--------------------------------|
    | `cpu`     | x86-64                     | products of weights laid out for `sm_90a` |
    | `sm_90a`  | Hopper                     | products with extents from 2^31 on |
    | `sm_100a` | Blackwell, through tcgen05 | both                           |
    | `sm_103a`, `sm_100f` | the same, of that family | both                  |

    All refuse memrefs with a memory space: operands lie in memory of the host.
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"cpu\"",
           "cpu, sm_90a, sm_100a, sm_103a or sm_100f">];
}

def VerifyExtentsPass : Pass<"gsg-verify-extents"> {
  let summary = "check that every static shape fits into an address space";
  let description = [{
    Accepts any IR and changes nothing. Fails, with a diagnostic at the
    operation, on a result, an argument or a function type with a tensor, a
    memref or a scaled type of which the static extents other than 0 make more
    than 2^46 bytes: half of what a process of x86-64 can address. Lowerings
    compute sizes and strides in 64 bits without a look at overflow, so this
    runs before them. Dynamic extents are checked where they are allocated.

    Passes:

    ```mlir
    func.func @largest(%m: memref<?x70368744177664xi8>) {
      return
    }
    ```

    An error, "expected a type of at most 2^46 bytes":

    ```mlir
    func.func @petabyte(%m: memref<1048576x1073741824xi8>) {
      return
    }
    ```
  }];
}

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_PASSES_TD
