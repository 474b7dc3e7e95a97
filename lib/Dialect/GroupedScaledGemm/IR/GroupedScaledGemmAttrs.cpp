//===- GroupedScaledGemmAttrs.cpp - Attributes ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text and verification of the dialect's attributes. Parsers accept what
// printers write and name the alternatives to what they refuse; comments name
// the constraints of docs/Spec.md.
//
//===----------------------------------------------------------------------===//

#include "EnumKeyword.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace nvfp4::gsg;

//===----------------------------------------------------------------------===//
// GroupingAttr
//===----------------------------------------------------------------------===//

Attribute GroupingAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  auto kind = parseCase<GroupingKind>(
      parser, "a grouping", "dense, batched, ragged_rows, masked, ragged_k",
      symbolizeGroupingKind);
  if (failed(kind))
    return {};
  OffsetsKind offsets = OffsetsKind::Ends;
  int64_t align = 1;
  while (succeeded(parser.parseOptionalComma())) {
    if (succeeded(parser.parseOptionalKeyword("align"))) {
      if (parser.parseEqual() || parser.parseInteger(align))
        return {};
      continue;
    }
    auto parsed =
        parseCase<OffsetsKind>(parser, "an offsets kind or 'align'",
                               "ends, starts, align", symbolizeOffsetsKind);
    if (failed(parsed))
      return {};
    offsets = *parsed;
  }
  if (parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    *kind, offsets, align);
}

void GroupingAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyGroupingKind(getKind());
  if (getForm(getKind()).hasOffsets())
    printer << ", " << stringifyOffsetsKind(getOffsets());
  if (getAlign() != 1)
    printer << ", align = " << getAlign();
  printer << ">";
}

LogicalResult GroupingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   GroupingKind kind, OffsetsKind offsets,
                                   int64_t align) {
  // grouping_c1
  if (align < 1)
    return emitError() << "expected align >= 1, but got " << align;
  bool ragged = getForm(kind).hasOffsets();
  // grouping_c2
  if (!ragged && align != 1)
    return emitError() << "expected no align for grouping '"
                       << stringifyGroupingKind(kind) << "', but got " << align;
  if (!ragged && offsets != OffsetsKind::Ends)
    return emitError() << "expected no offsets kind for grouping '"
                       << stringifyGroupingKind(kind) << "', but got '"
                       << stringifyOffsetsKind(offsets) << "'";
  return success();
}

//===----------------------------------------------------------------------===//
// GateAttr
//===----------------------------------------------------------------------===//

Attribute GateAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  int64_t granularity = 0;
  if (parser.parseLess())
    return {};
  if (failed(parser.parseOptionalKeyword("halves")) &&
      parser.parseInteger(granularity))
    return {};
  if (parser.parseComma())
    return {};
  auto order = parseCase<GateOrder>(parser, "a gate order",
                                    "gate_first, up_first", symbolizeGateOrder);
  if (failed(order) || parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    granularity, *order);
}

void GateAttr::print(AsmPrinter &printer) const {
  printer << "<";
  if (getGranularity() == 0)
    printer << "halves";
  else
    printer << getGranularity();
  printer << ", " << stringifyGateOrder(getOrder()) << ">";
}

LogicalResult GateAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t granularity, GateOrder) {
  // gate_c1
  if (granularity < 0)
    return emitError() << "expected a gate granularity >= 1 or 'halves', but "
                          "got "
                       << granularity;
  return success();
}

//===----------------------------------------------------------------------===//
// ActivationAttr
//===----------------------------------------------------------------------===//

ActivationAttr ActivationAttr::get(MLIRContext *context, ActivationKind kind) {
  Builder builder(context);
  return get(context, kind, GateAttr(), builder.getF32FloatAttr(1.0f),
             builder.getF32FloatAttr(0.0f), FloatAttr(), /*roundBf16=*/false);
}

float ActivationAttr::getLimitValue() const {
  return getLimit() ? getLimit().getValue().convertToFloat()
                    : std::numeric_limits<float>::infinity();
}

