//===- ElementMask.cpp - Rows of one group alone ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products that are zero outside the rows of a group, as a ragged product is
// spelled that is a sum over all groups.
//
//===----------------------------------------------------------------------===//

#include "ElementTrace.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace nvfp4::gsg;

static Product getOneHot(const RowMask &mask) {
  Product result;
  result.limit = 0;
  result.mask = mask;
  return result;
}

/// `tensor` and its one index before slices and changes of shape.
static void stripSlices(Value &tensor, AffineExpr &index) {
  while (auto slice = tensor.getDefiningOp<tensor::ExtractSliceOp>()) {
    std::optional<int64_t> offset;
    if (slice.getSourceType().getRank() == 1 &&
        slice.getType().getRank() == 1 && slice.hasUnitStride())
      offset = getConstantIntValue(slice.getMixedOffsets()[0]);
    if (!offset)
      return;
    index = simplify(index + *offset);
    tensor = slice.getSource();
  }
}

/// A slice of all elements of `ends` but the last.
static bool isAllButLast(Value value, Value ends, int64_t count) {
  AffineExpr index = getAffineConstantExpr(0, value.getContext());
  auto type = cast<RankedTensorType>(value.getType());
  stripSlices(value, index);
  return value == ends && index == 0 && type.getRank() == 1 &&
         type.getDimSize(0) == count - 1;
}

static bool isZero(Value value) {
  if (auto fill = value.getDefiningOp<linalg::FillOp>())
    value = fill.value();
  return matchPattern(value, m_Zero());
}

/// True if `starts` is zero and then `ends` but for the last.
static bool areStartsOf(Value starts, Value ends) {
  int64_t count = cast<RankedTensorType>(ends.getType()).getDimSize(0);
  if (ShapedType::isDynamic(count) ||
      cast<RankedTensorType>(starts.getType()).getDimSize(0) != count)
    return false;
  if (auto concat = starts.getDefiningOp<tensor::ConcatOp>())
    return concat.getInputs().size() == 2 && isZero(concat.getInputs()[0]) &&
           isAllButLast(concat.getInputs()[1], ends, count);
  if (auto pad = starts.getDefiningOp<tensor::PadOp>()) {
    Value padding = pad.getConstantPaddingValue();
    return padding && isZero(padding) &&
           pad.getStaticLow() == ArrayRef<int64_t>{1} &&
           pad.getStaticHigh() == ArrayRef<int64_t>{0} &&
           isAllButLast(pad.getSource(), ends, count);
  }
  auto insert = starts.getDefiningOp<tensor::InsertSliceOp>();
  if (!insert || !insert.hasUnitStride() ||
      !isConstantIntValue(insert.getMixedOffsets()[0], 1) ||
      !isAllButLast(insert.getSource(), ends, count))
    return false;
  if (isZero(insert.getDest()))
    return true;
  // Both parts of a concatenation.
  auto first = insert.getDest().getDefiningOp<tensor::InsertSliceOp>();
  return first && first.hasUnitStride() && isZero(first.getSource()) &&
         isConstantIntValue(first.getMixedOffsets()[0], 0) &&
         isConstantIntValue(first.getMixedSizes()[0], 1);
}

std::optional<Product> ElementTrace::traceMasked(const Element &select) {
  // A look-up may give NaN for an index outside the table.
  if (std::optional<bool> isFirst = isKnown(getOperand(select, 0)))
    return traceOperand(select, *isFirst ? 1 : 2);
  if (!matchPattern(getOperand(select, 2).value, m_AnyZeroFloat()))
    return std::nullopt;
  std::optional<RowMask> mask = traceMask(getOperand(select, 0));
  if (!mask)
    return std::nullopt;
  Element chosen = getOperand(select, 1);
  if (matchPattern(chosen.value, m_OneFloat()))
    return getOneHot(*mask);
  std::optional<Product> product = trace(chosen);
  if (!product)
    return std::nullopt;
  product->mask = product->mask ? RowMask() : *mask;
  return product;
}

