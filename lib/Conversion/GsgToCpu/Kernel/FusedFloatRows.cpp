//===- FusedFloatRows.cpp - few rows in f32, without a panel ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What FloatRows.cpp computes, for one vector register of columns whose E2M1
// weights are decoded in registers: a shift and a lookup for as many products
// as there are rows. Chains of few rows are short of independent products, but
// blocks do not wait for each other.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg::cpu;

// Arguments as in IntegerRows.cpp; there is no second tile of rows.
LLVM::LLVMFuncOp KernelEmitter::emitFusedFloatRows(int64_t rows) {
  auto func = beginRows(rows, Source::Memory);
  auto args = func.getArguments();
  Value prepared = args[0], scales = args[2], accumulator = args[3];
  int64_t lanes = plan.getLanes(), blockSize = spec.blockSize;
  int64_t blocks = plan.getBlocksPerStep();
  const bool isPlain = spec.rows != PlainRows::None;
  const bool isExact = spec.rows != PlainRows::BF16;
  auto floats = VectorType::get(lanes, kb.f32);
  SmallVector<Value> init;
  for (int64_t row = 0; row < rows; ++row)
    init.push_back(kb.load(floats, accumulator, 4 * row * kPanelColumns));

  auto body = [&](Value step, ValueRange dwords, ValueRange carried) {
    SmallVector<Value> acc(carried);
    for (int64_t block = 0; block < blocks; ++block) {
      int64_t blockBytes = rows * plan.getRowBlockBytes();
      Value rowsPtr = kb.ptrAdd(prepared, kb.mul(step, blocks * blockBytes));
      // Scales follow the elements.
      auto loadRow = [&](int64_t row, int64_t element) {
        int64_t at = block * blockBytes + 4 * (element * rows + row);
        return kb.splat(kb.load(kb.f32, rowsPtr, at), lanes);
      };
      SmallVector<Value> sums(rows, kb.constantF32(floats, 0.0f));
      for (int64_t i = 0; i < blockSize; ++i) {
        // Rows without scales are added up in the order of vdpbf16ps.
        int64_t element = isPlain ? i ^ 1 : i;
        int64_t inStep = block * blockSize + element;
        Value weight =
            decodeElement(spec.weight, dwords[inStep / 8], inStep % 8);
        for (int64_t row = 0; row < rows; ++row)
          sums[row] = kb.fma(loadRow(row, element), weight, sums[row], isExact,
                             isa->hasFma());
      }
      Value scaleB =
          kb.load(floats, kb.ptrAdd(scales, kb.mul(step, 4 * blocks * lanes)),
                  4 * block * lanes);
      for (int64_t row = 0; row < rows; ++row)
        acc[row] =
            accumulate(sums[row], loadRow(row, blockSize), scaleB, acc[row]);
    }
    return acc;
  };
  SmallVector<Value> result = forPackedSteps(args, init, /*early=*/true, body);
  for (auto [row, value] : llvm::enumerate(result))
    kb.store(value, accumulator, 4 * static_cast<int64_t>(row) * kPanelColumns);
  endFunction();
  return func;
}
