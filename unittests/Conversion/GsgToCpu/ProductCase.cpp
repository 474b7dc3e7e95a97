//===- ProductCase.cpp - a product, its IR and its expected result *- C++ -===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The oracle. Products are sums of code values times scales in f64.
//
//===----------------------------------------------------------------------===//

#include "ProductCase.h"

#include "nvfp4/Format/Float16.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>

namespace nvfp4::gsg::cpu {
namespace {

format::ScaleLayout formatLayout(ScaleLayout layout) {
  return layout == ScaleLayout::Linear    ? format::ScaleLayout::Linear
         : layout == ScaleLayout::Blocked ? format::ScaleLayout::Blocked128x4
                                          : format::ScaleLayout::Blocked8x4;
}

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text;
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text;
}

/// A scaled tensor in memory: `batches` matrices of rows x length.
struct Scaled {
  Buffer *data, *scales;
  std::string type;
  format::BlockFormat format;
  format::ScaleMatrix matrix;
  int64_t rowBytes, rows;

  int64_t codeIndex(int64_t batch, int64_t row) const {
    return (batch * rows + row) * rowBytes;
  }
  double code(int64_t batch, int64_t row, int64_t k) const {
    const uint8_t *bytes = data->bytes() + codeIndex(batch, row);
    if (format::elementBits(format) == 8)
      return format::decodeElement(format::elementKind(format), bytes[k]);
    return format::decodeE2M1(k % 2 ? bytes[k / 2] >> 4 : bytes[k / 2] & 15);
  }
  uint8_t &scale(int64_t batch, int64_t row, int64_t column) const {
    return scales
        ->bytes()[batch * matrix.totalBytes() + matrix.offset(row, column)];
  }
  std::string operand() const {
    return "%" + data->name + " scaled_by %" + scales->name + " : " +
           data->type + ", " + scales->type + " as " + type;
  }
};

class Runner {
public:
  Runner(const ProductCase &p, const RunOptions &options)
      : p(p), options(options) {}
  std::vector<uint8_t> run();

private:
  using Kind = GroupingKind;
  Scaled makeScaled(std::string name, int64_t batches, int64_t rows,
                    int64_t length, ScaleLayout layout, GroupStart start,
                    int64_t scaleRows, int64_t scaleColumns,
                    format::BlockFormat format);
  void makeGroups();
  void makeOperands();
  std::string makeModule();
  void compare();
  double accumulate(int64_t g, int64_t m, int64_t n);
  double preActivation(int64_t g, int64_t m, int64_t n);
  double result(int64_t g, int64_t m, int64_t c);
  void compareQuantized(std::vector<double> &y);

  int64_t groupCount() const {
    return p.kind == Kind::Dense ? 1 : static_cast<int64_t>(p.sizes.size());
  }
  bool batched() const {
    return p.kind == Kind::Batched || p.kind == Kind::Masked;
  }
  int64_t rowsOf(int64_t g) const {
    bool ragged = p.kind == Kind::RaggedRows || p.kind == Kind::Masked;
    return ragged ? p.sizes[g] : p.rows;
  }
  int64_t depthOf(int64_t g) const {
    return p.kind == Kind::RaggedK ? p.sizes[g] : p.depth;
  }
  int64_t globalRow(int64_t g, int64_t m) const {
    return (p.kind == Kind::RaggedRows ? starts[g] : g * p.rows) + m;
  }
  int64_t small() { return static_cast<int64_t>(random() % 9) - 4; }
  double readReal(const std::string &type, const Buffer &buffer, int64_t i);

