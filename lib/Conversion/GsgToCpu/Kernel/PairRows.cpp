//===- PairRows.cpp - micro-kernel for pairs of bf16 ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile of rows of bf16 x columns of weights. A dot product waits for
// the one before it, so the rows take turns at every pair of K; their sums need
// registers, and so the accumulators are in memory unless there are few. Scaled
// weights are added to the accumulators directly. The weights come from where
// those of IntegerRows.cpp do.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg::cpu;

// Arguments as in IntegerRows.cpp.
LLVM::LLVMFuncOp KernelEmitter::emitPairRows(int64_t rows, Source from) {
  const bool fused = from == Source::Memory;
  auto func = beginRows(rows, from);
  auto args = func.getArguments();
  Value prepared = args[0], steps = args[1], scales = args[2],
        accumulator = args[3], source = args[4];
  int64_t lanes = plan.getLanes(), groups = fused ? 1 : plan.getGroups();
  int64_t columns = lanes * groups, blockSize = spec.blockSize;
  int64_t blocks = fused ? plan.getBlocksPerStep() : 1;
  int64_t pairs = blockSize / 2, tileRows = plan.getTileRows();
  const bool inRegisters = spec.scaleWeights || rows * groups <= 8;
  auto floats = VectorType::get(lanes, kb.f32);
  auto accOffset = [&](int64_t index) {
    return 4 * (index / groups * kPanelColumns + index % groups * lanes);
  };
  SmallVector<Value> init;
  if (inRegisters)
    for (int64_t i = 0; i < rows * groups; ++i)
      init.push_back(kb.load(floats, accumulator, accOffset(i)));

  auto body = [&](Value step, ValueRange carried) {
    SmallVector<Value> acc(carried), dwords;
    Value panel;
    if (fused)
      dwords = loadStep(args, step);
    else
      panel = kb.ptrAdd(source, kb.mul(step, columns * blockSize * 2));
    if (from == Source::PanelAndFetch)
      fetchAhead(args[5], args[6], args[7], step);
    for (int64_t block = 0; block < blocks; ++block) {
      // The block of each row.
      SmallVector<Value> rowPtrs;
      for (int64_t row = 0; row < rows; ++row) {
        bool isSecond = row >= tileRows;
        int64_t height = isSecond ? rows - tileRows : std::min(rows, tileRows);
        int64_t blockBytes = height * plan.getRowBlockBytes();
        Value tile = kb.ptrAdd(isSecond ? args[9] : prepared,
                               kb.mul(step, blocks * blockBytes));
        rowPtrs.push_back(kb.ptrAdd(tile, block * blockBytes +
                                              row % tileRows * 2 * blockSize));
      }
      SmallVector<Value> sums(rows * groups, kb.constantF32(floats, 0.0f));
      if (spec.scaleWeights)
        sums = acc;
      SmallVector<Value> decoded;
      for (int64_t pair = 0; pair < pairs; ++pair) {
        SmallVector<Value> weights;
        if (fused) {
          if (pair % 4 == 0)
            decoded = isa->decodePairs(kb, dwords[(block * pairs + pair) / 4]);
          weights.push_back(decoded[pair % 4]);
        } else {
          for (int64_t group = 0; group < groups; ++group)
            weights.push_back(kb.load(VectorType::get(lanes, kb.i32), panel,
                                      4 * (pair * columns + group * lanes)));
        }
        for (int64_t row = 0; row < rows; ++row) {
          Value values =
              kb.splat(kb.load(kb.i32, rowPtrs[row], 4 * pair), lanes);
          for (int64_t group = 0; group < groups; ++group) {
            Value &sum = sums[row * groups + group];
            sum = isa->pairDot(kb, sum, weights[group], values);
          }
        }
      }
      if (spec.scaleWeights) {
        acc = sums;
        continue;
      }
      Value scalesPtr = kb.ptrAdd(scales, kb.mul(step, 4 * blocks * columns));
      SmallVector<Value> scaleB;
      for (int64_t group = 0; group < groups; ++group)
        scaleB.push_back(
            kb.load(floats, scalesPtr, 4 * (block * columns + group * lanes)));
      for (auto [i, sum] : llvm::enumerate(sums)) {
        int64_t at = accOffset(static_cast<int64_t>(i));
        Value old = inRegisters ? acc[i] : kb.load(floats, accumulator, at);
        Value next = kb.fma(sum, scaleB[i % groups], old, /*exact=*/false,
                            isa->hasFma());
        if (inRegisters)
          acc[i] = next;
        else
          kb.store(next, accumulator, at);
      }
    }
    return acc;
  };
  Value count = fused ? steps : kb.mul(steps, plan.getBlocksPerStep());
  SmallVector<Value> result =
      kb.forLoop(kb.i64Constant(0), count, 1, init, body);
  for (auto [i, value] : llvm::enumerate(result))
    kb.store(value, accumulator, accOffset(static_cast<int64_t>(i)));
  endFunction();
  return func;
}

// rows(prepared, steps, scales, accumulator, panel, height): a tile of any
// height, row by row, with nothing flushed.
LLVM::LLVMFuncOp KernelEmitter::emitExactRows() {
  auto func = beginFunction("_exact_rows",
                            {kb.ptr, kb.i64, kb.ptr, kb.ptr, kb.ptr, kb.i64});
  auto args = func.getArguments();
  Value prepared = args[0], steps = args[1], scales = args[2],
        accumulator = args[3], panel = args[4], height = args[5];
  int64_t lanes = plan.getLanes(), columns = plan.getSetColumns(),
          blockSize = spec.blockSize;
  auto floats = VectorType::get(lanes, kb.f32);
  auto dwords = VectorType::get(lanes, kb.i32);
  Value zero = kb.i64Constant(0);
  Value blocks = kb.mul(steps, plan.getBlocksPerStep());
  kb.forLoop(zero, blocks, 1, [&](Value block) {
    Value blockPtr = kb.ptrAdd(
        prepared, kb.mul(kb.mul(block, plan.getRowBlockBytes()), height));
    Value weights = kb.ptrAdd(panel, kb.mul(block, columns * blockSize * 2));
    Value scalesPtr = kb.ptrAdd(scales, kb.mul(block, 4 * columns));
    kb.forLoop(zero, height, 1, [&](Value row) {
      Value values = kb.ptrAdd(blockPtr, kb.mul(row, 2 * blockSize));
      Value accRow = kb.ptrAdd(accumulator, kb.mul(row, 4 * kPanelColumns));
      kb.forLoop(zero, kb.i64Constant(4 * columns), 4 * lanes, [&](Value at) {
        Value lanesB = kb.ptrAdd(weights, at);
        Value accPtr = kb.ptrAdd(accRow, at);
        Value acc = kb.load(floats, accPtr);
        Value sum = spec.scaleWeights ? acc : kb.constantF32(floats, 0.0f);
        for (int64_t pair = 0; pair < blockSize / 2; ++pair) {
          Value a = kb.splat(kb.load(kb.i32, values, 4 * pair), lanes);
          Value b = kb.load(dwords, lanesB, 4 * pair * columns);
          sum = kb.fma(kb.upperBf16(a), kb.upperBf16(b), sum, /*exact=*/false,
                       true);
          sum = kb.fma(kb.lowerBf16(a), kb.lowerBf16(b), sum, /*exact=*/false,
                       true);
        }
        if (!spec.scaleWeights)
          sum = kb.fma(sum, kb.load(floats, kb.ptrAdd(scalesPtr, at)), acc,
                       /*exact=*/false, true);
        kb.store(sum, accPtr);
      });
    });
  });
  endFunction();
  return func;
}
