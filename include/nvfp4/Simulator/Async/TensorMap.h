//===- TensorMap.h - tensor maps --------------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The 128 opaque bytes that cuTensorMapEncodeTiled makes and that
// tensormap.replace edits. The layout is the simulator's own. One rule comes
// from a kernel library that edits the real thing: bit 21 of the second 64-bit
// word carries nothing here, because that library clears it for small tensors.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_ASYNC_TENSORMAP_H
#define NVFP4_SIMULATOR_ASYNC_TENSORMAP_H

#include <array>
#include <cstdint>
#include <string>

namespace nvfp4::sim {

/// Element types, numbered as CUtensorMapDataType.
enum class TensorType : uint8_t {
  U8 = 0,
  U16 = 1,
  U32 = 2,
  S32 = 3,
  U64 = 4,
  S64 = 5,
  F16 = 6,
  F32 = 7,
  F64 = 8,
  BF16 = 9,
  F32Ftz = 10,
  TF32 = 11,
  TF32Ftz = 12,
  /// Packed fp4, 16 elements in 8 bytes, also in shared memory.
  U4Packed = 13,
  /// fp4 padded in shared memory: 8 bytes of data, 8 bytes of padding.
  U4Padded = 14,
  /// fp6 padded in shared memory: 12 bytes of data, 4 bytes of padding.
  U6Padded = 15,
};

/// Swizzle modes, numbered as CUtensorMapSwizzle.
enum class TensorSwizzle : uint8_t {
  None = 0,
  B32 = 1,
  B64 = 2,
  B128 = 3,
  B128Atom32 = 4,
  B128Atom32Flip8 = 5,
  B128Atom64 = 6,
};

/// A tensor map in memory.
struct TensorMap {
  static constexpr uint64_t magicValue = 0x4d54'3446'504e'5653ull;
  static constexpr unsigned maximumRank = 5;

  uint64_t magic = magicValue;
  uint64_t unused = 0;
  uint64_t address = 0;
  TensorType type = TensorType::U8;
  uint8_t rank = 1;
  TensorSwizzle swizzle = TensorSwizzle::None;
  uint8_t interleave = 0;
  uint8_t fillNan = 0;
  uint8_t padding[3] = {};
  /// Sizes minus one, so that 2^32 fits.
  std::array<uint32_t, maximumRank> lastIndex{};
  std::array<uint16_t, maximumRank> box{1, 1, 1, 1, 1};
  std::array<uint16_t, maximumRank> elementStride{1, 1, 1, 1, 1};
  /// Bytes between neighbours in dimensions 1 to 4.
  std::array<uint64_t, maximumRank - 1> stride{};

  bool operator==(const TensorMap &) const = default;
  uint64_t size(unsigned d) const { return uint64_t{lastIndex[d]} + 1; }
  /// Bits of an element in global memory.
  unsigned globalBits() const;
  /// Bytes `count` elements of dimension 0 take in shared memory.
  unsigned sharedBytes(unsigned count) const;
  /// Bytes of `count` elements that transaction counts are made of; padding is
  /// not counted.
  unsigned transactionBytes(unsigned count) const;
};
static_assert(sizeof(TensorMap) <= 128);

/// Arguments of cuTensorMapEncodeTiled.
struct TensorMapSpec {
  TensorType type = TensorType::U8;
  unsigned rank = 1;
  uint64_t address = 0;
  std::array<uint64_t, 5> size{1, 1, 1, 1, 1};
  /// Bytes, dimensions 1 to rank - 1.
  std::array<uint64_t, 4> stride{};
  std::array<uint32_t, 5> box{1, 1, 1, 1, 1};
  std::array<uint32_t, 5> elementStride{1, 1, 1, 1, 1};
  TensorSwizzle swizzle = TensorSwizzle::None;
  unsigned interleave = 0;
  bool fillNan = false;
};

/// Checks `spec` by the rules of the driver and encodes it. Returns an empty
/// string, or what is wrong.
std::string encodeTensorMap(const TensorMapSpec &spec, TensorMap &map);

/// Checks a map that is about to be used, which may have been edited on the
/// device. Returns an empty string, or what is wrong.
std::string checkTensorMap(const TensorMap &map);

/// Bytes of a row that a swizzle permutes; 0 without one.
unsigned swizzleSpan(TensorSwizzle swizzle);

/// The address at which the byte of an unswizzled address is stored.
uint32_t swizzleAddress(TensorSwizzle swizzle, uint32_t address);

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_ASYNC_TENSORMAP_H
