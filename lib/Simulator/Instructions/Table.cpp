//===- Table.cpp - all instruction families ---------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only place that knows every family.
//
//===----------------------------------------------------------------------===//

#include "Families.h"

#include "nvfp4/Simulator/Decode/DecodeContext.h"

namespace nvfp4::sim {

const InstructionTable &InstructionTable::all() {
  static const InstructionTable table = [] {
    InstructionTable t;
    addIntegerInstructions(t);
    addBitInstructions(t);
    addCompareInstructions(t);
    addFloatInstructions(t);
    addMathInstructions(t);
    addConvertInstructions(t);
    addMoveInstructions(t);
    addLoadStoreInstructions(t);
    addControlInstructions(t);
    addWarpInstructions(t);
    addBarrierInstructions(t);
    addFenceInstructions(t);
    addMbarrierInstructions(t);
    addMatrixMoveInstructions(t);
    addCopyInstructions(t);
    addTcgen05Instructions(t);
    addCarryInstructions(t);
    addMmaInstructions(t);
    addWgmmaInstructions(t);
    addAtomicInstructions(t);
    addTensorMapInstructions(t);
    addClusterLaunchInstructions(t);
    return t;
  }();
  return table;
}

} // namespace nvfp4::sim
