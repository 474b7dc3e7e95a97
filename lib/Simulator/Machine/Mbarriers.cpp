//===- Mbarriers.cpp - mbarrier objects -------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Phase, pending arrivals and transaction count (PTX 9.7.13.15). Whoever
// arrives, threads and asynchronous operations alike, comes through here.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Check/Checker.h"
#include "nvfp4/Simulator/Machine/Explorer.h"
#include "nvfp4/Simulator/Machine/Machine.h"
#include "nvfp4/Simulator/Machine/Timeline.h"

namespace nvfp4::sim {
namespace {

constexpr int64_t maximumTransactions = (1 << 20) - 1;

void misuse(Machine &machine, Cta &cta, uint32_t address, uint32_t pc,
            const std::string &message, bool fatal) {
  Report report;
  report.kind = ReportKind::MbarrierMisuse;
  report.message = "mbarrier at shared offset " +
                   std::to_string(address & sharedOffsetMask) +
                   " of CTA rank " +
                   std::to_string(address >> sharedRankShift) + ": " + message;
  report.pc = pc;
  report.where =
      cta.warps.empty() ? "" : "cta rank " + std::to_string(cta.rank);
  if (fatal)
    machine.stop(std::move(report));
  else
    machine.report(std::move(report));
}

void completePhaseIfDone(Machine &machine, Cta &from, uint32_t address,
                         Mbarrier &barrier) {
  if (barrier.pending || barrier.transactions)
    return;
  if (Explorer *explorer = machine.options.explorer) {
    using Aspect = Machine::Aspect;
    uint64_t complete = barrier.phase;
    explorer->follows(
        machine.mbarrierObject(from, address, Aspect::Mbarrier, complete + 1));
    // Whoever has not seen the phase before is lapped now.
    explorer->uses(
        machine.mbarrierObject(from, address, Aspect::LastPhase, complete),
        Explorer::Use::Write);
  }
  if (machine.checker)
    machine.checker->phaseCompleted(*machine.ctaAt(from, address),
                                    address & sharedOffsetMask);
  if (machine.options.timeline)
    machine.options.timeline->phaseCompletes(*machine.ctaAt(from, address),
                                             address & sharedOffsetMask,
                                             barrier.phase, machine.now);
  ++barrier.phase;
  barrier.pending = barrier.expected;
  machine.progress();
  machine.wake(barrier.waiters);
}

} // namespace

Cta *Machine::ctaAt(Cta &from, uint32_t sharedAddress) {
  uint32_t rank = sharedAddress >> sharedRankShift;
  auto &ctas = from.cluster->ctas;
  return rank < ctas.size() ? ctas[rank].get() : nullptr;
}

Mbarrier *Machine::mbarrierAt(Cta &from, uint32_t sharedAddress, uint32_t pc,
                              std::string_view action) {
  Cta *cta = ctaAt(from, sharedAddress);
  if (!cta) {
    misuse(*this, from, sharedAddress, pc,
           std::string(action) + " names a CTA outside the cluster", true);
    return nullptr;
  }
  uint32_t offset = sharedAddress & sharedOffsetMask;
  if (offset % 8) {
    misuse(*this, from, sharedAddress, pc,
           "expected an address that is a multiple of 8", true);
    return nullptr;
  }
  if (cta->exited()) {
    Report report;
    report.kind = ReportKind::ExitedCta;
    report.message = std::string(action) + " on an mbarrier of CTA rank " +
                     std::to_string(cta->rank) + ", which has exited";
    report.pc = pc;
    stop(std::move(report));
    return nullptr;
  }
  auto found = cta->mbarriers.find(offset);
  if (found == cta->mbarriers.end()) {
    misuse(*this, from, sharedAddress, pc,
           std::string(action) + " without a preceding mbarrier.init", true);
    return nullptr;
  }
  return &found->second;
}

uint64_t Machine::mbarrierObject(Cta &from, uint32_t sharedAddress,
                                 Aspect aspect, uint64_t phase) {
  return objectOf(*ctaAt(from, sharedAddress), aspect,
                  (sharedAddress & sharedOffsetMask) / 8, phase);
}

bool Machine::arrive(Cta &from, uint32_t sharedAddress, uint32_t count,
                     uint32_t pc) {
  Mbarrier *barrier = mbarrierAt(from, sharedAddress, pc, "arrive");
  if (!barrier)
    return false;
  if (count > barrier->pending) {
    misuse(*this, from, sharedAddress, pc,
           "expected at most " + std::to_string(barrier->pending) +
               " pending arrivals in phase " + std::to_string(barrier->phase) +
               ", but got " + std::to_string(count),
           true);
    return false;
  }
  barrier->pending -= count;
  if (options.explorer)
    options.explorer->uses(mbarrierObject(from, sharedAddress, Aspect::Mbarrier,
                                          barrier->phase + 1),
                           Explorer::Use::Arrive);
  progress();
  completePhaseIfDone(*this, from, sharedAddress, *barrier);
  return true;
}

bool Machine::expectTransactions(Cta &from, uint32_t sharedAddress,
                                 int64_t bytes, uint32_t pc) {
  Mbarrier *barrier = mbarrierAt(from, sharedAddress, pc, "expect_tx");
  if (!barrier)
    return false;
  barrier->transactions += bytes;
  // Completions may not come between this and the arrival before it.
  if (options.explorer)
    options.explorer->uses(mbarrierObject(from, sharedAddress, Aspect::Mbarrier,
                                          barrier->phase + 1),
                           Explorer::Use::Write);
  if (barrier->transactions > maximumTransactions) {
    misuse(*this, from, sharedAddress, pc,
           "transaction count " + std::to_string(barrier->transactions) +
               " is above 2^20 - 1",
           true);
    return false;
  }
  progress();
  return true;
}

bool Machine::completeTransactions(Cta &from, uint32_t sharedAddress,
                                   int64_t bytes, uint32_t pc) {
  Mbarrier *barrier = mbarrierAt(from, sharedAddress, pc, "complete_tx");
  if (!barrier)
    return false;
  barrier->transactions -= bytes;
  if (options.explorer)
    options.explorer->uses(mbarrierObject(from, sharedAddress, Aspect::Mbarrier,
                                          barrier->phase + 1),
                           Explorer::Use::Arrive);
  if (barrier->transactions < -maximumTransactions) {
    misuse(*this, from, sharedAddress, pc,
           "transaction count " + std::to_string(barrier->transactions) +
               " is below -(2^20 - 1)",
           true);
    return false;
  }
  progress();
  completePhaseIfDone(*this, from, sharedAddress, *barrier);
  return true;
}

} // namespace nvfp4::sim
