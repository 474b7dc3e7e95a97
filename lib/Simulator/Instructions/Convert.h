//===- Convert.h - parts of cvt ---------------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stochastic rounding has a file of its own.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_SIMULATOR_INSTRUCTIONS_CONVERT_H
#define NVFP4_LIB_SIMULATOR_INSTRUCTIONS_CONVERT_H

#include "nvfp4/Simulator/Decode/DecodeContext.h"

namespace nvfp4::sim {

/// The rest of `cvt.rs`.
void decodeStochasticConvert(DecodeContext &context);

} // namespace nvfp4::sim

#endif // NVFP4_LIB_SIMULATOR_INSTRUCTIONS_CONVERT_H
