//===- NarrowStores.h - Stores of parts of numbers --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM 22 declares registers of PTX without their types, and stores the low
// bits of one by a store with a narrower type, as PTX permits. Where a
// floating-point instruction wrote the register, ptxas converts its number to
// an integer instead (nvfp4/Simulator/Analysis/NarrowStore.h).
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TARGET_NARROWSTORES_H
#define NVFP4_TARGET_NARROWSTORES_H

#include <string>

namespace nvfp4::target {

/// `ptx` with a `mov` before each such store, which keeps the bits.
std::string keepBitsOfNarrowStores(std::string ptx);

} // namespace nvfp4::target

#endif // NVFP4_TARGET_NARROWSTORES_H
