//===- Tcgen05Copy.cpp - tcgen05.cp and tcgen05.shift -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies a matrix in shared memory to tensor memory, with replication to lane
// quarters (scale factors) and decompression of sub-byte elements, and shifts
// rows of tensor memory. Performed in order with the multiplications of the
// same pipe.
//
// The text shows 4x256b, the lanes it writes and the bits of decompressed
// elements as figures only. Rows go to the addressed lane of each quarter, as
// CuTe's traits of the instruction say; elements are placed as those that
// ldmatrix decompresses, which mma.sync describes in words.
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
  unsigned rowBytes = 16;
  /// Rows that each quarter receives: 32, or 1 at the addressed lane.
  unsigned quarterRows = 32;
  /// Bits of an element in shared memory, where 16 of them are padded to 16
  /// bytes; 8 without decompression.
  unsigned elementBits = 8;
  /// For each quarter of 32 lanes the first source row it receives.
  int quarterRow[4] = {0, 0, 0, 0};
};

/// Puts 16 elements of 4 or 6 bits into a byte each: 4-bit ones in the middle,
/// 6-bit ones at the bottom.
void decompress(std::vector<uint8_t> &bytes, unsigned bits) {
  std::vector<uint8_t> packed(16);
  packed.swap(bytes);
  packed.resize(17);
  for (unsigned i = 0; i < 16; ++i) {
    unsigned bit = bits * i;
    unsigned two = packed[bit / 8] | packed[bit / 8 + 1] << 8;
    unsigned code = two >> (bit % 8) & ((1u << bits) - 1);
    bytes[i] = static_cast<uint8_t>(bits == 4 ? code << 2 : code);
  }
}

bool copyInto(const AsyncOperation &operation, const CopyAttributes &a,
              Cta &cta, const SmemDescriptor &source, TmemAddress place) {
  unsigned column = place.column;
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
    for (unsigned r = 0; r < a.quarterRows; ++r) {
      unsigned sourceRow = static_cast<unsigned>(a.quarterRow[quarter]) + r;
      for (unsigned chunk = 0; chunk < a.rowBytes; chunk += 16) {
        uint32_t address = source.addressKMajor(sourceRow, chunk);
        // Padding need not be initialised.
        if (!readShared(operation, cta, address, 2 * a.elementBits, row,
                        TensorSwizzle::None))
          return false;
        if (a.elementBits != 8)
          decompress(row, a.elementBits);
        for (unsigned word = 0; word < 4; ++word) {
          uint32_t value;
          std::memcpy(&value, &row[4 * word], 4);
          unsigned lane = place.lane + 32 * quarter + r;
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
    if (place.lane >= 32 || (place.lane && a->quarterRows != 1))
      return warp.fault(ReportKind::TmemLane,
                        (a->quarterRows == 1
                             ? "expected a lane of 0 to 31, but got "
                             : "expected lane 0, but got ") +
                            std::to_string(place.lane));
    AsyncOperation operation =
        beginOperation(warp, lane, OperationProxy::TensorPipe);
    ++machine.result.statistics.tmemCopies;
    std::vector<Cta *> ctas = groupCtas(warp.cta, a->group);
    machine.scheduleOnPipe(
        *ctas[0],
        [=] {
          for (Cta *cta : ctas)
            if (!copyInto(operation, *a, *cta, source, place))
              return;
        },
        {machine.options.costs.tensorCopy, 0});
  }
  return Step::Next;
}

struct ShiftAttributes : InstAttributes {
  unsigned group = 1;
};

/// Rows of 32 bytes in a quarter move to the lane before; the last stays.
bool shiftRows(const AsyncOperation &operation, Cta &cta, TmemAddress place) {
  constexpr unsigned columns = 8;
  if (!checkColumns(operation, cta, place.column, columns, "shift of"))
    return false;
  Tmem &tmem = cta.tensorMemory();
  if (Checker *checker = operation.machine->checker.get())
    checker->operationTmem(operation.id, cta, 1u << (place.lane / 32),
                           place.column, columns, Access::Write);
  bool written = true;
  for (unsigned lane = place.lane; lane < place.lane + 31; ++lane) {
    written &= tmem.areWritten(lane + 1, place.column, columns);
    for (unsigned c = 0; c < columns; ++c)
      tmem.put(lane, place.column + c, tmem.cell(lane + 1, place.column + c));
  }
  if (!written)
    operation.note(ReportKind::UninitializedRead,
                   "tensor memory from column " + std::to_string(place.column) +
                       " is shifted before it is written");
  return true;
}

Step shift(Warp &warp, const Inst &inst, LaneMask mask) {
  unsigned group = inst.attr<ShiftAttributes>().group;
  Machine &machine = warp.machine;
  if (!useCtaGroup(warp, group))
    return Step::Stop;
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    TmemAddress place = splitTmem(warp.narrow(inst.op[0])[lane] +
                                  static_cast<uint32_t>(inst.immediate));
    if (place.lane % 32)
      return warp.fault(ReportKind::TmemLane,
                        "expected a lane that is a multiple of 32, but got " +
                            std::to_string(place.lane));
    AsyncOperation operation =
        beginOperation(warp, lane, OperationProxy::TensorPipe);
    std::vector<Cta *> ctas = groupCtas(warp.cta, group);
    machine.scheduleOnPipe(*ctas[0],
                           [=] {
                             for (Cta *cta : ctas)
                               if (!shiftRows(operation, *cta, place))
                                 return;
                           },
                           {machine.options.costs.tensorCopy, 0});
  }
  return Step::Next;
}

} // namespace

void decodeTmemShift(DecodeContext &context) {
  context.makeAttributes<ShiftAttributes>().group = takeCtaGroup(context);
  context.expectAny({"down"});
  if (!context.expectOperands(1))
    return;
  AddressOperand address = context.address(0);
  context.inst.op[0] = address.base;
  context.inst.immediate = address.offset;
  context.inst.handler = shift;
}

void decodeTmemCopy(DecodeContext &context) {
  auto &a = context.makeAttributes<CopyAttributes>();
  a.group = takeCtaGroup(context);
  int shape = context.expectAny(
      {"32x128b", "64x128b", "128x128b", "128x256b", "4x256b"});
  int multicast = context.takeAny({"warpx4", "warpx2::02_13", "warpx2::01_23"});
  if (context.take("b8x16"))
    a.elementBits = context.expectAny({"b4x16_p64", "b6x16_p32"}) == 0 ? 4 : 6;
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
    a.rowBytes = shape == 2 ? 16 : 32;
    a.quarterRows = shape == 4 ? 1 : 32;
    for (int q = 0; q < 4; ++q)
      a.quarterRow[q] = static_cast<int>(a.quarterRows) * q;
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
