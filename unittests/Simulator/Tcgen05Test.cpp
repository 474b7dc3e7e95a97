//===- Tcgen05Test.cpp - kinds and forms of tcgen05 -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One multiplication or copy with operands laid out here, compared with plain
// loops over the matrices. Values are small integers, exact in every model.
//
//===----------------------------------------------------------------------===//

#include "RunPtx.h"

#include "nvfp4/Simulator/Machine/MiniFloat.h"

#include <algorithm>
#include <bit>
#include <functional>

using namespace nvfp4::sim;
using namespace nvfp4::sim::test;

namespace {

constexpr unsigned imageBytes = 8192;

/// Shared memory as the kernel finds it: A at 0, B at 4096.
struct Image {
  std::vector<uint8_t> bytes = std::vector<uint8_t>(imageBytes, 0);

  /// Byte `b` of row `row` along K: 8 rows of 16 bytes, the next 16 bytes of K
  /// 128 further, the next 8 rows 256.
  uint8_t &at(unsigned base, unsigned row, unsigned b) {
    return bytes[base + row / 8 * 256 + row % 8 * 16 + b / 16 * 128 + b % 16];
  }
  std::vector<uint64_t> words() const {
    std::vector<uint64_t> in(imageBytes / 8);
    std::memcpy(in.data(), bytes.data(), imageBytes);
    return in;
  }
};

/// Runs `body` in one thread with shared memory filled from `image`: %rd5 and
/// %rd6 are descriptors of A and B, %r3 the tensor-memory address of 64 columns
/// filled with zeros, %p3 true. Then all threads run `load`, with %r8 the
/// address of column 2 c for CTA c: by default thread t outputs columns 2 c and
/// 2 c + 1 of lane t, `columns` in all.
std::vector<std::vector<uint32_t>>
runTensor(const Image &image, const std::string &body, unsigned columns,
          const std::string &load =
              "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r13, %r14}, [%r8];") {
  std::string text = moduleAround(prologue() + R"(
    mov.u32 %r1, smem;
    add.u32 %r2, %r1, 8192;
    setp.lt.u32 %p1, %r0, 32;
    setp.eq.u32 %p0, %r0, 0;
    @%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2], 64;
    @%p0 mbarrier.init.shared::cta.b64 [%r2+8], 1;
)" + fillShared(1024) + clearTensorMemory(64) +
                                      R"(
    bar.sync 0;
    tcgen05.fence::after_thread_sync;
    shr.u32 %r6, %r1, 4;
    cvt.u64.u32 %rd5, %r6;
    or.b64 %rd5, %rd5, 0x0000401000080000;
    add.u64 %rd6, %rd5, 256;
    mov.pred %p3, 1;
    @!%p0 bra wait;
)" + body + R"(
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r2+8];
wait:
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2+8], 0;
    @!%p2 bra wait;
    tcgen05.fence::after_thread_sync;
    mov.u32 %r12, %ctaid.x;
    shl.b32 %r12, %r12, 1;
    add.u32 %r8, %r8, %r12;
    )" + load + R"(
    tcgen05.wait::ld.sync.aligned;
    st.global.v2.b32 [%rd1], {%r13, %r14};
    tcgen05.fence::before_thread_sync;
    bar.sync 0;
    @%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 64;
    ret;)",
                                  ".extern .shared .align 128 .b8 smem[];\n");
  // sm_100a lacks what sm_103a has, not the other way round.
  text.replace(text.find("sm_100a"), 7, "sm_103a");
  Outcome outcome =
      runChecked(text, image.words(),
                 {.threads = 128, .ctas = columns / 2, .sharedBytes = 8448}, 2);
  std::vector<std::vector<uint32_t>> cells(128, std::vector<uint32_t>(columns));
  for (unsigned cta = 0; cta < columns / 2; ++cta)
    for (unsigned lane = 0; lane < 128; ++lane)
      std::memcpy(&cells[lane][2 * cta], &outcome.out[cta * 128 + lane], 8);
  return cells;
}

