//===- LaunchOps.td - Operations that share a launch -------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operation that gsg-fuse-launches makes for GPU targets, on memory of the
// device.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_LAUNCHOPS_TD
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_LAUNCHOPS_TD

include "mlir/IR/RegionKindInterface.td"
include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemmBase.td"

def Gsg_OneLaunchOp : Gsg_Op<"one_launch", [
    RecursiveMemoryEffects, SingleBlock, NoTerminator, NoRegionArguments,
    AttrSizedOperandSegments]> {
  let summary = "operations that one kernel computes";
  let description = [{
    Operations on memory of the device, of which each reads what the one before
    writes: `route`, `sort_tokens` and, if it is there, `permute`; or `permute`
    and `quantize`. Or two `quantize` of one matrix, of which the second one is
    `transposed`: the threads of a warp read one tile of the matrix for both.
    It means the operations in their order, but for memory that `permute` writes
    for a `quantize`, which need not be written.

    `most_tokens` bounds the tokens that `route` has: the kernel keeps a bit for
    each of them and each expert in shared memory. `quantized` names the rows of
    the tokens as `quantize` would make them, from which the kernel takes the
    rows that it is to quantise: each once and not once for each expert.

    Example:

    ```mlir
    !l = memref<?x32xf32, #gpu.address_space<global>>
    !w = memref<?x4xf32, #gpu.address_space<global>>
    !e = memref<?x4xi32, #gpu.address_space<global>>
    !n = memref<32xi32, #gpu.address_space<global>>
    !t = memref<?xi32, #gpu.address_space<global>>
    func.func @f(%l: !l, %w: !w, %e: !e, %n: !n, %t: !t, %r: !e) {
      grouped_scaled_gemm.one_launch attributes {most_tokens = 64 : i64} {
        grouped_scaled_gemm.route topk_softmax (%l : !l) outs(%w, %e : !w, !e)
        grouped_scaled_gemm.sort_tokens(%e : !e) outs(%n, %t, %r : !n, !t, !e)
      }
      return
    }
    ```
  }];
  let arguments = (ins
    OptionalAttr<I64Attr>:$most_tokens,
    Arg<Optional<AnyMemRef>, "values of quantised tokens", [MemRead]>:$tokens,
    Arg<Optional<AnyMemRef>, "their scales", [MemRead]>:$token_scales,
    OptionalAttr<TypeAttr>:$token_type);
  let regions = (region SizedRegion<1>:$launched);
  let assemblyFormat = [{
    (`quantized` `(` $tokens^ `scaled_by` $token_scales `:` type($tokens) `,`
                     type($token_scales) `as` $token_type `)`)?
    attr-dict-with-keyword $launched
  }];
  let extraClassDeclaration = [{
    /// The most that `most_tokens` may be.
    static constexpr int64_t kMostTokens = 128;
    /// Warps of a block that routes at most `tokens` tokens: one for each, from
    /// 8 to 32; 8 beyond 256 experts, whose keys take the registers.
    static int64_t countWarps(RouteOp route, int64_t tokens);
    /// The type of `tokens`, or null.
    ScaledType getTokensType();
    /// The operation of this type, or null.
    template <typename OpTy> OpTy find() {
      auto found = getBody()->template getOps<OpTy>();
      return found.empty() ? OpTy() : *found.begin();
    }
  }];
  let hasRegionVerifier = 1;
}

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_LAUNCHOPS_TD