std::optional<Product> ElementTrace::traceOneHot(const Element &element) {
  // One bit is -1 where it is signed.
  bool isSigned = isa<arith::SIToFPOp>(element.getOp());
  Element bit = getOperand(element, 0);
  while (isa_and_nonnull<arith::ExtUIOp>(bit.getOp())) {
    bit = getOperand(bit, 0);
    isSigned = false;
  }
  if (isSigned || !bit.getType().isInteger(1))
    return std::nullopt;
  std::optional<RowMask> mask = traceMask(bit);
  return mask ? std::optional(getOneHot(*mask)) : std::nullopt;
}

std::optional<RowMask> ElementTrace::traceMask(const Element &condition) {
  if (isa_and_nonnull<arith::AndIOp>(condition.getOp()))
    return traceRange(condition);
  return isa_and_nonnull<arith::CmpIOp>(condition.getOp())
             ? traceChoice(condition)
             : std::nullopt;
}

/// `group == expert`, in any order.
std::optional<RowMask> ElementTrace::traceChoice(const Element &condition) {
  auto compare = cast<arith::CmpIOp>(condition.getOp());
  if (compare.getPredicate() != arith::CmpIPredicate::eq)
    return std::nullopt;
  for (unsigned side = 0; side < 2; ++side) {
    AffineExpr group = getAffine(getOperand(condition, side), /*minWidth=*/32);
    if (!isa_and_nonnull<AffineDimExpr>(group))
      continue;
    RowMask result;
    result.group = group;
    result.expert = getNumber(getOperand(condition, 1 - side));
    return result.expert ? std::optional(std::move(result)) : std::nullopt;
  }
  return std::nullopt;
}

/// `start <= row and row < end`, in any order.
std::optional<RowMask> ElementTrace::traceRange(const Element &condition) {
  RowMask result;
  std::optional<std::pair<Value, AffineExpr>> start, end;
  for (unsigned side = 0; side < 2; ++side) {
    Element bound = getOperand(condition, side);
    auto compare = dyn_cast_or_null<arith::CmpIOp>(bound.getOp());
    if (!compare)
      return std::nullopt;
    Element less = getOperand(bound, 0), more = getOperand(bound, 1);
    using Predicate = arith::CmpIPredicate;
    auto isOneOf = [&](ArrayRef<Predicate> predicates) {
      return llvm::is_contained(predicates, compare.getPredicate());
    };
    if (isOneOf(
            {Predicate::sge, Predicate::uge, Predicate::sgt, Predicate::ugt}))
      std::swap(less, more);
    bool isStart = isOneOf(
        {Predicate::sle, Predicate::ule, Predicate::sge, Predicate::uge});
    bool isEnd = isOneOf(
        {Predicate::slt, Predicate::ult, Predicate::sgt, Predicate::ugt});
    // Rows in memory are counted in 32 bits.
    AffineExpr row = getAffine(isStart ? more : less, /*minWidth=*/32);
    auto offset = traceOffset(isStart ? less : more);
    if ((!isStart && !isEnd) || !row || !offset ||
        (result.row && result.row != row))
      return std::nullopt;
    result.row = row;
    (isStart ? start : end) = offset;
  }
  if (!start || !end)
    return std::nullopt;
  result.offsets = end->first;
  result.group = start->second;
  if (start->first == end->first && end->second == simplify(result.group + 1))
    result.areStarts = true;
  else if (start->second != end->second ||
           !areStartsOf(start->first, end->first))
    return std::nullopt;
  return result;
}

std::optional<std::pair<Value, AffineExpr>>
ElementTrace::traceOffset(Element element) {
  while (isa_and_nonnull<arith::IndexCastOp, arith::IndexCastUIOp,
                         arith::ExtSIOp, arith::ExtUIOp>(element.getOp()))
    element = getOperand(element, 0);
  if (element.owner || element.indices.size() != 1 ||
      !isa<RankedTensorType>(element.value.getType()))
    return std::nullopt;
  stripSlices(element.value, element.indices[0]);
  return std::pair(element.value, element.indices[0]);
}
