//===- ProductChecks.cpp - Products that check their data ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread has one entry at a time. The scales of groups are walked by one
// thread, and only where the buffer could be too small.
//
//===----------------------------------------------------------------------===//

#include "ProductChecks.h"

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::kernels;
using loops::DataChecks;
using Predicate = arith::CmpIPredicate;

/// A global scale of one element, which the host would check if it could read
/// it.
static bool isSingleNumber(Value value) {
  auto type = value ? dyn_cast<MemRefType>(value.getType()) : MemRefType();
  return type && type.hasStaticShape() && type.getNumElements() == 1;
}

void kernels::addDataChecks(Launch &launch, MatmulOp op, KernelParameters &p) {
  MLIRContext *context = op.getContext();
  SmallVector<DataChecks::Check> list;
  CheckedData data;
  if (op.getGroups())
    list.push_back(DataChecks::getGroups(op.getGrouping()));
  if (isSingleNumber(op.getGlobalScale())) {
    list.push_back(DataChecks::getPositive(context));
    data.hasGlobalScale = true;
  }
  ScaledOperand weights =
      getScaledOperands(op.getRhs(), op.getRhsScales(), op.getRhsTypesAttr())
          .front();
  if (weights.type && weights.type.isCoded()) {
    list.push_back(DataChecks::getFactor(context, weights.type.getFormat()));
    data.format = weights.type.getFormat();
  }
  if (list.empty())
    return;
  DataChecks checks(launch.host, op, list);
  data.checks = checks.inKernel(launch.addAddress(checks.getRecord()),
                                launch.addAddress(checks.getAddress()));
  if (data.format) {
    data.factors = launch.addPointer(weights.scales, Launch::Read);
    data.numFactors = launch.addNumber(launch.math.dim(weights.scales, 0));
  }
  p.checked = data;
}

namespace {
/// The code of block 0.
struct ChecksEmitter {
  const KernelContext &c;
  const CheckedData &data;
  MathBuilder mb;
  Value thread;
  int64_t threads;

  void build() {
    if (c.getOp().getGroups())
      checkGroups();
    if (data.factors)
      share(data.numFactors, [&](Value index) {
        data.checks.checkFactor(mb, load(data.factors, index), wide(index),
                                *data.format);
      });
    if (data.hasGlobalScale)
      mb.ifThen(mb.cmp(Predicate::eq, thread, 0), [&] {
        data.checks.checkPositive(mb, load(c.parameters.globalScale, c.i32(0)));
      });
  }

private:
  Value load(Value memref, Value at) {
    return memref::LoadOp::create(c.b, c.loc, memref, c.toIndex(at));
  }
  Value wide(Value i32Value) { return mb.signExtend(i32Value, mb.i64); }

  /// The thread's turns of `body` among `count`.
  void share(Value count, function_ref<void(Value)> body) {
    auto loop = scf::ForOp::create(c.b, c.loc, thread, count, c.i32(threads));
    OpBuilder::InsertionGuard guard(c.b);
    c.b.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }

  void checkGroups() {
    GroupingAttr grouping = c.getOp().getGrouping();
    Value entries = c.parameters.groups;
    if (hasStarts(grouping))
      entries = c.add(entries, c.i32(1));
    Value extent = wide(c.parameters.depth ? c.parameters.depth
                                           : c.parameters.extents.rows);
    share(entries, [&](Value index) {
      auto loadEntry = [&](Value at) {
        Value entry = load(c.parameters.offsets, mb.truncate(at, mb.i32));
        return entry.getType().isInteger(64) ? entry : wide(entry);
      };
      data.checks.checkGroup(
          mb, {mb, grouping, wide(index), wide(entries), extent, loadEntry});
    });
  }
};
} // namespace

void kernels::emitDataChecks(const KernelContext &c, int64_t threads) {
  const std::optional<CheckedData> &data = c.parameters.checked;
  if (!data)
    return;
  MathBuilder mb(c.b, c.loc);
  Value block = NVVM::BlockIdXOp::create(c.b, c.loc, c.b.getI32Type());
  mb.ifThen(mb.cmp(Predicate::eq, block, 0), [&] {
    Value thread =
        warpspec::ThreadIndexOp::create(c.b, c.loc, c.b.getI32Type());
    ChecksEmitter{c, *data, mb, thread, threads}.build();
  });
}
