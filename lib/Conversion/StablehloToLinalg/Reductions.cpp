//===- Reductions.cpp - Sums and products -----------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each is one `linalg.generic`, with its parallel loops before the others.
//
//===----------------------------------------------------------------------===//

#include "HloOp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace nvfp4::hlo;

/// Loops of which the first `numParallel` are parallel, and the operation on
/// them; `inits` are reduced into, with `outMap` for all.
static SmallVector<Value> makeReduction(
    LocBuilder &b, ValueRange inputs, ValueRange inits,
    ArrayRef<AffineMap> maps, unsigned numParallel,
    llvm::function_ref<SmallVector<Value>(LocBuilder &, ValueRange)> body) {
  SmallVector<utils::IteratorType> loops(maps.front().getNumDims(),
                                         utils::IteratorType::reduction);
  std::fill_n(loops.begin(), numParallel, utils::IteratorType::parallel);
  auto op = linalg::GenericOp::create(
      b, inits.getTypes(), inputs, inits, maps, loops,
      [&](OpBuilder &nested, Location loc, ValueRange arguments) {
        LocBuilder inner(loc, nested);
        linalg::YieldOp::create(inner, body(inner, arguments));
      });
  return SmallVector<Value>(op.getResults());
}

static Value fillZero(LocBuilder &b, RankedTensorType type) {
  return fill(
      b, type,
      arith::ConstantOp::create(b, b.getZeroAttr(type.getElementType())));
}

/// `sum + x * y`, in the type of the sum.
static Value addProduct(LocBuilder &b, Value sum, Value x, Value y) {
  Type type = sum.getType();
  for (Value *v : {&x, &y}) {
    if (v->getType() == type)
      continue;
    if (isa<FloatType>(type))
      *v = arith::ExtFOp::create(b, type, *v);
    else
      *v = arith::ExtSIOp::create(b, type, *v);
  }
  if (isa<FloatType>(type))
    return arith::AddFOp::create(b, sum, arith::MulFOp::create(b, x, y));
  return arith::AddIOp::create(b, sum, arith::MulIOp::create(b, x, y));
}

/// The type of the sums of a product with a result of `type`.
static RankedTensorType getSumType(LocBuilder &b, RankedTensorType type) {
  auto element = dyn_cast<FloatType>(type.getElementType());
  return element && element.getWidth() < 32
             ? cast<RankedTensorType>(type.clone(b.getF32Type()))
             : type;
}

/// Sums of `getSumType` as what the operation returns.
static SmallVector<Value> roundSums(LocBuilder &b, Value sums,
                                    RankedTensorType type) {
  if (sums.getType() == type)
    return {sums};
  return makeElements(
      b, sums, b.getMultiDimIdentityMap(type.getRank()), type,
      [&](LocBuilder &inner, ValueRange arguments) -> SmallVector<Value> {
        return {arith::TruncFOp::create(inner, type.getElementType(),
                                        arguments[0])};
      });
}

/// True if a product with these elements is made; else there is an error.
static bool isProduct(const HloOp &op) {
  Type x = getElementTypeOrSelf(op.getOperation()->getOperand(0).getType());
  Type y = getElementTypeOrSelf(op.getOperation()->getOperand(1).getType());
  Type sum = getElementTypeOrSelf(op.getOperation()->getResult(0).getType());
  auto fits = [&](Type type) {
    return isa<FloatType>(type) == isa<FloatType>(sum) &&
           (getSignless(type) == getSignless(sum) ||
            type.getIntOrFloatBitWidth() < sum.getIntOrFloatBitWidth());
  };
  if (fits(x) && fits(y) && !op.isUnsigned(0) && !op.isUnsigned(1))
    return true;
  op.fail("expected a product of signed integers or floats that fit into the "
          "type of the result, but got {0} and {1} for {2}",
          x, y, sum);
  return false;
}

