//===- SparseTest.cpp - tcgen05.mma.sp --------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Multiplications with a sparse A of every kind, shape and place of A, compared
// with f64 loops over the matrices that the metadata describe. Sums are exact
// in f32, so the order of the terms does not matter.
//
//===----------------------------------------------------------------------===//

#include "RunPtx.h"

#include "nvfp4/Simulator/Machine/MiniFloat.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

using namespace nvfp4::sim;
using namespace nvfp4::sim::test;

namespace {

constexpr unsigned columns = 32;

struct Kind {
  const char *name;
  FloatFormat a, b;
  uint32_t types;
  /// Bits of an element in shared memory, 16 of them to 16 bytes where
  /// `padded`.
  unsigned bitsA, bitsB;
  bool padded;
  /// Scales in a row, and whether they are ue4m3; none without scales.
  unsigned scales;
  bool ue4m3;

  bool isTf32() const { return bitsA == 32; }
  bool isFp4() const { return bitsA == 4 && !padded; }
  bool isInteger() const { return name == std::string("i8"); }
  /// Elements of K, and how many of a row of A are stored.
  unsigned depth() const { return 2 * stored(); }
  unsigned stored() const { return padded ? 32 : 256 / bitsA; }
  unsigned chunk() const { return isTf32() ? 2 : isFp4() ? 8 : 4; }
  unsigned chunks() const { return depth() / chunk(); }
};

const Kind kinds[] = {
    {"f16", formatF16, formatF16, 0, 16, 16, false, 0, false},
    {"f16", formatBF16, formatBF16, 1 << 7 | 1 << 10, 16, 16, false, 0, false},
    {"tf32", formatF32, formatF32, 2 << 7 | 2 << 10, 32, 32, false, 0, false},
    {"f8f6f4", formatE4M3, formatE5M2, 1 << 10, 8, 8, true, 0, false},
    {"f8f6f4", formatE2M3, formatE2M1, 3 << 7 | 5 << 10, 6, 4, true, 0, false},
    {"f8f6f4", formatE2M1, formatE3M2, 5 << 7 | 4 << 10, 4, 6, true, 0, false},
    {"i8", formatE4M3, formatE4M3, 1 << 7 | 1 << 10, 8, 8, true, 0, false},
    {"mxf8f6f4.block_scale", formatE4M3, formatE2M1, 5 << 10, 8, 4, true, 1,
     false},
    {"mxf8f6f4.block_scale.block32", formatE2M1, formatE4M3, 5 << 7, 4, 8, true,
     1, false},
    {"mxf4.block_scale.block32", formatE2M1, formatE2M1, 1 << 7 | 1 << 10, 4, 4,
     false, 2, false},
    {"mxf4nvf4.block_scale.scale_vec::2X", formatE2M1, formatE2M1,
     1 << 7 | 1 << 10, 4, 4, false, 2, false},
    {"mxf4nvf4.block_scale.block16", formatE2M1, formatE2M1, 1 << 7 | 1 << 10,
     4, 4, false, 4, true},
};

/// One multiplication: rows of A, all of K's chunks with their metadata, B and
/// scales, as numbers.
struct Problem {
  const Kind &kind;
  unsigned m;
  /// m x stored and columns x depth.
  std::vector<int> a, b;
  /// Four bits for each chunk of a row.
  std::vector<unsigned> metadata;
  /// Scales of rows of A and of B: 1, 2 or, as ue4m3, 3.
  std::vector<unsigned> scaleA, scaleB;

  Problem(const Kind &kind, unsigned m, unsigned seed) : kind(kind), m(m) {
    std::mt19937 random(seed);
    auto number = [&] { return static_cast<int>(random() % 7) - 3; };
    a.resize(size_t{m} * kind.stored());
    b.resize(size_t{columns} * kind.depth());
    std::generate(a.begin(), a.end(), number);
    std::generate(b.begin(), b.end(), number);
    const unsigned legal[] = {0b0100, 0b1000, 0b1100, 0b1001,
                              0b1101, 0b0110, 0b1110};
    metadata.resize(size_t{m} * kind.chunks());
    for (unsigned &index : metadata)
      index = kind.isTf32() ? (random() % 2 ? 0b1110 : 0b0100)
                            : legal[random() % 7];
    for (auto *scales : {&scaleA, &scaleB}) {
      scales->resize((scales == &scaleA ? m : columns) * kind.scales);
      for (unsigned &scale : *scales)
        scale = 1 + random() % (kind.ue4m3 ? 3 : 2);
    }
  }

