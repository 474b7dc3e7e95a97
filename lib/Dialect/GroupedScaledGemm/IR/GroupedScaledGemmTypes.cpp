//===- GroupedScaledGemmTypes.cpp - The scaled type -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text, storage shapes and verification of `!grouped_scaled_gemm.scaled`.
// Dynamic extents stay dynamic through every computation of a shape.
//
//===----------------------------------------------------------------------===//

#include "EnumKeyword.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/FormatEnums.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nvfp4::gsg;

/// ceil(size / by), dynamic if size is.
static int64_t ceilDivDim(int64_t size, int64_t by) {
  return ShapedType::isDynamic(size) ? size : llvm::divideCeilSigned(size, by);
}

int64_t ScaledType::getBlockSize() const {
  switch (getFormat()) {
  case BlockFormat::NVFP4:
  case BlockFormat::NVFP4_E8M0:
    return 16;
  case BlockFormat::MXFP4:
  case BlockFormat::MXFP8_E4M3:
  case BlockFormat::MXFP8_E5M2:
    return 32;
  }
  llvm_unreachable("covered switch");
}

int64_t ScaledType::getElementBits() const {
  return getFormat() == BlockFormat::MXFP8_E4M3 ||
                 getFormat() == BlockFormat::MXFP8_E5M2
             ? 8
             : 4;
}

Type ScaledType::getDataElementType() const {
  if (isCoded())
    return IntegerType::get(getContext(), 8);
  switch (getFormat()) {
  case BlockFormat::MXFP8_E4M3:
    return Float8E4M3FNType::get(getContext());
  case BlockFormat::MXFP8_E5M2:
    return Float8E5M2Type::get(getContext());
  default:
    return IntegerType::get(getContext(), 8);
  }
}

Type ScaledType::getScaleElementType() const {
  if (isCoded())
    return Float32Type::get(getContext());
  if (getFormat() == BlockFormat::NVFP4)
    return Float8E4M3FNType::get(getContext());
  return Float8E8M0FNUType::get(getContext());
}

SmallVector<int64_t> ScaledType::getDataShape() const {
  SmallVector<int64_t> shape(getShape());
  if (isCoded()) {
    // Blocks of 64 rows by 64 columns, two to a stage along K.
    int64_t columns = shape.pop_back_val(), rows = shape.pop_back_val();
    shape.append({ceilDivDim(rows, 64), 2 * ceilDivDim(columns, 128),
                  64 * 64 * getElementBits() / 8 + 256});
    return shape;
  }
  if (isFP4())
    shape.back() = ceilDivDim(shape.back(), 2);
  return shape;
}

SmallVector<int64_t> ScaledType::getScaleShape() const {
  if (isCoded())
    return {getRank() > 2 ? getDimSize(0) : 1};
  SmallVector<int64_t> shape(getShape());
  shape[getAxis()] = ceilDivDim(shape[getAxis()], getBlockSize());
  bool whole = getGroupStart() == GroupStart::Whole;
  if (getLayout() == ScaleLayout::Linear) {
    if (!whole)
      shape[getAxis()] = ShapedType::kDynamic;
    return shape;
  }
  // Layouts in tiles exist for K-major types only (see verify).
  int64_t rowTile = getRowTile(getLayout());
  int64_t columns = shape.pop_back_val();
  int64_t rows = shape.empty() ? 1 : shape.pop_back_val();
  shape.push_back(whole ? ceilDivDim(rows, rowTile) : ShapedType::kDynamic);
  shape.push_back(whole ? ceilDivDim(columns, 4) : ShapedType::kDynamic);
  if (getLayout() == ScaleLayout::Blocked)
    shape.append({32, 4, 4});
  else
    shape.append({8, 4});
  return shape;
}

RankedTensorType ScaledType::getDataTensorType() const {
  return RankedTensorType::get(getDataShape(), getDataElementType());
}

RankedTensorType ScaledType::getScaleTensorType() const {
  return RankedTensorType::get(getScaleShape(), getScaleElementType());
}

ScaledType ScaledType::withShape(ArrayRef<int64_t> shape) const {
  return ScaledType::get(getContext(), shape, getFormat(), getLayout(),
                         getGroupStart(), getAxis());
}

ScaledType ScaledType::withLayout(ScaleLayout layout, GroupStart start) const {
  return ScaledType::get(getContext(), getShape(), getFormat(), layout, start,
                         getAxis());
}

