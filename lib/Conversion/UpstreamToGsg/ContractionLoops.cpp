//===- ContractionLoops.cpp - Batch, rows, columns, K -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which loops are batch, rows, columns and K, and which factors belong to which
// operand.
//
//===----------------------------------------------------------------------===//

#include "ContractionMatcher.h"

using namespace mlir;
using namespace nvfp4::gsg;

bool nvfp4::gsg::uses(const Factor &factor, unsigned loop) {
  return llvm::any_of(factor.indices, [&](AffineExpr index) {
    return index.isFunctionOfDim(loop);
  });
}

static bool usesAny(const Factor &factor, ArrayRef<unsigned> loops) {
  return llvm::any_of(loops, [&](unsigned loop) { return uses(factor, loop); });
}

/// The value of an index where dimension `position` is `value` and all others
/// are zero.
static int64_t evaluate(AffineExpr index, unsigned numDims, unsigned position,
                        int64_t value) {
  MLIRContext *context = index.getContext();
  SmallVector<AffineExpr> point(numDims, getAffineConstantExpr(0, context));
  point[position] = getAffineConstantExpr(value, context);
  SmallVector<AffineExpr> symbols(kMaxSymbols,
                                  getAffineConstantExpr(0, context));
  auto constant = dyn_cast<AffineConstantExpr>(
      simplify(index.replaceDimsAndSymbols(point, symbols)));
  return constant ? constant.getValue() : -1;
}

bool nvfp4::gsg::changes(const Factor &factor, unsigned numDims,
                         unsigned position, int64_t value) {
  auto differs = [&](AffineExpr index) {
    return evaluate(index, numDims, position, 0) !=
           evaluate(index, numDims, position, value);
  };
  return llvm::any_of(factor.indices, differs) ||
         (factor.nibble && differs(factor.nibble));
}

bool ContractionMatcher::splitFactors(Product product) {
  if (product.mask &&
      !(product.mask->expert ? takeChoice(product) : takeMask(*product.mask)))
    return false;
  ArrayRef<unsigned> reductions = loops[Depth];
  SmallVector<Factor> rows;
  for (const Factor &factor : product.factors) {
    bool isScale = isa<Float8E8M0FNUType>(factor.type) ||
                   (isa<Float8E4M3FNType>(factor.type) &&
                    !changes(factor, ranges.size(), reductions.back(), 1));
    bool isRows = factor.isHalf() && usesAny(factor, reductions);
    SmallVector<Factor> &kind = isRows               ? rows
                                : !factor.isNarrow() ? globals
                                : isScale            ? scales
                                                     : codes;
    kind.push_back(factor);
  }
  for (const Factor &factor : globals) {
    if (usesAny(factor, reductions) || codes.size() + rows.size() < 2)
      return fail("expected two block-scaled operands, or one beside rows of "
                  "bf16 or f16, but got one of {0}{1}",
                  print(factor.type), describeStop(factor)),
             false;
    if (!options.moveGlobalScales)
      return fail("{0}", refuseFurtherFactor(factor)), false;
    if (product.isRounded)
      return fail("expected further factors as they are, but got rounded ones"),
             false;
  }
  if (codes.size() == 2 && scales.size() == 2 && rows.empty())
    return true;
  if (product.isRounded)
    return fail("expected rows of bf16 or f16 as they are, but got rounded "
                "ones"),
           false;
  hasPlainRows = codes.size() == 1 && scales.size() == 1 && rows.size() == 1;
  if (hasPlainRows) {
    codes.insert(codes.begin(), rows.front());
    return true;
  }
  if (codes.size() > 2)
    return fail("expected scales that 16 or 32 neighbours along K share, but "
                "got one that changes at each"),
           false;
  fail("expected codes and one block scale for each of two operands, or for "
       "one beside rows of bf16 or f16, but got {0} of codes and {1} of "
       "scales{2}",
       codes.size(), scales.size(), describeStop(product.factors));
  return false;
}

/// How many of the first loops of a result are over matrices of weights that
/// have their rows in common: weights, rows, weights. Puts the rows first.
size_t ContractionMatcher::countRepeats(ArrayRef<unsigned> outLoops) {
  if (groups || mask)
    return 0;
  SmallVector<bool> owners;
  SmallVector<size_t> starts;
  for (auto [i, loop] : llvm::enumerate(outLoops)) {
    bool second = uses(codes[1], loop);
    if (second == uses(codes[0], loop))
      return 0;
    if (owners.empty() || owners.back() != second)
      starts.push_back(i);
    owners.push_back(second);
  }
  // Rows after the columns of each of several matrices, which are one unless
  // each has a factor of its own.
  if (starts.size() == 2 && owners.front() && hasPlainRows)
    return std::min<size_t>(
        starts[1] - 1, llvm::find_if(outLoops, [&](unsigned loop) {
                         return llvm::none_of(globals, [&](const Factor &f) {
                           return uses(f, loop);
                         });
                       }) - outLoops.begin());
  if (starts.size() != 3 || (hasPlainRows && !owners.front()))
    return 0;
  if (!owners.front())
    std::swap(codes[0], codes[1]);
  return starts[1];
}

