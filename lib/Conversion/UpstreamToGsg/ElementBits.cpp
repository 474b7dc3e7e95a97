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
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace nvfp4::gsg;

static unsigned getWidth(Value value) {
  Type type = getElementTypeOrSelf(value.getType());
  return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
}

AffineExpr ElementTrace::getAffine(Scalar scalar, unsigned minWidth) {
  settle(scalar);
  APInt constant;
  if (matchPattern(scalar.value, m_ConstantInt(&constant)))
    return getAffineConstantExpr(constant.getSExtValue(), context);
  Operation *op = scalar.getComputation();
  if (!op || ++steps > kMaxSteps || getWidth(op->getResult(0)) < minWidth)
    return {};
  if (auto index = dyn_cast<linalg::IndexOp>(op))
    return scalar.indices[index.getDim()];
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::TruncIOp,
          arith::ExtUIOp>(op))
    return getAffine(scalar.operand(op, 0), minWidth);
  if (!isa<arith::MulIOp, arith::AddIOp, arith::SubIOp, arith::RemUIOp,
           arith::ShLIOp>(op))
    return {};
  AffineExpr a = getAffine(scalar.operand(op, 0), minWidth);
  AffineExpr b = getAffine(scalar.operand(op, 1), minWidth);
  if (!a || !b)
    return {};
  if (isa<arith::SubIOp>(op)) {
    // A remainder from what is as large, which wraps nowhere.
    auto whole = dyn_cast<AffineConstantExpr>(a);
    auto part = dyn_cast<AffineBinaryOpExpr>(b);
    auto n = part && part.getKind() == AffineExprKind::Mod
                 ? dyn_cast<AffineConstantExpr>(part.getRHS())
                 : AffineConstantExpr();
    return whole && n && n.getValue() <= whole.getValue() + 1 ? simplify(a - b)
                                                              : AffineExpr();
  }
  if (isa<arith::AddIOp>(op))
    return simplify(a + b);
  auto number = dyn_cast<AffineConstantExpr>(b);
  if (!number && isa<arith::MulIOp>(op)) {
    std::swap(a, b);
    number = dyn_cast<AffineConstantExpr>(b);
  }
  if (!number || number.getValue() <= 0 || number.getValue() > 64)
    return {};
  int64_t n = number.getValue();
  if (isa<arith::ShLIOp>(op))
    return n < 8 ? simplify(a * (int64_t(1) << n)) : AffineExpr();
  return simplify(isa<arith::MulIOp>(op) ? a * n : a % n);
}

//===----------------------------------------------------------------------===//
// Bits of a byte
//===----------------------------------------------------------------------===//

bool ElementTrace::Bits::isByte() const {
  return width == 8 && isExact && shift == 0;
}

std::optional<ElementTrace::Bits> ElementTrace::traceBits(Scalar scalar) {
  Scalar element;
  settle(scalar, &element);
  if (++steps > kMaxSteps)
    return std::nullopt;
  if (Operation *op = scalar.getComputation())
    if (std::optional<Bits> bits = traceBitsOf(scalar, op))
      return bits;
  // Bytes that are computed otherwise are a tensor like any other.
  if (!element.value ||
      !getElementTypeOrSelf(element.value.getType()).isInteger(8))
    return std::nullopt;
  return Bits{element.value, element.indices,
              getAffineConstantExpr(0, context)};
}

