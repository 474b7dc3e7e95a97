//===- Compare.cpp - Does a result agree with the reference? ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Element-wise comparison and its statistics. An element is right if it lies
// within the bound that the interpreter gave for it.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Reference/Compare.h"

#include "Groups.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>

namespace nvfp4::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The magnitude from which on numbers round to infinity: half a step past the
/// largest one. Infinite where no result overflows, or none is compared.
double overflowThreshold(Element element) {
  switch (element) {
  case Element::F32:
    return 0x1.ffffffp127;
  case Element::BF16:
    return 0x1.ffp127;
  case Element::F16:
    return 0x1.ffep15;
  case Element::F64:
  case Element::F8E4M3FN:
  case Element::F8E5M2:
  case Element::F4E2M1FN:
  case Element::F8E8M0FNU:
  case Element::I1:
  case Element::I4:
  case Element::I8:
  case Element::I16:
  case Element::I32:
  case Element::I64:
  case Element::Index:
    return kInfinity;
  }
  llvm_unreachable("covered switch");
}

/// Gathers the comparisons of single elements.
class Collector {
public:
  Collector(CompareReport &report, const CompareOptions &options,
            double overflow)
      : report(report), options(options), overflow(overflow) {
    report.exact = options.exact;
  }

  /// `rounded` is the reference in the element type.
  void add(int64_t index, double actual, Real reference, double rounded) {
    if (std::isinf(reference.bound)) {
      ++report.skipped;
      return;
    }
    ++report.compared;
    if (std::isnan(actual) || std::isnan(reference.value)) {
      bool same = std::isnan(actual) && std::isnan(reference.value);
      equal += same;
      report.bothNan += same;
      if (!same) {
        ++report.nanMismatches;
        fail(index, actual, reference, kInfinity);
      }
      return;
    }
    equal += actual == rounded;
    double error = std::fabs(actual - reference.value);
    double bound = options.exact ? 0.0 : reference.bound * options.boundFactor;
    if (options.exact || bound == 0.0)
      error = actual == rounded ? 0.0 : std::fabs(actual - rounded);
    if (std::isinf(actual) || std::isinf(reference.value)) {
      // Overflow is right where the bound reaches what rounds to infinity.
      bool allowed =
          actual == rounded ||
          (bound > 0 && std::signbit(actual) == std::signbit(reference.value) &&
           std::fabs(reference.value) + bound >= overflow);
      if (!allowed)
        fail(index, actual, reference, kInfinity);
      return;
    }
    squaredError += error * error;
    squaredReference += reference.value * reference.value;
    report.maxAbsError = std::max(report.maxAbsError, error);
    double ratio = 0.0;
    if (error > 0)
      ratio = bound > 0 ? error / bound : kInfinity;
    if (ratio > 1.0) {
      ++report.failures;
      report.failuresWithinBound +=
          options.exact &&
          std::fabs(actual - reference.value) <= reference.bound;
    }
    note(index, actual, reference, ratio);
  }

  void finish() {
    if (report.compared != 0)
      report.exactFraction =
          static_cast<double>(equal) / static_cast<double>(report.compared);
    if (squaredReference > 0)
      report.relativeL2 = std::sqrt(squaredError / squaredReference);
    report.passed = report.error.empty() && report.failures == 0;
  }

private:
  void fail(int64_t index, double actual, Real reference, double ratio) {
    ++report.failures;
    note(index, actual, reference, ratio);
  }
  void note(int64_t index, double actual, Real reference, double ratio) {
    if (report.worstIndex >= 0 && !(ratio > report.maxBoundRatio))
      return;
    report.worstIndex = index;
    report.maxBoundRatio = ratio;
    report.worstActual = actual;
    report.worstExpected = reference.value;
    report.worstBound = reference.bound;
  }

  CompareReport &report;
  const CompareOptions &options;
  double overflow;
  int64_t equal = 0;
  double squaredError = 0.0, squaredReference = 0.0;
};

