//===- ElementBits.cpp - Numbers that are decoded from bytes ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Codes and scales that are bits of bytes: taken for another type, looked up in
// a table of the sixteen numbers of f4E2M1FN, or made powers of two.
//
//===----------------------------------------------------------------------===//

#include "ElementTrace.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace nvfp4::gsg;

static unsigned getWidth(Value value) {
  Type type = getElementTypeOrSelf(value.getType());
  return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
}

/// The number that an element is everywhere; nothing if it is none.
static std::optional<APFloat> getConstant(const Element &element) {
  APFloat number(APFloat::IEEEdouble());
  return matchPattern(element.value, m_ConstantFloat(&number))
             ? std::optional(number)
             : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Bits of a byte
//===----------------------------------------------------------------------===//

bool ElementTrace::Bits::isByte() const {
  return width == 8 && isExact && shift == 0;
}

std::optional<std::pair<int64_t, int64_t>>
ElementTrace::Bits::getRange(unsigned typeWidth) const {
  // With all bits of a type in use the first one may be a sign.
  if (!isExact || typeWidth <= width)
    return std::nullopt;
  return std::pair(offset, offset + (int64_t(1) << width) - 1);
}

std::optional<bool> ElementTrace::isKnown(const Element &condition) {
  Operation *op = condition.getOp();
  if (isa_and_nonnull<arith::AndIOp>(op)) {
    std::optional<bool> a = isKnown(getOperand(condition, 0));
    std::optional<bool> b = isKnown(getOperand(condition, 1));
    return a == false || b == false ? false : a && b ? a : std::nullopt;
  }
  auto compare = dyn_cast_or_null<arith::CmpIOp>(op);
  if (!compare)
    return std::nullopt;
  auto bound =
      dyn_cast_or_null<AffineConstantExpr>(getAffine(getOperand(condition, 1)));
  std::optional<Bits> bits =
      bound ? traceBits(getOperand(condition, 0)) : std::nullopt;
  std::optional<std::pair<int64_t, int64_t>> range =
      bits ? bits->getRange(getWidth(compare.getLhs())) : std::nullopt;
  if (!range)
    return std::nullopt;
  // True where all or no numbers of the range are on the side asked for.
  auto [low, high] = *range;
  int64_t number = bound.getValue();
  auto decide = [](bool isTrue, bool isFalse) {
    return isTrue    ? std::optional(true)
           : isFalse ? std::optional(false)
                     : std::nullopt;
  };
  using Predicate = arith::CmpIPredicate;
  Predicate predicate = compare.getPredicate();
  if (predicate >= Predicate::ult && (low < 0 || number < 0))
    return std::nullopt;
  switch (predicate) {
  case Predicate::slt:
  case Predicate::ult:
    return decide(high < number, low >= number);
  case Predicate::sle:
  case Predicate::ule:
    return decide(high <= number, low > number);
  case Predicate::sgt:
  case Predicate::ugt:
    return decide(low > number, high <= number);
  case Predicate::sge:
  case Predicate::uge:
    return decide(low >= number, high < number);
  default:
    return std::nullopt;
  }
}

std::optional<ElementTrace::Bits>
ElementTrace::traceBits(const Element &element) {
  if (!countStep())
    return std::nullopt;
  if (Operation *op = element.getOp())
    if (std::optional<Bits> bits = traceBitsOf(element, op))
      return bits;
  if (isa_and_nonnull<tensor::ConcatOp, tensor::InsertSliceOp>(
          element.value.getDefiningOp()))
    if (std::optional<Bits> bits = traceInterleavedBits(element))
      return bits;
  // Bytes that are computed otherwise are a tensor like any other.
  if (!element.tensor ||
      !getElementTypeOrSelf(element.tensor.getType()).isInteger(8))
    return std::nullopt;
  return Bits{element.tensor, element.place, getAffineConstantExpr(0, context)};
}

std::optional<ElementTrace::Bits>
ElementTrace::traceBitsOf(const Element &element, Operation *op) {
  // linalg.index has none.
  if (op->getNumOperands() == 0)
    return std::nullopt;
  Element operand = getOperand(element, 0);
  auto getNumber = [&](unsigned i) {
    return dyn_cast_or_null<AffineConstantExpr>(
        getAffine(getOperand(element, i)));
  };
  if (isa<arith::SelectOp>(op)) {
    // An index is counted from the end where it is negative; this one is not.
    std::optional<Bits> bits = traceBits(getOperand(element, 2));
    return bits && isKnown(operand) == false ? bits : std::nullopt;
  }
  if (isa<arith::MaxSIOp, arith::MinSIOp, arith::MinUIOp>(op)) {
    // An index is kept inside of a table that it does not leave.
    std::optional<Bits> bits = traceBits(operand);
    AffineConstantExpr bound = getNumber(1);
    std::optional<std::pair<int64_t, int64_t>> range =
        bits ? bits->getRange(getWidth(op->getResult(0))) : std::nullopt;
    // Without a sign a number below zero is a great one.
    bool isOrdered = range && (range->first >= 0 || !isa<arith::MinUIOp>(op));
    return isOrdered && bound &&
                   (isa<arith::MaxSIOp>(op) ? bound.getValue() <= range->first
                                            : bound.getValue() >= range->second)
               ? bits
               : std::nullopt;
  }
  if (!isa<arith::ExtUIOp, arith::ExtSIOp, arith::IndexCastOp,
           arith::IndexCastUIOp, arith::TruncIOp, arith::AndIOp, arith::ShRUIOp,
           arith::ShRSIOp, arith::AddIOp, arith::SubIOp>(op))
    return std::nullopt;
  std::optional<Bits> bits = traceBits(operand);
  if (!bits)
    return std::nullopt;
  unsigned width = getWidth(op->getResult(0)),
           from = getWidth(op->getOperand(0));
  bool isByteWide = from == 8, isNarrowing = width < from;
  if (isa<arith::ExtSIOp, arith::IndexCastOp>(op) && !isNarrowing) {
    // The first bit of all is a sign that is repeated.
    bits->isExact &= from > bits->width;
    return bits;
  }
  if (isa<arith::AddIOp, arith::SubIOp>(op)) {
    AffineConstantExpr number = getNumber(1);
    if (!number || isByteWide || !bits->isExact)
      return std::nullopt;
    // Below, signs are extended and converted: nothing may have wrapped.
    int64_t value = number.getValue(), end = int64_t(1) << std::min(width, 32u);
    if (value <= -end || value >= end)
      return std::nullopt;
    bits->offset += isa<arith::AddIOp>(op) ? value : -value;
    bool isInRange = bits->offset >= -end / 2 &&
                     bits->offset + (1 << bits->width) <= end / 2;
    return isInRange ? bits : std::nullopt;
  }
  if (bits->offset)
    return std::nullopt;
  if (isNarrowing) {
    bits->isExact |= width <= bits->width;
    bits->width = std::min(bits->width, width);
    return bits;
  }
  if (isa<arith::AndIOp>(op)) {
    AffineConstantExpr mask = getNumber(1);
    // 255 is -1 where a byte is signed.
    int64_t low = mask ? mask.getValue() & 255 : 0;
    if (!mask || (low != 15 && low != 255) || (low == 255 && bits->width < 8))
      return std::nullopt;
    bits->width = std::min(bits->width, low == 15 ? 4u : 8u);
    bits->isExact |= mask.getValue() == low || isByteWide;
    return bits;
  }
  if (isa<arith::ShRUIOp, arith::ShRSIOp>(op)) {
    AffineExpr amount = getAffine(getOperand(element, 1));
    if (!amount || !amount.isMultipleOf(4) || bits->width != 8 ||
        bits->shift != 0)
      return std::nullopt;
    bits->isExact &= amount == 4 && (isa<arith::ShRUIOp>(op) || !isByteWide);
    bits->shift = amount;
    bits->width = 4;
  }
  return bits;
}

Product ElementTrace::leaf(const Bits &bits, Type type) const {
  Product result = leaf(bits.source, bits.indices, type);
  if (bits.width == 4)
    result.factors.front().nibble = simplify(bits.shift.floorDiv(4));
  return result;
}

//===----------------------------------------------------------------------===//
// Ways to decode
//===----------------------------------------------------------------------===//

std::optional<Product> ElementTrace::traceDecoded(const Element &element) {
  Operation *op = element.getOp();
  if (isa<arith::BitcastOp>(op))
    return traceBitcast(element);
  if (isa<tensor::ExtractOp>(op))
    return traceTable(element);
  if (isa<math::ExpOp, math::Exp2Op, math::PowFOp, math::FPowIOp>(op))
    return tracePower(element);
  if (isa<arith::UIToFPOp, arith::SIToFPOp>(op))
    return traceOneHot(element);
  return std::nullopt;
}

/// Bytes as 8-bit floating point numbers, halves of bytes as f4E2M1FN, and
/// bytes that are the exponent of a number in f32.
std::optional<Product> ElementTrace::traceBitcast(const Element &element) {
  Type type = element.getType();
  Element operand = getOperand(element, 0);
  if (type.isF32()) {
    if (!isa_and_nonnull<arith::ShLIOp>(operand.getOp()) ||
        getAffine(getOperand(operand, 1)) != getAffineConstantExpr(23, context))
      return std::nullopt;
    std::optional<Bits> bits = traceBits(getOperand(operand, 0));
    return bits && bits->isByte() && !bits->offset
               ? std::optional(leaf(*bits, Float8E8M0FNUType::get(context)))
               : std::nullopt;
  }
  if (!Factor{{}, {}, type, {}}.isNarrow())
    return std::nullopt;
  std::optional<Bits> bits = traceBits(operand);
  if (!bits || bits->offset || (bits->width == 4 && !allowHalves) ||
      !(isa<Float4E2M1FNType>(type) ? bits->isNibble() : bits->isByte()))
    return std::nullopt;
  return leaf(*bits, type);
}

/// `value` before it was cast to other types that hold the numbers of f4E2M1FN.
static Value stripCasts(Value value) {
  while (auto op = value.getDefiningOp<linalg::LinalgOp>()) {
    Operation *cast =
        op.getBlock()->getTerminator()->getOperand(0).getDefiningOp();
    if (!isElementwise(op) || op.getNumDpsInputs() != 1 ||
        !isa_and_nonnull<arith::ExtFOp, arith::TruncFOp>(cast) ||
        cast->getOperand(0) != op.getBlock()->getArgument(0) ||
        isa<Float8E8M0FNUType>(cast->getResult(0).getType()) ||
        op.getIndexingMapsArray()[0] != op.getIndexingMapsArray()[1])
      break;
    value = op.getDpsInputOperand(0)->get();
  }
  return value;
}

/// The elements of a constant vector; nothing if `value` is not one of `count`.
static std::optional<SmallVector<APFloat>> getNumbers(Value value,
                                                      int64_t count) {
  Attribute attribute;
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getShape() != ArrayRef<int64_t>{count} ||
      !matchPattern(value, m_Constant(&attribute)))
    return std::nullopt;
  auto element = dyn_cast<FloatType>(type.getElementType());
  if (!element)
    return std::nullopt;
  if (auto dense = dyn_cast<DenseElementsAttr>(attribute))
    return llvm::to_vector(dense.getValues<APFloat>());
  auto resource = dyn_cast<DenseResourceElementsAttr>(attribute);
  AsmResourceBlob *blob =
      resource ? resource.getRawHandle().getBlob() : nullptr;
  unsigned bytes = element.getWidth() / 8;
  if (!blob || !bytes ||
      static_cast<int64_t>(blob->getData().size()) != count * bytes)
    return std::nullopt;
  SmallVector<APFloat> numbers;
  for (const char *at = blob->getData().begin(), *end = blob->getData().end();
       at != end; at += bytes) {
    uint64_t bits = 0;
    for (unsigned i = bytes; i-- > 0;)
      bits = bits << 8 | static_cast<uint8_t>(at[i]);
    numbers.emplace_back(element.getFloatSemantics(),
                         APInt(element.getWidth(), bits));
  }
  return numbers;
}

