//===- WgmmaWeights.h - NVFP4 weights laid out for Hopper -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order in which an sm_90 kernel reads NVFP4 weights: blocks of 64 rows by
// 64 columns, 2304 bytes each, the blocks of one strip of 64 rows adjacent
// along K. A block is what one warpgroup needs for four wgmma.m64nNk16 steps
// with A in registers, its scales included. Codes are interleaved bit by bit
// so that a rotation and a mask make a pair of bf16 numbers; docs/Rationale/
// Hopper.md explains the instruction sequence and why it is exact.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_FORMAT_WGMMAWEIGHTS_H
#define NVFP4_FORMAT_WGMMAWEIGHTS_H

#include <cstdint>
#include <span>

namespace nvfp4::format::wgmma {

/// Rows and columns of a block, and its bytes: 2048 of codes, 256 of scales.
constexpr int64_t kBlockRows = 64;
constexpr int64_t kBlockColumns = 64;
constexpr int64_t kCodeBytes = 2048;
constexpr int64_t kBlockBytes = 2304;

/// What the decoder applies to a word x of one k16 step and the word y of the
/// next, `rotl` being a rotation of 32 bits to the left:
///   x: rotl(x, kRotations[i]) & kValueMask for registers 0, 1, 2,
///      rotl(z, kPoolRotations[0]) & kValueMask for register 3,
///   y: the same with kPoolRotations[1], and
///   z = (x & kPoolMask) | (rotl(y, kPoolShift) & ~kPoolMask).
/// Each result holds two values v * 2^-126 in bf16: the sign in bit 15, the
/// three bits of the magnitude in bits 8 to 6 of each half.
constexpr uint32_t kValueMask = 0x81C081C0;
constexpr uint32_t kPoolMask = 0x06030603;
constexpr int kRotations[3] = {0, 4, 10};
constexpr int kPoolShift = 2;
constexpr int kPoolRotations[2] = {6, 12};

/// What the decoder applies to a word s of scales: s & kScaleMask | kScaleBase
/// for the first k16 step, rotl(s, kScaleRotation) in place of s for the
/// second. The low half is s(row) * 2^119 in bf16, the high half that of
/// row + 8.
constexpr uint32_t kScaleMask = 0x0FF00FF0;
constexpr uint32_t kScaleBase = 0x70007000;
constexpr int kScaleRotation = 8;

/// A weight times its scale leaves the decoder multiplied by 2^-7.
constexpr int kResultExponent = -7;

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
