//===- ErrorTexts.h - names and texts of results ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table that both stand-in libraries print errors from.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_SIMCUDA_ERRORTEXTS_H
#define NVFP4_LIB_SIMCUDA_ERRORTEXTS_H

#include "nvfp4/Runtime/CudaDriver.h"

namespace nvfp4::simcuda {

struct ResultText {
  cuda::Result result;
  const char *driverName;
  const char *runtimeName;
  const char *text;
};

/// The row of a result, or null for a number that is never returned.
const ResultText *textOf(int32_t result);

} // namespace nvfp4::simcuda

#endif // NVFP4_LIB_SIMCUDA_ERRORTEXTS_H
