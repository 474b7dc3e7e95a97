//===- ProductOracle.cpp - the expected result of a product -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The oracle. Products are sums of code values times scales in f64, in the
// order of K; it shares no code with what is compiled.
//
//===----------------------------------------------------------------------===//

#include "ProductRunner.h"

#include "nvfp4/Format/Float16.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>

namespace nvfp4::gsg::cpu {

double ProductRunner::accumulate(int64_t g, int64_t m, int64_t n) {
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

double ProductRunner::readReal(const std::string &type, const Buffer &buffer,
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

double ProductRunner::preActivation(int64_t g, int64_t m, int64_t n) {
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

double ProductRunner::result(int64_t g, int64_t m, int64_t c) {
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

void ProductRunner::compareQuantized(std::vector<double> &y) {
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

void ProductRunner::compare() {
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
      for (int64_t n = 0; preact && n < p.columns; ++n)
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

} // namespace nvfp4::gsg::cpu
