//===- StagingOps.cpp - Operands as kernels read them -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers of the staging operations.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"
#include "nvfp4/Format/BlockFormat.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::warpspec;

/// Rows of the sources follow each other, and elements within them.
static LogicalResult verifySources(Operation *op, ValueRange sources) {
  for (Value source : sources)
    if (source && !cast<MemRefType>(source.getType()).getLayout().isIdentity())
      return op->emitOpError("expected operands without gaps, but got ")
             << source.getType();
  return success();
}

static LogicalResult verifyTarget(Operation *op, Value target,
                                  int64_t elementBytes) {
  auto type = cast<MemRefType>(target.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (type.getElementTypeBitWidth() != 8 * elementBytes ||
      failed(type.getStridesAndOffset(strides, offset)) || strides[1] != 1)
    return op->emitOpError("expected rows of elements of ")
           << 8 * elementBytes << " bits that follow each other, but got "
           << type;
  return success();
}

static LogicalResult verifyFormat(Operation *op, StringRef format) {
  if (!format::parseBlockFormat(std::string_view(format.data(), format.size())))
    return op->emitOpError("expected a block format such as nvfp4 or mxfp4, "
                           "but got \"")
           << format << '"';
  return success();
}

static LogicalResult verifyAlongK(Operation *op, GroupForm form) {
  if (form != GroupForm::KEnds && form != GroupForm::KStarts)
    return op->emitOpError("expected groups along K, k_ends or k_starts, but "
                           "got ")
           << stringifyGroupForm(form);
  return success();
}

LogicalResult StageRowsOp::verify() {
  if (failed(verifySources(*this, {getInput(), getScales()})) ||
      failed(verifyTarget(*this, getOut(), 2)))
    return failure();
  if (static_cast<bool>(getScales()) != getFormat().has_value())
    return emitOpError("expected a format with scales, and none without");
  return getFormat() ? verifyFormat(*this, *getFormat()) : success();
}

LogicalResult StageValuesOp::verify() {
  return success(succeeded(verifySources(*this, {getInput(), getGroups()})) &&
                 succeeded(verifyTarget(*this, getOut(), 1)) &&
                 succeeded(verifyFormat(*this, getFormat())) &&
                 succeeded(verifyAlongK(*this, getForm())));
}

LogicalResult StageScalesOp::verify() {
  return success(succeeded(verifySources(*this, {getInput(), getGroups()})) &&
                 succeeded(verifyTarget(*this, getOut(), 1)) &&
                 succeeded(verifyFormat(*this, getFormat())) &&
                 succeeded(verifyAlongK(*this, getForm())));
}

LogicalResult StageWeightsOp::verify() {
  return success(succeeded(verifySources(*this, {getInput(), getScales()})) &&
                 succeeded(verifyTarget(*this, getOut(), 1)) &&
                 succeeded(verifyFormat(*this, getFormat())));
}

LogicalResult StagePaddedScalesOp::verify() {
  if (failed(verifySources(*this, getInput())) ||
      failed(verifyTarget(*this, getOut(), 1)))
    return failure();
  auto type = cast<MemRefType>(getInput().getType());
  if (type.getRank() < 5 ||
      type.getShape().take_back(3) != ArrayRef<int64_t>{32, 4, 4})
    return emitOpError("expected scales in tiles of 32x4x4, but got ") << type;
  return success();
}

LogicalResult StageOddValuesOp::verify() {
  return success(succeeded(verifySources(*this, getInput())) &&
                 succeeded(verifyTarget(*this, getOut(), 1)));
}
