//===- Checker.cpp - happens-before checking of a run ---------------------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Entry points of the checker.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Check/Checker.h"

namespace nvfp4::sim {

struct Checker::Impl {};

Checker::Checker(Machine &, size_t) {}
Checker::~Checker() = default;
void Checker::clusterStarted(Cluster &) {}
void Checker::sharedAccess(Warp &, Cta &, uint32_t, unsigned, Access,
                           unsigned) {}
void Checker::globalAccess(Warp &, uint64_t, unsigned, Access, unsigned) {}
uint32_t Checker::beginOperation(Warp &, unsigned, bool) { return 0; }
void Checker::operationShared(uint32_t, Cta &, uint32_t, uint32_t, Access) {}
void Checker::operationGlobal(uint32_t, uint64_t, uint64_t, Access) {}
void Checker::operationTmem(uint32_t, Cta &, unsigned, unsigned, unsigned,
                            Access) {}
void Checker::operationArrived(uint32_t, Cta &, uint32_t) {}
void Checker::operationsWaited(Warp &, const std::vector<uint32_t> &, bool) {}
void Checker::tmemWaited(Warp &, bool) {}
void Checker::mbarrierInitialized(Warp &, Cta &, uint32_t) {}
void Checker::threadArrived(Warp &, Cta &, uint32_t, bool) {}
void Checker::threadWaited(Warp &, Cta &, uint32_t, bool) {}
void Checker::phaseCompleted(Cta &, uint32_t) {}
void Checker::barrierArrived(Warp &, unsigned) {}
void Checker::barrierCompleted(Cta &, unsigned) {}
void Checker::barrierLeft(Warp &, unsigned) {}
void Checker::clusterArrived(Warp &, bool) {}
void Checker::clusterCompleted(Cluster &) {}
void Checker::clusterLeft(Warp &, bool) {}
void Checker::proxyFence(Warp &) {}
void Checker::mbarrierInitFence(Warp &) {}
void Checker::tcgen05Fence(Warp &, bool) {}

} // namespace nvfp4::sim
