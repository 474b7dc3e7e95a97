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

#include "nvfp4/Format/WgmmaWeights.h"

#include <cstdint>

namespace nvfp4::runtime {

/// A matrix of weights, and stages of 128 columns along K once it is coded.
struct CodedShape {
  format::BlockFormat format;
  format::wgmma::Multiplicand type;
  int64_t rows, columns, stages;

  /// Of the coded matrix.
  int64_t getBytes() const;
  int64_t getBlocks() const { return 2 * stages; }
};

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_LAUNCH_CODEDWEIGHTS_H
