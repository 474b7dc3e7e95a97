//===- QuantizeCases.h - inputs and oracle of quantisers --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matrices that are hard to quantise, the quantisers to try them with, and the
// bytes that nvfp4/Format makes of them.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_UNITTESTS_CONVERSION_GSGTOCPU_QUANTIZECASES_H
#define NVFP4_UNITTESTS_CONVERSION_GSGTOCPU_QUANTIZECASES_H

#include "nvfp4/Format/Float16.h"
#include "nvfp4/Format/Quantizer.h"

#include <cstdint>
#include <string>
#include <vector>

namespace nvfp4::gsg::cpu {

struct Matrix {
  Matrix(int64_t rows, int64_t columns)
      : rows(rows), columns(columns),
        values(static_cast<size_t>(rows * columns)) {}
  int64_t rows, columns;
  std::vector<float> values;

  float &at(int64_t i, int64_t j) {
    return values[static_cast<size_t>(i * columns + j)];
  }
  std::vector<uint16_t> toBF16() const;
  format::MatrixView view() const {
    return {values.data(), rows, columns, columns};
  }
};

/// Every bf16 value once, then once more next to values of like size.
Matrix everyBF16();
/// Zeros, subnormals, the largest finite scale, NaN, infinity, ties.
Matrix hardBlocks(float globalScale);
/// bf16 values of about unit size with outliers; the same for a seed.
Matrix randomMatrix(int64_t rows, int64_t columns, uint32_t seed);

struct QuantizerCase {
  format::Quantizer quantizer;
  format::BlockFormat format;
  bool stochastic = false, flush = false, square = false;
  std::string name() const;
  /// As in IR: `<trtllm>`.
  std::string attribute() const;
};

/// Every quantiser with every format that it has, and the options of some.
std::vector<QuantizerCase> allQuantizerCases();
/// Global scales worth trying.
std::vector<float> globalScalesOf(const QuantizerCase &c);

struct Expected {
  std::vector<uint8_t> codes, scales;
};
/// The bytes for a matrix whose values are bf16, scales in `layout`.
Expected
quantizeWithFormat(const QuantizerCase &c, const Matrix &x, float globalScale,
                   format::ScaleLayout layout = format::ScaleLayout::Linear);

/// MLIR's names of what a format stores.
std::string elementOf(format::BlockFormat format);
std::string scaleElementOf(format::BlockFormat format);
/// `!grouped_scaled_gemm.scaled<shape, format suffix>`.
std::string scaledType(format::BlockFormat format, const std::string &shape,
                       const std::string &suffix = "");

/// The first index at which two sequences differ, or -1.
int64_t firstDifference(const std::vector<uint8_t> &a,
                        const std::vector<uint8_t> &b);

} // namespace nvfp4::gsg::cpu

#endif // NVFP4_UNITTESTS_CONVERSION_GSGTOCPU_QUANTIZECASES_H
