//===- ElementTrace.cpp - What an element is the product of -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The walk from an element to its factors, and the account of how many bits a
// product needs.
//
//===----------------------------------------------------------------------===//

#include "ElementTrace.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/FormatVariadic.h"

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

//===----------------------------------------------------------------------===//
// Movements of elements
//===----------------------------------------------------------------------===//

/// True if the loops of `op` are those of its first result, in any order.
static bool isElementwise(linalg::LinalgOp op) {
  return op && op.hasPureTensorSemantics() && op.getNumDpsInits() == 1 &&
         op.getNumParallelLoops() == op.getNumLoops() &&
         op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isPermutation();
}

/// The indices of the loops of `op` at an element of its result.
static SmallVector<AffineExpr> getLoops(linalg::LinalgOp op,
                                        ArrayRef<AffineExpr> indices) {
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  SmallVector<AffineExpr> loops(op.getNumLoops());
  for (auto [expr, index] : llvm::zip_equal(map.getResults(), indices))
    loops[cast<AffineDimExpr>(expr).getPosition()] = index;
  return loops;
}

static SmallVector<AffineExpr> apply(AffineMap map,
                                     ArrayRef<AffineExpr> loops) {
  SmallVector<AffineExpr> result;
  for (AffineExpr expr : map.getResults())
    result.push_back(simplify(expr.replaceDims(loops)));
  return result;
}

static bool hasDynamicDim(ArrayRef<int64_t> shape) {
  return ShapedType::isDynamicShape(shape);
}

/// True if `tensor` is a slice that has `size` elements in dimension `dim`.
static bool isSizeOf(OpFoldResult size, Value tensor, unsigned dim) {
  auto slice = tensor.getDefiningOp<tensor::ExtractSliceOp>();
  if (!slice)
    return false;
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  SmallVector<OpFoldResult> sizes;
  for (auto [i, own] : llvm::enumerate(slice.getMixedSizes()))
    if (!dropped[i])
      sizes.push_back(own);
  return sizes[dim] == size;
}

std::optional<SmallVector<AffineExpr>>
ElementTrace::enterSlice(tensor::ExtractSliceOp op,
                         ArrayRef<AffineExpr> indices) {
  if (!op.hasUnitStride())
    return std::nullopt;
  ArrayRef<int64_t> shape = op.getSourceType().getShape();
  llvm::SmallBitVector dropped = op.getDroppedDims();
  Indices inner;
  const AffineExpr *next = indices.begin();
  for (auto [i, offset, size] :
       llvm::enumerate(op.getMixedOffsets(), op.getMixedSizes())) {
    AffineExpr index = dropped[i] ? getAffineConstantExpr(0, context) : *next++;
    bool isWhole = isConstantIntValue(offset, 0) &&
                   (getConstantIntValue(size) == shape[i] ||
                    isSizeOf(size, op.getSource(), i));
    if (!isWhole) {
      // Halves of the bytes of one slice compare equal.
      const Slice *slice = llvm::find_if(slices, [&](const Slice &known) {
        return known.offset == offset && known.size == size;
      });
      unsigned symbol = slice - slices.begin();
      if (symbol == kMaxSlices)
        return std::nullopt;
      index = simplify(index + getAffineSymbolExpr(symbol, context));
      if (symbol == slices.size())
        slices.push_back({offset, size});
    }
    inner.push_back(index);
  }
  return inner;
}

