//===- ContractionGroups.cpp - One product of groups ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of groups that masks or slices of a loop choose, as rows of one product.
//
//===----------------------------------------------------------------------===//

#include "ContractionMatcher.h"

using namespace mlir;
using namespace nvfp4::gsg;

/// A sum over groups, in each of which the rows of others are zero.
bool ContractionMatcher::takeMask(const RowMask &rowMask) {
  unsigned *group = llvm::find_if(
      loops[Depth], [&](unsigned loop) { return rowMask.group == dim(loop); });
  auto row = dyn_cast_or_null<AffineDimExpr>(rowMask.row);
  if (!rowMask.offsets || group == loops[Depth].end() ||
      loops[Depth].size() < 2 || !row ||
      llvm::is_contained(loops[Depth], row.getPosition()))
    return fail("expected a mask of rows that is summed over its groups"),
           false;
  int64_t count = ranges[*group] + rowMask.areStarts;
  auto type = cast<RankedTensorType>(rowMask.offsets.getType());
  if (type.getRank() != 1 || type.getDimSize(0) != count ||
      !(type.getElementType().isInteger(32) ||
        type.getElementType().isInteger(64)))
    return fail("expected offsets in {0} integers of 32 or 64 bits, but got "
                "{1}",
                count, print(type)),
           false;
  loops[Batch].push_back(*group);
  loops[Depth].erase(group);
  mask = rowMask;
  return true;
}

/// Steps become the outermost loop over K, and slices of steps the tensors that
/// they are of.
bool ContractionMatcher::leaveDepthLoop(Product &product) {
  AffineExpr number = dim(ranges.size());
  loops[Depth].insert(loops[Depth].begin(), ranges.size());
  ranges.push_back(depth->count);
  auto isOutside = [&](OpFoldResult value) {
    auto own = dyn_cast<Value>(value);
    return !own || depth->loop.isDefinedOutsideOfLoop(own);
  };
  // The product reads the mask before the loop.
  bool isMaskOutside = true;
  if (const auto &rows = product.mask; rows && rows->offsets)
    isMaskOutside = isOutside(rows->offsets);
  else if (rows && rows->expert)
    rows->expert->walk([&](const Expression &part) {
      isMaskOutside &= !part.source || isOutside(part.source);
    });
  if (!isMaskOutside)
    return false;
  SmallVector<AffineExpr> starts;
  for (auto [i, slice] : llvm::enumerate(slices)) {
    starts.push_back(getAffineSymbolExpr(i, context));
    if (isOutside(slice.offset) && isOutside(slice.size))
      continue;
    starts.back() = depth->getOffset(slice.offset, number);
    if (!starts.back() || !getConstantIntValue(slice.size))
      return false;
  }
  for (Factor &factor : product.factors) {
    factor.mapIndices(
        [&](AffineExpr expr) { return simplify(expr.replaceSymbols(starts)); });
    if (!depth->loop.isDefinedOutsideOfLoop(factor.source))
      return false;
  }
  return true;
}

/// The steps say how much of K they read, and not how much there is.
bool ContractionMatcher::readsAllDepth(const Factor &factor) {
  auto type = dyn_cast<RankedTensorType>(factor.source.getType());
  if (!type)
    return true;
  for (auto [index, extent] :
       llvm::zip_equal(factor.indices, type.getShape())) {
    auto split = splitSlice(index, slices.size());
    if (!index.isFunctionOfDim(Depth) || !split)
      continue;
    bool isKnown =
        split->first < 0
            ? !ShapedType::isDynamic(extent)
            : getConstantIntValue(slices[split->first].size).has_value();
    if (!isKnown)
      return fail("expected a loop over parts of a K that is known, but got "
                  "parts of {0}",
                  print(type)),
             false;
  }
  return true;
}

/// What a step of the loop reads as an element is one of the tensor, with the
/// number of the group.
void ContractionMatcher::leaveLoopByElement(Factor &factor) {
  auto extract = factor.source.getDefiningOp<tensor::ExtractOp>();
  if (!extract || !factor.indices.empty() ||
      groups->loop.isDefinedOutsideOfLoop(factor.source))
    return;
  factor.source = extract.getTensor();
  for (Value index : extract.getIndices()) {
    std::optional<int64_t> constant = getConstantIntValue(index);
    // Anything else is refused below, as an index of no slice.
    factor.indices.push_back(
        constant ? getAffineConstantExpr(*constant, context)
                 : dim(groups->isNumber(index) ? unsigned(Batch) : Depth));
  }
}

/// Indices of a slice of this step become those of the whole tensor.
bool ContractionMatcher::leaveLoop(Factor &factor, bool isOfRows) {
  bool hasRows = false, hasGroup = false;
  for (AffineExpr &index : factor.indices) {
    auto split = splitSlice(index, slices.size());
    if (!split)
      return false;
    auto [slice, within] = *split;
    if (slice < 0)
      continue;
    if (isOfRows && groups->isRows(slices[slice]) && within == dim(Row)) {
      index = within;
      hasRows = true;
    } else if (!isOfRows && groups->isGroup(slices[slice]) &&
               within == zero()) {
      index = dim(Batch);
      hasGroup = true;
    } else {
      return false;
    }
  }
  return groups->loop.isDefinedOutsideOfLoop(factor.source) &&
         (isOfRows ? hasRows : hasGroup);
}

/// Rows are those of all groups, and weights one matrix for each.
bool ContractionMatcher::leaveLoop() {
  if (!loops[Batch].empty() || loops[Row].size() != 1)
    return false;
  auto type =
      cast<RankedTensorType>(groups->loop.getResult(groups->result).getType());
  extents[Row] = type.getDimSize(0);
  extents[Batch] = groups->count;
  for (Factor &factor : globals) {
    leaveLoopByElement(factor);
    // One number for all groups needs no slice.
    bool isShared = llvm::all_of(factor.indices, [&](AffineExpr index) {
      return isa<AffineConstantExpr>(index) || index == dim(Batch);
    });
    if (isShared ? !groups->loop.isDefinedOutsideOfLoop(factor.source)
                 : !leaveLoop(factor, /*isOfRows=*/false))
      return false;
  }
  return leaveLoop(codes[0], /*isOfRows=*/true) &&
         (hasPlainRows || leaveLoop(scales[0], /*isOfRows=*/true)) &&
         leaveLoop(codes[1], /*isOfRows=*/false) &&
         leaveLoop(scales.back(), /*isOfRows=*/false);
}
