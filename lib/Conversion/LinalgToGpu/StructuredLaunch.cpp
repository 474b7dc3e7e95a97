//===- StructuredLaunch.cpp - A structured operation as a launch *- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A point of the parallel loops is numbered with the last loop fastest, so that
// neighbouring threads store neighbours. Results stay in registers while a
// reduction runs.
//
//===----------------------------------------------------------------------===//

#include "StructuredLaunch.h"

#include "nvfp4/Conversion/GsgToLoops/DeviceLoops.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg::loops;
using arith::AtomicRMWKind;

static constexpr int64_t kWarp = 32;

namespace {
class StructuredLaunch {
public:
  StructuredLaunch(LoopBuilder &b, linalg::LinalgOp op)
      : b(b), op(op), position(op.getNumLoops()) {
    for (const Range &range : op.createLoopRanges(b.builder, b.loc))
      sizes.push_back(
          getValueOrCreateConstantIndexOp(b.builder, b.loc, range.size));
    op.getParallelDims(parallel);
    op.getReductionDims(reduction);
  }

  void emit() {
    Value points = multiply(parallel);
    SmallVector<AtomicRMWKind> kinds = findReductions();
    if (kinds.empty())
      return b.parallel(points, [&](Value point) {
        locate(parallel, point);
        runPoint();
      });
    Value lanes = b.index(kWarp);
    b.parallel(b.mul(points, lanes), [&](Value thread) {
      locate(parallel, arith::DivUIOp::create(b.builder, b.loc, thread, lanes));
      runWarp(kinds, arith::RemUIOp::create(b.builder, b.loc, thread, lanes));
    });
  }

private:
  Value multiply(ArrayRef<unsigned> dims) {
    Value product = b.index(1);
    for (unsigned d : dims)
      product = b.mul(product, sizes[d]);
    return product;
  }

  /// Sets the position in `dims` to the point of that number.
  void locate(ArrayRef<unsigned> dims, Value number) {
    for (unsigned d : llvm::reverse(dims)) {
      if (d == dims.front()) {
        position[d] = number;
        break;
      }
      position[d] = arith::RemUIOp::create(b.builder, b.loc, number, sizes[d]);
      number = arith::DivUIOp::create(b.builder, b.loc, number, sizes[d]);
    }
  }

  SmallVector<Value> indicesOf(OpOperand &operand) {
    SmallVector<Value> indices;
    for (AffineExpr result : op.getMatchingIndexingMap(&operand).getResults())
      indices.push_back(affine::expandAffineExpr(b.builder, b.loc, result,
                                                 position, ValueRange()));
    return indices;
  }

  Value load(OpOperand &operand) {
    if (!isa<MemRefType>(operand.get().getType()))
      return operand.get();
    return b.load(operand.get(), indicesOf(operand));
  }

  SmallVector<Value> loadResults() {
    SmallVector<Value> values;
    for (OpOperand &init : op.getDpsInitsMutable())
      values.push_back(load(init));
    return values;
  }

  void storeResults(ValueRange values) {
    for (auto [init, value] : llvm::zip(op.getDpsInitsMutable(), values))
      b.store(value, init.get(), indicesOf(init));
  }

  /// The body at the position; `results` are what its results were before.
  SmallVector<Value> runBody(ValueRange results) {
    Block &body = *op.getBlock();
    IRMapping mapping;
    auto arguments = body.getArguments();
    for (OpOperand *input : op.getDpsInputOperands())
      mapping.map(arguments[input->getOperandNumber()], load(*input));
    mapping.map(arguments.take_back(results.size()), results);
    for (Operation &inner : body.without_terminator()) {
      if (auto index = dyn_cast<linalg::IndexOp>(inner))
        mapping.map(index.getResult(), position[index.getDim()]);
      else
        b.builder.clone(inner, mapping);
    }
    return llvm::map_to_vector(
        body.getTerminator()->getOperands(),
        [&](Value v) { return mapping.lookupOrDefault(v); });
  }

