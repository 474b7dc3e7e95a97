//===- ElementTrace.cpp - What an element is the product of -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products of factors, and the account of how many bits they need.
//
//===----------------------------------------------------------------------===//

#include "ElementTrace.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace nvfp4::gsg;

std::string nvfp4::gsg::print(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

static bool isNarrowType(Type type) {
  return isa<Float4E2M1FNType, Float8E4M3FNType, Float8E5M2Type,
             Float8E8M0FNUType>(type);
}

static bool isHalfType(Type type) {
  return isa<BFloat16Type, Float16Type>(type);
}

std::string nvfp4::gsg::describeStop(ArrayRef<Factor> factors) {
  for (const Factor &factor : factors)
    if (factor.computedBy && !factor.isNarrow() && !factor.isHalf())
      return ", which " + factor.computedBy->getName().getStringRef().str() +
             " computes";
  return "";
}

std::string nvfp4::gsg::refuseFurtherFactor(ArrayRef<Factor> factors) {
  return "expected products of codes, block scales and rows of bf16 or f16 "
         "alone, but got a further factor" +
         describeStop(factors) +
         "; move-global-scales takes one that is one number a matrix";
}

void Factor::mapIndices(function_ref<AffineExpr(AffineExpr)> function) {
  for (AffineExpr &index : indices)
    index = function(index);
  if (nibble)
    nibble = function(nibble);
}

bool Factor::isNarrow() const { return isNarrowType(type); }

bool Factor::isHalf() const { return isHalfType(type); }

bool Product::isNarrow() const {
  return llvm::any_of(factors, [](const Factor &f) { return f.isNarrow(); });
}

/// The account of one number of a type. The range of bf16 is left out of it
/// like that of E8M0.
Product ElementTrace::measure(Type type) const {
  Product result;
  auto set = [&](unsigned bits, int unit, int limit) {
    result.bits = bits;
    result.unit = unit;
    result.limit = limit;
  };
  if (isa<Float4E2M1FNType>(type))
    set(2, -1, 3);
  else if (isa<Float8E4M3FNType>(type))
    set(4, -9, 9);
  else if (isa<Float8E5M2Type>(type))
    set(3, -16, 16);
  else if (isa<Float8E8M0FNUType>(type))
    result.hasPowerScale = true;
  else if (isa<Float16Type>(type) && !allowPlain)
    set(11, -24, 16);
  else if (isa<BFloat16Type>(type) && !allowPlain)
    result.bits = 8, result.hasPowerScale = true;
  else
    result.hasPlain = true;
  return result;
}

/// `product` if `type` holds it exactly, range of E8M0 scales and bf16 aside.
std::optional<Product> ElementTrace::fit(std::optional<Product> product,
                                         Type type) {
  auto floatType = dyn_cast<FloatType>(getElementTypeOrSelf(type));
  if (!product || !floatType)
    return std::nullopt;
  // One and zero fit any type.
  if (product->factors.empty())
    return product;
  // Numbers of other types are nothing that we look into.
  if (!product->isNarrow()) {
    product->isRounded |= floatType.getWidth() < 32;
    return product;
  }
  if (product->hasPlain) {
    if (allowPlain && floatType.getWidth() >= 32)
      return product;
    return fail(allowPlain
                    ? "expected a factor of a whole matrix to be applied "
                      "in f32, but got one in " +
                          print(floatType) + describeStop(product->factors)
                    : refuseFurtherFactor(product->factors));
  }
  const llvm::fltSemantics &semantics = floatType.getFloatSemantics();
  int precision = llvm::APFloat::semanticsPrecision(semantics);
  int minUnit = llvm::APFloat::semanticsMinExponent(semantics) - precision + 1;
  int maxExponent = llvm::APFloat::semanticsMaxExponent(semantics);
  bool holds = static_cast<int>(product->bits) <= precision;
  holds &= product->hasPowerScale
               ? maxExponent >= 127
               : product->unit >= minUnit && product->limit <= maxExponent + 1;
  if (holds)
    return product;
  bool isTooNarrow = product->hasPowerScale && maxExponent < 127;
  return fail(llvm::formatv(
      "expected an intermediate type {0}, but got {1}",
      isTooNarrow ? "with the exponents of f8E8M0FNU"
                  : llvm::formatv("that holds {0} significant bits exactly",
                                  product->bits)
                        .str(),
      floatType));
}

Product ElementTrace::leaf(Value source, Indices indices, Type type) const {
  Product product = measure(type);
  product.factors.push_back({source, std::move(indices), type, {}});
  return product;
}

static Product multiply(const Product &a, const Product &b) {
  Product result = a;
  llvm::append_range(result.factors, b.factors);
  // A power of two takes no bits.
  auto width = [](const Product &p) { return p.bits == 1 ? 0 : p.bits; };
  result.bits = std::max(1u, width(a) + width(b));
  result.unit += b.unit;
  result.limit += b.limit;
  result.hasPowerScale |= b.hasPowerScale;
  result.hasPlain |= b.hasPlain;
  result.isRounded |= b.isRounded;
  if (a.mask && b.mask)
    result.mask = RowMask();
  else if (b.mask)
    result.mask = b.mask;
  return result;
}

std::optional<Product> ElementTrace::trace(Element element) {
  if (!countStep())
    return std::nullopt;
  Type type = element.getType();
  bool isTensor = isa<RankedTensorType>(element.value.getType());
  if (!element.getOp() && !isTensor) {
    // All numbers but what other dialects compute here.
    bool isOwn = element.owner &&
                 element.value.getParentBlock() == element.owner.getBlock();
    bool isConstant = matchPattern(element.value, m_Constant());
    return isa<FloatType>(type) && (!isOwn || isConstant)
               ? std::optional(leaf(element.value, {}, type))
               : std::nullopt;
  }
  if (Value tensor = element.tensor; tensor && !isCountable(tensor.getType()))
    return fail(llvm::formatv(kUncountable, tensor.getType()));
  std::optional<Product> result =
      element.getOp() ? traceComputed(element) : traceMoved(element);
  if (!element.tensor)
    return result;
  // Rows without scales, codes and scales that are computed here are as good as
  // what they are computed of.
  if (result && !result->isNarrow() && !result->mask &&
      (isHalfType(type) || isNarrowType(type)))
    result.reset();
  // A failure of exactness stays one; whatever else is not understood is a
  // tensor like any other.
  if (result || !reason.empty() || !isa<FloatType>(type))
    return result;
  Product product = leaf(element.tensor, element.place, type);
  product.factors.front().computedBy = element.getOp();
  if (!element.getOp())
    product.factors.front().computedBy = element.value.getDefiningOp();
  return product;
}

std::optional<Product> ElementTrace::traceMoved(const Element &element) {
  Operation *op = element.value.getDefiningOp();
  if (isa_and_nonnull<tensor::ConcatOp, tensor::InsertSliceOp>(op))
    return traceInterleaved(element);
  if (std::optional<Element> source = enterSlice(element)) {
    std::optional<Product> result = trace(*source);
    // Codes and scales that are sliced are as good as their source.
    return result && result->isNarrow() &&
                   (result->factors.size() > 1 ||
                    result->factors.front().type != element.getType())
               ? result
               : std::nullopt;
  }
  auto cast = dyn_cast_or_null<tosa::CastFromBlockScaledOp>(op);
  Type code =
      cast ? getElementTypeOrSelf(cast.getInputData().getType()) : Type();
  if (!cast || !isNarrowType(code))
    return std::nullopt;
  Indices block = element.indices;
  block.back() = simplify(block.back().floorDiv(
      tosa::BlockSizeAttr::getBlockSizeValue(cast.getBlockSize())));
  return fit(multiply(leaf(cast.getInputData(), element.indices, code),
                      leaf(cast.getInputScale(), block,
                           Float8E8M0FNUType::get(context))),
             element.getType());
}

void ElementTrace::noteLoss(const Element &element) {
  if (!loss.empty() || isNotingLoss || !isa<FloatType>(element.getType()))
    return;
  // Nothing of this look may decide what is matched.
  ElementTrace look(*this);
  look.isNotingLoss = true;
  Operation *op = element.getOp();
  for (unsigned i = 0; i < op->getNumOperands() && loss.empty(); ++i) {
    if (!isa<FloatType>(getElementTypeOrSelf(op->getOperand(i).getType())))
      continue;
    std::optional<Product> product = look.traceOperand(element, i);
    if (product && product->isNarrow())
      loss = llvm::formatv("expected codes and scales that are multiplied and "
                           "nothing else, but got {0} of them",
                           op->getName());
  }
}

std::optional<Product> ElementTrace::traceComputed(const Element &element) {
  Operation *op = element.getOp();
  Type type = element.getType();
  if (isa<arith::SelectOp>(op))
    return traceMasked(element);
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    return fit(traceOperand(element, 0), type);
  if (!isa<arith::MulFOp, arith::DivFOp, arith::ScalingExtFOp>(op)) {
    noteLoss(element);
    return reason.empty() ? traceDecoded(element) : std::nullopt;
  }
  std::optional<Product> a = traceOperand(element, 0);
  std::optional<Product> b = traceOperand(element, 1);
  if (!a || !b)
    return std::nullopt;
  if (isa<arith::DivFOp>(op)) {
    // Only what is one number a matrix may divide.
    if (!a->isNarrow() || b->factors.empty() || b->mask ||
        llvm::any_of(b->factors, [](const Factor &factor) {
          return factor.isNarrow() || factor.isHalf();
        })) {
      noteLoss(element);
      return std::nullopt;
    }
    for (Factor &factor : b->factors)
      factor.isDivisor = !factor.isDivisor;
  }
  if (isa<arith::ScalingExtFOp>(op) &&
      (b->factors.size() != 1 ||
       !isa<Float8E8M0FNUType>(b->factors.front().type)))
    return fail("expected scaling_extf with scales in f8E8M0FNU, of others it "
                "takes the exponent alone");
  // Times one or zero is exact.
  if (a->factors.empty() || b->factors.empty())
    return multiply(*a, *b);
  return fit(multiply(*a, *b), type);
}
