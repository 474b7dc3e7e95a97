//===- Families.h - the instruction families --------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each family is one file with one function that enters its opcodes into the
// table.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_SIMULATOR_INSTRUCTIONS_FAMILIES_H
#define NVFP4_LIB_SIMULATOR_INSTRUCTIONS_FAMILIES_H

#include "nvfp4/Simulator/Check/Checker.h"
#include "nvfp4/Simulator/Decode/Inst.h"

namespace nvfp4::sim {

class InstructionTable;
class DecodeContext;

void addIntegerInstructions(InstructionTable &table);
void addCarryInstructions(InstructionTable &table);
void addBitInstructions(InstructionTable &table);
void addCompareInstructions(InstructionTable &table);
void addFloatInstructions(InstructionTable &table);
void addMathInstructions(InstructionTable &table);
void addConvertInstructions(InstructionTable &table);
void addMoveInstructions(InstructionTable &table);
void addLoadStoreInstructions(InstructionTable &table);
void addControlInstructions(InstructionTable &table);
void addWarpInstructions(InstructionTable &table);
void addBarrierInstructions(InstructionTable &table);
void addFenceInstructions(InstructionTable &table);
void addAtomicInstructions(InstructionTable &table);
void addMbarrierInstructions(InstructionTable &table);
void addMatrixMoveInstructions(InstructionTable &table);
void addCopyInstructions(InstructionTable &table);
void addTensorMapInstructions(InstructionTable &table);
void addClusterLaunchInstructions(InstructionTable &table);
void addTcgen05Instructions(InstructionTable &table);
void addMmaInstructions(InstructionTable &table);
void addWgmmaInstructions(InstructionTable &table);

// Opcodes that integers and floats share: the integer decoder hands over when
// the type is a float.
void decodeFloatArithmetic(DecodeContext &context);

/// Whether an instruction adds the carry flag.
enum class CarryUse { Out, In };
/// add.cc, sub.cc, mad.cc and the forms that add the carry.
void decodeCarry(DecodeContext &context, CarryUse use);

/// Consumes a scope; `.gpu` where there is none.
SyncScope takeSyncScope(DecodeContext &context);

/// An atomic that returns something, and the word that its first lane accesses;
/// false for anything else (see findPolledWord).
bool findAtomicWord(Warp &warp, const Inst &inst, LaneMask mask,
                    uint64_t &address, unsigned &size);

/// st.async and red.async.
void decodeRemoteStore(DecodeContext &context);

} // namespace nvfp4::sim

#endif // NVFP4_LIB_SIMULATOR_INSTRUCTIONS_FAMILIES_H