/// True for the sixteen numbers of f4E2M1FN in the order of their codes.
static bool isTableOfE2M1(Value table) {
  std::optional<SmallVector<APFloat>> numbers =
      getNumbers(stripCasts(table), 16);
  if (!numbers)
    return false;
  for (auto [code, number] : llvm::enumerate(*numbers)) {
    bool losesInfo;
    APFloat expected(APFloat::Float4E2M1FN(), APInt(4, code));
    expected.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                     &losesInfo);
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                   &losesInfo);
    // Zero may have any sign.
    if (number.compare(expected) != APFloat::cmpEqual)
      return false;
  }
  return true;
}

std::optional<Product> ElementTrace::traceTable(const Element &element) {
  auto extract = cast<tensor::ExtractOp>(element.getOp());
  if (extract.getIndices().size() != 1 || !isTableOfE2M1(extract.getTensor()))
    return std::nullopt;
  std::optional<Bits> bits = traceBits(getOperand(element, 1));
  if (!bits || !bits->isNibble())
    return std::nullopt;
  return fit(leaf(*bits, Float4E2M1FNType::get(context)), extract.getType());
}

/// 2 to the power of a byte, less 127: a scale in E8M0.
std::optional<Product> ElementTrace::tracePower(const Element &element) {
  constexpr int64_t kBias = 127;
  Operation *op = element.getOp();
  unsigned last = op->getNumOperands() - 1;
  if (last) {
    std::optional<APFloat> base = getConstant(getOperand(element, 0));
    if (!base || !base->isExactlyValue(2.0))
      return std::nullopt;
  }
  Element exponent = getOperand(element, last);
  if (isa<math::ExpOp>(op)) {
    // JAX writes exp2 as exp of a product with ln 2 in f32.
    if (!isa_and_nonnull<arith::MulFOp>(exponent.getOp()) ||
        !exponent.getType().isF32())
      return std::nullopt;
    Element first = getOperand(exponent, 0), second = getOperand(exponent, 1);
    std::optional<APFloat> factor = getConstant(first);
    exponent = factor ? second : first;
    if (!factor)
      factor = getConstant(second);
    if (!factor || !factor->isExactlyValue(llvm::numbers::ln2f))
      return std::nullopt;
  }
  int64_t offset = 0;
  bool isNegativeLost = false;
  Operation *computed = exponent.getOp();
  if (isa_and_nonnull<arith::SubFOp, arith::AddFOp>(computed)) {
    std::optional<APFloat> bias = getConstant(getOperand(exponent, 1));
    if (!bias ||
        !bias->isExactlyValue(isa<arith::SubFOp>(computed) ? kBias : -kBias))
      return std::nullopt;
    offset = -kBias;
    exponent = getOperand(exponent, 0);
    computed = exponent.getOp();
  }
  if (isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp>(computed)) {
    bool isSigned = isa<arith::SIToFPOp>(computed);
    // A float of 8 significant bits holds every byte, less 127 or not.
    isNegativeLost = !isSigned;
    if ((isSigned && getWidth(computed->getOperand(0)) == 8) ||
        cast<FloatType>(exponent.getType()).getFPMantissaWidth() < 8)
      return std::nullopt;
    exponent = getOperand(exponent, 0);
  } else if (!isa<math::FPowIOp>(op)) {
    return std::nullopt;
  }
  std::optional<Bits> bits = traceBits(exponent);
  if (!bits || !bits->isByte() || bits->offset + offset != -kBias ||
      (isNegativeLost && bits->offset))
    return std::nullopt;
  return fit(leaf(*bits, Float8E8M0FNUType::get(context)), element.getType());
}

