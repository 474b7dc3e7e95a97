//===- Descriptors.cpp - shared-memory and instruction descriptors --------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bit tables of PTX sections 9.7.16.4.1 and 9.7.16.4.2, shapes of 9.7.16.2.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/TensorCore/Descriptors.h"

#include <optional>

namespace nvfp4::sim {
namespace {

uint64_t field(uint64_t bits, unsigned low, unsigned width) {
  return bits >> low & ((uint64_t{1} << width) - 1);
}

std::string expected(const std::string &what, uint64_t got) {
  return "expected " + what + ", but got " + std::to_string(got);
}

uint32_t swizzled(const SmemDescriptor &d, uint32_t linear) {
  // A base offset shifts the phase of the pattern.
  uint32_t shift = d.baseOffset << 7;
  return swizzleAddress(d.swizzle, linear - shift) + shift;
}

void setSwizzle(SmemDescriptor &d, TensorSwizzle swizzle, unsigned span) {
  d.swizzle = swizzle;
  d.span = span;
}

std::optional<FloatFormat> eightBitFormat(unsigned code) {
  switch (code) {
  case 0:
    return formatE4M3;
  case 1:
    return formatE5M2;
  case 3:
    return formatE2M3;
  case 4:
    return formatE3M2;
  case 5:
    return formatE2M1;
  default:
    return std::nullopt;
  }
}

} // namespace

uint32_t SmemDescriptor::addressKMajor(unsigned row, unsigned byte) const {
  if (swizzle == TensorSwizzle::None)
    return start + row / 8 * strideBytes + row % 8 * 16 +
           byte / 16 * leadingBytes + byte % 16;
  // The operand is one swizzle span wide; further spans follow at the leading
  // offset (wgmma and tcgen05 read at most one).
  return swizzled(*this, start + row / 8 * strideBytes + row % 8 * span + byte);
}

uint32_t SmemDescriptor::addressMnMajor(unsigned row, unsigned k,
                                        unsigned bytes) const {
  unsigned position = row * bytes;
  if (swizzle == TensorSwizzle::None)
    return start + position % 16 + position / 16 * strideBytes + k % 8 * 16 +
           k / 8 * leadingBytes;
  return swizzled(*this, start + position % span +
                             position / span * leadingBytes + k % 8 * span +
                             k / 8 * strideBytes);
}

std::string decodeSmemDescriptor(uint64_t bits, SmemDescriptor &d) {
  d = SmemDescriptor();
  d.start = static_cast<uint32_t>(field(bits, 0, 14)) << 4;
  d.leadingBytes = static_cast<uint32_t>(field(bits, 16, 14)) << 4;
  d.strideBytes = static_cast<uint32_t>(field(bits, 32, 14)) << 4;
  d.baseOffset = static_cast<unsigned>(field(bits, 49, 3));
  if (field(bits, 14, 2) || field(bits, 30, 2) || field(bits, 53, 8))
    return "expected zeros in bits 14-15, 30-31 and 53-60 of the shared-memory "
           "descriptor";
  if (field(bits, 46, 3) != 1)
    return expected("1 in bits 46-48 of the shared-memory descriptor",
                    field(bits, 46, 3));
  if (field(bits, 52, 1))
    return "the absolute leading-offset mode of the shared-memory descriptor "
           "is not supported";
  switch (field(bits, 61, 3)) {
  case 0:
    setSwizzle(d, TensorSwizzle::None, 16);
    break;
  case 1:
    setSwizzle(d, TensorSwizzle::B128Atom32, 128);
    break;
  case 2:
    setSwizzle(d, TensorSwizzle::B128, 128);
    break;
  case 4:
    setSwizzle(d, TensorSwizzle::B64, 64);
    break;
  case 6:
    setSwizzle(d, TensorSwizzle::B32, 32);
    break;
  default:
    return expected("a swizzle code of 0, 1, 2, 4 or 6 in the shared-memory "
                    "descriptor",
                    field(bits, 61, 3));
  }
  return {};
}

std::string decodeWgmmaDescriptor(uint64_t bits, SmemDescriptor &d) {
  d = SmemDescriptor();
  d.start = static_cast<uint32_t>(field(bits, 0, 14)) << 4;
  d.leadingBytes = static_cast<uint32_t>(field(bits, 16, 14)) << 4;
  d.strideBytes = static_cast<uint32_t>(field(bits, 32, 14)) << 4;
  d.baseOffset = static_cast<unsigned>(field(bits, 49, 3));
  switch (field(bits, 62, 2)) {
  case 1:
    setSwizzle(d, TensorSwizzle::B128, 128);
    break;
  case 2:
    setSwizzle(d, TensorSwizzle::B64, 64);
    break;
  case 3:
    setSwizzle(d, TensorSwizzle::B32, 32);
    break;
  default:
    break;
  }
  return {};
}

std::string decodeInstructionDescriptor(uint32_t bits, MmaKind kind,
                                        bool sparse, unsigned ctaGroup,
                                        InstructionDescriptor &d) {
  d = InstructionDescriptor();
  bool scaled = kind == MmaKind::MxF8F6F4 || kind == MmaKind::MxF4 ||
                kind == MmaKind::MxF4NvF4;
  bool fourBit = kind == MmaKind::MxF4 || kind == MmaKind::MxF4NvF4;
  if (field(bits, 2, 1) != sparse)
    return expected(sparse ? "1 in bit 2 (sparse) of the instruction "
                             "descriptor of tcgen05.mma.sp"
                           : "0 in bit 2 (sparse) of the instruction "
                             "descriptor of tcgen05.mma",
                    field(bits, 2, 1));
  d.sparse = sparse;
  auto typeA = static_cast<unsigned>(field(bits, 7, 3));
  auto typeB = static_cast<unsigned>(field(bits, 10, fourBit ? 2 : 3));
  d.negateA = field(bits, 13, 1);
  d.negateB = field(bits, 14, 1);
  d.transposeA = field(bits, 15, 1);
  d.transposeB = field(bits, 16, 1);
  d.n = static_cast<unsigned>(field(bits, 17, 6)) * 8;
  if (field(bits, 6, 1))
    return "expected 0 in bit 6 of the instruction descriptor";
  if (scaled) {
    d.m = static_cast<unsigned>(field(bits, 27, 2)) * 128;
    d.scale = field(bits, 23, 1) ? ScaleType::UE8M0 : ScaleType::UE4M3;
    d.scaleIdB = static_cast<unsigned>(field(bits, 4, 2));
    d.scaleIdA = static_cast<unsigned>(field(bits, 29, 2));
    if (field(bits, 0, 2) || field(bits, 3, 1) || field(bits, 24, 3))
      return "expected zeros in bits 0-1, 3 and 24-26 of the instruction "
             "descriptor";
    if (field(bits, 31, 1))
      return fourBit ? std::string("K = 96 needs sm_103a")
                     : std::string("expected 0 in bit 31 of the instruction "
                                   "descriptor");
  } else {
    d.m = static_cast<unsigned>(field(bits, 24, 5)) * 16;
    auto result = field(bits, 4, 2);
    bool integer = kind == MmaKind::I8;
    if (integer && result != 2)
      return expected("a result type of s32 (2)", result);
    if (!integer && result > 1)
      return expected("a result type of f16 (0) or f32 (1)", result);
    d.f16Result = result == 0;
    d.saturate = integer && field(bits, 3, 1);
    d.sparsitySelector = sparse ? static_cast<unsigned>(field(bits, 0, 2)) : 0;
    bool selects = kind == MmaKind::F16 || kind == MmaKind::TF32;
    if (d.sparsitySelector > 1 && selects)
      return "a sparsity selector of " + std::to_string(d.sparsitySelector) +
             " is not supported; expected 0 or 1";
    if (d.sparsitySelector && !selects)
      return expected("a sparsity selector of 0", d.sparsitySelector);
    if (field(bits, 23, 1) || field(bits, 29, 3) ||
        (!integer && field(bits, 3, 1)))
      return "expected zeros in bits 3, 23 and 29-31 of the instruction "
             "descriptor";
  }
  switch (kind) {
  case MmaKind::F16:
    if (typeA > 1 || typeB > 1)
      return expected("element types 0 (f16) or 1 (bf16)",
                      typeA > 1 ? typeA : typeB);
    d.a = typeA ? formatBF16 : formatF16;
    d.b = typeB ? formatBF16 : formatF16;
    d.aBits = d.bBits = 16;
    d.k = 16;
    break;
  case MmaKind::TF32:
    if (typeA != 2 || typeB != 2)
      return expected("element type 2 (tf32)", typeA != 2 ? typeA : typeB);
    d.a = d.b = formatTF32;
    d.aBits = d.bBits = 32;
    d.k = 8;
    break;
  case MmaKind::F8F6F4:
  case MmaKind::MxF8F6F4: {
    auto a = eightBitFormat(typeA);
    auto b = eightBitFormat(typeB);
    if (!a || !b)
      return expected("element types 0, 1, 3, 4 or 5", a ? typeB : typeA);
    d.a = *a;
    d.b = *b;
    d.aBits = 1 + d.a.exponentBits + d.a.mantissaBits;
    d.bBits = 1 + d.b.exponentBits + d.b.mantissaBits;
    d.aPadded = d.aBits < 8;
    d.bPadded = d.bBits < 8;
    if ((d.transposeA && d.aPadded) || (d.transposeB && d.bPadded))
      return "sub-byte elements must be contiguous along K";
    d.k = 32;
    break;
  }
  case MmaKind::I8:
    if (typeA > 1 || typeB > 1)
      return expected("element types 0 (u8) or 1 (s8)",
                      typeA > 1 ? typeA : typeB);
    if (d.negateA || d.negateB)
      return "integer matrices cannot be negated";
    d.signedA = typeA;
    d.signedB = typeB;
    // Only the width of the format matters.
    d.a = d.b = formatE4M3;
    d.aBits = d.bBits = 8;
    d.k = 32;
    break;
  case MmaKind::MxF4:
  case MmaKind::MxF4NvF4:
    if (typeA != 1 || typeB != 1)
      return expected("element type 1 (e2m1)", typeA != 1 ? typeA : typeB);
    if (d.transposeA || d.transposeB)
      return "fp4 matrices must be contiguous along K";
    d.a = d.b = formatE2M1;
    d.aBits = d.bBits = 4;
    d.k = 64;
    break;
  }
  if (sparse)
    d.k *= 2;
  if (kind == MmaKind::MxF8F6F4 || kind == MmaKind::MxF4)
    if (d.scale != ScaleType::UE8M0)
      return "expected scale type 1 (ue8m0)";
  if (d.f16Result && kind == MmaKind::TF32)
    return "expected an f32 result for tf32";
  bool legalM = ctaGroup == 1
                    ? d.m == 128 || (d.m == 64 && !scaled)
                    : d.m == 256 || (d.m == 128 && !(scaled && sparse));
  if (!legalM)
    return expected(ctaGroup == 1      ? (scaled ? "M = 128" : "M = 64 or 128")
                    : scaled && sparse ? "M = 256"
                                       : "M = 128 or 256",
                    d.m);
  unsigned step = ctaGroup == 1 ? (d.m == 128 && !scaled ? 16 : 8) : 16;
  // Integers: 8, 16, 24 and then multiples of 16; pairs multiples of 32.
  if (kind == MmaKind::I8) {
    step = ctaGroup == 2 ? 32 : d.n == 8 || d.n == 24 ? 8 : 16;
    if (ctaGroup == 1 && d.m == 128 && step == 8)
      step = 16;
  }
  if (scaled)
    step = ctaGroup == 1 ? 8 : 16;
  if (d.n < step || d.n > 256 || d.n % step)
    return expected("N from " + std::to_string(step) + " to 256 in steps of " +
                        std::to_string(step),
                    d.n);
  return {};
}

} // namespace nvfp4::sim
