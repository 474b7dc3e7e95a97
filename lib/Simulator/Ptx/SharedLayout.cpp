//===- SharedLayout.cpp - static shared memory of kernels -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Variables lie in the order of their declarations. One of the module or of a
// device function is in the blocks of all kernels that reach it, in each at an
// offset of its own.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Ptx/SharedLayout.h"

#include <algorithm>
#include <set>

namespace nvfp4::sim {
namespace {

void collect(const Operand &operand, std::set<int32_t> &symbols) {
  if (operand.symbol >= 0)
    symbols.insert(operand.symbol);
  for (const Operand &element : operand.elements)
    collect(element, symbols);
}

} // namespace

void layOutShared(Module &module) {
  for (Function &kernel : module.functions) {
    if (!kernel.isEntry)
      continue;
    std::set<int32_t> symbols(kernel.sharedVariables.begin(),
                              kernel.sharedVariables.end());
    for (const ParsedInstruction &instruction : kernel.instructions)
      for (const Operand &operand : instruction.operands)
        collect(operand, symbols);
    for (int32_t index : symbols) {
      const Symbol &symbol = module.symbols[index];
      if (symbol.space != StateSpace::Shared)
        continue;
      if (symbol.unsized) {
        kernel.dynamicSharedAlignment =
            std::max(kernel.dynamicSharedAlignment, symbol.alignment);
        continue;
      }
      uint64_t offset = (kernel.sharedBytes + symbol.alignment - 1) /
                        symbol.alignment * symbol.alignment;
      kernel.sharedOffsets[index] = offset;
      kernel.sharedBytes = offset + symbol.size;
    }
  }
}

} // namespace nvfp4::sim
