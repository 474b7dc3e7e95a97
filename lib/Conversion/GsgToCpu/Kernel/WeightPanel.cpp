//===- WeightPanel.cpp - decoded weights of one set of columns --*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Transposes and decodes full steps of K of a set of columns into a buffer that
// fits the first-level cache.
//   integers: [block][group][vectors of 4 bytes per column], two vectors from
//             the low and the high nibbles of each dword
//   pairs:    [step][pair][group][column], two bf16 each
//   f32:      [step][element][group][column]
//   tiles:    [group][step][pair][column], two bf16 each, scaled
// Scaled weights are multiplied by scales [block][column] from ScalePanel.cpp.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::cpu;

SmallVector<Value>
KernelEmitter::transposeStep(function_ref<Value(int64_t)> columnPtr,
                             int64_t bytesOffset) {
  int64_t lanes = plan.getLanes();
  auto quad = VectorType::get(4, kb.i32);
  // Row i holds columns i, 4 + i, 8 + i, ... in its 128-bit parts.
  SmallVector<Value> rows;
  for (int64_t i = 0; i < 4; ++i) {
    SmallVector<Value> parts;
    for (int64_t column = i; column < lanes; column += 4)
      parts.push_back(kb.load(quad, columnPtr(column), bytesOffset));
    while (parts.size() > 1) {
      SmallVector<Value> wider;
      for (size_t p = 0; p < parts.size(); p += 2) {
        int64_t width = cast<VectorType>(parts[p].getType()).getNumElements();
        wider.push_back(
            kb.shuffle(parts[p], parts[p + 1],
                       llvm::to_vector(llvm::seq<int64_t>(0, 2 * width))));
      }
      parts = std::move(wider);
    }
    rows.push_back(parts[0]);
  }
  // A 4x4 transpose of dwords inside each 128-bit part, as two rounds of
  // interleaves.
  auto inParts = [&](ArrayRef<int64_t> pattern) {
    SmallVector<int64_t> mask;
    for (int64_t part = 0; part < lanes; part += 4)
      for (int64_t index : pattern)
        mask.push_back(part + (index < 4 ? index : lanes + index - 4));
    return mask;
  };
  SmallVector<int64_t> low = inParts({0, 4, 1, 5}),
                       high = inParts({2, 6, 3, 7});
  SmallVector<int64_t> lowPair = inParts({0, 1, 4, 5}),
                       highPair = inParts({2, 3, 6, 7});
  Value low01 = kb.shuffle(rows[0], rows[1], low);
  Value high01 = kb.shuffle(rows[0], rows[1], high);
  Value low23 = kb.shuffle(rows[2], rows[3], low);
  Value high23 = kb.shuffle(rows[2], rows[3], high);
  return {kb.shuffle(low01, low23, lowPair), kb.shuffle(low01, low23, highPair),
          kb.shuffle(high01, high23, lowPair),
          kb.shuffle(high01, high23, highPair)};
}

void KernelEmitter::prefetchStep(Value base, Value offsets, Value byteOffset,
                                 Value step, int64_t group, int64_t stepBytes,
                                 KernelBuilder::Level level) {
  // A line covers 64 / stepBytes steps of a column; each of them fetches its
  // share of the columns.
  int64_t lanes = plan.getLanes();
  int64_t stepsPerLine = 64 / stepBytes;
  int64_t share = std::max<int64_t>(lanes / stepsPerLine, 1);
  Value phase = kb.bitAnd(step, stepsPerLine - 1);
  Value first = kb.ptrAdd(offsets, kb.mul(phase, 8 * share));
  Value line = kb.add(byteOffset, kb.mul(kb.sub(step, phase), stepBytes));
  Value source = kb.ptrAdd(base, line);
  for (int64_t i = 0; i < share; ++i)
    kb.prefetch(
        kb.ptrAdd(source, kb.load(kb.i64, first, 8 * (group * lanes + i))),
        level);
}

SmallVector<Value> KernelEmitter::loadStep(ValueRange args, Value step) {
  Value base = args[4], offsets = args[5], byteOffset = args[6];
  int64_t stepBytes = KernelPlan::getStepBytes(spec.weight);
  Value packed = kb.ptrAdd(base, kb.add(byteOffset, kb.mul(step, stepBytes)));
  prefetchStep(base, args[7], args[8], step, 0, stepBytes,
               KernelBuilder::Level::First);
  auto columnPtr = [&](int64_t column) {
    return kb.ptrAdd(packed, kb.load(kb.i64, offsets, 8 * column));
  };
  return transposeStep(columnPtr, 0);
}

SmallVector<Value> KernelEmitter::forPackedSteps(
    ValueRange args, ArrayRef<Value> init, bool early,
    function_ref<SmallVector<Value>(Value, ValueRange, ValueRange)> body) {
  Value steps = args[1], zero = kb.i64Constant(0);
  // Without AVX-512 there are no registers for it.
  if (!early || spec.isa < Isa::AVX512VNNI)
    return kb.forLoop(zero, steps, 1, init,
                      [&](Value step, ValueRange carried) {
                        return body(step, loadStep(args, step), carried);
                      });
  Value last = kb.add(steps, -1);
  SmallVector<Value> all(init);
  llvm::append_range(all, loadStep(args, zero));
  SmallVector<Value> result =
      kb.forLoop(zero, steps, 1, all, [&](Value step, ValueRange carried) {
        SmallVector<Value> next =
            loadStep(args, kb.minS(kb.add(step, 1), last));
        SmallVector<Value> values = body(step, carried.drop_front(init.size()),
                                         carried.take_front(init.size()));
        values.append(next);
        return values;
      });
  result.truncate(init.size());
  return result;
}

