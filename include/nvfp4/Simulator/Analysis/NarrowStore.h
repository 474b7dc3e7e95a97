//===- NarrowStore.h - parts of floating-point registers --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A store whose type is narrower than its register keeps the low bits (PTX ISA,
// relaxed type checking of source operands). Where the register, of whatever
// declared type, was written by an instruction whose result is f16, bf16, f32
// or f64 (loads and `mov.f64` too), ptxas 12.8 to 13.0 converts its number to
// an integer instead (F2I in the machine code, seen with both; wrong results on
// an H200 with driver 580). A `mov.b64` between the two keeps the bits.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_ANALYSIS_NARROWSTORE_H
#define NVFP4_SIMULATOR_ANALYSIS_NARROWSTORE_H

#include "nvfp4/Simulator/Ptx/Ast.h"

namespace nvfp4::sim {

/// A store of the low bits of a register, and an instruction that writes a
/// floating-point number to it; both are indices of instructions.
struct NarrowStore {
  uint32_t store;
  uint32_t write;
  int32_t reg;
};

/// All such stores of a function, whichever write reaches them: one for each
/// register of each store.
std::vector<NarrowStore> findNarrowStores(const Function &function);

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_ANALYSIS_NARROWSTORE_H
