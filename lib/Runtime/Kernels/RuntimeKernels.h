//===- RuntimeKernels.h - Kernels of the runtime's own ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The PTX of RuntimeKernels.c.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_KERNELS_RUNTIMEKERNELS_H
#define NVFP4_LIB_RUNTIME_KERNELS_RUNTIMEKERNELS_H

namespace nvfp4::runtime {

/// Text that ends with a zero, as nvfp4_device_module_load takes it.
extern const char *const kRuntimeKernels;

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_KERNELS_RUNTIMEKERNELS_H
