//===- RemoteWrites.h - memory of other devices -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes of threads to the memory of another device are performed late and, but
// for those to the same 128 bytes, in any order. A release at system scope, and
// a fence, performs those that come before it; so does an access of the same
// bytes from the device itself.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_MACHINE_REMOTEWRITES_H
#define NVFP4_SIMULATOR_MACHINE_REMOTEWRITES_H

#include "nvfp4/Simulator/Check/Checker.h"
#include "nvfp4/Simulator/Machine/Machine.h"

#include <deque>
#include <map>

namespace nvfp4::sim {

/// The writes of one device to others that are pending.
class RemoteWrites {
public:
  explicit RemoteWrites(Machine &machine) : machine(machine) {}

  /// A store of a thread.
  void write(Warp &warp, const Place &place, const void *data, unsigned size,
             unsigned lane, MemoryOrder order, bool mapRelease);
  /// Any other write of a thread that returns nothing, which `effect` performs.
  void perform(Warp &warp, const Place &place, const PendingWrite &write,
               std::function<void()> effect);
  /// Before the device reads or changes a word itself.
  void beforeAccess(Warp &warp, uint64_t address);
  /// Before the warp tells other devices what it has done. Without the checker
  /// nobody knows what that is, and all writes of the device are performed.
  void beforeRelease(Warp &warp);
  /// Cycles or ticks that a copy from or to `address` takes longer because that
  /// is in the memory of another device.
  uint64_t linkDelay(AsyncKind kind, uint64_t address, uint64_t bytes);
  /// In the model of cycles also releases take their time.
  bool delaysReleases() const {
    return machine.options.delays == DelayMode::Cycles;
  }

private:
  struct Pending {
    uint64_t number;
    uint64_t address;
    PendingWrite write;
    std::function<void()> effect;
  };
  using Line = std::deque<Pending>;

  static constexpr uint64_t lineBytes = 128;

  uint64_t delayTo(uint64_t address, uint64_t bytes);
  /// Whether the link to another device is slow in this schedule.
  bool isSlowLink(uint64_t address) const;
  /// Performs the first `count` writes of a line.
  void performFirst(Line &line, size_t count);

  Machine &machine;
  std::map<uint64_t, Line> lines;
  uint64_t nextNumber = 0;
  /// In the model of cycles: from when on the link is free for what leaves and
  /// for what comes, and when the last write takes effect.
  uint64_t outFree = 0, inFree = 0, lastEffect = 0;
};

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_MACHINE_REMOTEWRITES_H
