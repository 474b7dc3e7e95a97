//===- WgmmaCoding.h - Decoders of weights for Hopper -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes of a block of weights, and the shifts and masks by which a kernel
// decodes it. WgmmaWeights.h says how blocks follow each other.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_FORMAT_WGMMACODING_H
#define NVFP4_FORMAT_WGMMACODING_H

#include "nvfp4/Format/BlockFormat.h"

#include <cstdint>

namespace nvfp4::format::wgmma {

/// Rows and columns of a block, and its bytes where elements have 4 bits: 2048
/// of codes, 256 of scales.
constexpr int64_t kBlockRows = 64;
constexpr int64_t kBlockColumns = 64;
constexpr int64_t kCodeBytes = 2048;
constexpr int64_t kScaleBytes = 256;
constexpr int64_t kBlockBytes = kCodeBytes + kScaleBytes;

/// The type to which weights are decoded, which is that of the other operand.
enum class Multiplicand { BF16, F16 };

/// The parameters of a decoder.
struct Coding {
  ElementKind element = ElementKind::E2M1;
  ScaleKind scale = ScaleKind::UE4M3;
  Multiplicand type = Multiplicand::BF16;

  constexpr int64_t codeBytes() const {
    return element == ElementKind::E2M1 ? kCodeBytes : 2 * kCodeBytes;
  }
  constexpr int64_t blockBytes() const { return codeBytes() + kScaleBytes; }
};

/// E2M1 to bf16: what the decoder applies to a word x of one k16 step and the
/// word y of the next, `rotl` being a rotation of 32 bits to the left:
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

/// E2M1 to f16: register i of a step is ((x << kF16Shifts[i][0]) & kSignMask |
/// (x << kF16Shifts[i][1]) & ~kSignMask) & kF16Mask: v * 2^-14 in f16.
constexpr uint32_t kSignMask = 0x80008000;
constexpr uint32_t kF16Mask = 0x8E008E00;
constexpr int kF16Shifts[4][2] = {{0, 0}, {3, 3}, {1, 9}, {2, 6}};

/// Elements of 8 bits: words 2 j and 2 j + 1 are of k16 step j; registers 2 i
/// and 2 i + 1 of a step are made of y = x and y = x << 8 of its word i:
/// (y & kSignMask | (y >> shift) & ~kSignMask) & mask. The words of steps 2 and
/// 3 lie 2048 bytes after those of 0 and 1.
struct ByteDecoding {
  int shift;
  uint32_t mask;
};
constexpr ByteDecoding getByteDecoding(const Coding &coding) {
  bool isE4M3 = coding.element == ElementKind::E4M3;
  if (coding.type == Multiplicand::F16)
    return isE4M3 ? ByteDecoding{1, 0xBF80BF80} : ByteDecoding{0, 0xFF00FF00};
  return isE4M3 ? ByteDecoding{4, 0x87F087F0} : ByteDecoding{3, 0x8FE08FE0};
}

/// The decoder applies this to a word s of scales: s & kScaleMask for the first
/// k16 step, rotl(s, kScaleRotation) in place of s for the second; with
/// kScaleBase or'ed to it where UE4M3 becomes bf16, shifted to the left by
/// kScaleShift otherwise. The low half belongs to a row, the high half to
/// row + 8.
constexpr uint32_t kScaleMask = 0x0FF00FF0;
constexpr uint32_t kScaleBase = 0x70007000;
constexpr int kScaleRotation = 8;
constexpr int kScaleShift = 3;
constexpr bool usesScaleBase(const Coding &coding) {
  return coding.scale == ScaleKind::UE4M3 && coding.type == Multiplicand::BF16;
}

} // namespace nvfp4::format::wgmma

#endif // NVFP4_FORMAT_WGMMACODING_H
