//===- EpilogueMath.cpp - Loads and stores of an epilogue -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The values of the clauses and where results go; the order of the steps is
// that of the epilogue region.
//
//===----------------------------------------------------------------------===//

#include "Epilogue.h"

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::kernels;

//===----------------------------------------------------------------------===//
// Numbers of a group and of a row
//===----------------------------------------------------------------------===//

/// True if a memref holds one number for all groups.
static bool isScalar(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  return type.getRank() == 0 ||
         (type.getRank() == 1 && type.getDimSize(0) == 1);
}

void Epilogue::loadGroupNumbers(TileRow &tile) {
  auto load = [&](Value memref, Value at) -> Value {
    return memref::LoadOp::create(b, loc, memref, at);
  };
  auto perGroup = [&](Value operand, Value memref, int64_t width,
                      int64_t entry) {
    if (isScalar(operand))
      return load(memref, index(0));
    Value at = add(mul(tile.group, width), i32(entry));
    return load(memref, toIndex(at));
  };
  tile.alpha = parameters.alphaValue;
  if (parameters.alpha) {
    bool isPair = cast<MemRefType>(op.getAlpha().getType()).getRank() == 2;
    GateAttr gate = op.getActivationOrIdentity().getGate();
    bool swap = isPair && gate && gate.getOrder() == GateOrder::UpFirst;
    tile.alpha =
        perGroup(op.getAlpha(), parameters.alpha, isPair ? 2 : 1, swap);
    if (isPair)
      tile.secondAlpha = perGroup(op.getAlpha(), parameters.alpha, 2, !swap);
  }
  tile.beta = parameters.betaValue;
  if (parameters.beta)
    tile.beta = perGroup(op.getBeta(), parameters.beta, 1, 0);
  tile.globalScale = parameters.globalScaleValue;
  if (parameters.globalScale)
    tile.globalScale =
        perGroup(op.getGlobalScale(), parameters.globalScale, 1, 0);
  for (const CopyParameters &copy : parameters.copies)
    tile.copyGlobalScales.push_back(
        copy.globalScale
            ? perGroup(copy.globalScaleOperand, copy.globalScale, 1, 0)
            : copy.globalScaleValue);
  if (parameters.activationParams)
    for (int64_t i = 0; i < 3; ++i)
      tile.activationParams.push_back(
          load(parameters.activationParams,
               toIndex(add(mul(tile.group, 3), i32(i)))));
  // Threads without a row take the numbers of the tile's first row.
  Value row =
      arith::SelectOp::create(b, loc, tile.isRow, tile.row, tile.firstRow);
  // Groups along K share their rows.
  if (getForm(op.getGrouping()).cutsK())
    row = sub(row, tile.groupStart);
  if (parameters.rowScale)
    tile.rowScale = load(parameters.rowScale, toIndex(row));
  if (parameters.prob)
    tile.prob = load(parameters.prob, toIndex(row));
  for (Value memref : parameters.row)
    tile.rowNumbers.push_back(load(memref, toIndex(row)));
  for (Value memref : parameters.group)
    tile.groupNumbers.push_back(load(memref, toIndex(tile.group)));
}

//===----------------------------------------------------------------------===//
// Vectors of columns
//===----------------------------------------------------------------------===//

Value Epilogue::maskOf(Value column, int64_t columns, Value limit,
                       std::optional<int64_t> known) {
  if (known && *known % columns == 0)
    return {};
  return vector::CreateMaskOp::create(b, loc,
                                      VectorType::get({columns}, b.getI1Type()),
                                      toIndex(sub(limit, column)));
}

/// The largest power of two up to 16 bytes that divides each start of a row and
/// of a chunk.
static llvm::Align getAlignment(Type element, std::optional<int64_t> columns) {
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  int64_t alignment = bytes;
  while (columns && alignment < 16 && *columns * bytes % (alignment * 2) == 0)
    alignment *= 2;
  return llvm::Align(alignment);
}

Value Epilogue::loadVector(Value memref, Value at, int64_t columns, Value mask,
                           std::optional<int64_t> known) {
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  auto type = VectorType::get({columns}, element);
  Value loaded;
  if (mask) {
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
    loaded = vector::MaskedLoadOp::create(b, loc, type, memref, at, mask, zero);
  } else {
    loaded = vector::LoadOp::create(b, loc, type, memref, ValueRange(at), false,
                                    getAlignment(element, known));
  }
  if (element.isF32())
    return loaded;
  return arith::ExtFOp::create(
      b, loc, VectorType::get({columns}, b.getF32Type()), loaded);
}

