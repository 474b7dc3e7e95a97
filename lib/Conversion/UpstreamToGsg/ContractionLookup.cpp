//===- ContractionLookup.cpp - Rows and their experts -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights that are looked up for each row, as one product of the rows in the
// order of the experts.
//
//===----------------------------------------------------------------------===//

#include "ContractionMatcher.h"

#include <limits>

using namespace mlir;
using namespace nvfp4::gsg;

/// The number that is looked up as an index of `factor`, -1 for none, and
/// nothing if there are several.
static std::optional<int> findLookup(const Factor &factor) {
  int found = -1;
  for (AffineExpr index : factor.indices)
    for (unsigned i = 0; i < kMaxLookups; ++i)
      if (index.isFunctionOfSymbol(kMaxSlices + i)) {
        if (found >= 0)
          return std::nullopt;
        found = i;
      }
  return found;
}

/// A sum over experts, in which all but that of a row are masked, has the terms
/// of that one.
bool ContractionMatcher::takeChoice(Product &product) {
  const RowMask &rowMask = *product.mask;
  unsigned *group = llvm::find_if(
      loops[Depth], [&](unsigned loop) { return rowMask.group == dim(loop); });
  if (!lookups.empty() || group == loops[Depth].end() ||
      loops[Depth].size() < 2 || rowMask.expert->uses(*group) ||
      ShapedType::isDynamic(ranges[*group]))
    return fail("expected one expert of a row in a sum over a known number of "
                "them"),
           false;
  bool isOfSlice = false;
  rowMask.expert->walkIndices([&](AffineExpr expr) {
    expr.walk(
        [&](AffineExpr part) { isOfSlice |= isa<AffineSymbolExpr>(part); });
  });
  if (isOfSlice)
    return fail("expected experts of rows at indices of loops alone, but got "
                "those of a slice"),
           false;
  numChoices = ranges[*group];
  lookups.push_back(rowMask.expert);
  DenseMap<AffineExpr, AffineExpr> chosenGroup = {
      {dim(*group), getAffineSymbolExpr(kMaxSlices, context)}};
  for (Factor &factor : product.factors) {
    for (AffineExpr &index : factor.indices)
      index = simplify(index.replace(chosenGroup));
    if (factor.nibble && factor.nibble.isFunctionOfDim(*group))
      return fail("expected codes of whole experts"), false;
  }
  loops[Depth].erase(group);
  return true;
}

/// Puts the operand whose matrix is looked up second.
bool ContractionMatcher::takeLookup() {
  if (lookups.empty())
    return true;
  std::optional<int> first = findLookup(codes[0]),
                     second = findLookup(codes[1]);
  if (!first || !second || (*first < 0) == (*second < 0) ||
      (*first >= 0 && hasPlainRows) || mask)
    return fail("expected one operand whose matrix is looked up for each row, "
                "by one index"),
           false;
  expert = std::max(*first, *second);
  if (*first >= 0)
    std::swap(codes[0], codes[1]);
  // Experts and columns that are one loop: `loop floordiv inner` is the expert.
  SmallVector<std::pair<unsigned, int64_t>> merged;
  lookups[expert]->walkIndices([&](AffineExpr expr) {
    expr.walk([&](AffineExpr part) {
      auto divide = dyn_cast<AffineBinaryOpExpr>(part);
      if (!divide || divide.getKind() != AffineExprKind::FloorDiv)
        return;
      auto loop = dyn_cast<AffineDimExpr>(divide.getLHS());
      auto inner = dyn_cast<AffineConstantExpr>(divide.getRHS());
      if (loop && inner && uses(codes[1], loop.getPosition()))
        merged.push_back({loop.getPosition(), inner.getValue()});
    });
  });
  for (auto [loop, inner] : merged)
    if (!halves.contains(loop) && !llvm::is_contained(loops[Depth], loop) &&
        !ShapedType::isDynamic(ranges[loop]) && ranges[loop] % inner == 0)
      splitLoop(loop, inner);
  return true;
}