std::optional<ElementTrace::Bits>
ElementTrace::traceBitsOf(const Scalar &scalar, Operation *op) {
  Scalar operand = scalar.operand(op, 0);
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    // An index is counted from the end where it is negative; this one is not.
    settle(operand);
    auto compare = operand.value.getDefiningOp<arith::CmpIOp>();
    std::optional<Bits> bits = traceBits(scalar.operand(op, 2));
    return compare && compare.getPredicate() == arith::CmpIPredicate::slt &&
                   matchPattern(compare.getRhs(), m_Zero()) && bits &&
                   bits->isExact && !bits->offset &&
                   getWidth(select.getFalseValue()) > bits->width &&
                   compare.getLhs() == select.getFalseValue()
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
  bool isByteWide = getWidth(operand.value) == 8;
  unsigned width = getWidth(op->getResult(0));
  bool isNarrowing = width < getWidth(operand.value);
  if (isa<arith::ExtSIOp, arith::IndexCastOp>(op) && !isNarrowing) {
    // The first bit of all is a sign that is repeated.
    bits->isExact &= getWidth(operand.value) > bits->width;
    return bits;
  }
  if (isa<arith::AddIOp, arith::SubIOp>(op)) {
    auto number =
        dyn_cast_or_null<AffineConstantExpr>(getAffine(scalar.operand(op, 1)));
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
    auto mask =
        dyn_cast_or_null<AffineConstantExpr>(getAffine(scalar.operand(op, 1)));
    // 255 is -1 where a byte is signed.
    int64_t low = mask ? mask.getValue() & 255 : 0;
    if (!mask || (low != 15 && low != 255) || (low == 255 && bits->width < 8))
      return std::nullopt;
    bits->width = std::min(bits->width, low == 15 ? 4u : 8u);
    bits->isExact |= mask.getValue() == low || isByteWide;
    return bits;
  }
  if (isa<arith::ShRUIOp, arith::ShRSIOp>(op)) {
    AffineExpr amount = getAffine(scalar.operand(op, 1));
    if (!amount || !amount.isMultipleOf(4) || bits->width != 8 ||
        bits->shift != 0)
      return std::nullopt;
    bits->isExact &= amount == 4 && (isa<arith::ShRUIOp>(op) || !isByteWide);
    bits->shift = amount;
    bits->width = 4;
  }
  return bits;
}

std::optional<Product> ElementTrace::leaf(const Bits &bits, Type type) {
  std::optional<Product> result = leaf(bits.source, bits.indices, type);
  if (bits.width == 4)
    result->factors.front().nibble = simplify(bits.shift.floorDiv(4));
  return result;
}

//===----------------------------------------------------------------------===//
// Ways to decode
//===----------------------------------------------------------------------===//

std::optional<Product> ElementTrace::traceDecoded(const Scalar &scalar) {
  Operation *op = scalar.value.getDefiningOp();
  if (isa<arith::BitcastOp>(op))
    return traceBitcast(scalar);
  if (isa<tensor::ExtractOp>(op)) {
    if (std::optional<Product> code = traceTable(scalar))
      return code;
    Scalar element = scalar;
    return enterLookup(element) ? traceTensor(element.value, element.indices)
                                : std::nullopt;
  }
  if (isa<math::Exp2Op, math::PowFOp, math::FPowIOp>(op))
    return tracePower(scalar);
  if (isa<arith::UIToFPOp, arith::SIToFPOp>(op))
    return traceOneHot(scalar);
  return std::nullopt;
}

