//===- Tcgen05MmaOperation.h - a tcgen05.mma in flight ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state that an issued multiplication needs when it completes: it reads
// operands from swizzled shared memory (or A from tensor memory) and scales
// from tensor memory, and adds to the accumulator, for one CTA or a pair.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_SIMULATOR_INSTRUCTIONS_TCGEN05MMAOPERATION_H
#define NVFP4_LIB_SIMULATOR_INSTRUCTIONS_TCGEN05MMAOPERATION_H

#include "Tcgen05.h"

#include "nvfp4/Simulator/TensorCore/Accumulate.h"
#include "nvfp4/Simulator/TensorCore/Descriptors.h"

#include <array>

namespace nvfp4::sim {

struct MmaAttributes : InstAttributes {
  MmaKind kind = MmaKind::F16;
  unsigned group = 1;
  /// Elements that share a scale, the zeros of a sparse A among them; 0 without
  /// scales.
  unsigned block = 0;
  bool aInTmem = false;
  bool sparse = false;
  int64_t dOffset = 0, aOffset = 0, scaleAOffset = 0, scaleBOffset = 0;
  int64_t metadataOffset = 0;
  unsigned disableRegisters = 0;
  int64_t scaleInput = 0;
};

struct MmaOperation {
  const MmaAttributes *attributes;
  InstructionDescriptor descriptor;
  SmemDescriptor a, b;
  TmemAddress d, aTmem, scaleA, scaleB, metadata;
  bool accumulates;
  /// Disabled lanes of D, four words for each CTA; empty when there are none.
  std::vector<uint32_t> disabled;
  std::vector<Cta *> ctas;
  AsyncOperation operation;

  /// Performs the operation. False when a fault has been reported.
  bool run();

private:
  /// Columns of one row of D that lie next to each other in a lane.
  struct Segment {
    unsigned lane = 0;
    unsigned first = 0;
    unsigned count = 0;
  };

  unsigned rowsPerCta() const {
    return descriptor.m / static_cast<unsigned>(ctas.size());
  }
  /// A pair with M = 128 and a dense A keeps the right half of N in the upper
  /// lanes.
  bool isSplit() const {
    return ctas.size() == 2 && rowsPerCta() == 64 && !descriptor.sparse;
  }
  /// 16 of the 32 lanes of each quarter are used.
  bool usesHalfOfLanes() const { return rowsPerCta() == 64 && !isSplit(); }
  /// Lane of D's row `row` of a CTA (and of its first half when split).
  unsigned laneOf(unsigned row) const;
  /// Elements of a row of A that are stored.
  unsigned codesOfA() const {
    return descriptor.sparse ? descriptor.k / 2 : descriptor.k;
  }

  bool readMatrix(Cta &cta, const SmemDescriptor &source, unsigned rows,
                  bool isA, unsigned firstRow, MmaMatrix &out);
  bool readTransposed(Cta &cta, const SmemDescriptor &source, unsigned rows,
                      bool isA, unsigned firstRow, MmaMatrix &out);
  /// `size` (at most 16) bytes of shared memory, or null after a fault.
  const uint8_t *fetch(Cta &cta, uint32_t address, unsigned size);
  bool readFromTmem(Cta &cta, MmaMatrix &out);
  /// The positions along K of A's elements.
  bool readMetadata(Cta &cta, MmaTile &tile);
  bool readScales(Cta &cta, TmemAddress place, unsigned id, MmaMatrix &out);
  bool multiply(Cta &cta, unsigned ctaIndex, const MmaTile &tile);
  bool multiplyIntegers(Cta &cta, unsigned ctaIndex, const MmaTile &tile);
  /// Whether the lane of D is to be left alone.
  bool isDisabled(unsigned ctaIndex, unsigned lane) const {
    return !disabled.empty() &&
           (disabled[4 * ctaIndex + lane / 32] >> (lane % 32) & 1);
  }
  /// D's columns of a row: one segment, or two when split.
  std::array<Segment, 2> segmentsOf(unsigned row) const;
  /// Checks D and tells the checker; false after a fault.
  bool beginResult(Cta &cta);
  void noteUnwritten() const;
  bool loadRow(Tmem &tmem, const Segment &segment, float *row) const;
  void storeRow(Tmem &tmem, const Segment &segment, const float *row) const;
};

} // namespace nvfp4::sim

#endif // NVFP4_LIB_SIMULATOR_INSTRUCTIONS_TCGEN05MMAOPERATION_H