std::string multiplyBody(const std::string &kind, uint32_t descriptor,
                         unsigned times = 1, const std::string &more = "") {
  std::string text = "    mov.u32 %r9, " + std::to_string(descriptor) + ";\n";
  for (unsigned i = 0; i < times; ++i)
    text += "    tcgen05.mma.cta_group::1.kind::" + kind +
            " [%r3], %rd5, %rd6, %r9, %p3" + more + ";\n";
  return text;
}

constexpr uint32_t shape(unsigned m, unsigned n) {
  return n / 8 << 17 | m / 16 << 24;
}

using Matrix = std::function<int(unsigned row, unsigned k)>;
int valueA(unsigned row, unsigned k) {
  return static_cast<int>((3 * row + 5 * k) % 7) - 3;
}
int valueB(unsigned row, unsigned k) {
  return static_cast<int>((2 * row + k * k) % 5) - 2;
}
int product(const Matrix &a, const Matrix &b, unsigned row, unsigned column,
            unsigned depth) {
  int sum = 0;
  for (unsigned k = 0; k < depth; ++k)
    sum += a(row, k) * b(column, k);
  return sum;
}

/// `cells` hold `factor` times the product of valueA and valueB over `depth`.
void expectProducts(const std::vector<std::vector<uint32_t>> &cells,
                    unsigned depth, float factor = 1) {
  for (unsigned row = 0; row < 128; ++row)
    for (unsigned column = 0; column < 16; ++column)
      EXPECT_EQ(std::bit_cast<float>(cells[row][column]),
                factor * static_cast<float>(
                             product(valueA, valueB, row, column, depth)))
          << row << " " << column;
}

TEST(Tcgen05, IntegersWithAllSigns) {
  Image image;
  auto byteA = [](unsigned row, unsigned k) { return row * 37 + k * 91; };
  auto byteB = [](unsigned row, unsigned k) { return row * 53 + k * 29 + 128; };
  for (unsigned k = 0; k < 32; ++k) {
    for (unsigned row = 0; row < 128; ++row)
      image.at(0, row, k) = static_cast<uint8_t>(byteA(row, k));
    for (unsigned row = 0; row < 16; ++row)
      image.at(4096, row, k) = static_cast<uint8_t>(byteB(row, k));
  }
  for (unsigned signs = 0; signs < 4; ++signs) {
    uint32_t descriptor =
        2 << 4 | (signs & 1) << 7 | signs >> 1 << 10 | shape(128, 16);
    auto cells = runTensor(image, multiplyBody("i8", descriptor, 2), 16);
    auto read = [](unsigned byte, bool isSigned) -> int {
      return isSigned ? static_cast<int8_t>(byte) : static_cast<uint8_t>(byte);
    };
    for (unsigned row = 0; row < 128; ++row)
      for (unsigned column = 0; column < 16; ++column)
        EXPECT_EQ(static_cast<int>(cells[row][column]),
                  2 * product(
                          [&](unsigned r, unsigned k) {
                            return read(byteA(r, k), signs & 1);
                          },
                          [&](unsigned r, unsigned k) {
                            return read(byteB(r, k), signs >> 1);
                          },
                          row, column, 32))
            << signs << " " << row << " " << column;
  }
}

