//===- Launch.h - how a kernel is started and what comes back ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Launch geometry, options of a run, and its result.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_MACHINE_LAUNCH_H
#define NVFP4_SIMULATOR_MACHINE_LAUNCH_H

#include "nvfp4/Simulator/Machine/Cycles.h"
#include "nvfp4/Simulator/Machine/Report.h"

#include <array>
#include <ostream>

namespace nvfp4::sim {

class Explorer;
class Timeline;

/// Geometry and arguments of a launch.
struct LaunchConfig {
  std::array<uint32_t, 3> grid{1, 1, 1};
  std::array<uint32_t, 3> block{1, 1, 1};
  std::array<uint32_t, 3> cluster{1, 1, 1};
  /// Bytes of dynamic shared memory.
  uint32_t dynamicShared = 0;
  /// The launch before may not have ended: griddepcontrol.wait waits for it,
  /// and no access of global memory may come before.
  bool programmatic = false;
  /// The parameter buffer, laid out as the kernel declares it.
  std::vector<uint8_t> parameters;
};

/// When asynchronous operations complete.
enum class DelayMode : uint8_t {
  /// At issue: the easiest to debug, the least likely to show a bug.
  Immediate,
  /// Uniform between 1 and `maximumDelay` warp instructions.
  Uniform,
  /// Very late stores, tensor operations slower than copies, or the other way
  /// round, by the seed.
  Adversarial,
  /// After the costs of a model (Cycles.h), by which warps take turns too: the
  /// clock then counts cycles.
  Cycles,
};

/// How tensor cores add; see docs/Simulator.md.
enum class Accumulation : uint8_t {
  /// Products aligned to the largest exponent and truncated, as published
  /// measurements of the hardware describe.
  Aligned,
  /// One f32 addition a product, in order.
  SequentialF32,
  /// Exact in f64 as far as it goes, rounded once.
  F64,
};

/// Which reading of the memory model the checker uses.
enum class CheckProfile : uint8_t {
  /// The text of the PTX ISA.
  Strict,
  /// The rules that production kernels rely on.
  Cutlass,
};

/// Options of a run. A run is a function of these and of its inputs.
struct RunOptions {
  uint64_t seed = 1;
  DelayMode delays = DelayMode::Uniform;
  uint64_t maximumDelay = 3000;
  /// Costs of events with DelayMode::Cycles.
  CycleCosts costs;
  Accumulation accumulation = Accumulation::Aligned;
  /// Happens-before checker.
  bool check = false;
  CheckProfile profile = CheckProfile::Cutlass;
  /// Findings that are not reported, unless they end the run.
  std::vector<IgnoredFinding> ignored;
  /// Reports loads and stores whose lanes meet in banks of shared memory.
  bool lintBankConflicts = false;
  /// CTAs that are resident at once; the number of pretended SMs.
  unsigned residentCtas = 148;
  /// The run ends with a report after this many warp instructions.
  uint64_t maximumInstructions = uint64_t{1} << 40;
  /// Warp instructions without any store, arrival or completion after which
  /// the run counts as livelocked.
  uint64_t progressLimit = 20'000'000;
  /// When set, one line for each warp instruction.
  std::ostream *trace = nullptr;
  /// When set, what happened when is collected here.
  Timeline *timeline = nullptr;
  /// When set, it chooses the order of everything, and delays do not count. The
  /// checker has to be on.
  Explorer *explorer = nullptr;
};

/// Counters of a run.
struct RunStatistics {
  uint64_t warpInstructions = 0;
  uint64_t threadInstructions = 0;
  uint64_t tmaLoads = 0;
  uint64_t tmaStores = 0;
  uint64_t tmaBytes = 0;
  uint64_t mmas = 0;
  uint64_t tmemCopies = 0;
  uint64_t commits = 0;
  uint64_t ticks = 0;
  double seconds = 0;
};

/// Outcome of a run.
struct RunResult {
  /// The kernel ran to its end. Findings that do not stop a run leave this
  /// true; look at `reports` too.
  bool completed = false;
  ReportList reports;
  /// How many findings were left out because the options say so.
  uint64_t ignoredFindings = 0;
  RunStatistics statistics;

  bool ok() const { return completed && reports.empty(); }
};

/// "kernel: about 54361 cycles, by a model, and 9876 warp instructions".
std::string describeCycles(const Kernel &kernel,
                           const RunStatistics &statistics);

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_MACHINE_LAUNCH_H
