//===- Tcgen05Metadata.cpp - positions of a sparse A ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The metadata of tcgen05.mma.sp (PTX 9.7.16.10.8). The text has the four bits
// of a chunk of A, and where they lie in tensor memory only as figures; the
// layout here is that of CuTe's fragments of metadata.
//
//===----------------------------------------------------------------------===//

#include "Tcgen05MmaOperation.h"

#include "nvfp4/Simulator/Check/Checker.h"

#include <algorithm>
#include <iterator>

namespace nvfp4::sim {
namespace {

/// The two positions, of two bits each, that a chunk may have: the first one is
/// in the low bits.
constexpr unsigned legalPairs[] = {0b0100, 0b1000, 0b1100, 0b1001,
                                   0b1101, 0b0110, 0b1110};
constexpr unsigned legalOfTf32[] = {0b0100, 0b1110};

bool isLegal(unsigned index, bool isTf32) {
  if (isTf32)
    return index == legalOfTf32[0] || index == legalOfTf32[1];
  return std::find(std::begin(legalPairs), std::end(legalPairs), index) !=
         std::end(legalPairs);
}

/// Four bits as PTX writes them.
std::string binary(unsigned bits) {
  std::string text = "0b0000";
  for (unsigned i = 0; i < 4; ++i)
    text[5 - i] = bits >> i & 1 ? '1' : '0';
  return text;
}

/// Whether the `count` codes of A from `first` on are zeros of either sign, or
/// integers of 0.
bool areZeros(const MmaMatrix &a, bool isInteger, size_t first,
              unsigned count) {
  unsigned sign = a.format.exponentBits + a.format.mantissaBits;
  for (size_t i = first; i < first + count; ++i)
    if (a.code(i) & ~(isInteger ? 0 : 1u << sign))
      return false;
  return true;
}

std::string legalText(bool isTf32) {
  return isTf32 ? "0b0100 or 0b1110"
                : "0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b0110 or 0b1110";
}

} // namespace

bool MmaOperation::readMetadata(Cta &cta, MmaTile &tile) {
  bool isTf32 = attributes->kind == MmaKind::TF32;
  // Eight chunks of a row of f16 and tf32 take half a word, or sixteen of the
  // other kinds two words.
  bool isHalf = attributes->kind == MmaKind::F16 || isTf32;
  unsigned chunks = isHalf ? 8 : 16;
  unsigned columns = isHalf ? 1 : 2;
  unsigned column = metadata.column + descriptor.sparsitySelector;
  if (!checkColumns(operation, cta, column, columns, "sparsity metadata in"))
    return false;
  if (usesHalfOfLanes() && metadata.lane % 32 != d.lane % 32) {
    operation.fault(ReportKind::IllegalOperand,
                    "expected the sparsity metadata at lane " +
                        std::to_string(d.lane % 32) +
                        " as the accumulator, but got lane " +
                        std::to_string(metadata.lane % 32));
    return false;
  }
  if (Checker *checker = operation.machine->checker.get())
    checker->operationTmem(operation.id, cta, 15, column, columns,
                           Access::Read);
  bool isStrict = operation.machine->options.profile == CheckProfile::Strict;
  bool isInteger = attributes->kind == MmaKind::I8;
  Tmem &tmem = cta.tensorMemory();
  unsigned codes = codesOfA();
  tile.positions.resize(size_t{tile.a.rows} * codes);
  bool written = true;
  for (unsigned row = 0; row < tile.a.rows; ++row)
    for (unsigned chunk = 0; chunk < chunks; ++chunk) {
      // Half words: of 16 rows the lower half of K is in eight lanes, two rows
      // in each, and the upper half in the eight that follow.
      unsigned lane = laneOf(row), word = chunk / 8, bit = chunk % 8 * 4;
      if (isHalf) {
        lane = laneOf(row - row % 16) + row % 8 + chunk / 4 * 8;
        word = 0;
        bit = row / 8 % 2 * 16 + chunk % 4 * 4;
      }
      unsigned index = tmem.cell(lane, column + word) >> bit & 15;
      if (!tmem.isWritten(lane, column + word)) {
        written = false;
        index = legalPairs[0];
      }
      // CUTLASS's compressor writes 0b0000 for a chunk of zeros.
      size_t firstCode = size_t{row} * codes + chunk * (codes / chunks);
      if (!isLegal(index, isTf32) &&
          (isStrict ||
           !areZeros(tile.a, isInteger, firstCode, codes / chunks))) {
        operation.fault(ReportKind::IllegalOperand,
                        "expected sparsity metadata " + legalText(isTf32) +
                            " for row " + std::to_string(row) + ", chunk " +
                            std::to_string(chunk) + " of A, but got " +
                            binary(index) + " in bits " + std::to_string(bit) +
                            " to " + std::to_string(bit + 3) + " of lane " +
                            std::to_string(lane) + ", column " +
                            std::to_string(column + word));
        return false;
      }
      uint16_t *positions = &tile.positions[size_t{row} * codes];
      unsigned first = index & 3, second = index >> 2;
      if (isTf32) {
        // The two halves of an element.
        positions[chunk] = static_cast<uint16_t>(2 * chunk + first / 2);
        continue;
      }
      // Positions of the fp4 kinds are those of two elements each.
      unsigned size = tile.groupsOf16 ? 2 : 1;
      for (unsigned i = 0; i < size; ++i) {
        unsigned from = 2 * chunk * size + i;
        positions[from] = static_cast<uint16_t>((4 * chunk + first) * size + i);
        positions[from + size] =
            static_cast<uint16_t>((4 * chunk + second) * size + i);
      }
    }
  if (!written)
    operation.note(ReportKind::UninitializedRead,
                   "sparsity metadata in tensor memory from column " +
                       std::to_string(column) +
                       " are read before they are written");
  return true;
}

} // namespace nvfp4::sim
