//===- QuantizeGroupsTest.cpp - quantize and dequantize by group ----------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each group is quantised on its own by nvfp4/Format, with linear scales, and
// every byte is put where the layout and the group start say. Bytes that belong
// to no group must keep what they held.
//
//===----------------------------------------------------------------------===//

#include "OpJit.h"
#include "QuantizeCases.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace nvfp4;
using namespace nvfp4::gsg::cpu;
using format::BlockFormat;
using format::GroupStart;
using format::Quantizer;
using format::ScaleLayout;

namespace {
constexpr uint8_t kSentinel = 0xA5;

struct Range {
  int64_t begin, size;
};

struct Layout {
  ScaleLayout layout;
  GroupStart start;

  std::string suffix() const {
    std::string text;
    if (layout != ScaleLayout::Linear)
      text += ", " + std::string(format::stringify(layout));
    if (start != GroupStart::Whole)
      text += ", starts = " + std::string(format::stringify(start));
    return text;
  }
  /// The dimensions of the memref of scales, all but the inner ones dynamic.
  std::string dims() const {
    return layout == ScaleLayout::Linear         ? "?x?x"
           : layout == ScaleLayout::Blocked128x4 ? "?x?x32x4x4x"
                                                 : "?x?x8x4x";
  }
  std::vector<int64_t> shape(int64_t rows, int64_t columns) const {
    if (layout == ScaleLayout::Linear)
      return {rows, columns};
    if (layout == ScaleLayout::Blocked128x4)
      return {(rows + 127) / 128, (columns + 3) / 4, 32, 4, 4};
    return {(rows + 7) / 8, (columns + 3) / 4, 8, 4};
  }
};

const Layout kLayouts[] = {
    {ScaleLayout::Linear, GroupStart::Whole},
    {ScaleLayout::Linear, GroupStart::Compact},
    {ScaleLayout::Blocked128x4, GroupStart::Compact},
    {ScaleLayout::Blocked128x4, GroupStart::UpperBound},
    {ScaleLayout::Blocked8x4, GroupStart::Compact},
};

/// The part of a matrix with some of its rows and columns.
Matrix slice(const Matrix &x, Range rows, Range columns) {
  Matrix part(rows.size, columns.size);
  for (int64_t i = 0; i < rows.size; ++i)
    for (int64_t j = 0; j < columns.size; ++j)
      part.at(i, j) = x.values[static_cast<size_t>(
          (rows.begin + i) * x.columns + columns.begin + j)];
  return part;
}

uint8_t getCode(BlockFormat f, const uint8_t *row, int64_t k) {
  if (format::elementBits(f) == 8)
    return row[k];
  return k % 2 != 0 ? row[k / 2] >> 4 : row[k / 2] & 15;
}

void setCode(BlockFormat f, uint8_t *row, int64_t k, uint8_t code) {
  if (format::elementBits(f) == 8)
    row[k] = code;
  else if (k % 2 != 0)
    row[k / 2] = static_cast<uint8_t>((row[k / 2] & 15) | code << 4);
  else
    row[k / 2] = static_cast<uint8_t>((row[k / 2] & 0xF0) | code);
}

/// The offsets of groups as the attribute wants them.
std::vector<int32_t> offsetsOf(const std::vector<Range> &groups, bool ends) {
  std::vector<int32_t> offsets;
  for (const Range &group : groups)
    offsets.push_back(
        static_cast<int32_t>(ends ? group.begin + group.size : group.begin));
  if (!ends)
    offsets.push_back(
        static_cast<int32_t>(groups.back().begin + groups.back().size));
  return offsets;
}

/// Names the types of a quantise or dequantise operation.
struct Names {
  BlockFormat f;
  Layout layout;
  std::string codes() const { return "memref<?x?x" + elementOf(f) + ">"; }
  std::string scales() const {
    return "memref<" + layout.dims() + scaleElementOf(f) + ">";
  }
  std::string scaled() const {
    return codes() + ", " + scales() + " as " +
           scaledType(f, "?x?", layout.suffix());
  }
};

OpJit compileQuantize(const Names &names, const QuantizerCase &c,
                      const std::string &grouping) {
  return OpJit("%x: memref<?x?xbf16>, %o: memref<?xi32>, %g: memref<?xf32>, "
               "%q: " +
                   names.codes() + ", %s: " + names.scales(),
               "grouped_scaled_gemm.quantize " + c.attribute() +
                   "(%x : memref<?x?xbf16>) groups(%o : memref<?xi32>) as " +
                   grouping +
                   " global_scale(%g : memref<?xf32>) outs(%q scaled_by %s : " +
                   names.scaled() + ")");
}

OpJit compileDequantize(const Names &names, const std::string &grouping) {
  return OpJit(
      "%q: " + names.codes() + ", %s: " + names.scales() +
          ", %o: memref<?xi32>, %g: memref<?xf32>, "
          "%y: memref<?x?xf32>",
      "grouped_scaled_gemm.dequantize(%q scaled_by %s : " + names.scaled() +
          ") groups(%o : memref<?xi32>) as " + grouping +
          " global_scale(%g : memref<?xf32>) "
          "outs(%y : memref<?x?xf32>)");
}

/// Whether every element of a group has the exact value of its code, and all
/// others are as they were (NaN).
void checkDequantized(const Names &names, const std::string &grouping,
                      const std::vector<int32_t> &offsets,
                      const std::vector<float> &globals, Memory<uint8_t> &codes,
                      Memory<uint8_t> &scales, int64_t rows, int64_t columns,
                      const std::vector<float> &expected) {
  OpJit jit = compileDequantize(names, grouping);
  ASSERT_TRUE(jit.succeeded());
  Memory<int32_t> groups({static_cast<int64_t>(offsets.size())}, offsets);
  Memory<float> global({static_cast<int64_t>(globals.size())}, globals);
  Memory<float> out({rows, columns});
  jit({codes, scales, groups, global, out});
  for (int64_t i = 0; i < out.size(); ++i) {
    float e = expected[static_cast<size_t>(i)];
    if (std::isnan(e))
      ASSERT_TRUE(std::isnan(out[i])) << "element " << i;
    else
      ASSERT_EQ(out[i], e) << "element " << i;
  }
}

struct Sizes {
  std::vector<int64_t> sizes;
  int64_t align;
  /// Rows, or columns, after the last group.
  int64_t slack;

