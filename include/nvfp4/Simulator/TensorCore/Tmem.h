//===- Tmem.h - tensor memory of one CTA ------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 128 lanes by 512 columns of 32-bit cells, the column allocator in units of
// 32 columns, and which cells have been written.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_TENSORCORE_TMEM_H
#define NVFP4_SIMULATOR_TENSORCORE_TMEM_H

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

namespace nvfp4::sim {

struct Tmem {
  static constexpr unsigned lanes = 128;
  static constexpr unsigned columns = 512;
  static constexpr unsigned unit = 32;
  static constexpr uint32_t poison = 0x7fc0deadu;

  /// Cells from one lane to the next; no power of two, so that walks down a
  /// column stay in the cache.
  static constexpr unsigned pitch = columns + 16;

  /// For each unit of 32 columns the allocation's first column + 1, or 0.
  std::array<uint16_t, columns / unit> owner{};
  /// No further allocation (relinquish_alloc_permit).
  bool relinquished = false;
  /// Columns of the latest allocation; a later one must not be larger.
  unsigned lastColumns = 0;
  /// Allocations that the CTA has performed.
  unsigned allocations = 0;

  uint32_t &cell(unsigned lane, unsigned column) {
    return cells[lane * pitch + column];
  }
  bool isWritten(unsigned lane, unsigned column) const {
    return written[lane * pitch + column];
  }
  /// The same for `count` columns of a lane.
  bool areWritten(unsigned lane, unsigned column, unsigned count) const {
    return !std::memchr(&written[lane * pitch + column], 0, count);
  }
  void markWritten(unsigned lane, unsigned column, unsigned count) {
    std::memset(&written[lane * pitch + column], 1, count);
  }
  void put(unsigned lane, unsigned column, uint32_t value) {
    cell(lane, column) = value;
    written[lane * pitch + column] = 1;
  }

  /// First column of a free run, or -1.
  int allocate(unsigned count) {
    unsigned units = count / unit;
    for (unsigned first = 0; first + units <= owner.size(); ++first) {
      unsigned length = 0;
      while (length < units && !owner[first + length])
        ++length;
      if (length < units)
        continue;
      for (unsigned i = 0; i < units; ++i)
        owner[first + i] = static_cast<uint16_t>(first * unit + 1);
      return static_cast<int>(first * unit);
    }
    return -1;
  }

  /// Releases `count` columns allocated together at `column`; false if they
  /// were not.
  bool release(unsigned column, unsigned count) {
    if (column % unit || column + count > columns || count == 0)
      return false;
    for (unsigned i = column / unit; i < (column + count) / unit; ++i)
      if (owner[i] != column + 1)
        return false;
    unsigned end = (column + count) / unit;
    if (end < owner.size() && owner[end] == column + 1)
      return false;
    for (unsigned i = column / unit; i < end; ++i)
      owner[i] = 0;
    return true;
  }

  /// Whether all of [column, column + count) are allocated.
  bool isAllocated(unsigned column, unsigned count) const {
    if (column + count > columns)
      return false;
    for (unsigned i = column / unit; i * unit < column + count; ++i)
      if (!owner[i])
        return false;
    return true;
  }

  unsigned allocatedColumns() const {
    unsigned total = 0;
    for (uint16_t o : owner)
      total += o ? unit : 0;
    return total;
  }

private:
  std::vector<uint32_t> cells = std::vector<uint32_t>(lanes * pitch, poison);
  /// Which cells have been written.
  std::vector<uint8_t> written = std::vector<uint8_t>(lanes * pitch, 0);
};

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_TENSORCORE_TMEM_H