/// Pairs of bf16 times f32 scales; the products are exact in bf16.
static Value scalePairs(KernelBuilder &kb, Value pairs, Value scales) {
  auto multiply = [&](Value half) {
    return kb.bitcast(kb.mulF(half, scales), kb.i32);
  };
  Value upper = multiply(kb.upperBf16(pairs));
  Value lower = multiply(kb.lowerBf16(pairs));
  return kb.bitOr(upper, kb.shr(lower, 16));
}

// weights(base, offsets, nextOffsets, byteOffset, steps, panel, scales)
LLVM::LLVMFuncOp KernelEmitter::emitWeightPanel() {
  auto func = beginFunction("_weight_panel", {kb.ptr, kb.ptr, kb.ptr, kb.i64,
                                              kb.i64, kb.ptr, kb.ptr});
  auto args = func.getArguments();
  Value base = args[0], offsets = args[1], nextOffsets = args[2],
        byteOffset = args[3], steps = args[4], panel = args[5],
        scales = args[6];
  int64_t lanes = plan.getLanes(), columns = plan.getSetColumns();
  int64_t stepBytes = KernelPlan::getStepBytes(spec.weight);
  int64_t panelStep = plan.getPanelStepBytes();
  kb.forLoop(kb.i64Constant(0), steps, 1, [&](Value step) {
    Value source = kb.ptrAdd(base, kb.add(byteOffset, kb.mul(step, stepBytes)));
    Value target = kb.ptrAdd(panel, kb.mul(step, panelStep));
    Value scalesPtr =
        kb.ptrAdd(scales, kb.mul(step, plan.getBlocksPerStep() * 4 * columns));
    for (int64_t group = 0; group < plan.getGroups(); ++group) {
      auto columnPtr = [&](int64_t column) {
        return kb.ptrAdd(
            source, kb.load(kb.i64, offsets, 8 * (group * lanes + column)));
      };
      // Of an element of the step.
      auto loadScales = [&](int64_t element) {
        return kb.load(
            VectorType::get(lanes, kb.f32), scalesPtr,
            4 * (element / spec.blockSize * columns + group * lanes));
      };
      // Other panels are multiplied for long enough to fetch meanwhile.
      if (plan.usesFloats())
        prefetchStep(base, nextOffsets, byteOffset, step, group, stepBytes,
                     KernelBuilder::Level::Second);
      for (int64_t half = 0; half < stepBytes; half += 16) {
        SmallVector<Value> dwords = transposeStep(columnPtr, half);
        if (plan.usesTiles()) {
          int64_t perBlock = spec.blockSize / 8, at = 0;
          for (int64_t block = 0; block < plan.getBlocksPerStep(); ++block) {
            Value scales = kb.load(VectorType::get(lanes, kb.i32), scalesPtr,
                                   4 * (block * columns + group * lanes));
            for (Value pairs : decodeTileWeights(
                     ArrayRef(dwords).slice(block * perBlock, perBlock),
                     scales)) {
              kb.store(pairs, target, group * plan.getPanelGroupBytes() + at);
              at += 4 * lanes;
            }
          }
          continue;
        }
        for (auto [d, dword] : llvm::enumerate(dwords)) {
          int64_t index = static_cast<int64_t>(d);
          if (plan.usesIntegers()) {
            auto [low, high] = isa->decodeNibbles(kb, dword);
            int64_t perBlock = spec.blockSize / 4;
            int64_t block = 2 * index / perBlock;
            int64_t at = ((block * plan.getGroups() + group) * perBlock +
                          2 * index % perBlock) *
                         4 * lanes;
            kb.store(low, target, at);
            kb.store(high, target, at + 4 * lanes);
            continue;
          }
          if (plan.usesPairs()) {
            Value laneScales;
            if (spec.scaleWeights)
              laneScales = loadScales(8 * index);
            for (auto [i, pair] : llvm::enumerate(isa->decodePairs(kb, dword)))
              kb.store(laneScales ? scalePairs(kb, pair, laneScales) : pair,
                       target,
                       4 * ((4 * index + static_cast<int64_t>(i)) * columns +
                            group * lanes));
            continue;
          }
          int64_t perDword = 4 * kStep / stepBytes;
          int64_t first = (half / 4 + index) * perDword;
          for (int64_t e = 0; e < perDword; ++e) {
            Value value = decodeElement(spec.weight, dword, e);
            if (spec.scaleWeights)
              value = kb.mulF(value, loadScales(first + e));
            kb.store(value, target,
                     4 * ((first + e) * columns + group * lanes));
          }
        }
      }
    }
  });
  endFunction();
  return func;
}