Type ScaledType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  ScaleLayout layout = ScaleLayout::Linear;
  GroupStart start = GroupStart::Whole;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/true,
                                /*withTrailingX=*/false) ||
      parser.parseComma())
    return {};
  // scaled_c6
  auto format = parseCase<BlockFormat>(
      parser, "a format", "nvfp4, mxfp4, nvfp4_e8m0, mxfp8_e4m3, mxfp8_e5m2",
      symbolizeBlockFormat);
  if (failed(format))
    return {};
  int64_t axis = static_cast<int64_t>(shape.size()) - 1;
  while (succeeded(parser.parseOptionalComma())) {
    if (succeeded(parser.parseOptionalKeyword("axis"))) {
      if (parser.parseEqual() || parser.parseInteger(axis))
        return {};
      continue;
    }
    if (succeeded(parser.parseOptionalKeyword("starts"))) {
      if (parser.parseEqual())
        return {};
      auto parsed = parseCase<GroupStart>(parser, "a group start",
                                          "whole, compact, upper_bound",
                                          symbolizeGroupStart);
      if (failed(parsed))
        return {};
      start = *parsed;
      continue;
    }
    auto parsed = parseCase<ScaleLayout>(parser, "a scale layout",
                                         "linear, blocked, blocked_8x4, wgmma, "
                                         "wgmma_f16",
                                         symbolizeScaleLayout);
    if (failed(parsed))
      return {};
    layout = *parsed;
  }
  if (parser.parseGreater())
    return {};
  return ScaledType::getChecked([&] { return parser.emitError(loc); },
                                parser.getContext(), ArrayRef<int64_t>(shape),
                                *format, layout, start, axis);
}

void ScaledType::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printDimensionList(getShape());
  printer << ", " << stringifyBlockFormat(getFormat());
  if (getLayout() != ScaleLayout::Linear)
    printer << ", " << stringifyScaleLayout(getLayout());
  if (getGroupStart() != GroupStart::Whole)
    printer << ", starts = " << stringifyGroupStart(getGroupStart());
  if (!isKMajor())
    printer << ", axis = " << getAxis();
  printer << ">";
}

LogicalResult ScaledType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape, BlockFormat,
                                 ScaleLayout layout, GroupStart start,
                                 int64_t axis) {
  int64_t rank = shape.size();
  // scaled_c1
  if (rank < 1 || rank > 3)
    return emitError() << "expected a scaled type of rank 1 to 3, but got rank "
                       << rank;
  // scaled_c2
  for (int64_t size : shape)
    if (!ShapedType::isDynamic(size) && size < 0)
      return emitError() << "expected non-negative extents, but got " << size;
  // scaled_c3
  if (axis != rank - 1 && (axis != rank - 2 || axis < 0))
    return emitError() << "expected axis " << rank - 1
                       << (rank > 1 ? " or " + std::to_string(rank - 2) : "")
                       << " for rank " << rank << ", but got " << axis;
  if (layout == ScaleLayout::Wgmma || layout == ScaleLayout::WgmmaF16) {
    StringRef name = stringifyScaleLayout(layout);
    // scaled_c7
    if (rank < 2 || axis != rank - 1 || start != GroupStart::Whole)
      return emitError() << "expected weights of rank 2 or 3 with blocks along "
                            "the last dimension and starts = whole for the "
                            "layout '"
                         << name << "', but got rank " << rank << ", axis "
                         << axis
                         << " and starts = " << stringifyGroupStart(start);
    // scaled_c8
    for (int64_t size : shape.take_back(2))
      if (ShapedType::isDynamic(size) || size == 0) {
        InFlightDiagnostic diag = emitError();
        diag << "expected known positive N and K for the layout '" << name
             << "', but got ";
        return ShapedType::isDynamic(size) ? diag << "?" : diag << size;
      }
  }
  // scaled_c4
  if (axis != rank - 1 && layout != ScaleLayout::Linear)
    return emitError() << "expected the linear scale layout for blocks along "
                          "axis "
                       << axis << ", but got '" << stringifyScaleLayout(layout)
                       << "'; layouts in tiles need blocks along axis "
                       << rank - 1;
  // scaled_c5
  if (start == GroupStart::UpperBound && layout != ScaleLayout::Blocked)
    return emitError() << "expected the blocked scale layout for starts = "
                          "upper_bound, but got '"
                       << stringifyScaleLayout(layout) << "'";
  return success();
}
