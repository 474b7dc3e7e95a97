//===- Cells.cpp - what shadow memory remembers -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A record is replaced only by one that stands for it: every later access that
// conflicts with the old one conflicts with the new one, and the other way
// round. Accesses of a warp within an epoch are alike to everybody else.
//
//===----------------------------------------------------------------------===//

#include "CheckerImpl.h"

namespace nvfp4::sim {

bool Checker::Impl::takesOver(const AccessRecord &read, AccessRecord &record,
                              const AccessView &now) const {
  if (!read.valid())
    return true;
  if (read.isOperation != record.isOperation ||
      (record.isStrong && !read.isStrong))
    return false;
  bool inside = !(read.bytes & ~record.bytes);
  if (!read.sameAgent(record)) {
    if (!inside)
      return false;
    if (!(read == now.passed[false])) {
      if (!ordered(read, false, now))
        return false;
      now.passed[false] = read;
    }
    return true;
  }
  if (read.isOperation) {
    record.bytes |= read.bytes;
    return true;
  }
  bool lanesOrdered = read.clock <= now.lanesClock;
  if (lanesOrdered || read.lane == record.lane ||
      record.lane == AccessRecord::manyLanes) {
    if (inside)
      return true;
    if (lanesOrdered || read.lane != record.lane || read.clock <= now.epoch ||
        read.isStrong != record.isStrong)
      return false;
    record.bytes |= read.bytes;
    return true;
  }
  // Several lanes stand for each of them, but each has its own bytes.
  if (read.bytes != record.bytes)
    return false;
  record.lane = AccessRecord::manyLanes;
  return true;
}

void Checker::Impl::enterRead(ShadowCell &cell, ReadLists &lists,
                              const AccessView &now) {
  AccessRecord record = now.record;
  bool replaced = takesOver(cell.read, record, now);
  if (replaced && !cell.moreReads) {
    cell.read = record;
    return;
  }
  // More than this many unordered readers are not remembered: kernels let all
  // CTAs read the same operands.
  constexpr size_t mostReads = 32;
  if (!cell.moreReads)
    cell.moreReads = lists.add();
  std::vector<AccessRecord> &list = lists[cell.moreReads];
  std::erase_if(list, [&](const AccessRecord &read) {
    return takesOver(read, record, now);
  });
  if (replaced)
    cell.read = record;
  else if (list.size() < mostReads)
    list.push_back(record);
}

void Checker::Impl::access(ShadowCell &cell, ReadLists &lists,
                           const AccessView &now, Spot spot) {
  compare(cell.write, true, now, spot);
  if (!now.write)
    return enterRead(cell, lists, now);
  if (cell.read.valid()) {
    compare(cell.read, false, now, spot);
    cell.read = AccessRecord();
  }
  if (cell.moreReads) {
    for (const AccessRecord &read : lists[cell.moreReads])
      compare(read, false, now, spot);
    lists.release(cell.moreReads);
    cell.moreReads = 0;
  }
  AccessRecord record = now.record;
  const AccessRecord &last = cell.write;
  // Other bytes that the lane, or another one in the same instruction, has
  // written.
  if (last.sameAgent(record) && last.isStrong == record.isStrong &&
      last.isMapRelease == record.isMapRelease &&
      (last.isOperation ||
       (last.clock > now.epoch &&
        (last.lane == record.lane || last.clock >= now.instructionClock)))) {
    record.bytes |= last.bytes;
    if (last.lane != record.lane)
      record.lane = AccessRecord::manyLanes;
  }
  cell.write = record;
}

namespace {

/// Calls `each(byte, mask)` for the pieces of 4 bytes that [from, to) touches,
/// with the first byte in the piece and a mask of the bytes in it.
template <typename Each>
void forPieces(uint64_t from, uint64_t to, const Each &each) {
  for (uint64_t byte = from; byte < to;) {
    uint64_t end = std::min(to, (byte | 3) + 1);
    each(byte, static_cast<uint32_t>(((1u << (end - byte)) - 1) << (byte & 3)));
    byte = end;
  }
}

/// Turns the ranges of reads of a page into cells.
void makeCells(GlobalShadow::Page &page, ReadLists &lists) {
  page.cells = ShadowCells(GlobalShadow::pageBytes / 4);
  for (const GlobalShadow::ReadRange &range : page.reads)
    forPieces(range.begin, range.end, [&](uint64_t byte, uint32_t bytes) {
      ShadowCell &cell = page.cells[byte / 4];
      AccessRecord record = range.record;
      record.bytes = bytes;
      if (!cell.read.valid()) {
        cell.read = record;
        return;
      }
      if (!cell.moreReads)
        cell.moreReads = lists.add();
      lists[cell.moreReads].push_back(record);
    });
  page.reads = {};
}

} // namespace

void Checker::Impl::enterRange(GlobalShadow::Page &page, const AccessView &now,
                               uint64_t begin, uint64_t end) {
  constexpr size_t mostRanges = 24;
  for (GlobalShadow::ReadRange &range : page.reads) {
    AccessRecord &record = range.record;
    if (range.begin > begin || range.end < end ||
        !record.sameAgent(now.record) ||
        (!record.isOperation && record.clock <= now.epoch) ||
        (record.isStrong && !now.record.isStrong))
      continue;
    if (record.lane == now.record.lane ||
        record.lane == AccessRecord::manyLanes)
      return;
    if (range.begin == begin && range.end == end) {
      record.lane = AccessRecord::manyLanes;
      return;
    }
  }
  if (page.reads.size() < mostRanges)
    page.reads.push_back(
        {static_cast<uint16_t>(begin), static_cast<uint16_t>(end), now.record});
}

void Checker::Impl::accessGlobal(const AccessView &now, uint64_t address,
                                 uint64_t size) {
  constexpr uint64_t pageBytes = GlobalShadow::pageBytes;
  AccessView cellView = now;
  if (mayOverlap)
    compareWithLastLaunch(now, address);
  while (size) {
    uint64_t begin = address % pageBytes;
    uint64_t count = std::min(size, pageBytes - begin);
    uint64_t base = address - begin;
    GlobalShadow::Page &page = global.page(address);
    if (!page.cells && !now.write) {
      enterRange(page, now, begin, begin + count);
    } else {
      if (!page.cells)
        makeCells(page, globalReads);
      forPieces(begin, begin + count, [&](uint64_t byte, uint32_t bytes) {
        cellView.record.bytes = bytes;
        access(page.cells[byte / 4], globalReads, cellView,
               {Spot::Global, base + (byte & ~uint64_t{3})});
      });
    }
    address += count;
    size -= count;
  }
}

} // namespace nvfp4::sim