TEST(Tcgen05, FloatKinds) {
  struct Kind {
    const char *name;
    FloatFormat format;
    uint32_t types;
    unsigned bytes, depth;
  };
  const Kind kinds[] = {{"f16", formatF16, 0, 2, 16},
                        {"f16", formatBF16, 1 << 7 | 1 << 10, 2, 16},
                        {"tf32", formatF32, 2 << 7 | 2 << 10, 4, 8},
                        {"f8f6f4", formatE4M3, 0, 1, 32},
                        {"f8f6f4", formatE5M2, 1 << 7 | 1 << 10, 1, 32}};
  for (const Kind &kind : kinds) {
    Image image;
    auto put = [&](unsigned base, unsigned row, unsigned k, int value) {
      uint32_t code =
          encodeFloat(value, kind.format, Rounding::NearestEven, false);
      for (unsigned i = 0; i < kind.bytes; ++i)
        image.at(base, row, k * kind.bytes + i) =
            static_cast<uint8_t>(code >> (8 * i));
    };
    for (unsigned k = 0; k < kind.depth; ++k) {
      for (unsigned row = 0; row < 128; ++row)
        put(0, row, k, valueA(row, k));
      for (unsigned row = 0; row < 16; ++row)
        put(4096, row, k, valueB(row, k));
    }
    // Negated A, into f32.
    uint32_t descriptor = 1 << 4 | kind.types | 1 << 13 | shape(128, 16);
    SCOPED_TRACE(kind.name);
    expectProducts(runTensor(image, multiplyBody(kind.name, descriptor, 3), 16),
                   kind.depth, -3.0f);
  }
}

/// f16 operands of `valueA` and `valueB`.
Image halfImage() {
  Image image;
  for (unsigned k = 0; k < 16; ++k)
    for (unsigned row = 0; row < 144; ++row) {
      bool isA = row < 128;
      int value = isA ? valueA(row, k) : valueB(row - 128, k);
      uint16_t code = floatToHalf(static_cast<float>(value));
      std::memcpy(&image.at(isA ? 0 : 4096, isA ? row : row - 128, 2 * k),
                  &code, 2);
    }
  return image;
}

TEST(Tcgen05, DisabledLanesAndScaledAccumulator) {
  Image image = halfImage();
  // Two multiplications; the second halves the accumulator twice, and leaves
  // lanes 32 to 63 and lane 127 alone.
  uint32_t descriptor = 1 << 4 | shape(128, 16);
  std::string body =
      multiplyBody("f16", descriptor) +
      "    mov.u32 %r20, 0;\n    mov.u32 %r21, -1;\n"
      "    mov.u32 %r22, 0x80000000;\n"
      "    tcgen05.mma.cta_group::1.kind::f16 [%r3], %rd5, %rd6, %r9, "
      "{%r20, %r21, %r20, %r22}, %p3, 2;\n";
  auto cells = runTensor(image, body, 16);
  for (unsigned lane = 0; lane < 128; ++lane)
    for (unsigned column = 0; column < 16; ++column) {
      auto one = static_cast<float>(product(valueA, valueB, lane, column, 16));
      bool disabled = (lane >= 32 && lane < 64) || lane == 127;
      EXPECT_EQ(std::bit_cast<float>(cells[lane][column]),
                disabled ? one : one / 4 + one)
          << lane << " " << column;
    }
}

TEST(Tcgen05, HalfResults) {
  auto cells =
      runTensor(halfImage(), multiplyBody("f16", shape(128, 16), 2), 16);
  for (unsigned lane = 0; lane < 128; ++lane)
    for (unsigned column = 0; column < 16; ++column)
      EXPECT_EQ(cells[lane][column],
                floatToHalf(2.0f * static_cast<float>(product(
                                       valueA, valueB, lane, column, 16))));
}

/// Bytes without a pattern that a wrong row or lane would repeat.
Image noiseImage() {
  Image image;
  uint32_t state = 12345;
  for (uint8_t &byte : image.bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<uint8_t>(state >> 24);
  }
  return image;
}

uint32_t wordAt(Image image, unsigned base, unsigned row, unsigned c) {
  uint32_t value;
  std::memcpy(&value, &image.at(base, row, 4 * c), 4);
  return value;
}

std::string copyBody(const std::string &form, const std::string &to = "%r3",
                     const std::string &from = "%rd5") {
  return "    tcgen05.cp.cta_group::1." + form + " [" + to + "], " + from +
         ";\n";
}

