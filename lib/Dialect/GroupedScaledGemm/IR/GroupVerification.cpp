//===- GroupVerification.cpp - Checks of groups, gates, quantisers --------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Group offsets are data of the device; what is constant in the IR is checked
// here, the rest where it is read. Comments name the constraints of
// docs/Spec.md.
//
//===----------------------------------------------------------------------===//

#include "Verification.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/FormatEnums.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"
#include "nvfp4/Format/Quantizer.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace nvfp4::gsg;

/// The values of constant offsets. A splat is given by at most two entries,
/// because its length may be anything.
static std::optional<SmallVector<int64_t>> getConstants(Value value) {
  DenseIntElementsAttr attr;
  if (!value || !matchPattern(value, m_Constant(&attr)) ||
      attr.getType().getRank() != 1 || attr.empty())
    return std::nullopt;
  SmallVector<int64_t> values;
  if (attr.isSplat()) {
    values.assign(attr.getType().getDimSize(0) > 1 ? 2 : 1,
                  attr.getSplatValue<APInt>().getSExtValue());
    return values;
  }
  for (const APInt &entry : attr.getValues<APInt>())
    values.push_back(entry.getSExtValue());
  return values;
}

/// The smallest multiple of `align` >= `value`; saturates.
static int64_t roundUp(int64_t value, int64_t align) {
  int64_t rest = value % align;
  int64_t rounded;
  if (rest == 0)
    return value;
  return llvm::AddOverflow(value, align - rest, rounded)
             ? std::numeric_limits<int64_t>::max()
             : rounded;
}

int64_t nvfp4::gsg::getGroupCount(GroupingAttr grouping, Value groups) {
  if (!groups || !grouping)
    return ShapedType::kDynamic;
  ArrayRef<int64_t> shape = getShapeOf(groups.getType());
  if (shape.size() != 1 || ShapedType::isDynamic(shape[0]))
    return ShapedType::kDynamic;
  bool starts = grouping.getOffsets() == OffsetsKind::Starts;
  return std::max<int64_t>(shape[0] - (starts ? 1 : 0), 0);
}

/// grouping_c6 to grouping_c8: what constant offsets and counts must satisfy.
static LogicalResult verifyConstants(Operation *op, GroupingAttr grouping,
                                     ArrayRef<int64_t> values, int64_t extent) {
  bool masked = getForm(grouping).hasCounts();
  bool starts = grouping.getOffsets() == OffsetsKind::Starts;
  StringRef what = masked ? "count" : starts ? "start" : "end";
  int64_t previous = 0;
  for (auto [g, value] : llvm::enumerate(values)) {
    auto fail = [&]() {
      return op->emitOpError("expected group ") << what << " #" << g;
    };
    // grouping_c6
    if (value < 0 || (!ShapedType::isDynamic(extent) && value > extent)) {
      InFlightDiagnostic diag = fail() << " in [0, ";
      if (ShapedType::isDynamic(extent))
        diag << "inf)";
      else
        diag << extent << "]";
      return diag << ", but got " << value;
    }
    if (masked)
      continue;
    // grouping_c7
    int64_t begin = starts ? previous : roundUp(previous, grouping.getAlign());
    if (value < previous || (value < begin && value != previous))
      return fail() << " >= " << (value < previous ? previous : begin)
                    << (value < previous ? ", the one before it"
                                         : ", where the group starts")
                    << ", but got " << value;
    // grouping_c8: the last entry of starts is an end.
    if (starts && g + 1 < values.size() && value % grouping.getAlign() != 0)
      return fail() << " to be a multiple of align = " << grouping.getAlign()
                    << ", but got " << value << " (nearest: "
                    << value / grouping.getAlign() * grouping.getAlign() << ")";
    previous = value;
  }
  return success();
}

LogicalResult nvfp4::gsg::verifyGroups(Operation *op, GroupingAttr grouping,
                                       Value groups, int64_t numGroups,
                                       int64_t extent) {
  StringRef kind = stringifyGroupingKind(grouping.getKind());
  // grouping_c3
  if (grouping.hasGroupsOperand() != static_cast<bool>(groups))
    return op->emitOpError("expected ")
           << (groups ? "no groups" : "groups") << " for grouping '" << kind
           << "', but got " << (groups ? "some" : "none");
  if (!groups)
    return success();
  ArrayRef<int64_t> shape = getShapeOf(groups.getType());
  // grouping_c4
  if (shape.size() != 1)
    return op->emitOpError("expected groups to be a vector, but got ")
           << groups.getType();
  bool starts = grouping.getOffsets() == OffsetsKind::Starts;
  int64_t length = shape[0];
  // grouping_c5
  if (starts && length == 0)
    return op->emitOpError("expected at least 1 group start, but got 0");
  if (!ShapedType::isDynamic(length) && !ShapedType::isDynamic(numGroups) &&
      length - (starts ? 1 : 0) != numGroups)
    return op->emitOpError("expected groups of length ")
           << (starts ? "G+1" : "G") << " for the " << numGroups
           << " groups of grouping '" << kind << "', but got " << length;
  if (std::optional<SmallVector<int64_t>> values = getConstants(groups))
    return verifyConstants(op, grouping, *values, extent);
  return success();
}