  /// Where stored element `i` of a row is along K.
  unsigned position(unsigned row, unsigned i) const {
    unsigned perChunk = kind.chunk() / 2, chunk = i / perChunk;
    unsigned index = metadata[size_t{row} * kind.chunks() + chunk];
    unsigned inChunk = i % perChunk;
    unsigned first = chunk * kind.chunk();
    if (kind.isTf32())
      return first + (index == 0b1110);
    if (kind.isFp4()) // two elements for each position
      return first + 2 * (index >> (inChunk / 2 * 2) & 3) + inChunk % 2;
    return first + (index >> (2 * inChunk) & 3);
  }

  double expected(unsigned row, unsigned column) const {
    double sum = 0;
    for (unsigned i = 0; i < kind.stored(); ++i) {
      unsigned k = position(row, i);
      double term = a[row * kind.stored() + i] * b[column * kind.depth() + k];
      if (kind.scales) {
        unsigned block = k * kind.scales / kind.depth();
        term *= scaleA[row * kind.scales + block] *
                scaleB[column * kind.scales + block];
      }
      sum += term;
    }
    return sum;
  }
};

/// Where a row of a CTA with `rows` rows is in tensor memory; CTAs with 64 use
/// 16 lanes of each quarter.
unsigned laneOf(unsigned rows, unsigned row, unsigned firstLane) {
  return rows == 64 ? row / 16 * 32 + row % 16 + firstLane : row;
}

constexpr unsigned imageBytes = 9216;
constexpr unsigned offsetB = 4096, offsetMetadata = 6144, offsetScales = 8192;

struct Options {
  unsigned group = 1;
  bool aInTmem = false;
  unsigned selector = 0;
  /// 16: accumulator and metadata in the upper lanes of each quarter.
  unsigned firstLane = 0;
};

void put(std::vector<uint8_t> &bytes, unsigned bit, unsigned count,
         uint32_t value) {
  for (unsigned i = 0; i < count; ++i, ++bit)
    bytes[bit / 8] =
        static_cast<uint8_t>(bytes[bit / 8] | (value >> i & 1) << bit % 8);
}

/// Bit of element `i` of a row of `rowBytes` bytes without swizzle.
unsigned bitOf(unsigned base, unsigned row, unsigned rowBytes, unsigned i,
               unsigned bits, bool padded) {
  unsigned bit = padded ? i / 16 * 128 + i % 16 * bits : i * bits;
  unsigned byte =
      base + row / 8 * 8 * rowBytes + bit / 128 * 128 + row % 8 * 16;
  return 8 * byte + bit % 128;
}

uint32_t encode(int value, const FloatFormat &format, bool integer) {
  return integer ? static_cast<uint8_t>(value)
                 : encodeFloat(value, format, Rounding::NearestEven, false);
}

/// The shared memory of CTA `rank`.
std::vector<uint8_t> imageOf(const Problem &p, const Options &options,
                             unsigned rank) {
  const Kind &kind = p.kind;
  std::vector<uint8_t> bytes(imageBytes, 0);
  unsigned rows = p.m / options.group, share = columns / options.group;
  for (unsigned r = 0; r < rows; ++r) {
    unsigned row = rank * rows + r;
    for (unsigned i = 0; i < kind.stored(); ++i)
      put(bytes, bitOf(0, r, 32, i, kind.bitsA, kind.padded), kind.bitsA,
          encode(p.a[row * kind.stored() + i], kind.a, kind.isInteger()));
    for (unsigned c = 0; c < kind.chunks(); ++c) {
      unsigned lane = laneOf(rows, r, options.firstLane), bit = 4 * c;
      if (kind.chunks() == 8) {
        // CuTe's fragment: eight lanes of a group of 16 have the lower half of
        // K, of row % 8 and of the row eight later, the others the upper half.
        lane = laneOf(rows, r / 16 * 16, options.firstLane) + r % 8 + c / 4 * 8;
        bit = 32 * options.selector + r / 8 % 2 * 16 + c % 4 * 4;
      }
      put(bytes, 8 * (offsetMetadata + 16 * lane) + bit, 4,
          p.metadata[row * kind.chunks() + c]);
    }
  }
  for (unsigned r = 0; r < share; ++r)
    for (unsigned i = 0; i < kind.depth(); ++i)
      put(bytes, bitOf(offsetB, r, 64, i, kind.bitsB, kind.padded), kind.bitsB,
          encode(p.b[(rank * share + r) * kind.depth() + i], kind.b,
                 kind.isInteger()));
  auto scaleCode = [&](unsigned scale) {
    return kind.ue4m3 ? std::array{0, 0x38, 0x40, 0x44}[scale]
                      : static_cast<int>(126 + scale);
  };
  for (unsigned s = 0; s < kind.scales; ++s) {
    for (unsigned r = 0; r < rows; ++r)
      bytes[offsetScales + r % 32 * 16 + r / 32 * 4 + s] = static_cast<uint8_t>(
          scaleCode(p.scaleA[(rank * rows + r) * kind.scales + s]));
    for (unsigned r = 0; r < columns; ++r)
      bytes[offsetScales + 512 + r % 32 * 16 + r / 32 * 4 + s] =
          static_cast<uint8_t>(scaleCode(p.scaleB[r * kind.scales + s]));
  }
  return bytes;
}

uint32_t descriptorOf(const Problem &p, const Options &options) {
  const Kind &kind = p.kind;
  uint32_t bits = 1 << 2 | kind.types | columns / 8 << 17 | p.m / 16 << 24;
  if (kind.scales)
    return bits | (kind.ue4m3 ? 0 : 1 << 23);
  return bits | options.selector | (kind.isInteger() ? 2 : 1) << 4;
}

/// A kernel of 128 threads a CTA that fills shared memory, clears 32 columns of
/// tensor memory and runs `body` in one thread of the first CTA of a group.
/// Then thread t outputs columns 2 c and 2 c + 1 of lane t, for group c of the
/// grid. %r3: tensor memory; %rd5, %rd6, %rd7, %rd8, %rd9: descriptors of A, B,
/// metadata and scales of A and of B.
std::string kernelOf(unsigned group, const std::string &body) {
  std::string number = std::to_string(group);
  std::string barrier = group == 2 ? "barrier.cluster.arrive.release;\n"
                                     "barrier.cluster.wait.acquire;\n"
                                   : "bar.sync 0;\n";
  return moduleAround(prologue() + R"(
    mov.u32 %r1, smem;
    and.b32 %r1, %r1, 0xffffff;
    mov.u32 %r2, smem;
    add.u32 %r2, %r2, 9216;
    mov.u32 %r20, %cluster_ctarank;
    setp.lt.u32 %p1, %r0, 32;
    setp.eq.u32 %p0, %r0, 0;
    @%p1 tcgen05.alloc.cta_group::)" +
                          number + R"(.sync.aligned.shared::cta.b32 [%r2], 64;
    @%p0 mbarrier.init.shared::cta.b64 [%r2+8], 1;
    @%p0 fence.mbarrier_init.release.cluster;
    mul.wide.u32 %rd3, %r20, 9216;
    add.u64 %rd2, %rd2, %rd3;
)" + fillShared(1152) + clearTensorMemory(32) +
                          R"(
    )" + barrier + R"(
    tcgen05.fence::after_thread_sync;
    setp.eq.and.u32 %p4, %r20, 0, %p0;
    shr.u32 %r6, %r1, 4;
    cvt.u64.u32 %rd4, %r6;
    or.b64 %rd5, %rd4, 0x0000401000080000;
    or.b64 %rd6, %rd4, 0x0000402000080000;
    add.u64 %rd6, %rd6, 256;
    or.b64 %rd4, %rd4, 0x0000400800080000;
    add.u64 %rd7, %rd4, 384;
    add.u64 %rd8, %rd4, 512;
    add.u64 %rd9, %rd4, 544;
    mov.pred %p3, 1;
    mov.u16 %h1, 3;
    @!%p4 bra wait;
)" + body +
                          "    tcgen05.commit.cta_group::" + number +
                          (group == 2
                               ? ".mbarrier::arrive::one.shared::cluster."
                                 "multicast::cluster.b64 [%r2+8], %h1;"
                               : ".mbarrier::arrive::one.shared::"
                                 "cluster.b64 [%r2+8];") +
                          R"(