TEST(Tcgen05, CopiesOfAllShapes) {
  Image image = noiseImage();
  auto expect = [&](const std::string &form, unsigned columns, auto rowOf) {
    auto cells = runTensor(image, copyBody(form), 8);
    for (unsigned lane = 0; lane < 128; ++lane)
      for (unsigned c = 0; c < 8; ++c)
        EXPECT_EQ(cells[lane][c],
                  c < columns ? wordAt(image, 0, rowOf(lane), c) : 0)
            << form << " " << lane << " " << c;
  };
  expect("128x256b", 8, [](unsigned lane) { return lane; });
  expect("128x128b", 4, [](unsigned lane) { return lane; });
  expect("32x128b.warpx4", 4, [](unsigned lane) { return lane % 32; });
  expect("64x128b.warpx2::02_13", 4, [](unsigned lane) { return lane % 64; });
  expect("64x128b.warpx2::01_23", 4,
         [](unsigned lane) { return lane / 64 * 32 + lane % 32; });
}

TEST(Tcgen05, CopyOfARowToEachQuarter) {
  Image image = noiseImage();
  for (unsigned at : {0u, 9u, 31u}) {
    std::string to = std::to_string(at << 16);
    auto cells = runTensor(
        image,
        "    add.u32 %r20, %r3, " + to + ";\n" + copyBody("4x256b", "%r20"), 8);
    for (unsigned lane = 0; lane < 128; ++lane)
      for (unsigned c = 0; c < 8; ++c)
        EXPECT_EQ(cells[lane][c],
                  lane % 32 == at ? wordAt(image, 0, lane / 32, c) : 0)
            << at << " " << lane << " " << c;
  }
}

TEST(Tcgen05, CopiesThatDecompress) {
  Image image = noiseImage();
  for (unsigned bits : {4u, 6u}) {
    std::string format = bits == 4 ? ".b8x16.b4x16_p64" : ".b8x16.b6x16_p32";
    auto cells = runTensor(image, copyBody("128x256b" + format), 8);
    auto quarter = runTensor(image, copyBody("32x128b.warpx4" + format), 8);
    for (unsigned lane = 0; lane < 128; ++lane)
      for (unsigned i = 0; i < 32; ++i) {
        // Element i % 16 of a 16-byte piece, one bit after the other.
        auto element = [&](unsigned row) {
          unsigned code = 0;
          for (unsigned bit = 0; bit < bits; ++bit) {
            unsigned at = bits * (i % 16) + bit;
            unsigned byte = image.at(0, row, i / 16 * 16 + at / 8);
            code |= (byte >> at % 8 & 1) << bit;
          }
          return bits == 4 ? 4 * code : code;
        };
        EXPECT_EQ(cells[lane][i / 4] >> (8 * (i % 4)) & 255, element(lane))
            << bits << " " << lane << " " << i;
        EXPECT_EQ(quarter[lane][i / 4] >> (8 * (i % 4)) & 255,
                  i < 16 ? element(lane % 32) : 0)
            << bits << " " << lane << " " << i;
      }
  }
}

TEST(Tcgen05, ShiftMovesTheRowsOfAQuarter) {
  Image image = noiseImage();
  // The new last rows come from B, as a convolution's next column would.
  auto cells = runTensor(image,
                         copyBody("128x256b") +
                             "    add.u32 %r20, %r3, 0x200000;\n"
                             "    tcgen05.shift.cta_group::1.down [%r20];\n"
                             "    add.u32 %r21, %r3, 0x400000;\n"
                             "    tcgen05.shift.cta_group::1.down [%r21];\n"
                             "    add.u32 %r22, %r3, 0x1f0000;\n" +
                             copyBody("4x256b", "%r22", "%rd6"),
                         8);
  for (unsigned lane = 0; lane < 128; ++lane)
    for (unsigned c = 0; c < 8; ++c) {
      bool shifted = lane / 32 == 1 || lane / 32 == 2;
      EXPECT_EQ(cells[lane][c], lane % 32 == 31
                                    ? wordAt(image, 4096, lane / 32, c)
                                    : wordAt(image, 0, lane + shifted, c))
          << lane << " " << c;
    }
}

