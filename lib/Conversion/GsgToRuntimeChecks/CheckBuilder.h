//===- CheckBuilder.h - Emits calls of the runtime's checks -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an operation asks of data that are known at run time only, as calls of
// the functions of nvfp4_checks.h. What is static is not checked: the verifiers
// did that. Labels are those of docs/Spec.md.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTORUNTIMECHECKS_CHECKBUILDER_H
#define NVFP4_LIB_CONVERSION_GSGTORUNTIMECHECKS_CHECKBUILDER_H

#include "nvfp4/Conversion/GsgToRuntimeChecks/CheckModule.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace nvfp4::gsg::checks {

/// A non-negative number of 64 bits that may be known.
struct Extent {
  std::optional<int64_t> known;
  /// i64, null if the number is known.
  mlir::Value value;
};

/// A name for the message, and what the extent must be.
using NamedExtent = std::pair<llvm::StringRef, Extent>;

/// The checks of one operation, emitted before it.
class CheckBuilder {
public:
  /// Without `readsData` nothing is checked that memory holds: the host cannot
  /// read that of a device.
  CheckBuilder(CheckModule &module, mlir::Operation *op, bool readsData = true);

  /// Extent `index` of a memref.
  Extent dim(mlir::Value memref, int64_t index);
  Extent constant(int64_t value) { return {value, {}}; }
  Extent add(Extent a, int64_t b);
  Extent add(Extent a, Extent b);
  Extent mul(Extent a, int64_t b);
  Extent mul(Extent a, Extent b);
  /// a / b, rounded down or up; b is positive.
  Extent div(Extent a, int64_t b);
  Extent ceilDiv(Extent a, int64_t b);

  void equal(llvm::StringRef label, const llvm::Twine &what, Extent seen,
             Extent expected);
  void atLeast(llvm::StringRef label, const llvm::Twine &what, Extent seen,
               Extent low);
  void inRange(llvm::StringRef label, const llvm::Twine &what, Extent seen,
               int64_t low, Extent high);
  void multiple(llvm::StringRef label, const llvm::Twine &what, Extent seen,
                int64_t factor);

  /// `memref` has these extents; nothing for null and for scalars.
  void shape(llvm::StringRef label, llvm::StringRef name, mlir::Value memref,
             llvm::ArrayRef<NamedExtent> expected);
  /// `value` is a scalar or has one entry a group, or (where `width` is not 0)
  /// `width` entries a group.
  void perGroup(llvm::StringRef label, llvm::StringRef name, mlir::Value value,
                Extent groups, int64_t width = 0);

  /// quantizer_c8 for the `global_scale` of elements of extents `shape`, where
  /// it is one number.
  void globalScale(mlir::Value value, llvm::ArrayRef<Extent> shape);

  /// The logical extents of an operand, scaled or not.
  llvm::SmallVector<Extent, 3> logicalShape(const ScaledOperand &operand);
  /// The factors of packed weights are numbers that kernels know.
  void factors(const ScaledOperand &operand);

  /// storage_c6 and storage_c9 for an operand in storage form of logical
  /// extents `shape`. `isOwnShape` says that they were read from its values.
  void storage(llvm::StringRef name, const ScaledOperand &operand,
               llvm::ArrayRef<Extent> shape, bool isOwnShape = false);

  /// The number of groups that offsets describe.
  Extent numGroups(GroupingAttr grouping, mlir::Value groups);
  /// grouping_c6 to grouping_c8, where `extent` is what the groups cut.
  void groups(GroupingAttr grouping, mlir::Value groups, Extent extent);
  /// The scales of groups that cut dimension `ragged` of `shape` fit those of
  /// the operand, where they do not lie as `whole`.
  void scaleRoom(llvm::StringRef name, const ScaledOperand &operand,
                 llvm::ArrayRef<Extent> shape, GroupingAttr grouping,
                 mlir::Value groups, int64_t ragged);
  /// Every entry of `memref` is in [-1, limit).
  void indices(llvm::StringRef label, llvm::StringRef name, mlir::Value memref,
               Extent limit);

  /// dest_c3 where the IR leaves it open.
  void destinations(mlir::Operation *op);
  /// None of the last `outputs` operands shares a byte with another one.
  void disjoint(llvm::ArrayRef<mlir::OpOperand *> operands, int64_t outputs);

  /// Whether every check held, i1; null if there was nothing to check.
  mlir::Value allHold() { return holds; }

private:
  mlir::Value i64(Extent extent);
  mlir::Value i64(int64_t value) { return i64(constant(value)); }
  mlir::Value i64(mlir::Value index);
  /// Calls `name` with the place, then label and `what` unless they are empty,
  /// then `arguments`.
  void check(llvm::StringRef name, llvm::StringRef label,
             const llvm::Twine &what, llvm::ArrayRef<mlir::Value> arguments);
  /// The address of the first element.
  mlir::Value addressOf(mlir::Value memref,
                        mlir::memref::ExtractStridedMetadataOp metadata);
  llvm::SmallVector<mlir::Value> rowsOfBytes(mlir::Value memref);
  /// Pointer, bits, count and stride of offsets.
  llvm::SmallVector<mlir::Value>
  offsetArguments(GroupingAttr grouping, mlir::Value groups, Extent extent);

  const bool readsData;

  CheckModule &module;
  mlir::OpBuilder builder;
  mlir::Location loc;
  std::string where;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> dims;
  mlir::Value holds;
};

/// The checks of an operation of the dialect on memrefs.
void emitMatmulChecks(CheckBuilder &check, MatmulOp op);
void emitMatmulListChecks(CheckBuilder &check, MatmulListOp op);
/// gate_c2 for N rows, or the last dimension.
void emitGateCheck(CheckBuilder &check, GateAttr gate, Extent n);

} // namespace nvfp4::gsg::checks

#endif // NVFP4_LIB_CONVERSION_GSGTORUNTIMECHECKS_CHECKBUILDER_H
