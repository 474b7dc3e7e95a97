//===- GemmTile.cpp - rows x 64 columns over all of K -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver of a tile: for each set of columns and each chunk of K decode the
// scales and weights, then run the tiles of rows over them. Few rows go another
// way, see FusedTile.cpp.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg::cpu;
using Predicate = arith::CmpIPredicate;

void KernelEmitter::stageStep(const Tile &tile, Value offsets, int64_t columns,
                              Value element) {
  Value valid = kb.minS(kb.sub(tile.k, element), kStep);
  kb.call(stageWeights, {tile.data, offsets, kb.i64Constant(columns), element,
                         valid, tile.phase, tile.stage});
}

void KernelEmitter::dispatch(Value height, ArrayRef<int64_t> variants,
                             function_ref<void(size_t, int64_t)> run) {
  int64_t below = 0;
  for (auto [index, variant] : llvm::enumerate(variants)) {
    Value fits = arith::AndIOp::create(builder, kb.loc,
                                       kb.cmp(Predicate::sgt, height, below),
                                       kb.cmp(Predicate::sle, height, variant));
    kb.ifThen(fits, [&] { run(index, variant); });
    below = variant;
  }
}

void KernelEmitter::runPanels(const Tile &tile, Value isExact) {
  int64_t setColumns = plan.getSetColumns(), tileRows = plan.getTileRows();
  int64_t rowBlock = plan.getRowBlockBytes(), chunk = plan.getChunk();
  int64_t stepBlocks = plan.getBlocksPerStep();
  int64_t panelStep = plan.getPanelStepBytes();
  bool nibbles = spec.weight == format::ElementKind::E2M1;
  Value zero = kb.i64Constant(0), one = kb.i64Constant(1);
  Value panel = tile.scratch, scaleBuffer = tile.scaleBuffer;
  Value tail = kb.bitAnd(tile.rows, tileRows - 1);
  Value fullRows = kb.sub(tile.rows, tail);
  Value lastSet =
      kb.mul(kb.sub(kb.ceilShift(tile.columns, llvm::Log2_64(setColumns)), one),
             setColumns);

  kb.forLoop(zero, tile.columns, setColumns, [&](Value set) {
    Value offsets = kb.ptrAdd(tile.columnData, kb.shl(set, 3));
    Value scaleOffsets = kb.ptrAdd(tile.columnScales, kb.shl(set, 3));
    Value isLast = kb.cmp(Predicate::eq, set, lastSet);
    Value ahead =
        kb.select(isLast, tile.nextData, kb.ptrAdd(offsets, 8 * setColumns));
    Value scalesAhead = kb.select(isLast, tile.nextScales,
                                  kb.ptrAdd(scaleOffsets, 8 * setColumns));
    Value accSet = kb.ptrAdd(tile.accumulator, kb.shl(set, 2));

    kb.forLoop(zero, tile.k, chunk, [&](Value first) {
      Value size = kb.minS(kb.sub(tile.k, first), chunk);
      Value steps = kb.ceilShift(size, 5);
      Value whole = kb.shr(size, 5);
      if (nibbles)
        whole = kb.select(kb.cmp(Predicate::eq, tile.phase, 0), whole, zero);
      Value firstBlock = kb.shr(first, llvm::Log2_64(spec.blockSize));
      Value blocks = kb.ceilShift(size, llvm::Log2_64(spec.blockSize));
      kb.call(scalePanel,
              {tile.scales, scaleOffsets, scalesAhead, tile.wordStride,
               firstBlock, blocks, tile.words, scaleBuffer});
      Value byteOffset = nibbles ? kb.shr(first, 1) : first;

      kb.call(weightPanel, {tile.data, offsets, ahead, byteOffset, whole, panel,
                            scaleBuffer});
      kb.forLoop(whole, steps, 1, [&](Value step) {
        stageStep(tile, offsets, setColumns,
                  kb.add(first, kb.mul(step, kStep)));
        Value scalesAt = kb.mul(step, stepBlocks * 4 * setColumns);
        kb.call(weightPanel,
                {tile.stage, tile.stageOffsets, tile.stageOffsets, zero, one,
                 kb.ptrAdd(panel, kb.mul(step, panelStep)),
                 kb.ptrAdd(scaleBuffer, scalesAt)});
      });
      // The first byte of the chunk in the tile that starts at `row`.
      auto tilePtr = [&](Value row, Value height) {
        Value at =
            kb.add(kb.mul(row, tile.allBlocks), kb.mul(height, firstBlock));
        return kb.ptrAdd(tile.prepared, kb.mul(at, rowBlock));
      };
      if (plan.usesTiles())
        return runTiles(tile, firstBlock, blocks, ahead, byteOffset);
      auto accPtr = [&](Value row) {
        return kb.ptrAdd(accSet, kb.mul(row, 4 * kPanelColumns));
      };
      auto fast = [&] {
        Value firstRow = zero;
        if (!plan.usesFloats()) {
          // There mostly is one: few rows that do without a panel are fused.
          kb.ifThen(kb.cmp(Predicate::sgt, fullRows, 0), [&] {
            kb.call(panelRowsFetching, {tilePtr(zero, kb.i64Constant(tileRows)),
                                        steps, scaleBuffer, accPtr(zero), panel,
                                        tile.data, ahead, byteOffset});
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
      auto exact = [&] {
        kb.forLoop(zero, tile.padded, tileRows, [&](Value row) {
          Value height = kb.minS(kb.sub(tile.padded, row), tileRows);
          kb.call(exactRows, {tilePtr(row, height), steps, scaleBuffer,
                              accPtr(row), panel, height});
        });
      };
      if (isExact)
        kb.ifThenElse(isExact, exact, fast);
      else
        fast();
    });
  });
}

LLVM::LLVMFuncOp KernelEmitter::emitGemmTile() {
  auto func = beginFunction("_gemm_tile", gemmTileTypes());
  auto args = func.getArguments();
  Tile tile{args[0], args[1], args[2], args[3],  args[4],  args[5],  args[6],
            args[7], args[8], args[9], args[10], args[11], args[12], args[13]};
  int64_t setColumns = plan.getSetColumns(), tileRows = plan.getTileRows();
  int64_t stepBytes = KernelPlan::getStepBytes(spec.weight);
  Value zero = kb.i64Constant(0);
  auto inScratch = [&](int64_t offset) {
    return kb.ptrAdd(tile.scratch, offset);
  };
  tile.scaleBuffer = inScratch(plan.getScaleOffset());
  tile.words = inScratch(plan.getWordOffset());
  tile.stage = inScratch(plan.getStageOffset());
  tile.stageOffsets = inScratch(plan.getStageOffsetsOffset());
  kb.forLoop(zero, kb.i64Constant(setColumns), 1, [&](Value column) {
    kb.store(kb.mul(column, stepBytes),
             kb.ptrAdd(tile.stageOffsets, kb.shl(column, 3)));
  });
  tile.padded = buildPaddedRows(builder, kb.loc, plan, tile.rows);
  tile.allBlocks = kb.mul(kb.ceilShift(tile.k, 5), plan.getBlocksPerStep());
  auto zeros = VectorType::get(plan.getLanes(), kb.f32);
  kb.forLoop(zero, kb.mul(tile.padded, kPanelColumns * 4), 4 * plan.getLanes(),
             [&](Value at) {
               kb.store(kb.constantF32(zeros, 0.0f),
                        kb.ptrAdd(tile.accumulator, at));
             });

  SmallVector<int64_t> fusedHeights = fusedVariants();
  Value isFew;
  if (!fusedHeights.empty())
    isFew = kb.cmp(Predicate::sle, tile.rows, fusedHeights.back());
  // Whether a row has elements that are too small for pairs: its last block
  // says so.
  Value isExact;
  if (plan.usesPairs()) {
    Value end = kb.select(kb.cmp(Predicate::sgt, tile.k, 0), tile.padded, zero);
    auto orRow = [&](Value row, ValueRange carried) {
      Value lane = kb.bitAnd(row, tileRows - 1);
      Value first = kb.sub(row, lane);
      Value height = kb.minS(kb.sub(tile.padded, first), tileRows);
      Value last = kb.add(kb.mul(first, tile.allBlocks),
                          kb.mul(height, kb.add(tile.allBlocks, -1)));
      Value at = kb.add(kb.add(kb.mul(last, plan.getRowBlockBytes()),
                               kb.mul(height, 2 * spec.blockSize)),
                        kb.shl(lane, 2));
      Value bits = kb.load(kb.i32, kb.ptrAdd(tile.prepared, at));
      return SmallVector<Value>{kb.bitOr(carried[0], bits)};
    };
    Value bits = kb.forLoop(zero, end, 1, {kb.constant(kb.i32, 0)}, orRow)[0];
    isExact = kb.cmp(Predicate::ne, bits, 0);
    if (isFew)
      isFew = arith::AndIOp::create(builder, kb.loc, isFew,
                                    kb.cmp(Predicate::eq, bits, 0));
  }
  if (plan.usesTiles())
    configureTiles();
  auto panels = [&] { runPanels(tile, isExact); };
  if (isFew)
    kb.ifThenElse(isFew, [&] { runFused(tile); }, panels);
  else
    panels();
  if (plan.usesTiles())
    releaseTiles();
  endFunction();
  return func;
}
