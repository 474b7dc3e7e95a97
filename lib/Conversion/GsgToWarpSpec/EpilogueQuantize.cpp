//===- EpilogueQuantize.cpp - Quantised results -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block lies within the columns that one thread holds, so it is quantised
// without its neighbours, by the functions of the CPU's code.
//
//===----------------------------------------------------------------------===//

#include "EpilogueTile.h"
#include "nvfp4/Conversion/GsgToCpu/Arithmetic/Quantize.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::sm100;

Value KernelBody::getScaleOffset(const TilePlace &tile, ScaledType type,
                                 Value block) {
  Value blocks = div(parameters.outColumns, type.getBlockSize());
  if (type.getLayout() == ScaleLayout::Linear)
    return flatten(tile.row, blocks, block);
  // Row and matrix of the layout.
  Value row = tile.row, firstTile = i32(0);
  GroupingKind kind = op.getGrouping().getKind();
  if (kind == GroupingKind::Batched || kind == GroupingKind::Masked ||
      kind == GroupingKind::RaggedK) {
    row = sub(tile.row, mul(tile.group, parameters.rows));
    firstTile = mul(tile.group, ceilDiv(parameters.rows, 128));
  } else if (type.getGroupStart() == GroupStart::UpperBound) {
    Value start = sub(tile.row, tile.rowInGroup);
    row = tile.rowInGroup;
    firstTile = div(add(start, mul(tile.group, 127)), 128);
  }
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

void KernelBody::storeQuantized(const TilePlace &tile, Value y, Value column) {
  ScaledType type = op.getQuantizedType();
  cpu::BlockQuantizer quantizer =
      cpu::BlockQuantizer::get(op.getQuantizerAttr(), type.getFormat());
  int64_t block = quantizer.getBlockSize();
  int64_t perByte = type.isFP4() ? 2 : 1;
  cpu::QuantizeInputs inputs;
  inputs.globalScale = tile.globalScale;
  inputs.seed = parameters.seed;
  auto store = [&](Value x, Value first) {
    if (inputs.seed)
      inputs.elementIndex = arith::IndexCastOp::create(
          b, loc, b.getI64Type(),
          flatten(tile.row, parameters.outColumns, first));
    cpu::QuantizedBlock result =
        cpu::emitQuantizeBlock(b, loc, quantizer, inputs, x);
    Value bytes = cpu::emitPackCodes(
        b, loc, format::elementKind(quantizer.format), result.codes);
    Value at = flatten(tile.row, div(parameters.outColumns, perByte),
                       div(first, perByte));
    vector::StoreOp::create(b, loc, bytes, parameters.out, ValueRange(at),
                            false, llvm::Align(block / perByte >= 16 ? 16 : 8));
    Value scaleAt = getScaleOffset(tile, type, div(first, block));
    memref::StoreOp::create(b, loc, result.scale, parameters.outScales,
                            ValueRange(scaleAt));
  };
  int64_t columns = cast<VectorType>(y.getType()).getNumElements();
  for (int64_t i = 0; i < columns; i += block) {
    Value x = vector::ExtractStridedSliceOp::create(
        b, loc, y, ArrayRef<int64_t>{i}, ArrayRef<int64_t>{block},
        ArrayRef<int64_t>{1});
    Value first = add(column, i32(i));
    // Columns of the result are whole blocks, but not whole chunks.
    auto branch = scf::IfOp::create(b, loc, less(first, parameters.outColumns),
                                    /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    store(x, first);
  }
}
