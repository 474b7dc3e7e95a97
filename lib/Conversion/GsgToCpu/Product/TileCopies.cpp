//===- TileCopies.cpp - transposed copies of a tile -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Quantises y block by block along the rows while it is in the tile. A tile
// begins at a multiple of 128 rows of its group, and groups begin with a block,
// so blocks and bytes belong to one task.
//
//===----------------------------------------------------------------------===//

#include "ProductEmitter.h"

#include "nvfp4/Conversion/GsgArithmetic/Hadamard.h"
#include "nvfp4/Conversion/GsgArithmetic/Quantize.h"
#include "nvfp4/Conversion/GsgArithmetic/Rounding.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::cpu;
using IntPredicate = arith::CmpIPredicate;

/// Rows and columns that are transposed in registers.
static constexpr int64_t kSquare = 16;

LLVM::LLVMFuncOp ProductEmitter::emitCopies() {
  auto func =
      beginFunction("_copies", {mb.i64, mb.i64, mb.i64, mb.i64, mb.i64, mb.ptr},
                    Scope::Vectors);
  auto args = func.getArguments();
  Value group = args[1], row0 = args[2], rows = args[3], first = args[4],
        columns = args[5], tile = args[6];
  static_assert(kTaskRows % 32 == 0, "whole blocks");
  Value zero = mb.i64Constant(0);
  Value numbers = buffer(4 * kSquare * 32), bytes = buffer(32);
  for (const CopyRef &copy : product.copies) {
    int64_t block = copy.scales.blockSize;
    mb.forLoop(zero, rows, block, [&](Value row) {
      Value count = mb.minS(mb.sub(rows, row), block);
      mb.forLoop(zero, columns, kSquare, [&](Value column) {
        // Rows past the end are there, with numbers that are not used.
        Value source = mb.ptrAdd(
            tile, mb.add(mb.mul(row, 4 * kPanelColumns), mb.shl(column, 2)));
        for (int64_t i = 0; i < block; i += kSquare)
          transposeSquare(mb.ptrAdd(source, 4 * kPanelColumns * i),
                          mb.ptrAdd(numbers, 4 * i), 4 * block);
        Value width = mb.minS(mb.sub(columns, column), kSquare);
        mb.forLoop(zero, width, 1, [&](Value i) {
          storeColumn(
              copy,
              {group, mb.add(row0, row), mb.add(mb.add(first, column), i)},
              mb.ptrAdd(numbers, mb.mul(i, 4 * block)), count, bytes);
        });
      });
    });
  }
  endFunction();
  return func;
}

void ProductEmitter::transposeSquare(Value source, Value target,
                                     int64_t pitch) {
  lanes = kSquare;
  SmallVector<Value> lines;
  for (int64_t i = 0; i < kSquare; ++i)
    lines.push_back(
        mb.load(lanesOf(mb.f32), mb.ptrAdd(source, 4 * kPanelColumns * i)));
  for (int64_t distance = 1; distance < kSquare; distance *= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t i = 0; i < kSquare; ++i) {
      bool isUpper = i & distance;
      low.push_back(isUpper ? kSquare + i - distance : i);
      high.push_back(isUpper ? kSquare + i : i + distance);
    }
    for (int64_t i = 0; i < kSquare; ++i) {
      if (i & distance)
        continue;
      Value &a = lines[i], &b = lines[i + distance];
      Value newA = mb.shuffle(a, b, low);
      b = mb.shuffle(a, b, high);
      a = newA;
    }
  }
  for (int64_t i = 0; i < kSquare; ++i)
    mb.store(lines[i], mb.ptrAdd(target, pitch * i));
}

