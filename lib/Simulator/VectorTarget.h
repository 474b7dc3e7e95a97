//===- VectorTarget.h - code for several instruction sets -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A body marked NVFP4_SIM_INLINE is compiled once for each function that calls
// it, with the instructions that NVFP4_SIM_TARGET allows there.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_SIMULATOR_VECTORTARGET_H
#define NVFP4_LIB_SIMULATOR_VECTORTARGET_H

#if defined(__x86_64__)
#define NVFP4_SIM_TARGET(features) __attribute__((target(features)))
#else
#define NVFP4_SIM_TARGET(features)
#endif
#define NVFP4_SIM_INLINE __attribute__((always_inline)) inline

#endif // NVFP4_LIB_SIMULATOR_VECTORTARGET_H
