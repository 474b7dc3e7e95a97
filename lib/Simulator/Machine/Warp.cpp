//===- Warp.cpp - 32 threads and their lane groups --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Construction and reports; divergence is in LaneGroups.cpp.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Machine/Warp.h"

#include "nvfp4/Simulator/Machine/Machine.h"

#include <cstring>

namespace nvfp4::sim {

Warp::Warp(Machine &machine, Cta &cta, unsigned index, unsigned agent,
           LaneMask lanes)
    : machine(machine), cta(cta), kernel(machine.kernel), index(index),
      agent(agent), live(lanes) {
  size_t words = kernel.registerBytes / 8 + 8;
  storage = std::make_unique<uint64_t[]>(words);
  std::memset(storage.get(), 0xCB, words * 8);
  auto address = reinterpret_cast<uintptr_t>(storage.get());
  base[0] = reinterpret_cast<uint8_t *>((address + 63) / 64 * 64);
  base[1] = const_cast<uint8_t *>(
      reinterpret_cast<const uint8_t *>(kernel.constants.data()));
  size_t localBytes = kernel.function->localBytes * 32;
  local.assign(localBytes, 0xCB);
  localWritten = ByteMask(localBytes);
  trackedWritten.assign(kernel.trackedRegisters.size(), 0);
  bulkCopies.resize(32);
  plainCopies.resize(32);
  LaneGroup all;
  all.mask = lanes;
  groups.push_back(all);
}

std::string Warp::describe(int lane) const {
  std::string text =
      machine.deviceName() + "cta (" + std::to_string(cta.id[0]) + "," +
      std::to_string(cta.id[1]) + "," + std::to_string(cta.id[2]) + ") warp " +
      std::to_string(index);
  if (lane >= 0)
    text += " lane " + std::to_string(lane);
  return text;
}

void Warp::note(ReportKind kind, std::string message, int lane) {
  Report report;
  report.kind = kind;
  report.message = std::move(message);
  report.pc = groups.empty() ? noPc : groups[current].pc;
  report.where = describe(lane);
  machine.report(std::move(report));
}

Step Warp::fault(ReportKind kind, std::string message, int lane) {
  Report report;
  report.kind = kind;
  report.message = std::move(message);
  report.pc = groups.empty() ? noPc : groups[current].pc;
  report.where = describe(lane);
  machine.stop(std::move(report));
  return Step::Stop;
}

bool Warp::requireAllLanes(LaneMask mask, const char *name) {
  if (mask == allLanes)
    return true;
  fault(ReportKind::IllegalOperand,
        std::string("expected all 32 lanes to execute ") + name);
  return false;
}

} // namespace nvfp4::sim
