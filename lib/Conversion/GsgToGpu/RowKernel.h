//===- RowKernel.h - Kernels by rows of their result ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Launches in which each thread computes some neighbours of one row of a
// matrix, and the vectors that it loads and stores.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOGPU_ROWKERNEL_H
#define NVFP4_LIB_CONVERSION_GSGTOGPU_ROWKERNEL_H

#include "nvfp4/Conversion/GsgToLoops/DataChecks.h"
#include "nvfp4/Conversion/GsgToLoops/DeviceLoops.h"
#include "nvfp4/Dialect/DeviceMemory.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/PatternMatch.h"

namespace nvfp4::gsg::togpu {

using arithmetic::LoopBuilder;
using loops::beginKernel;
using loops::getLaunchLoc;
using loops::nameKernel;

/// `memref` as rows of its last dimension. One of another rank than 2 has no
/// gaps (explainNoDeviceCode).
mlir::Value getMatrix(LoopBuilder &b, mlir::Value memref);

/// How many neighbours a thread has: the most, up to 16 bytes of each of
/// `matrices`, of which whole vectors make up `columns`; 1 if that is dynamic
/// or a matrix has gaps. Device memory is aligned to 16 bytes.
int64_t countLanes(mlir::ValueRange matrices, int64_t columns);

/// Launches threads for all of the matrix `out`, `lanes` neighbours each;
/// `body` emits the code of the thread that has those from `column` of `row`.
/// The kernel is called after the operation `name`. Waiting for the launch
/// before it costs each block some time, so that many blocks with little work
/// had better not `startEarly`: 16,384 rows of `permute` took 61 us on an H200
/// instead of 40.
void launchRows(
    LoopBuilder &b, llvm::StringRef name, mlir::Value out, int64_t lanes,
    llvm::function_ref<void(mlir::Value row, mlir::Value column)> body,
    bool startEarly = true);

/// A launch of `blocks` blocks of `threads` threads, with `shared` arrays of
/// so many elements in shared memory, which are i32 unless `element` is another
/// type; `body` emits the code of a thread.
struct BlockCode {
  mlir::Value block, thread;
  mlir::ValueRange shared;
};
void launchBlocks(LoopBuilder &b, llvm::StringRef name, mlir::Value blocks,
                  int64_t threads, llvm::ArrayRef<int64_t> shared,
                  llvm::function_ref<void(const BlockCode &)> body,
                  mlir::Type element = mlir::Type());

/// `body` for the numbers from `from` to `to`, all index, in steps of `step`.
void forRange(LoopBuilder &b, mlir::Value from, mlir::Value to,
              mlir::Value step, llvm::function_ref<void(mlir::Value)> body);

/// The neighbours of a matrix from a column on, as they are stored: a vector of
/// `lanes` elements, or a scalar for one.
mlir::Value loadLanes(LoopBuilder &b, mlir::Value matrix, mlir::Value row,
                      mlir::Value column, int64_t lanes);
void storeLanes(LoopBuilder &b, mlir::Value value, mlir::Value matrix,
                mlir::Value row, mlir::Value column);

/// The halves of an f64 as i32, the low one first, and back.
std::pair<mlir::Value, mlir::Value> splitF64(LoopBuilder &b, mlir::Value value);
mlir::Value joinF64(LoopBuilder &b, mlir::Value low, mlir::Value high);

/// The sum of an f64 of each thread of a warp whose number is the same modulo
/// `share`, a power of two, in steps of two; each thread has it.
mlir::Value addOverWarp(LoopBuilder &b, mlir::Value sum, int64_t share = 1);

/// The values of the branch that is taken; both have as many, of equal types.
llvm::SmallVector<mlir::Value>
branchValues(LoopBuilder &b, mlir::Value condition,
             llvm::function_ref<llvm::SmallVector<mlir::Value>()> thenValues,
             llvm::function_ref<llvm::SmallVector<mlir::Value>()> elseValues);

/// `element`, or vectors of it.
mlir::Type getLaneType(mlir::Type element, int64_t lanes);

/// Whether `entry`, an entry of token_of_row or row_of_slot as an index, names
/// one of `count` rows.
mlir::Value isRow(LoopBuilder &b, mlir::Value entry, mlir::Value count);
/// The neighbours from `column` on of the row of `permute`'s input that `token`
/// names, or zeros; reports one that is not -1.
mlir::Value loadToken(LoopBuilder &b, PermuteOp op, mlir::Value token,
                      mlir::Value row, mlir::Value column, int64_t lanes,
                      const loops::DataChecks &checks);
/// The check of the entries of token_of_row.
loops::DataChecks::Check getPermuteCheck(mlir::MLIRContext *context);

/// With `checksData` kernels check what they read (DataChecks.h).
void populatePermutationPatterns(mlir::RewritePatternSet &patterns,
                                 bool checksData);
void populateActivationPatterns(mlir::RewritePatternSet &patterns,
                                bool checksData);
void populateAmaxPatterns(mlir::RewritePatternSet &patterns);
void populateSumRowsPatterns(mlir::RewritePatternSet &patterns,
                             bool checksData);
void populateSortTokensPatterns(mlir::RewritePatternSet &patterns,
                                bool checksData);
/// sort_tokens of many entries, in three launches: `entries` and `rowOfSlot`
/// are the matrices as one row.
void launchManyTokens(LoopBuilder &b, SortTokensOp op, mlir::Value entries,
                      mlir::Value rowOfSlot, const loops::DataChecks &checks);
/// Reports entry `at` of `experts`, which is bad.
void reportStray(LoopBuilder &b, SortTokensOp op, mlir::Value at,
                 mlir::Value entry, mlir::Value isBad,
                 const loops::DataChecks &checks);
/// The expert, i32, and its weight, f32, that a lane of the warp of `token`
/// finds for the slot of its number. All lanes of the warp run the code.
struct RoutedSlot {
  mlir::Value expert, weight;
};
RoutedSlot emitRoute(LoopBuilder &b, RouteOp op, mlir::Value token,
                     mlir::Value lane);
/// Whether there is a slot of the lane's number.
mlir::Value hasSlot(LoopBuilder &b, RouteOp op, mlir::Value lane);
void populateRoutePatterns(mlir::RewritePatternSet &patterns);
/// Lowers every `one_launch` in `top`, before patterns find what is in them.
void lowerOneLaunches(mlir::Operation *top, bool checksData);
void populateStagingPatterns(mlir::RewritePatternSet &patterns);
void populatePackingPatterns(mlir::RewritePatternSet &patterns,
                             bool checksData);

/// Replaces an operation on memrefs of the device by the launch that `lower`
/// emits.
template <typename OpTy> struct LowerToLaunch : mlir::OpRewritePattern<OpTy> {
  explicit LowerToLaunch(mlir::MLIRContext *context, bool checksData = false)
      : mlir::OpRewritePattern<OpTy>(context), checksData(checksData) {}

  mlir::LogicalResult
  matchAndRewrite(OpTy op, mlir::PatternRewriter &rewriter) const final {
    if (!isDeviceMemory(op.getOut().getType()))
      return rewriter.notifyMatchFailure(op, "is not on the device");
    loops::DeviceLoopBuilder b(rewriter, op);
    lower(op, b);
    rewriter.eraseOp(op);
    return mlir::success();
  }

  virtual void lower(OpTy op, LoopBuilder &b) const = 0;

protected:
  /// The checks of `op`, if kernels check their data.
  loops::DataChecks makeChecks(LoopBuilder &b, OpTy op,
                               loops::DataChecks::Check check) const {
    return checksData ? loops::DataChecks(b.builder, op, check)
                      : loops::DataChecks();
  }
  /// `op` if kernels check its groups, or null.
  mlir::Operation *getChecked(OpTy op) const {
    return checksData ? op.getOperation() : nullptr;
  }

private:
  const bool checksData;
};

} // namespace nvfp4::gsg::togpu

#endif // NVFP4_LIB_CONVERSION_GSGTOGPU_ROWKERNEL_H
