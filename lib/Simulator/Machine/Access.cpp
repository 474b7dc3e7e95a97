//===- Access.cpp - memory accesses of threads ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function for each state space; generic addresses are sorted by window.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Machine/Access.h"

#include "nvfp4/Simulator/Machine/RemoteWrites.h"

#include <cstdio>
#include <cstring>

namespace nvfp4::sim {
namespace {

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx",
                static_cast<unsigned long long>(value));
  return text;
}

bool outOfBounds(Warp &warp, std::string message, unsigned lane) {
  warp.fault(ReportKind::OutOfBounds, std::move(message),
             static_cast<int>(lane));
  return false;
}

bool resolveShared(Warp &warp, uint64_t address, unsigned size, unsigned lane,
                   Place &place) {
  if (address > UINT32_MAX)
    return outOfBounds(
        warp, "shared address " + hex(address) + " has more than 32 bits",
        lane);
  Cta *cta = warp.machine.ctaAt(warp.cta, static_cast<uint32_t>(address));
  uint32_t offset = address & sharedOffsetMask;
  if (!cta)
    return outOfBounds(warp,
                       "shared address " + hex(address) + " names CTA rank " +
                           std::to_string(address >> sharedRankShift) +
                           " of a cluster of " +
                           std::to_string(warp.machine.clusterSize),
                       lane);
  if (offset < sharedBaseOffset || offset + size > cta->shared.size())
    return outOfBounds(warp,
                       std::to_string(size) + " bytes at shared offset " +
                           std::to_string(offset) + " are outside [" +
                           std::to_string(sharedBaseOffset) + ", " +
                           std::to_string(cta->shared.size()) + ")",
                       lane);
  if (cta != &warp.cta && cta->exited()) {
    warp.fault(ReportKind::ExitedCta,
               "shared memory of CTA rank " + std::to_string(cta->rank) +
                   " is accessed after that CTA has exited",
               static_cast<int>(lane));
    return false;
  }
  place.space = StateSpace::Shared;
  place.data = &cta->shared[offset];
  place.written = &cta->sharedWritten;
  place.writtenOffset = offset;
  place.cta = cta;
  place.address = offset;
  return true;
}

bool resolveGlobal(Warp &warp, uint64_t address, unsigned size, unsigned lane,
                   Place &place) {
  Allocation *allocation = warp.machine.memory.find(address, size);
  if (!allocation)
    return outOfBounds(warp,
                       std::to_string(size) + " bytes at global address " +
                           hex(address) + ": " +
                           warp.machine.memory.describe(address),
                       lane);
  place.space = StateSpace::Global;
  place.writtenOffset = address - allocation->address;
  place.data = &allocation->data[place.writtenOffset];
  place.written = &allocation->written;
  place.address = address;
  place.isRemote = allocation->owner != &warp.machine.memory;
  return true;
}

bool resolveLocal(Warp &warp, uint64_t address, unsigned size, unsigned lane,
                  Place &place) {
  uint64_t frame = warp.kernel.function->localBytes;
  if (size > frame || address > frame - size)
    return outOfBounds(warp,
                       std::to_string(size) + " bytes at local offset " +
                           std::to_string(address) + " of a frame of " +
                           std::to_string(frame) + " bytes",
                       lane);
  place.space = StateSpace::Local;
  place.writtenOffset = frame * lane + address;
  place.data = &warp.local[place.writtenOffset];
  place.written = &warp.localWritten;
  return true;
}

bool resolveParam(Warp &warp, uint64_t address, unsigned size, unsigned lane,
                  Place &place) {
  const std::vector<uint8_t> &parameters = warp.machine.config.parameters;
  if (size > parameters.size() || address > parameters.size() - size)
    return outOfBounds(warp,
                       std::to_string(size) + " bytes at parameter offset " +
                           std::to_string(address) + " of " +
                           std::to_string(parameters.size()),
                       lane);
  place.space = StateSpace::Param;
  place.data = const_cast<uint8_t *>(&parameters[address]);
  place.written = nullptr;
  return true;
}

} // namespace

/// The space that a generic address lies in; its window's start is taken off.
static StateSpace spaceOf(uint64_t &address) {
  auto inside = [&](uint64_t window) {
    if (address - window >= windowSize)
      return false;
    address -= window;
    return true;
  };
  return inside(sharedWindow)  ? StateSpace::Shared
         : inside(localWindow) ? StateSpace::Local
         : inside(paramWindow) ? StateSpace::Param
                               : StateSpace::Global;
}

