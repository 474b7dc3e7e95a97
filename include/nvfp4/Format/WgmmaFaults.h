//===- WgmmaFaults.h - What packing weights refuses -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The messages of wgmma::encode, for those who find the same in another way.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_FORMAT_WGMMAFAULTS_H
#define NVFP4_FORMAT_WGMMAFAULTS_H

#include <cstdint>
#include <string>

namespace nvfp4::format::wgmma {

/// A UE4M3 scale in `row` has its sign set.
inline std::string describeSign(int64_t row) {
  return "expected scales of weights without a sign, but got one with a sign "
         "in row " +
         std::to_string(row);
}

/// An element is infinite.
inline std::string describeInfinity(int64_t row, int64_t column) {
  return "expected finite weights, but got infinity in row " +
         std::to_string(row) + ", column " + std::to_string(column);
}

/// E8M0 scales of a matrix are powers of two whose exponents are `lowest` to
/// `highest`, further apart than `spread`.
inline std::string describeSpread(int64_t spread, int64_t lowest,
                                  int64_t highest) {
  return "expected scales of a matrix of weights within a factor of 2^" +
         std::to_string(spread) + " of each other, but got 2^" +
         std::to_string(lowest) + " and 2^" + std::to_string(highest);
}

} // namespace nvfp4::format::wgmma

#endif // NVFP4_FORMAT_WGMMAFAULTS_H
