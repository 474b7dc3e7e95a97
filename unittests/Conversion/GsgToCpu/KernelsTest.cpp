//===- KernelsTest.cpp - kernels against scalar and f64 oracles -*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every kernel must equal, bit for bit, a scalar chain of fmaf written from the
// definition in KernelSpec.h, and on lattice inputs an f64 sum. The operands
// end at guard pages and outputs start as NaN.
//
//===----------------------------------------------------------------------===//

#include "GuardedBuffer.h"
#include "KernelJit.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <vector>

using namespace nvfp4;
using namespace nvfp4::gsg::cpu;
using format::ElementKind;
using format::ScaleKind;

namespace {

/// Decoding from the definition of the formats: no tables, no bit tricks.
double smallFloat(unsigned code, int exponentBits, int mantissaBits, int bias) {
  unsigned exponent = (code >> mantissaBits) & ((1u << exponentBits) - 1);
  unsigned mantissa = code & ((1u << mantissaBits) - 1);
  double fraction = double(mantissa) / (1u << mantissaBits);
  double magnitude = exponent == 0
                         ? std::ldexp(fraction, 1 - bias)
                         : std::ldexp(1.0 + fraction, int(exponent) - bias);
  return (code >> (exponentBits + mantissaBits)) & 1 ? -magnitude : magnitude;
}

float element(ElementKind kind, unsigned code) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  switch (kind) {
  case ElementKind::E2M1:
    return float(smallFloat(code, 2, 1, 1));
  case ElementKind::E4M3:
    return (code & 0x7F) == 0x7F ? nan : float(smallFloat(code, 4, 3, 7));
  case ElementKind::E5M2:
    if ((code & 0x7C) == 0x7C) {
      float infinity = std::numeric_limits<float>::infinity();
      return code & 3 ? nan : code & 0x80 ? -infinity : infinity;
    }
    return float(smallFloat(code, 5, 2, 15));
  }
  return nan;
}

float scaleValue(ScaleKind kind, unsigned code) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  if (kind == ScaleKind::UE4M3)
    return code >= 0x7F ? nan : float(smallFloat(code, 4, 3, 7));
  return code == 255 ? nan : float(std::ldexp(1.0, int(code) - 127));
}

/// One operand: packed elements of `rows` rows and their scales, stored as the
/// kernel reads them and as plain codes for the oracles.
struct Operand {
  ElementKind kind;
  int64_t rows, k, blockSize, wordStride, phase;
  int64_t blocks, rowBytes;
  std::vector<uint8_t> codes, scaleCodes;
  GuardedBuffer data, scales;
  std::vector<int64_t> dataOffsets, scaleOffsets;

  static int64_t bytesOfRow(ElementKind kind, int64_t k, int64_t phase) {
    return kind == ElementKind::E2M1 ? (k + phase + 1) / 2 : k;
  }
  static int64_t scaleOffset(int64_t row, int64_t block, int64_t blocks,
                             int64_t wordStride) {
    int64_t words = (blocks + 3) / 4;
    if (wordStride == 4)
      return row * blocks + block;
    if (wordStride == 32)
      return ((row / 8) * words + block / 4) * 32 + (row % 8) * 4 + block % 4;
    return ((row / 128) * words + block / 4) * 512 + (row % 32) * 16 +
           ((row % 128) / 32) * 4 + block % 4;
  }
  static int64_t scaleBytes(int64_t rows, int64_t blocks, int64_t wordStride) {
    int64_t words = (blocks + 3) / 4;
    if (wordStride == 4)
      return rows * blocks;
    int64_t tile = wordStride == 32 ? 8 : 128;
    return (rows + tile - 1) / tile * tile * words * 4;
  }

