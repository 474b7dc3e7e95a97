//===- Copy.h - shared declarations of the copy instructions ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The opcode words `cp` and `cp.reduce` cover four groups of instructions, one
// file each: plain cp.async, bulk copies, tensor copies, and groups.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_SIMULATOR_INSTRUCTIONS_COPY_H
#define NVFP4_LIB_SIMULATOR_INSTRUCTIONS_COPY_H

#include "nvfp4/Simulator/Async/TileCopy.h"
#include "nvfp4/Simulator/Decode/DecodeContext.h"
#include "nvfp4/Simulator/Machine/Machine.h"

namespace nvfp4::sim {

void decodePlainCopy(DecodeContext &context);
void decodeBulkCopy(DecodeContext &context);
void decodeTensorCopy(DecodeContext &context);

/// Consumes a reduction operator and a type. `type` becomes the element type.
CopyReduction takeReduction(DecodeContext &context);

/// The open bulk group of a thread, created when needed.
std::shared_ptr<CopyGroup> openGroup(ThreadCopies &copies);

/// Calls `effect(rank, barrier)` for the destinations of a multicast copy; the
/// mbarrier of a destination is at the same offset there, or with
/// `.cta_group::2` in the CTA of its pair that `barrier` names by parity.
template <typename F>
void forMulticast(uint32_t mask, uint32_t barrier, bool pair, F effect) {
  for (uint32_t rank = 0; rank < 16; ++rank) {
    if (!(mask >> rank & 1))
      continue;
    uint32_t owner =
        pair ? (rank & ~1u) | (barrier >> sharedRankShift & 1) : rank;
    effect(rank, owner << sharedRankShift | (barrier & sharedOffsetMask));
  }
}

} // namespace nvfp4::sim

#endif // NVFP4_LIB_SIMULATOR_INSTRUCTIONS_COPY_H