CompareReport failed(const llvm::Twine &message) {
  CompareReport report;
  report.error = message.str();
  return report;
}

/// The steps between two E2M1 or FP8 codes: differences of their signed ranks.
int codeDistance(uint8_t a, uint8_t b, bool fp4) {
  int sign = fp4 ? 8 : 128;
  auto rank = [&](uint8_t code) {
    int magnitude = code & (sign - 1);
    return (code & sign) != 0 ? -magnitude : magnitude;
  };
  return std::abs(rank(a) - rank(b));
}

} // namespace

CompareReport compare(const Tensor &actual, const Tensor &reference,
                      const CompareOptions &options) {
  if (actual.element() != reference.element() ||
      actual.shape() != reference.shape())
    return failed("expected " + reference.describe() + ", but got " +
                  actual.describe());
  CompareReport report;
  Collector collector(report, options, overflowThreshold(reference.element()));
  for (int64_t i = 0; i < reference.numElements(); ++i) {
    if (isFloat(reference.element()) && !isByte(reference.element())) {
      Real r = reference.real(i);
      collector.add(i, actual.real(i).value, r,
                    roundTo(reference.element(), r.value));
    } else if (isByte(reference.element())) {
      auto at = static_cast<size_t>(i);
      double expected = reference.bytes()[at];
      bool open = reference.at(i).ambiguous;
      collector.add(i, actual.bytes()[at], {expected, open ? kInfinity : 0.0},
                    expected);
    } else {
      auto expected = static_cast<double>(reference.integer(i));
      collector.add(i, static_cast<double>(actual.integer(i)), {expected, 0.0},
                    expected);
    }
  }
  collector.finish();
  return report;
}

CompareReport compare(const Tensor &actualData, const Tensor &actualScales,
                      const ScaledValue &reference,
                      const CompareOptions &options) {
  llvm::Expected<ScaledValue> actual =
      makeScaled(reference.type, actualData, actualScales);
  if (!actual)
    return failed(llvm::toString(actual.takeError()));
  if (reference.type.isCoded()) {
    // Every bit of packed weights is defined.
    CompareReport values = compare(actual->data, reference.data, options);
    CompareReport factors = compare(actual->scales, reference.scales, options);
    return values.passed ? factors : values;
  }
  llvm::Expected<ScaledAddress> there = ScaledAddress::create(
      actual->type, actual->scales.shape(), reference.groups);
  if (!there)
    return failed(llvm::toString(there.takeError()));
  llvm::Expected<ScaledAddress> here = ScaledAddress::create(
      reference.type, reference.scales.shape(), reference.groups);
  if (!here)
    return failed(llvm::toString(here.takeError()));
  bool fp4 = reference.type.isFP4();
  format::BlockFormat kind = here->format();
  CompareReport report;
  Collector collector(report, options, kInfinity);
  int64_t codes = 0, equalCodes = 0, scales = 0, equalScales = 0;
  llvm::ArrayRef<double> bounds = reference.data.codeBounds();
  // Outside every group values are given, by their codes alone where scales are
  // not.
  bool hasScalesOutside =
      reference.hasScalesOutside &&
      reference.type.getGroupStart() == gsg::GroupStart::Whole;
  for (int64_t batch = 0; batch < here->batches(); ++batch)
    for (int64_t line = 0; line < here->lines(); ++line)
      for (int64_t k = 0; k < here->length(); ++k) {
        int64_t group = here->groupOf(line, k);
        if (group < 0) {
          auto valueOf = [&](const ScaledValue &value,
                             const ScaledAddress &address) -> double {
            uint8_t code =
                readCode(value.data.bytes(), fp4, address.code(batch, line, k));
            if (!hasScalesOutside)
              return format::decodeElement(format::elementKind(kind), code);
            int64_t at = address.wholeScale(batch, line, k);
            return format::dequantize(
                kind, code, value.scales.bytes()[static_cast<size_t>(at)]);
          };
          double expected = valueOf(reference, *here);
          collector.add(here->code(batch, line, k), valueOf(*actual, *there),
                        {expected, 0.0}, expected);
          continue;
        }
        int64_t position = k - here->rangeAlong(group).begin;
        int64_t block = position / here->blockSize();
        int64_t index = here->code(batch, line, k);
        uint8_t refCode = readCode(reference.data.bytes(), fp4, index);
        uint8_t code = readCode(actual->data.bytes(), fp4, index);
        uint8_t refScale = reference.scales.bytes()[static_cast<size_t>(
            here->scale(batch, line, group, block))];
        uint8_t scale = actual->scales.bytes()[static_cast<size_t>(
            there->scale(batch, line, group, block))];
        double bound =
            bounds.empty() ? 0.0 : bounds[static_cast<size_t>(index)];
        double expected = format::dequantize(kind, refCode, refScale);
        collector.add(index, format::dequantize(kind, code, scale),
                      {expected, std::isnan(expected) ? 0.0 : bound}, expected);
        if (std::isinf(bound))
          continue;
        ++codes;
        equalCodes += code == refCode;
        if (position % here->blockSize() == 0) {
          ++scales;
          equalScales += scale == refScale;
        }
        if (scale == refScale) {
          int distance = codeDistance(code, refCode, fp4);
          report.oneStepFlips += distance == 1;
          report.largerFlips += distance > 1;
        }
      }
  if (codes != 0)
    report.codesEqualFraction =
        static_cast<double>(equalCodes) / static_cast<double>(codes);
  if (scales != 0)
    report.scalesEqualFraction =
        static_cast<double>(equalScales) / static_cast<double>(scales);
  collector.finish();
  return report;
}

