//===- Descriptors.cpp - Fields of tcgen05 descriptors ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/WarpSpecToNVVM/Descriptors.h"

using namespace mlir;
using namespace nvfp4::warpspec;

/// The format code of an operand.
static uint32_t getFormat(ScaledKind kind, Type type) {
  if (kind != ScaledKind::MXF8F6F4)
    return 1; // E2M1, in these kinds.
  if (isa<Float8E5M2Type>(type))
    return 1;
  return isa<Float4E2M1FNType>(type) ? 5 : 0;
}

uint32_t
nvfp4::warpspec::encodeInstruction(const ScaledInstruction &instruction) {
  bool ue8m0 = instruction.ue8m0 || instruction.kind != ScaledKind::MXF4NVF4;
  uint32_t bits = 0;
  bits |= static_cast<uint32_t>(instruction.bScaleId) << 4;
  bits |= getFormat(instruction.kind, instruction.a) << 7;
  bits |= getFormat(instruction.kind, instruction.b) << 10;
  bits |= static_cast<uint32_t>(instruction.n >> 3) << 17;
  bits |= static_cast<uint32_t>(ue8m0) << 23;
  bits |= static_cast<uint32_t>(instruction.m >> 7) << 27;
  bits |= static_cast<uint32_t>(instruction.aScaleId) << 29;
  return bits;
}

uint32_t nvfp4::warpspec::encodeInstruction(Type element, int64_t n) {
  constexpr uint32_t f32 = 1, m = 128;
  uint32_t format = element.isBF16() ? 1 : 0;
  return f32 << 4 | format << 7 | format << 10 |
         static_cast<uint32_t>(n >> 3) << 17 | m >> 4 << 24;
}

/// Bits 46 to 48 are a constant 1; byte offsets are in units of 16.
static uint64_t encode(uint64_t strideBytes, uint64_t swizzleCode) {
  return strideBytes / 16 << 32 | uint64_t(1) << 46 | swizzleCode << 61;
}

uint64_t nvfp4::warpspec::encodeOperand(unsigned swizzle) {
  // Groups of 8 rows follow each other.
  uint64_t code = swizzle == 128  ? 2
                  : swizzle == 64 ? 4
                  : swizzle == 32 ? 6
                                  : 0;
  return encode(8 * swizzle, code);
}

uint64_t nvfp4::warpspec::encodeScaleAtom() {
  // Rows of 16 bytes without a swizzle.
  return encode(8 * 16, 0);
}
