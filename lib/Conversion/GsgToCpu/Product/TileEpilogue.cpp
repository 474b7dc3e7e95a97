//===- TileEpilogue.cpp - from accumulators to results ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces the accumulators of a tile by y, in f32 and in the order that the
// description of `matmul` states, every product and sum rounded on its own.
// Stores z where asked and keeps the largest |y| of the tile.
//
//===----------------------------------------------------------------------===//

#include "ProductEmitter.h"

#include "nvfp4/Conversion/GsgArithmetic/Activation.h"
#include "nvfp4/Conversion/GsgArithmetic/Rounding.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::cpu;
using IntPredicate = arith::CmpIPredicate;

/// Bytes of one row of a tile.
static constexpr int64_t kTileRowBytes = 4 * kPanelColumns;

/// What is one for all columns of a row, as scalars.
struct ProductEmitter::RowContext {
  Value prob;
  SmallVector<Value> operands;
};

Type ProductEmitter::lanesOf(Type element) const {
  return VectorType::get(lanes, element);
}

Value ProductEmitter::laneMask(Value count) {
  SmallVector<int32_t> iota(lanes);
  std::iota(iota.begin(), iota.end(), 0);
  Value lane = arith::ConstantOp::create(
      builder, product.loc,
      DenseElementsAttr::get(VectorType::get(lanes, mb.i32), ArrayRef(iota)));
  Value limit = mb.splat(mb.truncate(count, mb.i32), lanes);
  return mb.cmp(IntPredicate::slt, lane, limit);
}

Value ProductEmitter::applyProb(ProbPosition position, const RowContext &row,
                                Value x) {
  if (!product.prob || product.probPosition != position)
    return x;
  return mb.mulF(x, mb.spread(row.prob, x));
}

Value ProductEmitter::rowValue(const RowRef &ref, Value group, Value rowInGroup,
                               Value globalRow) {
  bool isRagged = product.grouping.getKind() == GroupingKind::RaggedRows;
  Value own =
      mb.ptrAdd(slotPtr(ref.address), mb.mul(group, slot(ref.groupStride)));
  return mb.load(mb.f32,
                 mb.ptrAdd(own, mb.shl(isRagged ? globalRow : rowInGroup, 2)));
}

void ProductEmitter::loadColumns(const ColumnRef &ref, Value group,
                                 function_ref<Value(Value)> columnOf,
                                 Value target) {
  Value base =
      mb.ptrAdd(slotPtr(ref.address), mb.mul(group, slot(ref.groupStride)));
  int64_t bytes = ref.element.getIntOrFloatBitWidth() / 8;
  mb.forLoop(
      mb.i64Constant(0), mb.i64Constant(kPanelColumns), 1, [&](Value index) {
        Value from = mb.ptrAdd(base, mb.mul(columnOf(index), bytes));
        Value x =
            emitFromReal(builder, product.loc, mb.load(ref.element, from));
        mb.store(x, mb.ptrAdd(target, mb.shl(index, 2)));
      });
}

void ProductEmitter::moveRow(Value rowAddress, Type element, Value first,
                             Value columns, Value weightRows, Value temp,
                             bool isStore) {
  Location loc = product.loc;
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  auto move = [&](Value address, Value tempAddress, Type memory, Type real) {
    if (isStore)
      mb.store(emitToReal(builder, loc, mb.load(real, tempAddress), element),
               address);
    else
      mb.store(emitFromReal(builder, loc, mb.load(memory, address)),
               tempAddress);
  };
  auto onePerColumn = [&] {
    Value zero = mb.i64Constant(0);
    mb.forLoop(zero, mb.i64Constant(kPanelColumns), 1, [&](Value index) {
      Value at = mb.loadOffset(weightRows, index);
      Value address = mb.ptrAdd(rowAddress, mb.mul(at, bytes));
      Value column = mb.bitAnd(index, product.taskColumns() - 1);
      mb.ifThen(mb.cmp(IntPredicate::slt, column, columns), [&] {
        move(address, mb.ptrAdd(temp, mb.shl(index, 2)), element, mb.f32);
      });
    });
  };
  if (product.isPaired())
    return onePerColumn();
  constexpr int64_t width = 16;
  Value start = mb.ptrAdd(rowAddress, mb.mul(first, bytes));
  mb.ifThenElse(
      mb.cmp(IntPredicate::eq, columns, kPanelColumns),
      [&] {
        for (int64_t column = 0; column < kPanelColumns; column += width)
          move(mb.ptrAdd(start, column * bytes), mb.ptrAdd(temp, 4 * column),
               VectorType::get(width, element), VectorType::get(width, mb.f32));
      },
      onePerColumn);
}

