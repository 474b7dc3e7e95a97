//===- QuantizationTest.cpp - Ways in and out of the scaled type ----------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hand-computed blocks, scale layouts with groups, and the bounds of quantised
// values.
//
//===----------------------------------------------------------------------===//

#include "TestModule.h"
#include "nvfp4/Reference/Compare.h"

#include <cmath>

namespace nvfp4::reference::test {
namespace {

/// A row of 16 values whose maximum is 6, so that the scale is 1.
std::vector<double> codesRow(double factor) {
  const double values[] = {0,    0.5, 1,  1.5,  2,  3,  4,  6,
                           -0.5, -1,  -6, -1.5, -2, -3, -4, 0};
  std::vector<double> row;
  for (double v : values)
    row.push_back(v * factor);
  return row;
}

const char *kQuantize = R"(
  !q = !grouped_scaled_gemm.scaled<?x?, nvfp4>
  func.func @f(%x: tensor<?x?xf32>) -> !q {
    %q = grouped_scaled_gemm.quantize <trtllm>(%x : tensor<?x?xf32>) -> !q
    return %q : !q
  })";

TEST(Quantize, OneBlockByHand) {
  Outcome o = run(kQuantize, {reals(Element::F32, {1, 16}, codesRow(2.0))});
  ASSERT_EQ(o.error, "");
  const ScaledValue &q = o.scaled();
  EXPECT_EQ(q.scales.bytes()[0], 0x40); // 2.0
  const uint8_t expected[] = {0x10, 0x32, 0x54, 0x76, 0xa9, 0xbf, 0xdc, 0x0e};
  for (size_t i = 0; i < 8; ++i)
    EXPECT_EQ(q.data.bytes()[i], expected[i]) << i;
  EXPECT_TRUE(q.data.codeBounds().empty());
}

TEST(Quantize, BoundsOfUncertainInputs) {
  std::vector<double> x = codesRow(1.0);
  x[1] = 0.74;  // Near the boundary between 0.5 and 1.
  x[2] = 1.125; // Far from any.
  std::vector<double> bounds(16, 0.0);
  bounds[1] = bounds[2] = 0.02;
  Outcome o =
      run(kQuantize, {Tensor::ofReals(Element::F32, {1, 16}, x, bounds)});
  ASSERT_EQ(o.error, "");
  llvm::ArrayRef<double> found = o.scaled().data.codeBounds();
  ASSERT_EQ(found.size(), 16u);
  EXPECT_EQ(found[1], 0.5);
  EXPECT_EQ(found[2], 0.0);
  EXPECT_EQ(found[7], 0.0);
  // The other code passes, two steps do not.
  for (auto [code, passes] : {std::pair{2, true}, {3, false}}) {
    Tensor data = o.scaled().data;
    data.mutableBytes()[0] =
        static_cast<uint8_t>((data.bytes()[0] & 0x0f) | code << 4);
    CompareReport report = compare(data, o.scaled().scales, o.scaled());
    EXPECT_EQ(report.passed, passes) << report.str();
  }
}

TEST(Quantize, UncertainMaximumMovesTheScale) {
  // A = 6.375 +- 0.1: the scale 1.0625 is a tie between 1 and 1.125.
  std::vector<double> x(16, 1.0), bounds(16, 0.0);
  x[0] = 6.375;
  bounds[0] = 0.1;
  Outcome o =
      run(kQuantize, {Tensor::ofReals(Element::F32, {1, 16}, x, bounds)});
  ASSERT_EQ(o.error, "");
  // 1.0 becomes 1 * 1 or 1 * 1.125.
  EXPECT_EQ(o.scaled().data.codeBounds()[5], 0.125);
}

TEST(Quantize, NaNIsPropagatedOrSaturated) {
  std::vector<double> x(16, 1.0);
  x[3] = std::nan("");
  Outcome o = run(kQuantize, {reals(Element::F32, {1, 16}, x)});
  ASSERT_EQ(o.error, "");
  EXPECT_EQ(o.scaled().data.bytes()[1] >> 4, 7);
}

/// Group of each row for ends {1, 1, 131} of 140 rows.
int groupOfRow(int64_t row) { return row < 1 ? 0 : row < 131 ? 2 : -1; }

TEST(Quantize, GroupedBlockedScales) {
  for (const char *start : {"compact", "upper_bound"}) {
    std::string type = "!grouped_scaled_gemm.scaled<140x16, nvfp4, blocked, "
                       "starts = " +
                       std::string(start) + ">";
    std::vector<double> x;
    for (int64_t r = 0; r < 140; ++r) {
      std::vector<double> row = codesRow(r % 2 ? 2.0 : 1.0);
      x.insert(x.end(), row.begin(), row.end());
    }
    Outcome o = run(
        "func.func @f(%x: tensor<140x16xf32>, %g: tensor<3xi32>, "
        "%o: tensor<140x16xf32>) -> (" +
            type + ", tensor<140x16xf32>) {\n" +
            "%q = grouped_scaled_gemm.quantize <te>(%x : tensor<140x16xf32>) "
            "groups(%g : tensor<3xi32>) as <ragged_rows, ends> -> " +
            type + "\n%d = grouped_scaled_gemm.dequantize(%q : " + type +
            ") groups(%g : tensor<3xi32>) as <ragged_rows, ends> "
            "outs(%o : tensor<140x16xf32>) -> tensor<140x16xf32>\n"
            "return %q, %d : " +
            type + ", tensor<140x16xf32>\n}",
        {reals(Element::F32, {140, 16}, x),
         integers(Element::I32, {3}, {1, 1, 131}),
         reals(Element::F32, {140, 16}, std::vector<double>(140 * 16, 9.0))});
    ASSERT_EQ(o.error, "");
    const ScaledValue &q = o.scaled();
    // Group 0 takes one tile; group 2 (130 rows) starts at 128 by both rules:
    // compact 128 + 0, upper bound floor((1 + 127 * 2) / 128) * 128.
    ASSERT_EQ(q.scales.dim(0), 3);
    auto scale = [&](int64_t row) {
      return q.scales.bytes()[static_cast<size_t>(
          row / 128 * 512 + row % 32 * 16 + row % 128 / 32 * 4)];
    };
    EXPECT_EQ(scale(0), 0x38);
    EXPECT_EQ(scale(1), 0); // Padding of group 0.
    for (int64_t r = 1; r < 131; ++r)
      EXPECT_EQ(scale(128 + r - 1), r % 2 ? 0x40 : 0x38) << r;
    for (int64_t i = 0; i < 140 * 16; ++i)
      EXPECT_EQ(o.tensor(1).real(i).value,
                groupOfRow(i / 16) < 0 ? 9.0 : x[static_cast<size_t>(i)]);
  }
}

TEST(Quantize, StorageFormKeepsTheTail) {
  Outcome o =
      run(R"(
    !q = !grouped_scaled_gemm.scaled<2x16, nvfp4>
    func.func @f(%x: tensor<2x16xf32>, %g: tensor<1xi32>, %v: tensor<2x8xi8>,
                 %s: tensor<2x1xf8E4M3FN>)
        -> (tensor<2x8xi8>, tensor<2x1xf8E4M3FN>) {
      %q:2 = grouped_scaled_gemm.quantize <trtllm>(%x : tensor<2x16xf32>)
          groups(%g : tensor<1xi32>) as <ragged_rows, ends>
          outs(%v scaled_by %s : tensor<2x8xi8>, tensor<2x1xf8E4M3FN> as !q)
          -> tensor<2x8xi8>, tensor<2x1xf8E4M3FN>
      return %q#0, %q#1 : tensor<2x8xi8>, tensor<2x1xf8E4M3FN>
    })",
          {reals(Element::F32, {2, 16}, std::vector<double>(32, 6.0)),
           integers(Element::I32, {1}, {1}),
           Tensor::ofBytes(Element::I8, {2, 8}, std::vector<uint8_t>(16, 0x5a)),
           Tensor::ofBytes(Element::F8E4M3FN, {2, 1}, {0x5a, 0x5a})});
  ASSERT_EQ(o.error, "");
  EXPECT_EQ(o.tensor(0).bytes()[0], 0x77);
  EXPECT_EQ(o.tensor(0).bytes()[8], 0x5a);
  EXPECT_EQ(o.tensor(1).bytes()[0], 0x38);
  EXPECT_EQ(o.tensor(1).bytes()[1], 0x5a);
}