Window::Window(Warp &warp, StateSpace space, uint64_t address) {
  uint64_t inSpace = address;
  if (space == StateSpace::Generic)
    space = spaceOf(inSpace);
  // Addresses of the space, then as the instruction gives them.
  switch (space) {
  case StateSpace::Shared:
  case StateSpace::SharedCluster: {
    Cta &cta = warp.cta;
    begin = uint64_t{cta.rank} << sharedRankShift | sharedBaseOffset;
    if (cta.shared.size() <= sharedBaseOffset)
      return;
    bytes = cta.shared.size() - sharedBaseOffset;
    first.space = StateSpace::Shared;
    first.data = &cta.shared[sharedBaseOffset];
    first.written = &cta.sharedWritten;
    first.writtenOffset = first.address = sharedBaseOffset;
    first.cta = &cta;
    break;
  }
  case StateSpace::Local:
    bytes = laneBytes = warp.kernel.function->localBytes;
    first.space = StateSpace::Local;
    first.data = warp.local.data();
    first.written = &warp.localWritten;
    break;
  case StateSpace::Param:
    return;
  default: {
    Allocation *allocation = warp.machine.memory.find(inSpace, 1);
    if (!allocation)
      return;
    begin = allocation->address;
    bytes = allocation->size;
    first.data = allocation->data;
    first.written = &allocation->written;
    first.address = allocation->address;
    first.isRemote = allocation->owner != &warp.machine.memory;
    break;
  }
  }
  begin += address - inSpace;
}

bool resolve(Warp &warp, StateSpace space, uint64_t address, unsigned size,
             unsigned alignment, unsigned lane, Place &place) {
  if (space == StateSpace::Generic)
    space = spaceOf(address);
  if (address & (alignment - 1)) {
    warp.fault(ReportKind::Misaligned,
               "expected an address that is a multiple of " +
                   std::to_string(alignment) + ", but got " + hex(address),
               static_cast<int>(lane));
    return false;
  }
  switch (space) {
  case StateSpace::Shared:
  case StateSpace::SharedCluster:
    return resolveShared(warp, address, size, lane, place);
  case StateSpace::Local:
    return resolveLocal(warp, address, size, lane, place);
  case StateSpace::Param:
    return resolveParam(warp, address, size, lane, place);
  default:
    return resolveGlobal(warp, address, size, lane, place);
  }
}

bool readPlace(Warp &warp, const Place &place, void *data, unsigned size,
               unsigned lane, MemoryOrder order) {
  if (place.isRemote)
    warp.machine.remoteWrites->beforeAccess(warp, place.address);
  if (place.written && !place.written->allFew(place.writtenOffset, size)) {
    warp.note(ReportKind::UninitializedRead,
              std::to_string(size) + " bytes at " +
                  (place.space == StateSpace::Shared
                       ? "shared offset " + std::to_string(place.address)
                   : place.space == StateSpace::Local
                       ? std::string("a local address")
                       : "global address " + hex(place.address)) +
                  " are read before they are written",
              lane < Checker::manyLanes ? static_cast<int>(lane) : -1);
    place.written->set(place.writtenOffset, size);
  }
  std::memcpy(data, place.data, size);
  if (Checker *checker = warp.machine.checker.get())
    checker->threadAccess(warp, place, size, Access::Read, lane, order);
  return true;
}

/// A bit for each byte that storing `data` leaves as it was.
static uint32_t keptBytes(const Place &place, const void *data, unsigned size) {
  uint32_t kept = 0;
  for (unsigned i = 0; i < size && i < 32; ++i)
    kept |= uint32_t{place.data[i] == static_cast<const uint8_t *>(data)[i]}
            << i;
  return kept;
}

void writePlace(Warp &warp, const Place &place, const void *data, unsigned size,
                unsigned lane, MemoryOrder order, bool mapRelease) {
  Checker *checker = warp.machine.checker.get();
  if (RemoteWrites *remote = warp.machine.remoteWrites.get()) {
    if (order.releasesToSystem())
      remote->beforeRelease(warp);
    if (place.isRemote &&
        (!order.releasesToSystem() || remote->delaysReleases()))
      return remote->write(warp, place, data, size, lane, order, mapRelease);
  }
  uint32_t kept = checker ? keptBytes(place, data, size) : 0;
  std::memcpy(place.data, data, size);
  if (place.written)
    place.written->set(place.writtenOffset, size);
  warp.machine.progress();
  if (checker)
    checker->threadAccess(warp, place, size, Access::Write, lane, order,
                          {mapRelease, size <= 32 ? kept : 0});
}

bool loadBytes(Warp &warp, StateSpace space, uint64_t address, void *data,
               unsigned size, unsigned lane, MemoryOrder order) {
  Place place;
  return resolve(warp, space, address, size, size, lane, place) &&
         readPlace(warp, place, data, size, lane, order);
}

bool storeBytes(Warp &warp, StateSpace space, uint64_t address,
                const void *data, unsigned size, unsigned lane,
                MemoryOrder order) {
  Place place;
  if (!resolve(warp, space, address, size, size, lane, place))
    return false;
  writePlace(warp, place, data, size, lane, order);
  return true;
}

bool sharedAddressOf(Warp &warp, StateSpace space, uint64_t address,
                     unsigned lane, uint32_t &result) {
  if (space == StateSpace::Generic && address >= sharedWindow &&
      address - sharedWindow < windowSize)
    address -= sharedWindow;
  else if (space == StateSpace::Generic && address > UINT32_MAX)
    return outOfBounds(
        warp, "expected an address of shared memory, but got " + hex(address),
        lane);
  // Compilers zero-extend shared addresses where the text asks for generic
  // ones, and hardware takes them; so do we.
  result = static_cast<uint32_t>(address);
  return true;
}

} // namespace nvfp4::sim
