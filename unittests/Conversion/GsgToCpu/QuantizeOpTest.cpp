//===- QuantizeOpTest.cpp - quantize against the formats library ----------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The oracle is nvfp4/Format, which shares no code with what is compiled here.
//
//===----------------------------------------------------------------------===//

#include "OpJit.h"
#include "QuantizeCases.h"

#include <gtest/gtest.h>

using namespace nvfp4;
using namespace nvfp4::gsg::cpu;

namespace {

/// Quantises `x` under the names and compares every byte.
struct QuantizerTest : testing::TestWithParam<QuantizerCase> {
  void check(const OpJit &jit, const Matrix &x, float global) {
    const QuantizerCase &c = GetParam();
    Expected expected = quantizeWithFormat(c, x, global);
    Memory<uint16_t> input({x.rows, x.columns}, x.toBF16());
    Memory<uint8_t> codes({x.rows, format::rowBytes(c.format, x.columns)});
    Memory<uint8_t> scales({x.rows, format::scaleColumns(c.format, x.columns)});
    jit({input, global, int64_t{12345}, codes, scales});
    EXPECT_EQ(firstDifference(codes.values(), expected.codes), -1);
    EXPECT_EQ(firstDifference(scales.values(), expected.scales), -1);
  }
};

TEST_P(QuantizerTest, IsByteExact) {
  const QuantizerCase &c = GetParam();
  // One-level quantisers have no global scale, and only stochastic rounding
  // has a seed.
  std::string options;
  if (globalScalesOf(c).size() > 1)
    options += " global_scale(%g : f32)";
  if (c.stochastic)
    options += " seed(%seed)";
  for (bool baseline : {false, true}) {
    OpJit jit("%x: memref<?x?xbf16>, %g: f32, %seed: i64, %q: memref<?x?x" +
                  elementOf(c.format) + ">, %s: memref<?x?x" +
                  scaleElementOf(c.format) + ">",
              "grouped_scaled_gemm.quantize " + c.attribute() +
                  "(%x : memref<?x?xbf16>)" + options +
                  " outs(%q scaled_by %s : memref<?x?x" + elementOf(c.format) +
                  ">, memref<?x?x" + scaleElementOf(c.format) + "> as " +
                  scaledType(c.format, "?x?") + ")",
              baseline);
    ASSERT_TRUE(jit.succeeded());
    for (float global : globalScalesOf(c)) {
      SCOPED_TRACE(c.name() + " global " + std::to_string(global) +
                   (baseline ? " baseline" : " native"));
      check(jit, everyBF16(), global);
      check(jit, hardBlocks(global), global);
      check(jit, randomMatrix(19, 224, 1), global);
      // Lines that end in the middle of a block and of a byte.
      check(jit, randomMatrix(5, 101, 2), global);
      check(jit, randomMatrix(33, 7, 3), global);
      check(jit, Matrix(0, 64), global);
      check(jit, Matrix(3, 0), global);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, QuantizerTest,
                         testing::ValuesIn(allQuantizerCases()),
                         [](const auto &info) { return info.param.name(); });

} // namespace
