//===- DataChecks.cpp - Kernels that check their data -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The report is the cold side of a branch: a kernel with good data compares and
// goes on.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/GsgToLoops/DataChecks.h"

#include "nvfp4/Conversion/GsgToRuntimeChecks/CheckModule.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/FormatEnums.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"
#include "nvfp4/Runtime/nvfp4_checks.h"
#include "nvfp4/Runtime/nvfp4_kernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cstddef>

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::loops;
using Predicate = arith::CmpIPredicate;
using FloatPredicate = arith::CmpFPredicate;
using warpspec::DataKind;

bool loops::isSingleNumber(Value value) {
  auto type = value ? dyn_cast<MemRefType>(value.getType()) : MemRefType();
  return type && type.hasStaticShape() && type.getNumElements() == 1;
}

std::string loops::describeRoom(StringRef name, bool cutsLines) {
  return ((cutsLines ? "blocks" : "rows") + Twine(" of the scales of ") + name)
      .str();
}

DataChecks::DataChecks(OpBuilder &host, Operation *op, ArrayRef<Check> checks)
    : checks(checks) {
  if (checks.empty())
    return;
  Location loc = op->getLoc();
  record = warpspec::DataRecordOp::create(host, loc, host.getI64Type());
  SmallVector<Attribute> list(checks);
  address = warpspec::DataChecksOp::create(
      host, loc, host.getI64Type(),
      host.getStringAttr(checks::describePlace(op)), host.getArrayAttr(list));
}

DataChecks DataChecks::inKernel(Value record, Value address) const {
  DataChecks result(*this);
  result.record = record;
  result.address = address;
  return result;
}

std::optional<size_t> DataChecks::find(DataKind kind, StringRef what) const {
  for (auto [number, check] : llvm::enumerate(checks))
    if (check.getKind() == kind && (what.empty() || check.getWhat() == what))
      return number;
  return std::nullopt;
}