/// Puts element `i` of `bits` bits into a row, 16 of them to 16 bytes.
void putPadded(Image &image, unsigned base, unsigned row, unsigned i,
               unsigned bits, uint32_t code) {
  for (unsigned bit = 0; bit < bits; ++bit) {
    unsigned at = bits * (i % 16) + bit;
    uint8_t &byte = image.at(base, row, i / 16 * 16 + at / 8);
    byte = static_cast<uint8_t>(byte | (code >> bit & 1) << (at % 8));
  }
}

TEST(Tcgen05, MatrixInTensorMemory) {
  struct Kind {
    FloatFormat format;
    unsigned code, bits;
    const char *copy;
  };
  const Kind kinds[] = {{formatE4M3, 0, 8, "128x256b"},
                        {formatE2M3, 3, 6, "128x256b.b8x16.b6x16_p32"},
                        {formatE3M2, 4, 6, "128x256b.b8x16.b6x16_p32"},
                        {formatE2M1, 5, 4, "128x256b.b8x16.b4x16_p64"}};
  for (const Kind &kind : kinds) {
    Image image;
    auto encode = [](int value, const FloatFormat &format) {
      return encodeFloat(value, format, Rounding::NearestEven, false);
    };
    for (unsigned k = 0; k < 32; ++k) {
      for (unsigned row = 0; row < 128; ++row)
        putPadded(image, 0, row, k, kind.bits,
                  encode(valueA(row, k), kind.format));
      for (unsigned row = 0; row < 16; ++row)
        putPadded(image, 4096, row, k, 8, encode(valueB(row, k), formatE4M3));
    }
    uint32_t descriptor = 1 << 4 | kind.code << 7 | shape(128, 16);
    std::string body = "    add.u32 %r20, %r3, 32;\n" +
                       copyBody(kind.copy, "%r20") + "    mov.u32 %r9, " +
                       std::to_string(descriptor) +
                       ";\n    tcgen05.mma.cta_group::1.kind::f8f6f4 [%r3], "
                       "[%r20], %rd6, %r9, %p3;\n";
    SCOPED_TRACE(kind.bits);
    expectProducts(runTensor(image, body, 16), 32);
  }
}

TEST(Tcgen05, PackedMatrixInTensorMemory) {
  Image image;
  auto put = [&](unsigned base, unsigned row, unsigned k, int value) {
    uint32_t code =
        encodeFloat(value, formatE2M1, Rounding::NearestEven, false);
    uint8_t &byte = image.at(base, row, k / 2);
    byte = static_cast<uint8_t>(byte | code << (4 * (k % 2)));
  };
  for (unsigned k = 0; k < 64; ++k) {
    for (unsigned row = 0; row < 128; ++row)
      put(0, row, k, valueA(row, k));
    for (unsigned row = 0; row < 16; ++row)
      put(4096, row, k, valueB(row, k));
  }
  // Scales of 1.
  for (unsigned i = 6144; i < 7168; ++i)
    image.bytes[i] = 0x38;
  uint32_t descriptor = 1 << 7 | 1 << 10 | 16 / 8 << 17 | 1 << 27;
  std::string body = "    add.u32 %r20, %r3, 32;\n" +
                     copyBody("128x256b", "%r20") +
                     "    add.u32 %r21, %r3, 48;\n"
                     "    add.u64 %rd7, %rd5, 384;\n" +
                     copyBody("32x128b.warpx4", "%r21", "%rd7") +
                     "    mov.u32 %r9, " + std::to_string(descriptor) +
                     ";\n    tcgen05.mma.cta_group::1.kind::mxf4nvf4"
                     ".block_scale.block16 [%r3], [%r20], %rd6, %r9, [%r21], "
                     "[%r21], %p3;\n";
  expectProducts(runTensor(image, body, 16), 64);
}