wait:
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2+8], 0;
    @!%p2 bra wait;
    tcgen05.fence::after_thread_sync;
    mov.u32 %r12, %ctaid.x;
    div.u32 %r12, %r12, )" +
                          number +
                          R"(;
    shl.b32 %r12, %r12, 1;
    add.u32 %r8, %r8, %r12;
    tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r13, %r14}, [%r8];
    tcgen05.wait::ld.sync.aligned;
    st.global.v2.b32 [%rd1], {%r13, %r14};
    tcgen05.fence::before_thread_sync;
    )" + barrier + "    @%p1 tcgen05.dealloc.cta_group::" +
                          number + R"(.sync.aligned.b32 %r3, 64;
    ret;)",
                      ".extern .shared .align 128 .b8 smem[];\n");
}

/// Copies metadata and scales, and multiplies `times` times.
std::string bodyOf(const Problem &p, const Options &options, unsigned times) {
  std::string group = ".cta_group::" + std::to_string(options.group);
  std::string lane = std::to_string(options.firstLane << 16);
  std::string text = "    add.u32 %r15, %r3, 32;\n"
                     "    tcgen05.cp" +
                     group + ".128x128b [%r15], %rd7;\n" +
                     "    add.u32 %r15, %r15, " + lane +
                     ";\n"
                     "    add.u32 %r3, %r3, " +
                     lane + ";\n";
  std::string scales;
  if (p.kind.scales) {
    text += "    add.u32 %r16, %r3, 40;\n    add.u32 %r17, %r3, 44;\n"
            "    tcgen05.cp" +
            group + ".32x128b.warpx4 [%r16], %rd8;\n    tcgen05.cp" + group +
            ".32x128b.warpx4 [%r17], %rd9;\n";
    scales = "[%r16], [%r17], ";
  }
  std::string a = "%rd5";
  if (options.aInTmem) {
    std::string format = !p.kind.padded || p.kind.bitsA == 8 ? ""
                         : p.kind.bitsA == 4 ? ".b8x16.b4x16_p64"
                                             : ".b8x16.b6x16_p32";
    text += "    add.u32 %r18, %r3, 48;\n    tcgen05.cp" + group + ".128x256b" +
            format + " [%r18], %rd5;\n";
    a = "[%r18]";
  }
  text +=
      "    mov.u32 %r19, " + std::to_string(descriptorOf(p, options)) + ";\n";
  for (unsigned i = 0; i < times; ++i)
    text += "    tcgen05.mma.sp" + group + ".kind::" + p.kind.name +
            " [%r3], " + a + ", %rd6, [%r15], %r19, " + scales + "%p3;\n";
  return text + "    sub.u32 %r3, %r3, " + lane + ";\n";
}

