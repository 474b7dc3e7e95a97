//===- IntegerRows.cpp - integer micro-kernel -------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile of rows x columns with accumulators in registers: per block the bias
// starts an integer dot product, which is exact, and one fma per block adds it
// to the accumulator. With UE4M3 scales the sum is never converted: it starts
// at the bits of kSumOffset, so its own are those of kSumOffset + sum, and
//   fma(kSumOffset + sum, sB, -kSumOffset * sB) = sum * sB,
// exactly, since a sum has 12 bits, a scale 4 and kSumOffset 2. The weights
// come from the decoded panel or, for few rows, straight from memory, decoded
// in registers. Memory is read ahead a little in every step, never in a burst,
// which would wait for it.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg::cpu;

void KernelEmitter::fetchAhead(Value base, Value offsets, Value byteOffset,
                               Value block) {
  int64_t columns = plan.getSetColumns();
  int64_t rowBytes =
      plan.getChunk() / kStep * KernelPlan::getStepBytes(spec.weight);
  int64_t perBlock =
      columns * (rowBytes / 64) / (plan.getChunk() / spec.blockSize);
  Value number = kb.mul(block, perBlock);
  Value line = kb.shl(kb.shr(number, llvm::Log2_64(columns)), 6);
  Value source = kb.ptrAdd(base, kb.add(byteOffset, line));
  Value first = kb.ptrAdd(offsets, kb.shl(kb.bitAnd(number, columns - 1), 3));
  for (int64_t i = 0; i < perBlock; ++i)
    kb.prefetch(kb.ptrAdd(source, kb.load(kb.i64, first, 8 * i)));
}

// rows(prepared, steps, scales, accumulator, panel), while fetching:
// rows(..., panel, base, nextOffsets, byteOffset), or from memory:
// rows(prepared, steps, scales, accumulator, base, offsets, byteOffset,
//      aheadOffsets, aheadByteOffset, second), `ahead` being what it fetches
// and `second` the prepared rows of the second tile.
LLVM::LLVMFuncOp KernelEmitter::emitIntegerRows(int64_t rows, Source from) {
  const bool fused = from == Source::Memory;
  auto func = beginRows(rows, from);
  auto args = func.getArguments();
  Value prepared = args[0], steps = args[1], scales = args[2],
        accumulator = args[3], source = args[4];

  int64_t lanes = plan.getLanes(), groups = fused ? 1 : plan.getGroups();
  int64_t columns = lanes * groups, blockSize = spec.blockSize;
  // From memory a step is decoded at once; from the panel one block at a time
  // keeps all accumulators in registers.
  int64_t blocks = fused ? plan.getBlocksPerStep() : 1;
  int64_t dwords = blockSize / 4;
  // The tiles of prepared rows: first row, height and address.
  struct Tile {
    int64_t row, height;
    Value data;
  };
  const int64_t tileRows = plan.getTileRows();
  SmallVector<Tile> tiles = {{0, std::min(rows, tileRows), prepared}};
  if (rows > tileRows)
    tiles.push_back({tileRows, rows - tileRows, args[9]});
  auto floats = VectorType::get(lanes, kb.f32);
  auto bytes = VectorType::get(4 * lanes, kb.i8);
  auto accOffset = [&](int64_t row, int64_t group) {
    return 4 * (row * kPanelColumns + group * lanes);
  };

  SmallVector<Value> init;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t group = 0; group < groups; ++group)
      init.push_back(kb.load(floats, accumulator, accOffset(row, group)));

  auto body = [&](Value step, ValueRange packed, ValueRange carried) {
    SmallVector<Value> acc(carried);
    // weights[group][i]: four bytes of K per column each, K in prepared order.
    SmallVector<SmallVector<Value>> weights(groups);
    if (fused) {
      for (Value dword : packed) {
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
    if (from == Source::PanelAndFetch)
      fetchAhead(args[5], args[6], args[7], step);
    Value scalesPtr = kb.ptrAdd(scales, kb.mul(step, 4 * blocks * columns));
    for (int64_t block = 0; block < blocks; ++block) {
      SmallVector<Value> scaleB, offsetB;
      for (int64_t group = 0; group < groups; ++group) {
        scaleB.push_back(
            kb.load(floats, scalesPtr, 4 * (block * columns + group * lanes)));
        if (plan.hasFloatSums())
          offsetB.push_back(
              kb.mulF(scaleB.back(), kb.constantF32(floats, -kSumOffset)));
      }
      for (const Tile &tile : tiles) {
        int64_t blockBytes = tile.height * plan.getRowBlockBytes();
        Value blockPtr =
            kb.ptrAdd(kb.ptrAdd(tile.data, kb.mul(step, blocks * blockBytes)),
                      block * blockBytes);
        for (int64_t row = 0; row < tile.height; ++row) {
          Value bias = kb.splat(
              kb.load(kb.i32, blockPtr, tile.height * blockSize + 4 * row),
              lanes);
          Value scaleA =
              kb.splat(kb.load(kb.f32, blockPtr,
                               tile.height * (blockSize + 4) + 4 * row),
                       lanes);
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
            Value &slot = acc[(tile.row + row) * groups + group];
            if (!plan.hasFloatSums()) {
              slot =
                  accumulate(kb.intToFloat(dot), scaleA, scaleB[group], slot);
              continue;
            }
            Value scaled =
                kb.fma(kb.bitcast(dot, kb.f32), scaleB[group], offsetB[group],
                       /*exact=*/false, isa->hasFma());
            slot = kb.fma(scaled, scaleA, slot, /*exact=*/true, isa->hasFma());
          }
        }
      }
    }
    return acc;
  };
  SmallVector<Value> result;
  if (fused)
    result = forPackedSteps(args, init, /*early=*/rows <= tileRows, body);
  else
    result = kb.forLoop(
        kb.i64Constant(0), kb.mul(steps, plan.getBlocksPerStep()), 1, init,
        [&](Value block, ValueRange acc) { return body(block, {}, acc); });
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t group = 0; group < groups; ++group)
      kb.store(result[row * groups + group], accumulator,
               accOffset(row, group));
  endFunction();
  return func;
}
