//===- GroupLoop.cpp - A loop over groups of rows ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the rows of a group begin and end is read from one tensor: of starts,
// of ends or of sizes, the sum of which the loop carries.
//
//===----------------------------------------------------------------------===//

#include "GroupLoop.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace nvfp4::gsg;

/// Expressions of offsets have a few operations.
static constexpr unsigned kMaxDepth = 8;

/// `value` before conversions between integers and indices. Offsets that do not
/// fit into the narrower type are no offsets of rows in memory.
static Value strip(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
             arith::ExtUIOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// True if both are the same pure operations on the same values.
static bool isSame(Value a, Value b, unsigned depth = 0) {
  a = strip(a), b = strip(b);
  if (a == b)
    return true;
  Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
  if (!x || !y || depth == kMaxDepth || x->getName() != y->getName() ||
      x->getNumOperands() != y->getNumOperands() || x->getNumRegions() ||
      !isMemoryEffectFree(x) || x->getNumResults() != 1 ||
      x->getDiscardableAttrDictionary() != y->getDiscardableAttrDictionary() ||
      x->getPropertiesAsAttribute() != y->getPropertiesAsAttribute())
    return false;
  return llvm::all_of(llvm::zip_equal(x->getOperands(), y->getOperands()),
                      [&](auto operands) {
                        auto [p, q] = operands;
                        return isSame(p, q, depth + 1);
                      });
}

static bool isSame(OpFoldResult a, Value b) {
  auto value = dyn_cast<Value>(a);
  return value && isSame(value, b);
}

bool GroupLoop::isNumber(Value value) const {
  return strip(value) == loop.getInductionVar();
}

bool GroupLoop::isRows(const Slice &slice) const {
  return isSame(slice.offset, start) && isSame(slice.size, length);
}

bool GroupLoop::isGroup(const Slice &slice) const {
  auto number = dyn_cast<Value>(slice.offset);
  return number && isNumber(number) && isConstantIntValue(slice.size, 1);
}

namespace {

class LoopMatcher {
public:
  explicit LoopMatcher(scf::ForOp loop) { result.loop = loop; }
  std::optional<GroupLoop> match();

private:
  bool findResult();
  bool findContraction();
  bool findOffsets();
  /// The element of a tensor from outside with the number of the group, plus
  /// `more`.
  Value matchElement(Value value, int64_t more);
  /// What the loop has carried from zero to `value`: what it hands on, or null.
  Value matchCarried(Value value);
  bool hasElements(Value tensor, int64_t count);

  GroupLoop result;
  tensor::InsertSliceOp insert;
};

} // namespace

/// One result that is its own destination with the rows of a group in it; what
/// else the loop carries, only the loop reads.
bool LoopMatcher::findResult() {
  scf::ForOp loop = result.loop;
  std::optional<int64_t> end = getConstantIntValue(loop.getUpperBound());
  if (!isConstantIntValue(loop.getLowerBound(), 0) ||
      !isConstantIntValue(loop.getStep(), 1) || !end || *end <= 0)
    return false;
  result.count = *end;
  for (Operation &op : loop.getBody()->without_terminator())
    if (!isMemoryEffectFree(&op))
      return false;
  for (auto [i, value] : llvm::enumerate(loop.getYieldedValues())) {
    auto candidate = value.getDefiningOp<tensor::InsertSliceOp>();
    std::optional<DepthLoop> depth;
    if (auto inner = value.getDefiningOp<scf::ForOp>())
      depth = matchDepthLoop(inner);
    if (depth && depth->insert &&
        depth->getDestination() == loop.getRegionIterArg(i) && !insert) {
      insert = depth->insert;
      result.result = i;
      result.depth = depth;
    } else if (candidate && candidate.getDest() == loop.getRegionIterArg(i)) {
      if (insert)
        return false;
      insert = candidate;
      result.result = i;
    } else if (!loop.getResult(i).use_empty()) {
      return false;
    }
  }
  if (!insert || insert.getDestType().getRank() != 2 ||
      insert.getSourceType().getRank() != 2 || !insert.hasUnitStride())
    return false;
  int64_t columns = insert.getDestType().getDimSize(1);
  auto offset = dyn_cast<Value>(insert.getMixedOffsets()[0]);
  auto size = dyn_cast<Value>(insert.getMixedSizes()[0]);
  if (!offset || !size || ShapedType::isDynamic(columns) ||
      !isConstantIntValue(insert.getMixedOffsets()[1], 0) ||
      !isConstantIntValue(insert.getMixedSizes()[1], columns))
    return false;
  result.start = offset;
  result.length = size;
  // Each part of K adds to the same rows.
  return !result.depth || (result.depth->loop.isDefinedOutsideOfLoop(offset) &&
                           result.depth->loop.isDefinedOutsideOfLoop(size));
}

/// The f32 that `value` is rounded from, or `value`.
static Value stripRounding(Value value) {
  if (auto truncate = value.getDefiningOp<arith::TruncFOp>())
    return truncate.getIn();
  auto generic = value.getDefiningOp<linalg::GenericOp>();
  if (!generic || generic.getNumDpsInputs() != 1 ||
      generic.getNumDpsInits() != 1 ||
      generic.getNumParallelLoops() != generic.getNumLoops() ||
      !llvm::all_of(generic.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return value;
  auto truncate = generic.getBody()
                      ->getTerminator()
                      ->getOperand(0)
                      .getDefiningOp<arith::TruncFOp>();
  return truncate && truncate.getIn() == generic.getBody()->getArgument(0)
             ? generic.getDpsInputOperand(0)->get()
             : value;
}

bool LoopMatcher::findContraction() {
  if (result.depth) {
    // What the loop over parts carries, it alone reads.
    result.contraction = result.depth->contraction;
    result.readsDestination = true;
    OpOperand &init = result.depth->loop.getInitArgsMutable()[0];
    return llvm::all_of(init.get().getUses(), [&](OpOperand &use) {
      return &use == &init || isa<tensor::DimOp>(use.getOwner());
    });
  }
  Value rows = insert.getSource();
  Value product = stripRounding(rows);
  if (auto loop = product.getDefiningOp<scf::ForOp>())
    result.depth = matchDepthLoop(loop);
  if (result.depth && result.depth->insert)
    return false;
  auto contraction = result.depth ? result.depth->contraction
                                  : product.getDefiningOp<linalg::LinalgOp>();
  if (!contraction || product.getParentBlock() != result.loop.getBody() ||
      contraction.getNumDpsInits() != 1 ||
      cast<RankedTensorType>(product.getType()).getRank() != 2)
    return false;
  result.contraction = contraction;
  OpOperand &init = result.depth ? result.depth->loop.getInitArgsMutable()[0]
                                 : *contraction.getDpsInitOperand(0);
  result.readsDestination = !init.get().getDefiningOp<linalg::FillOp>();
  BlockArgument destination = result.loop.getRegionIterArg(result.result);
  if (result.readsDestination) {
    auto slice = init.get().getDefiningOp<tensor::ExtractSliceOp>();
    if (product != rows || !slice || slice.getSource() != destination ||
        !slice.hasUnitStride() ||
        !isConstantIntValue(slice.getMixedOffsets()[1], 0) ||
        !result.isRows({slice.getMixedOffsets()[0], slice.getMixedSizes()[0]}))
      return false;
  }
  // Nothing else reads what earlier groups wrote.
  for (Operation *user : destination.getUsers()) {
    if (user == insert || isa<tensor::DimOp>(user))
      continue;
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    if (!slice)
      return false;
    for (OpOperand &use : slice->getUses()) {
      auto fill = dyn_cast<linalg::FillOp>(use.getOwner());
      bool isFilled = fill && fill.isDpsInit(&use);
      if (!isFilled && &use != &init && !isa<tensor::DimOp>(use.getOwner()))
        return false;
    }
  }
  return true;
}

bool LoopMatcher::hasElements(Value tensor, int64_t count) {
  auto type = cast<RankedTensorType>(tensor.getType());
  return type.getRank() == 1 && type.getDimSize(0) == count &&
         (type.getElementType().isInteger(32) ||
          type.getElementType().isInteger(64)) &&
         result.loop.isDefinedOutsideOfLoop(tensor);
}

Value LoopMatcher::matchElement(Value value, int64_t more) {
  auto extract = strip(value).getDefiningOp<tensor::ExtractOp>();
  if (!extract || extract.getIndices().size() != 1)
    return {};
  Value index = strip(extract.getIndices()[0]);
  if (more) {
    auto add = index.getDefiningOp<arith::AddIOp>();
    if (!add || getConstantIntValue(add.getRhs()) != more)
      return {};
    index = add.getLhs();
  }
  return result.isNumber(index) ? extract.getTensor() : Value();
}

Value LoopMatcher::matchCarried(Value value) {
  auto argument = dyn_cast<BlockArgument>(strip(value));
  if (!argument || argument.getOwner() != result.loop.getBody() ||
      argument.getArgNumber() == 0)
    return {};
  unsigned i = argument.getArgNumber() - 1;
  return isConstantIntValue(result.loop.getInitArgs()[i], 0)
             ? result.loop.getYieldedValues()[i]
             : Value();
}

bool LoopMatcher::findOffsets() {
  auto subtract = strip(result.length).getDefiningOp<arith::SubIOp>();
  bool isDifference = subtract && isSame(subtract.getRhs(), result.start);
  if (Value starts = matchElement(result.start, 0)) {
    if (!isDifference || matchElement(subtract.getLhs(), 1) != starts ||
        !hasElements(starts, result.count + 1))
      return false;
    result.groups = starts;
    result.kind = OffsetsKind::Starts;
    return true;
  }
  Value next = matchCarried(result.start);
  if (!next)
    return false;
  if (isDifference) {
    result.groups = matchElement(subtract.getLhs(), 0);
    return result.groups && hasElements(result.groups, result.count) &&
           isSame(next, subtract.getLhs());
  }
  result.groups = matchElement(result.length, 0);
  result.areSizes = true;
  auto sum = strip(next).getDefiningOp<arith::AddIOp>();
  return result.groups && hasElements(result.groups, result.count) && sum &&
         ((isSame(sum.getLhs(), result.start) &&
           isSame(sum.getRhs(), result.length)) ||
          (isSame(sum.getRhs(), result.start) &&
           isSame(sum.getLhs(), result.length)));
}

std::optional<GroupLoop> LoopMatcher::match() {
  if (!findResult() || !findContraction() || !findOffsets())
    return std::nullopt;
  return result;
}

std::optional<GroupLoop> nvfp4::gsg::matchGroupLoop(scf::ForOp loop) {
  return LoopMatcher(loop).match();
}

Value nvfp4::gsg::makeGroups(OpBuilder &b, Location loc,
                             const GroupLoop &groups) {
  if (!groups.areSizes)
    return groups.groups;
  auto type = cast<RankedTensorType>(groups.groups.getType());
  // Sizes of 32 bits may have sums that the loop holds and they do not.
  Type element = type.getElementType();
  int64_t rows =
      cast<RankedTensorType>(groups.loop.getResult(groups.result).getType())
          .getDimSize(0);
  if (!strip(groups.start).getType().isInteger(32) &&
      (ShapedType::isDynamic(rows) ||
       rows > std::numeric_limits<int32_t>::max()))
    element = b.getI64Type();
  Value empty = tensor::EmptyOp::create(b, loc, type.getShape(), element);
  Value zero = arith::ConstantOp::create(b, loc, b.getIntegerAttr(element, 0));
  auto index = [&](int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  return scf::ForOp::create(
             b, loc, index(0), index(groups.count), index(1),
             ValueRange{empty, zero},
             [&](OpBuilder &nested, Location, Value i, ValueRange carried) {
               Value size =
                   tensor::ExtractOp::create(nested, loc, groups.groups, i);
               if (size.getType() != element)
                 size = arith::ExtSIOp::create(nested, loc, element, size);
               Value end = arith::AddIOp::create(nested, loc, carried[1], size);
               Value ends =
                   tensor::InsertOp::create(nested, loc, end, carried[0], i);
               scf::YieldOp::create(nested, loc, ValueRange{ends, end});
             })
      .getResult(0);
}
