//===- Registry.h - what programs register with the runtime -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Start-up code that nvcc generates passes fat binaries and the addresses
// that stand for kernels and variables. Modules are loaded when the first of
// theirs is used, so that unused ones cost nothing.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_SIMCUDA_RUNTIME_REGISTRY_H
#define NVFP4_LIB_SIMCUDA_RUNTIME_REGISTRY_H

#include "../Driver/Api.h"
#include "../ErrorTexts.h"

namespace nvfp4::simcuda {

using Error = int32_t;

/// Remembers an error of the runtime for cudaGetLastError, and returns it.
Error remember(Error error);

/// The driver starts with the first call of the runtime.
Error startDriver();

/// The function of the kernel that `hostFunction` stands for, or of a handle
/// that __cudaGetKernel returned.
Error functionOf(const void *hostFunction, cuda::Function &function);

/// Address and size of the variable that `hostVariable` stands for.
Error variableOf(const void *hostVariable, cuda::DevicePointer &address,
                 size_t &bytes);

/// Starts the driver, and calls it when that went well.
template <typename Function> Error viaDriver(Function function) {
  Error error = startDriver();
  if (!error)
    error = function();
  return remember(error);
}

} // namespace nvfp4::simcuda

#endif // NVFP4_LIB_SIMCUDA_RUNTIME_REGISTRY_H
