//===- Kernel.h - The roles of a kernel for tcgen05 -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Three roles: TMA loads stages, the tensor core multiplies them into tensor
// memory, threads finish what is there. Beside unscaled rows there is a fourth,
// whose threads decode weights from shared into tensor memory.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_TCGEN05_KERNEL_H
#define NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_TCGEN05_KERNEL_H

#include "../Common/Roles.h"
#include "../Common/TileLoop.h"
#include "Parameters.h"

namespace nvfp4::gsg::tcgen05 {

/// What roles hand to each other: pipelines, and columns of tensor memory for
/// scales. Null if the plan has none.
struct Buffers {
  mlir::Value input, accumulators, sharedColumns, scaleColumns, mScales,
      nScales, transposed, staging;
  /// Beside unscaled rows: `input` has the rows alone, `codes` has weights with
  /// their scales, and `decoded` what the tensor core multiplies. Rows that are
  /// split come with the codes, and threads fill `input`.
  mlir::Value codes, decoded;
};

/// Warps that decode: each has 32 rows of weights and half of K of a stage.
inline constexpr int64_t kDecodeWarps = 8;

/// Floats of a row of transposed accumulators: 128, and 16 bytes so that the
/// rows that threads of a warp read lie in different banks.
inline constexpr int64_t kTransposedRow = 132;

/// A kernel whose buffers exist.
struct Kernel : kernels::KernelContext {
  Kernel(const KernelContext &context, const Plan &plan,
         const OperandMaps &maps, const Buffers &buffers, mlir::Value rank)
      : KernelContext(context), plan(plan), maps(maps), buffers(buffers),
        rank(rank) {}

  /// Where this block's part of a tile begins: `extent` further in the second
  /// block of a pair.
  mlir::Value addOwn(mlir::Value start, int64_t extent) const {
    return rank ? add(start, mul(rank, extent)) : start;
  }

  /// Runs `body` for this block's tiles, or parts of them along K (split-K).
  /// Those of the epilogue have a parity and a number where they are needed.
  void forEachTile(
      bool isEpilogue,
      llvm::function_ref<void(const kernels::TileState &tile)> body) const;

  const Plan &plan;
  const OperandMaps &maps;
  const Buffers buffers;
  /// Which block of a pair this is; null without pairs.
  const mlir::Value rank;
};

/// Builds the roles of a kernel whose parameters exist.
void buildKernel(kernels::Launch &launch, const Plan &plan,
                 const Parameters &parameters, MatmulOp op);

/// Each role, at the insertion point.
void buildLoadRole(const Kernel &kernel);
void buildMmaRole(const Kernel &kernel);
void buildDecodeRole(const Kernel &kernel);
void buildEpilogueRole(const Kernel &kernel);

} // namespace nvfp4::gsg::tcgen05

#endif // NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_TCGEN05_KERNEL_H
