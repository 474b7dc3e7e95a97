//===- TileQuantize.cpp - stores a tile quantised ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Quantises y block by block along the columns and stores codes and scales. A
// tile starts at a multiple of 32 columns, so blocks and bytes belong to one
// task. Squares of 16 x 16 share a scale from the first row of the group on.
//
//===----------------------------------------------------------------------===//

#include "ProductEmitter.h"

#include "nvfp4/Conversion/GsgArithmetic/Quantize.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::cpu;
using IntPredicate = arith::CmpIPredicate;

LLVM::LLVMFuncOp ProductEmitter::emitQuantize() {
  auto func = beginFunction("_quantize",
                            {mb.i64, mb.i64, mb.i64, mb.i64, mb.i64, mb.ptr},
                            Scope::Vectors);
  Location loc = product.loc;
  auto args = func.getArguments();
  Value group = args[1], row0 = args[2], rows = args[3], first = args[4],
        columns = args[5], tile = args[6];
  BlockQuantizer quantizer =
      BlockQuantizer::get(product.quantizer, product.outFormat);
  const int64_t block = quantizer.getBlockSize();
  const format::ElementKind kind = format::elementKind(quantizer.format);
  const int64_t perByte = kind == format::ElementKind::E2M1 ? 2 : 1;
  const ScalesRef &scales = *product.outScales;
  Value zero = mb.i64Constant(0);
  Value bytesOfTail = buffer(32);
  Value entry = problemAt(group);
  Value data =
      mb.ptrAdd(toPtr(field(entry, problem::OutData)), mb.div(first, perByte));
  Value stride = field(entry, problem::OutRowStride);
  Value scalesBase = toPtr(field(entry, problem::OutScales));
  Value scaleRow = field(entry, problem::OutScaleRow);
  Value tileStride = slot(scales.tileStride);
  Value wordStride = slot(scales.wordStride);
  QuantizeInputs inputs;
  if (product.globalScale)
    inputs.globalScale = groupValue(*product.globalScale, group);
  if (product.seed)
    inputs.seed = slot(*product.seed);
  Value outColumns = outputColumns(field(entry, problem::Columns));
  Value firstRow = field(entry, problem::FirstRow);
  lanes = block;

  // y of a block, zero past the last column.
  auto loadBlock = [&](Value row, Value column) {
    Value at = mb.add(mb.mul(row, 4 * kPanelColumns), mb.shl(column, 2));
    Value y = mb.load(lanesOf(mb.f32), mb.ptrAdd(tile, at));
    return mb.select(laneMask(mb.sub(columns, column)), y, mb.real(y, 0.0));
  };
  auto quantizeRow = [&](Value row, Value column, Value amax) {
    Value x = loadBlock(row, column);
    Value rowInGroup = mb.add(row0, row);
    if (inputs.seed)
      inputs.elementIndex =
          mb.add(mb.mul(mb.add(firstRow, rowInGroup), outColumns),
                 mb.add(first, column));
    QuantizedBlock result =
        amax ? emitQuantizeBlockWithAmax(builder, loc, quantizer, inputs, amax,
                                         x)
             : emitQuantizeBlock(builder, loc, quantizer, inputs, x);
    // Codes past the end stand for zeros whatever the quantiser made of them.
    Value codes = mb.select(laneMask(mb.sub(columns, column)), result.codes,
                            mb.constant(result.codes.getType(), 0));
    Value packed = emitPackCodes(builder, loc, kind, codes);
    Value target = mb.ptrAdd(
        data, mb.add(mb.mul(rowInGroup, stride), mb.div(column, perByte)));
    Value left = mb.sub(columns, column);
    mb.ifThenElse(
        mb.cmp(IntPredicate::sge, left, block),
        [&] { mb.store(packed, target); },
        [&] {
          mb.store(packed, bytesOfTail);
          Value bytes = mb.div(mb.add(left, perByte - 1), perByte);
          mb.forLoop(zero, bytes, 1, [&](Value index) {
            mb.store(mb.load(mb.i8, mb.ptrAdd(bytesOfTail, index)),
                     mb.ptrAdd(target, index));
          });
        });
    Value scaleColumn = mb.div(mb.add(first, column), block);
    Value offset =
        scaleRowOffset(scales.layout, mb.add(scaleRow, rowInGroup), tileStride);
    offset = mb.add(offset, mb.mul(mb.shr(scaleColumn, 2), wordStride));
    offset = mb.add(offset, mb.bitAnd(scaleColumn, 3));
    mb.store(result.scale, mb.ptrAdd(scalesBase, offset));
  };

  if (!product.quantizer.getTwoD()) {
    mb.forLoop(zero, rows, 1, [&](Value row) {
      mb.forLoop(zero, columns, block,
                 [&](Value column) { quantizeRow(row, column, {}); });
    });
  } else {
    mb.forLoop(zero, rows, block, [&](Value square) {
      Value end = mb.minS(mb.add(square, block), rows);
      mb.forLoop(zero, columns, block, [&](Value column) {
        Value bits =
            mb.forLoop(square, end, 1, {mb.constant(mb.i32, 0)},
                       [&](Value row, ValueRange carried) {
                         Value own = mb.toBits(emitBlockAmax(
                             builder, loc, quantizer, loadBlock(row, column)));
                         Value larger = arith::MaxUIOp::create(builder, loc,
                                                               carried[0], own);
                         return SmallVector<Value>{larger};
                       })[0];
        Value amax = mb.fromBits(bits);
        mb.forLoop(square, end, 1,
                   [&](Value row) { quantizeRow(row, column, amax); });
      });
    });
  }
  endFunction();
  return func;
}
