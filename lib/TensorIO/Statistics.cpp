//===- Statistics.cpp - Range and special values of a tensor ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One pass over the elements; types of one or two bytes go through a table. NaN
// takes no part in the range.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/TensorIO/Statistics.h"

#include <cmath>
#include <cstring>
#include <vector>

namespace nvfp4::tensorio {

namespace {
struct Accumulator {
  Statistics result;

  void add(double value, int64_t count) {
    result.elements += count;
    if (std::isnan(value)) {
      result.nans += count;
      return;
    }
    if (std::isinf(value))
      result.infinities += count;
    result.min = std::fmin(result.min, value);
    result.max = std::fmax(result.max, value);
  }
};
} // namespace

/// Counts how often each bit pattern occurs and decodes each only once.
template <typename Pattern>
static Statistics fromHistogram(const Tensor &tensor) {
  std::vector<int64_t> histogram(size_t(1) << (8 * sizeof(Pattern)));
  const std::byte *data = tensor.data();
  for (int64_t i = 0, e = tensor.numElements(); i < e; ++i) {
    Pattern pattern;
    std::memcpy(&pattern, data + i * sizeof(Pattern), sizeof(Pattern));
    ++histogram[pattern];
  }
  Accumulator accumulator;
  for (size_t i = 0; i < histogram.size(); ++i) {
    if (!histogram[i])
      continue;
    Pattern pattern = static_cast<Pattern>(i);
    accumulator.add(
        decodeElement(tensor.dtype(),
                      reinterpret_cast<const std::byte *>(&pattern)),
        histogram[i]);
  }
  return accumulator.result;
}

Statistics computeStatistics(const Tensor &tensor) {
  switch (dtypeSize(tensor.dtype())) {
  case 1:
    return fromHistogram<uint8_t>(tensor);
  case 2:
    return fromHistogram<uint16_t>(tensor);
  default:
    Accumulator accumulator;
    for (int64_t i = 0, e = tensor.numElements(); i < e; ++i)
      accumulator.add(tensor.at(i), 1);
    return accumulator.result;
  }
}

} // namespace nvfp4::tensorio