void Epilogue::storeVector(const TileRow &tile, Value y, Value column,
                           const Destination &to) {
  int64_t columns = cast<VectorType>(y.getType()).getNumElements();
  Type element = cast<MemRefType>(to.memref.getType()).getElementType();
  if (!element.isF32())
    y = arith::TruncFOp::create(b, loc, VectorType::get({columns}, element), y);
  Value at = flatten(tile.row, to.stride, column);
  auto store = [&] {
    vector::StoreOp::create(b, loc, y, to.memref, ValueRange(at), false,
                            getAlignment(element, to.known));
  };
  Value mask = maskOf(column, columns, to.columns, to.known);
  if (!mask)
    return store();
  // Whole chunks in one piece; the last one of a row may be cut.
  Value last = add(column, i32(columns));
  Value isWhole = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, last,
                                        to.columns);
  auto branch = scf::IfOp::create(b, loc, isWhole, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  store();
  b.setInsertionPointToStart(branch.elseBlock());
  vector::MaskedStoreOp::create(b, loc, to.memref, at, mask, y);
}

//===----------------------------------------------------------------------===//
// Largest magnitudes
//===----------------------------------------------------------------------===//

// Bits of magnitudes are ordered like the magnitudes, NaN above all.

Value Epilogue::foldAmax(const TileRow &tile, Value amax, Value y,
                         Value column) {
  int64_t columns = cast<VectorType>(y.getType()).getNumElements();
  auto type = VectorType::get({columns}, b.getI32Type());
  Value bits = arith::BitcastOp::create(b, loc, type, y);
  Value sign = arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(type, b.getI32IntegerAttr(0x7FFFFFFF)));
  bits = arith::AndIOp::create(b, loc, bits, sign);
  if (Value mask = maskOf(column, columns, tile.extents.outColumns,
                          parameters.knownOutColumns)) {
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
    bits = arith::SelectOp::create(b, loc, mask, bits, zero);
  }
  return vector::ReductionOp::create(b, loc, vector::CombiningKind::MAXUI, bits,
                                     amax);
}

void Epilogue::storeAmax(const TileRow &tile, Value thread, Value amax) {
  // One atomic operation a warp.
  Value all = arith::ConstantIntOp::create(b, loc, -1, 32);
  Value largest = NVVM::ReduxOp::create(b, loc, b.getI32Type(), amax,
                                        NVVM::ReduxKind::UMAX, all);
  Value lane = arith::AndIOp::create(b, loc, thread, i32(31));
  Value isFirst =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, lane, i32(0));
  auto branch = scf::IfOp::create(b, loc, isFirst, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  memref::AtomicRMWOp::create(b, loc, arith::AtomicRMWKind::maxu, largest,
                              parameters.amax, ValueRange(toIndex(tile.group)));
}

//===----------------------------------------------------------------------===//
// The epilogue region
//===----------------------------------------------------------------------===//

/// `first` and `second` take turns by runs of the granularity, which is a
/// constant pattern within a chunk.
Value Epilogue::getAlpha(const TileRow &tile, bool isSecond) {
  if (!tile.secondAlpha)
    return tile.alpha;
  int64_t q = op.getActivationOrIdentity().getGate().getGranularity();
  if (q >= 32)
    return isSecond ? tile.secondAlpha : tile.alpha;
  Value both = vector::FromElementsOp::create(
      b, loc, VectorType::get({2}, b.getF32Type()),
      ValueRange{tile.alpha, tile.secondAlpha});
  SmallVector<int64_t> turns;
  for (int64_t i = 0; i < 32; ++i)
    turns.push_back(i / q % 2);
  return vector::ShuffleOp::create(b, loc, both, both, turns);
}

class Epilogue::ChunkLanes final : public arithmetic::EpilogueLanes {
public:
  /// The lanes are the columns of the product from `column` on, of which `mask`
  /// says which there are, or is null; `isSecond` as in finishProduct. As
  /// columns of the result they are those from `outColumn` on. Each is null
  /// where the lanes are only the others.
  ChunkLanes(Epilogue &epilogue, const TileRow &tile, Value column, Value mask,
             bool isSecond, Value outColumn, Value amax)
      : e(epilogue), op(epilogue.op), parameters(epilogue.parameters),
        tile(tile), column(column), mask(mask), isSecond(isSecond),
        outColumn(outColumn), amax(amax) {}

  Value load(LoadClauseOp load, Value like) override {
    auto number = [&](ArrayRef<Value> values) {
      return values[static_cast<size_t>(*load.getIndex())];
    };
    switch (load.getClause()) {
    case EpilogueClause::Alpha:
      return e.getAlpha(tile, isSecond);
    case EpilogueClause::Beta:
      return tile.beta;
    case EpilogueClause::Addend:
      return loadAddend(like);
    case EpilogueClause::Bias:
      return loadColumns(op.getBias(), parameters.bias, tile.extents.columns,
                         column, mask, parameters.knownColumns, like);
    case EpilogueClause::RowScale:
      return tile.rowScale;
    case EpilogueClause::Prob:
      return tile.prob;
    case EpilogueClause::ActivationParams:
      return number(tile.activationParams);
    case EpilogueClause::Row:
      return number(tile.rowNumbers);
    case EpilogueClause::Column: {
      Value isColumn =
          e.maskOf(outColumn, widthOf(like), tile.extents.outColumns,
                   parameters.knownOutColumns);
      return loadColumns(op.getColumn()[*load.getIndex()],
                         number(parameters.column), tile.extents.outColumns,
                         outColumn, isColumn, parameters.knownOutColumns, like);
    }
    case EpilogueClause::Group:
      return number(tile.groupNumbers);
    }
    llvm_unreachable("expected a clause");
  }

