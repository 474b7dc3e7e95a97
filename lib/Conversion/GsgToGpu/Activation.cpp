//===- Activation.cpp - glu and hadamard as kernels -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In f32, by the arithmetic that products have in their epilogues. A thread of
// hadamard has one transform of sixteen values.
//
//===----------------------------------------------------------------------===//

#include "RowKernel.h"

#include "nvfp4/Conversion/GsgArithmetic/Activation.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::togpu;

namespace {
struct LowerGlu : LowerToLaunch<GluOp> {
  using LowerToLaunch::LowerToLaunch;

  void lower(GluOp op, LoopBuilder &b) const override {
    Value input = getMatrix(b, op.getInput()), out = getMatrix(b, op.getOut());
    ActivationAttr activation = op.getActivation();
    auto type = cast<MemRefType>(out.getType());
    int64_t lanes = countLanes({input, out}, type.getDimSize(1));
    GateAttr gate = activation.isPaired() ? activation.getGate() : GateAttr();
    // Vectors do not cross runs.
    int64_t run = gate ? gate.getGranularity() : 0;
    while (run > 0 && run % lanes)
      lanes /= 2;
    launchRows(b, "glu", out, lanes, [&](Value row, Value column) {
      auto load = [&](Value at) {
        return b.toF32(loadLanes(b, input, row, at, lanes));
      };
      SmallVector<Value> z;
      if (gate) {
        auto [first, second] = getPair(b, gate, column, b.dim(out, 1));
        z = {load(first), load(second)};
        if (gate.getOrder() == GateOrder::UpFirst)
          std::swap(z[0], z[1]);
      } else {
        z = {load(column)};
      }
      ActivationParams params =
          emitActivationParams(b.builder, b.loc, activation);
      Value y = emitActivation(b.builder, b.loc, activation, params, z);
      storeLanes(b, b.fromF32(y, type.getElementType()), out, row, column);
    });
  }

private:
  /// The columns of the first and the second of a pair, of which `column` is
  /// the column of the result.
  static std::pair<Value, Value> getPair(LoopBuilder &b, GateAttr gate,
                                         Value column, Value columns) {
    int64_t run = gate.getGranularity();
    if (run == 0)
      return {column, b.add(column, columns)};
    Value length = b.index(run);
    // Each run before this one has another one beside it.
    Value before =
        b.mul(arith::DivUIOp::create(b.builder, b.loc, column, length), length);
    Value first = b.add(column, before);
    return {first, b.add(first, length)};
  }
};

struct LowerHadamard : LowerToLaunch<HadamardOp> {
  using LowerToLaunch::LowerToLaunch;
  static constexpr int64_t kValues = 16;

  void lower(HadamardOp op, LoopBuilder &b) const override {
    Value input = getMatrix(b, op.getInput()), out = getMatrix(b, op.getOut());
    auto type = cast<MemRefType>(out.getType());
    int64_t lanes = countLanes({input, out}, type.getDimSize(1));
    launchRows(b, "hadamard", out, kValues, [&](Value row, Value column) {
      auto at = [&](int64_t i) -> Value { return b.add(column, b.index(i)); };
      SmallVector<Value> x;
      for (int64_t i = 0; i < kValues; i += lanes) {
        Value part = b.toF32(loadLanes(b, input, row, at(i), lanes));
        for (int64_t j = 0; j < lanes; ++j)
          x.push_back(lanes == 1
                          ? part
                          : vector::ExtractOp::create(b.builder, b.loc, part, j)
                                .getResult());
      }
      transform(b, op, x);
      for (int64_t i = 0; i < kValues; i += lanes) {
        Value part = x[i];
        if (lanes > 1)
          part = vector::FromElementsOp::create(b.builder, b.loc,
                                                getLaneType(b.f32, lanes),
                                                ArrayRef(x).slice(i, lanes));
        storeLanes(b, b.fromF32(part, type.getElementType()), out, row, at(i));
      }
    });
  }

private:
  static void transform(LoopBuilder &b, HadamardOp op,
                        MutableArrayRef<Value> x) {
    auto mask = static_cast<uint32_t>(op.getSignMask());
    for (int64_t i = 0; i < kValues; ++i)
      if (mask >> i & 1)
        x[i] = arith::NegFOp::create(b.builder, b.loc, x[i]);
    for (int64_t distance = 1; distance < kValues; distance *= 2)
      for (int64_t i = 0; i < kValues; ++i) {
        if (i & distance)
          continue;
        Value low = x[i], high = x[i + distance];
        x[i] = b.addF(low, high);
        x[i + distance] = b.subF(low, high);
      }
    if (op.getNormalized())
      for (Value &each : x)
        each = b.mulF(each, 0.25);
  }
};
} // namespace

void togpu::populateActivationPatterns(RewritePatternSet &patterns) {
  patterns.add<LowerGlu, LowerHadamard>(patterns.getContext());
}
