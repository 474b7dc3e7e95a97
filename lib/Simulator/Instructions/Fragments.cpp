//===- Fragments.cpp - matrix fragments in registers ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the header for the layouts.
//
//===----------------------------------------------------------------------===//

#include "Fragments.h"

namespace nvfp4::sim {
namespace {

uint32_t codeAt(uint32_t word, unsigned index, const FragmentType &type) {
  if (type.bits == 32) // tf32 ignores the low mantissa bits
    return word >> 13;
  return word >> (index * type.bits) & ((1u << type.bits) - 1);
}

} // namespace

bool fragmentType(Type type, FragmentType &result) {
  switch (type) {
  case Type::F16:
  case Type::BF16:
  case Type::TF32:
  case Type::E4M3:
  case Type::E5M2:
    result.format = *floatFormat(type);
    result.bits = bitWidth(type);
    return true;
  default:
    return false;
  }
}

void readFragmentA(const std::vector<uint32_t> &values,
                   const FragmentType &type, unsigned k, MmaMatrix &out) {
  unsigned each = 32 / type.bits;
  out.format = type.format;
  out.resize(16, k);
  for (unsigned r = 0; r < values.size() / 32; ++r)
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned i = 0; i < each; ++i) {
        unsigned row = lane / 4 + 8 * (r % 2);
        unsigned column = each * (lane % 4) + i + 4 * each * (r / 2);
        out.setCode(size_t{row} * k + column,
                    codeAt(values[r * 32 + lane], i, type));
      }
}

void readFragmentB(const std::vector<uint32_t> &values,
                   const FragmentType &type, unsigned k, MmaMatrix &out) {
  unsigned each = 32 / type.bits;
  out.format = type.format;
  out.resize(8, k);
  for (unsigned r = 0; r < values.size() / 32; ++r)
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned i = 0; i < each; ++i)
        out.setCode(size_t{lane / 4} * k + each * (lane % 4) + i + 4 * each * r,
                    codeAt(values[r * 32 + lane], i, type));
}

void readAccumulators(const std::vector<uint32_t> &values, bool half,
                      unsigned n, std::vector<float> &out) {
  out.assign(size_t{16} * n, 0.0f);
  for (unsigned block = 0; block < n / 8; ++block)
    for (unsigned i = 0; i < 4; ++i)
      for (unsigned lane = 0; lane < 32; ++lane) {
        unsigned row = lane / 4 + 8 * (i / 2);
        unsigned column = 8 * block + 2 * (lane % 4) + i % 2;
        float value;
        if (half)
          value = halfToFloat(static_cast<uint16_t>(
              values[(2 * block + i / 2) * 32 + lane] >> (16 * (i % 2))));
        else
          value = std::bit_cast<float>(values[(4 * block + i) * 32 + lane]);
        out[size_t{row} * n + column] = value;
      }
}

void writeAccumulators(const std::vector<float> &in, bool half, unsigned n,
                       std::vector<uint32_t> &values) {
  values.assign(size_t{n / 8} * (half ? 2 : 4) * 32, 0);
  for (unsigned block = 0; block < n / 8; ++block)
    for (unsigned i = 0; i < 4; ++i)
      for (unsigned lane = 0; lane < 32; ++lane) {
        unsigned row = lane / 4 + 8 * (i / 2);
        unsigned column = 8 * block + 2 * (lane % 4) + i % 2;
        float value = in[size_t{row} * n + column];
        if (half)
          values[(2 * block + i / 2) * 32 + lane] |=
              static_cast<uint32_t>(floatToHalf(value)) << (16 * (i % 2));
        else
          values[(4 * block + i) * 32 + lane] = std::bit_cast<uint32_t>(value);
      }
}

} // namespace nvfp4::sim
