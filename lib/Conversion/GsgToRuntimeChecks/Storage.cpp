//===- Storage.cpp - Checks of storage, groups, indices ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dynamic extents of values against those of scales, group offsets against
// buffers, indices against what they index.
//
//===----------------------------------------------------------------------===//

#include "CheckBuilder.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/FormatEnums.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"
#include "nvfp4/Runtime/nvfp4_checks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::checks;

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

SmallVector<Extent, 3>
CheckBuilder::logicalShape(const ScaledOperand &operand) {
  SmallVector<Extent, 3> shape;
  ScaledType type = operand.type;
  if (!type) {
    int64_t rank = cast<MemRefType>(operand.data.getType()).getRank();
    for (int64_t d = 0; d < rank; ++d)
      shape.push_back(dim(operand.data, d));
    return shape;
  }
  for (int64_t d = 0; d < type.getRank(); ++d) {
    if (!type.isDynamicDim(d)) {
      shape.push_back(constant(type.getDimSize(d)));
      continue;
    }
    bool isPacked = type.isFP4() && d + 1 == type.getRank();
    shape.push_back(mul(dim(operand.data, d), isPacked ? 2 : 1));
  }
  return shape;
}

void CheckBuilder::storage(StringRef name, const ScaledOperand &operand,
                           ArrayRef<Extent> shape, bool isOwnShape) {
  ScaledType type = operand.type;
  if (type.isCoded()) {
    // Only the number of matrices may be dynamic, which the values tell.
    SmallVector<int64_t> data = type.getDataShape();
    for (int64_t d = type.getRank() - 2; d <= type.getRank(); ++d)
      equal("storage_c6", "dimension " + Twine(d) + " of the values of " + name,
            dim(operand.data, d), constant(data[d]));
    Extent matrices = type.getRank() > 2 ? shape[0] : constant(1);
    if (type.getRank() > 2 && (!isOwnShape || !type.isDynamicDim(0)))
      equal("storage_c6", "dimension 0 of the values of " + name,
            dim(operand.data, 0), matrices);
    return equal("storage_c9", "dimension 0 of the scales of " + name,
                 dim(operand.scales, 0), matrices);
  }
  SmallVector<Extent> expected(shape);
  if (type.isFP4())
    expected.back() = ceilDiv(expected.back(), 2);
  for (auto [d, extent] : llvm::enumerate(expected))
    if (!isOwnShape || !type.isDynamicDim(d))
      equal("storage_c6", "dimension " + Twine(d) + " of the values of " + name,
            dim(operand.data, d), extent);

  // Scales that start by group are left to scaleRoom.
  if (type.getGroupStart() != GroupStart::Whole)
    return;
  // As in ScaledType::getScaleShape.
  SmallVector<Extent> scales(shape);
  int64_t axis = type.getAxis();
  scales[axis] = ceilDiv(shape[axis], type.getBlockSize());
  if (type.getLayout() != ScaleLayout::Linear) {
    Extent columns = scales.pop_back_val();
    Extent rows = scales.empty() ? constant(1) : scales.pop_back_val();
    scales.push_back(ceilDiv(rows, getRowTile(type.getLayout())));
    scales.push_back(ceilDiv(columns, 4));
    if (type.getLayout() == ScaleLayout::Blocked)
      scales.append({constant(32), constant(4), constant(4)});
    else
      scales.append({constant(8), constant(4)});
  }
  for (auto [d, extent] : llvm::enumerate(scales))
    equal("storage_c9", "dimension " + Twine(d) + " of the scales of " + name,
          dim(operand.scales, d), extent);
}

void CheckBuilder::factors(const ScaledOperand &operand) {
  if (!operand.type.isCoded() || !readsData)
    return;
  auto metadata =
      memref::ExtractStridedMetadataOp::create(builder, loc, operand.scales);
  auto format = static_cast<int64_t>(toFormat(operand.type.getFormat()));
  check("nvfp4_check_factors", "", "",
        {addressOf(operand.scales, metadata), i64(metadata.getSizes()[0]),
         i64(format)});
}

//===----------------------------------------------------------------------===//
// Groups and indices
//===----------------------------------------------------------------------===//