static SmallVector<Value> convertDotGeneral(const HloOp &op, LocBuilder &b) {
  if (!isProduct(op))
    return {};
  constexpr StringLiteral kNumbers = "dot_dimension_numbers";
  SmallVector<int64_t> batch[2], depth[2];
  batch[0] = op.getIntegers(kNumbers, "lhs_batching_dimensions");
  batch[1] = op.getIntegers(kNumbers, "rhs_batching_dimensions");
  depth[0] = op.getIntegers(kNumbers, "lhs_contracting_dimensions");
  depth[1] = op.getIntegers(kNumbers, "rhs_contracting_dimensions");
  RankedTensorType type = op.getType();
  unsigned rank = type.getRank();
  unsigned numLoops = rank + depth[0].size();
  unsigned free = batch[0].size();
  SmallVector<AffineMap> maps;
  for (unsigned i : {0, 1}) {
    SmallVector<AffineExpr> indices;
    for (int64_t dim = 0; dim < op.getOperandType(i).getRank(); ++dim) {
      auto *inBatch = llvm::find(batch[i], dim);
      auto *inDepth = llvm::find(depth[i], dim);
      unsigned loop = inBatch != batch[i].end() ? inBatch - batch[i].begin()
                      : inDepth != depth[i].end()
                          ? rank + (inDepth - depth[i].begin())
                          : free++;
      indices.push_back(b.getAffineDimExpr(loop));
    }
    maps.push_back(AffineMap::get(numLoops, 0, indices, b.getContext()));
  }
  maps.push_back(AffineMap::getMultiDimIdentityMap(numLoops, b.getContext())
                     .getSliceMap(0, rank));
  SmallVector<Value> sums = makeReduction(
      b, op.getOperands(), fillZero(b, getSumType(b, type)), maps, rank,
      [](LocBuilder &inner, ValueRange v) -> SmallVector<Value> {
        return {addProduct(inner, v[2], v[0], v[1])};
      });
  return roundSums(b, sums[0], type);
}

/// The starts and the ends of groups of these sizes; a start is the end before
/// it.
static std::pair<Value, Value> makeGroups(LocBuilder &b, Value sizes) {
  auto type = cast<RankedTensorType>(sizes.getType());
  Type element = type.getElementType();
  MLIRContext *context = b.getContext();
  AffineExpr group = b.getAffineDimExpr(0), other = b.getAffineDimExpr(1);
  Value ends = makeReduction(
      b, sizes, fillZero(b, type),
      {AffineMap::get(2, 0, other, context),
       AffineMap::get(2, 0, group, context)},
      1, [&](LocBuilder &inner, ValueRange v) -> SmallVector<Value> {
        Value own = linalg::IndexOp::create(inner, 0);
        Value other = linalg::IndexOp::create(inner, 1);
        Value isBefore =
            arith::CmpIOp::create(inner, arith::CmpIPredicate::ule, other, own);
        Value zero =
            arith::ConstantOp::create(inner, inner.getZeroAttr(element));
        Value size = arith::SelectOp::create(inner, isBefore, v[0], zero);
        return {arith::AddIOp::create(inner, v[1], size)};
      })[0];
  int64_t most = type.getDimSize(0) - 1;
  auto one = RankedTensorType::get({1}, element);
  Value first =
      arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(one)));
  Value empty = tensor::EmptyOp::create(b, type.getShape(), element);
  auto getSlice = [&](int64_t offset, int64_t size) {
    return std::array<SmallVector<OpFoldResult>, 3>{
        SmallVector<OpFoldResult>{b.getIndexAttr(offset)},
        SmallVector<OpFoldResult>{b.getIndexAttr(size)},
        SmallVector<OpFoldResult>{b.getIndexAttr(1)}};
  };
  auto [from, fromSize, step] = getSlice(0, most);
  Value before = tensor::ExtractSliceOp::create(b, ends, from, fromSize, step);
  auto [at, atSize, atStep] = getSlice(0, 1);
  Value starts =
      tensor::InsertSliceOp::create(b, first, empty, at, atSize, atStep);
  auto [to, toSize, toStep] = getSlice(1, most);
  starts = tensor::InsertSliceOp::create(b, before, starts, to, toSize, toStep);
  return {starts, ends};
}

bool nvfp4::hlo::isRaggedComposite(Operation *op) {
  auto name = op->getAttrOfType<StringAttr>("name");
  return op->getName().getStringRef() == "stablehlo.composite" && name &&
         name.getValue() == "chlo.ragged_dot";
}