/// Bytes as 8-bit floating point numbers, halves of bytes as f4E2M1FN, and
/// bytes that are the exponent of a number in f32.
std::optional<Product> ElementTrace::traceBitcast(const Scalar &scalar) {
  Operation *op = scalar.value.getDefiningOp();
  Type type = getElementTypeOrSelf(op->getResult(0).getType());
  Scalar operand = scalar.operand(op, 0);
  if (type.isF32()) {
    settle(operand);
    auto shift = operand.value.getDefiningOp<arith::ShLIOp>();
    if (!shift || getAffine(operand.operand(shift, 1)) !=
                      getAffineConstantExpr(23, context))
      return std::nullopt;
    std::optional<Bits> bits = traceBits(operand.operand(shift, 0));
    return bits && bits->isByte() && !bits->offset
               ? leaf(*bits, Float8E8M0FNUType::get(context))
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
  std::optional<SmallVector<APFloat>> numbers = getNumbers(table, 16);
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

std::optional<Product> ElementTrace::traceTable(const Scalar &scalar) {
  auto extract = scalar.value.getDefiningOp<tensor::ExtractOp>();
  if (extract.getIndices().size() != 1 || !isTableOfE2M1(extract.getTensor()))
    return std::nullopt;
  std::optional<Bits> bits = traceBits(scalar.operand(extract, 1));
  if (!bits || !bits->isNibble())
    return std::nullopt;
  return fit(leaf(*bits, Float4E2M1FNType::get(context)), extract.getType());
}

/// 2 to the power of a byte, less 127: a scale in E8M0.
std::optional<Product> ElementTrace::tracePower(const Scalar &scalar) {
  constexpr int64_t kBias = 127;
  Operation *op = scalar.value.getDefiningOp();
  unsigned last = op->getNumOperands() - 1;
  if (last) {
    Scalar base = scalar.operand(op, 0);
    settle(base);
    APFloat two(APFloat::IEEEdouble());
    if (!matchPattern(base.value, m_ConstantFloat(&two)) ||
        !two.isExactlyValue(2.0))
      return std::nullopt;
  }
  Scalar exponent = scalar.operand(op, last);
  int64_t offset = 0;
  bool isNegativeLost = false;
  settle(exponent);
  Operation *computed = exponent.getComputation();
  if (isa_and_nonnull<arith::SubFOp, arith::AddFOp>(computed)) {
    Scalar bias = exponent.operand(computed, 1);
    settle(bias);
    APFloat number(APFloat::IEEEdouble());
    if (!matchPattern(bias.value, m_ConstantFloat(&number)) ||
        !number.isExactlyValue(isa<arith::SubFOp>(computed) ? kBias : -kBias))
      return std::nullopt;
    offset = -kBias;
    exponent = exponent.operand(computed, 0);
    settle(exponent);
    computed = exponent.getComputation();
  }
  if (isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp>(computed)) {
    bool isSigned = isa<arith::SIToFPOp>(computed);
    exponent = exponent.operand(computed, 0);
    // A float of 8 significant bits holds every byte, less 127 or not.
    isNegativeLost = !isSigned;
    auto type =
        cast<FloatType>(getElementTypeOrSelf(computed->getResult(0).getType()));
    if ((isSigned && getWidth(exponent.value) == 8) ||
        type.getFPMantissaWidth() < 8)
      return std::nullopt;
  } else if (!isa<math::FPowIOp>(op)) {
    return std::nullopt;
  }
  std::optional<Bits> bits = traceBits(exponent);
  if (!bits || !bits->isByte() || bits->offset + offset != -kBias ||
      (isNegativeLost && bits->offset))
    return std::nullopt;
  return fit(leaf(*bits, Float8E8M0FNUType::get(context)),
             op->getResult(0).getType());
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

/// The low halves of bytes and the high ones, stacked or put between each
/// other.
std::optional<Product>
ElementTrace::traceInterleaved(Operation *op, ArrayRef<AffineExpr> indices) {
  unsigned dim = 0;
  std::optional<std::array<Value, 2>> halves = getHalves(op, dim);
  if (!halves)
    return std::nullopt;
  Indices inner(indices);
  bool isPair =
      cast<RankedTensorType>(op->getResult(0).getType()).getDimSize(dim) == 2;
  inner[dim] = isPair ? getAffineConstantExpr(0, context)
                      : simplify(indices[dim].floorDiv(2));
  AffineExpr half = isPair ? indices[dim] : simplify(indices[dim] % 2);
  llvm::SaveAndRestore halving(isBetweenHalves, true);
  std::array<std::optional<Product>, 2> parts;
  for (unsigned i = 0; i < 2; ++i) {
    parts[i] = traceTensor((*halves)[i], inner);
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
    low.nibble = half;
    ++found;
  }
  parts[0]->isRounded |= parts[1]->isRounded;
  return found == 1 ? parts[0] : std::nullopt;
}