//===----------------------------------------------------------------------===//
// Halves side by side
//===----------------------------------------------------------------------===//

/// The two sources of `op` that alternate along a dimension.
static std::optional<std::array<Value, 2>> getHalves(Operation *op,
                                                     unsigned &dim) {
  if (auto concat = dyn_cast<tensor::ConcatOp>(op)) {
    dim = concat.getDim();
    if (concat.getInputs().size() != 2 ||
        llvm::any_of(concat.getInputs(), [&](Value input) {
          return cast<RankedTensorType>(input.getType()).getDimSize(dim) != 1;
        }))
      return std::nullopt;
    return std::array<Value, 2>{concat.getInputs()[0], concat.getInputs()[1]};
  }
  auto second = cast<tensor::InsertSliceOp>(op);
  auto first = second.getDest().getDefiningOp<tensor::InsertSliceOp>();
  if (!first)
    return std::nullopt;
  ArrayRef<int64_t> shape = second.getDestType().getShape();
  std::array<tensor::InsertSliceOp, 2> inserts = {first, second};
  for (dim = 0; dim < shape.size(); ++dim) {
    std::array<Value, 2> halves;
    for (tensor::InsertSliceOp insert : inserts) {
      bool isWhole =
          insert.getSourceType().getRank() == insert.getDestType().getRank();
      std::optional<int64_t> offset;
      for (unsigned i = 0; isWhole && i < shape.size(); ++i) {
        OpFoldResult start = insert.getMixedOffsets()[i];
        OpFoldResult size = insert.getMixedSizes()[i];
        bool isHalf = i == dim;
        isWhole &= isConstantIntValue(insert.getMixedStrides()[i],
                                      isHalf && shape[i] != 2 ? 2 : 1);
        if (isHalf) {
          offset = getConstantIntValue(start);
          isWhole &= !ShapedType::isDynamic(shape[i]) && shape[i] % 2 == 0 &&
                     isConstantIntValue(size, shape[i] / 2);
        } else {
          // What neither part writes may be anything.
          isWhole &= isConstantIntValue(start, 0) &&
                     (isConstantIntValue(size, shape[i]) ||
                      (ShapedType::isDynamic(shape[i]) &&
                       first.getDest().getDefiningOp<tensor::EmptyOp>()));
        }
      }
      if (isWhole && offset && (*offset == 0 || *offset == 1))
        halves[*offset] = insert.getSource();
    }
    if (halves[0] && halves[1])
      return halves;
  }
  return std::nullopt;
}

