//===- Tcgen05Copy.cpp - tcgen05.cp -----------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies a matrix in shared memory to tensor memory, with replication to lane
// quarters (scale factors) and decompression of sub-byte elements. Performed in
// order with the multiplications of the same pipe.
//
//===----------------------------------------------------------------------===//

#include "Tcgen05.h"

#include "nvfp4/Simulator/Check/Checker.h"
#include "nvfp4/Simulator/TensorCore/Descriptors.h"

#include <cstring>

namespace nvfp4::sim {
namespace {

struct CopyAttributes : InstAttributes {
  unsigned group = 1;
  unsigned rows = 32;
  unsigned rowBytes = 16;
  /// For each quarter of 32 lanes the first source row it receives.
  int quarterRow[4] = {0, 0, 0, 0};
};

bool copyInto(const AsyncOperation &operation, const CopyAttributes &a,
              Cta &cta, const SmemDescriptor &source, unsigned column) {
  unsigned columns = a.rowBytes / 4;
  if (!checkColumns(operation, cta, column, columns, "copy to"))
    return false;
  Tmem &tmem = cta.tensorMemory();
  Checker *checker = operation.machine->checker.get();
  if (checker)
    checker->operationTmem(operation.id, cta, 15, column, columns,
                           Access::Write);
  std::vector<uint8_t> row;
  for (unsigned quarter = 0; quarter < 4; ++quarter)
    for (unsigned r = 0; r < 32; ++r) {
      unsigned sourceRow = static_cast<unsigned>(a.quarterRow[quarter]) + r;
      for (unsigned chunk = 0; chunk < a.rowBytes; chunk += 16) {
        uint32_t address = source.addressKMajor(sourceRow, chunk);
        if (!readShared(operation, cta, address, 16, row, TensorSwizzle::None))
          return false;
        for (unsigned word = 0; word < 4; ++word) {
          uint32_t value;
          std::memcpy(&value, &row[4 * word], 4);
          unsigned lane = 32 * quarter + r;
          unsigned at = column + chunk / 4 + word;
          tmem.put(lane, at, value);
        }
      }
    }
  return true;
}

Step copy(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto *a = &inst.attr<CopyAttributes>();
  Machine &machine = warp.machine;
  if (!useCtaGroup(warp, a->group))
    return Step::Stop;
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    uint32_t address =
        warp.narrow(inst.op[0])[lane] + static_cast<uint32_t>(inst.immediate);
    SmemDescriptor source;
    std::string problem =
        decodeSmemDescriptor(warp.wide(inst.op[1])[lane], source);
    if (!problem.empty())
      return warp.fault(ReportKind::IllegalDescriptor, problem,
                        static_cast<int>(lane));
    TmemAddress place = splitTmem(address);
    if (place.lane)
      return warp.fault(ReportKind::TmemLane, "expected lane 0, but got " +
                                                  std::to_string(place.lane));
    AsyncOperation operation =
        beginOperation(warp, lane, OperationProxy::TensorPipe);
    ++machine.result.statistics.tmemCopies;
    std::vector<Cta *> ctas = groupCtas(warp.cta, a->group);
    machine.scheduleOnPipe(
        *ctas[0],
        [=] {
          for (Cta *cta : ctas)
            if (!copyInto(operation, *a, *cta, source, place.column))
              return;
        },
        cycles::tensorCopy);
  }
  return Step::Next;
}

} // namespace

void decodeTmemCopy(DecodeContext &context) {
  auto &a = context.makeAttributes<CopyAttributes>();
  a.group = takeCtaGroup(context);
  int shape = context.expectAny({"32x128b", "64x128b", "128x128b", "128x256b"});
  int multicast = context.takeAny({"warpx4", "warpx2::02_13", "warpx2::01_23"});
  bool legal = false;
  switch (shape) {
  case 0:
    legal = multicast == 0;
    break;
  case 1: {
    legal = multicast == 1 || multicast == 2;
    bool alternate = multicast == 1;
    for (int q = 0; q < 4; ++q)
      a.quarterRow[q] = alternate ? 32 * (q % 2) : 32 * (q / 2);
    break;
  }
  default:
    legal = multicast < 0;
    a.rowBytes = shape == 3 ? 32 : 16;
    for (int q = 0; q < 4; ++q)
      a.quarterRow[q] = 32 * q;
    break;
  }
  if (!legal)
    context.error("this shape and multicast do not go together in '" +
                  context.parsed.fullName() + "'");
  if (!context.expectOperands(2))
    return;
  AddressOperand address = context.address(0);
  context.inst.op[0] = address.base;
  context.inst.immediate = address.offset;
  context.inst.op[1] = context.source(1, Type::B64);
  context.inst.handler = copy;
}

} // namespace nvfp4::sim
