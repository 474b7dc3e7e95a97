//===- Launch.h - Parameters of a kernel, on both sides ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The two sides of a launch, built together so that they cannot disagree.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_LAUNCH_H
#define NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_LAUNCH_H

#include "HostMath.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"
#include "nvfp4/Runtime/nvfp4_launch.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace nvfp4::gsg::kernels {

/// Builds one kernel and its launch side by side: every parameter is an
/// argument of the kernel and a call of nvfp4_launch.h, in one order. What is
/// constant is a constant in the kernel and no parameter.
class Launch {
public:
  enum Access {
    Read = NVFP4_TASK_READ,
    Write = NVFP4_TASK_WRITE,
    Zero = NVFP4_TASK_ZERO,
    Odd = NVFP4_TASK_ODD
  };

  /// Begins before `op`; all kernels of a module are in one `gpu.module`.
  Launch(mlir::ModuleOp module, mlir::Operation *op);

  /// A buffer's number, for the calls below.
  mlir::Value addBuffer(mlir::Value memref, HostNumber rows,
                        HostNumber rowBytes, int64_t alignment, int access);

  /// The same of several memrefs of one shape, one after the other, to read.
  mlir::Value addParts(mlir::ValueRange memrefs, HostNumber rows,
                       HostNumber rowBytes, int64_t alignment);

  /// Scales in tiles of 128 x 4, to read: rows of tiles with `columns` scales a
  /// row. Padding of the last tile of a row is zero.
  mlir::Value addScaleParts(mlir::ValueRange memrefs, HostNumber rows,
                            HostNumber rowBytes, HostNumber columns);

  /// Rows of zeros that are the kernel's own.
  mlir::Value addScratch(HostNumber rows, int64_t rowBytes);

  /// The elements of `memref` in global memory, in a row; as `element` if one
  /// of the same width is given.
  mlir::Value addPointer(mlir::Value memref, int access,
                         mlir::Type element = {});
  /// The elements of a buffer.
  mlir::Value addPointerTo(mlir::Value buffer, mlir::Type element);
  /// An i32 in the kernel.
  mlir::Value addNumber(HostNumber number);
  /// An i64 in the kernel, of an i64 on the host: two parameters.
  mlir::Value addLong(mlir::Value value);
  /// An f32 in the kernel.
  mlir::Value addFloat(mlir::Value value);
  mlir::Value addMatrixMap(mlir::Value buffer, int32_t type, int64_t boxRows,
                           mlir::Type element, int64_t rowValues,
                           int64_t boxBytes);
  mlir::Value addScaleMap(mlir::Value buffer, int64_t atoms, int64_t rows);

  /// Tells the calls below how the product is cut into groups, and the columns
  /// of a stage along K.
  void setGroups(GroupingAttr grouping, mlir::Value offsets, int64_t stage);
  /// The values of an operand with groups along K, and its linear scales, with
  /// groups at stages of their own; `columns` is K. Buffers.
  mlir::Value addValuesOfK(const ScaledOperand &operand, HostNumber columns);
  mlir::Value addScalesOfK(const ScaledOperand &operand, HostNumber columns);
  /// Rows of A in 16 bits, those of a scaled operand with linear scales as
  /// bf16; `columns` is K. A buffer.
  mlir::Value addTokens(const ScaledOperand &rows, HostNumber columns);
  /// Weights [matrices, rows, columns] with linear scales, coded for f16 or
  /// bf16 as nvfp4_task_coded_weights says: a pointer to bytes. The operands
  /// are one for all matrices, or one for each. `factors` becomes a pointer to
  /// f32, or null if all are 128.
  mlir::Value addCodedWeights(llvm::ArrayRef<ScaledOperand> weights, bool isF16,
                              HostNumber matrices, HostNumber rows,
                              HostNumber columns, mlir::Value &factors);
  /// Maps of a matrix of 16-bit elements with boxes of 8, 16, ... `most` rows
  /// by `blocks` K blocks of 64.
  llvm::SmallVector<mlir::Value> addTokenMaps(mlir::Value buffer,
                                              mlir::Type element, int64_t most,
                                              int64_t blocks);

  /// Begins a row of a table of problems. From here on maps are entries of the
  /// row and not parameters, and the functions that add them return null.
  void beginTableRow();
  /// Words of the row, in the order of the calls: a number, known or not, is
  /// one, and a pointer is two.
  void addTableNumber(HostNumber number);
  void addTablePointer(mlir::Value buffer);
  /// Ends the table.
  struct Table {
    /// Words of 32 bits in an entry of 128 bytes.
    static constexpr int64_t kEntryWords = 32;
    /// Entries of 128 bytes, and the same as words of 32 bits.
    mlir::Value entries, words;
    /// The maps of a row, which stand in the entries behind its first.
    llvm::SmallVector<mlir::Type> maps;
  };
  Table endTable();

  /// Starts an equal kernel of an earlier product instead, if there is one, and
  /// erases this one. Its body must be whole.
  void shareEqualKernel();
  /// Emits the start of the kernel on at most `blocks` blocks.
  void run(HostNumber blocks);

  warpspec::KernelOp getKernel() { return kernel; }
  /// Builds on the host, before the operation.
  mlir::OpBuilder host;
  /// Builds in the kernel, at its end.
  mlir::OpBuilder device;
  HostMath math;

private:
  mlir::Value call(llvm::StringRef name, llvm::ArrayRef<mlir::Value> arguments,
                   mlir::Type result = {});
  mlir::Value text(llvm::StringRef name, llvm::StringRef text);
  /// The address of a global that is known when the kernel is compiled.
  mlir::Value later(llvm::StringRef name, mlir::Type type);
  mlir::Value addArgument(mlir::Type type);
  void fillParts(mlir::Value buffer, mlir::ValueRange memrefs);
  mlir::Value getAddress(mlir::Value memref);
  /// Scales of a row, and whether those of groups along K follow each other.
  std::pair<mlir::Value, mlir::Value>
  getScaleColumns(const ScaledOperand &operand);

  mlir::ModuleOp module;
  mlir::Location loc;
  warpspec::KernelOp kernel;
  mlir::Value task;
  /// The kernel's name on the host.
  mlir::Value entry;
  bool inTable = false;
  llvm::SmallVector<mlir::Type> rowMaps;
};

} // namespace nvfp4::gsg::kernels

#endif // NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_LAUNCH_H
