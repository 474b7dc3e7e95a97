//===- ProductChecks.cpp - Products that check their data -------*- C++ -*-===//
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

#include "nvfp4/Dialect/GroupedScaledGemm/IR/FormatEnums.h"
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

namespace {
/// An operand whose scales start by group, and how many rows or blocks of
/// scales it has.
struct GroupedScales {
  CheckedScales scales;
  HostNumber have;
};
} // namespace

/// As CheckBuilder::scaleRoom.
static void findGroupedScales(Launch &launch, MatmulOp op, StringRef name,
                              const ScaledOperand &operand,
                              SmallVectorImpl<GroupedScales> &found) {
  ScaledType type = operand.type;
  if (!type || type.isCoded() || type.getGroupStart() == GroupStart::Whole)
    return;
  int64_t ragged = getForm(op.getGrouping()).cutsK();
  bool isLinear = type.getLayout() == ScaleLayout::Linear;
  bool isAlong = ragged == type.getAxis();
  int64_t rows = getRowTile(type.getLayout());
  CheckedScales scales;
  scales.what = loops::describeRoom(name, /*cutsLines=*/isAlong);
  scales.isUpperBound = type.getGroupStart() == GroupStart::UpperBound;
  scales.tile = !isAlong ? rows : isLinear ? 1 : 4;
  scales.block = isAlong ? type.getBlockSize() : 0;
  HostMath &math = launch.math;
  int64_t unit = isLinear ? 1 : ragged == 0 ? rows : 4;
  found.push_back({scales, math.mul(math.dim(operand.scales, ragged),
                                    math.constant(unit))});
}

static SmallVector<GroupedScales> findGroupedScales(Launch &launch,
                                                    MatmulOp op) {
  SmallVector<GroupedScales> found;
  if (!op.getGroups() || getForm(op.getGrouping()).hasCounts())
    return found;
  auto find = [&](StringRef name, Value data, Value scales, ScaledType type) {
    findGroupedScales(launch, op, name, {data, scales, type}, found);
  };
  for (auto [name, operands] :
       {std::pair("lhs", getScaledOperands(op.getLhs(), op.getLhsScales(),
                                           op.getLhsTypesAttr())),
        std::pair("rhs", getScaledOperands(op.getRhs(), op.getRhsScales(),
                                           op.getRhsTypesAttr()))})
    find(name, operands.front().data, operands.front().scales,
         operands.front().type);
  if (op.getOutScales())
    find("outs", op.getOut(), op.getOutScales(), op.getQuantizedType());
  return found;
}

