//===- Tcgen05Mma.cpp - tcgen05.mma -----------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads operands from swizzled shared memory (or A from tensor memory), scales
// from tensor memory, and adds to the accumulator, for one CTA or a pair.
// Everything is read and written when the operation completes.
//
//===----------------------------------------------------------------------===//

#include "Tcgen05.h"

#include "nvfp4/Simulator/Check/Checker.h"
#include "nvfp4/Simulator/TensorCore/Accumulate.h"
#include "nvfp4/Simulator/TensorCore/Descriptors.h"

#include <cmath>
#include <cstring>

namespace nvfp4::sim {
namespace {

struct MmaAttributes : InstAttributes {
  MmaKind kind = MmaKind::F16;
  unsigned group = 1;
  /// Elements that share a scale; 0 without scales.
  unsigned block = 0;
  bool aInTmem = false;
  int64_t dOffset = 0, aOffset = 0, scaleAOffset = 0, scaleBOffset = 0;
  unsigned disableRegisters = 0;
  int64_t scaleInput = 0;
};

// Pool: scale A, scale B, then the disable-output-lane registers.
enum PoolSlot { ScaleASlot, ScaleBSlot, DisableSlot };

/// Everything an operation needs when it completes.
struct MmaOperation {
  const MmaAttributes *attributes;
  InstructionDescriptor descriptor;
  SmemDescriptor a, b;
  TmemAddress d, aTmem, scaleA, scaleB;
  bool accumulates;
  std::vector<uint32_t> disabled;
  std::vector<Cta *> ctas;
  AsyncOperation operation;

