//===- Mma.h - what the forms of mma.sync share -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All compute 16x8 results from a 16xK and a Kx8 fragment; floats, integers and
// block-scaled floats have a file each.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_SIMULATOR_INSTRUCTIONS_MMA_H
#define NVFP4_LIB_SIMULATOR_INSTRUCTIONS_MMA_H

#include "Fragments.h"

#include "nvfp4/Simulator/Machine/Machine.h"

namespace nvfp4::sim {

struct MmaSyncAttributes : InstAttributes {
  unsigned k = 16;
  FragmentType a, b;
  /// Registers of D, A, B and C in the pool, in this order.
  unsigned count[4] = {};
};

/// Values of `count` registers, 32 lanes each.
inline std::vector<uint32_t> gatherRegisters(Warp &warp, const Ref *refs,
                                             unsigned count) {
  std::vector<uint32_t> values;
  for (unsigned i = 0; i < count; ++i)
    values.insert(values.end(), warp.narrow(refs[i]),
                  warp.narrow(refs[i]) + 32);
  return values;
}

/// References of the four operands and the tile of A and B.
struct MmaSyncOperands {
  const Ref *d;
  const Ref *c;
  MmaTile tile;

  MmaSyncOperands(Warp &warp, const Inst &inst, const MmaSyncAttributes &a)
      : d(&warp.kernel.pool[inst.pool]),
        c(d + a.count[0] + a.count[1] + a.count[2]) {
    const Ref *first = d + a.count[0];
    tile.k = a.k;
    readFragmentA(gatherRegisters(warp, first, a.count[1]), a.a, a.k, tile.a);
    readFragmentB(gatherRegisters(warp, first + a.count[1], a.count[2]), a.b,
                  a.k, tile.b);
  }
};

/// Decodes operands 0 to 3, with the given number of registers for D and C;
/// false after an error.
bool decodeMmaOperands(DecodeContext &context, MmaSyncAttributes &a,
                       unsigned registersD, unsigned registersC);

/// The rest of mma.sync with integer or block-scaled operands.
void decodeIntegerMma(DecodeContext &context, unsigned k);
void decodeScaledMma(DecodeContext &context, unsigned k);

} // namespace nvfp4::sim

#endif // NVFP4_LIB_SIMULATOR_INSTRUCTIONS_MMA_H
