//===- EpilogueCopies.cpp - Transposed copies of results --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The lanes of a warp have neighbouring rows, and each the same columns. They
// exchange squares of a block by a block, after which a lane has a block of
// rows of one column and quantises it as it does a block of its row. Tiles
// begin at multiples of a block within their group, so no block is of two
// warps.
//
//===----------------------------------------------------------------------===//

#include "Epilogue.h"
#include "nvfp4/Conversion/GsgArithmetic/Hadamard.h"
#include "nvfp4/Conversion/GsgArithmetic/Quantize.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <algorithm>

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::kernels;

Value Epilogue::shuffleLanes(Value value, Value operand, bool isXor) {
  Type i32Type = b.getI32Type();
  Value bits = arith::BitcastOp::create(b, loc, i32Type, value);
  Value all = i32(-1), clamp = i32(31);
  Value moved = NVVM::ShflOp::create(
      b, loc, i32Type, all, bits, operand, clamp,
      isXor ? NVVM::ShflKind::bfly : NVVM::ShflKind::idx, UnitAttr());
  return arith::BitcastOp::create(b, loc, value.getType(), moved);
}

Value Epilogue::transposeLanes(Value x, Value lane) {
  int64_t count = cast<VectorType>(x.getType()).getNumElements();
  SmallVector<Value> elements;
  for (int64_t i = 0; i < count; ++i)
    elements.push_back(vector::ExtractOp::create(b, loc, x, i));
  for (int64_t distance = 1; distance < count; distance *= 2) {
    Value bit = arith::AndIOp::create(b, loc, lane, i32(distance));
    Value isUpper =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, bit, i32(0));
    auto choose = [&](Value upper, Value lower) -> Value {
      return arith::SelectOp::create(b, loc, isUpper, upper, lower);
    };
    for (int64_t i = 0; i < count; ++i) {
      if (i & distance)
        continue;
      // The upper lane gives its lower element and gets the other's upper one.
      Value &low = elements[i], &high = elements[i + distance];
      Value got =
          shuffleLanes(choose(low, high), i32(distance), /*isXor=*/true);
      Value newLow = choose(got, low);
      high = choose(high, got);
      low = newLow;
    }
  }
  return vector::FromElementsOp::create(b, loc, x.getType(), elements);
}

void Epilogue::storeBlock(const CopyParameters &copy, Value bytes, Value at,
                          Value stride, Value count) {
  auto type = cast<VectorType>(bytes.getType());
  int64_t length = type.getNumElements();
  int64_t perByte = copy.type.isFP4() ? 2 : 1;
  auto compare = [&](arith::CmpIPredicate predicate, Value x, int64_t y) {
    return arith::CmpIOp::create(b, loc, predicate, x, i32(y)).getResult();
  };
  int64_t alignment = std::min<int64_t>(16, length);
  Value rest =
      arith::AndIOp::create(b, loc, stride, i32(alignment - 1)).getResult();
  Value isWhole = compare(arith::CmpIPredicate::sge, count, length * perByte);
  Value isAligned = arith::AndIOp::create(
      b, loc, isWhole, compare(arith::CmpIPredicate::eq, rest, 0));
  buildIf(isAligned, {}, [&]() -> Values {
    vector::StoreOp::create(b, loc, bytes, copy.values, ValueRange(at), false,
                            llvm::Align(alignment));
    return {};
  });
  Value isOther = arith::XOrIOp::create(
      b, loc, isAligned, arith::ConstantIntOp::create(b, loc, 1, 1));
  buildIf(isOther, {}, [&]() -> Values {
    Value last = arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                            div(count, perByte));
    Value lastAt = arith::AddIOp::create(b, loc, at, last);
    Value isOdd;
    if (perByte == 2)
      isOdd = arith::AndIOp::create(
          b, loc, compare(arith::CmpIPredicate::slt, count, length * perByte),
          compare(arith::CmpIPredicate::ne,
                  arith::AndIOp::create(b, loc, count, i32(1)), 0));
    auto loadLast = [&](int64_t mask) -> Value {
      Value byte = memref::LoadOp::create(b, loc, copy.values, lastAt);
      return arith::AndIOp::create(
          b, loc, byte, arith::ConstantIntOp::create(b, loc, mask, 8));
    };
    // Past the end of a ragged group the other half of a byte stays, past that
    // of a matrix it is zero.
    Value zero = arith::ConstantIntOp::create(b, loc, 0, 8);
    bool keeps = getForm(op.getGrouping()).cutsRows();
    Value kept = zero;
    if (isOdd && keeps)
      kept = buildIf(isOdd, zero, [&]() -> Values {
               return {loadLast(0xF0)};
             }).front();
    Value mask = vector::CreateMaskOp::create(
        b, loc, VectorType::get({length}, b.getI1Type()),
        toIndex(ceilDiv(count, perByte)));
    vector::MaskedStoreOp::create(b, loc, copy.values, at, mask, bytes);
    if (isOdd)
      buildIf(isOdd, {}, [&]() -> Values {
        Value byte = arith::OrIOp::create(b, loc, loadLast(0x0F), kept);
        memref::StoreOp::create(b, loc, byte, copy.values, lastAt);
        return {};
      });
    return {};
  });
}

