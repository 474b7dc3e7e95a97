//===- ProductsTest.cpp - matmul on the CPU, every form and edge *- C++ ---===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bit-exact on lattice inputs, on every instruction set of this machine.
//
//===----------------------------------------------------------------------===//

#include "ProductCase.h"

#include "gtest/gtest.h"

using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::cpu;

namespace {

ProductCase raggedRows(std::vector<int64_t> sizes, int64_t columns,
                       int64_t depth) {
  ProductCase p;
  p.kind = GroupingKind::RaggedRows;
  p.sizes = std::move(sizes);
  p.columns = columns;
  p.depth = depth;
  return p;
}

std::string bestIsa() { return stringify(detectHostIsa()).str(); }

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

TEST(Products, RaggedRowsBF16) {
  ProductCase p = raggedRows({5, 0, 17, 1}, 96, 128);
  p.alpha = 2;
  p.out = "bf16";
  p.spareRows = 3;
  checkEverywhere(p);
}

TEST(Products, EveryRowCount) {
  // One group of each size, all in one product.
  std::vector<int64_t> sizes;
  for (int64_t rows = 0; rows <= 17; ++rows)
    sizes.push_back(rows);
  ProductCase p = raggedRows(sizes, 65, 96);
  p.alpha = 1;
  checkEverywhere(p);
}

TEST(Products, RowsBeyondOneTask) {
  ProductCase p = raggedRows({300, 3, 513}, 33, 48);
  p.out = "f16";
  checkEverywhere(p);
}

TEST(Products, Dense) {
  for (auto [rows, columns, depth] :
       {std::tuple<int64_t, int64_t, int64_t>{1, 1, 16},
        {1, 200, 1040},
        {17, 63, 40},
        {9, 64, 0},
        {0, 64, 32},
        {4, 0, 32}}) {
    ProductCase p;
    p.rows = rows;
    p.columns = columns;
    p.depth = depth;
    checkEverywhere(p);
  }
}

TEST(Products, EveryFormat) {
  for (const format::BlockFormatTraits &traits : format::kBlockFormats) {
    ProductCase p = raggedRows({3, 9}, 70, 192);
    p.format = traits.format;
    checkEverywhere(p);
  }
}

// Too far from 1 for tiles of AMX, which give NaN; their products are not.
TEST(Products, ScalesFarFromOne) {
  for (auto [format, shift] : {std::pair{format::BlockFormat::MXFP4, -60},
                               {format::BlockFormat::MXFP4, 100},
                               {format::BlockFormat::NVFP4_E8M0, 50}}) {
    ProductCase p = raggedRows({40, 5, 300}, 70, 80);
    p.format = format;
    p.scaleShift = shift;
    checkEverywhere(p);
  }
  // One row, which is the last, or one column is enough.
  for (bool isRow : {true, false}) {
    ProductCase p = raggedRows({40, 300}, 70, 80);
    p.format = format::BlockFormat::MXFP4;
    p.scaleShift = 60;
    (isRow ? p.shiftedRow : p.shiftedColumn) = isRow ? 299 : 69;
    checkEverywhere(p);
    checkCase(p, {bestIsa(), 3});
  }
}

// More panels of columns than a band of tasks has.
TEST(Products, ManyPanels) {
  ProductCase p = raggedRows({130, 0, 7, 300}, 64 * 17 + 5, 32);
  p.amax = true;
  for (int threads : {1, 3})
    checkCase(p, {bestIsa(), threads});
}

TEST(Products, RaggedRowsScaleStarts) {
  for (ScaleLayout layout :
       {ScaleLayout::Linear, ScaleLayout::Blocked, ScaleLayout::Blocked8x4})
    for (GroupStart start :
         {GroupStart::Whole, GroupStart::Compact, GroupStart::UpperBound})
      for (OffsetsKind offsets : {OffsetsKind::Ends, OffsetsKind::Starts}) {
        if (start == GroupStart::UpperBound && layout != ScaleLayout::Blocked)
          continue;
        ProductCase p = raggedRows({130, 0, 7, 40}, 40, 80);
        p.lhsLayout = layout;
        p.start = start;
        p.offsets = offsets;
        p.rhsLayout = layout;
        p.align = offsets == OffsetsKind::Ends ? 8 : 1;
        p.wideOffsets = offsets == OffsetsKind::Starts;
        checkCase(p, {});
      }
}

TEST(Products, AllGroupsEmpty) {
  ProductCase p = raggedRows({0, 0, 0}, 32, 32);
  p.spareRows = 4;
  p.amax = true;
  checkCase(p, {});
  p.zeroTail = true;
  checkCase(p, {});
}

TEST(Products, Batched) {
  ProductCase p;
  p.kind = GroupingKind::Batched;
  p.sizes = {0, 0, 0};
  p.rows = 11;
  p.columns = 70;
  p.depth = 112;
  p.alpha = 2;
  for (bool discrete : {false, true})
    for (ScaleLayout layout : {ScaleLayout::Linear, ScaleLayout::Blocked}) {
      p.discrete = discrete;
      p.lhsLayout = p.rhsLayout = layout;
      checkCase(p, {});
    }
}

TEST(Products, Masked) {
  for (const std::vector<int64_t> &counts :
       {std::vector<int64_t>{20, 0, 7}, {0, 0, 0}, {20, 20, 20}})
    for (bool zero : {false, true}) {
      ProductCase p;
      p.kind = GroupingKind::Masked;
      p.sizes = counts;
      p.rows = 20;
      p.columns = 50;
      p.depth = 64;
      p.zeroTail = zero;
      p.out = "bf16";
      p.amax = true;
      checkCase(p, {});
    }
}

TEST(Products, RaggedK) {
  for (bool accumulate : {false, true}) {
    ProductCase p;
    p.kind = GroupingKind::RaggedK;
    p.rows = 19;
    p.columns = 70;
    p.sizes = {32, 0, 48, 16};
    p.align = 16;
    p.beta = accumulate;
    checkEverywhere(p);
    p.start = GroupStart::Compact;
    p.align = 1;
    // Odd sizes put later groups on odd nibbles.
    p.sizes = {33, 7, 0, 50};
    p.spareRows = 5;
    checkEverywhere(p);
    p.lhsLayout = ScaleLayout::Blocked;
    p.rhsLayout = ScaleLayout::Blocked8x4;
    checkEverywhere(p);
  }
}

TEST(Products, DiscreteWeights) {
  ProductCase p = raggedRows({4, 0, 12}, 100, 64);
  p.discrete = true;
  p.bias = 2;
  checkEverywhere(p);
}

TEST(Products, EpilogueOrder) {
  for (const char *position :
       {"gemm", "bias", "pre_activation", "post_activation"})
    for (int bias : {1, 2}) {
      ProductCase p = raggedRows({6, 3}, 70, 32);
      p.alpha = 2;
      p.bias = bias;
      p.prob = position;
      p.addend = true;
      p.beta = true;
      p.preact = true;
      p.amax = true;
      p.activation = "<relu>";
      p.function = [](double z, double) { return std::max(z, 0.0); };
      checkCase(p, {});
    }
}

TEST(Products, AccumulatesInPlace) {
  for (const char *type : {"f32", "bf16", "f16"}) {
    ProductCase p = raggedRows({6, 3}, 70, 32);
    p.beta = true;
    p.out = type;
    p.alpha = 2;
    checkCase(p, {});
  }
}

TEST(Products, GateLayouts) {
  for (auto [granularity, order] :
       {std::pair<int64_t, format::GateOrder>{0, format::GateOrder::GateFirst},
        {0, format::GateOrder::UpFirst},
        {1, format::GateOrder::GateFirst},
        {8, format::GateOrder::UpFirst},
        {20, format::GateOrder::GateFirst}}) {
    ProductCase p = raggedRows({6, 9}, 80, 64);
    p.alpha = 3;
    p.bias = 1;
    p.preact = true;
    p.gate = format::NamedGateLayout{"", granularity, order};
    std::string gate = (granularity ? std::to_string(granularity) : "halves") +
                       ", " + std::string(format::stringify(order));
    // u where g is positive: exact, and both sides matter.
    p.activation = "<custom, gate = <" + gate + ">>";
    p.custom = "epilogue {\n^bb0(%g: f32, %u: f32):\n"
               "%zero = arith.constant 0.0 : f32\n"
               "%m = arith.maximumf %g, %zero : f32\n"
               "%s = arith.subf %m, %u : f32\n"
               "grouped_scaled_gemm.yield %s : f32\n}";
    p.function = [](double g, double u) { return std::max(g, 0.0) - u; };
    checkEverywhere(p);
  }
}

TEST(Products, Activations) {
  struct Row {
    const char *text;
    bool paired;
    std::function<double(double, double)> function;
  };
  // 0.5 g (1 + tanh(w)) = g sigmoid(2w), without cancellation.
  auto gelu = [](double g) {
    return g * sigmoid(2 * 0.7978845608028654 * (g + 0.044715 * g * g * g));
  };
  for (const Row &row : std::initializer_list<Row>{
           {"<silu>", false, [](double z, double) { return z * sigmoid(z); }},
           {"<relu2>", false,
            [](double z, double) { return z > 0 ? z * z : 0; }},
           {"<swiglu, gate = <halves, gate_first>>", true,
            [](double g, double u) { return g * sigmoid(g) * u; }},
           {"<swiglu, gate = <halves, gate_first>, alpha = 1.75, beta = 1.0, "
            "limit = 2.0>",
            true,
            [](double g, double u) {
              g = std::min(g, 2.0);
              u = std::max(std::min(u, 2.0), -2.0);
              return g * sigmoid(1.75 * g) * (u + 1);
            }},
           {"<geglu_tanh, gate = <halves, gate_first>>", true,
            [&](double g, double u) { return gelu(g) * u; }}}) {
    ProductCase p = raggedRows({6, 9}, 96, 64);
    p.alpha = 2;
    p.activation = row.text;
    p.function = row.function;
    // At most four roundings to f32, and 0.51 ulp of the sigmoid twice.
    p.tolerance = 0x1p-21;
    if (row.paired)
      p.gate = format::NamedGateLayout{"", 0, format::GateOrder::GateFirst};
    checkEverywhere(p);
  }
}

TEST(Products, EveryQuantizer) {
  for (const format::QuantizerTraits &quantizer : format::kQuantizers)
    for (const format::BlockFormatTraits &format : format::kBlockFormats) {
      if (!format::supports(quantizer.quantizer, format.format))
        continue;
      ProductCase p = raggedRows({6, 9}, 64 + format.blockSize, 96);
      p.format = format.format;
      p.quantizer = quantizer.quantizer;
      p.alpha = 2;
      checkCase(p, {});
    }
}

TEST(Products, QuantizedLayouts) {
  for (ScaleLayout layout :
       {ScaleLayout::Linear, ScaleLayout::Blocked, ScaleLayout::Blocked8x4})
    for (GroupStart start :
         {GroupStart::Whole, GroupStart::Compact, GroupStart::UpperBound})
      for (bool zero : {false, true}) {
        if (start == GroupStart::UpperBound && layout != ScaleLayout::Blocked)
          continue;
        ProductCase p = raggedRows({130, 0, 7}, 96, 64);
        p.quantizer = format::Quantizer::Trtllm;
        p.outLayout = layout;
        p.outStart = start;
        p.spareRows = 5;
        p.zeroTail = zero;
        p.amax = true;
        checkCase(p, {});
      }
}

TEST(Products, CustomRegion) {
  ProductCase p = raggedRows({6, 9}, 70, 64);
  p.activation = "<custom>";
  p.custom = "epilogue {\n^bb0(%z: f32):\n%two = arith.constant 2.0 : f32\n"
             "%p = arith.cmpf ogt, %z, %two : f32\n"
             "%w = arith.mulf %z, %two : f32\n"
             "%y = arith.select %p, %w, %z : f32\n"
             "grouped_scaled_gemm.yield %y : f32\n}";
  p.function = [](double z, double) { return z > 2 ? 2 * z : z; };
  p.amax = true;
  checkCase(p, {});
}

TEST(Products, MixedFormats) {
  ProductCase p = raggedRows({3, 9}, 70, 192);
  p.format = format::BlockFormat::MXFP8_E4M3;
  p.weightFormat = format::BlockFormat::MXFP4;
  checkEverywhere(p);
  p.kind = GroupingKind::RaggedK;
  p.rows = 5;
  p.start = GroupStart::Compact;
  p.sizes = {33, 7};
  checkEverywhere(p);
}

TEST(Products, ThreadsAndDispatch) {
  ASSERT_TRUE(haveThreads()) << "no OpenMP library";
  ProductCase p = raggedRows({300, 0, 40, 1}, 260, 160);
  p.gate = format::NamedGateLayout{"", 1, format::GateOrder::GateFirst};
  p.activation = "<swiglu, gate = <1, gate_first>>";
  p.function = [](double g, double u) { return g * sigmoid(g) * u; };
  // Two products are rounded to f32 once each, 2^-24, and the sigmoid is 0.51
  // units in the last place off, 1.02 * 2^-24: 3.02 of the 4 allowed.
  p.tolerance = 0x1p-22;
  p.alpha = 2;
  p.amax = true;
  std::vector<uint8_t> expected = checkCase(p, {"generic", 0});
  for (int threads : {1, 2, 3})
    EXPECT_EQ(expected, checkCase(p, {"auto", threads})) << threads;
  EXPECT_EQ(expected, checkCase(p, {"avx512vnni,generic,avx2", 2}));
}

} // namespace