  std::vector<Range> ranges(bool ends) const {
    std::vector<Range> groups;
    int64_t next = 0;
    for (int64_t size : sizes) {
      int64_t begin = (next + align - 1) / align * align;
      groups.push_back({begin, size});
      // Starts leave no gaps: sizes are multiples of the alignment there.
      next = begin + (ends ? size : (size + align - 1) / align * align);
      if (!ends)
        groups.back().size = next - begin;
    }
    return groups;
  }
  int64_t extent(bool ends) const {
    Range last = ranges(ends).back();
    return last.begin + last.size + slack;
  }
};

const Sizes kSizes[] = {
    {{3, 0, 130, 1, 17}, 1, 5},
    {{0, 0, 0}, 1, 4},
    {{5, 0, 40, 128}, 32, 1},
    {{0, 129, 0, 2}, 128, 0},
};

std::string groupingText(const char *kind, bool ends, int64_t align) {
  return std::string("<") + kind + (ends ? ", ends" : ", starts") +
         (align != 1 ? ", align = " + std::to_string(align) : "") + ">";
}

/// One way to cut a matrix: by rows or along K, into groups of these sizes,
/// with scales in this layout.
struct Cut {
  bool alongK;
  Layout layout;
  Sizes sizes;
  bool ends;
  QuantizerCase quantizer;
  /// The extent that groups do not cut.
  int64_t other;

