//===- TileEpilogue.cpp - from accumulators to results ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces the accumulators of a tile by y in f32, as the epilogue region says.
// Stores z where asked and keeps the largest |y| of the tile.
//
//===----------------------------------------------------------------------===//

#include "ProductEmitter.h"

#include "nvfp4/Conversion/GsgArithmetic/EpilogueRegion.h"
#include "nvfp4/Conversion/GsgArithmetic/Rounding.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::cpu;
using IntPredicate = arith::CmpIPredicate;

/// Bytes of one row of a tile.
static constexpr int64_t kTileRowBytes = 4 * kPanelColumns;

/// The values of the clauses of a tile; null or empty without the clause.
struct ProductEmitter::TileClauses {
  /// f32 [64] of a panel's columns.
  Value bias, addend, preact;
  SmallVector<Value> columnOperands;
  /// Scalars of the group; two of alpha for pairs.
  SmallVector<Value> alpha, activationParams, groupOperands;
  Value beta;
  /// Scalars of the row.
  Value rowScale, prob;
  SmallVector<Value> rowOperands;
};

/// The lanes from byte `at` of a row on, which are of the gate (`member` 0) or
/// of the up columns of pairs.
class ProductEmitter::TileLanes final : public EpilogueLanes {
public:
  TileLanes(ProductEmitter &emitter, const TileClauses &clauses, Value accRow,
            Value at, int64_t member)
      : emitter(emitter), mb(emitter.mb), clauses(clauses), accRow(accRow),
        at(at), member(member) {}

  Value load(LoadClauseOp op, Value) override {
    auto number = [&](ArrayRef<Value> values) {
      return values[static_cast<size_t>(*op.getIndex())];
    };
    switch (op.getClause()) {
    case EpilogueClause::Alpha:
      return clauses.alpha[member];
    case EpilogueClause::Beta:
      return clauses.beta;
    case EpilogueClause::Addend:
      return lanesAt(clauses.addend);
    case EpilogueClause::Bias:
      return lanesAt(clauses.bias);
    case EpilogueClause::RowScale:
      return clauses.rowScale;
    case EpilogueClause::Prob:
      return clauses.prob;
    case EpilogueClause::ActivationParams:
      return number(clauses.activationParams);
    case EpilogueClause::Row:
      return number(clauses.rowOperands);
    case EpilogueClause::Column:
      return lanesAt(number(clauses.columnOperands));
    case EpilogueClause::Group:
      return number(clauses.groupOperands);
    }
    llvm_unreachable("expected a clause");
  }

  /// The accumulators.
  Value loadSums() { return lanesAt(accRow); }
  void storePreActivation(Value z) override {
    mb.store(z, mb.ptrAdd(clauses.preact, at));
  }
  void foldAmax(Value y) override {
    // Magnitudes order like their bits, and NaN is above all of them.
    Value bits = mb.toBits(mb.absF(y));
    bits = mb.select(emitter.laneMask(count), bits,
                     mb.constant(bits.getType(), 0));
    largest =
        arith::MaxUIOp::create(mb.builder, mb.loc, largest, bits).getResult();
  }
  void storeResult(Value y) override { mb.store(y, mb.ptrAdd(accRow, at)); }

  /// For foldAmax: the number of lanes within the result, and the bits of the
  /// largest magnitudes so far.
  Value count, largest;

private:
  Value lanesAt(Value base) {
    return mb.load(emitter.lanesOf(mb.f32), mb.ptrAdd(base, at));
  }