std::vector<uint64_t> inputOf(const Problem &p, const Options &options) {
  std::vector<uint8_t> bytes;
  for (unsigned rank = 0; rank < options.group; ++rank) {
    std::vector<uint8_t> image = imageOf(p, options, rank);
    bytes.insert(bytes.end(), image.begin(), image.end());
  }
  std::vector<uint64_t> words(bytes.size() / 8);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

Extents extentsOf(const Options &options) {
  return {.threads = 128,
          .ctas = options.group * columns / 2,
          .cluster = options.group,
          .sharedBytes = 9472};
}

void expectProduct(const Problem &p, const Options &options,
                   unsigned times = 2) {
  Outcome outcome =
      runChecked(kernelOf(options.group, bodyOf(p, options, times)),
                 inputOf(p, options), extentsOf(options), 2);
  ASSERT_EQ(outcome.out.size(), size_t{128} * extentsOf(options).ctas);
  unsigned rows = p.m / options.group;
  for (unsigned row = 0; row < p.m; ++row)
    for (unsigned column = 0; column < columns; ++column) {
      unsigned lane = laneOf(rows, row % rows, options.firstLane);
      unsigned cta = column / 2 * options.group + row / rows;
      auto cell = static_cast<uint32_t>(outcome.out[128 * cta + lane] >>
                                        (32 * (column % 2)));
      double value = p.kind.isInteger()
                         ? static_cast<double>(std::bit_cast<int32_t>(cell))
                         : std::bit_cast<float>(cell);
      ASSERT_EQ(value, times * p.expected(row, column))
          << p.kind.name << " row " << row << " column " << column;
    }
}

TEST(Sparse, EveryKind) {
  unsigned seed = 0;
  for (const Kind &kind : kinds)
    for (bool aInTmem : {false, true}) {
      SCOPED_TRACE(std::string(kind.name) + " " + std::to_string(kind.bitsA) +
                   (aInTmem ? " A in tensor memory" : ""));
      expectProduct(Problem(kind, 128, ++seed), {.aInTmem = aInTmem});
    }
}

TEST(Sparse, HalfOfTheLanes) {
  unsigned seed = 100;
  for (const Kind &kind : kinds)
    for (unsigned firstLane : {0u, 16u})
      if (!kind.scales) {
        expectProduct(Problem(kind, 64, ++seed), {.firstLane = firstLane});
        expectProduct(Problem(kind, 128, ++seed),
                      {.group = 2, .firstLane = firstLane});
      }
}

TEST(Sparse, Pairs) {
  unsigned seed = 200;
  for (const Kind &kind : kinds)
    expectProduct(Problem(kind, 256, ++seed), {.group = 2});
}

TEST(Sparse, SelectorNamesTheSecondColumn) {
  for (const Kind &kind : kinds)
    if (kind.chunks() == 8)
      expectProduct(Problem(kind, 128, 300 + kind.bitsA), {.selector = 1});
}

/// The reports of a run of `p` with the changed instruction descriptor, body or
/// input.
std::string reportsOf(const Problem &p, const Options &options,
                      const std::string &from, const std::string &to,
                      const std::vector<uint64_t> &input,
                      CheckProfile profile = CheckProfile::Cutlass) {
  std::string body = bodyOf(p, options, 1);
  if (!from.empty()) {
    size_t at = body.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    body.replace(at, from.size(), to);
  }
  RunOptions run;
  run.check = true;
  run.profile = profile;
  return runGrid(kernelOf(options.group, body), input, extentsOf(options), run)
      .reports;
}

void expectReport(const std::string &reports, const std::string &part) {
  EXPECT_NE(reports.find(part), std::string::npos) << part << "\n" << reports;
}

TEST(Sparse, NanThatNoElementMeetsIsNotMultiplied) {
  // B is NaN in every second chunk of four wherever A's row 0 has its zeros;
  // only that row is compared.
  Problem p(kinds[0], 128, 7);
  std::vector<uint64_t> input = inputOf(p, {});
  std::vector<uint8_t> bytes(input.size() * 8);
  std::memcpy(bytes.data(), input.data(), bytes.size());
  std::vector<bool> met(p.kind.depth());
  for (unsigned i = 0; i < p.kind.stored(); ++i)
    met[p.position(0, i)] = true;
  for (unsigned k = 0; k < p.kind.depth(); ++k)
    if (!met[k])
      put(bytes, bitOf(offsetB, 5, 64, k, 16, false), 16, 0x7e00);
  std::memcpy(input.data(), bytes.data(), bytes.size());
  Outcome outcome =
      runChecked(kernelOf(1, bodyOf(p, {}, 1)), input, extentsOf({}), 1);
  // Column 5: the upper half of the third CTA's word.
  auto cell = static_cast<uint32_t>(outcome.out[128 * 2] >> 32);
  EXPECT_EQ(std::bit_cast<float>(cell), p.expected(0, 5));
  auto other = static_cast<uint32_t>(outcome.out[128 * 2 + 1] >> 32);
  EXPECT_TRUE(std::isnan(std::bit_cast<float>(other)));
}

TEST(Sparse, MetadataThatNobodyWrote) {
  for (const Kind *kind : {&kinds[0], &kinds[2], &kinds[3], &kinds[11]}) {
    Problem p(*kind, 128, 8);
    // Columns 36 and 37 are allocated, and not written.
    expectReport(
        reportsOf(p, {}, "[%r15], %r19", "[%r15+4], %r19", inputOf(p, {})),
        "sparsity metadata in tensor memory from column 36 are read "
        "before they are written");
  }
}

TEST(Sparse, MetadataOutsideTheAllocation) {
  Problem p(kinds[3], 128, 9);
  expectReport(
      reportsOf(p, {}, "[%r15], %r19", "[%r15+31], %r19", inputOf(p, {})),
      "sparsity metadata in columns");
}

TEST(Sparse, IllegalMetadataIsNamed) {
  struct Case {
    const Kind &kind;
    unsigned index;
    const char *text;
  };
  for (const Case &c :
       {Case{kinds[0], 0b0111, "0b0111"}, Case{kinds[3], 0b0101, "0b0101"},
        Case{kinds[11], 0b1011, "0b1011"}, Case{kinds[2], 0b1000, "0b1000"}}) {
    Problem p(c.kind, 128, 10);
    p.metadata[size_t{77} * c.kind.chunks() + 5] = c.index;
    std::string reports = reportsOf(p, {}, "", "", inputOf(p, {}));
    expectReport(reports, "for row 77, chunk 5 of A, but got ");
    expectReport(reports, c.text);
  }
}

TEST(Sparse, MetadataOfChunksOfZeros) {
  // CUTLASS's compressor leaves there what is no metadata by the text, and
  // harmless.
  for (const Kind &kind : kinds) {
    Problem p(kind, 128, 15);
    unsigned perChunk = kind.stored() / kind.chunks();
    for (unsigned c : {0u, kind.chunks() - 1}) {
      p.metadata[size_t{40} * kind.chunks() + c] = 0;
      std::fill_n(p.a.begin() + 40 * kind.stored() + c * perChunk, perChunk, 0);
    }
    expectProduct(p, {});
    expectReport(reportsOf(p, {}, "", "", inputOf(p, {}), CheckProfile::Strict),
                 "for row 40, chunk 0 of A, but got 0b0000");
  }
}

TEST(Sparse, DescriptorsAreChecked) {
  auto expect = [](const Kind &kind, unsigned m, const Options &options,
                   uint32_t flipped, const std::string &part) {
    Problem p(kind, m, 11);
    uint32_t bits = descriptorOf(p, options);
    expectReport(reportsOf(p, options, std::to_string(bits),
                           std::to_string(bits ^ flipped), inputOf(p, options)),
                 part);
  };
  expect(kinds[0], 128, {}, 1 << 2, "expected 1 in bit 2 (sparse)");
  expect(kinds[0], 128, {}, 2,
         "a sparsity selector of 2 is not supported; expected 0 or 1");
  expect(kinds[3], 128, {}, 1, "expected a sparsity selector of 0, but got 1");
  // Pairs with scales have M = 256 only.
  expect(kinds[11], 256, {.group = 2}, 3 << 27, "expected M = 256");
}

TEST(Sparse, DenseMultiplicationWithTheSparseBit) {
  Problem p(kinds[0], 128, 12);
  std::string reports = reportsOf(
      p, {},
      "tcgen05.mma.sp.cta_group::1.kind::f16 [%r3], %rd5, "
      "%rd6, [%r15], ",
      "tcgen05.mma.cta_group::1.kind::f16 [%r3], %rd5, %rd6, ", inputOf(p, {}));
  expectReport(reports, "expected 0 in bit 2 (sparse)");
}

TEST(Sparse, SwizzlesOf32BytesAreRefusedForB) {
  Problem p(kinds[0], 128, 13);
  expectReport(reportsOf(p, {}, "    mov.u32 %r19",
                         "    or.b64 %rd6, %rd6, 0xc000000000000000;\n"
                         "    mov.u32 %r19",
                         inputOf(p, {})),
               "use a swizzle of 64 or 128 bytes, or none");
}

TEST(Sparse, LanesOfMetadataAndAccumulatorAgree) {
  Problem p(kinds[3], 64, 14);
  expectReport(reportsOf(p, {.firstLane = 16}, "[%r15], %r19",
                         "[%r15+-1048576], %r19",
                         inputOf(p, {.firstLane = 16})),
               "expected the sparsity metadata at lane 16 as the accumulator, "
               "but got lane 0");
}

} // namespace
