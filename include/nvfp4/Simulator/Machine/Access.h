//===- Access.h - memory accesses of threads --------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Resolves an address in a state space, checks bounds, alignment and
// initialisation, tells the checker, and gives the bytes.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_MACHINE_ACCESS_H
#define NVFP4_SIMULATOR_MACHINE_ACCESS_H

#include "nvfp4/Simulator/Check/Checker.h"
#include "nvfp4/Simulator/Machine/Machine.h"

namespace nvfp4::sim {

/// Bytes of one access, valid until the next instruction.
struct Place {
  /// Global, Shared, Local or Param.
  StateSpace space = StateSpace::Global;
  uint8_t *data = nullptr;
  ByteMask *written = nullptr;
  size_t writtenOffset = 0;
  /// Owner of shared memory.
  Cta *cta = nullptr;
  /// Offset in shared memory, or the global address.
  uint64_t address = 0;
  /// Memory of another device.
  bool isRemote = false;
};

/// Resolves `size` bytes at `address` for `lane` of `warp`. Out of bounds and
/// misaligned accesses are reported and give false.
bool resolve(Warp &warp, StateSpace space, uint64_t address, unsigned size,
             unsigned alignment, unsigned lane, Place &place);

/// A range of addresses whose bytes lie next to each other: what `resolve`
/// finds for most lanes of an instruction when it has been asked for one.
class Window {
public:
  /// The range around `address`, which is empty where there is none that is
  /// worth it.
  Window(Warp &warp, StateSpace space, uint64_t address);

  /// As `resolve`; false, without a report, for what is not in the range or not
  /// a multiple of `size`.
  bool find(uint64_t address, unsigned size, unsigned lane,
            Place &place) const {
    uint64_t offset = address - begin;
    if (offset >= bytes || bytes - offset < size || (address & (size - 1)))
      return false;
    offset += laneBytes * lane;
    place.space = first.space;
    place.data = first.data + offset;
    place.written = first.written;
    place.writtenOffset = first.writtenOffset + offset;
    place.cta = first.cta;
    place.address = first.address + offset;
    place.isRemote = first.isRemote;
    return true;
  }

  /// The bytes where there is nothing to say about a read of them: they are in
  /// the range, aligned, and written. Null elsewhere.
  const uint8_t *findWritten(uint64_t address, unsigned size,
                             unsigned lane) const {
    uint64_t offset = address - begin;
    if (offset >= bytes || bytes - offset < size || (address & (size - 1)))
      return nullptr;
    offset += laneBytes * lane;
    return first.written->allFew(first.writtenOffset + offset, size)
               ? first.data + offset
               : nullptr;
  }

  /// The bytes of [address, address + size), which several lanes access; null
  /// where they are not all in the range, and in local memory, where those of
  /// lanes lie apart.
  uint8_t *findSpan(uint64_t address, uint64_t size) const {
    uint64_t offset = address - begin;
    bool inside = offset < bytes && bytes - offset >= size && !laneBytes;
    return inside ? first.data + offset : nullptr;
  }
  bool isRemote() const { return first.isRemote; }
  /// Where an address of the range is, in a space whose lanes share bytes.
  Place place(uint64_t address) const {
    Place found = first;
    found.data += address - begin;
    found.writtenOffset += address - begin;
    found.address += address - begin;
    return found;
  }
  /// The marks of what has been written, and where in them `address` is.
  ByteMask &written() const { return *first.written; }
  size_t writtenOffset(uint64_t address) const {
    return first.writtenOffset + (address - begin);
  }

private:
  uint64_t begin = 0, bytes = 0;
  /// From one lane's bytes to the next one's, in local memory.
  uint64_t laneBytes = 0;
  Place first;
};

/// Reads after resolving; bytes never written are reported once.
bool readPlace(Warp &warp, const Place &place, void *data, unsigned size,
               unsigned lane, MemoryOrder order = {});
void writePlace(Warp &warp, const Place &place, const void *data, unsigned size,
                unsigned lane, MemoryOrder order = {}, bool mapRelease = false);

/// resolve and readPlace or writePlace with natural alignment of `size`.
bool loadBytes(Warp &warp, StateSpace space, uint64_t address, void *data,
               unsigned size, unsigned lane, MemoryOrder order = {});
bool storeBytes(Warp &warp, StateSpace space, uint64_t address,
                const void *data, unsigned size, unsigned lane,
                MemoryOrder order = {});

/// Whether an instruction of the warp's current group is a load from global or
/// generic memory or an atomic, and the word that its first active lane
/// accesses: what a loop that waits reads again and again.
bool findPolledWord(Warp &warp, const Inst &inst, uint64_t &address,
                    unsigned &size);

/// A shared::cluster address from an operand in `space` (shared or generic);
/// reported and nothing when it is not one.
bool sharedAddressOf(Warp &warp, StateSpace space, uint64_t address,
                     unsigned lane, uint32_t &result);

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_MACHINE_ACCESS_H
