//===- SortManyTokens.cpp - sort_tokens of many entries ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stable counting sort in three launches, by pieces of the entries: count
// those of each expert in each piece; let each count become the row of the
// first such entry; place the entries of each piece. The first launch also
// declares all rows empty.
//
//===----------------------------------------------------------------------===//

#include "RowKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::togpu;
using Predicate = arith::CmpIPredicate;

namespace {
/// Entries of a piece, and threads of its block.
constexpr int64_t kPiece = 256;
/// Threads of the block that has the counts.
constexpr int64_t kScanThreads = 1024;

struct ManyTokens {
  LoopBuilder &b;
  SortTokensOp op;
  Value entries, rowOfSlot;
  /// Of entries, pieces and experts.
  Value numEntries, numPieces, numExperts;
  int64_t knownExperts;
  /// [piece, expert], i32, in memory of the device.
  Value table;
  const loops::DataChecks &checks;

  void launch() {
    launchBlocks(b, "sort_tokens_count", numPieces, kPiece, {knownExperts},
                 [&](const BlockCode &code) { count(code); });
    launchBlocks(b, "sort_tokens_scan", b.index(1), kScanThreads,
                 {knownExperts}, [&](const BlockCode &code) { scan(code); });
    launchBlocks(b, "sort_tokens_place", numPieces, kPiece, {kPiece},
                 [&](const BlockCode &code) { place(code); });
  }

private:
  Value i32(int32_t value) { return b.constant(b.i32, value); }
  void barrier() { gpu::BarrierOp::create(b.builder, b.loc); }
  Value entryOf(const BlockCode &code) {
    return b.add(b.mul(code.block, b.index(kPiece)), code.thread);
  }
  Value exists(Value at) { return b.cmp(Predicate::ult, at, numEntries); }
  Value isExpert(Value entry) {
    return b.cmp(Predicate::ult, entry, numExperts);
  }

  void count(const BlockCode &code) {
    Value counts = code.shared[0], threads = b.index(kPiece);
    forRange(b, code.thread, numExperts, threads,
             [&](Value e) { b.store(i32(0), counts, {e}); });
    barrier();
    Value at = entryOf(code);
    b.ifThen(exists(at), [&] {
      Value entry = b.toIndex(b.load(entries, {at}));
      b.ifThen(isExpert(entry), [&] {
        memref::AtomicRMWOp::create(b.builder, b.loc,
                                    arith::AtomicRMWKind::addi, i32(1), counts,
                                    ValueRange{entry});
      });
    });
    barrier();
    forRange(b, code.thread, numExperts, threads, [&](Value e) {
      b.store(b.load(counts, {e}), table, {code.block, e});
    });
    Value rows = op.getTokenOfRowOut();
    Value numRows = b.dim(rows, 0);
    forRange(b, at, numRows, b.mul(numPieces, threads),
             [&](Value r) { b.store(i32(-1), rows, {r}); });
  }

  void scan(const BlockCode &code) {
    // Starts are multiples of `align`, so that groups take padded sizes.
    Value sizes = code.shared[0], threads = b.index(kScanThreads);
    forRange(b, code.thread, numExperts, threads, [&](Value e) {
      Value total =
          b.fold(numPieces, {i32(0)}, [&](Value piece, ValueRange sum) {
            return SmallVector<Value>{b.add(sum[0], b.load(table, {piece, e}))};
          })[0];
      b.store(total, sizes, {e});
    });
    barrier();
    forRange(b, code.thread, numExperts, threads, [&](Value e) {
      Value start = b.fold(e, {i32(0)}, [&](Value before, ValueRange sum) {
        return SmallVector<Value>{
            b.add(sum[0], padded(b.load(sizes, {before})))};
      })[0];
      b.store(b.add(start, b.load(sizes, {e})), op.getEndsOut(), {e});
      b.fold(numPieces, {start}, [&](Value piece, ValueRange row) {
        Value own = b.load(table, {piece, e});
        b.store(row[0], table, {piece, e});
        return SmallVector<Value>{b.add(row[0], own)};
      });
    });
  }

  Value padded(Value size) {
    auto align = static_cast<int32_t>(op.getAlign());
    if (align == 1)
      return size;
    return b.mul(arith::CeilDivUIOp::create(b.builder, b.loc, size, i32(align)),
                 i32(align));
  }

  void place(const BlockCode &code) {
    Value piece = code.shared[0], at = entryOf(code);
    Value entry = b.branch(
        exists(at), [&] { return b.load(entries, {at}); },
        [&] { return i32(-1); });
    b.store(entry, piece, {code.thread});
    barrier();
    b.ifThen(exists(at), [&] {
      b.ifThenElse(
          isExpert(b.toIndex(entry)), [&] { placeEntry(code, at, entry); },
          [&] {
            b.store(i32(-1), rowOfSlot, {at});
            if (checks) {
              Value stray = b.toIndex(entry);
              reportStray(b, op, at, stray, b.cmp(Predicate::ne, entry, -1),
                          checks);
            }
          });
    });
  }

  void placeEntry(const BlockCode &code, Value at, Value entry) {
    Value rank = b.fold(code.thread, {i32(0)}, [&](Value t, ValueRange sum) {
      Value isSame = b.cmp(Predicate::eq, b.load(code.shared[0], {t}), entry);
      return SmallVector<Value>{b.add(
          sum[0], arith::ExtUIOp::create(b.builder, b.loc, b.i32, isSame))};
    })[0];
    Value row = b.add(b.load(table, {code.block, b.toIndex(entry)}), rank);
    Value tokenOfRow = op.getTokenOfRowOut();
    Value place = b.toIndex(row);
    Value isRow = b.cmp(Predicate::ult, place, b.dim(tokenOfRow, 0));
    b.store(b.select(isRow, row, i32(-1)), rowOfSlot, {at});
    b.ifThen(isRow, [&] {
      Value numSlots = b.dim(op.getExperts(), 1);
      Value token = arith::DivUIOp::create(b.builder, b.loc, at, numSlots);
      Value stored = b.toI32(token);
      b.store(stored, tokenOfRow, {b.toIndex(row)});
    });
  }
};
} // namespace

void togpu::launchManyTokens(LoopBuilder &b, SortTokensOp op, Value entries,
                             Value rowOfSlot, const loops::DataChecks &checks) {
  Value numEntries = b.dim(entries, 0);
  Value pieces =
      arith::CeilDivUIOp::create(b.builder, b.loc, numEntries, b.index(kPiece));
  int64_t experts = cast<MemRefType>(op.getEndsOut().getType()).getDimSize(0);
  auto type =
      getDenseMemory(MemRefType::get({ShapedType::kDynamic, experts}, b.i32),
                     /*isOnDevice=*/true);
  Type none;
  ValueRange no;
  auto table = gpu::AllocOp::create(b.builder, b.loc, type, none, no,
                                    ValueRange{pieces}, no);
  ManyTokens{b,
             op,
             entries,
             rowOfSlot,
             numEntries,
             pieces,
             b.index(experts),
             experts,
             table.getMemref(),
             checks}
      .launch();
  gpu::DeallocOp::create(b.builder, b.loc, none, no, table.getMemref());
}