/// Parses `= <float>` into an f32 attribute.
static ParseResult parseF32(AsmParser &parser, FloatAttr &attr) {
  double value;
  if (parser.parseEqual())
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseFloat(value))
    return failure();
  // activation_c5: also keeps the text readable by this parser.
  if (!(std::abs(value) <= std::numeric_limits<float>::max()))
    return parser.emitError(loc)
           << "expected a finite number of type f32, but got " << value;
  attr = parser.getBuilder().getF32FloatAttr(static_cast<float>(value));
  return success();
}

Attribute ActivationAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  auto kind = parseCase<ActivationKind>(
      parser, "an activation",
      listCases(getMaxEnumValForActivationKind(), symbolizeActivationKind,
                stringifyActivationKind),
      symbolizeActivationKind);
  if (failed(kind))
    return {};
  GateAttr gate;
  FloatAttr alpha = parser.getBuilder().getF32FloatAttr(1.0f);
  FloatAttr beta = parser.getBuilder().getF32FloatAttr(0.0f);
  FloatAttr limit;
  bool roundBf16 = false;
  while (succeeded(parser.parseOptionalComma())) {
    StringRef keyword;
    SMLoc keyLoc = parser.getCurrentLocation();
    if (parser.parseKeyword(&keyword))
      return {};
    if (keyword == "gate") {
      if (parser.parseEqual())
        return {};
      gate = dyn_cast_or_null<GateAttr>(GateAttr::parse(parser, Type()));
      if (!gate)
        return {};
    } else if (keyword == "alpha") {
      if (parseF32(parser, alpha))
        return {};
    } else if (keyword == "beta") {
      if (parseF32(parser, beta))
        return {};
    } else if (keyword == "limit") {
      if (parseF32(parser, limit))
        return {};
    } else if (keyword == "round_bf16") {
      roundBf16 = true;
    } else {
      parser.emitError(keyLoc)
          << "expected gate, alpha, beta, limit or round_bf16, but got '"
          << keyword << "'";
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    *kind, gate, alpha, beta, limit, roundBf16);
}

void ActivationAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyActivationKind(getKind());
  if (getGate()) {
    printer << ", gate = ";
    getGate().print(printer);
  }
  auto printF32 = [&](StringRef name, FloatAttr attr) {
    printer << ", " << name << " = ";
    printer.printFloat(attr.getValue());
  };
  if (!getAlpha().getValue().isExactlyValue(1.0))
    printF32("alpha", getAlpha());
  if (!getBeta().getValue().isExactlyValue(0.0))
    printF32("beta", getBeta());
  if (getLimit())
    printF32("limit", getLimit());
  if (getRoundBf16())
    printer << ", round_bf16";
  printer << ">";
}

LogicalResult
ActivationAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                       ActivationKind kind, GateAttr gate, FloatAttr alpha,
                       FloatAttr beta, FloatAttr limit, bool) {
  bool paired = isPairedKind(kind);
  // activation_c1
  if (paired && !gate)
    return emitError() << "expected a gate layout for activation '"
                       << stringifyActivationKind(kind)
                       << "', such as gate = <halves, gate_first>, but got "
                          "none";
  // activation_c2
  if (!paired && kind != ActivationKind::Custom && gate)
    return emitError() << "expected no gate layout for activation '"
                       << stringifyActivationKind(kind) << "', but got "
                       << gate;
  // activation_c3
  if (!hasParameters(kind) && (!alpha.getValue().isExactlyValue(1.0) ||
                               !beta.getValue().isExactlyValue(0.0) || limit))
    return emitError() << "expected alpha, beta and limit with activation "
                          "'swiglu' only, but got '"
                       << stringifyActivationKind(kind) << "'";
  // activation_c4
  if (limit && !(limit.getValue().convertToFloat() > 0.0f))
    return emitError() << "expected limit > 0, but got "
                       << limit.getValue().convertToFloat();
  // activation_c5
  for (FloatAttr number : {alpha, beta, limit})
    if (number && !number.getValue().isFinite())
      return emitError() << "expected finite numbers, but got "
                         << number.getValue().convertToFloat();
  return success();
}

//===----------------------------------------------------------------------===//
// QuantizerAttr
//===----------------------------------------------------------------------===//

