//===- EpilogueMath.cpp - The steps from accumulator to result --*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The values of the clauses and where results go; the order of the steps is
// that of GsgArithmetic/Epilogue.h.
//
//===----------------------------------------------------------------------===//

#include "Epilogue.h"

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
  if (parameters.activationParams) {
    Value *numbers[] = {&tile.params.alpha, &tile.params.beta,
                        &tile.params.limit};
    for (int64_t i = 0; i < 3; ++i)
      *numbers[i] = load(parameters.activationParams,
                         toIndex(add(mul(tile.group, 3), i32(i))));
  }
  // Threads without a row take the numbers of the tile's first row.
  Value row =
      arith::SelectOp::create(b, loc, tile.isRow, tile.row, tile.firstRow);
  // Groups along K share their rows.
  if (op.getGrouping().getKind() == GroupingKind::RaggedK)
    row = sub(row, tile.groupStart);
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
// Steps 2 to 10
//===----------------------------------------------------------------------===//

/// One number for each of the 32 columns: `first` and `second` take turns by
/// runs of the granularity, which is a constant pattern within a chunk.
Value Epilogue::spreadAlpha(const TileRow &tile, Value z, bool isSecond,
                            int64_t q) {
  if (!tile.secondAlpha)
    return broadcast(tile.alpha, z);
  if (q >= 32)
    return broadcast(isSecond ? tile.secondAlpha : tile.alpha, z);
  Value both = vector::FromElementsOp::create(
      b, loc, VectorType::get({2}, b.getF32Type()),
      ValueRange{tile.alpha, tile.secondAlpha});
  SmallVector<int64_t> turns;
  for (int64_t i = 0; i < 32; ++i)
    turns.push_back(i / q % 2);
  return vector::ShuffleOp::create(b, loc, both, both, turns);
}

class Epilogue::ClauseAccess final : public arithmetic::EpilogueAccess {
public:
  /// The clauses of the columns from `column` on; `isSecond` as in
  /// finishProduct. `mask` says which of them the product has, or is null.
  ClauseAccess(Epilogue &epilogue, const TileRow &tile, Value column,
               Value mask = {}, bool isSecond = false)
      : e(epilogue), op(epilogue.op), parameters(epilogue.parameters),
        tile(tile), column(column), mask(mask), isSecond(isSecond) {}

  Value alpha(Value like) override {
    GateAttr gate = op.getActivationOrIdentity().getGate();
    return tile.alpha ? e.spreadAlpha(tile, like, isSecond,
                                      gate ? gate.getGranularity() : 0)
                      : Value();
  }
  Value prob(Value like) override {
    return op.getProb() ? e.broadcast(tile.prob, like) : Value();
  }
  Value addend(Value like) override {
    if (!op.getBeta() && !op.getAddend())
      return {};
    Value memref = parameters.addend ? parameters.addend : tile.result.memref;
    Value at = e.flatten(
        tile.row, parameters.addend ? tile.extents.columns : tile.result.stride,
        column);
    return e.getOuterGate() ? e.loadOuter(tile, memref, column, isSecond)
                            : e.loadVector(memref, at, widthOf(like), mask,
                                           parameters.knownColumns);
  }
  Value beta(Value like) override {
    return tile.beta ? e.broadcast(tile.beta, like) : Value();
  }
  Value bias(Value like) override {
    if (!op.getBias())
      return {};
    bool isPerGroup = cast<MemRefType>(op.getBias().getType()).getRank() == 2;
    Value row = isPerGroup ? tile.group : e.i32(0);
    Value at = e.flatten(row, tile.extents.columns, column);
    return e.loadVector(parameters.bias, at, widthOf(like), mask,
                        parameters.knownColumns);
  }
  void storePreActivation(Value z) override {
    if (parameters.preact && e.getOuterGate())
      e.storeOuter(tile, z, parameters.preact, column, isSecond);
    else if (parameters.preact)
      e.storeVector(tile, z, column,
                    {parameters.preact, tile.extents.columns,
                     tile.extents.columns, parameters.knownColumns});
  }
  SmallVector<Value> regionOperands(Value like) override {
    SmallVector<Value> in;
    for (Value number : tile.rowNumbers)
      in.push_back(e.broadcast(number, like));
    Value isColumn = e.maskOf(column, widthOf(like), tile.extents.outColumns,
                              parameters.knownOutColumns);
    for (auto [operand, memref] :
         llvm::zip_equal(op.getColumn(), parameters.column)) {
      bool isPerGroup = cast<MemRefType>(operand.getType()).getRank() == 2;
      Value at = e.flatten(isPerGroup ? tile.group : e.i32(0),
                           tile.extents.outColumns, column);
      in.push_back(e.loadVector(memref, at, widthOf(like), isColumn,
                                parameters.knownOutColumns));
    }
    for (Value number : tile.groupNumbers)
      in.push_back(e.broadcast(number, like));
    return in;
  }
  Value activate(ArrayRef<Value> z) override { return e.activate(tile, z); }

private:
  static int64_t widthOf(Value vector) {
    return cast<VectorType>(vector.getType()).getNumElements();
  }

  Epilogue &e;
  MatmulOp op;
  const KernelParameters &parameters;
  const TileRow &tile;
  Value column, mask;
  bool isSecond;
};

arithmetic::EpilogueOrder Epilogue::getOrder() {
  ActivationAttr activation = op.getActivationOrIdentity();
  arithmetic::EpilogueOrder order;
  order.prob = op.getProbPosition();
  order.roundsBf16 = activation.getRoundBf16();
  if (activation.getKind() == ActivationKind::Custom)
    order.region = &op.getEpilogue().front();
  return order;
}

Value Epilogue::finishProduct(const TileRow &tile, Value acc, Value column,
                              bool isSecond) {
  int64_t width = cast<VectorType>(acc.getType()).getNumElements();
  Value mask =
      maskOf(column, width, tile.extents.columns, parameters.knownColumns);
  ClauseAccess access(*this, tile, column, mask, isSecond);
  return arithmetic::emitPreActivation(b, loc, getOrder(), access, acc);
}

Value Epilogue::finishActivation(const TileRow &tile, ArrayRef<Value> z,
                                 Value column) {
  ClauseAccess access(*this, tile, column);
  return arithmetic::emitResult(b, loc, getOrder(), access, z);
}