std::optional<ElementTrace::Halves>
ElementTrace::enterHalves(const Element &element) {
  unsigned dim = 0;
  std::optional<std::array<Value, 2>> halves =
      getHalves(element.value.getDefiningOp(), dim);
  if (!halves)
    return std::nullopt;
  Indices inner = element.indices;
  AffineExpr index = inner[dim];
  bool isPair =
      cast<RankedTensorType>(element.value.getType()).getDimSize(dim) == 2;
  inner[dim] =
      isPair ? getAffineConstantExpr(0, context) : simplify(index.floorDiv(2));
  return Halves{
      {getElement((*halves)[0], inner), getElement((*halves)[1], inner)},
      isPair ? index : simplify(index % 2)};
}

/// Halves that are put in order before they are decoded.
std::optional<ElementTrace::Bits>
ElementTrace::traceInterleavedBits(const Element &element) {
  std::optional<Halves> halves = enterHalves(element);
  if (!halves)
    return std::nullopt;
  std::optional<Bits> low = traceBits(halves->parts[0]);
  std::optional<Bits> high = traceBits(halves->parts[1]);
  if (!low || !high || !low->isNibble() || !high->isNibble() ||
      low->shift != 0 || high->shift != 4 || low->source != high->source ||
      low->indices != high->indices)
    return std::nullopt;
  low->shift = simplify(halves->half * 4);
  return low;
}

/// The low halves of bytes and the high ones, stacked or put between each
/// other.
std::optional<Product> ElementTrace::traceInterleaved(const Element &element) {
  std::optional<Halves> halves = enterHalves(element);
  if (!halves)
    return std::nullopt;
  std::array<std::optional<Product>, 2> parts;
  for (unsigned i = 0; i < 2; ++i) {
    parts[i] = trace(halves->parts[i]);
    if (!parts[i] || parts[i]->factors.size() != parts[0]->factors.size() ||
        parts[i]->mask)
      return std::nullopt;
  }
  unsigned found = 0;
  for (auto [low, high] :
       llvm::zip_equal(parts[0]->factors, parts[1]->factors)) {
    if (low.source != high.source || low.indices != high.indices ||
        low.type != high.type || low.isDivisor != high.isDivisor)
      return std::nullopt;
    if (low.nibble == high.nibble)
      continue;
    if (!low.nibble || !high.nibble || low.nibble != 0 || high.nibble != 1)
      return std::nullopt;
    low.nibble = halves->half;
    ++found;
  }
  parts[0]->isRounded |= parts[1]->isRounded;
  return found == 1 ? parts[0] : std::nullopt;
}
