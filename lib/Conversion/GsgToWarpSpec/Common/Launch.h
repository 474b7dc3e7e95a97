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

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace nvfp4::gsg::kernels {

/// Memory of the device as a kernel reads it: rows of `rowBytes` that begin
/// every `pitch` bytes.
struct Buffer {
  mlir::Value memory;
  HostNumber rows, rowBytes, pitch;
};

/// Builds one kernel and its launch side by side: every parameter is an
/// argument of the kernel and one of `warpspec.launch`, in one order. What is
/// constant is a constant in the kernel and no parameter. Operands are memory
/// of the device; one that kernels cannot read as it lies there is copied.
class Launch {
public:
  /// What becomes of memory; several may hold.
  enum Access {
    Read = 1,
    Write = 2,
    /// Zeros before the kernel runs, whatever was there.
    Zero = 4,
    /// Rows are an odd number of values of 4 bits: the half of a byte after the
    /// last one becomes zero. For memory that the kernel only reads.
    Odd = 8
  };

  /// Begins before `op`; all kernels of a module are in one `gpu.module`.
  Launch(mlir::ModuleOp module, mlir::Operation *op);

  /// `memref` as `rows` rows of `rowBytes`: as it lies in memory if the rows
  /// begin at multiples of `alignment`, else a copy in which they do, with
  /// zeros between them. What the kernel writes there is copied back.
  Buffer addBuffer(mlir::Value memref, HostNumber rows, HostNumber rowBytes,
                   int64_t alignment, int access);

  /// Scales in tiles of 128 x 4, to read: rows of tiles with `columns` scales a
  /// row. Padding of the last tile of a row is zero.
  Buffer addScales(mlir::Value memref, HostNumber rows, HostNumber rowBytes,
                   HostNumber columns);

  /// Rows of zeros that are the kernel's own.
  Buffer addScratch(HostNumber rows, int64_t rowBytes);

  /// The elements of `memref` in global memory, in a row; as `element` if one
  /// of the same width is given.
  mlir::Value addPointer(mlir::Value memref, int access,
                         mlir::Type element = {});
  /// The elements of a buffer.
  mlir::Value addPointerTo(const Buffer &buffer, mlir::Type element,
                           int access = Read);
  /// An i32 in the kernel.
  mlir::Value addNumber(HostNumber number);
  /// An i64 in the kernel, of an i64 on the host: two parameters.
  mlir::Value addLong(mlir::Value value);
  /// An address of the host, an i64 on both sides.
  mlir::Value addAddress(mlir::Value value);
  /// An f32 in the kernel.
  mlir::Value addFloat(mlir::Value value);
  /// Boxes of `boxRows` rows of `boxBytes`, which is the span of the swizzle.
  /// They hold `rowValues` values of type `element` a row: bytes, or values of
  /// FP4 that TMA pads, in rows of whole 64 bytes.
  mlir::Value addMatrixMap(const Buffer &buffer, int64_t boxRows,
                           mlir::Type element, int64_t rowValues,
                           int64_t boxBytes);
  /// Boxes of `atoms` atoms of 512 bytes along K, outermost, by `rows` rows.
  mlir::Value addScaleMap(const Buffer &buffer, int64_t atoms, int64_t rows);

  /// Tells the calls below how the product is cut into groups, and the columns
  /// of a stage along K.
  void setGroups(GroupingAttr grouping, mlir::Value offsets, int64_t stage);
  /// The values of an operand with groups along K, and its linear scales, with
  /// groups at stages of their own; `columns` is K.
  Buffer addValuesOfK(const ScaledOperand &operand, HostNumber columns);
  Buffer addScalesOfK(const ScaledOperand &operand, HostNumber columns);
  /// Rows of A in 16 bits and whole blocks of 64 columns, those of a scaled
  /// operand with linear scales as bf16; `columns` is K.
  Buffer addTokens(const ScaledOperand &rows, HostNumber columns,
                   mlir::Type element);
  /// Weights [matrices, rows, columns] with linear scales, or packed for
  /// kernels that decode them to f16 or bf16: bytes, and an f32 of each matrix.
  struct CodedWeights {
    mlir::Value codes, factors;
  };
  CodedWeights packWeights(const ScaledOperand &weights, bool isF16,
                           HostNumber matrices, HostNumber rows,
                           HostNumber columns);
  /// Whether the factors of packed weights are always 128.
  static bool hasKnownFactors(const ScaledOperand &weights);
  /// Maps of a matrix of 16-bit elements with boxes of 8, 16, ... `most` rows
  /// by `blocks` K blocks of 64.
  llvm::SmallVector<mlir::Value> addTokenMaps(const Buffer &buffer,
                                              mlir::Type element, int64_t most,
                                              int64_t blocks);
  /// The one with boxes of `rows` rows.
  mlir::Value addTokenMap(const Buffer &buffer, mlir::Type element,
                          int64_t rows, int64_t blocks) {
    return addTokenMapOf(buffer, element, rows, blocks);
  }
  /// The same of as many rows as the host says, in a table.
  void addTokenMap(const Buffer &buffer, mlir::Type element, HostNumber rows,
                   int64_t blocks);

  /// Begins a row of a table of problems. From here on maps are entries of the
  /// row and not parameters, and the functions that add them return null.
  void beginTableRow();
  /// Words of the row, in the order of the calls: a number, known or not, is
  /// one, and a pointer is two. A pointer starts at an even word; one before it
  /// may stay empty.
  void addTableNumber(HostNumber number);
  void addTablePointer(mlir::Value memory);
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
  /// Starts the kernel, whose blocks share `tiles` tiles of work, copies back
  /// what it wrote to copies, and frees these.
  void run(HostNumber tiles);

  warpspec::KernelOp getKernel() { return kernel; }
  /// Builds on the host, before the operation.
  mlir::OpBuilder host;
  /// Builds in the kernel, at its end.
  mlir::OpBuilder device;
  HostMath math;

private:
  /// Operands of the staging operations for `groups`, if there are any.
  struct Groups {
    mlir::Value offsets;
    warpspec::GroupFormAttr form;
    int64_t align = 1, stage = 1;
    /// Their number where they lie along K, else 0.
    HostNumber numAlongK = {0, {}};
  };

  /// New memory of the device until the kernel has run: rows of whole elements.
  mlir::Value allocate(HostNumber rows, HostNumber rowBytes,
                       mlir::Type element);
  mlir::Value allocate(llvm::ArrayRef<HostNumber> extents, mlir::Type element);
  void clear(mlir::Value memory);
  /// Copies `rows` rows of `rowBytes` from or to `memref`, whose last `last`
  /// dimensions are a row, to or from row `first` on of `staged`.
  void copyRows(mlir::Value memref, mlir::Value staged, HostNumber first,
                HostNumber rows, HostNumber rowBytes, bool isBack);
  mlir::Value addParameter(mlir::Value value, mlir::Type type,
                           bool isWritten = false);
  mlir::Value addMap(const Buffer &buffer, warpspec::TensorMapType type,
                     llvm::ArrayRef<HostNumber> sizes,
                     llvm::ArrayRef<HostNumber> strides,
                     mlir::ValueRange box = {});
  /// A map with boxes of `rows` rows, or of as many as `box` says.
  mlir::Value addTokenMapOf(const Buffer &buffer, mlir::Type element,
                            int64_t rows, int64_t blocks,
                            mlir::ValueRange box = {});
  /// The columns that whole stages for `columns` of K have.
  HostNumber countStagedColumns(HostNumber columns);
  /// Whether scales of groups along K follow each other.
  static bool isCompact(const ScaledOperand &operand);

  mlir::ModuleOp module;
  /// Of the operation, by whose name errors call it.
  mlir::Location loc;
  warpspec::KernelOp kernel;
  llvm::SmallVector<mlir::Value> parameters;
  llvm::SmallVector<int32_t> written;
  /// Copies of what the kernel writes.
  struct Result {
    mlir::Value memref, staged;
    HostNumber rows, rowBytes;
  };
  llvm::SmallVector<Result> results;
  llvm::SmallVector<mlir::Value> allocations;
  Groups groups;
  bool inTable = false;
  llvm::SmallVector<mlir::Value> tableValues;
  llvm::SmallVector<mlir::Type> rowMaps;
  int64_t tableRows = 0;
};

} // namespace nvfp4::gsg::kernels

#endif // NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_LAUNCH_H