  void storePreActivation(Value z) override {
    if (e.getOuterGate())
      e.storeOuter(tile, z, parameters.preact, column, isSecond);
    else
      e.storeVector(tile, z, column,
                    {parameters.preact, tile.extents.columns,
                     tile.extents.columns, parameters.knownColumns});
  }
  void foldAmax(Value y) override {
    amax = e.foldAmax(tile, amax, y, outColumn);
  }
  void storeResult(Value y) override {
    if (op.getQuantizer())
      e.storeQuantized(tile, y, outColumn);
    if (e.keepsResult())
      results.push_back(y);
    if (amax)
      results.push_back(amax);
  }

  Value sigmoid(OpBuilder &b, SigmoidOp op, Value x) override {
    return op.getFast() ? emitFastSigmoid(b, op.getLoc(), x)
                        : EpilogueLanes::sigmoid(b, op, x);
  }
  /// Four at a time in f64 and in integers, which take a multiple of the
  /// registers.
  int64_t getLanesAtOnce(ArrayRef<Operation *> operations,
                         int64_t lanes) override {
    bool isWide = llvm::any_of(operations, [](Operation *op) {
      auto sigmoid = dyn_cast<SigmoidOp>(op);
      return (sigmoid && !sigmoid.getFast()) || isa<RoundBf16Op>(op) ||
             llvm::any_of(op->getResultTypes(),
                          [](Type type) { return type.isF64(); });
    });
    return isWide ? 4 : lanes;
  }

  /// y, unless it is stored, and the largest magnitude if there is one.
  Values results;

private:
  static int64_t widthOf(Value vector) {
    return cast<VectorType>(vector.getType()).getNumElements();
  }

  Value loadAddend(Value like) {
    Value memref = parameters.addend ? parameters.addend : tile.result.memref;
    if (e.getOuterGate())
      return e.loadOuter(tile, memref, column, isSecond);
    Value at = e.flatten(
        tile.row, parameters.addend ? tile.extents.columns : tile.result.stride,
        column);
    return e.loadVector(memref, at, widthOf(like), mask,
                        parameters.knownColumns);
  }

  /// Entries of columns, of all groups or of each.
  Value loadColumns(Value operand, Value memref, Value columns, Value first,
                    Value isColumn, std::optional<int64_t> known, Value like) {
    bool isPerGroup = cast<MemRefType>(operand.getType()).getRank() == 2;
    Value at = e.flatten(isPerGroup ? tile.group : e.i32(0), columns, first);
    return e.loadVector(memref, at, widthOf(like), isColumn, known);
  }

  Epilogue &e;
  MatmulOp op;
  const KernelParameters &parameters;
  const TileRow &tile;
  Value column, mask;
  bool isSecond;
  Value outColumn, amax;
};

Value Epilogue::getProductMask(const TileRow &tile, Value acc, Value column) {
  int64_t width = cast<VectorType>(acc.getType()).getNumElements();
  return maskOf(column, width, tile.extents.columns, parameters.knownColumns);
}

Epilogue::Values Epilogue::finishColumns(const TileRow &tile, Value acc,
                                         Value column, Value outColumn,
                                         Value amax) {
  ChunkLanes lanes(*this, tile, column, getProductMask(tile, acc, column),
                   /*isSecond=*/false, outColumn, amax);
  arithmetic::emitColumnsOfProduct(b, loc, getRegion(), lanes, acc);
  return lanes.results;
}

Value Epilogue::finishProduct(const TileRow &tile, Value acc, Value column,
                              bool isSecond) {
  ChunkLanes lanes(*this, tile, column, getProductMask(tile, acc, column),
                   isSecond, /*outColumn=*/Value(), /*amax=*/Value());
  return arithmetic::emitColumnsOfProduct(b, loc, getRegion(), lanes, acc);
}

Epilogue::Values Epilogue::finishPairs(const TileRow &tile, Value first,
                                       Value second, Value outColumn,
                                       Value amax) {
  if (op.getActivationOrIdentity().getGate().getOrder() == GateOrder::UpFirst)
    std::swap(first, second);
  ChunkLanes lanes(*this, tile, /*column=*/Value(), /*mask=*/Value(),
                   /*isSecond=*/false, outColumn, amax);
  arithmetic::emitColumnsOfResult(b, loc, getRegion(), lanes, first, second);
  return lanes.results;
}
