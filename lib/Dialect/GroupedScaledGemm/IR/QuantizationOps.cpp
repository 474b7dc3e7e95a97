//===- QuantizationOps.cpp - Quantise, dequantise, Hadamard -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers and queries; comments name the constraints of docs/Spec.md. Shared
// ones are in Verification.h.
//
//===----------------------------------------------------------------------===//

#include "Verification.h"

using namespace mlir;
using namespace nvfp4::gsg;

/// The number of entries that a global scale has if it is no scalar: one a
/// group, or without groups one a matrix of rank 3.
static int64_t getNumGlobalScales(std::optional<GroupingAttr> grouping,
                                  Value groups, ScaledType type) {
  if (groups)
    return getGroupCount(*grouping, groups);
  return type.getRank() == 3 ? type.getDimSize(0) : 1;
}

/// The groups of quantize and dequantize and what depends on them: the starts
/// of the scales of `type`, which diagnostics call `name`, and global scales.
template <typename OpTy>
static LogicalResult verifyGroupsAndGlobalScale(OpTy op, StringRef name,
                                                ScaledType type) {
  std::optional<int64_t> raggedDim;
  if (failed(verifyOptionalGroups(op, op.getGrouping(), op.getGroups(), type,
                                  raggedDim)) ||
      failed(verifyGroupStarts(op, name, type,
                               op.getGrouping().value_or(GroupingAttr()),
                               op.getGroups(), raggedDim)))
    return failure();
  Value scale = op.getGlobalScale();
  if (op.getPerRow()) {
    // quantize_c9, dequantize_c3
    if (!scale)
      return op.emitOpError("expected a global_scale with per_row, but got "
                            "none");
    if (!type.isKMajor() || type.getRank() < 2)
      return op.emitOpError("expected blocks along the last dimension of a "
                            "matrix or of a stack of them with per_row, but "
                            "got ")
             << type;
    return verifyShape(op, "global_scale with per_row", scale.getType(),
                       {{llvm::to_vector<3>(type.getShape().drop_back()),
                         type.getRank() == 2 ? "[M]" : "[G, M]"}});
  }
  // quantize_c3, dequantize_c2
  return verifyShape(
      op, "global_scale", scale ? scale.getType() : Type(),
      {{{getNumGlobalScales(op.getGrouping(), op.getGroups(), type)}, "[G]"}},
      /*orScalar=*/true);
}

ScaledType QuantizeOp::getScaledResultType() {
  if (ArrayAttr types = getOutTypesAttr(); types && !types.empty())
    if (auto attr = dyn_cast<TypeAttr>(types[0]))
      return dyn_cast<ScaledType>(attr.getValue());
  if (getNumResults() == 1)
    return dyn_cast<ScaledType>(getResult(0).getType());
  return {};
}

int64_t QuantizeOp::getInputDim(int64_t d) {
  int64_t rank = cast<ShapedType>(getInput().getType()).getRank();
  return getTransposed() && d >= rank - 2 ? 2 * rank - 3 - d : d;
}