/// Smallest or largest by the order of `key`; NaN (f32 only) as PTX says.
uint32_t reduced(std::vector<uint32_t> values, const std::string &operation) {
  auto has = [&](const char *word) {
    return operation.find(word) != std::string::npos;
  };
  bool isFloat = has("f32");
  auto isNan = [&](uint32_t v) {
    return isFloat && (v & 0x7fffffff) > 0x7f800000;
  };
  if (has("abs"))
    for (uint32_t &v : values)
      v &= 0x7fffffff;
  bool anyNan = std::any_of(values.begin(), values.end(), isNan);
  std::erase_if(values, isNan);
  if (values.empty() || (anyNan && has("NaN")))
    return 0x7fffffff;
  auto key = [&](uint32_t v) {
    if (has("u32"))
      return v;
    if (has("s32"))
      return v ^ 0x80000000;
    return v >> 31 ? ~v : v | 0x80000000;
  };
  auto less = [&](uint32_t a, uint32_t b) { return key(a) < key(b); };
  return has("max") ? *std::max_element(values.begin(), values.end(), less)
                    : *std::min_element(values.begin(), values.end(), less);
}

TEST(Tcgen05, LoadsThatReduce) {
  Image image = noiseImage();
  // Rows with NaN, of NaN only, and of zeros of both signs.
  const uint32_t special[] = {0x7fc00000, 0xffffffff, 0x80000000, 0,
                              0x7f800000, 0xff800000, 0x00000001, 0x80000001};
  for (unsigned row = 0; row < 96; ++row)
    for (unsigned c = 0; c < 8; ++c) {
      uint32_t word = row % 3 == 0   ? special[(row / 3 * 5 + c * row) % 8]
                      : row % 3 == 1 ? special[2 + (row >> c & 1)]
                                     : special[row >> c & 1];
      if (row % 3 == 0 || c < 4)
        std::memcpy(&image.at(0, row, 4 * c), &word, 4);
    }
  const char *operations[] = {"min.u32",     "max.u32",         "min.s32",
                              "max.s32",     "min.f32",         "max.f32",
                              "min.abs.f32", "max.abs.NaN.f32", "max.NaN.f32"};
  for (const char *operation : operations) {
    std::string name = operation;
    // Four columns from 2 c: the reduced value and the last loaded one.
    auto whole = runTensor(image, copyBody("128x256b"), 4,
                           "tcgen05.ld.red.sync.aligned.32x32b.x4." + name +
                               " {%r15, %r16, %r17, %r14}, %r13, [%r8];");
    // Lanes 0 to 15 of a quarter: two columns, and two that lie 4 further.
    auto split = runTensor(image, copyBody("128x256b"), 4,
                           "tcgen05.ld.red.sync.aligned.16x32bx2.x2." + name +
                               " {%r15, %r14}, %r13, [%r8], 4;");
    for (unsigned lane = 0; lane < 128; ++lane)
      for (unsigned c = 0; c < 4; c += 2) {
        std::vector<uint32_t> row;
        for (unsigned i = c; i < c + 4; ++i)
          row.push_back(wordAt(image, 0, lane, i));
        EXPECT_EQ(whole[lane][c], reduced(row, name)) << name << " " << lane;
        EXPECT_EQ(whole[lane][c + 1], row[3]) << name << " " << lane;
        unsigned from = lane / 32 * 32 + lane % 16;
        unsigned first = c + (lane % 32 < 16 ? 0 : 4);
        std::vector<uint32_t> half = {wordAt(image, 0, from, first),
                                      wordAt(image, 0, from, first + 1)};
        EXPECT_EQ(split[lane][c], reduced(half, name)) << name << " " << lane;
        EXPECT_EQ(split[lane][c + 1], half[1]) << name << " " << lane;
      }
  }
}

} // namespace
