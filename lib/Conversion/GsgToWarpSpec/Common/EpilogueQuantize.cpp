//===- EpilogueQuantize.cpp - Quantised results -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block lies within the columns that one thread holds, so it is quantised
// without its neighbours, by the functions of the CPU's code; sm_100a has an
// instruction for two codes of E2M1.
//
//===----------------------------------------------------------------------===//

#include "Epilogue.h"
#include "nvfp4/Conversion/GsgArithmetic/Quantize.h"
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

Value Epilogue::getScaleOffset(const TileRow &tile, ScaledType type,
                               Value block) {
  Value blocks = div(tile.extents.outColumns, type.getBlockSize());
  if (type.getLayout() == ScaleLayout::Linear)
    return flatten(tile.row, blocks, block);
  // Row and matrix of the layout.
  Value row = tile.row, firstTile = i32(0);
  if (getForm(op.getGrouping()).stacksResult) {
    row = sub(tile.row, mul(tile.group, tile.extents.rows));
    firstTile = mul(tile.group, ceilDiv(tile.extents.rows, 128));
  } else if (type.getGroupStart() == GroupStart::UpperBound) {
    Value start = sub(tile.row, tile.rowInGroup);
    row = tile.rowInGroup;
    firstTile = div(add(start, mul(tile.group, 127)), 128);
  }
  return getTiledOffset(firstTile, row, blocks, block);
}

Value Epilogue::getTiledOffset(Value firstTile, Value row, Value blocks,
                               Value block) {
  auto rest = [&](Value value, int64_t by) -> Value {
    return arith::AndIOp::create(b, loc, value, i32(by - 1));
  };
  // [row / 128, block / 4, row % 32, row % 128 / 32, block % 4]
  Value rowTile = add(firstTile, div(row, 128));
  Value atom = flatten(rowTile, ceilDiv(blocks, 4), div(block, 4));
  Value inAtom = add(mul(rest(row, 32), 16),
                     add(mul(div(rest(row, 128), 32), 4), rest(block, 4)));
  Value atomStart = arith::MulIOp::create(b, loc, atom, index(512));
  return arith::AddIOp::create(b, loc, atomStart, toIndex(inAtom));
}

/// True if `cvt` to E2M1 gives the codes of `quantizer`: it rounds to the
/// nearest even, makes 6 of NaN and keeps the sign of zero (a -0 that is not
/// rounded is taken away before, for KeepRounded).
static bool isRoundedByCvt(const arithmetic::BlockQuantizer &quantizer) {
  return format::elementKind(quantizer.format) == format::ElementKind::E2M1 &&
         !quantizer.stochastic &&
         quantizer.kind != format::Quantizer::FourOverSix &&
         quantizer.negativeZero != format::NegativeZero::Flush;
}

/// The bytes of a vector of scaled values in E2M1, the even one low.
static Value emitCvtE2M1(OpBuilder &b, Location loc, Value scaled) {
  Type code = Float4E2M1FNType::get(b.getContext());
  SmallVector<Value> bytes;
  int64_t lanes = cast<VectorType>(scaled.getType()).getNumElements();
  for (int64_t i = 0; i < lanes; i += 2) {
    Value low = vector::ExtractOp::create(b, loc, scaled, i);
    Value high = vector::ExtractOp::create(b, loc, scaled, i + 1);
    bytes.push_back(NVVM::ConvertF32x2ToF4x2Op::create(
        b, loc, b.getI8Type(), high, low, b.getBoolAttr(false),
        TypeAttr::get(code)));
  }
  return vector::FromElementsOp::create(
      b, loc, VectorType::get({lanes / 2}, b.getI8Type()), bytes);
}

std::pair<Value, Value>
Epilogue::quantizeBlock(const arithmetic::BlockQuantizer &quantizer,
                        const arithmetic::QuantizeInputs &inputs, Value x) {
  if (!roundsToE2M1() || !isRoundedByCvt(quantizer)) {
    arithmetic::QuantizedBlock block =
        arithmetic::emitQuantizeBlock(b, loc, quantizer, inputs, x);
    Value bytes = arithmetic::emitPackCodes(
        b, loc, format::elementKind(quantizer.format), block.codes);
    return {bytes, block.scale};
  }
  arithmetic::ScaledBlock block =
      arithmetic::emitScaleBlock(b, loc, quantizer, inputs, x);
  Value scaled = block.scaled;
  if (quantizer.negativeZero == format::NegativeZero::KeepRounded) {
    // -0 + 0 = 0; what is rounded to -0 stays as it is.
    Value zero =
        arith::ConstantOp::create(b, loc, b.getZeroAttr(scaled.getType()));
    scaled = arith::AddFOp::create(b, loc, scaled, zero);
  }
  return {emitCvtE2M1(b, loc, scaled), block.scale};
}

void Epilogue::storeQuantized(const TileRow &tile, Value y, Value column) {
  ScaledType type = op.getQuantizedType();
  arithmetic::BlockQuantizer quantizer =
      arithmetic::BlockQuantizer::get(op.getQuantizerAttr(), type.getFormat());
  int64_t block = quantizer.getBlockSize();
  int64_t perByte = type.isFP4() ? 2 : 1;
  arithmetic::QuantizeInputs inputs;
  inputs.globalScale = tile.globalScale;
  inputs.seed = parameters.seed;
  auto store = [&](Value x, Value first) {
    if (inputs.seed)
      inputs.elementIndex = arith::IndexCastOp::create(
          b, loc, b.getI64Type(),
          flatten(tile.row, tile.extents.outColumns, first));
    auto [bytes, scale] = quantizeBlock(quantizer, inputs, x);
    Value at = flatten(tile.row, div(tile.extents.outColumns, perByte),
                       div(first, perByte));
    vector::StoreOp::create(b, loc, bytes, tile.result.memref, ValueRange(at),
                            false, llvm::Align(block / perByte >= 16 ? 16 : 8));
    Value scaleAt = getScaleOffset(tile, type, div(first, block));
    memref::StoreOp::create(b, loc, scale, parameters.outScales,
                            ValueRange(scaleAt));
  };
  int64_t columns = cast<VectorType>(y.getType()).getNumElements();
  for (int64_t i = 0; i < columns; i += block) {
    Value x = vector::ExtractStridedSliceOp::create(
        b, loc, y, ArrayRef<int64_t>{i}, ArrayRef<int64_t>{block},
        ArrayRef<int64_t>{1});
    Value first = add(column, i32(i));
    // Columns of the result are whole blocks, but not whole chunks.
    auto branch =
        scf::IfOp::create(b, loc, less(first, tile.extents.outColumns),
                          /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    store(x, first);
  }
}