/// `tensor` with another byte at `at`.
Tensor withByte(Tensor tensor, size_t at, uint8_t byte) {
  tensor.mutableBytes()[at] = byte;
  return tensor;
}

TEST(Quantize, ValueFormIsZeroOutsideGroups) {
  for (std::string format : {"mxfp8_e4m3", "nvfp4"}) {
    std::string type = "!grouped_scaled_gemm.scaled<3x32, " + format + ">";
    Outcome o =
        run("func.func @f(%x: tensor<3x32xf32>, %g: tensor<1xi32>) -> " + type +
                " {\n%q = grouped_scaled_gemm.quantize <" +
                (format == "nvfp4" ? "te" : "ocp") +
                ">(%x : tensor<3x32xf32>) groups(%g : tensor<1xi32>) "
                "as <ragged_rows, ends> -> " +
                type + "\nreturn %q : " + type + "\n}",
            {reals(Element::F32, {3, 32}, std::vector<double>(96, 6.0)),
             integers(Element::I32, {1}, {1})});
    ASSERT_EQ(o.error, "");
    const ScaledValue &q = o.scaled();
    bool isFP4 = format == "nvfp4";
    size_t row = isFP4 ? 16 : 32, lastScale = isFP4 ? 5 : 2;
    EXPECT_NE(q.data.bytes()[0], 0);
    for (size_t i = row; i < 3 * row; ++i)
      EXPECT_EQ(q.data.bytes()[i], 0) << i;
    EXPECT_EQ(q.scales.bytes()[lastScale], isFP4 ? 0 : 127);

    // The comparison looks there too.
    CompareReport same = compare(q.data, q.scales, q);
    EXPECT_TRUE(same.passed);
    EXPECT_EQ(same.compared, 96);
    EXPECT_EQ(same.skipped, 0);
    Tensor scales = withByte(q.scales, lastScale, isFP4 ? 0x38 : 127);
    EXPECT_TRUE(compare(q.data, scales, q).passed);
    EXPECT_FALSE(
        compare(withByte(q.data, 3 * row - 1, 0x05), scales, q).passed);
    uint8_t nan = isFP4 ? 0x7f : 0xff;
    EXPECT_FALSE(compare(q.data, withByte(q.scales, lastScale, nan), q).passed);
  }
}

