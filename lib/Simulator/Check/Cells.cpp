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
  if (read.isRepeated || read.isOperation != record.isOperation ||
      (record.isStrong && (!read.isStrong || record.scope > read.scope)))
    return false;
  bool inside = !(read.bytes & ~record.bytes);
  if (!read.sameAgent(record)) {
    if (!inside)
      return false;
    if (!read.isOperation && read.cluster == now.cluster.number)
      return read.clock <= now.knowledge.own.clock.of(read.agent());
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

/// Whether a read of the same epoch conflicts with all that a new one would.
static bool standsFor(const AccessRecord &read, const AccessView &now) {
  const AccessRecord &record = now.record;
  // Mostly somebody else's.
  if (std::memcmp(&read, &record, sizeof(uint32_t)))
    return false;
  return read.sameAgent(record) && !read.isOperation && !read.isRepeated &&
         read.clock > now.epoch && !(record.bytes & ~read.bytes) &&
         (read.lane == record.lane || read.lane == AccessRecord::manyLanes) &&
         (!read.isStrong || (record.isStrong && read.scope <= record.scope));
}

/// Whether a read stands for weak ones of the whole cell by any lanes.
static bool standsForAllLanes(const AccessRecord &read) {
  return read.lane == AccessRecord::manyLanes && read.bytes == 15 &&
         !read.isStrong && !read.isOperation;
}

bool Checker::Impl::enterRead(ShadowCell &cell, ReadLists &lists,
                              const AccessView &now) {
  if (standsFor(cell.read, now))
    return standsForAllLanes(cell.read);
  if (cell.moreReads)
    for (AccessRecord &read : lists[cell.moreReads])
      if (standsFor(read, now))
        return standsForAllLanes(read);
  AccessRecord record = now.record;
  bool replaced = takesOver(cell.read, record, now);
  if (replaced && !cell.moreReads) {
    cell.read = record;
    return standsForAllLanes(record);
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
  else
    return false;
  return standsForAllLanes(record);
}

bool Checker::Impl::repeats(const AccessRecord &earlier, const AccessView &now,
                            Spot spot) const {
  // A strong access may be an atomic one, which is not the same when repeated.
  if (strict || !now.kept || !earlier.valid() || earlier.isOperation ||
      earlier.isStrong || earlier.sameAgent(now.record) ||
      earlier.cluster != now.record.cluster ||
      ctaOf(earlier) != ctaOf(now.record))
    return false;
  uint32_t both = earlier.bytes & now.record.bytes;
  for (unsigned byte = 0; byte < 4; ++byte)
    if ((both >> byte & 1) &&
        !(now.kept >> (spot.at + byte - now.keptFrom) & 1))
      return false;
  return both && !ordered(earlier, true, now);
}

std::vector<AccessRecord> Checker::Impl::repeatedBy(const ShadowCell &cell,
                                                    ReadLists &lists,
                                                    const AccessView &now,
                                                    Spot spot) {
  std::vector<AccessRecord> records;
  auto add = [&](AccessRecord record, bool isWrite) {
    if (!repeats(record, now, spot))
      return;
    record.isRepeated = isWrite;
    record.repeats = 0;
    records.push_back(record);
  };
  add(cell.write, true);
  if (cell.write.repeats)
    for (const AccessRecord &read : lists[cell.moreReads])
      if (read.isRepeated)
        add(read, true);
  if (records.empty())
    return records;
  // Reads of the value got it in either order.
  add(cell.read, false);
  if (cell.moreReads)
    for (const AccessRecord &read : lists[cell.moreReads])
      if (!read.isRepeated)
        add(read, false);
  return records;
}

bool Checker::Impl::followsRepeated(const ShadowCell &cell, ReadLists &lists,
                                    const AccessView &now) const {
  if (!cell.write.repeats || now.operation)
    return false;
  const std::vector<AccessRecord> &list = lists[cell.moreReads];
  return std::any_of(list.begin(), list.end(), [&](const AccessRecord &write) {
    return write.isRepeated && !(now.record.bytes & ~write.bytes) &&
           (write.sameAgent(now.record) || ordered(write, true, now));
  });
}

/// Whether a write comes before an access of a thread in the same cluster.
static bool precedes(const AccessRecord &write, const AccessView &now) {
  if (write.isOperation || write.cluster != now.cluster.number)
    return false;
  return write.clock <= (write.agentPlusOne == now.record.agentPlusOne
                             ? now.lanesClock
                             : now.knowledge.own.clock.of(write.agent()));
}

bool Checker::Impl::readCell(ShadowCell &cell, ReadLists &lists,
                             const AccessView &now, Spot spot) {
  if (cell.write.valid() &&
      (cell.write.repeats || !precedes(cell.write, now))) {
    access(cell, lists, now, spot);
    return false;
  }
  if (cell.read.valid() || cell.moreReads)
    return enterRead(cell, lists, now);
  cell.read = now.record;
  return standsForAllLanes(cell.read);
}

bool Checker::Impl::readStripe(const AccessView &now, uint64_t address,
                               unsigned size) {
  uint64_t begin = address % GlobalShadow::pageBytes, end = begin + 32 * size;
  if (end > GlobalShadow::pageBytes)
    return false;
  GlobalShadow::Page &page = global.page(address);
  if (page.cells)
    return false;
  enterRange(page, now, begin, end, size);
  return true;
}

void Checker::Impl::access(ShadowCell &cell, ReadLists &lists,
                           const AccessView &now, Spot spot) {
  if (!now.write) {
    if (!followsRepeated(cell, lists, now))
      compare(cell.write, true, now, spot);
    enterRead(cell, lists, now);
    return;
  }
  std::vector<AccessRecord> repeated;
  if (now.kept)
    repeated = repeatedBy(cell, lists, now, spot);
  auto compareRead = [&](const AccessRecord &read) {
    if (repeated.empty() || !repeats(read, now, spot))
      compare(read, read.isRepeated, now, spot);
  };
  compare(cell.write, true, now, spot);
  if (cell.read.valid()) {
    compareRead(cell.read);
    cell.read = AccessRecord();
  }
  if (cell.moreReads) {
    for (const AccessRecord &read : lists[cell.moreReads])
      compareRead(read);
    lists.release(cell.moreReads);
    cell.moreReads = 0;
  }
  AccessRecord record = now.record;
  if (!repeated.empty()) {
    record.repeats = 1;
    cell.moreReads = lists.add();
    lists[cell.moreReads] = std::move(repeated);
  }
  const AccessRecord &last = cell.write;
  // Other bytes that the lane, or another one in the same instruction, has
  // written.
  if (last.sameAgent(record) && last.isStrong == record.isStrong &&
      last.scope == record.scope && last.isMapRelease == record.isMapRelease &&
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

/// Turns the ranges of reads of a page into cells.
void makeCells(GlobalShadow::Page &page, ReadLists &lists) {
  page.cells = ShadowCells(GlobalShadow::pageBytes / 4);
  auto enter = [&](AccessRecord record, uint64_t begin, uint64_t end) {
    forPieces(begin, end, [&](uint64_t byte, uint32_t bytes) {
      ShadowCell &cell = page.cells[byte / 4];
      record.bytes = bytes;
      if (!cell.read.valid()) {
        cell.read = record;
        return;
      }
      if (!cell.moreReads)
        cell.moreReads = lists.add();
      lists[cell.moreReads].push_back(record);
    });
  };
  for (const GlobalShadow::ReadRange &range : page.reads) {
    if (!range.laneBytes) {
      enter(range.record, range.begin, range.end);
      continue;
    }
    AccessRecord record = range.record;
    record.lane = 0;
    for (unsigned byte = range.begin; byte < range.end;
         byte += range.laneBytes) {
      enter(record, byte, byte + range.laneBytes);
      record.lane = record.lane + 1;
    }
  }
  page.reads = {};
}

} // namespace

void Checker::Impl::enterRange(GlobalShadow::Page &page, const AccessView &now,
                               uint64_t begin, uint64_t end,
                               unsigned laneBytes) {
  constexpr size_t mostRanges = 24;
  for (GlobalShadow::ReadRange &range : page.reads) {
    AccessRecord &record = range.record;
    if (range.laneBytes != laneBytes ||
        (laneBytes && (range.begin != begin || range.end != end)))
      continue;
    if (range.begin > begin || range.end < end ||
        !record.sameAgent(now.record) ||
        (!record.isOperation && record.clock <= now.epoch) ||
        (record.isStrong &&
         (!now.record.isStrong || record.scope > now.record.scope)))
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
    page.reads.push_back({static_cast<uint16_t>(begin),
                          static_cast<uint16_t>(end), now.record,
                          static_cast<uint16_t>(laneBytes)});
}

void Checker::Impl::accessGlobal(const AccessView &now, uint64_t address,
                                 uint64_t size) {
  constexpr uint64_t pageBytes = GlobalShadow::pageBytes;
  AccessView cellView = now;
  if (mayOverlap && now.cluster.machine->config.programmatic)
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
        Spot spot{Spot::Global, base + (byte & ~uint64_t{3})};
        if (now.write || now.operation || now.record.isStrong)
          access(page.cells[byte / 4], globalReads, cellView, spot);
        else
          readCell(page.cells[byte / 4], globalReads, cellView, spot);
      });
    }
    address += count;
    size -= count;
  }
}

} // namespace nvfp4::sim
