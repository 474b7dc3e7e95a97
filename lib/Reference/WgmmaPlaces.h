//===- WgmmaPlaces.h - Bits of weights laid out for sm_90a ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each bit of a code and of a scale the place where the decoder of the
// documentation finds it.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_REFERENCE_WGMMAPLACES_H
#define NVFP4_LIB_REFERENCE_WGMMAPLACES_H

#include "nvfp4/Dialect/GroupedScaledGemm/IR/FormatEnums.h"
#include "nvfp4/Reference/Value.h"

namespace nvfp4::reference::wgmma {

/// A bit of a block of 64 by 64 weights: of a 32-bit word at a byte.
struct Place {
  int64_t word;
  int bit;
};

/// The parts of one matrix, and the factors of its decoder.
struct Coding {
  explicit Coding(gsg::ScaledType type)
      : format(toFormat(type.getFormat())), isFP4(type.isFP4()),
        isF16(type.getLayout() == gsg::ScaleLayout::WgmmaF16),
        hasE8M0(type.getFormat() != gsg::BlockFormat::NVFP4),
        rows(type.getDimSize(type.getRank() - 2)),
        columns(type.getDimSize(type.getRank() - 1)),
        matrices(type.getRank() > 2 ? type.getDimSize(0) : 1) {}

  format::BlockFormat format;
  bool isFP4, isF16, hasE8M0;
  int64_t rows, columns, matrices;

  int64_t codeBytes() const { return isFP4 ? 2048 : 4096; }
  int64_t blockBytes() const { return codeBytes() + 256; }
  int64_t blocks() const { return (columns + 127) / 128 * 2; }
  int64_t matrixBytes() const {
    return (rows + 63) / 64 * blocks() * blockBytes();
  }
  int64_t blockOf(int64_t row, int64_t column) const {
    return (row / 64 * blocks() + column / 64) * blockBytes();
  }
  int64_t lineBytes() const { return isFP4 ? (columns + 1) / 2 : columns; }
  int64_t scaleColumns() const {
    int64_t block = format::blockSize(format);
    return (columns + block - 1) / block;
  }

  /// The decoder multiplies by 2^(field - bias of the type); of 2^e the field
  /// is e + getOffset() less what went into the factor.
  int bias() const { return isF16 ? 15 : 127; }
  int getOffset() const {
    // Elements keep their exponent field in the wider type.
    int elementBias = isFP4 ? 1 : isE4M3() ? 7 : 15;
    return bias() - 7 - (elementBias - bias());
  }
  bool isE4M3() const { return format == format::BlockFormat::MXFP8_E4M3; }
  /// The table of docs/Rationale/Hopper.md.
  std::pair<int, int> getFieldRange() const {
    if (isF16)
      return isFP4      ? std::pair(6, 30)
             : isE4M3() ? std::pair(8, 30)
                        : std::pair(7, 15);
    return {isFP4 ? 128 : isE4M3() ? 130 : 129, 254};
  }
  int nanByte() const { return hasE8M0 && isF16 ? 0xF8 : 0xFF; }
  uint8_t byteOfField(int field) const {
    return static_cast<uint8_t>(isF16 ? field << 3 : field);
  }

  Place codePlace(int64_t row, int64_t column, int k) const;
  Place scalePlace(int64_t row, int64_t column, int k) const;
};

/// Bits by their places, of a matrix or a block.
template <typename Byte> class Bits {
public:
  explicit Bits(Byte *bytes) : bytes(bytes) {}
  bool get(Place at) const {
    return bytes[at.word + at.bit / 8] >> (at.bit % 8) & 1;
  }
  void set(Place at) const {
    bytes[at.word + at.bit / 8] |= static_cast<uint8_t>(1 << at.bit % 8);
  }

private:
  Byte *bytes;
};

/// The stored byte of a UE4M3 scale.
uint8_t storeUE4M3(uint8_t scale);

} // namespace nvfp4::reference::wgmma

#endif // NVFP4_LIB_REFERENCE_WGMMAPLACES_H
