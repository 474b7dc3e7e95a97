//===- Statistics.h - Range and special values of a tensor ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The figures that people look at first when numbers are wrong.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TENSORIO_STATISTICS_H
#define NVFP4_TENSORIO_STATISTICS_H

#include "nvfp4/TensorIO/Tensor.h"

#include <cstdint>
#include <limits>

namespace nvfp4::tensorio {

/// Counts over all elements of a tensor.
struct Statistics {
  int64_t elements = 0;
  int64_t nans = 0;
  int64_t infinities = 0;
  /// The smallest and largest value that is no NaN, infinities included;
  /// inverted (+inf, -inf) if there is none.
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();

  bool hasRange() const { return nans < elements; }
};

/// Reads the whole tensor once.
Statistics computeStatistics(const Tensor &tensor);

} // namespace nvfp4::tensorio

#endif // NVFP4_TENSORIO_STATISTICS_H
