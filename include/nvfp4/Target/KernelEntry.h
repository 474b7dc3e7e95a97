//===- KernelEntry.h - Names of kernels in artefacts ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Code that starts a kernel and the pass that embeds it agree on a symbol.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TARGET_KERNELENTRY_H
#define NVFP4_TARGET_KERNELENTRY_H

#include "llvm/ADT/Twine.h"

#include <string>

namespace nvfp4::target {

/// The symbol of the nvfp4_kernel_entry of `kernel` in the gpu.module `module`.
inline std::string getKernelEntryName(llvm::StringRef module,
                                      llvm::StringRef kernel) {
  return (module + "_" + kernel + "_entry").str();
}

} // namespace nvfp4::target

#endif // NVFP4_TARGET_KERNELENTRY_H