/// Rows are those of the operand whose loop comes first in the result.
bool ContractionMatcher::orderLoops(ArrayRef<unsigned> outLoops) {
  Dim last = Batch;
  bool isOrdered = true, isExchanged = true;
  size_t repeats = countRepeats(outLoops);
  isRepeated = repeats > 0;
  for (unsigned loop : outLoops.take_front(repeats))
    loops[Batch].push_back(loop);
  for (unsigned loop : outLoops.drop_front(repeats)) {
    bool first = uses(codes[0], loop), second = uses(codes[1], loop);
    if (mask && first && second)
      return fail("expected a mask of rows of one product, but got a batch"),
             false;
    if (!first && !second)
      return fail("expected parallel loops over rows of an operand, but got "
                  "one that repeats the product"),
             false;
    if (second && !first && loops[Row].empty() && !hasPlainRows &&
        !isRepeated) {
      std::swap(codes[0], codes[1]);
      std::swap(first, second);
    }
    Dim kind = first && second ? Batch : first ? Row : Column;
    isOrdered &= kind >= last;
    // Rows after the columns.
    isExchanged &=
        kind == last || last == Batch || (last == Column && kind == Row);
    last = kind;
    loops[kind].push_back(loop);
  }
  isTransposed = !isOrdered && isExchanged && !groups && !depth && !mask &&
                 llvm::none_of(ranges, ShapedType::isDynamic);
  if (!isOrdered && !isTransposed)
    return fail("expected a result of batch, rows and columns or batch, "
                "columns and rows, of known extents, in this order"),
           false;
  if (mask && (loops[Row].size() != 1 || mask->row != dim(loops[Row][0])))
    return fail("expected a mask of the rows of the result"), false;
  return true;
}

bool ContractionMatcher::groupLoops() {
  AffineMap out = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (!out.isProjectedPermutation() ||
      out.getNumResults() != op.getNumParallelLoops())
    return fail("expected a result with one dimension for each parallel loop"),
           false;
  SmallVector<unsigned> outLoops;
  for (AffineExpr expr : out.getResults()) {
    unsigned loop = cast<AffineDimExpr>(expr).getPosition();
    if (auto split = halves.find(loop); split != halves.end())
      llvm::append_values(outLoops, split->second, split->second + 1);
    else
      outLoops.push_back(loop);
  }
  if (!(isRouted() ? orderRoutedLoops(outLoops) : orderLoops(outLoops)))
    return false;

  replacements.assign(ranges.size(), zero());
  for (unsigned kind = 0; kind < NumDims; ++kind) {
    int64_t inner = 1;
    for (unsigned loop : llvm::reverse(loops[kind])) {
      bool isOuter = loop == loops[kind].front();
      if (ShapedType::isDynamic(ranges[loop]) &&
          (!isOuter || kind == Depth || kind == Slot))
        return fail("expected extents that are known, except of the outermost "
                    "loops over batch, rows and columns"),
               false;
      AffineExpr index = dim(kind).floorDiv(inner);
      replacements[loop] = simplify(isOuter ? index : index % ranges[loop]);
      extents[kind] = ShapedType::isDynamic(ranges[loop])
                          ? ShapedType::kDynamic
                          : inner * ranges[loop];
      inner *= isOuter ? 1 : ranges[loop];
    }
    if (loops[kind].empty())
      extents[kind] = 1;
  }
  return true;
}

/// Puts the scale of codes[0] first.
bool ContractionMatcher::assignScales() {
  auto belongsTo = [&](const Factor &scale, Dim mine, Dim other) {
    return !usesAny(scale, loops[other]) &&
           (usesAny(scale, loops[mine]) || loops[mine].empty());
  };
  if (hasPlainRows) {
    if (belongsTo(scales[0], Column, Row))
      return true;
  } else {
    if (!belongsTo(scales[0], Row, Column))
      std::swap(scales[0], scales[1]);
    if (belongsTo(scales[0], Row, Column) && belongsTo(scales[1], Column, Row))
      return true;
  }
  fail("expected scales of their own for the rows of each operand");
  return false;
}

void ContractionMatcher::substitute(Factor &factor) {
  factor.mapIndices([&](AffineExpr expr) {
    return simplify(expr.replaceDims(replacements), extents);
  });
}
