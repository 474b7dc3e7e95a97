//===- FusedTile.cpp - few rows x 64 columns over all of K ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver of a tile of few rows, up to two tiles of rows where registers
// allow: the micro-kernels decode weights in registers, and memory is what they
// wait for. One vector register of columns, a group, runs over all of K before
// the next, so that each of its weight rows is one long stream.
//
// CPUs fetch ahead of a stream within a page, and of few lines: several streams
// in one page are none, and one stream alone is slow. So neighbours in a group
// are as many columns apart as there are groups. They also begin at different
// ones of these columns, since lines a multiple of a page apart meet in one set
// of the first-level cache. docs/Rationale/CpuMemory.md has the measurements.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg::cpu;
using Predicate = arith::CmpIPredicate;

Value KernelEmitter::spreadColumn(Value group, Value lane) {
  int64_t groups = plan.getPanelGroups();
  return kb.add(kb.mul(lane, groups),
                kb.bitAnd(kb.add(group, lane), groups - 1));
}

void KernelEmitter::orderColumns(const Tile &tile) {
  int64_t lanes = plan.getLanes(), groups = plan.getPanelGroups();
  auto floats = VectorType::get(lanes, kb.f32);
  kb.forLoop(kb.i64Constant(0), tile.padded, 1, [&](Value row) {
    Value sums = kb.ptrAdd(tile.accumulator, kb.mul(row, 4 * kPanelColumns));
    SmallVector<Value> sources;
    for (int64_t group = 0; group < groups; ++group)
      sources.push_back(kb.load(floats, sums, 4 * lanes * group));
    for (int64_t target = 0; target < groups; ++target) {
      // Halves the number of vectors: position p of each comes from the one
      // that has the group of its column.
      SmallVector<Value> parts = sources;
      for (int64_t span = 1; span < groups; span *= 2) {
        SmallVector<int64_t> mask;
        for (int64_t p = 0; p < lanes; ++p) {
          int64_t column = target * lanes + p, lane = column / groups;
          int64_t group = (column - lane) & (groups - 1);
          mask.push_back((span == 1 ? lane : p) + (group & span ? lanes : 0));
        }
        SmallVector<Value> fewer;
        for (size_t i = 0; i < parts.size(); i += 2)
          fewer.push_back(kb.shuffle(parts[i], parts[i + 1], mask));
        parts = std::move(fewer);
      }
      kb.store(parts[0], sums, 4 * lanes * target);
    }
  });
}

void KernelEmitter::runFused(const Tile &tile) {
  int64_t lanes = plan.getLanes(), panelGroups = plan.getPanelGroups();
  int64_t tileRows = plan.getTileRows(), rowBlock = plan.getRowBlockBytes();
  int64_t stepBlocks = plan.getBlocksPerStep();
  SmallVector<int64_t> heights = fusedVariants();
  Value zero = kb.i64Constant(0), one = kb.i64Constant(1);
  // Few columns are not worth spreading.
  Value isSpread = kb.cmp(Predicate::sgt, tile.columns, kPanelColumns / 2);
  Value groups = kb.select(isSpread, kb.i64Constant(panelGroups),
                           kb.ceilShift(tile.columns, llvm::Log2_64(lanes)));

  // Offsets group by group, and behind them those of the next panel's first.
  Value groupData = kb.ptrAdd(tile.scratch, plan.getGroupOffsetsOffset());
  Value groupScales = kb.ptrAdd(groupData, 8 * (kPanelColumns + lanes));
  auto place = [&](Value data, Value scales, Value group, Value slot) {
    kb.forLoop(zero, kb.i64Constant(lanes), 1, [&](Value lane) {
      Value column = kb.select(isSpread, spreadColumn(group, lane),
                               kb.add(kb.mul(group, lanes), lane));
      Value at = kb.shl(kb.add(kb.mul(slot, lanes), lane), 3);
      kb.store(kb.loadOffset(data, column), kb.ptrAdd(groupData, at));
      kb.store(kb.loadOffset(scales, column), kb.ptrAdd(groupScales, at));
    });
  };
  kb.forLoop(zero, groups, 1, [&](Value group) {
    place(tile.columnData, tile.columnScales, group, group);
  });
  place(tile.nextData, tile.nextScales, zero, kb.i64Constant(panelGroups));

  kb.forLoop(zero, groups, 1, [&](Value group) {
    Value next = kb.add(group, one);
    next = kb.select(kb.cmp(Predicate::eq, next, groups),
                     kb.i64Constant(panelGroups), next);
    auto ofGroup = [&](Value array, Value index) {
      return kb.ptrAdd(array, kb.mul(index, 8 * lanes));
    };
    Value offsets = ofGroup(groupData, group);
    Value nextOffsets = ofGroup(groupData, next);
    Value accGroup = kb.ptrAdd(tile.accumulator, kb.mul(group, 4 * lanes));

    kb.forLoop(zero, tile.k, kFusedChunk, [&](Value first) {
      Value end = kb.add(first, kFusedChunk);
      Value size = kb.minS(kb.sub(tile.k, first), kFusedChunk);
      Value steps = kb.ceilShift(size, 5);
      Value whole = kb.select(kb.cmp(Predicate::eq, tile.phase, 0),
                              kb.shr(size, 5), zero);
      Value firstBlock = kb.shr(first, llvm::Log2_64(spec.blockSize));
      Value blocks = kb.ceilShift(size, llvm::Log2_64(spec.blockSize));
      kb.call(groupScalePanel,
              {tile.scales, ofGroup(groupScales, group),
               ofGroup(groupScales, next), tile.wordStride, firstBlock, blocks,
               tile.words, tile.scaleBuffer});
      Value isLast = kb.cmp(Predicate::sge, end, tile.k);
      Value ahead = kb.select(isLast, nextOffsets, offsets);
      Value aheadByte = kb.select(isLast, zero, kb.shr(end, 1));

      dispatch(tile.rows, heights, [&](size_t index, int64_t variant) {
        int64_t height = std::min(variant, tileRows);
        int64_t firstBytes = height * rowBlock;
        int64_t secondBytes = (variant - height) * rowBlock;
        // `block` counts from the start of K, `scaleBlock` from that of the
        // chunk.
        auto run = [&](Value block, Value count, Value scaleBlock,
                       ValueRange source) {
          Value firstPtr = kb.ptrAdd(tile.prepared, kb.mul(block, firstBytes));
          Value secondPtr = firstPtr;
          if (secondBytes)
            secondPtr =
                kb.ptrAdd(tile.prepared,
                          kb.add(kb.mul(tile.allBlocks, tileRows * rowBlock),
                                 kb.mul(block, secondBytes)));
          SmallVector<Value> args = {
              firstPtr, count,
              kb.ptrAdd(tile.scaleBuffer, kb.mul(scaleBlock, 4 * lanes)),
              accGroup};
          llvm::append_range(args, source);
          args.push_back(secondPtr);
          kb.call(fusedRows[index], args);
        };
        kb.ifThen(kb.cmp(Predicate::sgt, whole, 0), [&] {
          run(firstBlock, whole, zero,
              {tile.data, offsets, kb.shr(first, 1), ahead, aheadByte});
        });
        kb.forLoop(whole, steps, 1, [&](Value step) {
          stageStep(tile, offsets, lanes, kb.add(first, kb.mul(step, kStep)));
          Value block = kb.mul(step, stepBlocks);
          run(kb.add(firstBlock, block), one, block,
              {tile.stage, tile.stageOffsets, zero, tile.stageOffsets, zero});
        });
      });
    });
  });
  kb.ifThen(isSpread, [&] { orderColumns(tile); });
}
