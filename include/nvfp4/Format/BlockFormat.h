//===- BlockFormat.h - element, block and scale of a format -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The block-scaled formats: K is cut into blocks of 16 or 32 elements and each
// block has one 8-bit scale. All traits are constants of the format.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_FORMAT_BLOCKFORMAT_H
#define NVFP4_FORMAT_BLOCKFORMAT_H

#include "nvfp4/Format/E2M1.h"
#include "nvfp4/Format/Enums.h"
#include "nvfp4/Format/Float8.h"

#include <array>
#include <optional>
#include <string_view>

namespace nvfp4::format {
/// How one element is stored: 4 bits for E2M1, 8 for the others.
enum class ElementKind { E2M1, E4M3, E5M2 };
/// How the scale of a block is stored, in one byte: UE4M3 or a power of two.
enum class ScaleKind { UE4M3, E8M0 };

/// The parts of a BlockFormat.
struct BlockFormatTraits {
  BlockFormat format;
  ElementKind element;
  ScaleKind scale;
  /// Bits of one stored element, 4 or 8.
  int elementBits;
  /// Elements along K that share a scale, 16 or 32.
  int blockSize;
  /// The largest finite element.
  float maxElement;
  /// floor(log2(maxElement)), the OCP "emax".
  int maxExponent;
};

/// One row per BlockFormat, in the order of the enumeration.
inline constexpr std::array<BlockFormatTraits, 5> kBlockFormats = {{
    {BlockFormat::NVFP4, ElementKind::E2M1, ScaleKind::UE4M3, 4, 16, kE2M1Max,
     2},
    {BlockFormat::MXFP4, ElementKind::E2M1, ScaleKind::E8M0, 4, 32, kE2M1Max,
     2},
    {BlockFormat::NVFP4_E8M0, ElementKind::E2M1, ScaleKind::E8M0, 4, 16,
     kE2M1Max, 2},
    {BlockFormat::MXFP8_E4M3, ElementKind::E4M3, ScaleKind::E8M0, 8, 32,
     kE4M3Max, 8},
    {BlockFormat::MXFP8_E5M2, ElementKind::E5M2, ScaleKind::E8M0, 8, 32,
     kE5M2Max, 15},
}};
/// The row of `format`; what follows are its columns.
constexpr const BlockFormatTraits &traits(BlockFormat format) {
  return kBlockFormats[static_cast<size_t>(format)];
}
constexpr int elementBits(BlockFormat f) { return traits(f).elementBits; }
constexpr int blockSize(BlockFormat f) { return traits(f).blockSize; }
constexpr ElementKind elementKind(BlockFormat f) { return traits(f).element; }
constexpr ScaleKind scaleKind(BlockFormat f) { return traits(f).scale; }
constexpr float maxElement(BlockFormat f) { return traits(f).maxElement; }

/// Bytes of one row of `columns` elements, rows starting on a byte.
constexpr int64_t rowBytes(BlockFormat f, int64_t columns) {
  return elementBits(f) == 8 ? columns : columns / 2 + columns % 2;
}

/// Scales along a row of `columns` elements, ceil(columns / blockSize).
constexpr int64_t scaleColumns(BlockFormat f, int64_t columns) {
  return columns / blockSize(f) + (columns % blockSize(f) != 0 ? 1 : 0);
}

/// The byte that padding scales hold: zero for UE4M3, 1.0 for E8M0, which has
/// no zero. Never NaN, because NaN times a zero element is NaN.
constexpr uint8_t paddingScale(ScaleKind kind) {
  return kind == ScaleKind::UE4M3 ? 0 : kE8M0One;
}

/// The exact value of an element code.
constexpr float decodeElement(ElementKind kind, uint8_t code) {
  switch (kind) {
  case ElementKind::E2M1:
    return decodeE2M1(code);
  case ElementKind::E4M3:
    return decodeE4M3(code);
  case ElementKind::E5M2:
    return decodeE5M2(code);
  }
  return 0.0f;
}

/// The exact value of a scale byte. A UE4M3 byte with the sign bit set is NaN.
constexpr float decodeScale(ScaleKind kind, uint8_t code) {
  return kind == ScaleKind::UE4M3 ? decodeUE4M3(code) : decodeE8M0(code);
}

/// The exact value of a code under its scale and global multiplier. Exact in
/// f64 for every finite input (at most 4 + 4 + 24 significand bits) as long as
/// the product is a normal double, which every normal f32 multiplier ensures.
constexpr double dequantize(BlockFormat f, uint8_t code, uint8_t scale,
                            float multiplier = 1.0f) {
  double element = decodeElement(elementKind(f), code);
  double factor = decodeScale(scaleKind(f), scale);
  return element * factor * static_cast<double>(multiplier);
}

} // namespace nvfp4::format

#endif // NVFP4_FORMAT_BLOCKFORMAT_H