Attribute QuantizerAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  auto kind = parseCase<QuantizerKind>(
      parser, "a quantizer",
      "cutlass, trtllm, te, modelopt, mega16, ue8m0_up, ocp, triton_nearest, "
      "four_over_six",
      symbolizeQuantizerKind);
  if (failed(kind))
    return {};
  NegativeZero negZero = NegativeZero::Keep;
  Rounding rounding = Rounding::Nearest;
  bool twoD = false;
  while (succeeded(parser.parseOptionalComma())) {
    if (succeeded(parser.parseOptionalKeyword("two_d"))) {
      twoD = true;
    } else if (succeeded(parser.parseOptionalKeyword("neg_zero"))) {
      if (parser.parseEqual())
        return {};
      auto parsed =
          parseCase<NegativeZero>(parser, "a fate of negative zero",
                                  "keep, flush", symbolizeNegativeZero);
      if (failed(parsed))
        return {};
      negZero = *parsed;
    } else {
      if (parser.parseKeyword("rounding", ", neg_zero or two_d") ||
          parser.parseEqual())
        return {};
      auto parsed = parseCase<Rounding>(
          parser, "a rounding", "nearest, stochastic", symbolizeRounding);
      if (failed(parsed))
        return {};
      rounding = *parsed;
    }
  }
  if (parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    *kind, negZero, rounding, twoD);
}

void QuantizerAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyQuantizerKind(getKind());
  if (getNegZero() != NegativeZero::Keep)
    printer << ", neg_zero = " << stringifyNegativeZero(getNegZero());
  if (getRounding() != Rounding::Nearest)
    printer << ", rounding = " << stringifyRounding(getRounding());
  if (getTwoD())
    printer << ", two_d";
  printer << ">";
}

LogicalResult
QuantizerAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                      QuantizerKind kind, NegativeZero, Rounding rounding,
                      bool twoD) {
  // quantizer_c1
  if (twoD && kind != QuantizerKind::TE)
    return emitError() << "expected two_d with quantizer 'te' only, but got '"
                       << stringifyQuantizerKind(kind) << "'";
  // quantizer_c2
  if (rounding == Rounding::Stochastic && kind == QuantizerKind::FourOverSix)
    return emitError() << "expected rounding = nearest with quantizer "
                          "'four_over_six', but got 'stochastic'";
  return success();
}

//===----------------------------------------------------------------------===//
// HadamardAttr
//===----------------------------------------------------------------------===//

Attribute HadamardAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  bool normalized = false;
  uint32_t signMask = 0;
  auto parseOne = [&]() -> ParseResult {
    if (succeeded(parser.parseOptionalKeyword("normalized"))) {
      normalized = true;
      return success();
    }
    return failure(parser.parseKeyword("sign_mask", " or normalized") ||
                   parser.parseEqual() || parser.parseInteger(signMask));
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseOne))
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    normalized, signMask);
}

void HadamardAttr::print(AsmPrinter &printer) const {
  printer << "<";
  if (getNormalized())
    printer << "normalized";
  if (getSignMask())
    printer << (getNormalized() ? ", " : "") << "sign_mask = " << getSignMask();
  printer << ">";
}

LogicalResult HadamardAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   bool, uint32_t signMask) {
  // hadamard_c3
  if (signMask > 0xFFFF)
    return emitError() << "expected a sign_mask of 16 bits, in [0, 65535], but "
                          "got "
                       << signMask;
  return success();
}

//===----------------------------------------------------------------------===//
// StrategyAttr
//===----------------------------------------------------------------------===//

namespace {
/// An integer parameter of a strategy.
struct StrategyField {
  StringLiteral name;
  int64_t value;
  bool required = false;
};
} // namespace

