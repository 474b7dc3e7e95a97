//===- Weights.cpp - Weights for kernels that decode them -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Packed on the host, matrix by matrix.
//
//===----------------------------------------------------------------------===//

#include "../Violation.h"
#include "Groups.h"

#include "nvfp4/Runtime/nvfp4_staging.h"

using namespace nvfp4;
using namespace nvfp4::runtime;

extern "C" int32_t nvfp4_stage_weights(
    const char *where, int32_t format, int32_t type, const void *values,
    const void *scales, int64_t scaleColumns, int32_t isCompact,
    int64_t matrices, int64_t rows, int64_t columns, int32_t form,
    const void *offsets, int32_t bits, int64_t count, int64_t align,
    int64_t stage, void *target, int64_t pitch, float *factors) try {
  StagedGroups groups{form, offsets, bits, count, align, stage};
  auto kind = static_cast<format::BlockFormat>(format);
  auto segments = groups.getSegments(columns, format::blockSize(kind),
                                     scaleColumns, isCompact != 0);
  constexpr int64_t blockColumns = 64;
  int64_t blocks = groups.getStages(columns) * stage / blockColumns;
  for (int64_t i = 0; i < matrices; ++i) {
    int64_t row = i * rows;
    format::wgmma::Matrix matrix{kind,
                                 static_cast<const uint8_t *>(values) +
                                     row * format::rowBytes(kind, columns),
                                 static_cast<const uint8_t *>(scales) +
                                     row * scaleColumns,
                                 rows,
                                 columns,
                                 scaleColumns};
    std::string error = format::wgmma::encode(
        matrix, static_cast<format::wgmma::Multiplicand>(type), segments,
        blocks, static_cast<uint8_t *>(target) + i * pitch, factors[i]);
    if (error.empty())
      continue;
    recordViolation(std::string(where) + ": " + error, NVFP4_DEVICE_ERROR);
    return 0;
  }
  return 1;
} catch (...) {
  recordException();
  return 0;
}
