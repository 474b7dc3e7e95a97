//===- GroupedProblem.cpp - a grouped product in simulated memory ---------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scales are stored in atoms of 128 rows by 4 scales: row r of an atom is at
// byte 16 (r % 32) + 4 (r / 32).
//
//===----------------------------------------------------------------------===//

#include "GroupedProblem.h"

#include "nvfp4/Simulator/Async/TensorMap.h"
#include "nvfp4/Simulator/Machine/MiniFloat.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace nvfp4::sim {
namespace {

constexpr unsigned maximumGroups = 8;

/// The argument block of the kernel.
struct Arguments {
  alignas(64) uint8_t a[maximumGroups][128];
  uint8_t b[maximumGroups][128];
  uint8_t d[maximumGroups][128];
  uint8_t saMap[maximumGroups][128];
  uint8_t sbMap[maximumGroups][128];
  uint64_t sa[maximumGroups], sb[maximumGroups];
  float alpha[maximumGroups];
  int32_t m[maximumGroups];
  int32_t n, k, groups;
};

/// Enough for both kernels.
constexpr uint32_t sharedBytes =
    3 * (128 * 128 + 256 * 128 + 2048 + 4096) + 2 * 128 * 128;

uint64_t hash(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

std::vector<uint8_t> randomBytes(size_t count, uint64_t seed) {
  std::vector<uint8_t> bytes(count);
  for (size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<uint8_t>(hash(seed + i * 0x9e3779b97f4a7c15ull));
  return bytes;
}

/// UE4M3 codes from 2^-3 to 2.
std::vector<uint8_t> randomScales(size_t count, uint64_t seed) {
  std::vector<uint8_t> bytes = randomBytes(count, seed);
  for (uint8_t &b : bytes)
    b = static_cast<uint8_t>(32 + b % 32);
  return bytes;
}

uint64_t upload(DeviceMemory &memory, const std::vector<uint8_t> &bytes,
                std::string name) {
  uint64_t address = memory.allocate(bytes.size(), std::move(name));
  memory.write(address, bytes.data(), bytes.size());
  return address;
}

void encode(uint8_t *out, TensorType type, uint64_t address, uint64_t width,
            uint64_t rows, uint64_t pitch, unsigned boxWidth, unsigned boxRows,
            TensorSwizzle swizzle = TensorSwizzle::B128) {
  TensorMapSpec spec;
  spec.type = type;
  spec.rank = 2;
  spec.address = address;
  spec.size = {width, rows, 1, 1, 1};
  spec.stride = {pitch};
  spec.box = {boxWidth, boxRows, 1, 1, 1};
  spec.swizzle = swizzle;
  TensorMap map;
  if (!encodeTensorMap(spec, map).empty())
    std::abort();
  std::memcpy(out, &map, sizeof map);
}

double scaledElement(const std::vector<uint8_t> &codes,
                     const std::vector<uint8_t> &scales, size_t row, size_t i,
                     size_t k) {
  unsigned code = codes[row * (k / 2) + i / 2] >> (4 * (i % 2)) & 15;
  size_t block = i / 16;
  size_t atom = row / 128 * (k / 64) + block / 4;
  size_t place = atom * 512 + row % 32 * 16 + row % 128 / 32 * 4 + block % 4;
  return decodeFloat(code, formatE2M1) * decodeFloat(scales[place], formatE4M3);
}

} // namespace

unsigned GroupedShape::tiles(bool pair) const {
  unsigned rows = 0, tile = pair ? 256 : 128;
  for (int extent : m)
    rows += (static_cast<unsigned>(extent) + tile - 1) / tile;
  return rows * static_cast<unsigned>(n) / 256;
}

GroupedProblem::GroupedProblem(const GroupedShape &shape, bool pair)
    : shape(shape), pair(pair) {
  arguments.resize(sizeof(Arguments));
  auto *block = reinterpret_cast<Arguments *>(arguments.data());
  size_t n = shape.n, k = shape.k;
  for (size_t g = 0; g < shape.m.size(); ++g) {
    // Maps of an empty group are not used, but must be legal.
    size_t m = std::max(shape.m[g], 1), padded = (m + 255) / 256 * 256;
    Group group;
    group.a = randomBytes(m * k / 2, 4 * g);
    group.b = randomBytes(n * k / 2, 4 * g + 1);
    group.sa = randomScales(padded * k / 16, 4 * g + 2);
    group.sb = randomScales(n * k / 16, 4 * g + 3);
    group.result = memory.allocate(m * n * 2, "d");
    encode(block->a[g], TensorType::U8, upload(memory, group.a, "a"), k / 2, m,
           k / 2, 128, 128);
    encode(block->b[g], TensorType::U8, upload(memory, group.b, "b"), k / 2, n,
           k / 2, 128, pair ? 128 : 256);
    encode(block->d[g], TensorType::F16, group.result, n, m, 2 * n, 64, 128);
    block->sa[g] = upload(memory, group.sa, "sa");
    block->sb[g] = upload(memory, group.sb, "sb");
    encode(block->saMap[g], TensorType::U32, block->sa[g], 128,
           padded / 128 * k / 64, 512, 128, 4, TensorSwizzle::None);
    encode(block->sbMap[g], TensorType::U32, block->sb[g], 128,
           n / 128 * k / 64, 512, 128, 4, TensorSwizzle::None);
    block->alpha[g] = 1.0f / 16;
    block->m[g] = shape.m[g];
    groups.push_back(std::move(group));
  }
  block->n = shape.n;
  block->k = shape.k;
  block->groups = static_cast<int32_t>(shape.m.size());
}

LaunchConfig GroupedProblem::config(unsigned ctas) const {
  LaunchConfig config;
  unsigned size = pair ? 2 : 1;
  unsigned clusters = std::min(ctas / size, shape.tiles(pair));
  config.grid = {clusters * size, 1, 1};
  config.cluster = {size, 1, 1};
  config.block = {256, 1, 1};
  config.dynamicShared = sharedBytes;
  config.parameters = arguments;
  return config;
}

void GroupedProblem::poisonResults() {
  for (size_t g = 0; g < groups.size(); ++g)
    memory.fill(groups[g].result, 0xff, size_t(shape.m[g]) * shape.n * 2);
}

std::optional<std::string> GroupedProblem::check() const {
  size_t n = shape.n, k = shape.k;
  for (size_t g = 0; g < groups.size(); ++g)
    for (size_t sample = 0; sample < 256 && shape.m[g] > 0; ++sample) {
      size_t row = hash(2 * sample) % shape.m[g];
      size_t column = hash(2 * sample + 1) % n;
      double expected = 0, magnitude = 0;
      for (size_t i = 0; i < k; ++i) {
        double term = scaledElement(groups[g].a, groups[g].sa, row, i, k) *
                      scaledElement(groups[g].b, groups[g].sb, column, i, k);
        expected += term / 16;
        magnitude += std::abs(term) / 16;
      }
      uint16_t bits = 0;
      memory.read(groups[g].result + (row * n + column) * 2, &bits, 2);
      double actual = decodeFloat(bits, formatF16);
      // Half a unit of the last place of f16, and truncation in f32.
      double bound = std::abs(expected) / 2048 + magnitude / (1 << 21);
      if (!(std::abs(actual - expected) <= bound))
        return "group " + std::to_string(g) + " row " + std::to_string(row) +
               " column " + std::to_string(column) + ": expected " +
               std::to_string(expected) + ", but got " + std::to_string(actual);
    }
  return std::nullopt;
}

} // namespace nvfp4::sim
