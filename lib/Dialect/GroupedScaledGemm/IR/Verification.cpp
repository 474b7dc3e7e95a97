//===- Verification.cpp - Checks that several operations share --*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shapes, forms, storage and destinations. Comments name the constraints of
// docs/Spec.md.
//
//===----------------------------------------------------------------------===//

#include "Verification.h"

#include "nvfp4/Dialect/DeviceMemory.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/MemRefOverlap.h"

#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace nvfp4::gsg;

bool nvfp4::gsg::areCompatible(int64_t a, int64_t b) {
  return a == b || ShapedType::isDynamic(a) || ShapedType::isDynamic(b);
}

static bool areCompatible(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  if (a.size() != b.size())
    return false;
  for (auto [x, y] : llvm::zip_equal(a, b))
    if (!nvfp4::gsg::areCompatible(x, y))
      return false;
  return true;
}

std::string nvfp4::gsg::formatShape(ArrayRef<int64_t> shape) {
  if (shape.empty())
    return "scalar";
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(
      shape, os,
      [&](int64_t size) {
        if (ShapedType::isDynamic(size))
          os << '?';
        else
          os << size;
      },
      "x");
  return text;
}

ArrayRef<int64_t> nvfp4::gsg::getShapeOf(Type type) {
  if (auto scaled = dyn_cast_or_null<ScaledType>(type))
    return scaled.getShape();
  auto shaped = dyn_cast_or_null<ShapedType>(type);
  return shaped && shaped.hasRank() ? shaped.getShape() : ArrayRef<int64_t>();
}

LogicalResult nvfp4::gsg::verifyShape(Operation *op, const Twine &name,
                                      Type type, ArrayRef<NamedShape> shapes,
                                      bool orScalar) {
  if (!type)
    return success();
  bool isShaped = isa<ShapedType, ScaledType>(type);
  // Where a scalar lies in memory of the device, it is a memref of rank 0.
  auto memref = dyn_cast<MemRefType>(type);
  if (orScalar && (!isShaped ||
                   (memref && memref.getRank() == 0 && isDeviceMemory(memref))))
    return success();
  ArrayRef<int64_t> got = getShapeOf(type);
  for (const NamedShape &shape : shapes)
    if (isShaped && ::areCompatible(got, shape.extents))
      return success();
  InFlightDiagnostic diag = op->emitOpError("expected ") << name;
  diag << (orScalar ? " to be a scalar or of shape " : " of shape ");
  llvm::interleave(
      shapes, diag,
      [&](const NamedShape &shape) {
        diag << formatShape(shape.extents) << " (" << shape.name << ")";
      },
      " or ");
  return diag << ", but got " << formatShape(got);
}

LogicalResult nvfp4::gsg::verifyForm(Operation *op) {
  Type tensor, memref, scaled;
  auto sort = [&](TypeRange types) {
    for (Type type : types) {
      if (isa<TensorType>(type))
        tensor = type;
      else if (isa<BaseMemRefType>(type))
        memref = type;
      else if (isa<ScaledType>(type))
        scaled = type;
    }
  };
  sort(op->getOperandTypes());
  sort(op->getResultTypes());
  // form_c1
  if (tensor && memref)
    return op->emitOpError("expected operands that are all tensors or all "
                           "memrefs, but got ")
           << tensor << " and " << memref;
  // form_c2
  if (scaled && memref)
    return op->emitOpError("expected tensors beside values of type scaled, but "
                           "got ")
           << memref << "; memrefs need storage form (gsg-decompose-scaled)";
  for (Type type : op->getResultTypes())
    if (failed(verifyUncoded(op, "a result", dyn_cast<ScaledType>(type))))
      return failure();
  return success();
}

bool nvfp4::gsg::haveOneScaleType(ScaledType a, ScaledType b) {
  return a.getBlockSize() == b.getBlockSize() &&
         (a.getFormat() == BlockFormat::NVFP4) ==
             (b.getFormat() == BlockFormat::NVFP4);
}

