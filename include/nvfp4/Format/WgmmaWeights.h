//===- WgmmaWeights.h - Weights laid out for Hopper -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order in which an sm_90 kernel reads weights: blocks of 64 rows by 64
// columns, 2304 bytes each (4352 where elements have 8 bits), the blocks of one
// strip of 64 rows adjacent along K. A block is what one warpgroup needs for
// four wgmma.m64nNk16 steps with A in registers, its scales included. Codes are
// interleaved so that a few shifts and masks make pairs of bf16 or f16 numbers;
// docs/Rationale/Hopper.md explains the instruction sequences and why they are
// exact.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_FORMAT_WGMMAWEIGHTS_H
#define NVFP4_FORMAT_WGMMAWEIGHTS_H

#include "nvfp4/Format/WgmmaCoding.h"

#include <cstdint>
#include <span>
#include <string>

namespace nvfp4::format::wgmma {

/// A weight times its scale leaves the decoder multiplied by 2^-7, or, with
/// E8M0 scales, divided by the factor that encode returns.
constexpr int kResultExponent = -7;

/// A matrix of `rows` by `columns` weights as `format` stores them: packed
/// rows of codes, and rows of `scaleColumns` scales.
struct Matrix {
  BlockFormat format;
  const uint8_t *codes;
  const uint8_t *scales;
  int64_t rows, columns, scaleColumns;
};

/// Neighbours along K: `count` columns of the matrix from `first` on, whose
/// first scale is in column `scale`, go to those from `target` on, a multiple
/// of 16.
struct Segment {
  int64_t first, count, scale, target;
};

/// Re-lays a matrix out for a decoder to `type`, with `blocks` blocks along K;
/// what no segment covers is zero. `out` has that many blocks for each 64 rows.
/// `factor` becomes the number by which products are to be multiplied, 128
/// where scales are UE4M3. Codes under a zero scale are stored as zero. Returns
/// what is wrong with the matrix, or an empty text: a scale with its sign set,
/// an infinite element, E8M0 scales further apart than the decoder's range.
std::string encode(const Matrix &matrix, Multiplicand type,
                   std::span<const Segment> segments, int64_t blocks,
                   uint8_t *out, float &factor);

/// The fault of `factor` as the factor of a matrix with such scales, or an
/// empty text: encode returns 128 for UE4M3 scales, otherwise a power of two.
std::string checkFactor(ScaleKind scale, float factor);

/// Where decode puts a matrix of `rows` by `columns` weights: packed rows of
/// codes, and rows of one scale for each block of the format.
struct Decoded {
  BlockFormat format;
  uint8_t *codes;
  uint8_t *scales;
  int64_t rows, columns;
};

/// Brings `blocks` blocks along K for each 64 rows back to rows of codes and
/// scales: the numbers that encode was given, up to codes under zero scales,
/// which are zero, E8M0 scales of blocks of zeros, which are 1, and NaN.
/// `factor` is what encode returned. Returns what encode cannot have written,
/// or an empty text; the destination is then unspecified.
std::string decode(const uint8_t *in, Multiplicand type, int64_t blocks,
                   float factor, const Decoded &matrix);

/// The byte in which a UE4M3 scale is stored: five bits of exponent, three of
/// mantissa, subnormal scales normalised, so that 0x7000 | byte << 4 is the
/// bf16 number scale * 2^119. NaN becomes 0xFF, which decodes to NaN. Zero
/// becomes 0, which decodes to a finite number: codes under it must be zero.
/// Bit 7 of `scale` must be clear.
uint8_t packScale(uint8_t scale);

/// The inverse of packScale on its range; 0x7F for any other byte.
uint8_t unpackScale(uint8_t byte);

/// Bytes of `rows` x `columns` weights, both rounded up to whole blocks.
int64_t storageBytes(int64_t rows, int64_t columns);

/// Re-lays `rows` x `columns` weights out. `codes` holds two codes per byte,
/// the even column in the low nibble, rows of columns / 2 bytes; `scales` is
/// row-major with one UE4M3 byte per 16 columns; `columns` is a multiple of 16.
/// Codes under a zero scale, and those of padding, are stored as zero, which
/// changes no product. Returns false, with `out` unspecified, when a scale has
/// its sign bit set. `out` has storageBytes(rows, columns) bytes.
bool pack(std::span<const uint8_t> codes, std::span<const uint8_t> scales,
          int64_t rows, int64_t columns, std::span<uint8_t> out);

/// The inverse of pack, up to codes under zero scales, which come back zero.
void unpack(std::span<const uint8_t> in, int64_t rows, int64_t columns,
            std::span<uint8_t> codes, std::span<uint8_t> scales);

} // namespace nvfp4::format::wgmma

#endif // NVFP4_FORMAT_WGMMAWEIGHTS_H
