//===- System.cpp - launches of several devices together --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each round of a machine is a few instructions of one of its warps. By seed a
// device starts late, and in adversarial schedules one of them gets few turns.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Machine/System.h"

#include "nvfp4/Simulator/Check/Checker.h"
#include "nvfp4/Simulator/Machine/Exploration.h"

#include <algorithm>
#include <chrono>

namespace nvfp4::sim {

struct System::Device {
  Device(const Kernel &kernel, LaunchConfig given, DeviceMemory &memory,
         const ModuleImage &image, const RunOptions &options)
      : config(std::move(given)), options(options),
        machine(kernel, config, memory, image, this->options) {}

  LaunchConfig config;
  RunOptions options;
  Machine machine;
  /// Rounds that the device stands still at first.
  uint64_t skew = 0;
  bool completed = false;
};

System::System(const RunOptions &options)
    : options(options),
      random(options.delays == DelayMode::Cycles ? 0 : ~options.seed) {
  if (options.check)
    checker = std::make_shared<Checker>(this->options);
}

System::~System() = default;

void System::start(const Kernel &kernel, LaunchConfig config,
                   DeviceMemory &memory, const ModuleImage &image,
                   const RunOptions &given) {
  RunOptions own = given;
  // Other seeds for other devices, so that their schedules differ.
  constexpr uint64_t step = 1'000'003;
  own.seed += step * memory.device;
  if (!launches.empty())
    own.timeline = nullptr;
  auto device =
      std::make_unique<Device>(kernel, std::move(config), memory, image, own);
  Machine &machine = device->machine;
  machine.system = this;
  machine.checker = checker;
  // The clock of a device goes on from one launch to the next.
  for (const auto &before : launches)
    if (&before->machine.memory == &memory)
      machine.now = std::max(machine.now, before->machine.now);
  machine.progress();
  if (own.delays == DelayMode::Uniform)
    device->skew = random.below(200);
  if (own.delays == DelayMode::Adversarial && random.below(2))
    device->skew = random.below(2000);
  devices = std::max(devices, memory.device + 1);
  running.push_back(device.get());
  launches.push_back(std::move(device));
  if (!machine.begin())
    stop();
}

System::Device *System::pick() {
  if (options.delays == DelayMode::Cycles)
    return *std::min_element(
        running.begin(), running.end(), [](const Device *a, const Device *b) {
          return a->machine.nextTime() < b->machine.nextTime();
        });
  Device *device = running[random.below(running.size())];
  // One device of an adversarial schedule rarely gets a turn.
  bool isSlow = options.delays == DelayMode::Adversarial && options.seed % 2 &&
                device->machine.memory.device == options.seed / 2 % devices;
  if (isSlow && random.below(16))
    return nullptr;
  if (device->skew == 0)
    return device;
  // Threads that wait for it would only spin.
  bool allWait = std::all_of(running.begin(), running.end(),
                             [](const Device *d) { return d->skew != 0; });
  device->skew = allWait ? 0 : device->skew - 1;
  return nullptr;
}

void System::run(const std::function<void(size_t)> &ended) {
  auto start = std::chrono::steady_clock::now();
  constexpr unsigned roundsBetween = 256;
  if (options.explorer)
    explore(ended);
  for (uint64_t round = 1; !running.empty(); ++round) {
    if (whenIdle && round % roundsBetween == 0 && isIdle())
      whenIdle();
    Device *device = pick();
    if (!device || device->machine.advance())
      continue;
    if (device->machine.hasStopped()) {
      stop();
      break;
    }
    end(device, ended);
  }
  double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  for (const auto &launch : launches)
    launch->machine.result.statistics.seconds = seconds;
}

void System::end(Device *device, const std::function<void(size_t)> &ended) {
  device->completed = true;
  std::erase(running, device);
  // The work of the launch is before the next one of the device.
  device->machine.endClusters();
  if (!ended)
    return;
  for (size_t i = 0; i < launches.size(); ++i)
    if (launches[i].get() == device)
      ended(i);
}

void System::explore(const std::function<void(size_t)> &ended) {
  std::vector<Machine *> machines;
  for (Device *device : running)
    machines.push_back(&device->machine);
  exploreSchedule(*options.explorer, machines, [&](Machine &machine) {
    auto found =
        std::find_if(running.begin(), running.end(), [&](const Device *device) {
          return &device->machine == &machine;
        });
    end(*found, ended);
  });
  stop();
}

void System::stop() { running.clear(); }

std::vector<RunResult> System::takeResults() {
  std::vector<RunResult> results;
  for (const auto &launch : launches) {
    results.push_back(launch->machine.finish());
    results.back().completed = launch->completed;
  }
  return results;
}

bool System::isIdle() const {
  constexpr uint64_t instructions = 5000;
  return std::all_of(running.begin(), running.end(), [](const Device *device) {
    return device->machine.getIdle() > instructions;
  });
}

uint64_t System::latest() const {
  uint64_t time = 0;
  for (const auto &launch : launches)
    time = std::max(time, launch->machine.now);
  return time;
}

bool System::isStalled() const {
  return std::all_of(running.begin(), running.end(), [](const Device *device) {
    return device->machine.isStalled();
  });
}

std::string System::describeWaiting() const {
  std::string text;
  unsigned lines = 24;
  for (const auto &launch : launches) {
    bool runs = std::find(running.begin(), running.end(), launch.get()) !=
                running.end();
    text += runs ? launch->machine.describeWaiting(lines)
                 : "\n    " + launch->machine.deviceName() + "has ended " +
                       readableName(launch->machine.kernel.name);
  }
  return text;
}

} // namespace nvfp4::sim