  bool run();
  unsigned rowsPerCta() const {
    return descriptor.m / static_cast<unsigned>(ctas.size());
  }

private:
  bool readMatrix(Cta &cta, const SmemDescriptor &source, unsigned rows,
                  bool isA, std::vector<Element> &out);
  bool readFromTmem(Cta &cta, std::vector<Element> &out);
  bool readScales(Cta &cta, TmemAddress place, unsigned id, unsigned rows,
                  std::vector<BlockScale> &out);
  std::pair<unsigned, unsigned> cellOf(unsigned row, unsigned column) const;
  bool multiply(Cta &cta, MmaTile &tile);
};

bool MmaOperation::readMatrix(Cta &cta, const SmemDescriptor &source,
                              unsigned rows, bool isA,
                              std::vector<Element> &out) {
  const FloatFormat &format = isA ? descriptor.a : descriptor.b;
  unsigned bits = isA ? descriptor.aBits : descriptor.bBits;
  bool padded = isA ? descriptor.aPadded : descriptor.bPadded;
  bool transposed = isA ? descriptor.transposeA : descriptor.transposeB;
  bool negate = isA ? descriptor.negateA : descriptor.negateB;
  unsigned k = descriptor.k;
  Checker *checker = operation.machine->checker.get();
  auto fetch = [&](uint32_t address, unsigned size, void *data) {
    if (address < sharedBaseOffset || address + size > cta.shared.size()) {
      operation.fault(ReportKind::OutOfBounds,
                      "a matrix descriptor reaches shared offset " +
                          std::to_string(address) + ", outside [" +
                          std::to_string(sharedBaseOffset) + ", " +
                          std::to_string(cta.shared.size()) + ")");
      return false;
    }
    if (!cta.sharedWritten.all(address, size)) {
      operation.note(ReportKind::UninitializedRead,
                     "shared memory at offset " + std::to_string(address) +
                         " is multiplied before it is written");
      cta.sharedWritten.set(address, size);
    }
    std::memcpy(data, &cta.shared[address], size);
    if (checker)
      checker->operationShared(operation.id, cta, address, size, Access::Read);
    return true;
  };
  out.resize(size_t{rows} * k);
  if (transposed) {
    unsigned bytes = bits / 8;
    for (unsigned r = 0; r < rows; ++r)
      for (unsigned i = 0; i < k; ++i) {
        uint32_t code = 0;
        if (!fetch(source.addressMnMajor(r, i, bytes), bytes, &code))
          return false;
        out[size_t{r} * k + i] = decodeElement(
            descriptor.aBits == 32 ? code >> 13 : code, format, negate);
      }
    return true;
  }
  // Codes of up to 8 bits are decoded once.
  std::vector<Element> table;
  if (bits <= 8)
    for (uint32_t code = 0; code < 1u << bits; ++code)
      table.push_back(decodeElement(code, format, negate));
  // 32 bytes along K in two 16-byte pieces, which swizzles keep together.
  for (unsigned r = 0; r < rows; ++r)
    for (unsigned piece = 0; piece < 2; ++piece) {
      uint8_t data[16];
      if (!fetch(source.addressKMajor(r, 16 * piece), 16, data))
        return false;
      unsigned count = k / 2;
      for (unsigned i = 0; i < count; ++i) {
        uint32_t code = 0;
        if (bits == 32) {
          std::memcpy(&code, &data[4 * i], 4);
          code >>= 13; // tf32 ignores the low mantissa bits
        } else if (bits == 16) {
          std::memcpy(&code, &data[2 * i], 2);
        } else if (bits == 8) {
          code = data[i];
        } else if (bits == 4) {
          // 16 padded elements take 8 bytes of 16; packed ones follow on.
          code = data[i / 2] >> (4 * (i % 2)) & 15;
        } else { // 16 fp6 elements in 12 bytes
          unsigned bit = 6 * i;
          uint32_t two =
              data[bit / 8] | (bit / 8 + 1 < 16 ? data[bit / 8 + 1] << 8 : 0);
          code = two >> (bit % 8) & 63;
        }
        out[size_t{r} * k + piece * count + i] =
            bits <= 8 ? table[code] : decodeElement(code, format, negate);
      }
    }
  (void)padded;
  return true;
}

bool MmaOperation::readFromTmem(Cta &cta, std::vector<Element> &out) {
  unsigned rows = rowsPerCta();
  unsigned k = descriptor.k;
  unsigned bits = descriptor.aBits < 8 ? 8 : descriptor.aBits;
  unsigned columns = k * bits / 32;
  if (!checkColumns(operation, cta, aTmem.column, columns, "operand A in"))
    return false;
  if (Checker *checker = operation.machine->checker.get())
    checker->operationTmem(operation.id, cta, 15, aTmem.column, columns,
                           Access::Read);
  out.resize(size_t{rows} * k);
  Tmem &tmem = cta.tensorMemory();
  for (unsigned r = 0; r < rows; ++r)
    for (unsigned i = 0; i < k; ++i) {
      unsigned bit = i * bits;
      uint32_t cell = tmem.cell(cellOf(r, 0).first, aTmem.column + bit / 32);
      uint32_t code = cell >> (bit % 32);
      if (bits < 32)
        code &= (1u << bits) - 1;
      else
        code >>= 13;
      out[size_t{r} * k + i] =
          decodeElement(code, descriptor.a, descriptor.negateA);
    }
  return true;
}

bool MmaOperation::readScales(Cta &cta, TmemAddress place, unsigned id,
                              unsigned rows, std::vector<BlockScale> &out) {
  unsigned blocks = descriptor.k / attributes->block;
  unsigned columns = (rows + 31) / 32;
  if (!checkColumns(operation, cta, place.column, columns, "scales in"))
    return false;
  if (Checker *checker = operation.machine->checker.get())
    checker->operationTmem(operation.id, cta, 15, place.column, columns,
                           Access::Read);
  Tmem &tmem = cta.tensorMemory();
  out.resize(size_t{rows} * blocks);
  bool written = true;
  for (unsigned r = 0; r < rows; ++r) {
    unsigned column = place.column + r / 32;
    uint32_t cell = tmem.cell(r % 32, column);
    for (unsigned quarter = 0; quarter < 4; ++quarter) {
      unsigned lane = 32 * quarter + r % 32;
      written &= tmem.written[lane * Tmem::columns + column];
      if (tmem.cell(lane, column) == cell)
        continue;
      operation.fault(ReportKind::IllegalOperand,
                      "expected the scales of row " + std::to_string(r) +
                          " in all four lane quarters of column " +
                          std::to_string(column) + ", but quarter " +
                          std::to_string(quarter) + " differs");
      return false;
    }
    for (unsigned j = 0; j < blocks; ++j) {
      auto code = static_cast<uint8_t>(cell >> (8 * (id + j)));
      out[size_t{r} * blocks + j] = descriptor.scale == ScaleType::UE8M0
                                        ? decodeScaleUE8M0(code)
                                        : decodeScaleUE4M3(code);
    }
  }
  if (!written)
    operation.note(ReportKind::UninitializedRead,
                   "scales in tensor memory from column " +
                       std::to_string(place.column) +
                       " are read before they are written");
  return true;
}

/// Where D's element of a CTA is: (lane, column relative to the address).
std::pair<unsigned, unsigned> MmaOperation::cellOf(unsigned row,
                                                   unsigned column) const {
  if (rowsPerCta() == 128)
    return {row, column};
  if (ctas.size() == 1) // M = 64: 16 rows in each quarter
    return {d.lane % 32 + row % 16 + 32 * (row / 16), column};
  // M = 128 on a pair: the right half of N is in the upper lanes.
  unsigned half = descriptor.n / 2;
  return {row + (column >= half ? 64 : 0), column % half};
}

bool MmaOperation::multiply(Cta &cta, MmaTile &tile) {
  unsigned rows = rowsPerCta();
  unsigned n = descriptor.n;
  unsigned columns = ctas.size() == 2 && rows == 64 ? n / 2 : n;
  if (!checkColumns(operation, cta, d.column, columns, "accumulator in"))
    return false;
  Checker *checker = operation.machine->checker.get();
  if (checker)
    checker->operationTmem(operation.id, cta, 15, d.column, columns,
                           Access::Write);
  Tmem &tmem = cta.tensorMemory();
  std::vector<float> values(size_t{rows} * n, 0.0f);
  bool written = true;
  if (accumulates)
    for (unsigned r = 0; r < rows; ++r)
      for (unsigned c = 0; c < n; ++c) {
        auto [lane, column] = cellOf(r, c);
        uint32_t cell = tmem.cell(lane, d.column + column);
        written &= tmem.written[lane * Tmem::columns + d.column + column];
        float value = descriptor.f16Result
                          ? halfToFloat(static_cast<uint16_t>(cell))
                          : std::bit_cast<float>(cell);
        values[size_t{r} * n + c] = static_cast<float>(
            std::ldexp(value, -static_cast<int>(attributes->scaleInput)));
      }
  if (!written)
    operation.note(ReportKind::UninitializedRead,
                   "the accumulator from column " + std::to_string(d.column) +
                       " is added to before it is written");
  accumulate(tile, operation.machine->options.accumulation,
             descriptor.f16Result, values);
  for (unsigned r = 0; r < rows; ++r)
    for (unsigned c = 0; c < n; ++c) {
      auto [lane, column] = cellOf(r, c);
      if (!disabled.empty() && disabled[lane / 32] >> (lane % 32) & 1)
        continue;
      float value = values[size_t{r} * n + c];
      tmem.cell(lane, d.column + column) = descriptor.f16Result
                                               ? floatToHalf(value)
                                               : std::bit_cast<uint32_t>(value);
      tmem.written[lane * Tmem::columns + d.column + column] = 1;
    }
  return true;
}

bool MmaOperation::run() {
  MmaTile tile;
  tile.rows = rowsPerCta();
  tile.columns = descriptor.n;
  tile.k = descriptor.k;
  tile.aMantissa = descriptor.a.mantissaBits;
  tile.bMantissa = descriptor.b.mantissaBits;
  tile.block = attributes->block;
  tile.groupsOf16 = attributes->kind == MmaKind::MxF4 ||
                    attributes->kind == MmaKind::MxF4NvF4;
  // Each CTA of a pair holds half of B.
  auto share = descriptor.n / static_cast<unsigned>(ctas.size());
  for (Cta *cta : ctas) {
    std::vector<Element> part;
    if (!readMatrix(*cta, b, share, false, part))
      return false;
    tile.b.insert(tile.b.end(), part.begin(), part.end());
  }
  for (Cta *cta : ctas) {
    if (attributes->aInTmem ? !readFromTmem(*cta, tile.a)
                            : !readMatrix(*cta, a, tile.rows, true, tile.a))
      return false;
    if (tile.block && (!readScales(*cta, scaleA, descriptor.scaleIdA, tile.rows,
                                   tile.aScale) ||
                       !readScales(*cta, scaleB, descriptor.scaleIdB,
                                   tile.columns, tile.bScale)))
      return false;
    if (!multiply(*cta, tile))
      return false;
  }
  return true;
}

Step mma(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &a = inst.attr<MmaAttributes>();
  const Ref *pool = &warp.kernel.pool[inst.pool];
  Machine &machine = warp.machine;
  if (!useCtaGroup(warp, a.group))
    return Step::Stop;
  if (std::popcount(mask) > 1)
    warp.note(ReportKind::Lint, "the same multiplication is issued by " +
                                    std::to_string(std::popcount(mask)) +
                                    " lanes of a warp");
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    auto op = std::make_shared<MmaOperation>();
    op->attributes = &a;
    auto illegal = [&](const std::string &problem) {
      return warp.fault(ReportKind::IllegalDescriptor, problem,
                        static_cast<int>(lane));
    };
    std::string problem = decodeInstructionDescriptor(
        warp.narrow(inst.op[3])[lane], a.kind, a.group, op->descriptor);
    if (problem.empty())
      problem = decodeSmemDescriptor(warp.wide(inst.op[2])[lane], op->b);
    if (problem.empty() && !a.aInTmem)
      problem = decodeSmemDescriptor(warp.wide(inst.op[1])[lane], op->a);
    if (!problem.empty())
      return illegal(problem);
    op->d = splitTmem(warp.narrow(inst.op[0])[lane] +
                      static_cast<uint32_t>(a.dOffset));
    if (a.aInTmem)
      op->aTmem = splitTmem(warp.narrow(inst.op[1])[lane] +
                            static_cast<uint32_t>(a.aOffset));
    if (a.block) {
      op->scaleA = splitTmem(warp.narrow(pool[ScaleASlot])[lane] +
                             static_cast<uint32_t>(a.scaleAOffset));
      op->scaleB = splitTmem(warp.narrow(pool[ScaleBSlot])[lane] +
                             static_cast<uint32_t>(a.scaleBOffset));
      unsigned blocks = op->descriptor.k / a.block;
      unsigned step = blocks == 1 ? 1 : blocks;
      for (unsigned id : {op->descriptor.scaleIdA, op->descriptor.scaleIdB})
        if (id % step || id + blocks > 4)
          return illegal("scale id " + std::to_string(id) +
                         " is not legal with " + std::to_string(blocks) +
                         " scales in a row");
      if (op->descriptor.scale == ScaleType::UE4M3 && a.block != 16)
        return illegal("ue4m3 scales need blocks of 16");
    }
    for (unsigned i = 0; i < a.disableRegisters; ++i)
      op->disabled.push_back(warp.narrow(pool[DisableSlot + i])[lane]);
    op->accumulates = warp.predicate(inst.op[4]) >> lane & 1;
    op->ctas = groupCtas(warp.cta, a.group);
    op->operation = beginOperation(warp, lane, true);
    ++machine.result.statistics.mmas;
    machine.scheduleOnPipe(*op->ctas[0], [op] { op->run(); });
  }
  return Step::Next;
}

unsigned takeBlock(DecodeContext &context, MmaKind kind) {
  int vector = context.takeAny({"scale_vec::1X", "scale_vec::2X",
                                "scale_vec::4X", "block16", "block32"});
  switch (kind) {
  case MmaKind::MxF8F6F4:
    if (vector != -1 && vector != 0 && vector != 4)
      context.error("expected '.scale_vec::1X' or '.block32'");
    return 32;
  case MmaKind::MxF4:
    if (vector != -1 && vector != 1 && vector != 4)
      context.error("expected '.scale_vec::2X' or '.block32'");
    return 32;
  default:
    if (vector == 2 || vector == 3)
      return 16;
    if (vector != 1 && vector != 4)
      context.error("expected '.scale_vec::2X', '.scale_vec::4X', '.block16' "
                    "or '.block32'");
    return 32;
  }
}

} // namespace

