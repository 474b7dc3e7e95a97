//===- System.h - launches of several devices together ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Owns a machine for each launch and decides which of them runs next: at
// random, or in the order of their times in the model of cycles. All have one
// checker. A launch of one device alone needs no system.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_MACHINE_SYSTEM_H
#define NVFP4_SIMULATOR_MACHINE_SYSTEM_H

#include "nvfp4/Simulator/Machine/Machine.h"

#include <functional>

namespace nvfp4::sim {

class System {
public:
  explicit System(const RunOptions &options);
  ~System();

  /// Adds a launch on the device that `memory` belongs to. An earlier one of
  /// that device must have ended. Kernel and memory must live as long.
  void start(const Kernel &kernel, LaunchConfig config, DeviceMemory &memory,
             const ModuleImage &image, const RunOptions &options);

  /// Runs all launches to their end, or until a fault ends all of them. Calls
  /// `ended`, if there is one, with the number of each launch that has ended;
  /// it may start another.
  void run(const std::function<void(size_t)> &ended = {});

  /// Called from `run` now and then while nobody makes progress: it may start
  /// launches that the others wait for.
  std::function<void()> whenIdle;

  /// One for each launch, in the order in which they were started.
  std::vector<RunResult> takeResults();

  /// The latest time of a machine.
  uint64_t latest() const;
  /// No machine has made progress for a long time.
  bool isStalled() const;
  /// The word or barrier that everybody waits for.
  std::string describeWaiting() const;

private:
  struct Device;

  Device *pick();
  /// Whether nobody has made progress for a while.
  bool isIdle() const;
  /// Runs launches in an order of the explorer; a launch that follows another
  /// is not among them.
  void explore(const std::function<void(size_t)> &ended);
  /// A launch has come to its end.
  void end(Device *device, const std::function<void(size_t)> &ended);
  /// Ends the run: all other launches have not completed either.
  void stop();

  RunOptions options;
  Random random;
  std::shared_ptr<Checker> checker;
  std::vector<std::unique_ptr<Device>> launches;
  std::vector<Device *> running;
  unsigned devices = 0;
};

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_MACHINE_SYSTEM_H
