//===- DTypeTest.cpp - Names and decoding of element types ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values are compared with tables taken from the formats' definitions.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/TensorIO/DType.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace nvfp4::tensorio;

static double decode8(DType dtype, uint8_t bits) {
  return decodeElement(dtype, reinterpret_cast<const std::byte *>(&bits));
}

static double decode16(DType dtype, uint16_t bits) {
  return decodeElement(dtype, reinterpret_cast<const std::byte *>(&bits));
}

static constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(DTypeTest, NamesRoundTrip) {
  for (DType dtype : allDTypes()) {
    EXPECT_EQ(parseDType(dtypeName(dtype)), dtype);
    EXPECT_NE(listDTypeNames().find(dtypeName(dtype)), std::string::npos);
  }
}

TEST(DTypeTest, AcceptsForeignNames) {
  EXPECT_EQ(parseDType("bfloat16"), DType::BF16);
  EXPECT_EQ(parseDType("float8_e4m3fn"), DType::F8E4M3FN);
  EXPECT_EQ(parseDType("F8_E8M0"), DType::F8E8M0FNU);
  EXPECT_EQ(parseDType("f8E5M2"), DType::F8E5M2);
  EXPECT_EQ(parseDType("float32"), DType::F32);
  EXPECT_EQ(parseDType(""), std::nullopt);
  EXPECT_EQ(parseDType("f8"), std::nullopt);
}

TEST(DTypeTest, DecodesE4M3FN) {
  EXPECT_EQ(decode8(DType::F8E4M3FN, 0x00), 0.0);
  EXPECT_EQ(decode8(DType::F8E4M3FN, 0x01), 0x1p-9);
  EXPECT_EQ(decode8(DType::F8E4M3FN, 0x08), 0x1p-6);
  EXPECT_EQ(decode8(DType::F8E4M3FN, 0x38), 1.0);
  EXPECT_EQ(decode8(DType::F8E4M3FN, 0xb9), -1.125);
  EXPECT_EQ(decode8(DType::F8E4M3FN, 0x7e), 448.0);
  EXPECT_TRUE(std::isnan(decode8(DType::F8E4M3FN, 0x7f)));
  EXPECT_TRUE(std::isnan(decode8(DType::F8E4M3FN, 0xff)));
}

TEST(DTypeTest, DecodesE5M2) {
  EXPECT_EQ(decode8(DType::F8E5M2, 0x01), 0x1p-16);
  EXPECT_EQ(decode8(DType::F8E5M2, 0x3c), 1.0);
  EXPECT_EQ(decode8(DType::F8E5M2, 0x7b), 57344.0);
  EXPECT_EQ(decode8(DType::F8E5M2, 0xfc), -infinity);
  EXPECT_TRUE(std::isnan(decode8(DType::F8E5M2, 0x7d)));
}

TEST(DTypeTest, DecodesE8M0) {
  EXPECT_EQ(decode8(DType::F8E8M0FNU, 0), 0x1p-127);
  EXPECT_EQ(decode8(DType::F8E8M0FNU, 127), 1.0);
  EXPECT_EQ(decode8(DType::F8E8M0FNU, 254), 0x1p127);
  EXPECT_TRUE(std::isnan(decode8(DType::F8E8M0FNU, 255)));
}

TEST(DTypeTest, DecodesHalfAndBFloat) {
  EXPECT_EQ(decode16(DType::F16, 0x0001), 0x1p-24);
  EXPECT_EQ(decode16(DType::F16, 0x3c00), 1.0);
  EXPECT_EQ(decode16(DType::F16, 0xfbff), -65504.0);
  EXPECT_EQ(decode16(DType::F16, 0x7c00), infinity);
  EXPECT_TRUE(std::isnan(decode16(DType::F16, 0x7e00)));
  EXPECT_EQ(decode16(DType::BF16, 0x0001), 0x1p-133);
  EXPECT_EQ(decode16(DType::BF16, 0xbf80), -1.0);
  EXPECT_EQ(decode16(DType::BF16, 0xff80), -infinity);
  EXPECT_TRUE(std::isnan(decode16(DType::BF16, 0x7fc0)));
}

TEST(DTypeTest, DecodesIntegers) {
  EXPECT_EQ(decode8(DType::Bool, 2), 1.0);
  EXPECT_EQ(decode8(DType::U8, 0xff), 255.0);
  EXPECT_EQ(decode8(DType::I8, 0xff), -1.0);
  EXPECT_EQ(decode16(DType::U16, 0x8000), 32768.0);
  EXPECT_EQ(decode16(DType::I16, 0x8000), -32768.0);
}
