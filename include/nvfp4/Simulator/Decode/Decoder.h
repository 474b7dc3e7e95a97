//===- Decoder.h - parsed functions to executable kernels -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Looks every instruction up in the table, checks its modifiers and operands,
// finds reconvergence points and allocates lane planes.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_DECODE_DECODER_H
#define NVFP4_SIMULATOR_DECODE_DECODER_H

#include "nvfp4/Simulator/Decode/Kernel.h"

namespace nvfp4::sim {

/// Decodes the kernel `function` of `module`, which must outlive the result.
/// Returns null when `diagnostics` gets errors.
std::unique_ptr<Kernel> decodeKernel(const Module &module,
                                     const Function &function,
                                     Diagnostics &diagnostics);

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_DECODE_DECODER_H