  const ProductCase &p;
  RunOptions options;
  std::mt19937 random{12345};
  Arguments args;
  std::vector<int64_t> starts, scaleStarts, outScaleStarts;
  int64_t totalRows = 0, totalDepth = 0, scaleExtent = 0, outScaleExtent = 0;
  int64_t outColumns = 0;
  Scaled lhs{}, quantized{};
  std::vector<Scaled> rhs;
  Buffer *alpha = nullptr, *bias = nullptr, *prob = nullptr, *addend = nullptr,
         *beta = nullptr, *out = nullptr, *preact = nullptr, *amax = nullptr,
         *groups = nullptr;
  std::vector<uint8_t> before;
};

Scaled Runner::makeScaled(std::string name, int64_t batches, int64_t rows,
                          int64_t length, ScaleLayout layout, GroupStart start,
                          int64_t scaleRows, int64_t scaleColumns,
                          format::BlockFormat format) {
  Scaled s;
  s.format = format;
  s.rows = rows;
  s.rowBytes = format::rowBytes(format, length);
  s.matrix = {formatLayout(layout), scaleRows, scaleColumns};
  std::vector<int64_t> batch;
  if (batches >= 0)
    batch.push_back(batches);
  int64_t count = batches < 0 ? 1 : batches;
  bool fp4 = format::elementBits(format) == 4;
  std::vector<int64_t> shape = batch;
  shape.insert(shape.end(), {rows, s.rowBytes});
  std::string element = format == format::BlockFormat::MXFP8_E4M3 ? "f8E4M3FN"
                        : fp4                                     ? "i8"
                                                                  : "f8E5M2";
  bool dynamic = p.kind == Kind::RaggedRows && name == "a";
  s.data = &args.add(name, shape, element, 1, dynamic);
  std::vector<int64_t> scaleShape = batch;
  const format::ScaleMatrix &m = s.matrix;
  if (layout == ScaleLayout::Linear)
    scaleShape.insert(scaleShape.end(), {m.rows, m.columns});
  else if (layout == ScaleLayout::Blocked)
    scaleShape.insert(scaleShape.end(),
                      {m.paddedRows() / 128, m.paddedColumns() / 4, 32, 4, 4});
  else
    scaleShape.insert(scaleShape.end(),
                      {m.paddedRows() / 8, m.paddedColumns() / 4, 8, 4});
  bool e8m0 = format::scaleKind(format) == format::ScaleKind::E8M0;
  s.scales = &args.add(name + "s", scaleShape, e8m0 ? "f8E8M0FNU" : "f8E4M3FN",
                       1, dynamic);
  s.type = "!grouped_scaled_gemm.scaled<" + shapeText(batch) +
           (dynamic ? "?x" : std::to_string(rows) + "x") +
           std::to_string(length) + ", " +
           std::string(format::stringify(format));
  if (layout != ScaleLayout::Linear)
    s.type += ", " + stringifyScaleLayout(layout).str();
  if (start != GroupStart::Whole)
    s.type += ", starts = " + stringifyGroupStart(start).str();
  s.type += ">";
  // All codes of E2M1; of the others values with few bits.
  for (int64_t i = 0; i < s.data->byteCount(); ++i)
    s.data->bytes()[i] = fp4 ? static_cast<uint8_t>(random())
                         : format == format::BlockFormat::MXFP8_E4M3
                             ? format::encodeE4M3(static_cast<float>(small()))
                             : format::encodeE5M2(static_cast<float>(small()));
  (void)count;
  return s;
}

void Runner::makeGroups() {
  int64_t tile = p.lhsLayout == ScaleLayout::Linear    ? 1
                 : p.lhsLayout == ScaleLayout::Blocked ? 128
                                                       : 8;
  int64_t outTile = p.outLayout == ScaleLayout::Linear    ? 1
                    : p.outLayout == ScaleLayout::Blocked ? 128
                                                          : 8;
  int64_t block = format::blockSize(p.format);
  int64_t at = 0, packed = 0, outPacked = 0;
  auto roundUp = [](int64_t x, int64_t to) { return (x + to - 1) / to * to; };
  for (size_t g = 0; g < p.sizes.size(); ++g) {
    bool alongK = p.kind == Kind::RaggedK;
    at = roundUp(at, p.align);
    starts.push_back(at);
    auto place = [&](GroupStart start, int64_t unit, int64_t &sum,
                     int64_t count) {
      int64_t here = alongK ? at / block : at;
      if (start == GroupStart::Compact)
        here = sum;
      if (start == GroupStart::UpperBound)
        here = (at + (unit - 1) * static_cast<int64_t>(g)) / unit * unit;
      sum += roundUp(count, unit);
      return here;
    };
    int64_t count = alongK ? (p.sizes[g] + block - 1) / block : p.sizes[g];
    int64_t unit = alongK ? (p.lhsLayout == ScaleLayout::Linear ? 1 : 4) : tile;
    scaleStarts.push_back(place(p.start, unit, packed, count));
    outScaleStarts.push_back(place(p.outStart, outTile, outPacked, p.sizes[g]));
    scaleExtent = std::max(scaleExtent, scaleStarts.back() + count);
    outScaleExtent = std::max(outScaleExtent, outScaleStarts.back() + count);
    at += p.sizes[g];
  }
  if (p.kind == Kind::RaggedRows) {
    totalRows = at + p.spareRows;
    totalDepth = p.depth;
  } else {
    totalRows = groupCount() * p.rows;
    totalDepth = p.kind == Kind::RaggedK ? at + p.spareRows : p.depth;
  }
}

void Runner::makeOperands() {
  makeGroups();
  int64_t count = groupCount();
  int64_t block = format::blockSize(p.format);
  int64_t blocks = (totalDepth + block - 1) / block;
  outColumns = p.gate ? p.columns / 2 : p.columns;
  if (p.kind == Kind::RaggedRows || p.kind == Kind::RaggedK) {
    bool ends = p.offsets == OffsetsKind::Ends;
    groups = &args.add("groups", {count + (ends ? 0 : 1)},
                       p.wideOffsets ? "i64" : "i32", p.wideOffsets ? 8 : 4);
    for (int64_t g = 0; g < groups->count; ++g) {
      int64_t last = starts.empty() ? 0 : starts.back() + p.sizes.back();
      int64_t value = ends         ? starts[g] + p.sizes[g]
                      : g == count ? last
                                   : starts[g];
      if (p.wideOffsets)
        groups->as<int64_t>()[g] = value;
      else
        groups->as<int32_t>()[g] = static_cast<int32_t>(value);
    }
  } else if (p.kind == Kind::Masked) {
    groups = &args.add("groups", {count}, "i32", 4);
    for (int64_t g = 0; g < count; ++g)
      groups->as<int32_t>()[g] = static_cast<int32_t>(p.sizes[g]);
  }
  bool whole = p.start == GroupStart::Whole;
  int64_t lhsRows = p.kind == Kind::RaggedRows ? totalRows : p.rows;
  int64_t scaleRows =
      p.kind == Kind::RaggedRows && !whole ? scaleExtent : lhsRows;
  int64_t scaleColumns =
      p.kind == Kind::RaggedK && !whole ? scaleExtent : blocks;
  lhs = makeScaled("a", batched() ? count : -1, lhsRows, totalDepth,
                   p.lhsLayout, p.start, scaleRows, scaleColumns, p.format);
  bool stacked = p.kind != Kind::Dense && p.kind != Kind::RaggedK;
  GroupStart rhsStart = p.kind == Kind::RaggedK ? p.start : GroupStart::Whole;
  int64_t numRhs = stacked && p.discrete ? count : 1;
  for (int64_t i = 0; i < numRhs; ++i)
    rhs.push_back(makeScaled("b" + std::to_string(i),
                             stacked && !p.discrete ? count : -1, p.columns,
                             totalDepth, p.rhsLayout, rhsStart, p.columns,
                             scaleColumns, p.weightFormat.value_or(p.format)));
  // Only the scales of existing blocks are numbers.
  bool e8m0 = format::scaleKind(p.format) == format::ScaleKind::E8M0;
  auto draw = [&] {
    return static_cast<uint8_t>(e8m0 ? 127 + random() % 2
                                     : 0x38 + random() % 2 * 8);
  };
  for (int64_t g = 0; g < count; ++g) {
    bool alongK = p.kind == Kind::RaggedK;
    int64_t first = alongK ? scaleStarts[g] : 0;
    int64_t used = (depthOf(g) + block - 1) / block;
    for (int64_t j = 0; j < used; ++j) {
      for (int64_t m = 0; m < rowsOf(g); ++m)
        lhs.scale(batched() ? g : 0,
                  (p.kind == Kind::RaggedRows ? scaleStarts[g] : 0) + m,
                  first + j) = draw();
      for (int64_t n = 0; n < p.columns; ++n)
        rhs[numRhs > 1 ? g : 0].scale(stacked && !p.discrete ? g : 0, n,
                                      first + j) = draw();
    }
  }
  auto reals = [&](const char *name, std::vector<int64_t> shape, double unit) {
    Buffer &b = args.add(name, std::move(shape), "f32", 4);
    for (int64_t i = 0; i < b.count; ++i)
      b.as<float>()[i] =
          static_cast<float>(static_cast<double>(small()) * unit);
    return &b;
  };
  if (p.alpha)
    alpha = reals("alpha",
                  p.alpha == 1   ? std::vector<int64_t>{}
                  : p.alpha == 2 ? std::vector<int64_t>{count}
                                 : std::vector<int64_t>{count, 2},
                  p.tolerance > 0 ? 0x1p-8 : 0.25);
  if (p.bias == 1) {
    bias = &args.add("bias", {p.columns}, "bf16", 2);
    for (int64_t i = 0; i < bias->count; ++i)
      bias->as<uint16_t>()[i] =
          format::f32ToBF16(static_cast<float>(small()) * 0.5f);
  } else if (p.bias == 2) {
    bias = reals("bias", {count, p.columns}, 0.5);
  }
  if (!p.prob.empty())
    prob = reals("prob", {totalRows}, 0.5);
  std::vector<int64_t> outer = {totalRows};
  if (batched() || p.kind == Kind::RaggedK)
    outer = {count, p.rows};
  auto shapeOf = [&](int64_t width) {
    std::vector<int64_t> shape = outer;
    shape.push_back(width);
    return shape;
  };
  if (p.beta)
    beta = reals("beta", {count}, 0.5);
  if (p.addend)
    addend = reals("addend", shapeOf(p.columns), 1.0);
  bool dynamic = p.kind == Kind::RaggedRows;
  if (p.preact)
    preact = &args.add("preact", shapeOf(p.columns), "f32", 4, dynamic);
  if (p.quantizer) {
    bool ragged = p.kind == Kind::RaggedRows;
    quantized = makeScaled(
        "q", ragged || p.kind == Kind::Dense ? -1 : count,
        ragged ? totalRows : p.rows, outColumns, p.outLayout, p.outStart,
        ragged && p.outStart != GroupStart::Whole ? outScaleExtent
        : ragged                                  ? totalRows
                                                  : p.rows,
        format::scaleColumns(p.format, outColumns), p.format);
    if (ragged) {
      // The result shares its dynamic extent with the activations.
      std::string text = std::to_string(totalRows) + "x";
      size_t at = quantized.type.find("<" + text);
      quantized.type.replace(at + 1, text.size(), "?x");
    }
    std::memset(quantized.data->bytes(), 0xEE, quantized.data->byteCount());
    std::memset(quantized.scales->bytes(), 0xEE, quantized.scales->byteCount());
  } else {
    int64_t bytes = p.out == "f32" ? 4 : 2;
    out = &args.add("out", shapeOf(outColumns), p.out, bytes, dynamic);
    if (p.beta && !p.addend)
      for (int64_t i = 0; i < out->count; ++i) {
        auto value = static_cast<float>(small());
        if (p.out == "f32")
          out->as<float>()[i] = value;
        else
          out->as<uint16_t>()[i] = p.out == "bf16" ? format::f32ToBF16(value)
                                                   : format::f32ToF16(value);
      }
    before.assign(out->bytes(), out->bytes() + out->byteCount());
  }
  if (p.amax)
    amax = &args.add("amax", {count}, "f32", 4);
}

std::string Runner::makeModule() {
  auto use = [](const char *keyword, const Buffer *buffer) {
    return buffer ? std::string(" ") + keyword + "(%" + buffer->name + " : " +
                        buffer->type + ")"
                  : std::string();
  };
  std::string grouping = stringifyGroupingKind(p.kind).str();
  if (p.kind == Kind::RaggedRows || p.kind == Kind::RaggedK) {
    grouping += ", " + stringifyOffsetsKind(p.offsets).str();
    if (p.align != 1)
      grouping += ", align = " + std::to_string(p.align);
  }
  std::string text = "func.func @f(" + args.signature() +
                     ") attributes {llvm.emit_c_interface} {\n";
  if (p.alpha == 1)
    text += "%scalar = memref.load %alpha[] : memref<f32>\n";
  text += "grouped_scaled_gemm.matmul <" + grouping + ">";
  text += use("groups", groups);
  text += " lhs(" + lhs.operand() + ") rhs(";
  for (size_t i = 0; i < rhs.size(); ++i)
    text += (i ? ", " : "") + rhs[i].operand();
  text += ")";
  text += p.alpha == 1 ? " alpha(%scalar : f32)" : use("alpha", alpha);
  text += use("beta", beta) + use("addend", addend) + use("bias", bias);
  if (prob)
    text += use("prob", prob) + " at " + p.prob;
  if (!p.activation.empty())
    text += " activation = " + p.activation;
  text += " " + p.custom;
  if (p.quantizer) {
    std::string name =
        stringifyQuantizerKind(static_cast<QuantizerKind>(*p.quantizer)).str();
    text += " quantizer = <" + name + ">";
  }
  text += use("preact_outs", preact);
  if (p.quantizer)
    text += " outs(" + quantized.operand() + ")";
  else
    text += use("outs", out);
  text += use("amax_outs", amax);
  if (p.zeroTail)
    text += " {tail = #grouped_scaled_gemm<tail zero>}";
  return text + "\nreturn\n}\n";
}

double Runner::accumulate(int64_t g, int64_t m, int64_t n) {
  int64_t block = format::blockSize(p.format);
  bool alongK = p.kind == Kind::RaggedK;
  int64_t firstK = alongK ? starts[g] : 0;
  int64_t firstBlock = alongK ? scaleStarts[g] : 0;
  int64_t batch = batched() ? g : 0;
  bool rowsShared = p.kind == Kind::RaggedRows;
  int64_t row = rowsShared ? starts[g] + m : m;
  int64_t scaleRow = rowsShared ? scaleStarts[g] + m : m;
  const Scaled &b = rhs[rhs.size() > 1 ? g : 0];
  bool stacked = p.kind != Kind::Dense && !alongK && !p.discrete;
  auto scaleOf = [&](const Scaled &s, int64_t sBatch, int64_t sRow, int64_t j) {
    return static_cast<double>(format::decodeScale(
        format::scaleKind(p.format), s.scale(sBatch, sRow, firstBlock + j)));
  };
  double sum = 0;
  for (int64_t k = 0; k < depthOf(g); ++k)
    sum += lhs.code(batch, row, firstK + k) *
           b.code(stacked ? g : 0, n, firstK + k) *
           scaleOf(lhs, batch, scaleRow, k / block) *
           scaleOf(b, stacked ? g : 0, n, k / block);
  return sum;
}

double Runner::readReal(const std::string &type, const Buffer &buffer,
                        int64_t i) {
  const uint8_t *bytes = const_cast<Buffer &>(buffer).bytes();
  if (type == "f32") {
    float value;
    std::memcpy(&value, bytes + 4 * i, 4);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, bytes + 2 * i, 2);
  return type == "bf16" ? format::bf16ToF32(bits) : format::f16ToF32(bits);
}

double Runner::preActivation(int64_t g, int64_t m, int64_t n) {
  double z = accumulate(g, m, n);
  int64_t row = globalRow(g, m);
  double w = prob ? prob->as<float>()[row] : 1;
  if (alpha) {
    bool isUp = false;
    if (p.gate)
      isUp = !p.gate->layout(outColumns).isGateRow(n);
    z *= p.alpha == 1   ? alpha->as<float>()[0]
         : p.alpha == 2 ? alpha->as<float>()[g]
                        : alpha->as<float>()[2 * g + isUp];
  }
  if (p.prob == "gemm")
    z *= w;
  double c = 0;
  if (addend)
    c = addend->as<float>()[row * p.columns + n];
  else if (beta) {
    auto read = [&](auto *data) { return data[row * p.columns + n]; };
    if (p.out == "f32")
      c = read(reinterpret_cast<const float *>(before.data()));
    else {
      uint16_t bits = read(reinterpret_cast<const uint16_t *>(before.data()));
      c = p.out == "bf16" ? format::bf16ToF32(bits) : format::f16ToF32(bits);
    }
  }
  z += beta ? c * beta->as<float>()[g] : c;
  if (bias) {
    double b = p.bias == 1 ? format::bf16ToF32(bias->as<uint16_t>()[n])
                           : bias->as<float>()[g * p.columns + n];
    z += p.prob == "bias" ? b * w : b;
  }
  return p.prob == "pre_activation" ? z * w : z;
}

double Runner::result(int64_t g, int64_t m, int64_t c) {
  double y;
  if (p.gate) {
    format::GateLayout layout = p.gate->layout(outColumns);
    y = p.function(preActivation(g, m, layout.gateRow(c)),
                   preActivation(g, m, layout.upRow(c)));
  } else {
    y = preActivation(g, m, c);
    if (p.function)
      y = p.function(y, 0);
  }
  if (p.prob == "post_activation")
    y *= prob->as<float>()[globalRow(g, m)];
  return y;
}

void Runner::compareQuantized(std::vector<double> &y) {
  // y of every row, NaN outside the groups.
  format::QuantizeParams params;
  params.format = p.format;
  int64_t block = format::blockSize(p.format);
  std::vector<uint8_t> data(quantized.data->byteCount(), p.zeroTail ? 0 : 0xEE);
  std::vector<uint8_t> scales(quantized.scales->byteCount(),
                              p.zeroTail ? 0 : 0xEE);
  for (int64_t g = 0; g < groupCount(); ++g)
    for (int64_t m = 0; m < rowsOf(g); ++m) {
      int64_t row = globalRow(g, m);
      bool ragged = p.kind == Kind::RaggedRows;
      int64_t batch = ragged ? 0 : g;
      int64_t scaleRow = (ragged ? outScaleStarts[g] : 0) + m;
      for (int64_t first = 0; first < outColumns; first += block) {
        int64_t size = std::min(block, outColumns - first);
        std::vector<float> x(size);
        for (int64_t i = 0; i < size; ++i)
          x[i] = static_cast<float>(y[row * outColumns + first + i]);
        std::vector<uint8_t> codes(size);
        uint8_t scale = format::quantizeBlock(*p.quantizer, params, x, codes);
        scales[batch * quantized.matrix.totalBytes() +
               quantized.matrix.offset(scaleRow, first / block)] = scale;
        for (int64_t i = 0; i < size; ++i) {
          bool fp4 = format::elementBits(p.format) == 4;
          int64_t column = first + i;
          uint8_t &byte =
              data[row * quantized.rowBytes + (fp4 ? column / 2 : column)];
          if (!fp4)
            byte = codes[i];
          else if (column % 2 == 0)
            byte = codes[i];
          else
            byte = static_cast<uint8_t>((byte & 15) | codes[i] << 4);
        }
      }
    }
  EXPECT_EQ(0, std::memcmp(data.data(), quantized.data->bytes(), data.size()))
      << p.describe() << ": codes";
  EXPECT_EQ(
      0, std::memcmp(scales.data(), quantized.scales->bytes(), scales.size()))
      << p.describe() << ": scales";
}

void Runner::compare() {
  std::vector<double> y(totalRows * outColumns, std::nan(""));
  std::vector<bool> covered(totalRows);
  for (int64_t g = 0; g < groupCount(); ++g) {
    double largest = 0;
    for (int64_t m = 0; m < rowsOf(g); ++m) {
      int64_t row = globalRow(g, m);
      covered[row] = true;
      for (int64_t c = 0; c < outColumns; ++c) {
        y[row * outColumns + c] = result(g, m, c);
        largest = std::max(largest, std::fabs(y[row * outColumns + c]));
      }
      if (preact)
        for (int64_t n = 0; n < p.columns; ++n)
          ASSERT_EQ(preact->as<float>()[row * p.columns + n],
                    static_cast<float>(preActivation(g, m, n)))
              << p.describe() << ": z of row " << row << ", column " << n;
    }
    if (amax && p.tolerance == 0) {
      ASSERT_EQ(amax->as<float>()[g], static_cast<float>(largest))
          << p.describe() << ": amax of group " << g;
    }
  }
  if (p.quantizer)
    return compareQuantized(y);
  for (int64_t row = 0; row < totalRows; ++row)
    for (int64_t c = 0; c < outColumns; ++c) {
      int64_t i = row * outColumns + c;
      int64_t size = out->byteCount() / std::max<int64_t>(out->count, 1);
      const uint8_t *got = out->bytes() + i * size;
      uint8_t expected[4] = {};
      auto value = static_cast<float>(y[i]);
      if (!covered[row]) {
        if (!p.zeroTail)
          std::memcpy(expected, before.data() + i * size, size);
      } else if (p.tolerance > 0) {
        double bound = p.tolerance * std::fabs(y[i]) + 1e-30;
        ASSERT_NEAR(readReal(p.out, *out, i), y[i], bound)
            << p.describe() << ": row " << row << ", column " << c;
        continue;
      } else if (p.out == "f32") {
        // The oracle sums in another order, so it may have another zero.
        value += 0.0f;
        float other;
        std::memcpy(&other, got, 4);
        if (other == 0 && value == 0)
          continue;
        std::memcpy(expected, &value, 4);
      } else {
        uint16_t bits = p.out == "bf16" ? format::f32ToBF16(value)
                                        : format::f32ToF16(value);
        uint16_t other;
        std::memcpy(&other, got, 2);
        if (((other | bits) & 0x7FFF) == 0)
          continue;
        std::memcpy(expected, &bits, 2);
      }
      ASSERT_EQ(0, std::memcmp(got, expected, size))
          << p.describe() << ": row " << row << ", column " << c
          << ": expected " << value << ", but got " << readReal(p.out, *out, i);
    }
}

std::vector<uint8_t> Runner::run() {
  makeOperands();
  std::string module = makeModule();
  auto engine = compile(module, options);
  if (!engine) {
    ADD_FAILURE() << p.describe() << ": does not compile\n" << module;
    return {};
  }
  if (!cpu::run(*engine, args, options)) {
    ADD_FAILURE() << p.describe() << ": does not run";
    return {};
  }
  compare();
  std::vector<uint8_t> bytes;
  for (Buffer *buffer : {out, preact, amax, quantized.data, quantized.scales})
    if (buffer)
      bytes.insert(bytes.end(), buffer->bytes(),
                   buffer->bytes() + buffer->byteCount());
  return bytes;
}

} // namespace

std::string ProductCase::describe() const {
  std::string text = stringifyGroupingKind(kind).str() + " " +
                     std::string(format::stringify(format)) + " sizes";
  for (int64_t size : sizes)
    text += " " + std::to_string(size);
  text += " rows " + std::to_string(rows) + " N " + std::to_string(columns) +
          " K " + std::to_string(depth) + " " + activation;
  return text;
}

std::vector<uint8_t> checkCase(const ProductCase &product,
                               const RunOptions &options) {
  return Runner(product, options).run();
}

void checkEverywhere(const ProductCase &product) {
  std::vector<uint8_t> first = checkCase(product, {"generic", 0});
  for (Isa isa : {Isa::AVX2, Isa::AVX512VNNI}) {
    if (static_cast<int>(isa) > static_cast<int>(detectHostIsa()))
      continue;
    EXPECT_EQ(first, checkCase(product, {stringify(isa).str(), 0}))
        << product.describe() << ": " << stringify(isa).str();
  }
}

} // namespace nvfp4::gsg::cpu
