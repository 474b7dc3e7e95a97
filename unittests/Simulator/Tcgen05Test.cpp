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
/// filled with zeros, %p3 true. Then thread t of CTA c outputs columns 2 c and
/// 2 c + 1 of lane t, `columns` in all.
std::vector<std::vector<uint32_t>>
runTensor(const Image &image, const std::string &body, unsigned columns) {
  std::string text = moduleAround(prologue() + R"(
    mov.u32 %r1, smem;
    add.u32 %r2, %r1, 8192;
    setp.lt.u32 %p1, %r0, 32;
    setp.eq.u32 %p0, %r0, 0;
    @%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2], 64;
    @%p0 mbarrier.init.shared::cta.b64 [%r2+8], 1;
    mov.u32 %r4, %r0;
fill:
    mul.wide.u32 %rd3, %r4, 8;
    add.u64 %rd3, %rd3, %rd2;
    ld.global.u64 %rd4, [%rd3];
    shl.b32 %r5, %r4, 3;
    add.u32 %r5, %r5, %r1;
    st.shared.u64 [%r5], %rd4;
    add.u32 %r4, %r4, 128;
    setp.lt.u32 %p2, %r4, 1024;
    @%p2 bra fill;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    ld.shared.b32 %r3, [%r2];
    shr.u32 %r8, %r0, 5;
    shl.b32 %r8, %r8, 21;
    add.u32 %r8, %r8, %r3;
    mov.u32 %r9, 0;
    mov.u32 %r10, 0;
clear:
    add.u32 %r11, %r8, %r10;
    tcgen05.st.sync.aligned.32x32b.x8.b32 [%r11], {%r9, %r9, %r9, %r9, %r9, %r9, %r9, %r9};
    add.u32 %r10, %r10, 8;
    setp.lt.u32 %p2, %r10, 64;
    @%p2 bra clear;
    tcgen05.wait::st.sync.aligned;
    tcgen05.fence::before_thread_sync;
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
    tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r13, %r14}, [%r8];
    tcgen05.wait::ld.sync.aligned;
    st.global.v2.b32 [%rd1], {%r13, %r14};
    tcgen05.fence::before_thread_sync;
    bar.sync 0;
    @%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 64;
    ret;)",
                                  ".extern .shared .align 128 .b8 smem[];\n");
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
    auto cells = runTensor(image, multiplyBody(kind.name, descriptor, 3), 16);
    for (unsigned row = 0; row < 128; ++row)
      for (unsigned column = 0; column < 16; ++column)
        EXPECT_EQ(std::bit_cast<float>(cells[row][column]),
                  -3.0f * static_cast<float>(
                              product(valueA, valueB, row, column, kind.depth)))
            << kind.name << " " << row << " " << column;
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

TEST(Tcgen05, CopiesOfAllShapes) {
  Image image;
  for (unsigned i = 0; i < imageBytes; ++i)
    image.bytes[i] = static_cast<uint8_t>(i * 7 + i / 256);
  auto word = [&](unsigned row, unsigned c) {
    uint32_t value;
    std::memcpy(&value, &image.at(0, row, 4 * c), 4);
    return value;
  };
  auto copy = [&](const std::string &form) {
    return runTensor(
        image, "    tcgen05.cp.cta_group::1." + form + " [%r3], %rd5;\n", 8);
  };
  auto expect = [&](const std::string &form, unsigned columns, auto rowOf) {
    auto cells = copy(form);
    for (unsigned lane = 0; lane < 128; ++lane)
      for (unsigned c = 0; c < 8; ++c)
        EXPECT_EQ(cells[lane][c], c < columns ? word(rowOf(lane), c) : 0)
            << form << " " << lane << " " << c;
  };
  expect("128x256b", 8, [](unsigned lane) { return lane; });
  expect("128x128b", 4, [](unsigned lane) { return lane; });
  expect("32x128b.warpx4", 4, [](unsigned lane) { return lane % 32; });
  expect("64x128b.warpx2::02_13", 4, [](unsigned lane) { return lane % 64; });
  expect("64x128b.warpx2::01_23", 4,
         [](unsigned lane) { return lane / 64 * 32 + lane % 32; });
}

} // namespace