LogicalResult nvfp4::gsg::verifyUncoded(Operation *op, const Twine &name,
                                        ScaledType type) {
  // storage_c11
  if (!type || !type.isCoded() ||
      isa<MakeScaledOp, SplitScaledOp, RelayoutWeightsOp>(op))
    return success();
  return op->emitOpError("expected ")
         << name << " in another layout than '"
         << stringifyScaleLayout(type.getLayout())
         << "', which only the rhs of a product may have; "
            "grouped_scaled_gemm.relayout_weights brings weights back to "
            "linear";
}

LogicalResult nvfp4::gsg::verifySameForm(Operation *op, bool aIsStorage,
                                         StringRef a, bool bIsStorage,
                                         StringRef b) {
  // form_c3
  if (aIsStorage == bIsStorage)
    return success();
  auto form = [](bool isStorage) {
    return isStorage ? "storage form" : "value form";
  };
  return op->emitOpError("expected scaled operands and results in one form, "
                         "but got ")
         << a << " in " << form(aIsStorage) << " and " << b << " in "
         << form(bIsStorage);
}

/// The power of two that cuts `extent` into `numBlocks` blocks, 0 if there is
/// none.
static int64_t guessBlockSize(int64_t extent, int64_t numBlocks) {
  if (ShapedType::isDynamic(extent))
    return 0;
  for (int64_t block = 1; block <= 1024; block *= 2)
    if (llvm::divideCeilSigned(extent, block) == numBlocks)
      return block;
  return 0;
}

LogicalResult nvfp4::gsg::verifyStorage(Operation *op, const Twine &name,
                                        ScaledType type, Type values,
                                        Type scales) {
  auto data = dyn_cast<ShapedType>(values);
  auto scale = dyn_cast<ShapedType>(scales);
  if (name.str() != "rhs" && failed(verifyUncoded(op, name, type)))
    return failure();
  // storage_c4
  if (!data || !scale || !data.hasRank() || !scale.hasRank())
    return op->emitOpError("expected values and scales of ")
           << name << " of known rank, but got " << values << " and " << scales;
  // storage_c5
  if (data.getElementType() != type.getDataElementType())
    return op->emitOpError("expected values of ")
           << name << " of element type " << type.getDataElementType()
           << " for format " << stringifyBlockFormat(type.getFormat())
           << ", but got " << data.getElementType();
  // storage_c6
  if (!::areCompatible(data.getShape(), type.getDataShape()))
    return op->emitOpError("expected values of ")
           << name << " of shape " << formatShape(type.getDataShape())
           << " for " << type << ", but got " << formatShape(data.getShape());
  // storage_c7
  if (scale.getElementType() != type.getScaleElementType())
    return op->emitOpError("expected scales of ")
           << name << " of element type " << type.getScaleElementType()
           << " for format " << stringifyBlockFormat(type.getFormat())
           << " with blocks of " << type.getBlockSize() << ", but got "
           << scale.getElementType();
  SmallVector<int64_t> shape = type.getScaleShape();
  // storage_c8
  if (scale.getRank() != static_cast<int64_t>(shape.size()))
    return op->emitOpError("expected scales of ")
           << name << " of rank " << shape.size() << " for the layout '"
           << stringifyScaleLayout(type.getLayout()) << "' ("
           << formatShape(shape) << "), but got rank " << scale.getRank()
           << " (" << formatShape(scale.getShape()) << ")";
  for (auto [i, got, expected] : llvm::enumerate(scale.getShape(), shape)) {
    if (nvfp4::gsg::areCompatible(got, expected))
      continue;
    // storage_c9
    InFlightDiagnostic diag = op->emitOpError("expected scales of ");
    diag << name << " of shape " << formatShape(shape) << " for the layout '"
         << stringifyScaleLayout(type.getLayout()) << "', but got "
         << formatShape(scale.getShape()) << ", too "
         << (got < expected ? "small" : "large") << " in dimension " << i;
    int64_t axis = type.getAxis();
    if (type.getLayout() == ScaleLayout::Linear &&
        static_cast<int64_t>(i) == axis)
      if (int64_t block = guessBlockSize(type.getDimSize(axis), got))
        diag << " (one scale for each " << type.getBlockSize()
             << " elements, not for " << block << ")";
    return diag;
  }
  return success();
}

