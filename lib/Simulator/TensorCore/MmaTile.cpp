//===- MmaTile.cpp - operands of one tile -----------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Codes of operands, and scales of their blocks.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/TensorCore/MmaTile.h"

#include <cstring>

namespace nvfp4::sim {

VectorLevel bestVectorLevel() {
#if defined(__x86_64__)
  static const VectorLevel level = [] {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512vnni") &&
        __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw"))
      return VectorLevel::Avx512;
    return __builtin_cpu_supports("avx2") ? VectorLevel::Avx2
                                          : VectorLevel::Portable;
  }();
  return level;
#else
  return VectorLevel::Portable;
#endif
}

uint32_t MmaMatrix::code(size_t i) const {
  switch (codeBytes(format)) {
  case 1:
    return codes[i];
  case 2: {
    uint16_t code;
    std::memcpy(&code, &codes[2 * i], 2);
    return code;
  }
  default: {
    uint32_t code;
    std::memcpy(&code, &codes[4 * i], 4);
    return code;
  }
  }
}

void MmaMatrix::setCode(size_t i, uint32_t code) {
  // Little-endian, as all of the simulator.
  unsigned bytes = codeBytes(format);
  std::memcpy(&codes[bytes * i], &code, bytes);
}

BlockScale decodeScaleUE4M3(uint8_t code) {
  BlockScale s;
  code &= 0x7f;
  s.nan = code == 0x7f;
  int exponent = code >> 3;
  s.significand = static_cast<int8_t>(exponent ? 8 + (code & 7) : code & 7);
  s.exponent = static_cast<int16_t>((exponent ? exponent : 1) - 7);
  return s;
}

BlockScale decodeScaleUE8M0(uint8_t code) {
  BlockScale s;
  s.nan = code == 0xff;
  s.significand = 8;
  s.exponent = static_cast<int16_t>(code - 127);
  return s;
}

} // namespace nvfp4::sim
