//===- MatrixMove.cpp - ldmatrix, stmatrix, movmatrix -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 8x8 matrices of 16-bit elements (and their 8-bit relatives) between shared
// memory rows, whose addresses the lanes supply, and the mma fragment layout:
// lane 4r + c holds elements 2c and 2c+1 of row r.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "Lanewise.h"

#include "nvfp4/Simulator/Machine/Access.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace nvfp4::sim {
namespace {

struct MatrixAttributes : InstAttributes {
  unsigned count = 1;
  bool transpose = false;
  StateSpace space = StateSpace::Shared;
  bool wideAddress = false;
  /// m16n8 (stmatrix), m8n16 or m16n16 (ldmatrix) of 8-bit elements.
  bool bytes = false;
  /// m16n16.
  bool square = false;
  /// Bits of an element in shared memory that becomes a byte.
  unsigned packedBits = 8;
};

using Matrix = uint16_t[8][8];

uint64_t rowAddress(Warp &warp, const Inst &inst, unsigned lane) {
  const auto &a = inst.attr<MatrixAttributes>();
  return warp.addressOf(inst.op[0], a.wideAddress, inst.immediate, lane);
}

/// The first `bytes` of the 16 of a row of ldmatrix.
bool readRow(Warp &warp, const Inst &inst, unsigned lane, void *row,
             unsigned bytes) {
  const auto &a = inst.attr<MatrixAttributes>();
  Place place;
  return resolve(warp, a.space, rowAddress(warp, inst, lane), 16, 16, lane,
                 place) &&
         readPlace(warp, place, row, bytes, lane);
}

Step loadMatrix(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &a = inst.attr<MatrixAttributes>();
  if (!warp.requireAllLanes(mask, "ldmatrix"))
    return Step::Stop;
  const Ref *regs = &warp.kernel.pool[inst.pool];
  Matrix matrices[4];
  for (unsigned m = 0; m < a.count; ++m)
    for (unsigned row = 0; row < 8; ++row) {
      unsigned lane = m * 8 + row;
      if (!readRow(warp, inst, lane, matrices[m][row], 16))
        return Step::Stop;
    }
  for (unsigned m = 0; m < a.count; ++m) {
    uint32_t *out = warp.narrow(regs[m]);
    for (unsigned lane = 0; lane < 32; ++lane) {
      unsigned r = lane / 4, c = 2 * (lane % 4);
      const Matrix &x = matrices[m];
      uint32_t low = a.transpose ? x[c][r] : x[r][c];
      uint32_t high = a.transpose ? x[c + 1][r] : x[r][c + 1];
      out[lane] = high << 16 | low;
    }
  }
  return Step::Next;
}

/// 16 bytes of a row. Elements of 4 or 6 bits lie close together in front of
/// padding, and become the low bits of bytes.
bool unpackRow(Warp &warp, const Inst &inst, unsigned lane,
               uint8_t (&row)[16]) {
  const auto &a = inst.attr<MatrixAttributes>();
  uint8_t packed[17] = {};
  if (!readRow(warp, inst, lane, packed, 2 * a.packedBits))
    return false;
  for (unsigned i = 0; i < 16; ++i) {
    unsigned bit = i * a.packedBits;
    unsigned two = packed[bit / 8] | packed[bit / 8 + 1] << 8;
    row[i] =
        static_cast<uint8_t>(two >> (bit % 8) & ((1u << a.packedBits) - 1));
  }
  return true;
}

/// m8n16: lane 4r + c gets bytes 4c to 4c + 3 of row r. m16n16: rows in memory
/// are columns; lane 4r + c gets columns 4c and 4c + 1 of rows r and r + 8 in
/// the first register, and the next two columns in the second.
Step loadByteMatrix(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &a = inst.attr<MatrixAttributes>();
  if (!warp.requireAllLanes(mask, "ldmatrix"))
    return Step::Stop;
  const Ref *regs = &warp.kernel.pool[inst.pool];
  unsigned rows = a.square ? 16 : 8, halves = a.square ? 2 : 1;
  uint8_t bytes[32][16];
  for (unsigned lane = 0; lane < a.count * rows; ++lane)
    if (!unpackRow(warp, inst, lane, bytes[lane]))
      return Step::Stop;
  for (unsigned m = 0; m < a.count; ++m)
    for (unsigned half = 0; half < halves; ++half) {
      uint32_t *out = warp.narrow(regs[m * halves + half]);
      for (unsigned lane = 0; lane < 32; ++lane) {
        unsigned r = lane / 4, c = 4 * (lane % 4);
        uint32_t word = 0;
        for (unsigned i = 0; i < 4; ++i) {
          uint32_t byte =
              a.square ? bytes[m * 16 + c + 2 * half + i % 2][r + i / 2 * 8]
                       : bytes[m * 8 + r][c + i];
          word |= byte << (8 * i);
        }
        out[lane] = word;
      }
    }
  return Step::Next;
}

Step storeMatrix(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &a = inst.attr<MatrixAttributes>();
  if (!warp.requireAllLanes(mask, "stmatrix"))
    return Step::Stop;
  const Ref *regs = &warp.kernel.pool[inst.pool];
  for (unsigned m = 0; m < a.count; ++m) {
    const uint32_t *in = warp.narrow(regs[m]);
    Matrix matrix;
    for (unsigned lane = 0; lane < 32; ++lane) {
      unsigned r = lane / 4, c = 2 * (lane % 4);
      auto low = static_cast<uint16_t>(in[lane]);
      auto high = static_cast<uint16_t>(in[lane] >> 16);
      if (a.transpose) {
        matrix[c][r] = low;
        matrix[c + 1][r] = high;
      } else {
        matrix[r][c] = low;
        matrix[r][c + 1] = high;
      }
    }
    for (unsigned row = 0; row < 8; ++row) {
      unsigned lane = m * 8 + row;
      Place place;
      if (!resolve(warp, a.space, rowAddress(warp, inst, lane), 16, 16, lane,
                   place))
        return Step::Stop;
      writePlace(warp, place, matrix[row], 16, lane);
    }
  }
  return Step::Next;
}

/// stmatrix.m16n8.trans.b8: a 16x8 matrix of bytes, stored as 16 rows... of the
/// transposed matrix: 8 columns of 16 bytes, one row address each.
Step storeByteMatrix(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &a = inst.attr<MatrixAttributes>();
  if (!warp.requireAllLanes(mask, "stmatrix"))
    return Step::Stop;
  const Ref *regs = &warp.kernel.pool[inst.pool];
  for (unsigned m = 0; m < a.count; ++m) {
    const uint32_t *in = warp.narrow(regs[m]);
    // Lane 4r + c holds columns 2c, 2c+1 of rows r and r + 8.
    uint8_t columns[8][16];
    for (unsigned lane = 0; lane < 32; ++lane) {
      unsigned r = lane / 4, c = 2 * (lane % 4);
      columns[c][r] = static_cast<uint8_t>(in[lane]);
      columns[c + 1][r] = static_cast<uint8_t>(in[lane] >> 8);
      columns[c][r + 8] = static_cast<uint8_t>(in[lane] >> 16);
      columns[c + 1][r + 8] = static_cast<uint8_t>(in[lane] >> 24);
    }
    for (unsigned column = 0; column < 8; ++column) {
      unsigned lane = m * 8 + column;
      Place place;
      if (!resolve(warp, a.space, rowAddress(warp, inst, lane), 16, 16, lane,
                   place))
        return Step::Stop;
      writePlace(warp, place, columns[column], 16, lane);
    }
  }
  return Step::Next;
}

void decodeMatrix(DecodeContext &context) {
  bool isLoad = context.parsed.opcode == "ldmatrix";
  auto &a = context.makeAttributes<MatrixAttributes>();
  context.take("sync");
  context.take("aligned");
  enum Shape { M8N8, M16N8, M8N16, M16N16 };
  int shape = context.expectAny({"m8n8", "m16n8", "m8n16", "m16n16"});
  a.count = 1u << context.expectAny({"x1", "x2", "x4"});
  a.transpose = context.take("trans");
  context.takeAny({"shared", "shared::cta"});
  bool packed = isLoad && context.take("b8x16");
  if (packed)
    a.packedBits = context.expectAny({"b4x16_p64", "b6x16_p32"}) == 0 ? 4 : 6;
  Type type = packed ? Type::B8 : context.expectType({Type::B16, Type::B8});
  a.bytes = shape != M8N8;
  a.square = shape == M16N16;
  bool legal = a.bytes == (type == Type::B8);
  if (shape == M16N8)
    legal &= !isLoad && a.transpose;
  else if (shape == M8N16)
    legal &= packed && !a.transpose;
  else if (shape == M16N16)
    legal &= isLoad && a.transpose && a.count <= 2;
  if (!legal) {
    context.unsupported();
    return;
  }
  const std::string &target = context.tables.module.target;
  if (a.bytes && std::atoi(target.c_str() + 3) < 100) {
    context.error("expected target sm_100a or a later one for '" +
                  context.parsed.fullName() + "', but got " + target);
    return;
  }
  if (!context.expectOperands(2))
    return;
  AddressOperand address = context.address(isLoad ? 1 : 0);
  Inst &inst = context.inst;
  inst.op[0] = address.base;
  inst.immediate = address.offset;
  a.wideAddress = address.wide;
  std::vector<const Operand *> regs = context.elements(isLoad ? 0 : 1);
  unsigned count = a.square ? 2 * a.count : a.count;
  if (regs.size() != count) {
    context.error("expected " + std::to_string(count) + " registers, but got " +
                  std::to_string(regs.size()));
    return;
  }
  inst.pool = context.poolSize();
  for (const Operand *reg : regs)
    context.addToPool(isLoad ? context.dest(*reg, Type::B32)
                             : context.source(*reg, Type::B32));
  inst.flags |= FlagAligned;
  if (isLoad)
    inst.handler = a.bytes ? loadByteMatrix : loadMatrix;
  else
    inst.handler = a.bytes ? storeByteMatrix : storeMatrix;
}

Step moveMatrix(Warp &warp, const Inst &inst, LaneMask mask) {
  if (!warp.requireAllLanes(mask, "movmatrix"))
    return Step::Stop;
  uint32_t in[32];
  std::copy_n(warp.narrow(inst.op[1]), 32, in);
  uint32_t *out = warp.narrow(inst.op[0]);
  auto element = [&](unsigned r, unsigned c) -> uint32_t {
    return in[r * 4 + c / 2] >> (16 * (c % 2)) & 0xffff;
  };
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned r = lane / 4, c = 2 * (lane % 4);
    out[lane] = element(c + 1, r) << 16 | element(c, r);
  }
  return Step::Next;
}

void decodeMovmatrix(DecodeContext &context) {
  context.take("sync");
  context.take("aligned");
  context.expectAny({"m8n8"});
  context.expectAny({"trans"});
  context.expectType({Type::B16});
  decodeOperands(context, Type::B32, 1);
  context.inst.flags |= FlagAligned;
  context.inst.handler = moveMatrix;
}

} // namespace

void addMatrixMoveInstructions(InstructionTable &table) {
  table.add("ldmatrix", decodeMatrix);
  table.add("stmatrix", decodeMatrix);
  table.add("movmatrix", decodeMovmatrix);
}

} // namespace nvfp4::sim