LLVM::LLVMFuncOp ProductEmitter::emitEpilogue() {
  lanes = 16;
  auto func = beginFunction(
      "_epilogue",
      {mb.i64, mb.i64, mb.i64, mb.i64, mb.i64, mb.i64, mb.ptr, mb.ptr},
      Scope::Vectors);
  Location loc = product.loc;
  auto args = func.getArguments();
  Value number = args[1], group = args[2], row0 = args[3], rows = args[4],
        first = args[5], columns = args[6], weightRows = args[7],
        tile = args[8];
  const int64_t width = product.taskColumns();
  const bool paired = product.isPaired();
  Value zero = mb.i64Constant(0);
  Value bias, addend, preact;
  if (product.bias)
    bias = buffer(kTileRowBytes);
  if (product.addend)
    addend = buffer(kTileRowBytes);
  if (product.preact)
    preact = buffer(kTileRowBytes);
  SmallVector<Value> columnOperands;
  for (size_t i = 0; i < product.columnOperands.size(); ++i)
    columnOperands.push_back(buffer(kTileRowBytes));

  Value entry = problemAt(group);
  Value lastColumn = mb.add(outputColumns(field(entry, problem::Columns)), -1);
  if (product.bias)
    loadColumns(
        *product.bias, group,
        [&](Value index) { return mb.loadOffset(weightRows, index); }, bias);
  for (auto [ref, target] :
       llvm::zip_equal(product.columnOperands, columnOperands))
    loadColumns(
        ref, group,
        [&](Value index) { return mb.minS(mb.add(first, index), lastColumn); },
        target);
  SmallVector<Value> alpha;
  if (product.alpha)
    for (int64_t member = 0; member < (paired ? 2 : 1); ++member)
      alpha.push_back(groupValue(*product.alpha, group, member));
  Value beta;
  if (product.beta)
    beta = groupValue(*product.beta, group);
  ActivationParams params;
  if (product.activation) {
    params = emitActivationParams(builder, loc, product.activation);
    if (product.activationParams) {
      auto own = [&](int64_t member) {
        return groupValue(*product.activationParams, group, member);
      };
      params = {own(0), own(1), own(2)};
    }
  }
  SmallVector<Value> groupOperands;
  for (const GroupRef &ref : product.groupOperands)
    groupOperands.push_back(groupValue(ref, group));

  SmallVector<Value> init;
  if (product.amax)
    init.push_back(mb.constant(lanesOf(mb.i32), 0));
  auto rowBody = [&](Value row, ValueRange rowCarried) {
    Value rowInGroup = mb.add(row0, row);
    Value globalRow = mb.add(field(entry, problem::FirstRow), rowInGroup);
    Value accRow = mb.ptrAdd(tile, mb.mul(row, kTileRowBytes));
    RowContext context;
    if (product.prob)
      context.prob = rowValue(*product.prob, group, rowInGroup, globalRow);
    for (const RowRef &ref : product.rowOperands)
      context.operands.push_back(rowValue(ref, group, rowInGroup, globalRow));
    auto matrixRow = [&](problem::Field data, problem::Field stride) {
      return mb.ptrAdd(toPtr(field(entry, data)),
                       mb.mul(rowInGroup, field(entry, stride)));
    };
    if (product.addend)
      moveRow(matrixRow(problem::AddendData, problem::AddendRowStride),
              product.addend->element, first, columns, weightRows, addend,
              /*isStore=*/false);

    // z of the columns at byte `at` of a row.
    auto preActivation = [&](Value at, int64_t member) {
      auto lanesAt = [&](Value base) {
        return mb.load(lanesOf(mb.f32), mb.ptrAdd(base, at));
      };
      Value z = lanesAt(accRow);
      if (product.alpha)
        z = mb.mulF(mb.spread(alpha[member], z), z);
      z = applyProb(ProbPosition::Gemm, context, z);
      if (product.addend) {
        Value c = lanesAt(addend);
        if (product.beta)
          c = mb.mulF(mb.spread(beta, c), c);
        z = mb.addF(z, c);
      }
      if (product.bias)
        z = mb.addF(z, applyProb(ProbPosition::Bias, context, lanesAt(bias)));
      z = applyProb(ProbPosition::PreActivation, context, z);
      if (product.preact)
        mb.store(z, mb.ptrAdd(preact, at));
      return z;
    };
    auto columnBody = [&](Value column, ValueRange carried) {
      Value at = mb.shl(column, 2);
      SmallVector<Value> z = {preActivation(at, 0)};
      if (paired)
        z.push_back(preActivation(mb.add(at, 4 * width), 1));
      Value y = z.front();
      if (product.custom) {
        SmallVector<Value> in(z);
        if (product.activation.getRoundBf16())
          for (Value &value : in)
            value = emitRoundToBF16(builder, loc, value);
        for (Value value : context.operands)
          in.push_back(mb.spread(value, y));
        for (Value values : columnOperands)
          in.push_back(mb.load(lanesOf(mb.f32), mb.ptrAdd(values, at)));
        for (Value value : groupOperands)
          in.push_back(mb.spread(value, y));
        y = customEpilogue(in);
      } else if (product.activation) {
        y = emitActivation(builder, loc, product.activation, params, z);
      }
      y = applyProb(ProbPosition::PostActivation, context, y);
      mb.store(y, mb.ptrAdd(accRow, at));
      SmallVector<Value> largest;
      if (product.amax) {
        // Magnitudes order like their bits, and NaN is above all of them.
        Value bits = mb.toBits(mb.absF(y));
        bits = mb.select(laneMask(mb.sub(columns, column)), bits,
                         mb.constant(bits.getType(), 0));
        largest.push_back(
            arith::MaxUIOp::create(builder, loc, carried[0], bits));
      }
      return largest;
    };
    SmallVector<Value> largest =
        mb.forLoop(zero, mb.i64Constant(width), lanes, rowCarried, columnBody);
    if (product.preact)
      moveRow(matrixRow(problem::PreactData, problem::PreactRowStride),
              product.preact->element, first, columns, weightRows, preact,
              /*isStore=*/true);
    return largest;
  };
  SmallVector<Value> largest = mb.forLoop(zero, rows, 1, init, rowBody);
  if (product.amax) {
    Value bits = vector::ReductionOp::create(
        builder, loc, vector::CombiningKind::MAXUI, largest[0]);
    mb.store(bits, mb.ptrAdd(slotPtr(product.maxima), mb.shl(number, 2)));
  }
  endFunction();
  return func;
}