Attribute StrategyAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  StrategyField fields[] = {
      {"m", 1, true},      {"n", 1, true},   {"k", 1, true},
      {"stages", 0},       {"ctas", 1},      {"cluster_m", 1},
      {"cluster_n", 1},    {"split_k", 1},   {"accumulator_stages", 0},
      {"scale_stages", 0}, {"epilogue_n", 0}};
  bool swapAB = false, dynamicN = false;
  Scheduler scheduler = Scheduler::StaticPersistent;
  auto parseOne = [&]() -> ParseResult {
    SMLoc keyLoc = parser.getCurrentLocation();
    StringRef keyword;
    if (parser.parseKeyword(&keyword) || parser.parseEqual())
      return failure();
    SMLoc valueLoc = parser.getCurrentLocation();
    auto *field = llvm::find_if(
        fields, [&](const StrategyField &f) { return f.name == keyword; });
    if (field != std::end(fields)) {
      field->required = false;
      if (parser.parseInteger(field->value))
        return failure();
      // strategy_c1: what is open is left out, not written as 0.
      if (field->value < 1)
        return parser.emitError(valueLoc) << "expected " << field->name
                                          << " >= 1, but got " << field->value;
      return success();
    }
    if (keyword == "swap_ab" || keyword == "dynamic_n") {
      StringRef value;
      if (failed(parser.parseOptionalKeyword(&value, {"true", "false"})))
        return parser.emitError(valueLoc) << "expected true or false";
      (keyword == "swap_ab" ? swapAB : dynamicN) = value == "true";
      return success();
    }
    if (keyword == "scheduler") {
      auto parsed = parseCase<Scheduler>(
          parser, "a scheduler",
          "static_persistent, dynamic_counter, launch_control",
          symbolizeScheduler);
      if (failed(parsed))
        return failure();
      scheduler = *parsed;
      return success();
    }
    return parser.emitError(keyLoc)
           << "expected m, n, k, stages, ctas, cluster_m, cluster_n, split_k, "
              "accumulator_stages, scale_stages, epilogue_n, swap_ab, "
              "dynamic_n or scheduler, but got '"
           << keyword << "'";
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseOne))
    return {};
  for (const StrategyField &field : fields) {
    if (field.required) {
      // strategy_c3
      InFlightDiagnostic diag = parser.emitError(loc)
                                << "expected " << field.name << " = ";
      if (field.name == "k")
        diag << "256 for FP4 operands on sm_100a, else 128";
      else
        diag << "<extent>, such as 128";
      return {};
    }
  }
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    fields[0].value, fields[1].value, fields[2].value,
                    fields[3].value, fields[4].value, fields[5].value,
                    fields[6].value, fields[7].value, fields[8].value,
                    fields[9].value, fields[10].value, swapAB, dynamicN,
                    scheduler);
}

void StrategyAttr::print(AsmPrinter &printer) const {
  printer << "<m = " << getTileM() << ", n = " << getTileN()
          << ", k = " << getTileK();
  auto print = [&](StringRef name, int64_t value, int64_t byDefault) {
    if (value != byDefault)
      printer << ", " << name << " = " << value;
  };
  print("stages", getStages(), 0);
  print("ctas", getCtas(), 1);
  print("cluster_m", getClusterM(), 1);
  print("cluster_n", getClusterN(), 1);
  print("split_k", getSplitK(), 1);
  print("accumulator_stages", getAccumulatorStages(), 0);
  print("scale_stages", getScaleStages(), 0);
  print("epilogue_n", getEpilogueN(), 0);
  if (getSwapAB())
    printer << ", swap_ab = true";
  if (getDynamicN())
    printer << ", dynamic_n = true";
  if (getScheduler() != Scheduler::StaticPersistent)
    printer << ", scheduler = " << stringifyScheduler(getScheduler());
  printer << ">";
}

LogicalResult StrategyAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   int64_t tileM, int64_t tileN, int64_t tileK,
                                   int64_t stages, int64_t ctas,
                                   int64_t clusterM, int64_t clusterN,
                                   int64_t splitK, int64_t accumulatorStages,
                                   int64_t scaleStages, int64_t epilogueN, bool,
                                   bool, Scheduler) {
  struct Bound {
    StringRef name;
    int64_t value, least;
  };
  const Bound bounds[] = {{"m", tileM, 1},
                          {"n", tileN, 1},
                          {"k", tileK, 1},
                          {"stages", stages, 0},
                          {"cluster_m", clusterM, 1},
                          {"cluster_n", clusterN, 1},
                          {"split_k", splitK, 1},
                          {"accumulator_stages", accumulatorStages, 0},
                          {"scale_stages", scaleStages, 0},
                          {"epilogue_n", epilogueN, 0}};
  // strategy_c1
  for (const Bound &bound : bounds)
    if (bound.value < bound.least)
      return emitError() << "expected " << bound.name << " >= " << bound.least
                         << ", but got " << bound.value;
  // strategy_c2
  if (ctas != 1 && ctas != 2)
    return emitError() << "expected ctas 1 or 2, but got " << ctas;
  return success();
}
