//===- Tcgen05MmaOperation.cpp - a tcgen05.mma in flight --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything is read and written when the operation completes. Operands are
// gathered as codes once for an instruction; rows of D are computed in place.
//
//===----------------------------------------------------------------------===//

#include "Tcgen05MmaOperation.h"

#include "nvfp4/Simulator/Check/Checker.h"
#include "nvfp4/Simulator/TensorCore/IntegerProduct.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace nvfp4::sim {
namespace {

constexpr unsigned maximumColumns = 256;

/// The codes of 16 bytes of a K-major row.
void unpackCodes(const uint8_t *data, unsigned bits, unsigned count,
                 uint8_t *out) {
  switch (bits) {
  case 32: // tf32 ignores the low mantissa bits
    for (unsigned i = 0; i < 4; ++i) {
      uint32_t code;
      std::memcpy(&code, &data[4 * i], 4);
      code >>= 13;
      std::memcpy(&out[4 * i], &code, 4);
    }
    return;
  case 16:
  case 8:
    std::memcpy(out, data, 16);
    return;
  case 4:
    // 16 padded elements take 8 bytes of 16; packed ones follow on.
    for (unsigned i = 0; i < count / 2; ++i) {
      out[2 * i] = data[i] & 15;
      out[2 * i + 1] = data[i] >> 4;
    }
    return;
  default: // 16 fp6 elements in 12 bytes
    for (unsigned i = 0; i < count; ++i) {
      unsigned bit = 6 * i;
      uint32_t two =
          data[bit / 8] | (bit / 8 + 1 < 16 ? data[bit / 8 + 1] << 8 : 0);
      out[i] = two >> (bit % 8) & 63;
    }
  }
}

} // namespace

const uint8_t *MmaOperation::fetch(Cta &cta, uint32_t address, unsigned size) {
  if (address < sharedBaseOffset || address + size > cta.shared.size()) {
    operation.fault(ReportKind::OutOfBounds,
                    "a matrix descriptor reaches shared offset " +
                        std::to_string(address) + ", outside [" +
                        std::to_string(sharedBaseOffset) + ", " +
                        std::to_string(cta.shared.size()) + ")");
    return nullptr;
  }
  if (!cta.sharedWritten.all(address, size)) {
    operation.note(ReportKind::UninitializedRead,
                   "shared memory at offset " + std::to_string(address) +
                       " is multiplied before it is written");
    cta.sharedWritten.set(address, size);
  }
  if (Checker *checker = operation.machine->checker.get())
    checker->operationShared(operation.id, cta, address, size, Access::Read);
  return &cta.shared[address];
}

bool MmaOperation::readMatrix(Cta &cta, const SmemDescriptor &source,
                              unsigned rows, bool isA, unsigned firstRow,
                              MmaMatrix &out) {
  unsigned bits = isA ? descriptor.aBits : descriptor.bBits;
  if (isA ? descriptor.transposeA : descriptor.transposeB)
    return readTransposed(cta, source, rows, isA, firstRow, out);
  // 32 bytes along K, 64 of B where A is sparse, in pieces of 16 bytes, which
  // swizzles keep together.
  unsigned elements = isA ? codesOfA() : descriptor.k;
  unsigned pieces = 2 * elements / codesOfA();
  unsigned count = elements / pieces;
  unsigned pitch = count * codeBytes(out.format);
  uint8_t *codes = &out.codes[size_t{pieces} * firstRow * pitch];
  for (unsigned r = 0; r < rows; ++r)
    for (unsigned piece = 0; piece < pieces; ++piece) {
      const uint8_t *data = fetch(cta, source.addressKMajor(r, 16 * piece), 16);
      if (!data)
        return false;
      unpackCodes(data, bits, count, codes);
      codes += pitch;
    }
  return true;
}

bool MmaOperation::readTransposed(Cta &cta, const SmemDescriptor &source,
                                  unsigned rows, bool isA, unsigned firstRow,
                                  MmaMatrix &out) {
  unsigned bits = isA ? descriptor.aBits : descriptor.bBits;
  unsigned bytes = bits / 8;
  unsigned k = isA ? codesOfA() : descriptor.k;
  for (unsigned r = 0; r < rows; ++r)
    for (unsigned i = 0; i < k; ++i) {
      const uint8_t *data =
          fetch(cta, source.addressMnMajor(r, i, bytes), bytes);
      if (!data)
        return false;
      uint32_t code = 0;
      std::memcpy(&code, data, bytes);
      out.setCode(size_t{firstRow + r} * k + i, bits == 32 ? code >> 13 : code);
    }
  return true;
}