LogicalResult nvfp4::gsg::verifyScaledOperands(Operation *op, StringRef name,
                                               ValueRange values,
                                               ValueRange scales,
                                               ArrayAttr types, bool orPlain) {
  if (scales.empty() && (!types || types.empty())) {
    if (orPlain && !llvm::all_of(values.getTypes(), llvm::IsaPred<ScaledType>))
      return success();
    for (Value value : values) {
      // storage_c1
      if (!isa<ScaledType>(value.getType()))
        return op->emitOpError("expected ")
               << name << " of type scaled, or values with scales "
               << "(scaled_by), but got " << value.getType();
      if (name != "rhs" &&
          failed(verifyUncoded(op, name, cast<ScaledType>(value.getType()))))
        return failure();
    }
    return success();
  }
  // storage_c2
  if (scales.size() != values.size() || !types || types.size() != values.size())
    return op->emitOpError("expected one tensor of scales and one type for "
                           "each of the ")
           << values.size() << " values of " << name << ", but got "
           << scales.size() << " and " << (types ? types.size() : 0);
  for (auto [i, attr] : llvm::enumerate(types)) {
    auto typeAttr = dyn_cast<TypeAttr>(attr);
    auto type =
        typeAttr ? dyn_cast<ScaledType>(typeAttr.getValue()) : ScaledType();
    // storage_c3
    if (!type)
      return op->emitOpError("expected types of ")
             << name << " to be scaled types, but got " << attr;
    if (failed(verifyStorage(op, name, type, values[i].getType(),
                             scales[i].getType())))
      return failure();
  }
  return success();
}

LogicalResult nvfp4::gsg::verifyScaledOut(Operation *op, Value out,
                                          Value scales, ArrayAttr types) {
  // storage_c10
  if (scales && !out)
    return op->emitOpError("expected a destination of the values beside that "
                           "of the scales");
  if (!scales && (!types || types.empty()))
    return success();
  return verifyScaledOperands(op, "outs", out ? ValueRange(out) : ValueRange(),
                              scales ? ValueRange(scales) : ValueRange(),
                              types);
}

SmallVector<Type> nvfp4::gsg::getInitTypes(MutableOperandRange inits) {
  SmallVector<Type> types;
  for (OpOperand &init : inits)
    types.push_back(init.get().getType());
  return types;
}

LogicalResult nvfp4::gsg::verifyDestinations(Operation *op,
                                             MutableOperandRange inits,
                                             ArrayRef<Type> expected) {
  bool onMemRefs =
      llvm::any_of(op->getOperandTypes(), llvm::IsaPred<BaseMemRefType>);
  if (onMemRefs)
    expected = {};
  // dest_c1
  if (op->getNumResults() != expected.size())
    return op->emitOpError("expected ")
           << expected.size() << " results"
           << (onMemRefs ? " of an op on memrefs" : " for its destinations")
           << ", but got " << op->getNumResults();
  for (auto [i, type] : llvm::enumerate(expected)) {
    // dest_c2
    if (op->getResult(i).getType() != type)
      return op->emitOpError("expected result #")
             << i << " of type " << type << " as its destination, but got "
             << op->getResult(i).getType();
  }
  for (OpOperand &init : inits) {
    if (!isa<BaseMemRefType>(init.get().getType()))
      continue;
    for (OpOperand &other : op->getOpOperands()) {
      // dest_c3
      if (other.getOperandNumber() == init.getOperandNumber() ||
          !isa<BaseMemRefType>(other.get().getType()) ||
          getMemRefOverlap(other.get(), init.get()) != Overlap::Certain)
        continue;
      return op->emitOpError("expected outputs that overlap no other "
                             "operand, but operands #")
             << other.getOperandNumber() << " and #" << init.getOperandNumber()
             << (other.get() == init.get() ? " are the same memref"
                                           : " are views of the same memory");
    }
  }
  return success();
}
