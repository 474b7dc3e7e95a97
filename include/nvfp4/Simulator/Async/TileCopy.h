//===- TileCopy.h - moving a box of a tensor --------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The data path of TMA in tile mode: rows of a box between global memory and
// swizzled shared memory, with out-of-range fill, padded sub-byte types and
// reductions. Knows nothing of time or barriers.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_ASYNC_TILECOPY_H
#define NVFP4_SIMULATOR_ASYNC_TILECOPY_H

#include "nvfp4/Simulator/Async/TensorMap.h"
#include "nvfp4/Simulator/Machine/Memory.h"

#include <functional>
#include <vector>

namespace nvfp4::sim {

/// Operation of a reducing copy.
enum class CopyReduction : uint8_t {
  None,
  Add,
  Min,
  Max,
  Inc,
  Dec,
  And,
  Or,
  Xor
};

/// A box and where it starts.
struct TileBox {
  TensorMap map;
  std::array<int32_t, 5> coordinate{};
  /// gather4/scatter4: rows of dimension 1; otherwise unused.
  bool rows4 = false;
  std::array<int32_t, 4> row{};

  bool operator==(const TileBox &) const = default;
  /// Rows of the box, each contiguous in shared memory.
  unsigned rowCount() const;
  /// Bytes a row takes in shared memory, and the whole box.
  unsigned rowBytes() const;
  /// Bytes from one row to the next in shared memory: rows narrower than the
  /// swizzle's span leave a gap.
  unsigned rowPitch() const;
  uint32_t sharedBytes() const { return rowCount() * rowBytes(); }
  /// Bytes that the copy engine is busy with: a row is moved in whole lines of
  /// 128.
  uint64_t movedBytes() const {
    return uint64_t{rowCount()} * ((rowBytes() + 127) / 128 * 128);
  }
  /// Bytes counted by mbarrier transactions.
  uint32_t transactionBytes() const;
};

/// A global row could not be accessed: its address and size.
struct TileFault {
  uint64_t address = 0;
  uint64_t size = 0;
};

/// Called with the address and size of every global access.
using TileObserver = std::function<void(uint64_t address, uint64_t size)>;

/// Reads the box into `bytes` (rowCount * rowBytes, not swizzled); out-of-range
/// elements are filled. `written` has a 0 for each byte whose source has never
/// been written, and is empty when there are none. False with `fault` set on an
/// invalid access.
bool readTile(const TileBox &box, DeviceMemory &memory,
              std::vector<uint8_t> &bytes, std::vector<uint8_t> &written,
              TileFault &fault, const TileObserver &observe);

/// Writes or reduces `bytes` into the tensor; out-of-range elements are
/// dropped.
bool writeTile(const TileBox &box, DeviceMemory &memory,
               const std::vector<uint8_t> &bytes, CopyReduction reduction,
               TileFault &fault, const TileObserver &observe);

/// dst = dst op src for one element of `type`.
void reduceElement(TensorType type, CopyReduction reduction, void *dst,
                   const void *src);

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_ASYNC_TILECOPY_H
