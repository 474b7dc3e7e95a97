//@ Checker.cpp - happens-before checking of a run
//
// Entry points of the checker.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Check/Checker.h"

namespace nvfp4::sim {

Checker::Checker(Machine &machine, size_t agents) : machine(machine) {
  (void)agents;
}
Checker::~Checker() = default;
void Checker::clusterStarted(Cluster &) {}
void Checker::sharedAccess(Warp &, Cta &, uint32_t, unsigned, Access,
                           unsigned) {}
void Checker::globalAccess(Warp &, uint64_t, unsigned, Access, unsigned) {}

} // namespace nvfp4::sim