  std::string grouping() const {
    return groupingText(alongK ? "ragged_k" : "ragged_rows", ends, sizes.align);
  }
};

/// What quantisation and dequantisation of `x` by groups must leave in buffers
/// that held the sentinel (bytes) and NaN (values).
struct Wanted {
  format::ScaleMatrix matrix;
  std::vector<uint8_t> codes, scales;
  std::vector<float> values, globals;
};

Wanted expectedOf(const Cut &cut, const std::vector<Range> &groups,
                  const Matrix &x) {
  BlockFormat f = cut.quantizer.format;
  ScaleLayout layout = cut.layout.layout;
  std::vector<int64_t> first, count, starts(groups.size());
  for (Range r : groups) {
    first.push_back(r.begin);
    count.push_back(r.size);
  }
  Wanted want;
  if (cut.alongK)
    want.matrix = {layout, x.rows,
                   format::groupStartScaleColumns(layout, format::blockSize(f),
                                                  count, starts)};
  else
    want.matrix = {
        layout,
        format::groupStartRows(cut.layout.start, layout, first, count, starts),
        format::scaleColumns(f, x.columns)};
  int64_t stride = format::rowBytes(f, x.columns);
  want.codes.assign(static_cast<size_t>(x.rows * stride), kSentinel);
  want.scales.assign(static_cast<size_t>(want.matrix.totalBytes()), kSentinel);
  want.values.assign(static_cast<size_t>(x.rows * x.columns), NAN);
  for (size_t g = 0; g < groups.size(); ++g) {
    want.globals.push_back(1.0f + 0.37f * static_cast<float>(g));
    Matrix part = cut.alongK ? slice(x, {0, x.rows}, groups[g])
                             : slice(x, groups[g], {0, x.columns});
    Expected e = quantizeWithFormat(cut.quantizer, part, want.globals[g]);
    int64_t blocks = format::scaleColumns(f, part.columns);
    int64_t partStride = format::rowBytes(f, part.columns);
    // Where the part begins: values and scales, rows and columns.
    int64_t row = cut.alongK ? 0 : groups[g].begin;
    int64_t column = cut.alongK ? groups[g].begin : 0;
    int64_t scaleRow = cut.alongK ? 0 : starts[g];
    int64_t scaleColumn = cut.alongK ? starts[g] : 0;
    // Rows are whole bytes, so what follows the last value of one is zero.
    if (!cut.alongK)
      std::copy(e.codes.begin(), e.codes.end(),
                want.codes.begin() + row * stride);
    for (int64_t i = 0; i < part.rows; ++i)
      for (int64_t k = 0; k < part.columns; ++k) {
        int64_t b = k / format::blockSize(f);
        uint8_t scale = e.scales[static_cast<size_t>(i * blocks + b)];
        uint8_t code =
            getCode(f, &e.codes[static_cast<size_t>(i * partStride)], k);
        setCode(f, &want.codes[static_cast<size_t>((row + i) * stride)],
                column + k, code);
        want.scales[static_cast<size_t>(
            want.matrix.offset(scaleRow + i, scaleColumn + b))] = scale;
        want.values[static_cast<size_t>((row + i) * x.columns + column + k)] =
            static_cast<float>(
                format::dequantize(f, code, scale, want.globals[g]));
      }
  }
  return want;
}

void checkCut(const Cut &cut) {
  std::string grouping = cut.grouping();
  SCOPED_TRACE(grouping + cut.layout.suffix());
  Names names{cut.quantizer.format, cut.layout};
  OpJit jit = compileQuantize(names, cut.quantizer, grouping);
  ASSERT_TRUE(jit.succeeded());
  std::vector<Range> groups = cut.sizes.ranges(cut.ends);
  int64_t extent = cut.sizes.extent(cut.ends);
  Matrix x = cut.alongK ? randomMatrix(cut.other, extent, 8)
                        : randomMatrix(extent, cut.other, 7);
  Wanted want = expectedOf(cut, groups, x);
  std::vector<int32_t> offsets = offsetsOf(groups, cut.ends);
  Memory<uint16_t> input({x.rows, x.columns}, x.toBF16());
  Memory<int32_t> offsetMemory({static_cast<int64_t>(offsets.size())}, offsets);
  Memory<float> globalMemory({static_cast<int64_t>(want.globals.size())},
                             want.globals);
  Memory<uint8_t> codes({x.rows, format::rowBytes(names.f, x.columns)});
  Memory<uint8_t> scales(
      cut.layout.shape(want.matrix.rows, want.matrix.columns));
  codes.fill(kSentinel);
  scales.fill(kSentinel);
  jit({input, offsetMemory, globalMemory, codes, scales});
  EXPECT_EQ(firstDifference(codes.values(), want.codes), -1);
  EXPECT_EQ(firstDifference(scales.values(), want.scales), -1);
  // An FP4 buffer of odd width cannot say so when its width is dynamic, but
  // the destination of dequantize does.
  checkDequantized(names, grouping, offsets, want.globals, codes, scales,
                   x.rows, x.columns, want.values);
}

class RaggedTest : public testing::TestWithParam<BlockFormat> {};

/// Every layout that can be cut so, every list of sizes, ends and starts.
void checkCuts(bool alongK, const QuantizerCase &quantizer, int64_t other) {
  for (const Layout &layout : kLayouts) {
    if (alongK && layout.start != GroupStart::Compact)
      continue;
    for (const Sizes &sizes : kSizes)
      for (bool ends : {true, false})
        checkCut({alongK, layout, sizes, ends, quantizer, other});
  }
}

TEST_P(RaggedTest, Rows) {
  bool nvfp4 = GetParam() == BlockFormat::NVFP4;
  checkCuts(/*alongK=*/false,
            {nvfp4 ? Quantizer::Trtllm : Quantizer::Cutlass, GetParam()},
            /*other=*/101);
}

TEST_P(RaggedTest, Depth) {
  bool nvfp4 = GetParam() == BlockFormat::NVFP4;
  checkCuts(/*alongK=*/true,
            {nvfp4 ? Quantizer::ModelOpt : Quantizer::Cutlass, GetParam()},
            /*other=*/9);
}

INSTANTIATE_TEST_SUITE_P(Formats, RaggedTest,
                         testing::Values(BlockFormat::NVFP4, BlockFormat::MXFP4,
                                         BlockFormat::MXFP8_E4M3),
                         [](const auto &info) {
                           return std::string(format::stringify(info.param));
                         });

TEST(QuantizeGroups, Masked) {
  BlockFormat f = BlockFormat::NVFP4;
  QuantizerCase c{Quantizer::Trtllm, f};
  OpJit jit("%x: memref<?x?x?xf32>, %o: memref<?xi64>, "
            "%q: memref<?x?x?xi8>, %s: memref<?x?x?xf8E4M3FN>",
            "grouped_scaled_gemm.quantize <trtllm>(%x : memref<?x?x?xf32>) "
            "groups(%o : memref<?xi64>) as <masked> outs(%q scaled_by %s : "
            "memref<?x?x?xi8>, memref<?x?x?xf8E4M3FN> as "
            "!grouped_scaled_gemm.scaled<?x?x?, nvfp4>)");
  ASSERT_TRUE(jit.succeeded());
  constexpr int64_t rows = 6, columns = 48;
  std::vector<int64_t> counts = {0, 6, 3, 1};
  auto groups = static_cast<int64_t>(counts.size());
  Memory<float> x({groups, rows, columns});
  Memory<int64_t> mask({groups}, counts);
  Memory<uint8_t> codes({groups, rows, columns / 2});
  Memory<uint8_t> scales({groups, rows, columns / 16});
  codes.fill(kSentinel);
  scales.fill(kSentinel);
  std::vector<uint8_t> wantCodes = codes.values(), wantScales = scales.values();
  for (int64_t g = 0; g < groups; ++g) {
    // Rows past the count stay NaN.
    Matrix part = randomMatrix(counts[static_cast<size_t>(g)], columns,
                               static_cast<uint32_t>(g));
    std::copy(part.values.begin(), part.values.end(),
              x.data() + g * rows * columns);
    Expected e = quantizeWithFormat(c, part, 1.0f);
    std::copy(e.codes.begin(), e.codes.end(),
              wantCodes.begin() + g * rows * columns / 2);
    std::copy(e.scales.begin(), e.scales.end(),
              wantScales.begin() + g * rows * columns / 16);
  }
  jit({x, mask, codes, scales});
  EXPECT_EQ(firstDifference(codes.values(), wantCodes), -1);
  EXPECT_EQ(firstDifference(scales.values(), wantScales), -1);
}

/// Blocks along the rows give what the transposed matrix gives.
TEST(QuantizeGroups, ColumnBlocks) {
  BlockFormat f = BlockFormat::NVFP4;
  for (bool square : {false, true}) {
    QuantizerCase c{Quantizer::TE, f, false, false, square};
    OpJit jit("%x: memref<?x?xbf16>, %q: memref<?x?xi8>, "
              "%s: memref<?x?xf8E4M3FN>",
              "grouped_scaled_gemm.quantize " + c.attribute() +
                  "(%x : memref<?x?xbf16>) outs(%q scaled_by %s : "
                  "memref<?x?xi8>, memref<?x?xf8E4M3FN> as " +
                  scaledType(f, "?x?", ", axis = 0") + ")");
    ASSERT_TRUE(jit.succeeded());
    constexpr int64_t rows = 45, columns = 21;
    Matrix x = randomMatrix(rows, columns, 4);
    Matrix transposed(columns, rows);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        transposed.at(j, i) = x.at(i, j);
    Expected e = quantizeWithFormat(c, transposed, 1.0f);
    Memory<uint16_t> input({rows, columns}, x.toBF16());
    Memory<uint8_t> codes({rows, (columns + 1) / 2});
    Memory<uint8_t> scales({(rows + 15) / 16, columns});
    jit({input, codes, scales});
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        uint8_t want =
            getCode(f, &e.codes[static_cast<size_t>(j * ((rows + 1) / 2))], i);
        ASSERT_EQ(getCode(f, codes.data() + i * ((columns + 1) / 2), j), want)
            << i << ", " << j;
        ASSERT_EQ(scales[i / 16 * columns + j],
                  e.scales[static_cast<size_t>(j * 3 + i / 16)]);
      }
  }
}

