//@ Checker.h - happens-before checking of a run
//
// Told of every access and every synchronisation of a run, it keeps vector
// clocks and shadow memory and reports accesses that nothing orders.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_CHECK_CHECKER_H
#define NVFP4_SIMULATOR_CHECK_CHECKER_H

#include "nvfp4/Simulator/Machine/Machine.h"

namespace nvfp4::sim {

class Checker {
public:
  Checker(Machine &machine, size_t agents);
  ~Checker();

  void clusterStarted(Cluster &cluster);
  /// Accesses by threads of `warp` through the generic proxy.
  void sharedAccess(Warp &warp, Cta &owner, uint32_t offset, unsigned size,
                    Access access, unsigned lane);
  void globalAccess(Warp &warp, uint64_t address, unsigned size, Access access,
                    unsigned lane);

private:
  Machine &machine;
};

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_CHECK_CHECKER_H