/// Groups of rows: a sum over groups and K of terms that are zero outside the
/// rows of a group, which is what the decomposition of the exporter computes.
SmallVector<Value> nvfp4::hlo::convertRaggedDot(const HloOp &op,
                                                LocBuilder &b) {
  if (!isProduct(op))
    return {};
  // As fields of one attribute, or as the lists of a composite.
  constexpr StringLiteral kNumbers = "ragged_dot_dimension_numbers";
  constexpr StringLiteral kFields[] = {
      "lhs_batching_dimensions",    "rhs_batching_dimensions",
      "lhs_contracting_dimensions", "rhs_contracting_dimensions",
      "lhs_ragged_dimensions",      "rhs_group_dimensions"};
  using List = SmallVector<int64_t>;
  std::array<List, 6> lists;
  auto composite =
      op.getOperation()->getAttrOfType<DictionaryAttr>("composite_attributes");
  auto given = composite ? composite.getAs<ArrayAttr>(kNumbers) : ArrayAttr();
  for (auto [i, list] : llvm::enumerate(lists))
    list = !composite                  ? op.getIntegers(kNumbers, kFields[i])
           : given && i < given.size() ? readIntegers(given[i])
                                       : List();
  auto &[lhsBatch, rhsBatch, lhsDepth, depth, ragged, group] = lists;
  if (ragged != List{0} || lhsDepth != List{1} || group != List{0} ||
      (depth != List{1} && depth != List{2}) || !lhsBatch.empty() ||
      !rhsBatch.empty() || op.getOperandType(0).getRank() != 2 ||
      op.getOperandType(1).getRank() != 3 ||
      op.getOperandType(2).getRank() != 1 ||
      op.getOperandType(2).getNumElements() == 0)
    return op.fail(
        "expected groups of rows, [M, K] times [G, K, N] or "
        "[G, N, K] with sizes [G], G at least 1, but got {0} and {1} with {2}",
        op.getOperandType(0), op.getOperandType(1), op.getOperandType(2));
  auto [starts, ends] = makeGroups(b, op.getOperand(2));
  MLIRContext *context = b.getContext();
  AffineExpr m = b.getAffineDimExpr(0), n = b.getAffineDimExpr(1),
             g = b.getAffineDimExpr(2), k = b.getAffineDimExpr(3);
  SmallVector<AffineMap> maps = {
      AffineMap::get(4, 0, {m, k}, context),
      AffineMap::get(4, 0,
                     depth[0] == 1 ? ArrayRef<AffineExpr>{g, k, n}
                                   : ArrayRef<AffineExpr>{g, n, k},
                     context),
      AffineMap::get(4, 0, g, context), AffineMap::get(4, 0, g, context),
      AffineMap::get(4, 0, {m, n}, context)};
  RankedTensorType type = op.getType();
  SmallVector<Value> sums = makeReduction(
      b, {op.getOperand(0), op.getOperand(1), starts, ends},
      fillZero(b, getSumType(b, type)), maps, 2,
      [&](LocBuilder &inner, ValueRange v) -> SmallVector<Value> {
        Value row =
            castIndex(inner, linalg::IndexOp::create(inner, 0), v[2].getType());
        using P = arith::CmpIPredicate;
        Value isAfterStart = arith::CmpIOp::create(inner, P::sle, v[2], row);
        Value isBeforeEnd = arith::CmpIOp::create(inner, P::slt, row, v[3]);
        Value isInside =
            arith::AndIOp::create(inner, isAfterStart, isBeforeEnd);
        Value zero =
            arith::ConstantOp::create(inner, inner.getZeroAttr(v[0].getType()));
        Value x = arith::SelectOp::create(inner, isInside, v[0], zero);
        return {addProduct(inner, v[4], x, v[1])};
      });
  return roundSums(b, sums[0], type);
}

/// `body` on pairs of what is reduced into and elements.
static SmallVector<Value> reduce(const HloOp &op, LocBuilder &b,
                                 ValueRange inputs,
                                 ArrayRef<AffineMap> inputMaps,
                                 AffineMap outMap) {
  unsigned count = op.getOperation()->getNumResults();
  SmallVector<AffineMap> maps(inputMaps);
  maps.append(count, outMap);
  SmallVector<Value> inits;
  for (unsigned i = 0; i < count; ++i)
    inits.push_back(
        fill(b, op.getType(i), getScalar(b, op.getOperand(count + i))));
  bool isMade = true;
  SmallVector<Value> results = makeReduction(
      b, inputs, inits, maps, op.getType().getRank(),
      [&](LocBuilder &inner, ValueRange v) {
        SmallVector<Value> pairs(v.take_back(count));
        llvm::append_range(pairs, v.take_front(count));
        SmallVector<Value> reduced =
            emitBody(inner, op, op.getOperation()->getRegion(0), pairs, count);
        isMade = !reduced.empty();
        return isMade ? reduced : SmallVector<Value>(v.take_back(count));
      });
  return isMade ? results : SmallVector<Value>();
}