/// Wrong offsets never make the code leave its buffers.
TEST(QuantizeGroups, WrongOffsetsStayInside) {
  BlockFormat f = BlockFormat::NVFP4;
  for (const Layout &layout : kLayouts)
    for (const char *kind : {"ragged_rows", "ragged_k"})
      for (bool ends : {true, false}) {
        if (layout.start == GroupStart::UpperBound &&
            std::string(kind) == "ragged_k")
          continue;
        SCOPED_TRACE(std::string(kind) + layout.suffix());
        Names names{f, layout};
        // Blocks of the whole matrix need groups that start with a block.
        bool aligned = layout.start == GroupStart::Whole &&
                       std::string(kind) == "ragged_k";
        OpJit jit = compileQuantize(names, {Quantizer::Trtllm, f},
                                    groupingText(kind, ends, aligned ? 16 : 1));
        ASSERT_TRUE(jit.succeeded());
        constexpr int64_t rows = 20, columns = 40;
        for (std::vector<int32_t> offsets : {std::vector<int32_t>{7, 3, 25},
                                             {-5, 100000, 20},
                                             {INT32_MAX, INT32_MIN, 4}}) {
          Memory<uint16_t> input({rows, columns},
                                 randomMatrix(rows, columns, 1).toBF16());
          Memory<int32_t> groups({3}, offsets);
          Memory<float> globals({3}, {1.0f, 1.0f, 1.0f});
          Memory<uint8_t> codes({rows, columns / 2});
          Memory<uint8_t> scales(layout.shape(rows, 3));
          jit({input, groups, globals, codes, scales});
        }
      }
}
} // namespace
