//===- Together.cpp - launches of several devices ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As soon as a device reaches the memory of another, calls add work to a queue
// of their device. A call that waits does all of it: each device does its own
// in order, and kernels of different devices run at the same time. While these
// only wait, other threads of the host may add work, which joins.
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include <algorithm>
#include <chrono>

using namespace nvfp4;
using namespace nvfp4::simcuda;
using cuda::Result;

bool State::runsTogether() const {
  return devices.size() > 1 &&
         std::any_of(devices.begin(), devices.end(),
                     [](const auto &d) { return d->memory.hasPeers(); });
}

/// Does what devices can do without waiting for a kernel; the first error.
static Result feed(State &s) {
  Result first = cuda::Success;
  for (bool again = true; again;) {
    again = false;
    for (const auto &device : s.devices) {
      while (!device->isBusy && !device->pending.empty()) {
        if (device->sticky) {
          device->pending.clear();
          break;
        }
        SimPending &next = device->pending.front();
        if (next.after && !*next.after)
          break;
        SimPending taken = std::move(next);
        device->pending.pop_front();
        again = true;
        Result error = taken.work(s, taken.stream);
        first = first ? first : error;
      }
    }
  }
  return first;
}

/// Gives the others the error of the launch that has ended all.
static void spreadError(State &s) {
  const SimDevice *failed = nullptr;
  for (const auto &started : s.together->started)
    if (started.device->sticky)
      failed = started.device;
  for (const auto &device : s.devices) {
    if (!failed || !device->isBusy || device->sticky)
      continue;
    device->sticky = failed->sticky;
    device->stickyMessage =
        "a launch of device " + std::to_string(failed->ordinal) +
        ", which ran at the same time, has failed: " + failed->stickyMessage;
  }
}

/// Lets other threads of the host, which need the state, go on for a moment.
static void yield(State &s) {
  s.mutex.unlock();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  s.mutex.lock();
}

Result State::finishPending() {
  bool waited = together != nullptr;
  while (together)
    yield(*this);
  if (waited && current().sticky) {
    lastMessage() = current().stickyMessage;
    return current().sticky;
  }
  if (std::all_of(devices.begin(), devices.end(),
                  [](const auto &d) { return d->pending.empty(); }))
    return cuda::Success;
  sim::RunOptions common = options;
  common.seed += launches;
  together = std::make_unique<SimTogether>(common);
  Result first = feed(*this);
  together->system.whenIdle = [&] {
    if (std::all_of(devices.begin(), devices.end(),
                    [](const auto &d) { return d->isBusy; }))
      return;
    yield(*this);
    Result error = feed(*this);
    first = first ? first : error;
  };
  together->system.run([&](size_t ended) {
    together->started[ended].device->isBusy = false;
    Result error = feed(*this);
    first = first ? first : error;
  });
  std::vector<sim::RunResult> results = together->system.takeResults();
  uint64_t longest = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    const SimTogether::Started &started = together->started[i];
    concludeLaunch(*this, started, results[i]);
    longest = std::max(longest, results[i].statistics.ticks);
    // Nobody asks about a stream that may have been destroyed.
    if (!results[i].completed && !first && started.device == &current())
      first = started.device->sticky;
  }
  spreadError(*this);
  for (const auto &device : devices) {
    if (device->isBusy || device->sticky)
      device->pending.clear();
    device->isBusy = false;
  }
  together = nullptr;
  cycles += longest;
  if (first && current().sticky == first)
    lastMessage() = current().stickyMessage;
  return first;
}