Value CheckBuilder::addressOf(Value memref,
                              memref::ExtractStridedMetadataOp metadata) {
  auto type = cast<MemRefType>(memref.getType());
  Value base =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, memref);
  Value width = arith::ConstantIntOp::create(
      builder, loc, type.getElementTypeBitWidth() / 8, 64);
  Value offset =
      arith::MulIOp::create(builder, loc, i64(metadata.getOffset()), width);
  Value address = arith::AddIOp::create(builder, loc, i64(base), offset);
  return LLVM::IntToPtrOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext()), address);
}

Extent CheckBuilder::numGroups(GroupingAttr grouping, Value groups) {
  return add(dim(groups, 0), hasStarts(grouping) ? -1 : 0);
}

SmallVector<Value> CheckBuilder::offsetArguments(GroupingAttr grouping,
                                                 Value groups, Extent extent) {
  auto metadata =
      memref::ExtractStridedMetadataOp::create(builder, loc, groups);
  int64_t form = getForm(grouping).hasCounts() ? NVFP4_GROUP_COUNTS
                 : hasStarts(grouping)         ? NVFP4_GROUP_STARTS
                                               : NVFP4_GROUP_ENDS;
  int64_t bits = cast<MemRefType>(groups.getType()).getElementTypeBitWidth();
  return {addressOf(groups, metadata),
          i64(bits),
          i64(metadata.getSizes()[0]),
          i64(metadata.getStrides()[0]),
          i64(form),
          i64(grouping.getAlign()),
          i64(extent)};
}

void CheckBuilder::groups(GroupingAttr grouping, Value groups, Extent extent) {
  if (hasStarts(grouping))
    atLeast("grouping_c5", "the number of group starts", dim(groups, 0),
            constant(1));
  if (readsData)
    check("nvfp4_check_groups", "", "",
          offsetArguments(grouping, groups, extent));
}

void CheckBuilder::scaleRoom(StringRef name, const ScaledOperand &operand,
                             ArrayRef<Extent> shape, GroupingAttr grouping,
                             Value groups, int64_t ragged) {
  ScaledType type = operand.type;
  if (type.getGroupStart() == GroupStart::Whole || !readsData)
    return;
  bool isLinear = type.getLayout() == ScaleLayout::Linear;
  int64_t tile = getRowTile(type.getLayout());
  int64_t axis = type.getAxis(), block = type.getBlockSize();
  bool alongBlocks = ragged == axis;
  // Rows or blocks along a dimension that the scales have room for.
  auto have = [&](int64_t d) {
    return mul(dim(operand.scales, d), isLinear ? 1 : d == 0 ? tile : 4);
  };
  int64_t other = 1 - ragged;
  Extent needed = other == axis ? ceilDiv(shape[other], block) : shape[other];
  SmallVector<Value> arguments =
      offsetArguments(grouping, groups, shape[ragged]);
  int64_t unit = !alongBlocks ? tile : isLinear ? 1 : 4;
  bool isUpperBound = type.getGroupStart() == GroupStart::UpperBound;
  llvm::append_range(arguments, ArrayRef<Value>{i64(isUpperBound), i64(unit),
                                                i64(alongBlocks ? block : 0),
                                                i64(have(ragged)),
                                                i64(have(other)), i64(needed)});
  check("nvfp4_check_scale_room", "storage_c9", name, arguments);
}

void CheckBuilder::indices(StringRef label, StringRef name, Value memref,
                           Extent limit) {
  if (!readsData)
    return;
  auto type = cast<MemRefType>(memref.getType());
  auto metadata =
      memref::ExtractStridedMetadataOp::create(builder, loc, memref);
  bool isVector = type.getRank() == 1;
  check("nvfp4_check_indices", label, name,
        {addressOf(memref, metadata), i64(type.getElementTypeBitWidth()),
         i64(metadata.getSizes()[0]),
         isVector ? i64(-1) : i64(metadata.getSizes()[1]),
         i64(metadata.getStrides()[0]),
         isVector ? i64(0) : i64(metadata.getStrides()[1]), i64(limit)});
}