// A re-layout keeps values outside groups; their scales are nobody's.
TEST(RelayoutScales, ComparesValuesOutsideGroups) {
  Outcome o =
      run(R"(
    !c = !grouped_scaled_gemm.scaled<3x16, nvfp4, linear, starts = compact>
    !w = !grouped_scaled_gemm.scaled<3x16, nvfp4>
    func.func @f(%v: tensor<3x8xi8>, %s: tensor<3x1xf8E4M3FN>, %g: tensor<1xi32>)
        -> !w {
      %c = grouped_scaled_gemm.make_scaled %v, %s
          : tensor<3x8xi8>, tensor<3x1xf8E4M3FN> -> !c
      %w = grouped_scaled_gemm.relayout_scales(%c : !c)
          groups(%g : tensor<1xi32>) as <ragged_rows, ends> -> !w
      return %w : !w
    })",
          {Tensor::ofBytes(Element::I8, {3, 8}, std::vector<uint8_t>(24, 0x35)),
           Tensor::ofBytes(Element::F8E4M3FN, {3, 1}, {0x38, 0x38, 0x38}),
           integers(Element::I32, {1}, {1})});
  ASSERT_EQ(o.error, "");
  const ScaledValue &w = o.scaled();
  EXPECT_TRUE(compare(w.data, withByte(w.scales, 2, 0x7f), w).passed);
  EXPECT_FALSE(compare(w.data, withByte(w.scales, 0, 0x40), w).passed);
  EXPECT_FALSE(compare(withByte(w.data, 16, 0x25), w.scales, w).passed);
}

TEST(Quantize, GlobalScaleIsChecked) {
  Outcome o = run(R"(
    !q = !grouped_scaled_gemm.scaled<1x16, nvfp4>
    func.func @f(%x: tensor<1x16xf32>, %s: f32) -> !q {
      %q = grouped_scaled_gemm.quantize <trtllm>(%x : tensor<1x16xf32>)
          global_scale(%s : f32) -> !q
      return %q : !q
    })",
                  {reals(Element::F32, {1, 16}, codesRow(1.0)), f32(0)});
  EXPECT_NE(o.error.find("finite and positive"), std::string::npos) << o.error;
}

