//===- Relayout.cpp - Weights laid out for Hopper ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See nvfp4_relayout.h. Matrices are independent of each other.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Runtime/nvfp4_relayout.h"

#include "Launch/CodedWeights.h"
#include "Violation.h"

using namespace nvfp4;
using namespace nvfp4::runtime;

/// Stages of 128 columns.
static int64_t countStages(int64_t columns) { return (columns + 127) / 128; }

namespace {
/// Sizes of one matrix in both layouts.
struct Sizes {
  Sizes(int32_t format, int32_t type, int64_t rows, int64_t columns)
      : coded{static_cast<format::BlockFormat>(format),
              static_cast<format::wgmma::Multiplicand>(type), rows, columns,
              countStages(columns)},
        values(rows * format::rowBytes(coded.format, columns)),
        scaleColumns(format::scaleColumns(coded.format, columns)),
        scales(rows * scaleColumns), blocks(coded.getBytes()) {}

  CodedShape coded;
  /// Bytes, but for the number of columns.
  int64_t values, scaleColumns, scales, blocks;
};
} // namespace

static int32_t reject(const char *where, const char *label, int64_t matrix,
                      int64_t matrices, const std::string &error) {
  std::string which =
      matrices > 1 ? " of matrix " + std::to_string(matrix) : std::string();
  recordViolation(std::string(where) + ": " + error + which + " [" + label +
                  "]");
  return 0;
}

extern "C" int32_t nvfp4_relayout_weights(const char *where, int32_t format,
                                          int32_t type, int64_t matrices,
                                          int64_t rows, int64_t columns,
                                          const void *values,
                                          const void *scales, void *blocks,
                                          float *factors) try {
  Sizes sizes(format, type, rows, columns);
  format::wgmma::Segment all{0, columns, 0, 0};
  for (int64_t i = 0; i < matrices; ++i) {
    format::wgmma::Matrix matrix{
        sizes.coded.format,
        static_cast<const uint8_t *>(values) + i * sizes.values,
        static_cast<const uint8_t *>(scales) + i * sizes.scales,
        rows,
        columns,
        sizes.scaleColumns};
    std::string error = format::wgmma::encode(
        matrix, sizes.coded.type, {&all, 1}, sizes.coded.getBlocks(),
        static_cast<uint8_t *>(blocks) + i * sizes.blocks, factors[i]);
    if (!error.empty())
      return reject(where, "relayout_weights_c4", i, matrices, error);
  }
  return 1;
} catch (...) {
  recordException();
  return 0;
}

extern "C" int32_t
nvfp4_relayout_weights_back(const char *where, int32_t format, int32_t type,
                            int64_t matrices, int64_t rows, int64_t columns,
                            const void *blocks, const float *factors,
                            void *values, void *scales) try {
  Sizes sizes(format, type, rows, columns);
  for (int64_t i = 0; i < matrices; ++i) {
    format::wgmma::Decoded matrix{
        sizes.coded.format, static_cast<uint8_t *>(values) + i * sizes.values,
        static_cast<uint8_t *>(scales) + i * sizes.scales, rows, columns};
    std::string error = format::wgmma::decode(
        static_cast<const uint8_t *>(blocks) + i * sizes.blocks,
        sizes.coded.type, sizes.coded.getBlocks(), factors[i], matrix);
    if (!error.empty())
      return reject(where, "relayout_weights_c5", i, matrices, error);
  }
  return 1;
} catch (...) {
  recordException();
  return 0;
}