  ProductEmitter &emitter;
  MathBuilder &mb;
  const TileClauses &clauses;
  Value accRow, at;
  int64_t member;
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

Value ProductEmitter::rowValue(const RowRef &ref, Value group, Value rowInGroup,
                               Value globalRow) {
  bool isRagged = getForm(product.grouping).cutsRows();
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
  TileClauses clauses;
  if (product.bias)
    clauses.bias = buffer(kTileRowBytes);
  if (product.addend)
    clauses.addend = buffer(kTileRowBytes);
  if (product.preact)
    clauses.preact = buffer(kTileRowBytes);
  for (size_t i = 0; i < product.columnOperands.size(); ++i)
    clauses.columnOperands.push_back(buffer(kTileRowBytes));

  Value entry = problemAt(group);
  Value lastColumn = mb.add(outputColumns(field(entry, problem::Columns)), -1);
  if (product.bias)
    loadColumns(
        *product.bias, group,
        [&](Value index) { return mb.loadOffset(weightRows, index); },
        clauses.bias);
  for (auto [ref, target] :
       llvm::zip_equal(product.columnOperands, clauses.columnOperands))
    loadColumns(
        ref, group,
        [&](Value index) { return mb.minS(mb.add(first, index), lastColumn); },
        target);
  if (product.alpha)
    for (int64_t member = 0; member < (paired ? 2 : 1); ++member)
      clauses.alpha.push_back(groupValue(*product.alpha, group, member));
  if (product.beta)
    clauses.beta = groupValue(*product.beta, group);
  if (product.activationParams)
    for (int64_t member = 0; member < 3; ++member)
      clauses.activationParams.push_back(
          groupValue(*product.activationParams, group, member));
  for (const GroupRef &ref : product.groupOperands)
    clauses.groupOperands.push_back(groupValue(ref, group));
  SmallVector<Value> init;
  if (product.amax)
    init.push_back(mb.constant(lanesOf(mb.i32), 0));
  auto rowBody = [&](Value row, ValueRange rowCarried) {
    Value rowInGroup = mb.add(row0, row);
    Value globalRow = mb.add(field(entry, problem::FirstRow), rowInGroup);
    Value accRow = mb.ptrAdd(tile, mb.mul(row, kTileRowBytes));
    if (product.rowScale)
      clauses.rowScale =
          rowValue(*product.rowScale, group, rowInGroup, globalRow);
    if (product.prob)
      clauses.prob = rowValue(*product.prob, group, rowInGroup, globalRow);
    clauses.rowOperands.clear();
    for (const RowRef &ref : product.rowOperands)
      clauses.rowOperands.push_back(
          rowValue(ref, group, rowInGroup, globalRow));
    auto matrixRow = [&](problem::Field data, problem::Field stride) {
      return mb.ptrAdd(toPtr(field(entry, data)),
                       mb.mul(rowInGroup, field(entry, stride)));
    };
    if (product.addend)
      moveRow(matrixRow(problem::AddendData, problem::AddendRowStride),
              product.addend->element, first, columns, weightRows,
              clauses.addend, /*isStore=*/false);

    auto columnBody = [&](Value column, ValueRange carried) {
      Block &region = *product.epilogueRegion;
      Value at = mb.shl(column, 2);
      TileLanes own(*this, clauses, accRow, at, /*member=*/0);
      if (product.amax) {
        own.count = mb.sub(columns, column);
        own.largest = carried[0];
      }
      Value z = emitColumnsOfProduct(builder, loc, region, own, own.loadSums());
      if (paired) {
        TileLanes up(*this, clauses, accRow, mb.add(at, 4 * width),
                     /*member=*/1);
        Value upZ =
            emitColumnsOfProduct(builder, loc, region, up, up.loadSums());
        emitColumnsOfResult(builder, loc, region, own, z, upZ);
      }
      SmallVector<Value> largest;
      if (product.amax)
        largest.push_back(own.largest);
      return largest;
    };
    SmallVector<Value> largest =
        mb.forLoop(zero, mb.i64Constant(width), lanes, rowCarried, columnBody);
    if (product.preact)
      moveRow(matrixRow(problem::PreactData, problem::PreactRowStride),
              product.preact->element, first, columns, weightRows,
              clauses.preact, /*isStore=*/true);
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