void kernels::addDataChecks(Launch &launch, MatmulOp op, KernelParameters &p) {
  MLIRContext *context = op.getContext();
  SmallVector<DataChecks::Check> list;
  CheckedData data;
  if (op.getGroups())
    list.push_back(DataChecks::getGroups(op.getGrouping()));
  SmallVector<GroupedScales> grouped = findGroupedScales(launch, op);
  for (const GroupedScales &each : grouped)
    list.push_back(DataChecks::getRoom(context, each.scales.what));
  data.hasGlobalScale = loops::isSingleNumber(op.getGlobalScale());
  bool hasCopyScale = llvm::any_of(op.getCopyGlobalScales(), [](Value scale) {
    return loops::isSingleNumber(scale);
  });
  if (data.hasGlobalScale || hasCopyScale)
    list.push_back(DataChecks::getPositive(context));
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
  Value record = launch.addAddress(checks.getRecord());
  data.checks = checks.inKernel(record, launch.addAddress(checks.getAddress()));
  for (GroupedScales &each : grouped) {
    each.scales.have = launch.addNumber(each.have);
    data.scales.push_back(each.scales);
  }
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
    for (const CheckedScales &scales : data.scales)
      checkRoom(scales);
    if (data.factors)
      share(data.numFactors, [&](Value index) {
        data.checks.checkFactor(mb, load(data.factors, index), wide(index),
                                *data.format);
      });
    SmallVector<Value> scales;
    if (data.hasGlobalScale)
      scales.push_back(c.parameters.globalScale);
    for (const CopyParameters &copy : c.parameters.copies)
      if (loops::isSingleNumber(copy.globalScaleOperand))
        scales.push_back(copy.globalScale);
    for (Value scale : scales)
      mb.ifThen(mb.cmp(Predicate::eq, thread, 0),
                [&] { data.checks.checkPositive(mb, load(scale, c.i32(0))); });
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

  /// Offsets or counts, i32.
  Value countEntries() {
    Value groups = c.parameters.groups;
    return hasStarts(c.getOp().getGrouping()) ? c.add(groups, c.i32(1))
                                              : groups;
  }
  /// The extent that the groups cut, i64.
  Value getExtent() {
    return wide(c.parameters.depth ? c.parameters.depth
                                   : c.parameters.extents.rows);
  }
  /// `index` is an i64.
  DataChecks::GroupEntry readEntry(Value index) {
    auto loadEntry = [&](Value at) {
      Value entry = load(c.parameters.offsets, mb.truncate(at, mb.i32));
      return entry.getType().isInteger(64) ? entry : wide(entry);
    };
    return {mb,          c.getOp().getGrouping(),
            index,       wide(countEntries()),
            getExtent(), loadEntry};
  }

  void checkGroups() {
    share(countEntries(), [&](Value index) {
      data.checks.checkGroup(mb, readEntry(wide(index)));
    });
  }

  void checkRoom(const CheckedScales &scales) {
    // No groups of the extent need more than this.
    Value most = getExtent();
    int64_t perGroup = scales.tile - 1;
    if (scales.block) {
      most = mb.div(most, scales.block);
      perGroup = scales.tile;
    }
    most = mb.add(most, mb.mul(wide(c.parameters.groups), perGroup));
    Value have = wide(scales.have);
    Value isFirst = mb.cmp(Predicate::eq, thread, 0);
    Value isShort = mb.cmp(Predicate::slt, have, most);
    mb.ifThen(mb.bitAnd(isFirst, isShort), [&] {
      auto [needed, isKnown] = walk(scales);
      data.checks.checkRoom(mb, scales.what, isKnown, have, needed);
    });
  }

  /// How many scales the groups need, and whether all keep the rule.
  std::pair<Value, Value> walk(const CheckedScales &scales) {
    GroupingAttr grouping = c.getOp().getGrouping();
    bool isStarts = hasStarts(grouping);
    Value zero = mb.i64Constant(0);
    Value isGood = arith::ConstantIntOp::create(c.b, c.loc, 1, 1);
    SmallVector<Value> found = mb.forLoop(
        zero, wide(countEntries()), 1, {zero, zero, isGood},
        [&](Value index, ValueRange carried) -> SmallVector<Value> {
          Value packed = carried[0], needed = carried[1];
          DataChecks::GroupEntry entry = readEntry(index);
          Value begin = entry.finding.before, group = index;
          if (isStarts)
            group = mb.add(index, -1);
          else
            begin = mb.roundUp(begin, grouping.getAlign());
          Value size = mb.maxS(mb.sub(entry.finding.seen, begin), zero);
          // The first start ends no group.
          if (isStarts)
            size = mb.select(mb.cmp(Predicate::eq, index, 0), zero, size);
          if (scales.block)
            size = mb.div(mb.add(size, scales.block - 1), scales.block);
          Value start = packed;
          if (scales.isUpperBound) {
            Value bound = mb.add(begin, mb.mul(group, scales.tile - 1));
            start = mb.mul(mb.div(bound, scales.tile), scales.tile);
          }
          Value isEmpty = mb.cmp(Predicate::eq, size, 0);
          Value end = mb.select(isEmpty, zero, mb.add(start, size));
          return {mb.add(packed, mb.roundUp(size, scales.tile)),
                  mb.maxS(needed, end),
                  mb.bitAnd(carried[2], mb.logicalNot(entry.isBad))};
        });
    return {found[1], found[2]};
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
