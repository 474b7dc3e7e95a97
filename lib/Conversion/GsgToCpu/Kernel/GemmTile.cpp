//===- GemmTile.cpp - rows x 64 columns over all of K -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver of a tile: for each set of columns and each chunk of K decode the
// scales and weights, then run the tiles of rows over them. A single tile of
// rows, or two where registers allow, decodes its weights in registers instead.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg::cpu;
using Predicate = arith::CmpIPredicate;

LLVM::LLVMFuncOp KernelEmitter::emitGemmTile() {
  auto func = beginFunction("_gemm_tile", gemmTileTypes());
  auto args = func.getArguments();
  Value prepared = args[0], rows = args[1], k = args[2], data = args[3],
        scales = args[4], columnData = args[5], columnScales = args[6],
        columns = args[7], wordStride = args[8], phase = args[9],
        nextData = args[10], nextScales = args[11], scratch = args[12],
        accumulator = args[13];
  int64_t setColumns = plan.getSetColumns(), tileRows = plan.getTileRows();
  int64_t stepBytes = KernelPlan::getStepBytes(spec.weight);
  int64_t rowBlock = plan.getRowBlockBytes(), chunk = plan.getChunk();
  int64_t stepBlocks = plan.getBlocksPerStep();
  int64_t panelStep = setColumns * kStep * plan.getPanelElementBytes();
  bool nibbles = spec.weight == format::ElementKind::E2M1;
  Value zero = kb.i64Constant(0), one = kb.i64Constant(1);

  Value panel = scratch;
  Value scaleBuffer = kb.ptrAdd(scratch, plan.getScaleOffset());
  Value words = kb.ptrAdd(scratch, plan.getWordOffset());
  Value stage = kb.ptrAdd(scratch, plan.getStageOffset());
  Value stageOffsets = kb.ptrAdd(scratch, plan.getStageOffsetsOffset());
  kb.forLoop(zero, kb.i64Constant(setColumns), 1, [&](Value column) {
    kb.store(kb.mul(column, stepBytes),
             kb.ptrAdd(stageOffsets, kb.shl(column, 3)));
  });
  Value padded = buildPaddedRows(builder, kb.loc, plan, rows);
  auto zeros = VectorType::get(plan.getLanes(), kb.f32);
  kb.forLoop(zero, kb.mul(padded, kPanelColumns * 4), 4 * plan.getLanes(),
             [&](Value at) {
               kb.store(kb.constantF32(zeros, 0.0f),
                        kb.ptrAdd(accumulator, at));
             });

  Value allBlocks = kb.mul(kb.ceilShift(k, 5), stepBlocks);
  Value tail = kb.bitAnd(rows, tileRows - 1);
  Value fullRows = kb.sub(rows, tail);
  SmallVector<int64_t> fusedHeights = fusedVariants();
  Value lastSet =
      kb.mul(kb.sub(kb.ceilShift(columns, llvm::Log2_64(setColumns)), one),
             setColumns);
  // Whether a row has elements that are too small for pairs: its last block
  // says so.
  Value isExact;
  if (plan.usesPairs()) {
    Value end = kb.select(kb.cmp(Predicate::sgt, k, 0), padded, zero);
    auto orRow = [&](Value row, ValueRange carried) {
      Value lane = kb.bitAnd(row, tileRows - 1);
      Value tile = kb.sub(row, lane);
      Value height = kb.minS(kb.sub(padded, tile), tileRows);
      Value last = kb.add(kb.mul(tile, allBlocks),
                          kb.mul(height, kb.sub(allBlocks, one)));
      Value at = kb.add(
          kb.add(kb.mul(last, rowBlock), kb.mul(height, 2 * spec.blockSize)),
          kb.shl(lane, 2));
      Value bits = kb.load(kb.i32, kb.ptrAdd(prepared, at));
      return SmallVector<Value>{kb.bitOr(carried[0], bits)};
    };
    Value bits = kb.forLoop(zero, end, 1, {kb.constant(kb.i32, 0)}, orRow)[0];
    isExact = kb.cmp(Predicate::ne, bits, 0);
  }
  // Runs the row variant that covers `height` rows, if any.
  auto dispatch = [&](Value height, ArrayRef<int64_t> variants,
                      function_ref<void(size_t, int64_t)> run) {
    int64_t below = 0;
    for (auto [index, variant] : llvm::enumerate(variants)) {
      Value fits = arith::AndIOp::create(
          builder, kb.loc, kb.cmp(Predicate::sgt, height, below),
          kb.cmp(Predicate::sle, height, variant));
      kb.ifThen(fits, [&] { run(index, variant); });
      below = variant;
    }
  };

  kb.forLoop(zero, columns, setColumns, [&](Value set) {
    Value offsets = kb.ptrAdd(columnData, kb.shl(set, 3));
    Value scaleOffsets = kb.ptrAdd(columnScales, kb.shl(set, 3));
    Value isLast = kb.cmp(Predicate::eq, set, lastSet);
    Value ahead =
        kb.select(isLast, nextData, kb.ptrAdd(offsets, 8 * setColumns));
    Value scalesAhead =
        kb.select(isLast, nextScales, kb.ptrAdd(scaleOffsets, 8 * setColumns));
    Value accSet = kb.ptrAdd(accumulator, kb.shl(set, 2));

    kb.forLoop(zero, k, chunk, [&](Value first) {
      Value size = kb.minS(kb.sub(k, first), chunk);
      Value steps = kb.ceilShift(size, 5);
      Value whole = kb.shr(size, 5);
      if (nibbles)
        whole = kb.select(kb.cmp(Predicate::eq, phase, 0), whole, zero);
      Value firstBlock = kb.shr(first, llvm::Log2_64(spec.blockSize));
      Value blocks = kb.ceilShift(size, llvm::Log2_64(spec.blockSize));
      kb.call(scalePanel, {scales, scaleOffsets, scalesAhead, wordStride,
                           firstBlock, blocks, words, scaleBuffer});
      Value byteOffset = nibbles ? kb.shr(first, 1) : first;
      auto stageStep = [&](Value step) {
        Value element = kb.add(first, kb.mul(step, kStep));
        Value valid = kb.minS(kb.sub(k, element), kStep);
        kb.call(stageWeights, {data, offsets, kb.i64Constant(setColumns),
                               element, valid, phase, stage});
      };

      auto fillPanel = [&] {
        kb.call(weightPanel,
                {data, offsets, ahead, byteOffset, whole, panel, scaleBuffer});
        kb.forLoop(whole, steps, 1, [&](Value step) {
          stageStep(step);
          Value scalesAt = kb.mul(step, stepBlocks * 4 * setColumns);
          kb.call(weightPanel, {stage, stageOffsets, stageOffsets, zero, one,
                                kb.ptrAdd(panel, kb.mul(step, panelStep)),
                                kb.ptrAdd(scaleBuffer, scalesAt)});
        });
      };
      // The first byte of the chunk in the tile that starts at `row`.
      auto tilePtr = [&](Value row, Value height) {
        Value at = kb.add(kb.mul(row, allBlocks), kb.mul(height, firstBlock));
        return kb.ptrAdd(prepared, kb.mul(at, rowBlock));
      };
      auto accPtr = [&](Value row) {
        return kb.ptrAdd(accSet, kb.mul(row, 4 * kPanelColumns));
      };
      auto throughPanel = [&] {
        fillPanel();
        Value firstRow = zero;
        if (!plan.usesFloats()) {
          // There mostly is one: few rows that do without a panel are fused.
          kb.ifThen(kb.cmp(Predicate::sgt, fullRows, 0), [&] {
            kb.call(panelRowsFetching, {tilePtr(zero, kb.i64Constant(tileRows)),
                                        steps, scaleBuffer, accPtr(zero), panel,
                                        data, ahead, byteOffset});
          });
          firstRow = kb.i64Constant(tileRows);
        }
        kb.forLoop(firstRow, fullRows, tileRows, [&](Value row) {
          kb.call(panelRows.back(), {tilePtr(row, kb.i64Constant(tileRows)),
                                     steps, scaleBuffer, accPtr(row), panel});
        });
        dispatch(tail, plan.getRowVariants(),
                 [&](size_t index, int64_t variant) {
                   kb.call(panelRows[index],
                           {tilePtr(fullRows, kb.i64Constant(variant)), steps,
                            scaleBuffer, accPtr(fullRows), panel});
                 });
      };
      auto fused = [&] {
        dispatch(rows, fusedHeights, [&](size_t index, int64_t variant) {
          int64_t height = std::min(variant, tileRows);
          int64_t firstBytes = height * rowBlock;
          int64_t secondBytes = (variant - height) * rowBlock;
          int64_t lanes = plan.getLanes();
          // `block` counts from the start of K, `scaleBlock` from that of the
          // chunk.
          auto run = [&](Value block, Value count, Value scaleBlock, Value base,
                         Value from, Value next, Value at) {
            Value firstPtr = kb.ptrAdd(prepared, kb.mul(block, firstBytes));
            Value secondPtr = firstPtr;
            if (secondBytes)
              secondPtr = kb.ptrAdd(
                  prepared, kb.add(kb.mul(allBlocks, tileRows * rowBlock),
                                   kb.mul(block, secondBytes)));
            Value scalesPtr =
                kb.ptrAdd(scaleBuffer, kb.mul(scaleBlock, 4 * setColumns));
            kb.forLoop(
                zero, kb.i64Constant(setColumns), lanes, [&](Value column) {
                  Value c4 = kb.shl(column, 2), c8 = kb.shl(column, 3);
                  kb.call(fusedRows[index],
                          {firstPtr, count, kb.ptrAdd(scalesPtr, c4),
                           kb.ptrAdd(accSet, c4), base, kb.ptrAdd(from, c8),
                           kb.ptrAdd(next, c8), at, secondPtr});
                });
          };
          run(firstBlock, whole, zero, data, offsets, ahead, byteOffset);
          kb.forLoop(whole, steps, 1, [&](Value step) {
            stageStep(step);
            Value block = kb.mul(step, stepBlocks);
            run(kb.add(firstBlock, block), one, block, stage, stageOffsets,
                stageOffsets, zero);
          });
        });
      };
      auto fast = [&] {
        if (fusedHeights.empty())
          return throughPanel();
        kb.ifThenElse(kb.cmp(Predicate::sle, rows, fusedHeights.back()), fused,
                      throughPanel);
      };
      auto exact = [&] {
        fillPanel();
        kb.forLoop(zero, padded, tileRows, [&](Value row) {
          Value height = kb.minS(kb.sub(padded, row), tileRows);
          kb.call(exactRows, {tilePtr(row, height), steps, scaleBuffer,
                              accPtr(row), panel, height});
        });
      };
      if (plan.usesPairs())
        kb.ifThenElse(isExact, exact, fast);
      else if (plan.usesIntegers())
        fast();
      else
        throughPanel();
    });
  });
  endFunction();
  return func;
}
