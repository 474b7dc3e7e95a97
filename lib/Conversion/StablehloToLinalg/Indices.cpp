//===- Indices.cpp - Elements at computed places ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// gather, scatter, and orders.
//
//===----------------------------------------------------------------------===//

#include "HloOp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace nvfp4::hlo;

namespace {

/// How gather and scatter read a tensor of indices: loops over the whole result
/// (or the updates), of which some are a window and the others name a vector of
/// indices.
struct IndexedLoops {
  /// Loops of the window, and the dimensions of the indexed tensor that have
  /// none of them.
  SmallVector<int64_t> windowLoops, noWindow;
  /// Dimensions that go with a dimension of the indices.
  SmallVector<int64_t> batch, indicesBatch;
  /// The dimension that each element of a vector of indices is for.
  SmallVector<int64_t> indexed;
  int64_t vectorDim = 0;

  bool isWindow(int64_t loop) const {
    return llvm::is_contained(windowLoops, loop);
  }
  bool hasNoWindow(int64_t dim) const {
    return llvm::is_contained(noWindow, dim) || llvm::is_contained(batch, dim);
  }
  /// Element `i` of the vectors, of indices of rank `indicesRank`, as a map
  /// from `rank` loops.
  AffineMap getIndexMap(MLIRContext *context, int64_t rank, int64_t i,
                        int64_t indicesRank) const;
  /// The loop of dimension `dim` of the indices.
  int64_t getLoop(int64_t rank, int64_t dim) const;
};

} // namespace

int64_t IndexedLoops::getLoop(int64_t rank, int64_t dim) const {
  int64_t number = dim > vectorDim ? dim - 1 : dim;
  for (int64_t loop = 0; loop < rank; ++loop)
    if (!isWindow(loop) && number-- == 0)
      return loop;
  llvm_unreachable("the indices have a loop for each dimension");
}

AffineMap IndexedLoops::getIndexMap(MLIRContext *context, int64_t rank,
                                    int64_t i, int64_t indicesRank) const {
  SmallVector<AffineExpr> exprs;
  for (int64_t dim = 0; dim < indicesRank; ++dim)
    exprs.push_back(dim == vectorDim
                        ? getAffineConstantExpr(i, context)
                        : getAffineDimExpr(getLoop(rank, dim), context));
  return AffineMap::get(rank, 0, exprs, context);
}

/// The loops that attribute `numbers` describes; `fields` are its names for the
/// first five members.
static IndexedLoops readLoops(const HloOp &op, StringRef numbers,
                              const std::array<StringRef, 5> &fields) {
  IndexedLoops at;
  SmallVector<int64_t> *members[] = {&at.windowLoops, &at.noWindow, &at.batch,
                                     &at.indicesBatch, &at.indexed};
  for (auto [member, field] : llvm::zip_equal(members, fields))
    *member = op.getIntegers(numbers, field);
  at.vectorDim = op.getInteger(numbers, "index_vector_dim", 0);
  return at;
}

