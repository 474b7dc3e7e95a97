//===- Product.h - Exact block-scaled dot products --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The accumulator of `matmul`, computed exactly where f64 can and otherwise
// with compensated sums, and its error bound for an implementation that adds
// in any order, in f32 or aligned to the largest term as wgmma does. When all
// terms are multiples of a unit u and the sum of their magnitudes is below 2^24
// u, no such implementation rounds at all and the bound is zero.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_REFERENCE_PRODUCT_H
#define NVFP4_LIB_REFERENCE_PRODUCT_H

#include "Groups.h"

#include "nvfp4/Reference/InterpreterOptions.h"
#include "nvfp4/Reference/Value.h"

#include <vector>

namespace nvfp4::reference {

/// Decoded lines of one operand, all of one group; padded to whole blocks with
/// zeros.
struct Panel {
  int64_t lines = 0;
  int64_t blocks = 0;
  int64_t block = 16;
  /// FP4 on both sides: `codes` holds twice the values. Otherwise `elements`
  /// holds the values.
  bool integral = true;
  std::vector<int16_t> codes;
  std::vector<double> elements;
  /// One per block.
  std::vector<double> scales;
  /// Every term value * scale of a line is a multiple of 2^unit[line].
  std::vector<int> unit;
  /// Bounds of dequantised values that are not zero: (k, bound), by line.
  std::vector<std::vector<std::pair<int64_t, double>>> errors;
};

/// Decodes `lines` of `batch`; `group` is the group that they (or, with groups
/// along K, the range of K) belong to. `integral` says that both operands are
/// FP4. Fails on UE4M3 scales with a sign.
llvm::Expected<Panel> decodePanel(const ScaledValue &value,
                                  const ScaledAddress &address, int64_t batch,
                                  llvm::ArrayRef<int64_t> lines, int64_t group,
                                  bool integral);

/// The same of rows without scales: columns [first, first + count) of `lines`
/// of a tensor of rows, in blocks of `block`.
Panel readPlainPanel(const Tensor &rows, llvm::ArrayRef<int64_t> lines,
                     int64_t first, int64_t count, int64_t block);

/// out[m * b.lines + n] = sum over k of a[m, k] * b[n, k]; `terms` is what the
/// bounds allow to be added with rounding.
void multiplyPanels(const Panel &a, const Panel &b, ProductTerms terms,
                    llvm::MutableArrayRef<Real> out);

} // namespace nvfp4::reference

#endif // NVFP4_LIB_REFERENCE_PRODUCT_H
