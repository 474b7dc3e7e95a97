//===- Kernel.h - a kernel ready to run -------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The output of the decoder: instructions with allocated lane planes, the
// constants and environment values they refer to, where diverged lanes meet
// again, and the source places for reports.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_DECODE_KERNEL_H
#define NVFP4_SIMULATOR_DECODE_KERNEL_H

#include "nvfp4/Simulator/Analysis/NarrowStore.h"
#include "nvfp4/Simulator/Decode/Inst.h"
#include "nvfp4/Simulator/Ptx/Ast.h"

#include <memory>
#include <unordered_map>

namespace nvfp4::sim {

/// Values that are fixed for the life of a thread but differ between threads,
/// warps or CTAs. Each used one gets a plane, filled when its warp starts.
enum class EnvironmentKind : uint8_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  NwarpId,
  SmId,
  NsmId,
  GridId,
  ClusterCtaRank,
  ClusterNctaRank,
  ClusterCtaidX,
  ClusterCtaidY,
  ClusterCtaidZ,
  ClusterNctaidX,
  ClusterNctaidY,
  ClusterNctaidZ,
  ClusterIdX,
  ClusterIdY,
  ClusterIdZ,
  NclusterIdX,
  NclusterIdY,
  NclusterIdZ,
  IsExplicitCluster,
  LanemaskEq,
  LanemaskLe,
  LanemaskLt,
  LanemaskGe,
  LanemaskGt,
  DynamicSmemSize,
  TotalSmemSize,
  Zero,
  /// The address of `symbol` plus `addend` in its own state space.
  SymbolAddress,
};

/// One environment plane.
struct EnvironmentValue {
  EnvironmentKind kind = EnvironmentKind::Zero;
  int32_t symbol = -1;
  int64_t addend = 0;
  bool wide = false;
  Ref plane;
};

/// The text of an instruction in reports.
struct InstInfo {
  SourceLocation location;
  LineInfo line;
  std::string name;
};

/// Tracked registers (indices into `trackedRegisters`) one instruction reads
/// and writes.
struct TrackedAccess {
  std::vector<uint32_t> uses;
  std::vector<uint32_t> defs;
};

/// A register used before the asynchronous load that delivers it is waited
/// for; see DelayedUse.h.
struct UnwaitedUse {
  uint32_t use = 0;
  uint32_t load = 0;
  std::string reg;
  bool indirect = false;
};

/// No instruction.
constexpr uint32_t noPc = ~0u;

/// A kernel in executable form. Immutable once built; runs share it.
struct Kernel {
  const Module *module = nullptr;
  const Function *function = nullptr;
  std::string name;
  std::vector<Inst> code;
  std::vector<InstInfo> info;
  /// For each branch the instruction where its lanes meet again, or noPc.
  std::vector<uint32_t> reconvergence;
  std::vector<Ref> pool;
  std::vector<std::unique_ptr<InstAttributes>> attributes;
  std::vector<EnvironmentValue> environment;
  /// Lane planes of constants, in units of 64 bytes.
  std::vector<uint64_t> constants;
  /// Bytes of lane planes a warp needs, scratch plane included.
  uint32_t registerBytes = 0;
  /// Registers that may be read before they are written: (plane offset, name).
  /// Only these are tracked at run time.
  std::vector<std::pair<uint32_t, std::string>> trackedRegisters;
  std::unordered_map<uint32_t, TrackedAccess> trackedAccesses;
  std::vector<UnwaitedUse> unwaitedUses;
  std::vector<NarrowStore> narrowStores;
  /// The loads of each instruction with FlagUsesLoads.
  std::unordered_map<uint32_t, std::vector<uint32_t>> loadsUsed;
  /// Virtual registers the text declares, and planes after compaction.
  size_t virtualRegisters = 0;
  size_t allocatedPlanes = 0;
};

/// Bytes of the lane planes: predicates are one 32-bit mask each.
constexpr uint32_t predicatePlaneBytes = 64;
constexpr uint32_t narrowPlaneBytes = 32 * 4;
constexpr uint32_t widePlaneBytes = 32 * 8;

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_DECODE_KERNEL_H