CompareReport compare(const Value &actual, const Value &reference,
                      const CompareOptions &options) {
  if (actual.index() != reference.index())
    return failed("expected values of one kind");
  if (const auto *tensor = std::get_if<Tensor>(&reference))
    return compare(std::get<Tensor>(actual), *tensor, options);
  if (const auto *scaled = std::get_if<ScaledValue>(&reference)) {
    const auto &other = std::get<ScaledValue>(actual);
    return compare(other.data, other.scales, *scaled, options);
  }
  auto asTensor = [](const Scalar &scalar) {
    Tensor tensor = Tensor::zeros(scalar.element, {});
    tensor.set(0, scalar);
    return tensor;
  };
  return compare(asTensor(std::get<Scalar>(actual)),
                 asTensor(std::get<Scalar>(reference)), options);
}

std::string CompareReport::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (!error.empty()) {
    os << "not comparable: " << error;
    return text;
  }
  os << (passed ? "ok" : "MISMATCH") << ": " << compared << " compared, "
     << skipped << " unspecified, " << failures
     << (exact ? " not equal" : " beyond the bound");
  if (failuresWithinBound != 0)
    os << " (" << failuresWithinBound
       << " of them within the bound: the reference is rounded once, a result "
          "may be rounded more often)";
  if (nanMismatches != 0)
    os << " (" << nanMismatches << " by NaN)";
  // Rounded down: only a result that is equal throughout is 100 %.
  double percent = std::floor(10000.0 * exactFraction) / 100.0;
  if (exact)
    os << llvm::format(", max error %g after rounding, %g %% equal",
                       maxAbsError, percent);
  else
    os << llvm::format(
        ", max error %g before rounding (%g of its bound), %g %% "
        "equal after it",
        maxAbsError, maxBoundRatio, percent);
  if (!passed)
    os << llvm::format(", worst at %lld: expected %.9g +- %g, but got %.9g",
                       static_cast<long long>(worstIndex), worstExpected,
                       worstBound, worstActual);
  if (compared != 0 && bothNan == compared)
    os << "; every element is NaN in both, so this says nothing: look for "
          "NaN in the inputs and scales";
  else if (bothNan != 0)
    os << "; " << bothNan << " are NaN in both";
  return text;
}

} // namespace nvfp4::reference
