//===- GivenResults.h - Results in memory of the caller ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions on memory of the host allocate their results. Other systems also
// have tensors for them.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_FOREIGN_GIVENRESULTS_H
#define NVFP4_LIB_RUNTIME_FOREIGN_GIVENRESULTS_H

#include "../Module.h"

namespace nvfp4::runtime {

/// Calls the function and copies its results to `results`. There are as many
/// tensors as the function has arguments and results.
nvfp4_status callOnHost(const nvfp4_function &function,
                        const DLTensor *const *arguments,
                        const DLTensor *const *results);

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_FOREIGN_GIVENRESULTS_H
