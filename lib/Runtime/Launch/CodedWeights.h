//===- CodedWeights.h - Weights for kernels that decode them ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One matrix as nvfp4_task_coded_weights wants it.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_LAUNCH_CODEDWEIGHTS_H
#define NVFP4_LIB_RUNTIME_LAUNCH_CODEDWEIGHTS_H

#include <cstdint>

namespace nvfp4::runtime {

/// A matrix of NVFP4 weights.
struct CodedShape {
  int64_t rows, columns;
  int64_t getBytes() const;
};

/// Writes the matrix to `out`, of getBytes() bytes; false if the sign of a
/// scale is set.
bool encodeWeights(const CodedShape &shape, const uint8_t *values,
                   const uint8_t *scales, uint8_t *out);

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_LAUNCH_CODEDWEIGHTS_H