static Value makeIndex(LocBuilder &b, int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

static SmallVector<Value> convertGather(const HloOp &op, LocBuilder &b) {
  IndexedLoops at =
      readLoops(op, "dimension_numbers",
                {"offset_dims", "collapsed_slice_dims", "operand_batching_dims",
                 "start_indices_batching_dims", "start_index_map"});
  SmallVector<int64_t> sizes = op.getIntegers("slice_sizes");
  RankedTensorType type = op.getType(), source = op.getOperandType(0);
  Value indices = op.getOperand(1);
  int64_t rank = type.getRank(), indicesRank = op.getOperandType(1).getRank();

  SmallVector<Value> inputs(at.indexed.size(), indices);
  SmallVector<AffineMap> maps;
  for (size_t i = 0; i < at.indexed.size(); ++i)
    maps.push_back(at.getIndexMap(b.getContext(), rank, i, indicesRank));
  return makeElements(
      b, inputs, maps, type,
      [&](LocBuilder &inner, ValueRange starts) -> SmallVector<Value> {
        SmallVector<Value> place;
        auto *window = at.windowLoops.begin();
        for (int64_t dim = 0; dim < source.getRank(); ++dim) {
          Value index;
          int64_t most = source.getDimSize(dim) - sizes[dim];
          if (auto *it = llvm::find(at.indexed, dim);
              it != at.indexed.end() && most > 0) {
            // The slice stays inside the tensor.
            Value start = castIndex(inner, starts[it - at.indexed.begin()],
                                    inner.getIndexType(), op.isUnsigned(1));
            Value low =
                arith::MaxSIOp::create(inner, start, makeIndex(inner, 0));
            index = arith::MinSIOp::create(inner, low, makeIndex(inner, most));
          } else if (auto *it = llvm::find(at.batch, dim);
                     it != at.batch.end()) {
            int64_t indicesDim = at.indicesBatch[it - at.batch.begin()];
            index =
                linalg::IndexOp::create(inner, at.getLoop(rank, indicesDim));
          }
          if (!at.hasNoWindow(dim)) {
            Value offset = linalg::IndexOp::create(inner, *window++);
            index =
                index ? arith::AddIOp::create(inner, index, offset).getResult()
                      : offset;
          }
          place.push_back(index ? index : makeIndex(inner, 0));
        }
        return {tensor::ExtractOp::create(inner, op.getOperand(0), place)};
      });
}

/// Loops over the updates, one after the other. An update outside the tensor
/// is left out.
static SmallVector<Value> convertScatter(const HloOp &op, LocBuilder &b) {
  if (op.getOperands().size() != 3)
    return op.fail("expected updates of one tensor, but got {0} operands",
                   op.getOperands().size());
  IndexedLoops at = readLoops(
      op, "scatter_dimension_numbers",
      {"update_window_dims", "inserted_window_dims", "input_batching_dims",
       "scatter_indices_batching_dims", "scatter_dims_to_operand_dims"});
  RankedTensorType type = op.getType(), updates = op.getOperandType(2);
  Value indices = op.getOperand(1);
  int64_t rank = updates.getRank(),
          indicesRank = op.getOperandType(1).getRank();
  SmallVector<Value> lows(rank, makeIndex(b, 0)), steps(rank, makeIndex(b, 1)),
      highs;
  for (int64_t extent : updates.getShape())
    highs.push_back(makeIndex(b, extent));

  bool isMade = true;
  auto emit = [&](LocBuilder &inner, ValueRange loops, Value result) {
    SmallVector<Value> place;
    Value isInside = arith::ConstantOp::create(inner, inner.getBoolAttr(true));
    auto *window = at.windowLoops.begin();
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      Value index = makeIndex(inner, 0);
      if (auto *it = llvm::find(at.indexed, dim); it != at.indexed.end()) {
        AffineMap map = at.getIndexMap(b.getContext(), rank,
                                       it - at.indexed.begin(), indicesRank);
        SmallVector<Value> where;
        for (AffineExpr expr : map.getResults()) {
          auto constant = dyn_cast<AffineConstantExpr>(expr);
          where.push_back(constant
                              ? makeIndex(inner, constant.getValue())
                              : loops[cast<AffineDimExpr>(expr).getPosition()]);
        }
        index =
            castIndex(inner, tensor::ExtractOp::create(inner, indices, where),
                      inner.getIndexType(), op.isUnsigned(1));
      } else if (auto *it = llvm::find(at.batch, dim); it != at.batch.end()) {
        index = loops[at.getLoop(rank, at.indicesBatch[it - at.batch.begin()])];
      }
      if (!at.hasNoWindow(dim))
        index = arith::AddIOp::create(inner, index, loops[*window++]);
      // One comparison without sign is two with.
      Value fits =
          arith::CmpIOp::create(inner, arith::CmpIPredicate::ult, index,
                                makeIndex(inner, type.getDimSize(dim)));
      isInside = arith::AndIOp::create(inner, isInside, fits);
      place.push_back(index);
    }
    Value update = tensor::ExtractOp::create(inner, op.getOperand(2), loops);
    auto choice = scf::IfOp::create(
        inner, isInside,
        [&](OpBuilder &nested, Location loc) {
          LocBuilder then(loc, nested);
          Value old = tensor::ExtractOp::create(then, result, place);
          SmallVector<Value> values = emitBody(
              then, op, op.getOperation()->getRegion(0), {old, update}, 1);
          isMade = !values.empty();
          Value value = isMade ? values[0] : old;
          scf::YieldOp::create(
              then,
              tensor::InsertOp::create(then, value, result, place).getResult());
        },
        [&](OpBuilder &nested, Location loc) {
          scf::YieldOp::create(nested, loc, result);
        });
    return choice.getResult(0);
  };
  scf::LoopNest nest =
      scf::buildLoopNest(b, b.getLoc(), lows, highs, steps, op.getOperand(0),
                         [&](OpBuilder &nested, Location loc, ValueRange loops,
                             ValueRange carried) -> scf::ValueVector {
                           LocBuilder inner(loc, nested);
                           return {emit(inner, loops, carried[0])};
                         });
  return isMade ? SmallVector<Value>(nest.results) : SmallVector<Value>();
}

