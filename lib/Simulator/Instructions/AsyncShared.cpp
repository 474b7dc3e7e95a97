//===- AsyncShared.cpp - shared memory as asynchronous operations see it --===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Swizzled addresses are computed for 8-byte pieces, the smallest a swizzle
// moves as a whole.
//
//===----------------------------------------------------------------------===//

#include "AsyncShared.h"
#include "nvfp4/Simulator/Machine/Timeline.h"

#include <algorithm>
#include <cstring>

namespace nvfp4::sim {

void AsyncOperation::fault(ReportKind kind, std::string message) const {
  Report report;
  report.kind = kind;
  report.message = std::move(message);
  report.pc = pc;
  report.where = where;
  machine->stop(std::move(report));
}

void AsyncOperation::note(ReportKind kind, std::string message) const {
  Report report;
  report.kind = kind;
  report.message = std::move(message);
  report.pc = pc;
  report.where = where;
  machine->report(std::move(report));
}

AsyncOperation beginOperation(Warp &warp, unsigned lane, OperationProxy proxy) {
  AsyncOperation operation;
  operation.machine = &warp.machine;
  operation.pc = warp.group().pc;
  operation.where = warp.describe(static_cast<int>(lane));
  if (warp.machine.options.timeline)
    warp.machine.options.timeline->operationBegins(warp, warp.machine.now);
  if (Checker *checker = warp.machine.checker.get())
    operation.id = checker->beginOperation(warp, lane, proxy);
  return operation;
}

namespace {

bool inBounds(const AsyncOperation &operation, Cta &cta, uint32_t offset,
              uint32_t size, bool mayHaveExited = false) {
  if (cta.exited() && !mayHaveExited) {
    operation.fault(ReportKind::ExitedCta,
                    "an asynchronous operation accesses shared memory of CTA "
                    "rank " +
                        std::to_string(cta.rank) + ", which has exited");
    return false;
  }
  if (offset >= sharedBaseOffset && size <= cta.shared.size() &&
      offset <= cta.shared.size() - size)
    return true;
  operation.fault(ReportKind::OutOfBounds,
                  std::to_string(size) + " bytes at shared offset " +
                      std::to_string(offset) + " are outside [" +
                      std::to_string(sharedBaseOffset) + ", " +
                      std::to_string(cta.shared.size()) + ")");
  return false;
}

} // namespace

bool writeShared(const AsyncOperation &operation, Cta &cta, uint32_t offset,
                 const std::vector<uint8_t> &bytes, TensorSwizzle swizzle,
                 const std::vector<uint8_t> &written, Access access) {
  auto size = static_cast<uint32_t>(bytes.size());
  if (!inBounds(operation, cta, offset, size))
    return false;
  auto forget = [&](uint32_t place, uint32_t first, uint32_t count) {
    for (uint32_t i = 0; i < count && !written.empty(); ++i)
      if (!written[first + i])
        cta.sharedWritten.set(place + i, 1, false);
  };
  Checker *checker = operation.machine->checker.get();
  if (swizzle == TensorSwizzle::None) {
    std::memcpy(&cta.shared[offset], bytes.data(), size);
    cta.sharedWritten.set(offset, size);
    forget(offset, 0, size);
    if (checker)
      checker->operationShared(operation.id, cta, offset, size, access);
    return true;
  }
  for (uint32_t i = 0; i < size; i += 8) {
    uint32_t place = swizzleAddress(swizzle, offset + i);
    uint32_t count = std::min(8u, size - i);
    if (!inBounds(operation, cta, place, count))
      return false;
    std::memcpy(&cta.shared[place], &bytes[i], count);
    cta.sharedWritten.set(place, count);
    forget(place, i, count);
    if (checker)
      checker->operationShared(operation.id, cta, place, count, access);
  }
  return true;
}

bool readShared(const AsyncOperation &operation, Cta &cta, uint32_t offset,
                uint32_t size, std::vector<uint8_t> &bytes,
                TensorSwizzle swizzle) {
  // Production kernels leave without waiting until their last stores have read
  // shared memory, which hardware keeps for so long; the text does not say so.
  bool mayHaveExited =
      operation.machine->options.profile == CheckProfile::Cutlass;
  if (!inBounds(operation, cta, offset, size, mayHaveExited))
    return false;
  bytes.resize(size);
  Checker *checker = operation.machine->checker.get();
  bool initialized = true;
  for (uint32_t i = 0; i < size; i += 8) {
    uint32_t place = swizzleAddress(swizzle, offset + i);
    uint32_t count = std::min(8u, size - i);
    if (!inBounds(operation, cta, place, count, mayHaveExited))
      return false;
    std::memcpy(&bytes[i], &cta.shared[place], count);
    initialized &= cta.sharedWritten.all(place, count);
    if (checker)
      checker->operationShared(operation.id, cta, place, count, Access::Read);
  }
  if (!initialized) {
    operation.note(ReportKind::UninitializedRead,
                   "shared memory at offset " + std::to_string(offset) + ", " +
                       std::to_string(size) +
                       " bytes, is read before all of it is written");
    cta.sharedWritten.set(offset, size);
  }
  return true;
}

void completeOn(const AsyncOperation &operation, Cta &from, uint32_t address,
                uint32_t bytes) {
  Machine &machine = *operation.machine;
  if (machine.checker)
    if (Cta *target = machine.ctaAt(from, address))
      machine.checker->operationArrived(operation.id, *target,
                                        address & sharedOffsetMask);
  machine.completeTransactions(from, address, bytes, operation.pc);
}

} // namespace nvfp4::sim
