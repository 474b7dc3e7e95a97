//===- Verification.h - Checks that several operations share ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The constraints of docs/Spec.md that belong to no single operation: forms of
// operands, storage of scaled values, groups, quantisers, destinations. Each
// function emits at most one diagnostic. Extents are never multiplied, so no
// input overflows.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_DIALECT_GROUPEDSCALEDGEMM_IR_VERIFICATION_H
#define NVFP4_LIB_DIALECT_GROUPEDSCALEDGEMM_IR_VERIFICATION_H

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

namespace nvfp4::gsg {

/// One shape that an operand may have, and its name, such as "[G, N]".
struct NamedShape {
  llvm::SmallVector<int64_t, 3> extents;
  llvm::StringRef name;
};

/// True if the extents are equal or one of them is dynamic.
bool areCompatible(int64_t a, int64_t b);

/// The extents as "4x?x16", or "scalar" for none.
std::string formatShape(llvm::ArrayRef<int64_t> shape);

/// The logical shape of a scaled, tensor or memref type; empty for scalars.
llvm::ArrayRef<int64_t> getShapeOf(mlir::Type type);

/// Checks that `type` has one of the shapes. Scalars pass if `orScalar`; null
/// types pass.
mlir::LogicalResult verifyShape(mlir::Operation *op, const llvm::Twine &name,
                                mlir::Type type,
                                llvm::ArrayRef<NamedShape> shapes,
                                bool orScalar = false);

/// True if the formats have equal blocks and scales of one type, however they
/// are stored.
bool haveOneScaleType(ScaledType a, ScaledType b);

/// form_c1, form_c2: no tensors beside memrefs, no memrefs beside values of
/// type `scaled`. storage_c11: no result for an op that does not make them is
/// laid out for sm_90a.
mlir::LogicalResult verifyForm(mlir::Operation *op);

/// storage_c5 to storage_c9: values and scales are what `type` prescribes.
mlir::LogicalResult verifyStorage(mlir::Operation *op, const llvm::Twine &name,
                                  ScaledType type, mlir::Type values,
                                  mlir::Type scales);

/// storage_c11: `type`, which an op other than relayout_weights has as `name`,
/// is not laid out for sm_90a unless it is the rhs of a product.
mlir::LogicalResult verifyUncoded(mlir::Operation *op, const llvm::Twine &name,
                                  ScaledType type);

/// storage_c1 to storage_c9, storage_c11: every value of an operand group is
/// `scaled`, or all have scales and types. With `orPlain`, one plain tensor
/// passes too.
mlir::LogicalResult
verifyScaledOperands(mlir::Operation *op, llvm::StringRef name,
                     mlir::ValueRange values, mlir::ValueRange scales,
                     mlir::ArrayAttr types, bool orPlain = false);

/// storage_c10 and storage_c1 to storage_c9: destinations of a scaled result.
mlir::LogicalResult verifyScaledOut(mlir::Operation *op, mlir::Value out,
                                    mlir::Value scales, mlir::ArrayAttr types);

/// form_c3: operands and destinations of one op are all in value form or all
/// in storage form.
mlir::LogicalResult verifySameForm(mlir::Operation *op, bool aIsStorage,
                                   llvm::StringRef a, bool bIsStorage,
                                   llvm::StringRef b);

/// dest_c1 to dest_c3: results repeat the destinations on tensors, are absent
/// on memrefs; `expected` are the types of the results on tensors. No
/// destination is an operand otherwise.
mlir::LogicalResult verifyDestinations(mlir::Operation *op,
                                       mlir::MutableOperandRange inits,
                                       llvm::ArrayRef<mlir::Type> expected);

/// The types of the destinations.
llvm::SmallVector<mlir::Type> getInitTypes(mlir::MutableOperandRange inits);

/// Number of groups that `groups` describes; dynamic if unknown or malformed.
int64_t getGroupCount(GroupingAttr grouping, mlir::Value groups);

/// grouping_c3 to grouping_c8: presence, rank, length and, for constants, the
/// values of group offsets or counts. `extent` is the number of rows (or of K)
/// that the groups cut.
mlir::LogicalResult verifyGroups(mlir::Operation *op, GroupingAttr grouping,
                                 mlir::Value groups, int64_t numGroups,
                                 int64_t extent);

/// grouping_c9 to grouping_c11: the group starts of the scales fit the
/// grouping. `raggedDim` is the dimension of `type` that groups cut, if any;
/// `grouping` may be null.
mlir::LogicalResult verifyGroupStarts(mlir::Operation *op, llvm::StringRef name,
                                      ScaledType type, GroupingAttr grouping,
                                      mlir::Value groups,
                                      std::optional<int64_t> raggedDim);

/// grouping_c3 to grouping_c14 for the ops that may name groups: both or none
/// of `groups` and `grouping`, in a form that can cut `type`. Sets `raggedDim`
/// to the dimension that groups cut, if any.
mlir::LogicalResult verifyOptionalGroups(mlir::Operation *op,
                                         std::optional<GroupingAttr> grouping,
                                         mlir::Value groups, ScaledType type,
                                         std::optional<int64_t> &raggedDim);

/// quantizer_c3 to quantizer_c7: the quantiser can produce `type`.
mlir::LogicalResult verifyQuantizer(mlir::Operation *op,
                                    QuantizerAttr quantizer, ScaledType type,
                                    mlir::Value seed, mlir::Value globalScale,
                                    bool hasGroups);

/// gate_c2: `n` rows of a weight can be laid out as `gate` says.
mlir::LogicalResult verifyGate(mlir::Operation *op, GateAttr gate, int64_t n);

} // namespace nvfp4::gsg

#endif // NVFP4_LIB_DIALECT_GROUPEDSCALEDGEMM_IR_VERIFICATION_H
