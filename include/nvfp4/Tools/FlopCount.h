//===- FlopCount.h - The work that products do ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The number of operations behind the GFLOP/s that nvfp4-run prints. Only what
// the arguments say is counted; nothing is guessed.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TOOLS_FLOPCOUNT_H
#define NVFP4_TOOLS_FLOPCOUNT_H

#include "nvfp4/Tools/Signature.h"

#include <optional>

namespace nvfp4::tools {

/// 2 M N K summed over all groups of all products of the function, by the group
/// sizes in `arguments`. Nothing if a size is not an argument's (an offset that
/// the function computes, a product in a loop or in another function), or if
/// there is no product.
std::optional<double>
countFlops(mlir::ModuleOp module, const Signature &signature,
           const std::vector<tensorio::Tensor> &arguments);

} // namespace nvfp4::tools

#endif // NVFP4_TOOLS_FLOPCOUNT_H