  Operand(ElementKind kind, int64_t rows, int64_t k, int64_t blockSize,
          int64_t wordStride, int64_t phase)
      : kind(kind), rows(rows), k(k), blockSize(blockSize),
        wordStride(wordStride), phase(phase),
        blocks((k + blockSize - 1) / blockSize),
        rowBytes(bytesOfRow(kind, k, phase)), codes(rows * k),
        scaleCodes(rows * blocks), data(rows * rowBytes),
        scales(scaleBytes(rows, blocks, wordStride)) {
    for (int64_t row = 0; row < rows; ++row) {
      dataOffsets.push_back(row * rowBytes);
      scaleOffsets.push_back(scaleOffset(row, 0, blocks, wordStride));
    }
  }
  /// Writes the codes to memory; everything between is poison (NaN scales).
  void commit() {
    std::memset(data.data(), 0xFF, data.size());
    std::memset(scales.data(), 0xFF, scales.size());
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t i = 0; i < k; ++i) {
        uint8_t code = codes[row * k + i];
        uint8_t *bytes = data.data() + row * rowBytes;
        if (kind != ElementKind::E2M1) {
          bytes[i] = code;
          continue;
        }
        int64_t n = i + phase;
        int shift = n % 2 * 4;
        bytes[n / 2] = (bytes[n / 2] & ~(15 << shift)) | code << shift;
      }
      for (int64_t b = 0; b < blocks; ++b)
        scales.data()[scaleOffset(row, b, blocks, wordStride)] =
            scaleCodes[row * blocks + b];
    }
  }
  unsigned mask() const { return kind == ElementKind::E2M1 ? 15 : 255; }
};

/// The definition, one rounding at a time.
float definition(const KernelSpec &spec, const Operand &a, const Operand &b,
                 int64_t m, int64_t n) {
  bool exactBlocks = a.kind == ElementKind::E2M1 && b.kind == ElementKind::E2M1;
  float acc = 0.0f;
  for (int64_t block = 0; block < a.blocks; ++block) {
    float sum = 0.0f;
    double exact = 0.0;
    int64_t end = std::min(a.k, (block + 1) * spec.blockSize);
    for (int64_t k = block * spec.blockSize; k < end; ++k) {
      float x = element(a.kind, a.codes[m * a.k + k]);
      float y = element(b.kind, b.codes[n * b.k + k]);
      sum = std::fmaf(x, y, sum);
      exact += double(x) * double(y);
    }
    if (exactBlocks)
      sum = float(exact) + 0.0f;
    float sa = scaleValue(spec.scale, a.scaleCodes[m * a.blocks + block]);
    float sb = scaleValue(spec.scale, b.scaleCodes[n * b.blocks + block]);
    acc = spec.scale == ScaleKind::UE4M3 ? std::fmaf(sum, sa * sb, acc)
                                         : std::fmaf(sum * sa, sb, acc);
  }
  return acc;
}

double oracle(const KernelSpec &spec, const Operand &a, const Operand &b,
              int64_t m, int64_t n) {
  double acc = 0.0;
  for (int64_t k = 0; k < a.k; ++k) {
    int64_t block = k / spec.blockSize;
    acc += double(element(a.kind, a.codes[m * a.k + k])) *
           double(element(b.kind, b.codes[n * b.k + k])) *
           double(scaleValue(spec.scale, a.scaleCodes[m * a.blocks + block])) *
           double(scaleValue(spec.scale, b.scaleCodes[n * b.blocks + block]));
  }
  return acc;
}

/// Same bits; NaNs of any payload are equal.
bool sameBits(float x, float y) {
  if (std::isnan(x) || std::isnan(y))
    return std::isnan(x) && std::isnan(y);
  return std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y);
}

/// Whether a tiled kernel leaves an element to others.
bool isLeftToOthers(const KernelSpec &spec, const Operand &a, const Operand &b,
                    int64_t m, int64_t n) {
  if (!spec.isTiled() || spec.scale != ScaleKind::E8M0)
    return false;
  auto isFar = [](const Operand &operand, int64_t row, int64_t block) {
    uint8_t code = operand.scaleCodes[row * operand.blocks + block];
    auto codes = std::span(operand.codes).subspan(row * operand.k, operand.k);
    auto elements = codes.subspan(block * operand.blockSize);
    elements =
        elements.first(std::min<size_t>(elements.size(), operand.blockSize));
    bool isZeros = std::ranges::all_of(
        elements, [](uint8_t element) { return element % 8 == 0; });
    return (code < 127 - kTileExponent || code > 127 + kTileExponent) &&
           (!isZeros || code == 255);
  };
  for (int64_t block = 0; block < a.blocks; ++block)
    if (isFar(a, m, block) || isFar(b, n, block))
      return true;
  return false;
}

