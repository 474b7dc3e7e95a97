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

#include "Violation.h"
#include "nvfp4/Format/WgmmaWeights.h"

using namespace nvfp4;
using namespace nvfp4::runtime;

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

namespace {
/// Sizes of one matrix in both layouts.
struct Sizes {
  Sizes(int32_t format, int32_t type, int64_t rows, int64_t columns)
      : format(static_cast<format::BlockFormat>(format)),
        type(static_cast<format::wgmma::Multiplicand>(type)),
        values(rows * format::rowBytes(this->format, columns)),
        scaleColumns(format::scaleColumns(this->format, columns)),
        scales(rows * scaleColumns),
        // Whole stages of 128 columns, two blocks each.
        blocks(2 * ceilDiv(columns, 128)),
        packed(ceilDiv(rows, format::wgmma::kBlockRows) * blocks *
               format::wgmma::Coding{format::elementKind(this->format),
                                     format::scaleKind(this->format),
                                     this->type}
                   .blockBytes()) {}

  format::BlockFormat format;
  format::wgmma::Multiplicand type;
  /// Bytes, but for the numbers of columns and of blocks along K.
  int64_t values, scaleColumns, scales, blocks, packed;
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
        sizes.format,
        static_cast<const uint8_t *>(values) + i * sizes.values,
        static_cast<const uint8_t *>(scales) + i * sizes.scales,
        rows,
        columns,
        sizes.scaleColumns};
    std::string error = format::wgmma::encode(
        matrix, sizes.type, {&all, 1}, sizes.blocks,
        static_cast<uint8_t *>(blocks) + i * sizes.packed, factors[i]);
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
        sizes.format, static_cast<uint8_t *>(values) + i * sizes.values,
        static_cast<uint8_t *>(scales) + i * sizes.scales, rows, columns};
    std::string error = format::wgmma::decode(
        static_cast<const uint8_t *>(blocks) + i * sizes.packed, sizes.type,
        sizes.blocks, factors[i], matrix);
    if (!error.empty())
      return reject(where, "relayout_weights_c5", i, matrices, error);
  }
  return 1;
} catch (...) {
  recordException();
  return 0;
}
