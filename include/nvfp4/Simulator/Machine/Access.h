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
};

/// Resolves `size` bytes at `address` for `lane` of `warp`. Out of bounds and
/// misaligned accesses are reported and give false.
bool resolve(Warp &warp, StateSpace space, uint64_t address, unsigned size,
             unsigned alignment, unsigned lane, Place &place);

/// Reads after resolving; bytes never written are reported once.
bool readPlace(Warp &warp, const Place &place, void *data, unsigned size,
               unsigned lane, Ordering ordering = Ordering::Weak);
void writePlace(Warp &warp, const Place &place, const void *data, unsigned size,
                unsigned lane, Ordering ordering = Ordering::Weak,
                bool mapRelease = false);

/// resolve and readPlace or writePlace with natural alignment of `size`.
bool loadBytes(Warp &warp, StateSpace space, uint64_t address, void *data,
               unsigned size, unsigned lane,
               Ordering ordering = Ordering::Weak);
bool storeBytes(Warp &warp, StateSpace space, uint64_t address,
                const void *data, unsigned size, unsigned lane,
                Ordering ordering = Ordering::Weak);

/// A shared::cluster address from an operand in `space` (shared or generic);
/// reported and nothing when it is not one.
bool sharedAddressOf(Warp &warp, StateSpace space, uint64_t address,
                     unsigned lane, uint32_t &result);

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_MACHINE_ACCESS_H