bool MmaOperation::readFromTmem(Cta &cta, MmaMatrix &out) {
  unsigned k = codesOfA();
  // The fp4 kinds pack two elements to a byte; the others keep fp4 in the
  // middle of a byte and fp6 at its bottom.
  unsigned bits = descriptor.aPadded ? 8 : descriptor.aBits;
  unsigned below = descriptor.aPadded && descriptor.aBits == 4 ? 2 : 0;
  unsigned columns = k * bits / 32;
  if (!checkColumns(operation, cta, aTmem.column, columns, "operand A in"))
    return false;
  if (Checker *checker = operation.machine->checker.get())
    checker->operationTmem(operation.id, cta, 15, aTmem.column, columns,
                           Access::Read);
  Tmem &tmem = cta.tensorMemory();
  for (unsigned r = 0; r < out.rows; ++r)
    if (!tmem.areWritten(laneOf(r), aTmem.column, columns)) {
      operation.note(ReportKind::UninitializedRead,
                     "operand A in tensor memory from column " +
                         std::to_string(aTmem.column) +
                         " is read before it is written");
      break;
    }
  for (unsigned r = 0; r < out.rows; ++r)
    for (unsigned i = 0; i < k; ++i) {
      unsigned bit = i * bits;
      uint32_t cell = tmem.cell(laneOf(r), aTmem.column + bit / 32);
      uint32_t code = cell >> (bit % 32 + below);
      if (bits < 32)
        code &= (1u << descriptor.aBits) - 1;
      else
        code >>= 13;
      out.setCode(size_t{r} * k + i, code);
    }
  return true;
}

