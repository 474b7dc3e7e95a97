//===- IntegerRows.cpp - integer micro-kernel -------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile of rows x columns with accumulators in registers: per block the bias
// starts an integer dot product, which is exact, and one fma per block adds it
// to the accumulator. The weights come from the decoded panel or, for few rows,
// straight from memory, decoded in registers.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg::cpu;

// rows(prepared, steps, scales, accumulator, panel), or fused:
// rows(prepared, steps, scales, accumulator, base, offsets, nextOffsets,
//      byteOffset)
LLVM::LLVMFuncOp KernelEmitter::emitIntegerRows(int64_t rows, bool fused) {
  SmallVector<Type> types = {kb.ptr, kb.i64, kb.ptr, kb.ptr, kb.ptr};
  if (fused)
    types.append({kb.ptr, kb.ptr, kb.i64});
  auto func = beginFunction(
      (fused ? "_fused_rows_" : "_panel_rows_") + std::to_string(rows), types);
  auto args = func.getArguments();
  Value prepared = args[0], steps = args[1], scales = args[2],
        accumulator = args[3], source = args[4];

  int64_t lanes = plan.getLanes(), groups = fused ? 1 : plan.getGroups();
  int64_t columns = plan.getSetColumns(), blockSize = spec.blockSize;
  // From memory a step is decoded at once; from the panel one block at a time
  // keeps all accumulators in registers.
  int64_t blocks = fused ? plan.getBlocksPerStep() : 1;
  int64_t dwords = blockSize / 4;
  int64_t blockBytes = rows * plan.getRowBlockBytes();
  auto floats = VectorType::get(lanes, kb.f32);
  auto bytes = VectorType::get(4 * lanes, kb.i8);
  auto accOffset = [&](int64_t row, int64_t group) {
    return 4 * (row * kPanelColumns + group * lanes);
  };

  SmallVector<Value> init;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t group = 0; group < groups; ++group)
      init.push_back(kb.load(floats, accumulator, accOffset(row, group)));

  auto body = [&](Value step, ValueRange carried) {
    SmallVector<Value> acc(carried);
    // weights[group][i]: four bytes of K per column each, K in prepared order.
    SmallVector<SmallVector<Value>> weights(groups);
    if (fused) {
      int64_t stepBytes = KernelPlan::getStepBytes(spec.weight);
      Value from = kb.ptrAdd(source, kb.add(args[7], kb.mul(step, stepBytes)));
      prefetchStep(source, args[6], args[7], step, 0, stepBytes);
      auto columnPtr = [&](int64_t column) {
        return kb.ptrAdd(from, kb.load(kb.i64, args[5], 8 * column));
      };
      for (Value dword : transposeStep(columnPtr, 0)) {
        auto [low, high] = isa->decodeNibbles(kb, dword);
        weights[0].append({low, high});
      }
    } else {
      Value panel = kb.ptrAdd(source, kb.mul(step, columns * blockSize));
      for (int64_t group = 0; group < groups; ++group)
        for (int64_t index = 0; index < dwords; ++index)
          weights[group].push_back(
              kb.load(bytes, panel, (group * dwords + index) * 4 * lanes));
    }
    Value rowsPtr = kb.ptrAdd(prepared, kb.mul(step, blocks * blockBytes));
    Value scalesPtr = kb.ptrAdd(scales, kb.mul(step, 4 * blocks * columns));
    for (int64_t block = 0; block < blocks; ++block) {
      Value blockPtr = kb.ptrAdd(rowsPtr, block * blockBytes);
      SmallVector<Value> scaleB;
      for (int64_t group = 0; group < groups; ++group)
        scaleB.push_back(
            kb.load(floats, scalesPtr, 4 * (block * columns + group * lanes)));
      for (int64_t row = 0; row < rows; ++row) {
        Value bias = kb.splat(
            kb.load(kb.i32, blockPtr, rows * blockSize + 4 * row), lanes);
        Value scaleA = kb.splat(
            kb.load(kb.f32, blockPtr, rows * (blockSize + 4) + 4 * row), lanes);
        SmallVector<Value> values;
        for (int64_t d = 0; d < dwords; ++d)
          values.push_back(kb.bitcast(
              kb.splat(kb.load(kb.i32, blockPtr, row * blockSize + 4 * d),
                       lanes),
              kb.i8));
        for (int64_t group = 0; group < groups; ++group) {
          auto blockWeights =
              ArrayRef(weights[group]).slice(block * dwords, dwords);
          Value dot = isa->blockDot(kb, bias, blockWeights, values);
          Value &slot = acc[row * groups + group];
          slot = accumulate(kb.intToFloat(dot), scaleA, scaleB[group], slot);
        }
      }
    }
    return acc;
  };
  Value count = fused ? steps : kb.mul(steps, plan.getBlocksPerStep());
  SmallVector<Value> result =
      kb.forLoop(kb.i64Constant(0), count, 1, init, body);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t group = 0; group < groups; ++group)
      kb.store(result[row * groups + group], accumulator,
               accOffset(row, group));
  endFunction();
  return func;
}
