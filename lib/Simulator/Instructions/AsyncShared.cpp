//===- AsyncShared.cpp - shared memory as asynchronous operations see it --===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Swizzled addresses are computed for pieces of 16 or 8 bytes, which a swizzle
// moves as a whole.
//
//===----------------------------------------------------------------------===//

#include "AsyncShared.h"
#include "nvfp4/Simulator/Machine/Timeline.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

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

/// Whether a swizzle permutes the bytes of [offset, offset + size) among
/// themselves: no pattern reaches beyond 128 bytes.
bool staysInside(TensorSwizzle swizzle, uint32_t offset, uint32_t size) {
  return swizzle == TensorSwizzle::None ||
         (offset % 128 == 0 && size % 128 == 0);
}

/// Copies whole swizzled bytes to or from shared memory, in pieces that the
/// swizzle moves together.
template <unsigned piece, bool toShared>
void copyPieces(TensorSwizzle swizzle, uint8_t *shared, uint32_t offset,
                std::conditional_t<toShared, const uint8_t *, uint8_t *> bytes,
                uint32_t size) {
  for (uint32_t i = 0; i < size; i += piece) {
    uint8_t *place = shared + swizzleAddress(swizzle, offset + i);
    if constexpr (toShared)
      std::memcpy(place, bytes + i, piece);
    else
      std::memcpy(bytes + i, place, piece);
  }
}

template <bool toShared>
void copyInside(TensorSwizzle swizzle, uint8_t *shared, uint32_t offset,
                std::conditional_t<toShared, const uint8_t *, uint8_t *> bytes,
                uint32_t size) {
  if (swizzle == TensorSwizzle::None) {
    if constexpr (toShared)
      std::memcpy(shared + offset, bytes, size);
    else
      std::memcpy(bytes, shared + offset, size);
  } else if (swizzle <= TensorSwizzle::B128) {
    copyPieces<16, toShared>(swizzle, shared, offset, bytes, size);
  } else {
    copyPieces<8, toShared>(swizzle, shared, offset, bytes, size);
  }
}

} // namespace

bool writeShared(const AsyncOperation &operation, Cta &cta, uint32_t offset,
                 const std::vector<uint8_t> &bytes, TensorSwizzle swizzle,
                 const std::vector<uint8_t> &written, Access access) {
  auto size = static_cast<uint32_t>(bytes.size());
  if (!inBounds(operation, cta, offset, size))
    return false;
  Checker *checker = operation.machine->checker.get();
  if (staysInside(swizzle, offset, size)) {
    copyInside<true>(swizzle, cta.shared.data(), offset, bytes.data(), size);
    cta.sharedWritten.set(offset, size);
    if (checker)
      checker->operationShared(operation.id, cta, offset, size, access);
  } else {
    for (uint32_t i = 0; i < size; i += 8) {
      uint32_t place = swizzleAddress(swizzle, offset + i);
      uint32_t count = std::min(8u, size - i);
      if (!inBounds(operation, cta, place, count))
        return false;
      std::memcpy(&cta.shared[place], &bytes[i], count);
      cta.sharedWritten.set(place, count);
      if (checker)
        checker->operationShared(operation.id, cta, place, count, access);
    }
  }
  for (uint32_t i = 0; i < written.size(); ++i)
    if (!written[i])
      cta.sharedWritten.set(swizzleAddress(swizzle, offset + i), 1, false);
  return true;
}

bool readShared(const AsyncOperation &operation, Cta &cta, uint32_t offset,
                uint32_t size, std::vector<uint8_t> &bytes,
                TensorSwizzle swizzle, Access access) {
  // Production kernels leave without waiting until their last stores have read
  // shared memory, which hardware keeps for so long; the text does not say so.
  bool mayHaveExited =
      operation.machine->options.profile == CheckProfile::Cutlass;
  if (!inBounds(operation, cta, offset, size, mayHaveExited))
    return false;
  bytes.resize(size);
  Checker *checker = operation.machine->checker.get();
  bool initialized = true;
  if (staysInside(swizzle, offset, size)) {
    copyInside<false>(swizzle, cta.shared.data(), offset, bytes.data(), size);
    initialized = cta.sharedWritten.all(offset, size);
    if (checker)
      checker->operationShared(operation.id, cta, offset, size, access);
  } else {
    for (uint32_t i = 0; i < size; i += 8) {
      uint32_t place = swizzleAddress(swizzle, offset + i);
      uint32_t count = std::min(8u, size - i);
      if (!inBounds(operation, cta, place, count, mayHaveExited))
        return false;
      std::memcpy(&bytes[i], &cta.shared[place], count);
      initialized &= cta.sharedWritten.all(place, count);
      if (checker)
        checker->operationShared(operation.id, cta, place, count, access);
    }
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