/// Runs all rows of `a` against the first `columns` rows of `b`.
std::vector<float> runKernel(const CompiledKernel &kernel, const Operand &a,
                             const Operand &b, int64_t columns) {
  auto &mutableA = const_cast<Operand &>(a);
  auto &mutableB = const_cast<Operand &>(b);
  GuardedBuffer prepared(kernel.plan.getPreparedBytes(a.rows, a.k));
  std::memset(prepared.data(), 0xFF, prepared.size());
  kernel.prepareRows(mutableA.data.data(), mutableA.scales.data(),
                     a.dataOffsets.data(), a.scaleOffsets.data(), a.rows, a.k,
                     a.wordStride, a.phase, prepared.data());
  std::vector<int64_t> columnData, columnScales;
  for (int64_t n = 0; n < kPanelColumns; ++n) {
    int64_t row = std::min(n, columns - 1);
    columnData.push_back(b.dataOffsets[row]);
    columnScales.push_back(b.scaleOffsets[row]);
  }
  GuardedBuffer scratch(kernel.plan.getScratchBytes());
  GuardedBuffer acc(kernel.plan.getAccumulatorBytes(a.rows));
  std::memset(scratch.data(), 0xFF, scratch.size());
  std::memset(acc.data(), 0xFF, acc.size());
  kernel.gemmTile(prepared.data(), a.rows, a.k, mutableB.data.data(),
                  mutableB.scales.data(), columnData.data(),
                  columnScales.data(), columns, b.wordStride, b.phase,
                  columnData.data(), columnScales.data(), scratch.data(),
                  acc.as<float>());
  std::vector<float> result(a.rows * columns);
  for (int64_t m = 0; m < a.rows; ++m)
    for (int64_t n = 0; n < columns; ++n)
      result[m * columns + n] = acc.as<float>()[m * kPanelColumns + n];
  return result;
}

void fillRandom(Operand &x, ScaleKind kind, std::mt19937 &random) {
  for (uint8_t &code : x.codes) {
    code = random() & x.mask();
    // Specials have their own tests.
    if (x.kind == ElementKind::E4M3 && (code & 0x7F) == 0x7F)
      code = 0;
    if (x.kind == ElementKind::E5M2 && (code & 0x7C) == 0x7C)
      code = 0;
  }
  for (uint8_t &code : x.scaleCodes)
    code = kind == ScaleKind::UE4M3 ? random() % 0x7F : 100 + random() % 60;
}

constexpr ElementKind E2M1 = ElementKind::E2M1, E4M3 = ElementKind::E4M3,
                      E5M2 = ElementKind::E5M2;

std::vector<Isa> availableIsas() {
  std::vector<Isa> isas;
  for (Isa isa :
       {Isa::Generic, Isa::AVX2, Isa::AVX512VNNI, Isa::AVX512BF16, Isa::AMX})
    if (isa <= detectHostIsa())
      isas.push_back(isa);
  return isas;
}

std::vector<KernelSpec> allSpecs() {
  std::vector<KernelSpec> specs;
  for (Isa isa : availableIsas()) {
    specs.push_back({isa, E2M1, E2M1, ScaleKind::UE4M3, 16});
    specs.push_back({isa, E2M1, E2M1, ScaleKind::E8M0, 16});
    specs.push_back({isa, E2M1, E2M1, ScaleKind::E8M0, 32});
    if (isa == Isa::AMX)
      continue;
    specs.push_back({isa, E4M3, E4M3, ScaleKind::E8M0, 32});
    specs.push_back({isa, E5M2, E4M3, ScaleKind::E8M0, 32});
    specs.push_back({isa, E4M3, E2M1, ScaleKind::E8M0, 32});
    specs.push_back({isa, E4M3, E5M2, ScaleKind::UE4M3, 16});
  }
  return specs;
}

const KernelJit &jit() {
  static KernelJit instance(allSpecs());
  return instance;
}