LogicalResult QuantizeOp::verify() {
  if (failed(verifyForm(*this)) ||
      failed(
          verifyScaledOut(*this, getOut(), getOutScales(), getOutTypesAttr())))
    return failure();
  ScaledType type = getScaledResultType();
  // quantize_c1
  if (!type || static_cast<bool>(getOut()) != static_cast<bool>(getOutScales()))
    return emitOpError("expected one result of type scaled, or outs with "
                       "scales (scaled_by), but got results (")
           << getResultTypes() << ") and "
           << (getOut() ? "outs without scales" : "no outs");
  // quantize_c4
  if (getTransposed() && type.getRank() < 2)
    return emitOpError("expected a result of rank 2 or 3 with transposed, but "
                       "got ")
           << type;
  // quantize_c5
  if (getHadamard() && getQuantizer().getTwoD())
    return emitOpError("expected no hadamard with two_d, whose blocks are of "
                       "several lines");
  // quantize_c10
  if (getPerRow() && (getTransposed() || getQuantizer().getTwoD()))
    return emitOpError("expected per_row without ")
           << (getTransposed()
                   ? "transposed, whose rows are columns of the input"
                   : "two_d, whose blocks are of several rows");
  // quantize_c2
  SmallVector<int64_t, 3> shape(type.getShape());
  if (getTransposed())
    std::swap(shape[shape.size() - 2], shape.back());
  StringRef meaning =
      getTransposed() ? "that of the result, transposed" : "that of the result";
  if (failed(verifyShape(*this, "input", getInput().getType(),
                         {{shape, meaning}})))
    return failure();
  if (failed(verifyGroupsAndGlobalScale(*this, "the result", type)))
    return failure();
  if (failed(verifyQuantizer(*this, getQuantizer(), type, getSeed(),
                             getGlobalScale(), static_cast<bool>(getGroups()))))
    return failure();
  SmallVector<Type> expected = getInitTypes(getDpsInitsMutable());
  if (!getOut())
    expected.push_back(type);
  return verifyDestinations(*this, getDpsInitsMutable(), expected);
}

ScaledType DequantizeOp::getInputType() {
  return getScaledOperands(getInput(),
                           getInputScales() ? ValueRange(getInputScales())
                                            : ValueRange(),
                           getInputTypesAttr())
      .front()
      .type;
}

LogicalResult DequantizeOp::verify() {
  if (failed(verifyForm(*this)) ||
      failed(verifyScaledOperands(
          *this, "input", getInput(),
          getInputScales() ? ValueRange(getInputScales()) : ValueRange(),
          getInputTypesAttr())))
    return failure();
  ScaledType type = getInputType();
  // dequantize_c1
  if (failed(verifyShape(
          *this, "outs", getOut().getType(),
          {{llvm::to_vector<3>(type.getShape()), "that of the input"}})))
    return failure();
  if (failed(verifyGroupsAndGlobalScale(*this, "the input", type)))
    return failure();
  return verifyDestinations(*this, getDpsInitsMutable(),
                            getInitTypes(getDpsInitsMutable()));
}

LogicalResult HadamardOp::verify() {
  if (failed(verifyForm(*this)))
    return failure();
  ArrayRef<int64_t> shape = getShapeOf(getInput().getType());
  // hadamard_c1
  if (shape.empty() ||
      (!ShapedType::isDynamic(shape.back()) && shape.back() % 16 != 0)) {
    InFlightDiagnostic diag = emitOpError(
        "expected a last dimension that is a multiple of 16, but got ");
    if (shape.empty())
      return diag << "rank 0";
    return diag << shape.back() << " (nearest: " << shape.back() / 16 * 16
                << ")";
  }
  // hadamard_c2
  if (failed(verifyShape(*this, "outs", getOut().getType(),
                         {{llvm::to_vector<3>(shape), "that of the input"}})))
    return failure();
  // hadamard_c3
  if (getSignMask() > 0xFFFF)
    return emitOpError("expected a sign_mask of 16 bits, in [0, 65535], but "
                       "got ")
           << static_cast<int32_t>(getSignMask());
  return verifyDestinations(*this, getDpsInitsMutable(),
                            getInitTypes(getDpsInitsMutable()));
}

LogicalResult AmaxOp::verify() {
  if (failed(verifyForm(*this)))
    return failure();
  ArrayRef<int64_t> shape = getShapeOf(getInput().getType());
  // amax_c1
  if (shape.size() != 2 && shape.size() != 3)
    return emitOpError("expected an input of rank 2 or 3, but got rank ")
           << shape.size();
  // amax_c3
  if (getTransposed() && !getHadamard())
    return emitOpError("expected transposed with hadamard, which it turns, but "
                       "got transposed alone");
  // amax_c2
  if (failed(verifyShape(*this, "outs", getOut().getType(),
                         {{llvm::to_vector<3>(shape.drop_back(2)),
                           "of a number of each matrix"}})))
    return failure();
  return verifyDestinations(*this, getDpsInitsMutable(),
                            getInitTypes(getDpsInitsMutable()));
}