/// True where the first of two lists of elements comes before the second.
using ComesBefore = llvm::function_ref<Value(LocBuilder &, ValueRange)>;

/// The first `count` places along `dim` of the elements of `keys` in an order
/// that keeps equal elements as they are: for each place the index of the
/// element. Null if `before` fails. Each element counts those before it.
static Value makeOrder(LocBuilder &b, ValueRange keys, int64_t dim,
                       int64_t count, ComesBefore before) {
  auto type = cast<RankedTensorType>(keys.front().getType());
  int64_t rank = type.getRank();
  MLIRContext *context = b.getContext();
  auto ranksType = cast<RankedTensorType>(type.clone(b.getI32Type()));
  // The last loop is over the other element.
  auto identity = AffineMap::getMultiDimIdentityMap(rank + 1, context);
  AffineMap own = identity.getMajorSubMap(rank);
  SmallVector<AffineExpr> exprs(own.getResults());
  exprs[dim] = b.getAffineDimExpr(rank);
  AffineMap other = AffineMap::get(rank + 1, 0, exprs, context);
  SmallVector<utils::IteratorType> loops(rank + 1,
                                         utils::IteratorType::parallel);
  loops.back() = utils::IteratorType::reduction;
  Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));

  SmallVector<Value> inputs(keys);
  llvm::append_range(inputs, keys);
  SmallVector<AffineMap> maps(keys.size(), own);
  maps.append(keys.size(), other);
  maps.push_back(own);
  bool isMade = true;
  Value ranks =
      linalg::GenericOp::create(
          b, ranksType, inputs, fill(b, ranksType, zero), maps, loops,
          [&](OpBuilder &nested, Location loc, ValueRange v) {
            LocBuilder inner(loc, nested);
            // Operands of a comparison alternate: both elements of each key.
            SmallVector<Value> ahead, after;
            for (size_t i = 0; i < keys.size(); ++i) {
              ahead.append({v[keys.size() + i], v[i]});
              after.append({v[i], v[keys.size() + i]});
            }
            Value isBefore = before(inner, ahead);
            Value isAfter = isBefore ? before(inner, after) : Value();
            isMade = isAfter != nullptr;
            if (!isMade)
              return linalg::YieldOp::create(inner, v.back()), void();
            Value own = linalg::IndexOp::create(inner, dim);
            Value other = linalg::IndexOp::create(inner, rank);
            Value isEarlier = arith::CmpIOp::create(
                inner, arith::CmpIPredicate::ult, other, own);
            Value counts = arith::SelectOp::create(
                inner, isBefore, isBefore,
                arith::SelectOp::create(
                    inner, isAfter,
                    arith::ConstantOp::create(inner, inner.getBoolAttr(false)),
                    isEarlier));
            Value one =
                arith::ExtUIOp::create(inner, inner.getI32Type(), counts);
            linalg::YieldOp::create(
                inner, arith::AddIOp::create(inner, v.back(), one).getResult());
          })
          .getResult(0);
  if (!isMade)
    return {};

  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = count;
  auto orderType = RankedTensorType::get(shape, b.getI32Type());
  return linalg::GenericOp::create(
             b, orderType, ranks, fill(b, orderType, zero),
             ArrayRef<AffineMap>{other, own}, loops,
             [&](OpBuilder &nested, Location loc, ValueRange v) {
               LocBuilder inner(loc, nested);
               Value place = castIndex(
                   inner, linalg::IndexOp::create(inner, dim), b.getI32Type());
               Value element = castIndex(
                   inner, linalg::IndexOp::create(inner, rank), b.getI32Type());
               Value isHere = arith::CmpIOp::create(
                   inner, arith::CmpIPredicate::eq, v[0], place);
               linalg::YieldOp::create(
                   inner, arith::SelectOp::create(inner, isHere, element, v[1])
                              .getResult());
             })
      .getResult(0);
}

