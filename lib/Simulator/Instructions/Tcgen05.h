//===- Tcgen05.h - shared declarations of the tcgen05 instructions --------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One file for each group: allocation and synchronisation, loads and stores,
// copies, multiplication.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_SIMULATOR_INSTRUCTIONS_TCGEN05_H
#define NVFP4_LIB_SIMULATOR_INSTRUCTIONS_TCGEN05_H

#include "AsyncShared.h"
#include "Lanewise.h"

namespace nvfp4::sim {

void decodeTmemAccess(DecodeContext &context, bool isLoad);
void decodeTmemCopy(DecodeContext &context);
void decodeTmemShift(DecodeContext &context);
void decodeTmemMma(DecodeContext &context);
void decodeTmemWait(DecodeContext &context);

/// A tensor-memory address: lane in the upper, column in the lower half.
struct TmemAddress {
  unsigned lane = 0;
  unsigned column = 0;
};
inline TmemAddress splitTmem(uint32_t address) {
  // Bits 30-31 may carry a scale id, which the instruction descriptor repeats.
  return {address >> 16 & 0x7f, address & 0xffff};
}

/// Consumes `.cta_group::1` or `::2`.
inline uint8_t takeCtaGroup(DecodeContext &context) {
  return static_cast<uint8_t>(
      context.expectAny({"cta_group::1", "cta_group::2"}) + 1);
}

/// Notes the CTA group an instruction uses; all of a kernel must use the same.
bool useCtaGroup(Warp &warp, unsigned group);

/// The CTAs an operation of a group works on: the own one, or the pair with the
/// even rank first.
std::vector<Cta *> groupCtas(Cta &cta, unsigned group);

/// Reports columns that are not allocated; false then.
bool checkColumns(const AsyncOperation &operation, Cta &cta, unsigned column,
                  unsigned count, const char *what);

} // namespace nvfp4::sim

#endif // NVFP4_LIB_SIMULATOR_INSTRUCTIONS_TCGEN05_H
