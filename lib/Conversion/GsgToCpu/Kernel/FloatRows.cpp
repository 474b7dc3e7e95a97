//===- FloatRows.cpp - f32 micro-kernel -------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile of rows x columns for elements that no integer dot product holds. The
// block sums of the tile live in registers; the accumulators stay in memory and
// are touched once per block. Scaled weights are added to them directly.
//
// Products of two 8-bit (or smaller) floats are exact in f32, and so are those
// of f16; those of bf16 may leave its range. Without an fma instruction, a
// block whose sums are not finite is computed once more, slowly, in this case.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::cpu;

/// Whether a lane is infinite or NaN.
static Value anyNotFinite(KernelBuilder &kb, ArrayRef<Value> vectors) {
  Value zeros;
  for (Value value : vectors) {
    Value zero = arith::SubFOp::create(kb.builder, kb.loc, value, value);
    zeros = zeros ? kb.addF(zeros, zero) : zero;
  }
  Value isNan = arith::CmpFOp::create(kb.builder, kb.loc,
                                      arith::CmpFPredicate::UNO, zeros, zeros);
  return vector::ReductionOp::create(kb.builder, kb.loc,
                                     vector::CombiningKind::OR, isNan);
}

// rows(prepared, steps, scales, accumulator, panel)
LLVM::LLVMFuncOp KernelEmitter::emitFloatRows(int64_t rows) {
  auto func = beginFunction("_panel_rows_" + std::to_string(rows),
                            {kb.ptr, kb.i64, kb.ptr, kb.ptr, kb.ptr});
  auto args = func.getArguments();
  Value prepared = args[0], steps = args[1], scales = args[2],
        accumulator = args[3], panel = args[4];
  int64_t lanes = plan.getLanes(), groups = plan.getGroups();
  int64_t columns = plan.getSetColumns(), blockSize = spec.blockSize;
  bool isPlain = spec.rows != PlainRows::None;
  auto floats = VectorType::get(lanes, kb.f32);
  Value zero = kb.i64Constant(0);
  Value blocks = kb.mul(steps, plan.getBlocksPerStep());
  kb.forLoop(zero, blocks, 1, [&](Value block) {
    Value rowsPtr =
        kb.ptrAdd(prepared, kb.mul(block, rows * plan.getRowBlockBytes()));
    Value weights = kb.ptrAdd(panel, kb.mul(block, 4 * blockSize * columns));
    SmallVector<Value> init(rows * groups, kb.constantF32(floats, 0.0f));
    auto accOffset = [&](int64_t row, int64_t group) {
      return 4 * (row * kPanelColumns + group * lanes);
    };
    if (spec.scaleWeights)
      for (int64_t i = 0; i < rows * groups; ++i)
        init[i] =
            kb.load(floats, accumulator, accOffset(i / groups, i % groups));
    constexpr int64_t unroll = 2;
    bool isExact = spec.rows != PlainRows::BF16;
    auto body = [&](Value element, ValueRange carried) {
      SmallVector<Value> sums(carried);
      Value a = kb.ptrAdd(rowsPtr, kb.mul(element, 4 * rows));
      Value b = kb.ptrAdd(weights, kb.mul(element, 4 * columns));
      for (int64_t i = 0; i < unroll; ++i) {
        int64_t e = isPlain ? unroll - 1 - i : i;
        SmallVector<Value> lanesB;
        for (int64_t group = 0; group < groups; ++group)
          lanesB.push_back(
              kb.load(floats, b, 4 * (e * columns + group * lanes)));
        for (int64_t row = 0; row < rows; ++row) {
          Value lanesA =
              kb.splat(kb.load(kb.f32, a, 4 * (e * rows + row)), lanes);
          for (int64_t group = 0; group < groups; ++group)
            sums[row * groups + group] =
                kb.fma(lanesA, lanesB[group], sums[row * groups + group],
                       isExact, isa->hasFma());
        }
      }
      return sums;
    };
    auto chain = [&] {
      return kb.forLoop(zero, kb.i64Constant(blockSize), unroll, init, body);
    };
    SmallVector<Value> sums;
    if (isExact || isa->hasFma()) {
      sums = chain();
    } else {
      isExact = true;
      sums = chain();
      isExact = false;
      auto checked = scf::IfOp::create(
          builder, kb.loc, anyNotFinite(kb, sums),
          [&](OpBuilder &, Location) {
            scf::YieldOp::create(builder, kb.loc, chain());
          },
          [&](OpBuilder &, Location) {
            scf::YieldOp::create(builder, kb.loc, sums);
          });
      sums.assign(checked.result_begin(), checked.result_end());
    }
    if (spec.scaleWeights) {
      for (int64_t i = 0; i < rows * groups; ++i)
        kb.store(sums[i], accumulator, accOffset(i / groups, i % groups));
      return;
    }
    Value scalesPtr = kb.ptrAdd(scales, kb.mul(block, 4 * columns));
    for (int64_t row = 0; row < rows; ++row) {
      Value scaleA = kb.splat(
          kb.load(kb.f32, rowsPtr, 4 * (rows * blockSize + row)), lanes);
      for (int64_t group = 0; group < groups; ++group) {
        Value scaleB = kb.load(floats, scalesPtr, 4 * group * lanes);
        int64_t at = accOffset(row, group);
        Value acc = kb.load(floats, accumulator, at);
        kb.store(accumulate(sums[row * groups + group], scaleA, scaleB, acc),
                 accumulator, at);
      }
    }
  });
  endFunction();
  return func;
}
