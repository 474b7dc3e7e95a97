//===- MmaScaled.cpp - block-scaled mma.sync --------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// m16n8k64 of e2m1 and m16n8k32 of 8-bit floats (sm_120a). The scales of row i
// of A come from lane 4 (i % 8) + i / 8 + 2 t, those of column j of B from lane
// 4 j + t, where t is the thread id of the operand; the byte id names the first
// byte.
//
//===----------------------------------------------------------------------===//

#include "Mma.h"

#include "nvfp4/Simulator/TensorCore/Descriptors.h"

#include <algorithm>

namespace nvfp4::sim {
namespace {

struct ScaledAttributes : MmaSyncAttributes {
  unsigned block = 16;
  bool groupsOf16 = false;
  ScaleType scale = ScaleType::UE4M3;
};

// Pool after the four operands: scales of A, byte id, thread id, then of B.
enum ScaleSlot { ScaleA, ByteA, ThreadA, ScaleB, ByteB, ThreadB, ScaleSlots };

bool readScales(Warp &warp, const Ref *slots, const ScaledAttributes &a,
                bool isA, std::vector<BlockScale> &out) {
  unsigned blocks = a.k / a.block;
  uint32_t byte = warp.narrow(slots[isA ? ByteA : ByteB])[0];
  uint32_t thread = warp.narrow(slots[isA ? ThreadA : ThreadB])[0];
  if (byte % blocks || byte + blocks > 4 || thread >= (isA ? 2u : 4u)) {
    warp.fault(ReportKind::IllegalOperand,
               "byte id " + std::to_string(byte) + " and thread id " +
                   std::to_string(thread) + " are not legal with " +
                   std::to_string(blocks) + " scales in a row");
    return false;
  }
  const uint32_t *words = warp.narrow(slots[isA ? ScaleA : ScaleB]);
  for (unsigned row = 0; row < (isA ? 16u : 8u); ++row) {
    unsigned lane =
        isA ? 4 * (row % 8) + row / 8 + 2 * thread : 4 * row + thread;
    for (unsigned i = 0; i < blocks; ++i) {
      auto code = static_cast<uint8_t>(words[lane] >> (8 * (byte + i)));
      out.push_back(a.scale == ScaleType::UE8M0 ? decodeScaleUE8M0(code)
                                                : decodeScaleUE4M3(code));
    }
  }
  return true;
}

Step multiply(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &a = inst.attr<ScaledAttributes>();
  if (!warp.requireAllLanes(mask, "mma"))
    return Step::Stop;
  MmaSyncOperands operands(warp, inst, a);
  operands.tile.block = a.block;
  operands.tile.groupsOf16 = a.groupsOf16;
  const Ref *slots = operands.c + a.count[3];
  if (!readScales(warp, slots, a, true, operands.tile.a.scales) ||
      !readScales(warp, slots, a, false, operands.tile.b.scales))
    return Step::Stop;
  std::vector<float> values;
  readAccumulators(gatherRegisters(warp, operands.c, 4), false, 8, values);
  accumulate(operands.tile, warp.machine.options.accumulation, false, values);
  std::vector<uint32_t> out;
  writeAccumulators(values, false, 8, out);
  for (unsigned i = 0; i < 4; ++i)
    std::copy_n(&out[size_t{i} * 32], 32, warp.narrow(operands.d[i]));
  return Step::Next;
}

} // namespace

void decodeScaledMma(DecodeContext &context, unsigned k) {
  auto &a = context.makeAttributes<ScaledAttributes>();
  a.k = k;
  int kind =
      context.expectAny({"kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4"});
  int vector =
      context.takeAny({"scale_vec::1X", "scale_vec::2X", "scale_vec::4X"});
  context.expectType({Type::F32});
  Type typeA = context.takeType();
  Type typeB = context.takeType();
  context.expectType({Type::F32});
  Type scale = context.expectType({Type::UE8M0, Type::UE4M3});
  bool fp4 = kind > 0;
  // 1X is the default of mxf8f6f4, 2X of mxf4.
  bool legal = kind == 0   ? vector <= 0
               : kind == 1 ? vector == -1 || vector == 1
                           : vector > 0;
  a.block = vector == 2 ? 16 : 32;
  a.scale = scale == Type::UE8M0 ? ScaleType::UE8M0 : ScaleType::UE4M3;
  legal &= a.scale == ScaleType::UE8M0 || a.block == 16;
  legal &= k == (fp4 ? 64u : 32u);
  a.groupsOf16 = fp4;
  if (fp4) {
    legal &= typeA == Type::E2M1 && typeB == Type::E2M1;
    a.a = a.b = {formatE2M1, 4};
  } else {
    legal &= fragmentType(typeA, a.a) && fragmentType(typeB, a.b) &&
             a.a.bits == 8 && a.b.bits == 8;
  }
  if (!legal) {
    context.unsupported();
    return;
  }
  if (!context.expectOperands(8) || !decodeMmaOperands(context, a, 4, 4))
    return;
  for (size_t operand : {4, 6}) {
    std::vector<const Operand *> ids = context.elements(operand + 1);
    if (ids.size() != 2) {
      context.error(context.operand(operand + 1),
                    "expected {byte id, thread id}");
      return;
    }
    // The scales may be written as a vector of one.
    std::vector<const Operand *> scales = context.elements(operand);
    if (scales.size() != 1) {
      context.error(context.operand(operand),
                    "expected one register of scales, but got " +
                        std::to_string(scales.size()));
      return;
    }
    context.addToPool(context.source(*scales[0], Type::B32));
    for (const Operand *id : ids)
      context.addToPool(context.source(*id, Type::B16));
  }
  context.inst.flags |= FlagAligned;
  context.inst.handler = multiply;
}

} // namespace nvfp4::sim
