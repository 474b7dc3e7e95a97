//===- ElementTrace.cpp - What an element is the product of -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The walk from an element to its factors, through arithmetic, and the account
// of how many bits a product needs.
//
//===----------------------------------------------------------------------===//

#include "ElementTrace.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace nvfp4::gsg;

static constexpr unsigned kMaxDims = 64;

AffineExpr nvfp4::gsg::simplify(AffineExpr expr) {
  return simplifyAffineExpr(expr, kMaxDims, kMaxSymbols);
}

static bool isNarrowType(Type type) {
  return isa<Float4E2M1FNType, Float8E4M3FNType, Float8E5M2Type,
             Float8E8M0FNUType>(type);
}

static bool isHalfType(Type type) {
  return isa<BFloat16Type, Float16Type>(type);
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

static std::string toString(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
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
    if (reason.empty())
      reason = allowPlain
                   ? llvm::formatv("expected a factor of a whole matrix to be "
                                   "applied in f32, but got {0}",
                                   toString(floatType))
                         .str()
                   : kFurtherFactor;
    return std::nullopt;
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
  if (!reason.empty())
    return std::nullopt;
  reason = "expected an intermediate type ";
  if (product->hasPowerScale && maxExponent < 127)
    reason += "with the exponents of f8E8M0FNU";
  else
    reason +=
        llvm::formatv("that holds {0} significant bits exactly", product->bits);
  reason += ", but got " + toString(floatType);
  return std::nullopt;
}

std::optional<Product> ElementTrace::leaf(Value source, Indices indices,
                                          Type type) {
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

std::optional<Product> ElementTrace::traceTensor(Value tensor,
                                                 Indices indices) {
  peel(tensor, indices);
  if (!isCountable(tensor.getType())) {
    if (reason.empty())
      reason = llvm::formatv(kUncountable, tensor.getType());
    return std::nullopt;
  }
  Type type = getElementTypeOrSelf(tensor.getType());
  std::optional<Product> result;
  if (Operation *op = tensor.getDefiningOp(); op && ++steps < kMaxSteps) {
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (isElementwise(linalgOp))
      result = traceScalar(linalgOp.getBlock()->getTerminator()->getOperand(0),
                           linalgOp, getLoops(linalgOp, indices));
    else if (Scalar scalar{tensor, {}, indices}; scalar.getComputation())
      result = traceComputed(scalar, [&](Value operand) {
        return isa<RankedTensorType>(operand.getType())
                   ? traceTensor(operand, indices)
                   : std::nullopt;
      });
    else if (auto cast = dyn_cast<tosa::CastFromBlockScaledOp>(op))
      result = traceCast(cast, indices);
    else if (isa<tensor::ConcatOp, tensor::InsertSliceOp>(op))
      result = traceInterleaved(op, indices);
    else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
      if (std::optional<Indices> inner = enterSlice(slice, indices))
        result = traceTensor(slice.getSource(), std::move(*inner));
  }
  // Codes and scales that are sliced are as good as their source.
  if (result && isa<tensor::ExtractSliceOp>(tensor.getDefiningOp()) &&
      (!result->isNarrow() ||
       (result->factors.size() == 1 && result->factors.front().type == type)))
    result.reset();
  // So are rows without scales, codes and scales that are computed here.
  if (result && !result->isNarrow() && !result->mask &&
      (isHalfType(type) || isNarrowType(type)))
    result.reset();
  // And codes that are the same half of each byte, but for what puts the other
  // halves between them.
  if (result && !isBetweenHalves && result->isNarrow() && isNarrowType(type) &&
      result->factors.front().nibble &&
      isa<AffineConstantExpr>(result->factors.front().nibble))
    result.reset();
  // A failure of exactness stays one; whatever else is not understood is a
  // tensor like any other.
  if (result || !reason.empty() || !isa<FloatType>(type))
    return result;
  return leaf(tensor, std::move(indices), type);
}

/// Codes times the scales of their blocks along the last dimension.
std::optional<Product> ElementTrace::traceCast(tosa::CastFromBlockScaledOp op,
                                               ArrayRef<AffineExpr> indices) {
  Type code = getElementTypeOrSelf(op.getInputData().getType());
  Type scale = getElementTypeOrSelf(op.getInputScale().getType());
  if (!isNarrowType(code) || indices.empty())
    return std::nullopt;
  Indices block(indices);
  int64_t size = tosa::BlockSizeAttr::getBlockSizeValue(op.getBlockSize());
  block.back() = simplify(block.back().floorDiv(size));
  std::optional<Product> a = leaf(op.getInputData(), Indices(indices), code);
  std::optional<Product> b = leaf(op.getInputScale(), std::move(block), scale);
  return fit(multiply(*a, *b), op.getOutputData().getType());
}

void ElementTrace::noteLoss(Operation *op, OperandTrace operand) {
  if (!loss.empty() || isNotingLoss ||
      !isa<FloatType>(getElementTypeOrSelf(op->getResult(0).getType())))
    return;
  // Nothing of this look may decide what is matched.
  llvm::SaveAndRestore noting(isNotingLoss, true);
  llvm::SaveAndRestore keptSteps(steps);
  llvm::SaveAndRestore keptReason(reason);
  llvm::SaveAndRestore keptSlices(slices);
  llvm::SaveAndRestore keptLookups(lookups);
  for (Value value : op->getOperands()) {
    if (!isa<FloatType>(getElementTypeOrSelf(value.getType())))
      continue;
    std::optional<Product> product = operand(value);
    if (product && product->isNarrow()) {
      loss = llvm::formatv("expected codes and scales that are multiplied and "
                           "nothing else, but got {0} of them",
                           op->getName());
      return;
    }
  }
}

std::optional<Product> ElementTrace::traceArith(Operation *op,
                                                OperandTrace operand) {
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    return fit(operand(op->getOperand(0)), op->getResult(0).getType());
  if (!isa<arith::MulFOp, arith::DivFOp, arith::ScalingExtFOp>(op)) {
    noteLoss(op, operand);
    return std::nullopt;
  }
  std::optional<Product> a = operand(op->getOperand(0));
  std::optional<Product> b = operand(op->getOperand(1));
  if (!a || !b)
    return std::nullopt;
  if (isa<arith::DivFOp>(op)) {
    // Only what is one number a matrix may divide.
    if (!a->isNarrow() || b->factors.empty() || b->mask ||
        llvm::any_of(b->factors, [](const Factor &factor) {
          return factor.isNarrow() || factor.isHalf();
        })) {
      noteLoss(op, operand);
      return std::nullopt;
    }
    for (Factor &factor : b->factors)
      factor.isDivisor = !factor.isDivisor;
  }
  if (isa<arith::ScalingExtFOp>(op) &&
      (b->factors.size() != 1 ||
       !isa<Float8E8M0FNUType>(b->factors.front().type))) {
    if (reason.empty())
      reason = "expected scaling_extf with scales in f8E8M0FNU, of others it "
               "takes the exponent alone";
    return std::nullopt;
  }
  // Times one or zero is exact.
  if (a->factors.empty() || b->factors.empty())
    return multiply(*a, *b);
  return fit(multiply(*a, *b), op->getResult(0).getType());
}

std::optional<Product> ElementTrace::traceScalar(Value value,
                                                 linalg::LinalgOp op,
                                                 ArrayRef<AffineExpr> loops) {
  if (++steps > kMaxSteps)
    return std::nullopt;
  if (auto argument = dyn_cast<BlockArgument>(value);
      argument && argument.getOwner() == op.getBlock()) {
    OpOperand *operand = op.getMatchingOpOperand(argument);
    if (!op.isDpsInput(operand))
      return std::nullopt;
    if (isa<RankedTensorType>(operand->get().getType()))
      return traceTensor(operand->get(),
                         mapIndices(op.getMatchingIndexingMap(operand), loops));
    value = operand->get();
  }
  Operation *definition = value.getDefiningOp();
  if (!definition || definition->getBlock() != op.getBlock() ||
      isa<arith::ConstantOp>(definition))
    return isa<FloatType>(value.getType()) ? leaf(value, {}, value.getType())
                                           : std::nullopt;
  return traceComputed({value, op, Indices(loops)}, [&](Value operand) {
    return traceScalar(operand, op, loops);
  });
}

std::optional<Product> ElementTrace::traceComputed(const Scalar &scalar,
                                                   OperandTrace operand) {
  Operation *op = scalar.value.getDefiningOp();
  if (isa<arith::SelectOp>(op))
    return traceMasked(scalar, operand);
  std::optional<Product> result = traceArith(op, operand);
  return result || !reason.empty() ? result : traceDecoded(scalar);
}