void ProductEmitter::storeColumn(const CopyRef &copy, const CopyPlace &at,
                                 Value numbers, Value count, Value bytes) {
  Location loc = product.loc;
  BlockQuantizer quantizer =
      BlockQuantizer::get(copy.attr.getQuantizer(), copy.format);
  const int64_t block = quantizer.getBlockSize();
  const format::ElementKind kind = format::elementKind(quantizer.format);
  const int64_t perByte = kind == format::ElementKind::E2M1 ? 2 : 1;
  lanes = block;
  auto mask = [&](Value x) {
    return mb.select(laneMask(count), x, mb.real(x, 0.0));
  };
  Value x = mask(mb.load(lanesOf(mb.f32), numbers));
  // The numbers of the result, as it is stored.
  if (Type element = product.out.element;
      !product.quantizer && !element.isF32())
    x = emitFromReal(builder, loc, emitToReal(builder, loc, x, element));
  if (HadamardAttr hadamard = copy.attr.getHadamard())
    x = mask(
        emitHadamard(mb, x, hadamard.getNormalized(), hadamard.getSignMask()));
  bool perGroup = copy.out.perGroup;
  Value firstRow = field(problemAt(at.group), problem::FirstRow);
  Value row = perGroup ? at.row : mb.add(firstRow, at.row);
  QuantizeInputs inputs;
  if (copy.globalScale)
    inputs.globalScale = groupValue(*copy.globalScale, at.group);
  if (copy.seed) {
    inputs.seed = slot(*copy.seed);
    Value line = at.column;
    if (perGroup)
      line =
          mb.add(mb.mul(at.group, outputColumns(slot(product.columns))), line);
    Value length = slot(perGroup ? product.rowsPerGroup : product.totalRows);
    inputs.elementIndex = mb.add(mb.mul(line, length), row);
  }
  QuantizedBlock result = emitQuantizeBlock(builder, loc, quantizer, inputs, x);
  // Codes past the end stand for zeros whatever the quantiser made of them.
  Value codes = mb.select(laneMask(count), result.codes,
                          mb.constant(result.codes.getType(), 0));
  Value packed = emitPackCodes(builder, loc, kind, codes);
  auto baseOf = [&](Slot address, Slot groupStride) {
    return toPtr(mb.add(slot(address), mb.mul(at.group, slot(groupStride))));
  };
  Value target = mb.ptrAdd(baseOf(copy.out.address, copy.out.groupStride),
                           mb.add(mb.mul(at.column, slot(copy.out.rowStride)),
                                  mb.div(row, perByte)));
  mb.ifThenElse(
      mb.cmp(IntPredicate::sge, count, block),
      [&] { mb.store(packed, target); },
      [&] {
        mb.store(packed, bytes);
        Value whole = mb.div(count, perByte);
        mb.forLoop(mb.i64Constant(0), whole, 1, [&](Value i) {
          mb.store(mb.load(mb.i8, mb.ptrAdd(bytes, i)), mb.ptrAdd(target, i));
        });
        if (perByte == 1)
          return;
        // Past the end of a ragged group the other half of a byte stays, past
        // that of a matrix it is zero.
        bool keeps = getForm(product.grouping).cutsRows();
        mb.ifThen(mb.cmp(IntPredicate::ne, mb.bitAnd(count, 1), 0), [&] {
          Value last = mb.ptrAdd(target, whole);
          Value byte = mb.load(mb.i8, mb.ptrAdd(bytes, whole));
          if (keeps) {
            Value other = mb.load(mb.i8, last);
            byte = mb.bitOr(byte, mb.shl(mb.shr(other, 4), 4));
          }
          mb.store(byte, last);
        });
      });
  Value number = mb.div(row, block);
  Value offset = scaleRowOffset(copy.scales.layout, at.column,
                                slot(copy.scales.tileStride));
  offset =
      mb.add(offset, mb.mul(mb.shr(number, 2), slot(copy.scales.wordStride)));
  offset = mb.add(offset, mb.bitAnd(number, 3));
  mb.store(
      result.scale,
      mb.ptrAdd(baseOf(copy.scales.address, copy.scales.groupStride), offset));
}
