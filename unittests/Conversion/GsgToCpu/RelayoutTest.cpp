//===- RelayoutTest.cpp - relayout_scales and relayout_gate -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every byte of the result, padding included, against nvfp4/Format.
//
//===----------------------------------------------------------------------===//

#include "OpJit.h"
#include "QuantizeCases.h"

#include "nvfp4/Format/GateLayout.h"

#include <gtest/gtest.h>

#include <random>

using namespace nvfp4;
using namespace nvfp4::gsg::cpu;
using format::BlockFormat;
using format::GroupStart;
using format::ScaleLayout;
using format::ScaleMatrix;

namespace {
constexpr ScaleLayout kLayouts[] = {
    ScaleLayout::Linear, ScaleLayout::Blocked128x4, ScaleLayout::Blocked8x4};

std::vector<uint8_t> randomBytes(int64_t count) {
  std::mt19937 random(3);
  std::vector<uint8_t> bytes;
  for (int64_t i = 0; i < count; ++i)
    bytes.push_back(static_cast<uint8_t>(random() % 127));
  return bytes;
}

std::string layoutName(ScaleLayout layout) {
  return layout == ScaleLayout::Linear
             ? ""
             : ", " + std::string(format::stringify(layout));
}

std::string innerDims(ScaleLayout layout) {
  return layout == ScaleLayout::Linear         ? ""
         : layout == ScaleLayout::Blocked128x4 ? "32x4x4x"
                                               : "8x4x";
}

std::vector<int64_t> scaleShape(std::vector<int64_t> batch,
                                const ScaleMatrix &m) {
  if (m.layout == ScaleLayout::Linear) {
    batch.insert(batch.end(), {m.rows, m.columns});
    return batch;
  }
  bool large = m.layout == ScaleLayout::Blocked128x4;
  int64_t tile = large ? 128 : 8;
  batch.insert(batch.end(), {(m.rows + tile - 1) / tile, (m.columns + 3) / 4});
  if (large)
    batch.insert(batch.end(), {32, 4, 4});
  else
    batch.insert(batch.end(), {8, 4});
  return batch;
}

TEST(RelayoutScales, EveryPairOfLayouts) {
  constexpr int64_t batches = 2;
  for (BlockFormat f : {BlockFormat::NVFP4, BlockFormat::MXFP8_E4M3})
    for (ScaleLayout from : kLayouts)
      for (ScaleLayout to : kLayouts) {
        if (from == to)
          continue;
        SCOPED_TRACE(layoutName(from) + layoutName(to));
        std::string scale = scaleElementOf(f);
        std::string codes = "memref<?x?x?x" + elementOf(f) + ">";
        std::string in = "memref<?x?x?x" + innerDims(from) + scale + ">";
        std::string out = "memref<?x?x?x" + innerDims(to) + scale + ">";
        OpJit jit(
            "%q: " + codes + ", %a: " + in + ", %b: " + out,
            "grouped_scaled_gemm.relayout_scales(%q scaled_by %a : " + codes +
                ", " + in + " as " + scaledType(f, "?x?x?", layoutName(from)) +
                ") outs(%b : " + out + " as " +
                scaledType(f, "?x?x?", layoutName(to)) + ")");
        ASSERT_TRUE(jit.succeeded());
        for (auto [rows, columns] :
             {std::pair<int64_t, int64_t>{130, 17}, {8, 4}, {1, 3}, {0, 5}}) {
          ScaleMatrix source{from, rows, columns}, target{to, rows, columns};
          int64_t k = columns * format::blockSize(f);
          Memory<uint8_t> data({batches, rows, format::rowBytes(f, k)});
          Memory<uint8_t> a(scaleShape({batches}, source),
                            randomBytes(batches * source.totalBytes()));
          Memory<uint8_t> b(scaleShape({batches}, target));
          jit({data, a, b});
          std::vector<uint8_t> want;
          for (int64_t i = 0; i < batches; ++i) {
            std::vector<uint8_t> one(static_cast<size_t>(target.totalBytes()));
            ASSERT_TRUE(format::relayoutScales(
                source,
                {a.data() + i * source.totalBytes(),
                 static_cast<size_t>(source.totalBytes())},
                target, one, format::paddingScale(format::scaleKind(f))));
            want.insert(want.end(), one.begin(), one.end());
          }
          EXPECT_EQ(firstDifference(b.values(), want), -1);
        }
      }
}

struct Start {
  ScaleLayout layout;
  GroupStart start;
  std::string suffix() const {
    return layoutName(layout) +
           (start == GroupStart::Whole
                ? ""
                : ", starts = " + std::string(format::stringify(start)));
  }
};

TEST(RelayoutScales, BetweenGroupStarts) {
  constexpr BlockFormat f = BlockFormat::NVFP4;
  const Start starts[] = {{ScaleLayout::Linear, GroupStart::Whole},
                          {ScaleLayout::Linear, GroupStart::Compact},
                          {ScaleLayout::Blocked128x4, GroupStart::Compact},
                          {ScaleLayout::Blocked128x4, GroupStart::UpperBound},
                          {ScaleLayout::Blocked8x4, GroupStart::Compact}};
  std::vector<int64_t> first = {0, 32, 32, 192}, count = {5, 0, 131, 32};
  std::vector<int32_t> ends = {5, 32, 163, 224};
  constexpr int64_t rows = 230, columns = 7;
  for (const Start &from : starts)
    for (const Start &to : starts) {
      SCOPED_TRACE(from.suffix() + " ->" + to.suffix());
      std::vector<int64_t> a0(4), b0(4);
      ScaleMatrix source{
          from.layout,
          format::groupStartRows(from.start, from.layout, first, count, a0),
          columns};
      ScaleMatrix target{
          to.layout,
          format::groupStartRows(to.start, to.layout, first, count, b0),
          columns};
      std::string in = "memref<?x?x" + innerDims(from.layout) + "f8E4M3FN>";
      std::string out = "memref<?x?x" + innerDims(to.layout) + "f8E4M3FN>";
      OpJit jit("%q: memref<?x?xi8>, %o: memref<?xi32>, %a: " + in +
                    ", %b: " + out,
                "grouped_scaled_gemm.relayout_scales(%q scaled_by %a : "
                "memref<?x?xi8>, " +
                    in + " as " + scaledType(f, "?x?", from.suffix()) +
                    ") groups(%o : memref<?xi32>) as "
                    "<ragged_rows, ends, align = 32> outs(%b : " +
                    out + " as " + scaledType(f, "?x?", to.suffix()) + ")");
      ASSERT_TRUE(jit.succeeded());
      Memory<uint8_t> data({rows, columns * 8});
      Memory<int32_t> offsets({4}, ends);
      Memory<uint8_t> a(scaleShape({}, source),
                        randomBytes(source.totalBytes()));
      Memory<uint8_t> b(scaleShape({}, target));
      jit({data, offsets, a, b});
      std::vector<uint8_t> want(static_cast<size_t>(target.totalBytes()), 0);
      for (size_t g = 0; g < 4; ++g)
        for (int64_t i = 0; i < count[g]; ++i)
          for (int64_t j = 0; j < columns; ++j)
            want[static_cast<size_t>(target.offset(b0[g] + i, j))] =
                a[source.offset(a0[g] + i, j)];
      EXPECT_EQ(firstDifference(b.values(), want), -1);
    }
}

struct Gate {
  int64_t granularity;
  format::GateOrder order;
  std::string text() const {
    return "<" +
           (granularity != 0 ? std::to_string(granularity)
                             : std::string("halves")) +
           ", " + std::string(format::stringify(order)) + ">";
  }
  format::GateLayout layout(int64_t rows) const {
    return {granularity != 0 ? granularity : rows / 2, order};
  }
};

TEST(RelayoutGate, ScalesMoveWithRows) {
  using enum format::GateOrder;
  const Gate gates[] = {{0, GateFirst}, {0, UpFirst},    {1, GateFirst},
                        {8, UpFirst},   {32, GateFirst}, {3, UpFirst}};
  constexpr int64_t batches = 2, rows = 192, k = 104, columns = 7;
  std::vector<int64_t> source(rows);
  for (const Gate &from : gates)
    for (const Gate &to : gates) {
      SCOPED_TRACE(from.text() + " to " + to.text());
      ASSERT_TRUE(
          format::gatePermutation(from.layout(rows), to.layout(rows), source));
      for (ScaleLayout layout : kLayouts) {
        ScaleMatrix matrix{layout, rows, columns};
        std::string scales = "memref<?x?x?x" + innerDims(layout) + "f8E4M3FN>";
        std::string type =
            scaledType(BlockFormat::NVFP4, "?x?x?", layoutName(layout));
        std::string both = "memref<?x?x?xi8>, " + scales + " as " + type;
        OpJit jit("%a: memref<?x?x?xi8>, %as: " + scales +
                      ", %b: memref<?x?x?xi8>, %bs: " + scales,
                  "grouped_scaled_gemm.relayout_gate(%a scaled_by %as : " +
                      both + ") from " + from.text() + " to " + to.text() +
                      " outs(%b scaled_by %bs : " + both + ")");
        ASSERT_TRUE(jit.succeeded());
        int64_t total = matrix.totalBytes();
        Memory<uint8_t> a({batches, rows, k / 2},
                          randomBytes(batches * rows * k / 2));
        Memory<uint8_t> as(scaleShape({batches}, matrix),
                           randomBytes(batches * total));
        Memory<uint8_t> b({batches, rows, k / 2});
        Memory<uint8_t> bs(scaleShape({batches}, matrix));
        jit({a, as, b, bs});
        for (int64_t e = 0; e < batches; ++e)
          for (int64_t i = 0; i < rows; ++i) {
            int64_t s = source[static_cast<size_t>(i)];
            ASSERT_EQ(std::memcmp(b.data() + (e * rows + i) * k / 2,
                                  a.data() + (e * rows + s) * k / 2, k / 2),
                      0)
                << "row " << i;
            for (int64_t j = 0; j < columns; ++j)
              ASSERT_EQ(bs[e * total + matrix.offset(i, j)],
                        as[e * total + matrix.offset(s, j)]);
          }
        if (layout != ScaleLayout::Linear)
          continue;
        OpJit plain("%a: memref<?x?xbf16>, %b: memref<?x?xbf16>",
                    "grouped_scaled_gemm.relayout_gate(%a : memref<?x?xbf16>) "
                    "from " +
                        from.text() + " to " + to.text() +
                        " outs(%b : memref<?x?xbf16>)");
        ASSERT_TRUE(plain.succeeded());
        Memory<uint16_t> x({3, rows}, randomMatrix(3, rows, 5).toBF16());
        Memory<uint16_t> y({3, rows});
        plain({x, y});
        for (int64_t i = 0; i < 3 * rows; ++i)
          ASSERT_EQ(y[i],
                    x[i / rows * rows + source[static_cast<size_t>(i % rows)]]);
      }
    }
}
} // namespace
