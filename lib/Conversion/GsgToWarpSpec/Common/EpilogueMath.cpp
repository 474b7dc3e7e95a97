//===- EpilogueMath.cpp - The steps from accumulator to result --*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In the order of docs/Spec.md, section 3: each step is rounded as it says.
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
// Steps 2 to 6
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

Value Epilogue::finishProduct(const TileRow &tile, Value acc, Value column,
                              bool isSecond) {
  GateAttr gate = op.getActivationOrIdentity().getGate();
  int64_t q = gate ? gate.getGranularity() : 0;
  auto multiply = [&](Value a, Value c) -> Value {
    return arith::MulFOp::create(b, loc, a, c);
  };
  auto plus = [&](Value a, Value c) -> Value {
    return arith::AddFOp::create(b, loc, a, c);
  };
  bool hasProb = static_cast<bool>(op.getProb());
  ProbPosition position = op.getProbPosition();
  int64_t width = cast<VectorType>(acc.getType()).getNumElements();
  Value mask =
      maskOf(column, width, tile.extents.columns, parameters.knownColumns);
  Value z = acc;
  if (tile.alpha)
    z = multiply(spreadAlpha(tile, z, isSecond, q), z);
  if (hasProb && position == ProbPosition::Gemm)
    z = multiply(z, broadcast(tile.prob, z));
  if (op.getBeta() || op.getAddend()) {
    Value memref = parameters.addend ? parameters.addend : tile.result.memref;
    Value at = flatten(
        tile.row, parameters.addend ? tile.extents.columns : tile.result.stride,
        column);
    Value c = getOuterGate() ? loadOuter(tile, memref, column, isSecond)
                             : loadVector(memref, at, width, mask,
                                          parameters.knownColumns);
    if (tile.beta)
      c = multiply(broadcast(tile.beta, c), c);
    z = plus(z, c);
  }
  if (op.getBias()) {
    bool isPerGroup = cast<MemRefType>(op.getBias().getType()).getRank() == 2;
    Value row = isPerGroup ? tile.group : i32(0);
    Value at = flatten(row, tile.extents.columns, column);
    Value bias =
        loadVector(parameters.bias, at, width, mask, parameters.knownColumns);
    if (hasProb && position == ProbPosition::Bias)
      bias = multiply(bias, broadcast(tile.prob, bias));
    z = plus(z, bias);
  }
  if (hasProb && position == ProbPosition::PreActivation)
    z = multiply(z, broadcast(tile.prob, z));
  if (parameters.preact && getOuterGate())
    storeOuter(tile, z, parameters.preact, column, isSecond);
  else if (parameters.preact)
    storeVector(tile, z, column,
                {parameters.preact, tile.extents.columns, tile.extents.columns,
                 parameters.knownColumns});
  return z;
}
