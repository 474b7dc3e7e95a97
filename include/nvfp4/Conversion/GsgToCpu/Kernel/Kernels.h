//===- Kernels.h - emits the CPU inner kernels ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Places the inner kernels of block-scaled GEMM in a module as llvm.func whose
// bodies use scf, arith, math, vector and llvm operations. They know nothing of
// groups, threads or epilogues: a caller prepares rows of activations once and
// then runs tiles of rows x 64 columns over all of K.
//
// After emission these upstream passes reach the LLVM dialect:
//   convert-scf-to-cf, convert-vector-to-llvm, convert-math-to-llvm,
//   convert-arith-to-llvm, convert-cf-to-llvm, reconcile-unrealized-casts
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_GSGTOCPU_KERNEL_KERNELS_H
#define NVFP4_CONVERSION_GSGTOCPU_KERNEL_KERNELS_H

#include "nvfp4/Conversion/GsgToCpu/Kernel/KernelSpec.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace nvfp4::gsg::cpu {

/// The functions of one kernel. All sizes are i64, all offsets in bytes; no
/// alignment is assumed (64 is faster) and no byte outside the stated elements
/// is read.
///
/// Scales: block j of a row is at rowScaleOffset + (j / 4) * wordStride + j %
/// 4, which covers linear (wordStride 4), 8x4 (32) and 128x4 (512). Packed
/// E2M1: element k of a row is nibble k + phase, low nibble first, from the
/// row's data offset; phase is 0 or 1, and 1 takes a slow path. Other elements
/// ignore the phase.
struct Kernels {
  /// prepareRows(data: ptr, scales: ptr, rowData: ptr, rowScales: ptr,
  ///             rows: i64, k: i64, wordStride: i64, phase: i64,
  ///             prepared: ptr)
  /// Unpacks `rows` rows of A. rowData and rowScales are arrays of `rows` i64
  /// byte offsets from data and scales. Writes getPreparedBytes(rows, k) bytes
  /// to prepared. Rows may be prepared in parts, each starting at a multiple of
  /// getTileRows(), at prepared + getPreparedOffset(row, k).
  mlir::LLVM::LLVMFuncOp prepareRows;

  /// gemmTile(prepared: ptr, rows: i64, k: i64, data: ptr, scales: ptr,
  ///          columnData: ptr, columnScales: ptr, columns: i64,
  ///          wordStride: i64, phase: i64, nextColumnData: ptr,
  ///          nextColumnScales: ptr, scratch: ptr, accumulator: ptr)
  /// Multiplies `rows` prepared rows with a panel of weight rows. columnData
  /// and columnScales are arrays of 64 i64 byte offsets from data and scales;
  /// all 64 must name readable rows of B, of which the first `columns` (1..64)
  /// are needed. nextColumn* are the arrays of the panel that this thread will
  /// run next and serve as prefetch hints only; pass columnData again for the
  /// last. scratch has getScratchBytes() bytes. The result is accumulator
  /// [padded rows][64] f32, rows and columns past the asked ones undefined; it
  /// needs no initial value.
  mlir::LLVM::LLVMFuncOp gemmTile;
};

/// The kernels of `spec` in `module`, emitted on the first call with the given
/// linkage. Call them with LLVM::CallOp.
Kernels
getOrEmitKernels(mlir::ModuleOp module, const KernelSpec &spec,
                 mlir::LLVM::Linkage linkage = mlir::LLVM::Linkage::Internal);

/// IR forms (i64) of the KernelPlan functions of the same name.
mlir::Value buildPaddedRows(mlir::OpBuilder &builder, mlir::Location loc,
                            const KernelPlan &plan, mlir::Value rows);
mlir::Value buildPreparedOffset(mlir::OpBuilder &builder, mlir::Location loc,
                                const KernelPlan &plan, mlir::Value row,
                                mlir::Value k);
/// The same of the plan with this getPreparedStepBytes().
mlir::Value buildPreparedOffset(mlir::OpBuilder &builder, mlir::Location loc,
                                mlir::Value row, mlir::Value k,
                                mlir::Value stepBytes);

/// Loads the dialects that emitted kernels use.
void loadKernelDialects(mlir::MLIRContext &context);

} // namespace nvfp4::gsg::cpu

#endif // NVFP4_CONVERSION_GSGTOCPU_KERNEL_KERNELS_H
