//===- TileRows.cpp - micro-kernels of AMX -------------------- -*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles of 16 rows x 16 columns. One multiplication takes one block of K, so
// that each adds P * sA * sB to the sums with one rounding, see KernelSpec.h.
// It takes 16 cycles, and 52 until the next one on the same sums: four tiles of
// sums take turns, of two tiles of rows and two of columns, or of one and four.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::cpu;
using Predicate = arith::CmpIPredicate;

/// Tile registers: sums, rows and columns.
static constexpr int kSums = 0, kRows = 4, kColumns = 6;

static void tileOp(KernelBuilder &kb, StringRef name, ArrayRef<int> registers,
                   ValueRange address = {}) {
  SmallVector<Value> args;
  for (int number : registers)
    args.push_back(kb.constant(kb.i8, number));
  llvm::append_range(args, address);
  LLVM::CallIntrinsicOp::create(
      kb.builder, kb.loc, kb.builder.getStringAttr("llvm.x86." + name), args);
}

void KernelEmitter::configureTiles() {
  // Palette 1; bytes of a row from 16, in words, and rows from 48.
  SmallVector<int8_t> bytes(64, 0);
  bytes[0] = 1;
  for (int tile = 0; tile < 8; ++tile) {
    bool isRows = tile >= kRows && tile < kColumns;
    bytes[16 + 2 * tile] =
        static_cast<int8_t>(isRows ? 2 * spec.blockSize : 64);
    bytes[48 + tile] =
        static_cast<int8_t>(tile < kColumns ? 16 : spec.blockSize / 2);
  }
  Value memory = LLVM::AllocaOp::create(builder, kb.loc, kb.ptr, kb.i8,
                                        kb.i64Constant(64), 64);
  kb.store(kb.byteVector(bytes), memory);
  tileOp(kb, "ldtilecfg", {}, memory);
}

void KernelEmitter::releaseTiles() { tileOp(kb, "tilerelease", {}); }

// rows(prepared, second, blocks, panel, accumulator) for two tiles of rows and
// two of columns, or for one, in which `second` says nothing, and all columns;
// while fetching: rows(..., base, nextOffsets, byteOffset).
LLVM::LLVMFuncOp KernelEmitter::emitTileRows(int64_t tiles, bool fetches) {
  SmallVector<Type> types = {kb.ptr, kb.ptr, kb.i64, kb.ptr, kb.ptr};
  if (fetches)
    types.append({kb.ptr, kb.ptr, kb.i64});
  auto func = beginFunction(
      (StringRef(fetches ? "_fetching_tiles_" : "_tiles_") + Twine(tiles))
          .str(),
      types);
  auto args = func.getArguments();
  Value blocks = args[2], panel = args[3], accumulator = args[4];
  int64_t lanes = plan.getLanes(), groups = 4 / tiles;
  Value rowBytes = kb.i64Constant(2 * spec.blockSize);
  Value columnBytes = kb.i64Constant(4 * lanes);
  Value sumBytes = kb.i64Constant(4 * kPanelColumns);
  auto moveSums = [&](StringRef name) {
    for (int64_t tile = 0; tile < tiles; ++tile)
      for (int64_t group = 0; group < groups; ++group) {
        Value address = kb.ptrAdd(
            accumulator,
            4 * (tile * plan.getTileRows() * kPanelColumns + group * lanes));
        tileOp(kb, name, {static_cast<int>(kSums + tile * groups + group)},
               {address, sumBytes});
      }
  };
  moveSums("tileloadd64");
  kb.forLoop(kb.i64Constant(0), blocks, 1, [&](Value block) {
    Value rowsAt = kb.mul(block, plan.getTileRows() * plan.getRowBlockBytes());
    Value panelAt = kb.ptrAdd(panel, kb.mul(block, 2 * lanes * spec.blockSize));
    for (int64_t tile = 0; tile < tiles; ++tile)
      tileOp(kb, "tileloadd64", {static_cast<int>(kRows + tile)},
             {kb.ptrAdd(args[tile], rowsAt), rowBytes});
    for (int64_t group = 0; group < groups; ++group) {
      int columns = kColumns + static_cast<int>(group % 2);
      tileOp(
          kb, "tileloadd64", {columns},
          {kb.ptrAdd(panelAt, group * plan.getPanelGroupBytes()), columnBytes});
      for (int64_t tile = 0; tile < tiles; ++tile)
        tileOp(kb, "tdpbf16ps",
               {static_cast<int>(kSums + tile * groups + group),
                static_cast<int>(kRows + tile), columns});
    }
    if (fetches)
      fetchAhead(args[5], args[6], args[7], block);
  });
  moveSums("tilestored64");
  endFunction();
  return func;
}

void KernelEmitter::runTiles(const Tile &tile, Value firstBlock, Value blocks,
                             Value ahead, Value byteOffset) {
  int64_t rows = plan.getTileRows(), rowBlock = plan.getRowBlockBytes();
  Value zero = kb.i64Constant(0);
  Value last = kb.bitAnd(tile.padded, rows);
  Value pairs = kb.sub(tile.padded, last);
  auto run = [&](int64_t tiles, Value row, Value group) {
    Value at = kb.add(kb.mul(row, tile.allBlocks), kb.mul(firstBlock, rows));
    Value prepared = kb.ptrAdd(tile.prepared, kb.mul(at, rowBlock));
    SmallVector<Value> args = {
        prepared, kb.ptrAdd(prepared, kb.mul(tile.allBlocks, rows * rowBlock)),
        blocks,
        kb.ptrAdd(tile.scratch, kb.mul(group, plan.getPanelGroupBytes())),
        kb.ptrAdd(tile.accumulator,
                  kb.mul(kb.add(kb.mul(row, plan.getPanelGroups()), group),
                         4 * plan.getLanes()))};
    // The first to run fetches the next panel.
    auto plain = [&] { kb.call(tileRows[tiles - 1][0], args); };
    auto fetching = [&] {
      args.append({tile.data, ahead, byteOffset});
      kb.call(tileRows[tiles - 1][1], args);
    };
    kb.ifThenElse(kb.cmp(Predicate::ne, kb.bitOr(row, group), 0), plain,
                  fetching);
  };
  // The weights of two tiles of columns stay in the first-level cache.
  Value groups = kb.ceilShift(tile.columns, llvm::Log2_64(plan.getLanes()));
  kb.forLoop(zero, groups, 2, [&](Value group) {
    kb.forLoop(zero, pairs, 2 * rows, [&](Value row) { run(2, row, group); });
  });
  kb.ifThen(kb.cmp(Predicate::ne, last, 0), [&] { run(1, pairs, zero); });
}
