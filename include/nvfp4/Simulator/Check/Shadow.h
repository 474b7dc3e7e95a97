//===- Shadow.h - the latest accesses of each piece of memory ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cell keeps the last write and the reads since. Shared and global memory
// have a cell for each 4 bytes, tensor memory one for each column of 32 lanes.
// All-zero cells are empty, so that shadow memory costs nothing until it is
// used.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_CHECK_SHADOW_H
#define NVFP4_SIMULATOR_CHECK_SHADOW_H

#include "nvfp4/Simulator/Check/Checker.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace nvfp4::sim {

/// One access of a warp or of an asynchronous operation.
struct AccessRecord {
  /// The access was made by several lanes of a warp.
  static constexpr uint32_t manyLanes = Checker::manyLanes;
  /// In a range lane 0 has made that of its first bytes, and so on.
  static constexpr uint32_t laneByLane = manyLanes + 1;
  /// Width of the cluster number.
  static constexpr unsigned clusterBits = 24;

  /// Number of the warp in the cluster or of the operation, plus one; 0 for no
  /// access.
  uint32_t agentPlusOne : 31 = 0;
  uint32_t isOperation : 1 = 0;
  /// Clock of the warp.
  uint32_t clock = 0;
  uint32_t pc : 24 = 0;
  /// Bytes of the cell touched.
  uint32_t bytes : 4 = 0;
  /// Atomic and other strong accesses do not race with each other.
  uint32_t isStrong : 1 = 0;
  /// A write through the proxy of tensor maps (tensormap.cp_fenceproxy).
  uint32_t isMapRelease : 1 = 0;
  /// Among the reads of a cell: a write whose value the cell's write repeats
  /// without being ordered after it.
  uint32_t isRepeated : 1 = 0;
  /// The cell's write: there are such.
  uint32_t repeats : 1 = 0;
  uint32_t cluster : clusterBits = 0;
  uint32_t lane : 6 = 0;
  /// SyncScope of a strong access.
  uint32_t scope : 2 = 0;

  bool valid() const { return agentPlusOne; }
  uint32_t agent() const { return agentPlusOne - 1; }
  void setAgent(uint32_t agent) { agentPlusOne = agent + 1; }
  bool operator==(const AccessRecord &other) const {
    return !std::memcmp(this, &other, sizeof *this);
  }
  bool sameAgent(const AccessRecord &other) const {
    return agentPlusOne == other.agentPlusOne &&
           isOperation == other.isOperation && cluster == other.cluster;
  }
};
static_assert(sizeof(AccessRecord) == 16 &&
              std::has_unique_object_representations_v<AccessRecord>);

struct ShadowCell {
  AccessRecord write;
  /// One of the reads since; `moreReads` is an index into ReadLists, or 0.
  /// Writes of the same value by warps that nothing orders are among them.
  AccessRecord read;
  uint32_t moreReads;
};

/// Cells by index, zero until used.
class ShadowCells {
public:
  ShadowCells() = default;
  explicit ShadowCells(size_t count)
      : cells(static_cast<ShadowCell *>(std::calloc(count, sizeof(ShadowCell))),
              std::free) {
    if (!cells)
      std::abort();
  }
  explicit operator bool() const { return static_cast<bool>(cells); }
  ShadowCell &operator[](size_t i) { return cells.get()[i]; }

private:
  std::unique_ptr<ShadowCell, decltype(&std::free)> cells{nullptr, std::free};
};

/// Further reads of cells that several agents read.
class ReadLists {
public:
  uint32_t add() {
    if (free.empty()) {
      lists.emplace_back();
      return static_cast<uint32_t>(lists.size() - 1);
    }
    uint32_t index = free.back();
    free.pop_back();
    return index;
  }
  void release(uint32_t index) {
    lists[index].clear();
    free.push_back(index);
  }
  std::vector<AccessRecord> &operator[](uint32_t index) { return lists[index]; }

private:
  /// List 0 stands for none.
  std::vector<std::vector<AccessRecord>> lists{1};
  std::vector<uint32_t> free;
};

/// Shadow of global memory in pages. A page that has only been read keeps a
/// short list of ranges; it gets cells with its first write.
class GlobalShadow {
public:
  static constexpr unsigned pageBytes = 4096;

  struct ReadRange {
    uint16_t begin, end;
    AccessRecord record;
    /// Bytes of a lane where they go lane by lane.
    uint16_t laneBytes = 0;
  };
  struct Page {
    ShadowCells cells;
    std::vector<ReadRange> reads;
  };

  Page &page(uint64_t address) {
    uint64_t number = address / pageBytes;
    if (number != lastNumber || !last) {
      last = &pages[number];
      lastNumber = number;
    }
    return *last;
  }

private:
  std::unordered_map<uint64_t, Page> pages;
  uint64_t lastNumber = 0;
  Page *last = nullptr;
};

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_CHECK_SHADOW_H