/// Makes `loop` two, the second of which has `inner` steps.
void ContractionMatcher::splitLoop(unsigned loop, int64_t inner) {
  unsigned first = ranges.size();
  halves[loop] = first;
  ranges.push_back(ranges[loop] / inner);
  ranges.push_back(inner);
  DenseMap<AffineExpr, AffineExpr> parts = {
      {dim(loop).floorDiv(inner), dim(first)},
      {dim(loop) % inner, dim(first + 1)},
      {dim(loop), dim(first) * inner + dim(first + 1)}};
  auto split = [&](AffineExpr expr) { return simplify(expr.replace(parts)); };
  for (Factor &factor : llvm::concat<Factor>(codes, scales, globals, biases))
    factor.mapIndices(split);
  lookups[expert] = mapIndices(lookups[expert], split);
}

/// Rows of tokens, then their slots, then columns; loops of one step are none.
bool ContractionMatcher::orderRoutedLoops(ArrayRef<unsigned> outLoops) {
  const Expression &number = *lookups[expert];
  Dim last = Row;
  for (unsigned loop : outLoops) {
    if (ranges[loop] == 1)
      continue;
    bool first = uses(codes[0], loop), second = uses(codes[1], loop);
    bool chooses = number.uses(loop);
    if (second && (first || chooses))
      return fail("expected columns of the weights of an expert that are "
                  "neither rows nor choose it"),
             false;
    if (!first && !second && !chooses)
      return fail("expected parallel loops over rows of an operand, but got "
                  "one that repeats the product"),
             false;
    Dim kind = second ? Column : first ? Row : Slot;
    if (kind < last)
      return fail("expected a result of rows, their experts and columns in "
                  "this order"),
             false;
    last = kind;
    loops[kind].push_back(loop);
  }
  for (unsigned loop : loops[Depth])
    if (number.uses(loop))
      return fail("expected one expert for all of a sum"), false;
  return true;
}

/// Experts become the dimension of matrices.
bool ContractionMatcher::leaveLookup() {
  AffineExpr symbol = getAffineSymbolExpr(kMaxSlices + expert, context);
  for (auto [i, index] : llvm::enumerate(codes[1].indices))
    if (index == symbol)
      extents[Batch] =
          cast<RankedTensorType>(codes[1].source.getType()).getDimSize(i);
  if (ShapedType::isDynamic(extents[Batch]) ||
      (numChoices && numChoices != extents[Batch]))
    return fail("expected a known number of experts, each with a matrix"),
           false;
  for (Factor &factor : llvm::concat<Factor>(codes, scales, globals, biases))
    for (AffineExpr &index : factor.indices)
      index = index == symbol ? dim(Batch) : index;
  for (const Factor &factor :
       llvm::concat<Factor>(codes, scales, globals, biases))
    if (findLookup(factor) != -1)
      return fail("expected codes, scales and further factors of one expert, "
                  "but got another number that is looked up"),
             false;
  return true;
}

std::optional<Routing> ContractionMatcher::describeRouting() {
  constexpr int64_t mostRows = std::numeric_limits<int32_t>::max();
  int64_t rows = extents[Row], slots = extents[Slot];
  // sort_tokens_c4
  if (slots < 1 || slots > mostRows ||
      (!ShapedType::isDynamic(rows) && rows > mostRows / slots))
    return fail("expected products whose number fits i32");
  Routing result;
  result.slots = slots;
  result.dropsOthers = numChoices > 0;
  SmallVector<AffineExpr> places(NumDims, zero());
  places[Row] = dim(0);
  places[Slot] = dim(1);
  result.expert = mapIndices(lookups[expert], [&](AffineExpr expr) {
    return simplify(expr.replaceDims(replacements).replaceDims(places));
  });
  return result;
}