void DataChecks::report(MathBuilder &b, size_t number, Value isBad,
                        const Finding &finding) const {
  OpBuilder &builder = b.builder;
  Location loc = b.loc;
  b.ifThen(isBad, [&] {
    Value base = LLVM::IntToPtrOp::create(builder, loc, b.ptr, record);
    Value check =
        b.add(address, static_cast<int64_t>(number * sizeof(nvfp4_data_check)));
    Value zero = b.i64Constant(0);
    Value exchanged = LLVM::AtomicCmpXchgOp::create(
        builder, loc, base, zero, check, LLVM::AtomicOrdering::monotonic,
        LLVM::AtomicOrdering::monotonic);
    Value isFirst = LLVM::ExtractValueOp::create(builder, loc, exchanged, 1);
    b.ifThen(isFirst, [&] {
      auto store = [&](Value value, size_t offset, int64_t absent) {
        b.store(value ? value : b.i64Constant(absent), base,
                static_cast<int64_t>(offset), /*alignment=*/8);
      };
      store(finding.row, offsetof(nvfp4_data_record, row), 0);
      store(finding.column, offsetof(nvfp4_data_record, column), -1);
      store(finding.seen, offsetof(nvfp4_data_record, seen), 0);
      store(finding.before, offsetof(nvfp4_data_record, before), 0);
      store(finding.limit, offsetof(nvfp4_data_record, limit), 0);
      Value flag = b.ptrAdd(base, offsetof(nvfp4_data_record, is_complete));
      LLVM::StoreOp::create(builder, loc, b.i64Constant(1), flag,
                            /*alignment=*/8, /*isVolatile=*/false,
                            /*isNonTemporal=*/false,
                            /*isInvariantGroup=*/false,
                            LLVM::AtomicOrdering::release);
    });
  });
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// Whether entry `value` after `before` breaks the rule that the runtime's
/// GroupRule has as well.
static Value breaksGroupRule(MathBuilder &b, GroupingAttr grouping,
                             Value isLast, Value before, Value value,
                             Value extent) {
  // One unsigned comparison finds negative ones too.
  Value isOutside = b.cmp(Predicate::ugt, value, extent);
  if (getForm(grouping).hasCounts())
    return isOutside;
  auto align = static_cast<int64_t>(grouping.getAlign());
  Value isBad;
  if (hasStarts(grouping)) {
    isBad = b.cmp(Predicate::slt, value, before);
    if (align > 1) {
      Value isOdd = b.cmp(Predicate::ne, b.rem(value, align), 0);
      isBad = b.bitOr(isBad, b.bitAnd(isOdd, b.logicalNot(isLast)));
    }
  } else {
    // An empty group may repeat the end before it.
    Value begin = align > 1 ? b.roundUp(before, align) : before;
    isBad = b.cmp(Predicate::slt, value, begin);
    if (align > 1)
      isBad = b.bitAnd(isBad, b.cmp(Predicate::ne, value, before));
  }
  // After an entry outside, which has its own report, nothing is known.
  Value isKnown = b.cmp(Predicate::ule, before, extent);
  return b.bitOr(isOutside, b.bitAnd(isBad, isKnown));
}

DataChecks::GroupEntry::GroupEntry(MathBuilder &b, GroupingAttr grouping,
                                   Value index, Value numEntries, Value extent,
                                   function_ref<Value(Value)> load) {
  Value value = load(index), zero = b.i64Constant(0), before = zero, isLast;
  if (!getForm(grouping).hasCounts()) {
    Value isFirst = b.cmp(Predicate::eq, index, 0);
    Value previous = b.select(isFirst, zero, b.add(index, -1));
    before = b.select(isFirst, zero, load(previous));
    isLast = b.cmp(Predicate::eq, b.add(index, 1), numEntries);
    finding.column = b.zeroExtend(isLast, b.i64);
  }
  isBad = breaksGroupRule(b, grouping, isLast, before, value, extent);
  finding.row = index;
  finding.seen = value;
  finding.before = before;
  finding.limit = extent;
}

void DataChecks::checkGroup(MathBuilder &b, const GroupEntry &entry) const {
  if (std::optional<size_t> number = find(DataKind::Groups))
    report(b, *number, entry.isBad, entry.finding);
}

void DataChecks::checkPositive(MathBuilder &b, Value number) const {
  std::optional<size_t> check = find(DataKind::Positive);
  if (!check)
    return;
  // The bits of such numbers are 1 to those of the largest one.
  constexpr int64_t infinity = 0x7F800000;
  Value bits = b.toBits(number);
  Value isBad = b.cmp(Predicate::uge, b.add(bits, -1), infinity - 1);
  Finding finding;
  finding.seen = b.zeroExtend(bits, b.i64);
  report(b, *check, isBad, finding);
}

void DataChecks::checkFactor(MathBuilder &b, Value number, Value index,
                             BlockFormat format) const {
  std::optional<size_t> check = find(DataKind::Factor);
  if (!check)
    return;
  Value bits = b.toBits(number), isGood;
  if (format::scaleKind(toFormat(format)) == format::ScaleKind::UE4M3) {
    constexpr int64_t factor = 0x43000000; // 128
    isGood = b.cmp(Predicate::eq, bits, factor);
  } else {
    // A power of two: one bit of a subnormal number, or no mantissa.
    constexpr int64_t least = 0x00800000, largest = 0x7F000000;
    Value isNormal =
        b.cmp(Predicate::ule, b.add(bits, -least), largest - least);
    Value hasNone = b.cmp(Predicate::eq, b.bitAnd(bits, least - 1), 0);
    Value below = b.add(bits, -1);
    Value isSmall = b.cmp(Predicate::ult, below, least - 1);
    Value hasOne = b.cmp(Predicate::eq, b.bitAnd(bits, below), 0);
    Value isPower = b.bitAnd(isNormal, hasNone);
    isGood = b.bitOr(isPower, b.bitAnd(isSmall, hasOne));
  }
  Finding finding;
  finding.row = index;
  finding.seen = b.zeroExtend(bits, b.i64);
  report(b, *check, b.logicalNot(isGood), finding);
}

void DataChecks::checkRoom(MathBuilder &b, StringRef what, Value hasGroups,
                           Value seen, Value needed) const {
  std::optional<size_t> check = find(DataKind::Room, what);
  if (!check)
    return;
  Finding finding;
  finding.seen = seen;
  finding.limit = needed;
  Value isBad = b.bitAnd(hasGroups, b.cmp(Predicate::slt, seen, needed));
  report(b, *check, isBad, finding);
}

DataChecks::Check DataChecks::getGroups(GroupingAttr grouping) {
  int64_t form = getForm(grouping).hasCounts() ? NVFP4_GROUP_COUNTS
                 : hasStarts(grouping)         ? NVFP4_GROUP_STARTS
                                               : NVFP4_GROUP_ENDS;
  return Check::get(grouping.getContext(), DataKind::Groups, "", "",
                    {form, static_cast<int64_t>(grouping.getAlign())});
}

DataChecks::Check DataChecks::getIndex(MLIRContext *context, StringRef label,
                                       StringRef what) {
  return Check::get(context, DataKind::Index, label, what, {});
}

DataChecks::Check DataChecks::getPositive(MLIRContext *context) {
  return Check::get(context, DataKind::Positive, "quantizer_c8", "global_scale",
                    {});
}

DataChecks::Check DataChecks::getFactor(MLIRContext *context,
                                        BlockFormat format) {
  return Check::get(context, DataKind::Factor, "", "",
                    {static_cast<int64_t>(toFormat(format))});
}

DataChecks::Check DataChecks::getWeights(MLIRContext *context, int64_t spread) {
  return Check::get(context, DataKind::Weights, "relayout_weights_c4", "",
                    {spread});
}

DataChecks::Check DataChecks::getRoom(MLIRContext *context, StringRef what) {
  return Check::get(context, DataKind::Room, "storage_c9", what, {});
}