void Epilogue::storeSquare(const TileRow &tile, const CopyParameters &copy,
                           Value globalScale, Value x, Value column,
                           Value lane) {
  arithmetic::BlockQuantizer quantizer = arithmetic::BlockQuantizer::get(
      copy.attr.getQuantizer(), copy.type.getFormat());
  int64_t block = quantizer.getBlockSize();
  x = transposeLanes(x, lane);
  // The first lane of the square and the column of this one.
  Value inSquare = arith::AndIOp::create(b, loc, lane, i32(block - 1));
  Value firstLane = sub(lane, inSquare);
  Value isRow = arith::ExtUIOp::create(b, loc, b.getI32Type(), tile.isRow);
  Value isBlock = arith::CmpIOp::create(
      b, loc, arith::CmpIPredicate::ne,
      shuffleLanes(isRow, firstLane, /*isXor=*/false), i32(0));
  column = add(column, inSquare);
  isBlock = arith::AndIOp::create(b, loc, isBlock,
                                  less(column, tile.extents.outColumns));
  buildIf(isBlock, {}, [&]() -> Values {
    Value back = sub(lane, firstLane);
    Value count = sub(tile.groupRows, sub(tile.rowInGroup, back));
    Value row = sub(tile.row, back), line = column, matrix = i32(0);
    if (getForm(op.getGrouping()).stacksResult) {
      matrix = tile.group;
      row = sub(row, mul(matrix, tile.extents.rows));
      line = add(mul(matrix, tile.extents.outColumns), column);
    }
    if (HadamardAttr hadamard = copy.attr.getHadamard()) {
      arithmetic::MathBuilder mb(b, loc);
      x = arithmetic::emitHadamard(mb, x, hadamard.getNormalized(),
                                   hadamard.getSignMask());
      Value mask = vector::CreateMaskOp::create(
          b, loc, VectorType::get({block}, b.getI1Type()), toIndex(count));
      Value zero =
          arith::ConstantOp::create(b, loc, b.getZeroAttr(x.getType()));
      x = arith::SelectOp::create(b, loc, mask, x, zero);
    }
    arithmetic::QuantizeInputs inputs;
    inputs.globalScale = globalScale;
    inputs.seed = copy.seed;
    if (inputs.seed)
      inputs.elementIndex = arith::IndexCastOp::create(
          b, loc, b.getI64Type(), flatten(line, tile.extents.rows, row));
    auto [bytes, scale] = quantizeBlock(quantizer, inputs, x);
    int64_t perByte = copy.type.isFP4() ? 2 : 1;
    Value stride = ceilDiv(tile.extents.rows, perByte);
    storeBlock(copy, bytes, flatten(line, stride, div(row, perByte)), stride,
               count);
    Value blocks = ceilDiv(tile.extents.rows, block);
    Value scaleAt =
        copy.type.getLayout() == ScaleLayout::Linear
            ? flatten(line, blocks, div(row, block))
            : getTiledOffset(mul(matrix, ceilDiv(tile.extents.outColumns, 128)),
                             column, blocks, div(row, block));
    memref::StoreOp::create(b, loc, scale, copy.scales, ValueRange(scaleAt));
    return {};
  });
}

void Epilogue::storeCopies(const TileRow &tile, Value y, Value column) {
  Type element = b.getF32Type();
  if (!op.getQuantizer())
    element = cast<MemRefType>(op.getOut().getType()).getElementType();
  if (!element.isF32()) {
    // The numbers of the result, as it is stored.
    auto type = cast<VectorType>(y.getType());
    y = arith::TruncFOp::create(b, loc, type.clone(element), y);
    y = arith::ExtFOp::create(b, loc, type, y);
  }
  Value lane = NVVM::LaneIdOp::create(b, loc, b.getI32Type());
  int64_t columns = cast<VectorType>(y.getType()).getNumElements();
  for (auto [copy, globalScale] :
       llvm::zip_equal(parameters.copies, tile.copyGlobalScales)) {
    int64_t block = copy.type.getBlockSize();
    for (int64_t i = 0; i < columns; i += block) {
      Value x = vector::ExtractStridedSliceOp::create(
          b, loc, y, ArrayRef<int64_t>{i}, ArrayRef<int64_t>{block},
          ArrayRef<int64_t>{1});
      storeSquare(tile, copy, globalScale, x, add(column, i32(i)), lane);
    }
  }
}