LogicalResult nvfp4::gsg::verifyGroupStarts(Operation *op, StringRef name,
                                            ScaledType type,
                                            GroupingAttr grouping, Value groups,
                                            std::optional<int64_t> raggedDim) {
  GroupStart start = type.getGroupStart();
  // grouping_c9
  if (!raggedDim && start != GroupStart::Whole)
    return op->emitOpError("expected starts = whole for ")
           << name << ", whose rows belong to no ragged groups, but got '"
           << stringifyGroupStart(start) << "'";
  if (!raggedDim || *raggedDim != type.getAxis())
    return success();
  // grouping_c10
  if (start == GroupStart::UpperBound)
    return op->emitOpError("expected starts = compact or whole for ")
           << name << ", whose groups lie along its blocks, but got "
           << "'upper_bound'";
  if (start == GroupStart::Compact)
    return success();
  // grouping_c11
  int64_t block = type.getBlockSize();
  if (grouping.getAlign() % block == 0)
    return success();
  bool aligned = false;
  if (std::optional<SmallVector<int64_t>> values = getConstants(groups)) {
    ArrayRef<int64_t> begins(*values);
    // The last offset starts no group.
    aligned = llvm::all_of(begins.drop_back(), [&](int64_t value) {
      return roundUp(value, grouping.getOffsets() == OffsetsKind::Starts
                                ? 1
                                : grouping.getAlign()) %
                 block ==
             0;
    });
  }
  if (!aligned)
    return op->emitOpError("expected group starts along the blocks of ")
           << name << " that are known multiples of the block size " << block
           << ", but got align = " << grouping.getAlign()
           << "; use align = " << roundUp(grouping.getAlign(), block)
           << " or starts = compact";
  return success();
}

LogicalResult nvfp4::gsg::verifyOptionalGroups(
    Operation *op, std::optional<GroupingAttr> grouping, Value groups,
    ScaledType type, std::optional<int64_t> &raggedDim) {
  raggedDim.reset();
  // grouping_c13
  if (grouping.has_value() != static_cast<bool>(groups))
    return op->emitOpError("expected groups and grouping together, but got ")
           << (groups ? "groups" : "grouping") << " alone";
  if (!groups)
    return success();
  const GroupingForm &form = getForm(*grouping);
  int64_t rank = form.stacksRows ? 3 : 2;
  // grouping_c14
  if (grouping->hasGroupsOperand() && type.getRank() != rank)
    return op->emitOpError("expected a scaled type of rank ")
           << rank << " for grouping '"
           << stringifyGroupingKind(grouping->getKind()) << "', but got "
           << type;
  int64_t numGroups = ShapedType::kDynamic, extent = ShapedType::kDynamic;
  if (form.hasCounts()) {
    numGroups = type.getDimSize(0);
    extent = type.getDimSize(1);
  }
  raggedDim = form.getCutDim();
  if (raggedDim)
    extent = type.getDimSize(*raggedDim);
  return verifyGroups(op, *grouping, groups, numGroups, extent);
}

LogicalResult nvfp4::gsg::verifyQuantizer(Operation *op,
                                          QuantizerAttr quantizer,
                                          ScaledType type, Value seed,
                                          Value globalScale, bool hasGroups) {
  const auto &facts = format::traits(toFormat(quantizer.getKind()));
  StringRef name = stringifyQuantizerKind(quantizer.getKind());
  StringRef typeFormat = stringifyBlockFormat(type.getFormat());
  bool ue4m3 = type.getFormat() == BlockFormat::NVFP4;
  // quantizer_c3
  if (ue4m3 ? !facts.emitsUE4M3 : !facts.emitsE8M0)
    return op->emitOpError("expected a format with ")
           << (facts.emitsUE4M3 ? "UE4M3 scales (nvfp4)"
                                : "UE8M0 scales (mxfp4, nvfp4_e8m0, mxfp8_*)")
           << " for quantizer '" << name << "', but got '" << typeFormat << "'";
  // quantizer_c4
  bool stochastic = quantizer.getRounding() == Rounding::Stochastic;
  if (stochastic != static_cast<bool>(seed))
    return op->emitOpError("expected ")
           << (seed ? "no seed for rounding = nearest"
                    : "a seed for rounding = stochastic")
           << ", but got " << (seed ? "one" : "none");
  // quantizer_c5
  if (!type.isFP4() &&
      (stochastic || quantizer.getNegZero() != NegativeZero::Keep))
    return op->emitOpError("expected rounding = nearest and neg_zero = keep "
                           "for the 8-bit values of '")
           << typeFormat << "', but got '"
           << stringifyRounding(quantizer.getRounding()) << "' and '"
           << stringifyNegativeZero(quantizer.getNegZero()) << "'";
  // quantizer_c6
  bool oneLevel = facts.global == format::GlobalScaleKind::None ||
                  (quantizer.getKind() == QuantizerKind::TE && !ue4m3);
  if (oneLevel && globalScale)
    return op->emitOpError("expected no global_scale for quantizer '")
           << name << "' and format '" << typeFormat
           << "', which have one level of scales, but got "
           << globalScale.getType();
  // quantizer_c7
  if (quantizer.getTwoD() && (type.getRank() < 2 || hasGroups))
    return op->emitOpError("expected two_d for matrices without groups, but "
                           "got ")
           << (hasGroups ? "groups" : "rank 1");
  return success();
}

LogicalResult nvfp4::gsg::verifyGate(Operation *op, GateAttr gate, int64_t n) {
  if (!gate || ShapedType::isDynamic(n))
    return success();
  int64_t q = gate.getGranularity() == 0 ? 1 : gate.getGranularity();
  // gate_c2: without 2 * q, which may overflow.
  if (n % 2 == 0 && (n / 2) % q == 0)
    return success();
  InFlightDiagnostic diag =
      op->emitOpError("expected N to be a multiple of twice the gate "
                      "granularity ")
      << q << ", but got " << n;
  if (int64_t nearest = (n / 2) / q * q)
    diag << " (nearest: " << nearest * 2 << ")";
  return diag;
}