class KernelsTest : public testing::TestWithParam<KernelSpec> {
protected:
  void SetUp() override {
    ASSERT_TRUE(jit().succeeded());
    kernel.emplace(jit().get(GetParam()));
  }
  void compare(const Operand &a, const Operand &b, int64_t columns) {
    std::vector<float> actual = runKernel(*kernel, a, b, columns);
    for (int64_t m = 0; m < a.rows; ++m)
      for (int64_t n = 0; n < columns; ++n) {
        float expected = definition(GetParam(), a, b, m, n);
        if (isLeftToOthers(GetParam(), a, b, m, n))
          expected = std::numeric_limits<float>::quiet_NaN();
        ASSERT_PRED2(sameBits, actual[m * columns + n], expected)
            << "row " << m << " column " << n << " of " << a.rows << " x "
            << columns << ", K " << a.k << ", word stride " << b.wordStride
            << ", phases " << a.phase << b.phase;
      }
  }
  std::optional<CompiledKernel> kernel;
};

TEST_P(KernelsTest, RandomEqualsDefinition) {
  std::mt19937 random(1);
  const KernelSpec &spec = GetParam();
  int64_t rows = 1;
  for (int64_t k :
       {0, 1, 7, 15, 16, 17, 31, 32, 33, 64, 100, 496, 512, 528, 2880})
    for (int64_t wordStride : {4, 32, 512}) {
      int64_t columns = 1 + random() % (k > 1000 ? 8 : 64);
      Operand a(spec.activation, rows, k, spec.blockSize, wordStride, 0);
      Operand b(spec.weight, columns, k, spec.blockSize, wordStride, 0);
      fillRandom(a, spec.scale, random);
      fillRandom(b, spec.scale, random);
      a.commit();
      b.commit();
      compare(a, b, columns);
      rows = rows % 17 + 1;
    }
}

TEST_P(KernelsTest, EveryRowCount) {
  std::mt19937 random(2);
  const KernelSpec &spec = GetParam();
  for (int64_t rows = 1; rows <= 17; ++rows) {
    int64_t k = rows % 3 == 0 ? 545 : 160, columns = 64;
    Operand a(spec.activation, rows, k, spec.blockSize, 4, 0);
    Operand b(spec.weight, columns, k, spec.blockSize, 4, 0);
    fillRandom(a, spec.scale, random);
    fillRandom(b, spec.scale, random);
    a.commit();
    b.commit();
    compare(a, b, columns);
  }
}

// Two tiles of AMX at a time, then one.
TEST_P(KernelsTest, ManyRows) {
  std::mt19937 random(8);
  const KernelSpec &spec = GetParam();
  for (int64_t rows : {31, 48, 65})
    for (int64_t columns : {5, 33, 64}) {
      int64_t k = rows == 48 ? 1072 : 97;
      Operand a(spec.activation, rows, k, spec.blockSize, 4, 0);
      Operand b(spec.weight, columns, k, spec.blockSize, 4, 0);
      fillRandom(a, spec.scale, random);
      fillRandom(b, spec.scale, random);
      a.commit();
      b.commit();
      compare(a, b, columns);
    }
}

// Quantisers give blocks of zeros the least scale, which is no reason for tiles
// to leave them to others.
TEST_P(KernelsTest, BlocksOfZeros) {
  std::mt19937 random(9);
  const KernelSpec &spec = GetParam();
  Operand a(spec.activation, 35, 150, spec.blockSize, 4, 0);
  Operand b(spec.weight, 64, 150, spec.blockSize, 4, 0);
  for (Operand *operand : {&a, &b}) {
    fillRandom(*operand, spec.scale, random);
    std::ranges::fill(operand->scaleCodes,
                      spec.scale == ScaleKind::UE4M3 ? 0x38 : 127);
    for (int64_t row = 0; row < operand->rows; ++row) {
      int64_t block = row % operand->blocks, first = block * spec.blockSize;
      int64_t end = std::min(operand->k, first + spec.blockSize);
      for (int64_t k = first; k < end; ++k)
        operand->codes[row * operand->k + k] =
            static_cast<uint8_t>(k % 2 ? (operand->mask() + 1) / 2 : 0);
      operand->scaleCodes[row * operand->blocks + block] = 0;
    }
  }
  // A scale that is NaN counts, zeros or not.
  a.scaleCodes[7 * a.blocks + 7 % a.blocks] = 0xFF;
  b.scaleCodes[3 * b.blocks + 3 % b.blocks] = 0xFF;
  a.commit();
  b.commit();
  compare(a, b, b.rows);
  std::vector<float> result = runKernel(*kernel, a, b, b.rows);
  if (spec.activation != E2M1 || spec.weight != E2M1)
    return; // elements may be NaN
  for (int64_t m = 0; m < a.rows; ++m)
    for (int64_t n = 0; n < b.rows; ++n)
      EXPECT_EQ(std::isnan(result[m * b.rows + n]), m == 7 || n == 3)
          << "row " << m << " column " << n;
}