  /// The iterations from `first` on, each of which is `step` further.
  SmallVector<Value> reduce(ValueRange init, Value first, Value step) {
    auto loop = scf::ForOp::create(
        b.builder, b.loc, first, multiply(reduction), step, init,
        [&](OpBuilder &, Location, Value iteration, ValueRange carried) {
          locate(reduction, iteration);
          scf::YieldOp::create(b.builder, b.loc, runBody(carried));
        });
    return loop.getResults();
  }

  void runPoint() {
    SmallVector<Value> results = loadResults();
    storeResults(reduction.empty() ? runBody(results)
                                   : reduce(results, b.index(0), b.index(1)));
  }

  void runWarp(ArrayRef<AtomicRMWKind> kinds, Value lane) {
    SmallVector<Value> parts;
    for (auto [kind, init] : llvm::zip(kinds, op.getDpsInits()))
      parts.push_back(arith::getIdentityValue(kind, getElementTypeOrSelf(init),
                                              b.builder, b.loc));
    parts = reduce(parts, lane, b.index(kWarp));
    auto combine = [&](size_t i, Value x, Value y) {
      return arith::getReductionOp(kinds[i], b.builder, b.loc, x, y);
    };
    for (int32_t distance = kWarp / 2; distance > 0; distance /= 2)
      for (auto [i, part] : llvm::enumerate(parts)) {
        auto other = gpu::ShuffleOp::create(b.builder, b.loc, part, distance,
                                            kWarp, gpu::ShuffleMode::XOR);
        part = combine(i, part, other.getShuffleResult());
      }
    b.ifThen(b.cmp(arith::CmpIPredicate::eq, lane, b.index(0)), [&] {
      SmallVector<Value> results = loadResults();
      for (auto [i, result] : llvm::enumerate(results))
        result = combine(i, result, parts[i]);
      storeResults(results);
    });
  }

  /// The operation by which each result is reduced; none if there is no
  /// reduction, or one that threads cannot share.
  SmallVector<AtomicRMWKind> findReductions() {
    SmallVector<AtomicRMWKind> kinds;
    for (auto [i, init] : llvm::enumerate(op.getDpsInits())) {
      Type element = getElementTypeOrSelf(init);
      SmallVector<Operation *> combiners;
      if (reduction.empty() || !(element.isF32() || element.isInteger(32)) ||
          !matchReduction(op.getRegionOutputArgs(), i, combiners) ||
          combiners.size() != 1)
        return {};
      std::optional<AtomicRMWKind> kind = getKind(combiners.front());
      if (!kind)
        return {};
      kinds.push_back(*kind);
    }
    return kinds;
  }

  static std::optional<AtomicRMWKind> getKind(Operation *combiner) {
    return llvm::TypeSwitch<Operation *, std::optional<AtomicRMWKind>>(combiner)
        .Case<arith::AddFOp>([](auto) { return AtomicRMWKind::addf; })
        .Case<arith::AddIOp>([](auto) { return AtomicRMWKind::addi; })
        .Case<arith::MulFOp>([](auto) { return AtomicRMWKind::mulf; })
        .Case<arith::MaximumFOp>([](auto) { return AtomicRMWKind::maximumf; })
        .Case<arith::MinimumFOp>([](auto) { return AtomicRMWKind::minimumf; })
        .Case<arith::MaxSIOp>([](auto) { return AtomicRMWKind::maxs; })
        .Case<arith::MinSIOp>([](auto) { return AtomicRMWKind::mins; })
        .Default([](auto) { return std::nullopt; });
  }

  LoopBuilder &b;
  linalg::LinalgOp op;
  /// Extents of all loops, as index.
  SmallVector<Value> sizes;
  SmallVector<unsigned> parallel, reduction;
  /// The current iteration of each loop.
  SmallVector<Value> position;
};
} // namespace

void nvfp4::launchStructured(OpBuilder &builder, linalg::LinalgOp op) {
  DeviceLoopBuilder b(builder, op);
  StructuredLaunch(b, op).emit();
}
