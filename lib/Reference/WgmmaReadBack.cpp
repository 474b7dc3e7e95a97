//===- WgmmaReadBack.cpp - Weights laid out for sm_90a, read ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads every bit where the decoder finds it, and refuses what laying out does
// not write.
//
//===----------------------------------------------------------------------===//

#include "WgmmaLayout.h"
#include "WgmmaPlaces.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace nvfp4::reference {
using namespace wgmma;

namespace {

/// The numbers of one block of the format, read back.
class BlockReader {
public:
  BlockReader(const Coding &c, Bits<const uint8_t> in, int shift)
      : c(c), in(in), shift(shift) {}

  /// Codes and scale of columns [begin, end) of a row; false if nothing is laid
  /// out so.
  bool read(int64_t row, int64_t begin, int64_t end,
            llvm::function_ref<void(int64_t, uint8_t)> setCode,
            uint8_t &scale) const;

private:
  int getByte(int64_t row, int64_t column) const {
    int byte = 0;
    for (int k = 0; k < 8; ++k) {
      Place place = c.scalePlace(row, column, k);
      byte |= in.get({c.blockOf(row, column) + place.word, place.bit}) << k;
    }
    return byte;
  }
  uint8_t getCode(int64_t row, int64_t column) const {
    uint8_t code = 0;
    for (int k = 0; k < (c.isFP4 ? 4 : 8); ++k) {
      Place place = c.codePlace(row, column, k);
      code |= static_cast<uint8_t>(
          in.get({c.blockOf(row, column) + place.word, place.bit}) << k);
    }
    return code;
  }
  /// The scale that a byte other than 0 and NaN stands for, or nothing.
  std::optional<uint8_t> getScale(int byte) const {
    if (c.hasE8M0) {
      int field = c.isF16 ? byte >> 3 : byte;
      int scale = field - c.getOffset() + shift + 127;
      if (c.byteOfField(field) != byte || scale < 0 || scale > 254)
        return std::nullopt;
      return static_cast<uint8_t>(scale);
    }
    for (int scale = 1; scale < 0x80; ++scale)
      if (storeUE4M3(static_cast<uint8_t>(scale)) == byte)
        return static_cast<uint8_t>(scale);
    return std::nullopt;
  }

  const Coding &c;
  Bits<const uint8_t> in;
  int shift;
};

bool BlockReader::read(int64_t row, int64_t begin, int64_t end,
                       llvm::function_ref<void(int64_t, uint8_t)> setCode,
                       uint8_t &scale) const {
  std::optional<uint8_t> found;
  bool hasNan = false, hasOther = false;
  for (int64_t at = begin; at < end; at += 16) {
    int byte = getByte(row, at);
    bool isNan = c.hasE8M0 && byte == c.nanByte();
    hasNan |= isNan;
    hasOther |= !isNan;
    bool mayHaveCodes = byte != 0 && !isNan;
    if (mayHaveCodes) {
      std::optional<uint8_t> one = getScale(byte);
      if (!one || (found && *found != *one))
        return false;
      found = one;
    }
    for (int64_t column = at; column < std::min(at + 16, end); ++column) {
      uint8_t code = getCode(row, column);
      if (code && !mayHaveCodes)
        return false;
      setCode(column, code);
    }
  }
  bool isWholeNan = hasNan && !hasOther;
  if (hasNan && hasOther) {
    if (c.isFP4)
      return false;
    for (int64_t at = begin; at < end; at += 16)
      if (getByte(row, at) == c.nanByte())
        for (int64_t column = at; column < std::min(at + 16, end); ++column)
          setCode(column, 0x7F);
  }
  scale = isWholeNan ? 0xFF : found ? *found : c.hasE8M0 ? 127 : 0;
  return true;
}

} // namespace

llvm::Expected<ScaledValue> readCodedWeights(const ScaledValue &coded) {
  gsg::ScaledType type =
      coded.type.withLayout(gsg::ScaleLayout::Linear, gsg::GroupStart::Whole);
  Coding c(coded.type);
  Element element = *elementOf(type.getDataElementType());
  Element scaleElement = *elementOf(type.getScaleElementType());
  ScaledValue result{type, Tensor::zeros(element, type.getDataShape()),
                     Tensor::zeros(scaleElement, type.getScaleShape()),
                     nullptr};
  llvm::MutableArrayRef<uint8_t> values = result.data.mutableBytes();
  llvm::MutableArrayRef<uint8_t> scales = result.scales.mutableBytes();
  int64_t block = format::blockSize(c.format);
  for (int64_t i = 0; i < c.matrices; ++i) {
    double factor = coded.scales.real(i).value;
    int exponent = 0;
    bool isPower =
        std::isfinite(factor) && std::frexp(factor, &exponent) == 0.5;
    // relayout_weights_c5
    if (!isPower || (!c.hasE8M0 && factor != 128))
      return makeError("expected " +
                       llvm::Twine(c.hasE8M0 ? "a power of two" : "128") +
                       " as the factor of matrix " + llvm::Twine(i) +
                       " of weights, but got " + std::to_string(factor));
    BlockReader reader(
        c, Bits<const uint8_t>(coded.data.bytes().data() + i * c.matrixBytes()),
        exponent - 1 - 7);
    for (int64_t row = 0; row < c.rows; ++row)
      for (int64_t column = 0; column < c.columns; column += block) {
        uint8_t *line = values.data() + (i * c.rows + row) * c.lineBytes();
        auto setCode = [&](int64_t k, uint8_t code) {
          if (!c.isFP4)
            line[k] = code;
          else
            line[k / 2] |= static_cast<uint8_t>(code << (k % 2 * 4));
        };
        uint8_t scale = 0;
        // relayout_weights_c5
        if (!reader.read(row, column, std::min(column + block, c.columns),
                         setCode, scale))
          return makeError(
              "expected weights as relayout_weights lays them out, "
              "but got others in row " +
              llvm::Twine(row) + ", column " + llvm::Twine(column) +
              " of matrix " + llvm::Twine(i));
        scales[static_cast<size_t>((i * c.rows + row) * c.scaleColumns() +
                                   column / block)] = scale;
      }
  }
  return result;
}

} // namespace nvfp4::reference