// Few rows take columns in an order of their own and K in longer chunks.
TEST_P(KernelsTest, LongRowsOfPanels) {
  std::mt19937 random(7);
  const KernelSpec &spec = GetParam();
  for (int64_t k : {kFusedChunk, kFusedChunk + 32, 2 * kFusedChunk + 145})
    for (int64_t columns : {17, 32, 33, 48, 64})
      for (int64_t rows : {1, 10}) {
        int64_t wordStride = columns == 48 ? 512 : 4;
        Operand a(spec.activation, rows, k, spec.blockSize, wordStride, 0);
        Operand b(spec.weight, columns, k, spec.blockSize, wordStride, 0);
        fillRandom(a, spec.scale, random);
        fillRandom(b, spec.scale, random);
        a.commit();
        b.commit();
        compare(a, b, columns);
      }
}

TEST_P(KernelsTest, OddNibblePhase) {
  std::mt19937 random(3);
  const KernelSpec &spec = GetParam();
  for (int64_t k : {1, 2, 31, 32, 97, 513})
    for (int64_t phases : {1, 2, 3})
      for (int64_t rows : {3, 9}) {
        Operand a(spec.activation, rows, k, spec.blockSize, 4, phases & 1);
        Operand b(spec.weight, 21, k, spec.blockSize, 4, phases >> 1);
        fillRandom(a, spec.scale, random);
        fillRandom(b, spec.scale, random);
        a.commit();
        b.commit();
        compare(a, b, 21);
      }
}

TEST_P(KernelsTest, LatticeEqualsF64) {
  std::mt19937 random(4);
  const KernelSpec &spec = GetParam();
  int64_t k = 2880, rows = 11, columns = 40;
  Operand a(spec.activation, rows, k, spec.blockSize, 512, 0);
  Operand b(spec.weight, columns, k, spec.blockSize, 512, 0);
  for (Operand *x : {&a, &b}) {
    // Values 0, +-1, +-2 and scales 1, 2: every partial sum fits 24 bits.
    for (uint8_t &code : x->codes) {
      constexpr uint8_t e2m1[] = {0, 2, 4, 8, 10, 12};
      constexpr uint8_t e4m3[] = {0, 0x38, 0x40, 0x80, 0xB8, 0xC0};
      constexpr uint8_t e5m2[] = {0, 0x3C, 0x40, 0x80, 0xBC, 0xC0};
      const uint8_t *codes = x->kind == E2M1   ? e2m1
                             : x->kind == E4M3 ? e4m3
                                               : e5m2;
      code = codes[random() % 6];
    }
    for (uint8_t &code : x->scaleCodes)
      code = spec.scale == ScaleKind::UE4M3 ? 0x38 + 8 * (random() & 1)
                                            : 127 + (random() & 1);
    x->commit();
  }
  std::vector<float> actual = runKernel(*kernel, a, b, columns);
  for (int64_t m = 0; m < rows; ++m)
    for (int64_t n = 0; n < columns; ++n)
      ASSERT_EQ(double(actual[m * columns + n]), oracle(spec, a, b, m, n));
}

