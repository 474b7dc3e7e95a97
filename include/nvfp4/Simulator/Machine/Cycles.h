//===- Cycles.h - costs of the model of cycles ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The costs of events when the clock counts cycles. This is a model:
// docs/Simulator.md gives the source of each number and the limits.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_MACHINE_CYCLES_H
#define NVFP4_SIMULATOR_MACHINE_CYCLES_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace nvfp4::sim {

/// The costs of an operation of the tensor pipe: cycles for which the pipe
/// takes no other, and cycles until its results are there.
struct PipeCost {
  uint64_t interval = 0;
  uint64_t tail = 0;
};

/// The numbers of the model. `--costs` changes them.
struct CycleCosts {
  /// Between two instructions of a warp, each taken to need the one before.
  uint64_t instruction = 4;
  /// From an arrival to the first instruction of who waits for it.
  uint64_t wake = 20;
  /// From the end of a CTA to the first instruction of the next in its place.
  uint64_t turnaround = 1200;
  /// The copy engine of an SM: bytes a cycle, 0 as 1, and cycles from there to
  /// memory and back.
  uint64_t copyBytes = 89;
  uint64_t copyLatency = 319;
  /// tcgen05.ld and .st; tcgen05.cp and .shift.
  uint64_t tensorMemory = 16;
  uint64_t tensorCopy = 8;
  /// From the end of a tcgen05.mma's interval to its results, by one CTA and
  /// by a pair.
  uint64_t mmaTail = 140;
  uint64_t mmaPairTail = 174;
  /// The link of a device: bytes a cycle each way, and cycles one way.
  uint64_t linkBytes = 256;
  uint64_t linkLatency = 1800;

  /// tcgen05.mma of M x N with 32 bytes of K, by one CTA or a pair: the larger
  /// of the time to multiply and that to read the operands. A that lies in
  /// tensor memory is not read, and its results are there earlier. With a
  /// sparse A, B has 64 bytes of K.
  PipeCost tcgen05Mma(unsigned m, unsigned n, unsigned ctas,
                      bool aInTmem = false, bool sparse = false) const;
  /// wgmma of 64 x N.
  PipeCost wgmma(unsigned n) const;

  /// Sets numbers from `name=value,...`, names as in list(); none when one is
  /// wrong. Returns what is wrong, or an empty string.
  std::string set(const std::string &list);
  /// Name and value of each number.
  std::vector<std::pair<const char *, uint64_t>> list() const;
};

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_MACHINE_CYCLES_H