/// A reduction of one element is no loop.
static SmallVector<Value> reduceOne(const HloOp &op, LocBuilder &b) {
  unsigned count = op.getOperation()->getNumResults();
  SmallVector<Value> inputs, inits;
  SmallVector<RankedTensorType> types;
  for (unsigned i = 0; i < count; ++i) {
    types.push_back(op.getType(i));
    inputs.push_back(reshape(b, op.getOperand(i), types[i].getShape()));
    inits.push_back(getScalar(b, op.getOperand(count + i)));
  }
  SmallVector<AffineMap> maps(count,
                              b.getMultiDimIdentityMap(types[0].getRank()));
  bool isMade = true;
  SmallVector<Value> results = makeElements(
      b, inputs, maps, types, [&](LocBuilder &inner, ValueRange v) {
        SmallVector<Value> pairs(inits);
        llvm::append_range(pairs, v);
        SmallVector<Value> reduced =
            emitBody(inner, op, op.getOperation()->getRegion(0), pairs, count);
        isMade = !reduced.empty();
        return isMade ? reduced : SmallVector<Value>(v);
      });
  return isMade ? results : SmallVector<Value>();
}

static SmallVector<Value> convertReduce(const HloOp &op, LocBuilder &b) {
  unsigned count = op.getOperation()->getNumResults();
  SmallVector<int64_t> reduced = op.getIntegers("dimensions");
  int64_t rank = op.getOperandType(0).getRank();
  bool isOfOne = llvm::all_of(reduced, [&](int64_t dim) {
    return op.getOperandType(0).getDimSize(dim) == 1;
  });
  if (isOfOne)
    return reduceOne(op, b);
  unsigned kept = 0, summed = op.getType().getRank();
  SmallVector<AffineExpr> indices;
  for (int64_t dim = 0; dim < rank; ++dim)
    indices.push_back(b.getAffineDimExpr(
        llvm::is_contained(reduced, dim) ? summed++ : kept++));
  SmallVector<AffineMap> maps(count,
                              AffineMap::get(rank, 0, indices, b.getContext()));
  return reduce(op, b, op.getOperands().take_front(count), maps,
                AffineMap::getMultiDimIdentityMap(rank, b.getContext())
                    .getSliceMap(0, op.getType().getRank()));
}

/// Windows over padded inputs; a tensor without contents has the extents of
/// the loops within a window.
static SmallVector<Value> convertReduceWindow(const HloOp &op, LocBuilder &b) {
  unsigned count = op.getOperation()->getNumResults();
  int64_t rank = op.getType().getRank();
  SmallVector<int64_t> window = op.getIntegers("window_dimensions"),
                       strides = op.getIntegers("window_strides"),
                       dilations = op.getIntegers("window_dilations"),
                       padding = op.getIntegers("padding");
  if (llvm::any_of(op.getIntegers("base_dilations"),
                   [](int64_t dilation) { return dilation != 1; }) ||
      llvm::any_of(padding, [](int64_t extent) { return extent < 0; }))
    return op.fail("expected base_dilations of 1 and padding of at least 0");
  SmallVector<AffineExpr> indices;
  for (int64_t dim = 0; dim < rank; ++dim)
    indices.push_back(b.getAffineDimExpr(dim) *
                          (strides.empty() ? 1 : strides[dim]) +
                      b.getAffineDimExpr(rank + dim) *
                          (dilations.empty() ? 1 : dilations[dim]));
  MLIRContext *context = b.getContext();
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps(count,
                              AffineMap::get(2 * rank, 0, indices, context));
  for (unsigned i = 0; i < count; ++i) {
    SmallVector<int64_t> low(rank, 0), high(rank, 0),
        shape(op.getOperandType(i).getShape());
    for (size_t j = 0; j < padding.size(); ++j) {
      (j % 2 ? high : low)[j / 2] = padding[j];
      shape[j / 2] += padding[j];
    }
    inputs.push_back(tensor::PadOp::create(
        b, op.getOperandType(i).clone(shape), op.getOperand(i),
        getAsIndexOpFoldResult(context, low),
        getAsIndexOpFoldResult(context, high),
        getScalar(b, op.getOperand(count + i))));
  }
  inputs.push_back(
      tensor::EmptyOp::create(b, window, op.getType().getElementType()));
  auto identity = AffineMap::getMultiDimIdentityMap(2 * rank, context);
  maps.push_back(identity.getMinorSubMap(rank));
  return reduce(op, b, inputs, maps, identity.getSliceMap(0, rank));
}

void nvfp4::hlo::addReductions(ConversionTable &table) {
  table["chlo.ragged_dot"] = convertRaggedDot;
  table["stablehlo.dot_general"] = convertDotGeneral;
  table["stablehlo.reduce"] = convertReduce;
  table["stablehlo.reduce_window"] = convertReduceWindow;
}