void decodeTmemMma(DecodeContext &context) {
  auto &a = context.makeAttributes<MmaAttributes>();
  a.group = takeCtaGroup(context);
  a.kind = static_cast<MmaKind>(
      context.expectAny({"kind::f16", "kind::tf32", "kind::f8f6f4",
                         "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4"}));
  bool scaled = context.take("block_scale");
  if (scaled != (a.kind >= MmaKind::MxF8F6F4)) {
    context.error("'.block_scale' goes with kinds mxf8f6f4, mxf4 and mxf4nvf4 "
                  "only");
    return;
  }
  if (scaled)
    a.block = takeBlock(context, a.kind);
  // Collectors are a cache; they do not change results.
  for (const char *use : {"fill", "use", "lastuse", "discard"})
    context.take(std::string("collector::a::") + use);
  if (!context.expectOperands(scaled ? 7 : 5, 7))
    return;
  Inst &inst = context.inst;
  AddressOperand d = context.address(0);
  inst.op[0] = d.base;
  a.dOffset = d.offset;
  a.aInTmem = context.operand(1).kind == Operand::Kind::Memory;
  if (a.aInTmem) {
    AddressOperand tmem = context.address(1);
    inst.op[1] = tmem.base;
    a.aOffset = tmem.offset;
  } else {
    inst.op[1] = context.source(1, Type::B64);
  }
  inst.op[2] = context.source(2, Type::B64);
  inst.op[3] = context.source(3, Type::B32);
  Ref none = context.constant32(0);
  Ref scaleA = none, scaleB = none;
  std::vector<Ref> disabled;
  size_t next = 4;
  if (scaled) {
    AddressOperand first = context.address(4);
    AddressOperand second = context.address(5);
    scaleA = first.base;
    scaleB = second.base;
    a.scaleAOffset = first.offset;
    a.scaleBOffset = second.offset;
    next = 6;
  } else if (context.operand(4).kind == Operand::Kind::Vector) {
    for (const Operand *reg : context.elements(4))
      disabled.push_back(context.source(*reg, Type::B32));
    if (disabled.size() != 4 * a.group)
      context.error("expected " + std::to_string(4 * a.group) +
                    " disable-output-lane registers, but got " +
                    std::to_string(disabled.size()));
    next = 5;
  }
  if (next >= context.operandCount()) {
    context.error("expected a predicate that enables the accumulator");
    return;
  }
  inst.op[4] = context.source(next, Type::Pred);
  if (next + 1 < context.operandCount()) {
    a.scaleInput = context.literal(next + 1);
    if (scaled || a.scaleInput < 0 || a.scaleInput > 15)
      context.error("expected a scale of 0 to 15 for kinds f16 and tf32");
  }
  inst.pool = context.poolSize();
  context.addToPool(scaleA);
  context.addToPool(scaleB);
  for (Ref ref : disabled)
    context.addToPool(ref);
  a.disableRegisters = static_cast<unsigned>(disabled.size());
  inst.handler = mma;
}

} // namespace nvfp4::sim