TEST(RelayoutScales, RoundTrip) {
  Lattice a(1, 150, 80, 3);
  Outcome o = run(R"(
    !l = !grouped_scaled_gemm.scaled<150x80, nvfp4>
    !b = !grouped_scaled_gemm.scaled<150x80, nvfp4, blocked>
    !e = !grouped_scaled_gemm.scaled<150x80, nvfp4, blocked_8x4>
    func.func @f(%a: !l) -> (!b, !l) {
      %b = grouped_scaled_gemm.relayout_scales(%a : !l) -> !b
      %e = grouped_scaled_gemm.relayout_scales(%b : !b) -> !e
      %l = grouped_scaled_gemm.relayout_scales(%e : !e) -> !l
      return %b, %l : !b, !l
    })",
                  a.values());
  ASSERT_EQ(o.error, "");
  EXPECT_EQ(o.scaled(1).scales.bytes(), llvm::ArrayRef<uint8_t>(a.scales));
  llvm::ArrayRef<uint8_t> blocked = o.scaled(0).scales.bytes();
  ASSERT_EQ(blocked.size(), 2u * 2 * 512);
  for (size_t i = 0; i < 150; ++i)
    for (size_t j = 0; j < 5; ++j)
      EXPECT_EQ(blocked[(i / 128 * 2 + j / 4) * 512 + i % 32 * 16 +
                        i % 128 / 32 * 4 + j % 4],
                a.scales[i * 5 + j]);
  // Row 150 and column 5 are padding.
  EXPECT_EQ(blocked[(1 * 2 + 0) * 512 + 150 % 32 * 16], 0);
  EXPECT_EQ(blocked[512 + 1], 0);
}

TEST(RelayoutGate, MovesRowsWithTheirScales) {
  Lattice a(2, 8, 32, 4);
  Outcome o = run(R"(
    !w = !grouped_scaled_gemm.scaled<2x8x32, nvfp4>
    func.func @f(%a: !w, %o: tensor<2x8x32xf32>) -> tensor<2x8x32xf32> {
      %b = grouped_scaled_gemm.relayout_gate(%a : !w)
          from <halves, gate_first> to <2, up_first> -> !w
      %d = grouped_scaled_gemm.dequantize(%b : !w)
          outs(%o : tensor<2x8x32xf32>) -> tensor<2x8x32xf32>
      return %d : tensor<2x8x32xf32>
    })",
                  join({a.values(true), {fresh(Element::F32, {2, 8, 32})}}));
  ASSERT_EQ(o.error, "");
  const int64_t source[] = {4, 5, 0, 1, 6, 7, 2, 3};
  for (int64_t l = 0; l < 2; ++l)
    for (int64_t r = 0; r < 8; ++r)
      for (int64_t k = 0; k < 32; ++k)
        EXPECT_EQ(o.tensor().real((l * 8 + r) * 32 + k).value,
                  a.at(l, source[r], k));
}

TEST(Hadamard, MatchesTheMatrix) {
  std::vector<double> x;
  for (int i = 0; i < 16; ++i)
    x.push_back(i * i % 7 - 3);
  Outcome o =
      run(R"(
    func.func @f(%x: tensor<1x16xf32>, %o: tensor<1x16xf32>)
        -> tensor<1x16xf32> {
      %y = grouped_scaled_gemm.hadamard %x outs(%o)
          {normalized, sign_mask = 6 : i32}
          : tensor<1x16xf32>, tensor<1x16xf32> -> tensor<1x16xf32>
      return %y : tensor<1x16xf32>
    })",
          {reals(Element::F32, {1, 16}, x), fresh(Element::F32, {1, 16})});
  ASSERT_EQ(o.error, "");
  for (unsigned j = 0; j < 16; ++j) {
    double sum = 0;
    for (unsigned i = 0; i < 16; ++i)
      sum += x[i] * (i == 1 || i == 2 ? -1 : 1) *
             (__builtin_popcount(i & j) % 2 ? -1 : 1);
    EXPECT_EQ(o.tensor().real(j).value, sum / 4);
    EXPECT_EQ(o.tensor().real(j).bound, 0.0);
  }
}

} // namespace
} // namespace nvfp4::reference::test