bool ElementTrace::peelOnce(Value &tensor, Indices &indices) {
  Operation *op = tensor.getDefiningOp();
  if (!op || ++steps > kMaxSteps)
    return false;
  if (auto cast = dyn_cast<tensor::CastOp>(op)) {
    if (!isa<RankedTensorType>(cast.getSource().getType()))
      return false;
    tensor = cast.getSource();
    return true;
  }
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
      slice && behind == Slices::All) {
    std::optional<Indices> inner = enterSlice(slice, indices);
    if (!inner)
      return false;
    tensor = slice.getSource();
    indices = std::move(*inner);
    return true;
  }
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    ArrayRef<int64_t> shape = expand.getResultType().getShape();
    Indices inner;
    for (const ReassociationIndices &group : expand.getReassociationIndices()) {
      AffineExpr index = getAffineConstantExpr(0, context);
      for (auto [position, dim] : llvm::enumerate(group)) {
        if (position && ShapedType::isDynamic(shape[dim]))
          return false;
        index = (position ? index * shape[dim] : index) + indices[dim];
      }
      inner.push_back(simplify(index));
    }
    tensor = expand.getSrc();
    indices = std::move(inner);
    return true;
  }
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    ArrayRef<int64_t> shape = collapse.getSrcType().getShape();
    Indices inner(shape.size(), getAffineConstantExpr(0, context));
    for (auto [group, index] :
         llvm::zip_equal(collapse.getReassociationIndices(), indices)) {
      AffineExpr rest = index;
      if (hasDynamicDim(shape.slice(group.front() + 1, group.size() - 1)))
        return false;
      for (int64_t dim : llvm::reverse(group)) {
        if (dim == group.front()) {
          inner[dim] = rest;
        } else if (shape[dim] > 0) {
          inner[dim] = simplify(rest % shape[dim]);
          rest = simplify(rest.floorDiv(shape[dim]));
        }
      }
    }
    tensor = collapse.getSrc();
    indices = std::move(inner);
    return true;
  }
  if (isa<tensor::GatherOp>(op))
    return enterGather(tensor, indices);
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!isElementwise(linalgOp))
    return false;
  auto argument = dyn_cast<BlockArgument>(
      linalgOp.getBlock()->getTerminator()->getOperand(0));
  if (!argument || argument.getOwner() != linalgOp.getBlock())
    return false;
  OpOperand *operand = linalgOp.getMatchingOpOperand(argument);
  if (!linalgOp.isDpsInput(operand) ||
      !isa<RankedTensorType>(operand->get().getType()))
    return false;
  indices = apply(linalgOp.getMatchingIndexingMap(operand),
                  getLoops(linalgOp, indices));
  tensor = operand->get();
  return true;
}

void ElementTrace::peel(Value &tensor, Indices &indices) {
  while (peelOnce(tensor, indices))
    ;
}

Operation *ElementTrace::Scalar::getComputation() const {
  Operation *op = value.getDefiningOp();
  if (op && owner ? op->getBlock() != owner.getBlock() : !op)
    return nullptr;
  StringRef dialect = op->getName().getDialectNamespace();
  bool isScalar = dialect == "arith" || dialect == "math" ||
                  (owner && isa<linalg::IndexOp, tensor::ExtractOp>(op));
  return isScalar && !isa<arith::ConstantOp>(op) ? op : nullptr;
}

void ElementTrace::settle(Scalar &scalar, Scalar *element) {
  while (++steps < kMaxSteps) {
    if (scalar.owner) {
      auto argument = dyn_cast<BlockArgument>(scalar.value);
      if (argument && argument.getOwner() == scalar.owner.getBlock()) {
        OpOperand *operand = scalar.owner.getMatchingOpOperand(argument);
        if (!scalar.owner.isDpsInput(operand))
          return;
        scalar.indices =
            apply(scalar.owner.getMatchingIndexingMap(operand), scalar.indices);
        scalar.value = operand->get();
        scalar.owner = {};
      } else if (!enterLookup(scalar)) {
        return;
      }
    }
    if (!isa<RankedTensorType>(scalar.value.getType()))
      return;
    peel(scalar.value, scalar.indices);
    if (auto splat = scalar.value.getDefiningOp<tensor::SplatOp>()) {
      scalar = {splat.getInput(), {}, {}};
      return;
    }
    if (element)
      *element = scalar;
    auto producer = scalar.value.getDefiningOp<linalg::LinalgOp>();
    if (!isElementwise(producer))
      return;
    scalar = {producer.getBlock()->getTerminator()->getOperand(0), producer,
              getLoops(producer, scalar.indices)};
  }
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

std::optional<Product> ElementTrace::traceTensor(Value tensor,
                                                 Indices indices) {
  peel(tensor, indices);
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

std::optional<Product> ElementTrace::traceArith(Operation *op,
                                                OperandTrace operand) {
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    return fit(operand(op->getOperand(0)), op->getResult(0).getType());
  if (!isa<arith::MulFOp, arith::ScalingExtFOp>(op))
    return std::nullopt;
  std::optional<Product> a = operand(op->getOperand(0));
  std::optional<Product> b = operand(op->getOperand(1));
  if (!a || !b)
    return std::nullopt;
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
                         apply(op.getMatchingIndexingMap(operand), loops));
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
