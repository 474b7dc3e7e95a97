//===- WgmmaLayout.cpp - Weights laid out for sm_90a ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every bit of a code and of a scale is written where the decoder finds it.
//
//===----------------------------------------------------------------------===//

#include "WgmmaLayout.h"

#include "WgmmaPlaces.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace nvfp4::reference {
using namespace wgmma;

namespace {

uint8_t codeAt(const Coding &c, const uint8_t *line, int64_t column) {
  if (!c.isFP4)
    return line[column];
  return line[column / 2] >> (column % 2 * 4) & 15;
}

/// The factor of 16 columns of a row.
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

/// The power of two by which UE8M0 multiplies columns of a row from `column`
/// on.
llvm::Expected<Factor> readFactor(const Coding &c, const uint8_t *values,
                                  int64_t row, uint8_t scale, int64_t column) {
  const uint8_t *line = values + row * c.lineBytes();
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
    return makeError("expected finite weights, but got infinity in row " +
                     llvm::Twine(row) + ", column " + llvm::Twine(*infinity));
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
      llvm::Expected<Factor> one = readFactor(c, values, row, scale, step * 16);
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

} // namespace

llvm::Expected<ScaledValue> codeWeights(const ScaledValue &linear,
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

} // namespace nvfp4::reference