/// The elements of `values` that `order` names along `dim`.
static Value takeInOrder(LocBuilder &b, Value values, Value order,
                         int64_t dim) {
  auto type = cast<RankedTensorType>(order.getType());
  auto result = cast<RankedTensorType>(
      type.clone(getElementTypeOrSelf(values.getType())));
  return makeElements(
      b, order, b.getMultiDimIdentityMap(type.getRank()), result,
      [&](LocBuilder &inner, ValueRange v) -> SmallVector<Value> {
        SmallVector<Value> place;
        for (int64_t i = 0; i < type.getRank(); ++i)
          place.push_back(i == dim
                              ? castIndex(inner, v[0], inner.getIndexType())
                              : linalg::IndexOp::create(inner, i).getResult());
        return {tensor::ExtractOp::create(inner, values, place)};
      })[0];
}

static SmallVector<Value> convertSort(const HloOp &op, LocBuilder &b) {
  int64_t dim = op.getInteger("dimension", -1);
  RankedTensorType type = op.getType();
  if (dim < 0)
    dim += type.getRank();
  Region &region = op.getOperation()->getRegion(0);
  Value order = makeOrder(b, op.getOperands(), dim, type.getDimSize(dim),
                          [&](LocBuilder &inner, ValueRange pairs) -> Value {
                            SmallVector<Value> result =
                                emitBody(inner, op, region, pairs, 1);
                            return result.empty() ? Value() : result[0];
                          });
  if (!order)
    return {};
  return llvm::map_to_vector(op.getOperands(), [&](Value values) {
    return takeInOrder(b, values, order, dim);
  });
}

/// The greatest come first, NaN before all.
static SmallVector<Value> convertTopK(const HloOp &op, LocBuilder &b) {
  Value values = op.getOperand(0);
  RankedTensorType type = op.getOperandType(0);
  int64_t dim = type.getRank() - 1;
  bool isFloat = isa<FloatType>(type.getElementType());
  bool isUnsigned = op.isUnsigned(0);
  Value order = makeOrder(b, values, dim, op.getType().getDimSize(dim),
                          [&](LocBuilder &inner, ValueRange pair) -> Value {
                            Value first = pair[0], second = pair[1];
                            if (isFloat) {
                              first = makeOrderedBits(inner, first);
                              second = makeOrderedBits(inner, second);
                            }
                            return arith::CmpIOp::create(
                                inner,
                                isUnsigned ? arith::CmpIPredicate::ugt
                                           : arith::CmpIPredicate::sgt,
                                first, second);
                          });
  return {takeInOrder(b, values, order, dim), order};
}

void nvfp4::hlo::addIndices(ConversionTable &table) {
  table["chlo.top_k"] = convertTopK;
  table["stablehlo.gather"] = convertGather;
  table["stablehlo.scatter"] = convertScatter;
  table["stablehlo.sort"] = convertSort;
}
