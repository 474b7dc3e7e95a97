//===- KernelTimes.h - How long kernels take --------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The times of nvfp4_launch_set_timing. The sum is the process's, as kernels of
// several threads may be timed.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_FRAME_KERNELTIMES_H
#define NVFP4_LIB_RUNTIME_FRAME_KERNELTIMES_H

namespace nvfp4::runtime {

/// Whether kernels are to be timed.
bool areKernelsTimed();

/// Adds the time of one.
void addKernelTime(double microseconds);

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_FRAME_KERNELTIMES_H
