//===- WgmmaLayout.cpp - Weights laid out for sm_90a ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each bit of a code and of a scale the place where the decoder of the
// documentation finds it; laying out writes these bits, reading back reads
// them.
//
//===----------------------------------------------------------------------===//

#include "WgmmaLayout.h"

#include "nvfp4/Dialect/GroupedScaledGemm/IR/FormatEnums.h"

#include "llvm/ADT/bit.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace nvfp4::reference {
namespace {

/// A bit of a block of 64 by 64 weights: of a 32-bit word at a byte.
struct Place {
  int64_t word;
  int bit;
};

/// What one matrix is made of, and how its decoder multiplies.
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

/// Bit k of the code in a row and column of a block: the thread of the fragment
/// that holds it, its register, and where the register's bit comes from.
Place Coding::codePlace(int64_t row, int64_t column, int k) const {
  row %= 64;
  column %= 64;
  int64_t thread = row / 16 * 32 + row % 8 * 4 + column % 8 / 2;
  int64_t step = column / 16;
  int reg = static_cast<int>(row % 16 / 8 + column % 16 / 8 * 2);
  int half = static_cast<int>(column % 2) * 16;
  if (!isFP4) {
    // Registers 2 i and 2 i + 1 are the upper and lower bytes of word i.
    int64_t word = step / 2 * 2048 + thread * 16 + step % 2 * 8 + reg / 2 * 4;
    return {word, half + (reg % 2 == 0 ? 8 : 0) + k};
  }
  int64_t own = thread * 16 + step * 4;
  bool isSign = k == 3;
  if (isF16) {
    constexpr int sign[] = {15, 12, 14, 13}, magnitude[] = {9, 6, 0, 3};
    return {own, half + (isSign ? sign[reg] : magnitude[reg] + k)};
  }
  // Decoded: the sign in bit 15, the magnitude in bits 8 to 6.
  int bit = half + (isSign ? 15 : 6 + k);
  auto before = [](int bit, int rotation) {
    return (bit - rotation + 32) % 32;
  };
  constexpr int rotations[] = {0, 4, 10};
  if (reg < 3)
    return {own, before(bit, rotations[reg])};
  int64_t x = thread * 16 + step / 2 * 8;
  int inPool = before(bit, step % 2 == 0 ? 6 : 12);
  if (0x06030603u >> inPool & 1)
    return {x, inPool};
  return {x + 4, before(inPool, 2)};
}

/// Bit k of the byte for 16 columns of a row of a block.
Place Coding::scalePlace(int64_t row, int64_t column, int k) const {
  row %= 64;
  column %= 64;
  int64_t shared = row / 16 * 8 + row % 8;
  int64_t word = codeBytes() + shared * 8 + column / 32 * 4;
  int bit = 4 + k + (row % 16 / 8) * 16;
  if (column / 16 % 2 == 1)
    bit = (bit - 8 + 32) % 32;
  return {word, bit};
}

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

/// The number whose bf16 bits are 0x7000 | byte << 4, over 2^119.
double decodeStoredScale(int byte) {
  auto bits = static_cast<uint32_t>(0x7000 | byte << 4) << 16;
  return std::ldexp(static_cast<double>(llvm::bit_cast<float>(bits)), -119);
}

/// The stored byte of a UE4M3 scale.
uint8_t storeUE4M3(uint8_t scale) {
  double value = format::decodeUE4M3(scale);
  if (std::isnan(value))
    return 0xFF;
  for (int byte = 1; value > 0 && byte < 0xFF; ++byte)
    if (decodeStoredScale(byte) == value)
      return static_cast<uint8_t>(byte);
  return 0;
}

uint8_t codeAt(const Coding &c, const uint8_t *line, int64_t column) {
  if (!c.isFP4)
    return line[column];
  return line[column / 2] >> (column % 2 * 4) & 15;
}

/// What 16 columns of a row are multiplied by.
struct Factor {
  enum Kind { Zero, Nan, Power } kind = Zero;
  int exponent = 0;
};

llvm::Error rangeError(const Coding &c, int lowest, int highest) {
  auto [low, high] = c.getFieldRange();
  return makeError("expected scales of a matrix of weights within a factor of "
                   "2^" +
                   llvm::Twine(high - low) + " of each other, but got 2^" +
                   llvm::Twine(lowest) + " and 2^" + llvm::Twine(highest));
}

/// The power of two by which UE8M0 multiplies columns from `column` on.
llvm::Expected<Factor> readFactor(const Coding &c, const uint8_t *line,
                                  uint8_t scale, int64_t column) {
  format::ElementKind kind = format::elementKind(c.format);
  bool isZero = true, isNan = scale == 0xFF;
  std::optional<int64_t> infinity;
  for (int64_t k = column; k < std::min(column + 16, c.columns); ++k) {
    double value = format::decodeElement(kind, codeAt(c, line, k));
    isZero &= value == 0;
    isNan |= std::isnan(value);
    if (std::isinf(value) && !infinity)
      infinity = k;
  }
  if (isNan)
    return Factor{Factor::Nan, 0};
  // relayout_weights_c4
  if (infinity)
    return makeError("expected finite weights, but got infinity in column " +
                     llvm::Twine(*infinity));
  if (isZero)
    return Factor{Factor::Zero, 0};
  return Factor{Factor::Power, scale - 127};
}

/// One matrix.
llvm::Error layOut(const Coding &c, const uint8_t *values,
                   const uint8_t *scales, Bits<uint8_t> out, double &factor) {
  int64_t steps = (c.columns + 15) / 16, block = format::blockSize(c.format);
  std::vector<Factor> factors;
  int lowest = 1000, highest = -1000;
  auto scaleAt = [&](int64_t row, int64_t step) {
    return scales[row * c.scaleColumns() + step * 16 / block];
  };
  for (int64_t row = 0; row < c.rows; ++row)
    for (int64_t step = 0; step < steps; ++step) {
      uint8_t scale = scaleAt(row, step);
      if (!c.hasE8M0) {
        // relayout_weights_c4
        if (scale & 0x80)
          return makeError("expected scales of weights without a sign, but got "
                           "one with a sign in row " +
                           llvm::Twine(row));
        continue;
      }
      llvm::Expected<Factor> one =
          readFactor(c, values + row * c.lineBytes(), scale, step * 16);
      if (!one)
        return one.takeError();
      factors.push_back(*one);
      if (one->kind == Factor::Power) {
        lowest = std::min(lowest, one->exponent);
        highest = std::max(highest, one->exponent);
      }
    }
  int shift = 0;
  if (lowest <= highest) {
    auto [low, high] = c.getFieldRange();
    shift = std::max(0, highest + c.getOffset() - high);
    if (shift == 0)
      shift = std::min(0, lowest + c.getOffset() - low);
    // relayout_weights_c4
    if (highest - lowest > high - low)
      return rangeError(c, lowest, highest);
  }
  factor = std::ldexp(1.0, shift + 7);
  for (int64_t row = 0; row < c.rows; ++row)
    for (int64_t step = 0; step < steps; ++step) {
      int byte;
      bool hasCodes;
      if (!c.hasE8M0) {
        byte = storeUE4M3(scaleAt(row, step));
        hasCodes = byte != 0;
      } else {
        Factor f = factors[static_cast<size_t>(row * steps + step)];
        hasCodes = f.kind == Factor::Power;
        byte = hasCodes ? c.byteOfField(f.exponent + c.getOffset() - shift)
               : f.kind == Factor::Nan ? c.nanByte()
                                       : 0;
      }
      int64_t at = c.blockOf(row, step * 16);
      for (int k = 0; k < 8; ++k)
        if (byte >> k & 1) {
          Place place = c.scalePlace(row, step * 16, k);
          out.set({at + place.word, place.bit});
        }
      for (int64_t column = step * 16;
           hasCodes && column < std::min(step * 16 + 16, c.columns); ++column) {
        uint8_t code = codeAt(c, values + row * c.lineBytes(), column);
        for (int k = 0; k < (c.isFP4 ? 4 : 8); ++k)
          if (code >> k & 1) {
            Place place = c.codePlace(row, column, k);
            out.set({at + place.word, place.bit});
          }
      }
    }
  return llvm::Error::success();
}

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

llvm::Expected<ScaledValue> layOutWeights(const ScaledValue &linear,
                                          gsg::ScaleLayout layout) {
  gsg::ScaledType type = linear.type.withLayout(layout, gsg::GroupStart::Whole);
  Coding c(type);
  ScaledValue result{type, Tensor::zeros(Element::I8, type.getDataShape()),
                     Tensor::zeros(Element::F32, type.getScaleShape()),
                     nullptr};
  llvm::MutableArrayRef<uint8_t> out = result.data.mutableBytes();
  for (int64_t i = 0; i < c.matrices; ++i) {
    double factor = 0;
    if (llvm::Error error =
            layOut(c, linear.data.bytes().data() + i * c.rows * c.lineBytes(),
                   linear.scales.bytes().data() + i * c.rows * c.scaleColumns(),
                   Bits<uint8_t>(out.data() + i * c.matrixBytes()), factor))
      return makeError(
          llvm::toString(std::move(error)) +
          (c.matrices > 1 ? " of matrix " + std::to_string(i) : std::string()));
    result.scales.setReal(i, {factor, 0});
  }
  return result;
}

llvm::Expected<ScaledValue> readLaidWeights(const ScaledValue &coded) {
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