bool MmaOperation::readScales(Cta &cta, TmemAddress place, unsigned id,
                              MmaMatrix &out) {
  unsigned blocks = descriptor.k / attributes->block;
  unsigned rows = out.rows;
  unsigned columns = (rows + 31) / 32;
  if (!checkColumns(operation, cta, place.column, columns, "scales in"))
    return false;
  if (Checker *checker = operation.machine->checker.get())
    checker->operationTmem(operation.id, cta, 15, place.column, columns,
                           Access::Read);
  Tmem &tmem = cta.tensorMemory();
  out.scales.resize(size_t{rows} * blocks);
  bool written = true;
  for (unsigned r = 0; r < rows; ++r) {
    unsigned column = place.column + r / 32;
    uint32_t cell = tmem.cell(r % 32, column);
    for (unsigned quarter = 0; quarter < 4; ++quarter) {
      unsigned lane = 32 * quarter + r % 32;
      written &= tmem.isWritten(lane, column);
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
      out.scales[size_t{r} * blocks + j] = descriptor.scale == ScaleType::UE8M0
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

unsigned MmaOperation::laneOf(unsigned row) const {
  if (usesHalfOfLanes()) // 16 rows in each quarter
    return d.lane % 32 + row % 16 + 32 * (row / 16);
  return row;
}

bool MmaOperation::loadRow(Tmem &tmem, const Segment &segment,
                           float *row) const {
  unsigned column = d.column + segment.first;
  const uint32_t *cells = &tmem.cell(segment.lane, column);
  if (descriptor.f16Result)
    for (unsigned i = 0; i < segment.count; ++i)
      row[i] = halfToFloat(static_cast<uint16_t>(cells[i]));
  else
    std::memcpy(row, cells, size_t{segment.count} * 4);
  if (attributes->scaleInput)
    for (unsigned i = 0; i < segment.count; ++i)
      row[i] = static_cast<float>(
          std::ldexp(row[i], -static_cast<int>(attributes->scaleInput)));
  return tmem.areWritten(segment.lane, column, segment.count);
}

void MmaOperation::storeRow(Tmem &tmem, const Segment &segment,
                            const float *row) const {
  unsigned column = d.column + segment.first;
  uint32_t *cells = &tmem.cell(segment.lane, column);
  if (descriptor.f16Result)
    for (unsigned i = 0; i < segment.count; ++i)
      cells[i] = floatToHalf(row[i]);
  else
    std::memcpy(cells, row, size_t{segment.count} * 4);
  tmem.markWritten(segment.lane, column, segment.count);
}

std::array<MmaOperation::Segment, 2>
MmaOperation::segmentsOf(unsigned row) const {
  unsigned columns = isSplit() ? descriptor.n / 2 : descriptor.n;
  unsigned lane = laneOf(row);
  return {{{lane, 0, columns}, {lane + 64, 0, descriptor.n - columns}}};
}

bool MmaOperation::beginResult(Cta &cta) {
  unsigned columns = isSplit() ? descriptor.n / 2 : descriptor.n;
  if (!checkColumns(operation, cta, d.column, columns, "accumulator in"))
    return false;
  if (Checker *checker = operation.machine->checker.get())
    checker->operationTmem(operation.id, cta, 15, d.column, columns,
                           Access::Write);
  return true;
}

void MmaOperation::noteUnwritten() const {
  operation.note(ReportKind::UninitializedRead,
                 "the accumulator from column " + std::to_string(d.column) +
                     " is added to before it is written");
}

bool MmaOperation::multiply(Cta &cta, unsigned ctaIndex, const MmaTile &tile) {
  if (!beginResult(cta))
    return false;
  Tmem &tmem = cta.tensorMemory();
  TileProduct product(tile, operation.machine->options.accumulation,
                      descriptor.f16Result);
  bool written = true;
  for (unsigned r = 0; r < rowsPerCta(); ++r) {
    std::array<Segment, 2> segments = segmentsOf(r);
    float row[maximumColumns] = {};
    if (accumulates) {
      float *part = row;
      for (const Segment &segment : segments) {
        if (segment.count)
          written &= loadRow(tmem, segment, part);
        part += segment.count;
      }
    }
    product.addRow(r, row);
    const float *part = row;
    for (const Segment &segment : segments) {
      if (segment.count && !isDisabled(ctaIndex, segment.lane))
        storeRow(tmem, segment, part);
      part += segment.count;
    }
  }
  if (!written)
    noteUnwritten();
  return true;
}

bool MmaOperation::multiplyIntegers(Cta &cta, unsigned ctaIndex,
                                    const MmaTile &tile) {
  if (!beginResult(cta))
    return false;
  Tmem &tmem = cta.tensorMemory();
  IntegerFormat formatA{8, descriptor.signedA};
  IntegerFormat formatB{8, descriptor.signedB};
  bool written = true;
  for (unsigned r = 0; r < rowsPerCta(); ++r) {
    std::array<Segment, 2> segments = segmentsOf(r);
    int32_t row[maximumColumns] = {};
    int32_t *part = row;
    for (const Segment &segment : segments) {
      if (accumulates && segment.count) {
        std::memcpy(part, &tmem.cell(segment.lane, d.column),
                    size_t{segment.count} * 4);
        written &= tmem.areWritten(segment.lane, d.column, segment.count);
      }
      part += segment.count;
    }
    addIntegerRow(tile, formatA, formatB, descriptor.saturate, r, row);
    part = row;
    for (const Segment &segment : segments) {
      if (segment.count && !isDisabled(ctaIndex, segment.lane)) {
        std::memcpy(&tmem.cell(segment.lane, d.column), part,
                    size_t{segment.count} * 4);
        tmem.markWritten(segment.lane, d.column, segment.count);
      }
      part += segment.count;
    }
  }
  if (!written)
    noteUnwritten();
  return true;
}

bool MmaOperation::run() {
  for (const Cta *cta : ctas)
    if (cta->exited()) {
      operation.fault(ReportKind::ExitedCta, "a multiplication uses CTA rank " +
                                                 std::to_string(cta->rank) +
                                                 ", which has exited");
      return false;
    }
  MmaTile tile;
  tile.k = descriptor.k;
  tile.a.format = descriptor.a;
  tile.b.format = descriptor.b;
  tile.a.negate = descriptor.negateA;
  tile.b.negate = descriptor.negateB;
  tile.block = attributes->block;
  tile.groupsOf16 = attributes->kind == MmaKind::MxF4 ||
                    attributes->kind == MmaKind::MxF4NvF4;
  tile.a.resize(rowsPerCta(), codesOfA());
  tile.b.resize(descriptor.n, tile.k);
  // Each CTA of a pair holds half of B.
  auto share = descriptor.n / static_cast<unsigned>(ctas.size());
  for (unsigned i = 0; i < ctas.size(); ++i)
    if (!readMatrix(*ctas[i], b, share, false, i * share, tile.b))
      return false;
  for (unsigned i = 0; i < ctas.size(); ++i) {
    Cta &cta = *ctas[i];
    if (attributes->aInTmem ? !readFromTmem(cta, tile.a)
                            : !readMatrix(cta, a, tile.a.rows, true, 0, tile.a))
      return false;
    if (descriptor.sparse && !readMetadata(cta, tile))
      return false;
    if (tile.block && (!readScales(cta, scaleA, descriptor.scaleIdA, tile.a) ||
                       !readScales(cta, scaleB, descriptor.scaleIdB, tile.b)))
      return false;
    if (attributes->kind == MmaKind::I8 ? !multiplyIntegers(cta, i, tile)
                                        : !multiply(cta, i, tile))
      return false;
  }
  return true;
}

} // namespace nvfp4::sim
