//===- LaunchPasses.td - Passes that decide on launches ----*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations that share a launch or a function, and kernels that a launch
// chooses among. Passes.td includes them.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_LAUNCHPASSES_TD
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_LAUNCHPASSES_TD

include "mlir/Pass/PassBase.td"

def FuseLaunchesPass : Pass<"gsg-fuse-launches"> {
  let summary = "make one launch of operations beside products where it pays";
  let description = [{
    Accepts memrefs, which will be on a device. `route`, the `sort_tokens` that
    reads its experts, and the `permute` that reads their order become `one_launch`
    where that is predicted to be faster (`nvfp4/KernelTarget/LaunchCosts.h`). Every
    block of that kernel routes and sorts all tokens, so it is for few of them:
    without a known number the host chooses by the extent of the logits, between
    `one_launch` and the operations, in the branches of an `scf.if`.

    A `permute` and the `quantize` that alone reads its rows become `one_launch` as
    well. From the number of tokens on where that is predicted to be faster, each
    token is quantised once, and the launch moves what that made. Two `quantize` of
    one matrix, of its rows and `transposed`, become `one_launch` where the last one
    stands.

    They stay apart, or `permute` does, if what stands between them, or another of
    them, may read or write their memory. Results have the same bits. `explain`
    lists launches with predicted times, each choice and what kept others out.
  }];
  let options = [Option<"explain", "explain", "bool", "false", "say what is one launch and why">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def SeparateRowsPass : Pass<"gsg-separate-rows"> {
  let summary = "give rows that are only quantised memory of their own";
  let description = [{
    Accepts tensors. The `tensor.empty` that a `permute` writes becomes
    `bufferization.alloc_tensor` if a `quantize` is the only use of its rows, which
    then share no memory with later tensors: gsg-fuse-launches sees who reads them.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect"];
}

def VersionProductsPass : Pass<"gsg-version-products"> {
  let summary = "make kernels for few and for many rows of one product";
  let description = [{
    Accepts products in storage form on memrefs. A `matmul` whose rows are known
    only when it runs, without `strategy` and `expected_rows`, becomes up to
    `most` of them in branches on the number of rows. Each has the `strategy`
    that the cost model predicts to be best over its range of rows and an
    `expected_rows` within it. There are as few as are near the best tile at
    every number of rows; where one tile is, the product stays as it is.

    The host reads the number from the extent of `lhs`, so that nothing waits for
    the device. Where rows are spread over groups unevenly, or the buffer is not
    full, a version is only less fast: all of them give the same bits. Products
    that read the number of rows on the device alone stay as they are: groups
    that are `masked`, and rows of a known extent.

    With `explain` a remark at each product lists the versions, and what they
    lose to the best tile by the model.

    Before:

    ```mlir
    func.func @f(%a: memref<?x4096xbf16>, %w: memref<128x3072x2048xi8>, %s: memref<128x3072x256xf8E4M3FN>,
                 %ends: memref<128xi32>, %c: memref<?x3072xbf16>) {
      grouped_scaled_gemm.matmul <ragged_rows> groups(%ends : memref<128xi32>)
          lhs(%a : memref<?x4096xbf16>)
          rhs(%w scaled_by %s : memref<128x3072x2048xi8>, memref<128x3072x256xf8E4M3FN>
            as !grouped_scaled_gemm.scaled<128x3072x4096, nvfp4>)
          outs(%c : memref<?x3072xbf16>)
      return
    }
    ```

    After, with `target=sm_90a most=2`, without operands:

    ```mlir
    func.func @f(%a: memref<?x4096xbf16>) {
      %c0 = arith.constant 0 : index
      %rows = memref.dim %a, %c0 : memref<?x4096xbf16>
      %most = arith.constant 5120 : index
      %few = arith.cmpi ule, %rows, %most : index
      scf.if %few {
        // grouped_scaled_gemm.matmul ... {expected_rows = 64 : i64,
        //   strategy = #grouped_scaled_gemm.strategy<m = 32, n = 256, k = 256>}
      } else {
        // grouped_scaled_gemm.matmul ... {expected_rows = 32768 : i64,
        //   strategy = #grouped_scaled_gemm.strategy<m = 96, n = 256, k = 128>}
      }
      return
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"sm_100a\"",
           "sm_100a, sm_103a, sm_100f or sm_90a">,
    Option<"most", "most", "int64_t", /*default=*/"4",
           "versions of a product at most, 1 for none">,
    Option<"multiprocessors", "multiprocessors", "int64_t", /*default=*/"0",
           "multiprocessors to choose for, 0 for those of the largest device">,
    Option<"explain", "explain", "bool", /*default=*/"false",
           "list the versions of each product">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def OutlineRepeatedPass : Pass<"gsg-outline-repeated", "::mlir::ModuleOp"> {
  let summary = "move operations that a module repeats into functions";
  let description = [{
    Equal operations of the dialect on memory, `least` or more of them, become
    calls of one private function that holds the operation: lists of problems
    and weights of experts that are memrefs of their own, of which each is laid
    out anew, are lowered once and not hundreds of times. Operations are equal
    that have the same types and attributes, whatever their operands are.

    Before:

    ```mlir
    !t = !grouped_scaled_gemm.scaled<8x32, nvfp4>
    func.func @f(%a: memref<8x16xi8>, %s: memref<8x2xf8E4M3FN>, %x: memref<8x32xf32>,
                 %b: memref<8x16xi8>, %r: memref<8x2xf8E4M3FN>, %y: memref<8x32xf32>) {
      grouped_scaled_gemm.dequantize(%a scaled_by %s : memref<8x16xi8>, memref<8x2xf8E4M3FN> as !t)
          outs(%x : memref<8x32xf32>)
      grouped_scaled_gemm.dequantize(%b scaled_by %r : memref<8x16xi8>, memref<8x2xf8E4M3FN> as !t)
          outs(%y : memref<8x32xf32>)
      return
    }
    ```

    After, with `least=2`:

    ```mlir
    !t = !grouped_scaled_gemm.scaled<8x32, nvfp4>
    func.func @f(%a: memref<8x16xi8>, %s: memref<8x2xf8E4M3FN>, %x: memref<8x32xf32>,
                 %b: memref<8x16xi8>, %r: memref<8x2xf8E4M3FN>, %y: memref<8x32xf32>) {
      call @dequantize(%a, %s, %x) : (memref<8x16xi8>, memref<8x2xf8E4M3FN>, memref<8x32xf32>) -> ()
      call @dequantize(%b, %r, %y) : (memref<8x16xi8>, memref<8x2xf8E4M3FN>, memref<8x32xf32>) -> ()
      return
    }
    func.func private @dequantize(%a: memref<8x16xi8>, %s: memref<8x2xf8E4M3FN>, %x: memref<8x32xf32>)
        attributes {passthrough = ["noinline"]} {
      grouped_scaled_gemm.dequantize(%a scaled_by %s : memref<8x16xi8>, memref<8x2xf8E4M3FN> as !t)
          outs(%x : memref<8x32xf32>)
      return
    }
    ```
  }];
  let options = [Option<"least", "least", "unsigned", /*default=*/"4",
                        "so many equal operations become a function">];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_LAUNCHPASSES_TD
