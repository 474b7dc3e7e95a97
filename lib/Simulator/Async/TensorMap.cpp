//===- TensorMap.cpp - tensor maps ------------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Limits from the documentation of cuTensorMapEncodeTiled and PTX section 5.5.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Async/TensorMap.h"

namespace nvfp4::sim {
namespace {

constexpr unsigned bitsOf[] = {8,  16, 32, 32, 64, 64, 16, 32,
                               64, 16, 32, 32, 32, 4,  4,  6};

std::string expected(const std::string &what, uint64_t got) {
  return "expected " + what + ", but got " + std::to_string(got);
}

} // namespace

unsigned swizzleSpan(TensorSwizzle swizzle) {
  switch (swizzle) {
  case TensorSwizzle::None:
    return 0;
  case TensorSwizzle::B32:
    return 32;
  case TensorSwizzle::B64:
    return 64;
  default:
    return 128;
  }
}

unsigned TensorMap::globalBits() const {
  return bitsOf[static_cast<unsigned>(type) & 15];
}

unsigned TensorMap::sharedBytes(unsigned count) const {
  if (type == TensorType::U4Padded || type == TensorType::U6Padded)
    return count;
  return count * globalBits() / 8;
}

unsigned TensorMap::transactionBytes(unsigned count) const {
  return count * globalBits() / 8;
}

std::string checkTensorMap(const TensorMap &map) {
  if (map.magic != TensorMap::magicValue)
    return "the 128 bytes are not a tensor map";
  if (map.rank < 1 || map.rank > TensorMap::maximumRank)
    return expected("a rank of 1 to 5", map.rank);
  if (static_cast<unsigned>(map.type) > 15)
    return expected("an element type of 0 to 15",
                    static_cast<unsigned>(map.type));
  bool padded =
      map.type == TensorType::U4Padded || map.type == TensorType::U6Padded;
  unsigned alignment = padded ? 32 : 16;
  if (map.address % alignment)
    return expected("a global address that is a multiple of " +
                        std::to_string(alignment),
                    map.address);
  for (unsigned d = 0; d + 1 < map.rank; ++d) {
    if (map.stride[d] % alignment)
      return expected("strides that are multiples of " +
                          std::to_string(alignment) + " bytes",
                      map.stride[d]);
    if (map.stride[d] >= uint64_t{1} << 40)
      return expected("strides below 2^40 bytes", map.stride[d]);
  }
  for (unsigned d = 0; d < map.rank; ++d) {
    if (map.box[d] < 1 || map.box[d] > 256)
      return expected("box dimensions of 1 to 256", map.box[d]);
    if (map.elementStride[d] < 1 || map.elementStride[d] > 8)
      return expected("element strides of 1 to 8", map.elementStride[d]);
  }
  if (map.interleave)
    return "interleaved layouts are not supported";
  unsigned inner = map.sharedBytes(map.box[0]);
  if (map.box[0] * map.globalBits() % 128 && !padded)
    return expected("an inner box of a multiple of 16 bytes",
                    map.box[0] * map.globalBits() / 8);
  if (map.type == TensorType::U4Packed && map.size(0) % 2)
    return expected("an even inner dimension of packed fp4", map.size(0));
  if (padded && (map.box[0] != 128 || map.size(0) % 128))
    return expected("an inner box of 128 elements and an inner dimension that "
                    "is a multiple of 128 for padded types",
                    map.box[0]);
  unsigned span = swizzleSpan(map.swizzle);
  if (static_cast<unsigned>(map.swizzle) > 6)
    return expected("a swizzle of 0 to 6", static_cast<unsigned>(map.swizzle));
  if (span && inner > span)
    return expected("an inner box of at most " + std::to_string(span) +
                        " bytes with this swizzle",
                    inner);
  bool floating =
      map.type >= TensorType::F16 && map.type <= TensorType::TF32Ftz;
  if (map.fillNan && !floating)
    return "filling with NaN needs a floating-point type";
  return {};
}

std::string encodeTensorMap(const TensorMapSpec &spec, TensorMap &map) {
  map = TensorMap();
  map.address = spec.address;
  map.type = spec.type;
  if (spec.rank < 1 || spec.rank > TensorMap::maximumRank)
    return expected("a rank of 1 to 5", spec.rank);
  map.rank = static_cast<uint8_t>(spec.rank);
  map.swizzle = spec.swizzle;
  map.interleave = static_cast<uint8_t>(spec.interleave);
  map.fillNan = spec.fillNan;
  for (unsigned d = 0; d < spec.rank; ++d) {
    if (spec.size[d] < 1 || spec.size[d] > uint64_t{1} << 32)
      return expected("dimensions of 1 to 2^32", spec.size[d]);
    if (spec.box[d] > 256)
      return expected("box dimensions of 1 to 256", spec.box[d]);
    if (spec.elementStride[d] > 8)
      return expected("element strides of 1 to 8", spec.elementStride[d]);
    map.lastIndex[d] = static_cast<uint32_t>(spec.size[d] - 1);
    map.box[d] = static_cast<uint16_t>(spec.box[d]);
    map.elementStride[d] = static_cast<uint16_t>(spec.elementStride[d]);
  }
  for (unsigned d = 0; d + 1 < spec.rank; ++d)
    map.stride[d] = spec.stride[d];
  return checkTensorMap(map);
}

uint32_t swizzleAddress(TensorSwizzle swizzle, uint32_t address) {
  switch (swizzle) {
  case TensorSwizzle::None:
    return address;
  case TensorSwizzle::B32:
    return address ^ (address >> 7 & 1) << 4;
  case TensorSwizzle::B64:
    return address ^ (address >> 7 & 3) << 4;
  case TensorSwizzle::B128:
    return address ^ (address >> 7 & 7) << 4;
  case TensorSwizzle::B128Atom32:
    return address ^ (address >> 7 & 3) << 5;
  case TensorSwizzle::B128Atom32Flip8:
    // As above, and the 8-byte halves of each 16 bytes swap in odd rows.
    return address ^ (address >> 7 & 3) << 5 ^ (address >> 7 & 1) << 3;
  case TensorSwizzle::B128Atom64:
    return address ^ (address >> 7 & 1) << 6;
  }
  return address;
}

} // namespace nvfp4::sim
