//===- CompareTest.cpp - What passes a comparison ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Single elements on either side of what a comparison lets pass: bounds, zeros,
// NaN, and infinity at the edge of each type.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Reference/Compare.h"

#include <gtest/gtest.h>

#include <limits>

using namespace nvfp4::reference;

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

CompareReport compareOne(Element element, double actual, Real reference,
                         const CompareOptions &options = {}) {
  return compare(
      Tensor::ofReals(element, {1}, {actual}),
      Tensor::ofReals(element, {1}, {reference.value}, {reference.bound}),
      options);
}

TEST(Compare, ErrorsUpToTheBoundPass) {
  EXPECT_TRUE(compareOne(Element::F32, 1.25, {1, 0.25}).passed);
  EXPECT_FALSE(compareOne(Element::F32, 1.25, {1, 0.125}).passed);
  EXPECT_TRUE(compareOne(Element::F32, 1.25, {1, 0.125}, {false, 2}).passed);
  EXPECT_FALSE(compareOne(Element::F32, 1.25, {1, 0.25}, {true, 1}).passed);
  EXPECT_DOUBLE_EQ(compareOne(Element::F32, 1.25, {1, 0.5}).maxBoundRatio, 0.5);
}

// The reference lies between two numbers of bf16, near the first: the error
// before rounding is a part of a step, after it a step or none.
TEST(Compare, SaysWhichErrorIsBeforeRounding) {
  constexpr double step = 0x1p-7;
  Real reference{1 + step / 4, step};
  EXPECT_EQ(compareOne(Element::BF16, 1, reference).str(),
            "ok: 1 compared, 0 unspecified, 0 beyond the bound, max error "
            "0.00195312 before rounding (0.25 of its bound), 100 % equal after "
            "it");
  std::string next =
      compareOne(Element::BF16, 1 + step, reference, {true, 1}).str();
  EXPECT_EQ(next.substr(0, next.find(", worst")),
            "MISMATCH: 1 compared, 0 unspecified, 1 not equal (1 of them "
            "within the bound: the reference is rounded once, a result may be "
            "rounded more often), max error 0.0078125 after rounding, 0 % "
            "equal");
  std::string far =
      compareOne(Element::BF16, 1 + 2 * step, reference, {true, 1}).str();
  EXPECT_NE(far.find("1 not equal, max error 0.015625 after rounding"),
            std::string::npos)
      << far;
}

TEST(Compare, ZerosOfEitherSignAreEqual) {
  EXPECT_TRUE(compareOne(Element::F32, -0.0, {0, 0}, {true, 1}).passed);
}

TEST(Compare, NaNAgreesWithNaNOnly) {
  EXPECT_TRUE(compareOne(Element::F32, kNaN, {kNaN, 0}).passed);
  EXPECT_FALSE(compareOne(Element::F32, kNaN, {1, 8}).passed);
  CompareReport report = compareOne(Element::F32, 1, {kNaN, 0});
  EXPECT_FALSE(report.passed);
  EXPECT_EQ(report.nanMismatches, 1);
}

TEST(Compare, WhatIsUnspecifiedIsSkipped) {
  EXPECT_EQ(compareOne(Element::F32, kNaN, {1, kInfinity}).skipped, 1);
}

// The largest number and half a step past it, which rounds to infinity.
TEST(Compare, InfinityPassesWhereTheBoundReachesIt) {
  struct {
    Element element;
    double largest, halfStep;
  } rows[] = {{Element::F32, 0x1.fffffep127, 0x1p103},
              {Element::BF16, 0x1.fep127, 0x1p119},
              {Element::F16, 65504, 16}};
  for (const auto &row : rows) {
    EXPECT_TRUE(
        compareOne(row.element, kInfinity, {row.largest, row.halfStep}).passed)
        << stringify(row.element);
    EXPECT_FALSE(
        compareOne(row.element, kInfinity, {row.largest, row.halfStep / 2})
            .passed)
        << stringify(row.element);
    EXPECT_FALSE(
        compareOne(row.element, -kInfinity, {row.largest, row.halfStep}).passed)
        << stringify(row.element);
    EXPECT_TRUE(compareOne(row.element, kInfinity, {kInfinity, 0}).passed);
    EXPECT_FALSE(compareOne(row.element, row.largest, {kInfinity, 0}).passed);
  }
}

TEST(Compare, ShapesAndTypesMustBeEqual) {
  Tensor row = Tensor::zeros(Element::F32, {4});
  EXPECT_NE(compare(Tensor::zeros(Element::F32, {2, 2}), row).error, "");
  EXPECT_NE(compare(Tensor::zeros(Element::F16, {4}), row).error, "");
}
} // namespace
