//===- Environment.cpp - special registers and addresses of variables -----===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fills the environment planes of a warp when it starts.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Machine/Machine.h"

namespace nvfp4::sim {
namespace {

uint64_t laneMaskOf(EnvironmentKind kind, unsigned lane) {
  uint32_t bit = 1u << lane;
  switch (kind) {
  case EnvironmentKind::LanemaskEq:
    return bit;
  case EnvironmentKind::LanemaskLt:
    return bit - 1;
  case EnvironmentKind::LanemaskLe:
    return bit | (bit - 1);
  case EnvironmentKind::LanemaskGt:
    return ~(bit | (bit - 1));
  default:
    return ~(bit - 1);
  }
}

uint64_t symbolAddress(const Machine &machine, const Warp &warp,
                       const EnvironmentValue &value) {
  const Symbol &symbol = machine.kernel.module->symbols[value.symbol];
  uint64_t offset = symbol.offset + value.addend;
  switch (symbol.space) {
  case StateSpace::Shared:
    if (symbol.unsized)
      offset = machine.dynamicSharedOffset + value.addend;
    else
      offset = sharedBaseOffset + value.addend +
               machine.kernel.function->sharedOffsets.at(value.symbol);
    return uint64_t{warp.cta.rank} << sharedRankShift | offset;
  case StateSpace::Global:
    return machine.image.globalAddress + offset;
  case StateSpace::Const:
    return machine.image.constAddress + offset;
  default:
    return offset;
  }
}

uint64_t environmentValue(const Machine &machine, const Warp &warp,
                          const EnvironmentValue &value, unsigned lane) {
  const LaunchConfig &config = machine.config;
  const Cta &cta = warp.cta;
  uint32_t thread = warp.index * 32 + lane;
  uint32_t rank = cta.rank;
  auto component = [&](EnvironmentKind first) {
    return static_cast<unsigned>(value.kind) - static_cast<unsigned>(first);
  };
  switch (value.kind) {
  case EnvironmentKind::TidX:
    return thread % config.block[0];
  case EnvironmentKind::TidY:
    return thread / config.block[0] % config.block[1];
  case EnvironmentKind::TidZ:
    return thread / (config.block[0] * config.block[1]);
  case EnvironmentKind::NtidX:
  case EnvironmentKind::NtidY:
  case EnvironmentKind::NtidZ:
    return config.block[component(EnvironmentKind::NtidX)];
  case EnvironmentKind::CtaidX:
  case EnvironmentKind::CtaidY:
  case EnvironmentKind::CtaidZ:
    return cta.id[component(EnvironmentKind::CtaidX)];
  case EnvironmentKind::NctaidX:
  case EnvironmentKind::NctaidY:
  case EnvironmentKind::NctaidZ:
    return config.grid[component(EnvironmentKind::NctaidX)];
  case EnvironmentKind::LaneId:
    return lane;
  case EnvironmentKind::WarpId:
    return warp.index;
  case EnvironmentKind::NwarpId:
    return machine.warpsPerCta;
  case EnvironmentKind::SmId:
    return warp.agent / machine.warpsPerCta % machine.options.residentCtas;
  case EnvironmentKind::NsmId:
    return machine.options.residentCtas;
  case EnvironmentKind::ClusterCtaRank:
    return rank;
  case EnvironmentKind::ClusterNctaRank:
    return machine.clusterSize;
  case EnvironmentKind::ClusterCtaidX:
    return rank % config.cluster[0];
  case EnvironmentKind::ClusterCtaidY:
    return rank / config.cluster[0] % config.cluster[1];
  case EnvironmentKind::ClusterCtaidZ:
    return rank / (config.cluster[0] * config.cluster[1]);
  case EnvironmentKind::ClusterNctaidX:
  case EnvironmentKind::ClusterNctaidY:
  case EnvironmentKind::ClusterNctaidZ:
    return config.cluster[component(EnvironmentKind::ClusterNctaidX)];
  case EnvironmentKind::ClusterIdX:
  case EnvironmentKind::ClusterIdY:
  case EnvironmentKind::ClusterIdZ:
    return cta.cluster->id[component(EnvironmentKind::ClusterIdX)];
  case EnvironmentKind::NclusterIdX:
  case EnvironmentKind::NclusterIdY:
  case EnvironmentKind::NclusterIdZ:
    return machine.clusterGrid[component(EnvironmentKind::NclusterIdX)];
  case EnvironmentKind::IsExplicitCluster:
    return machine.clusterSize > 1;
  case EnvironmentKind::LanemaskEq:
  case EnvironmentKind::LanemaskLe:
  case EnvironmentKind::LanemaskLt:
  case EnvironmentKind::LanemaskGe:
  case EnvironmentKind::LanemaskGt:
    return laneMaskOf(value.kind, lane);
  case EnvironmentKind::DynamicSmemSize:
    return config.dynamicShared;
  case EnvironmentKind::TotalSmemSize:
    return machine.sharedBytes;
  case EnvironmentKind::SymbolAddress:
    return symbolAddress(machine, warp, value);
  case EnvironmentKind::GridId:
  case EnvironmentKind::Zero:
    return 0;
  }
  return 0;
}

} // namespace

void Machine::fillEnvironment(Warp &warp) {
  for (const EnvironmentValue &value : kernel.environment)
    for (unsigned lane = 0; lane < 32; ++lane) {
      uint64_t bits = environmentValue(*this, warp, value, lane);
      if (value.wide)
        warp.wide(value.plane)[lane] = bits;
      else
        warp.narrow(value.plane)[lane] = static_cast<uint32_t>(bits);
    }
}

} // namespace nvfp4::sim
