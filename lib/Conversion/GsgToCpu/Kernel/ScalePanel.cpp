//===- ScalePanel.cpp - scales of one set of columns ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collects the scale words of a set of columns for one chunk of K and decodes
// them to f32, or for tiles as TileWeights.cpp wants them, [block][column].
// Blocks that do not exist are never read and decode from zero bytes, which is
// finite in both scale formats.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

using namespace mlir;
using namespace nvfp4::gsg::cpu;
using Predicate = arith::CmpIPredicate;

// scales(base, offsets, nextOffsets, wordStride, firstBlock, blocks, words,
//        panel): firstBlock is a multiple of 4.
LLVM::LLVMFuncOp KernelEmitter::emitScalePanel(StringRef suffix,
                                               int64_t columns) {
  auto func = beginFunction(
      suffix, {kb.ptr, kb.ptr, kb.ptr, kb.i64, kb.i64, kb.i64, kb.ptr, kb.ptr});
  auto args = func.getArguments();
  Value base = args[0], offsets = args[1], nextOffsets = args[2],
        wordStride = args[3], firstBlock = args[4], blocks = args[5],
        words = args[6], panel = args[7];
  int64_t lanes = plan.getLanes(), groups = columns / lanes;
  Value zero = kb.i64Constant(0), one = kb.i64Constant(1);
  Value firstByte = kb.mul(kb.shr(firstBlock, 2), wordStride);
  Value fullWords = kb.shr(blocks, 2);
  Value end = kb.i64Constant(columns);

  // Linear rows keep the words of a chunk on one or two lines; in the tiled
  // layouts every word has its own.
  Value prefetched = kb.select(kb.cmp(Predicate::eq, wordStride, 4),
                               kb.minS(fullWords, one), fullWords);
  kb.forLoop(zero, prefetched, 1, [&](Value word) {
    Value next = kb.ptrAdd(base, kb.add(firstByte, kb.mul(word, wordStride)));
    kb.forLoop(zero, end, 1, [&](Value column) {
      kb.prefetch(kb.ptrAdd(next, kb.loadOffset(nextOffsets, column)));
    });
  });

  auto decodeWord = [&](Value raw, Value word, int64_t group) {
    SmallVector<Value> decoded =
        plan.usesTiles() ? decodeTileScales(raw)
                         : isa->decodeScaleWords(kb, spec.scale, raw);
    if (decoded.empty())
      for (int64_t block = 0; block < 4; ++block)
        decoded.push_back(decodeScale(raw, block, 0));
    Value target = kb.ptrAdd(panel, kb.mul(word, 16 * columns));
    for (auto [block, value] : llvm::enumerate(decoded))
      kb.store(value, target,
               4 * (columns * static_cast<int64_t>(block) + lanes * group));
  };

  // Four linear words are as contiguous as a step of packed weights.
  Value quads = kb.select(kb.cmp(Predicate::eq, wordStride, 4),
                          kb.shr(fullWords, 2), zero);
  kb.forLoop(zero, quads, 1, [&](Value quad) {
    Value source = kb.ptrAdd(base, kb.add(firstByte, kb.shl(quad, 4)));
    for (int64_t group = 0; group < groups; ++group) {
      auto columnPtr = [&](int64_t column) {
        return kb.ptrAdd(
            source, kb.load(kb.i64, offsets, 8 * (group * lanes + column)));
      };
      for (auto [index, raw] : llvm::enumerate(transposeStep(columnPtr, 0)))
        decodeWord(raw, kb.add(kb.shl(quad, 2), static_cast<int64_t>(index)),
                   group);
    }
  });

  Value rest = kb.shl(quads, 2);
  auto wordAddress = [&](Value word, Value column) {
    return kb.ptrAdd(words,
                     kb.add(kb.mul(word, 4 * columns), kb.shl(column, 2)));
  };
  kb.forLoop(rest, fullWords, 1, [&](Value word) {
    Value source = kb.ptrAdd(base, kb.add(firstByte, kb.mul(word, wordStride)));
    kb.forLoop(zero, end, 1, [&](Value column) {
      Value bytes =
          kb.load(kb.i32, kb.ptrAdd(source, kb.loadOffset(offsets, column)));
      kb.store(bytes, wordAddress(word, column));
    });
  });
  Value tail = kb.bitAnd(blocks, 3);
  kb.ifThen(kb.cmp(Predicate::ne, tail, 0), [&] {
    Value source =
        kb.ptrAdd(base, kb.add(firstByte, kb.mul(fullWords, wordStride)));
    kb.forLoop(zero, end, 1, [&](Value column) {
      Value from = kb.ptrAdd(source, kb.loadOffset(offsets, column));
      Value to = wordAddress(fullWords, column);
      kb.store(kb.constant(kb.i32, 0), to);
      kb.forLoop(zero, tail, 1, [&](Value block) {
        kb.store(kb.load(kb.i8, kb.ptrAdd(from, block)), kb.ptrAdd(to, block));
      });
    });
  });
  auto vector = VectorType::get(lanes, kb.i32);
  kb.forLoop(rest, kb.ceilShift(blocks, 2), 1, [&](Value word) {
    Value source = wordAddress(word, zero);
    for (int64_t group = 0; group < groups; ++group)
      decodeWord(kb.load(vector, source, 4 * lanes * group), word, group);
  });
  endFunction();
  return func;
}