TEST_P(KernelsTest, EveryScaleCode) {
  std::mt19937 random(5);
  const KernelSpec &spec = GetParam();
  // Row 0 and column c carry scale code c; the NaN codes poison their own.
  int64_t k = 2 * spec.blockSize;
  for (int64_t first = 0; first < 256; first += 64) {
    Operand a(spec.activation, 2, k, spec.blockSize, 4, 0);
    Operand b(spec.weight, 64, k, spec.blockSize, 4, 0);
    fillRandom(a, spec.scale, random);
    fillRandom(b, spec.scale, random);
    for (int64_t n = 0; n < 64; ++n)
      b.scaleCodes[n * b.blocks + 1] = uint8_t(first + n);
    a.commit();
    b.commit();
    compare(a, b, 64);
    // The same codes on the activation side.
    Operand a2(spec.activation, 64, k, spec.blockSize, 32, 0);
    Operand b2(spec.weight, 3, k, spec.blockSize, 32, 0);
    fillRandom(a2, spec.scale, random);
    fillRandom(b2, spec.scale, random);
    for (int64_t m = 0; m < 64; ++m)
      a2.scaleCodes[m * a2.blocks] = uint8_t(first + m);
    a2.commit();
    b2.commit();
    compare(a2, b2, 3);
  }
}

TEST_P(KernelsTest, EveryElementCode) {
  const KernelSpec &spec = GetParam();
  // K = 1: every pair of codes, NaN and infinity included.
  int64_t codesA = spec.activation == E2M1 ? 16 : 256;
  int64_t codesB = spec.weight == E2M1 ? 16 : 256;
  for (int64_t first = 0; first < codesB; first += 64) {
    int64_t columns = std::min<int64_t>(64, codesB);
    Operand a(spec.activation, codesA, 1, spec.blockSize, 4, 0);
    Operand b(spec.weight, columns, 1, spec.blockSize, 4, 0);
    uint8_t one = spec.scale == ScaleKind::UE4M3 ? 0x38 : 127;
    for (Operand *x : {&a, &b})
      for (uint8_t &code : x->scaleCodes)
        code = one;
    for (int64_t m = 0; m < codesA; ++m)
      a.codes[m] = uint8_t(m);
    for (int64_t n = 0; n < columns; ++n)
      b.codes[n] = uint8_t(first + n);
    a.commit();
    b.commit();
    compare(a, b, columns);
  }
}

TEST_P(KernelsTest, PartsOfRowsGiveTheSameBits) {
  std::mt19937 random(6);
  const KernelSpec &spec = GetParam();
  int64_t rows = 19, k = 200, columns = 64;
  Operand a(spec.activation, rows, k, spec.blockSize, 4, 0);
  Operand b(spec.weight, columns, k, spec.blockSize, 4, 0);
  fillRandom(a, spec.scale, random);
  fillRandom(b, spec.scale, random);
  a.commit();
  b.commit();
  std::vector<float> whole = runKernel(*kernel, a, b, columns);
  // Prepare and multiply tile by tile.
  int64_t tile = kernel->plan.getTileRows();
  std::vector<uint8_t> prepared(kernel->plan.getPreparedBytes(rows, k));
  std::vector<uint8_t> scratch(kernel->plan.getScratchBytes());
  for (int64_t row = 0; row < rows; row += tile) {
    int64_t count = std::min(tile, rows - row);
    uint8_t *part = prepared.data() + kernel->plan.getPreparedOffset(row, k);
    kernel->prepareRows(a.data.data(), a.scales.data(),
                        a.dataOffsets.data() + row, a.scaleOffsets.data() + row,
                        count, k, 4, 0, part);
    std::vector<float> acc(kernel->plan.getAccumulatorBytes(count) / 4);
    kernel->gemmTile(part, count, k, b.data.data(), b.scales.data(),
                     b.dataOffsets.data(), b.scaleOffsets.data(), columns, 4, 0,
                     b.dataOffsets.data(), b.scaleOffsets.data(),
                     scratch.data(), acc.data());
    for (int64_t m = 0; m < count; ++m)
      for (int64_t n = 0; n < columns; ++n)
        ASSERT_PRED2(sameBits, acc[m * kPanelColumns + n],
                     whole[(row + m) * columns + n]);
  }
}

INSTANTIATE_TEST_SUITE_P(AllKernels, KernelsTest, testing::ValuesIn(allSpecs()),
                         [](const auto &info) { return info.param.name(); });

} // namespace
