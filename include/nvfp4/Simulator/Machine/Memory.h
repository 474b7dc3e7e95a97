//===- Memory.h - simulated global memory and byte masks --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Device addresses are the simulator's own: allocations are far apart, start
// at a fixed address and do not depend on the host, so runs are reproducible
// and an access next to an allocation is caught.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_MACHINE_MEMORY_H
#define NVFP4_SIMULATOR_MACHINE_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace nvfp4::sim {

/// One bit per byte: which bytes have been written.
class ByteMask {
public:
  explicit ByteMask(size_t bytes = 0, bool value = false)
      : words((bytes + 63) / 64, value ? ~uint64_t{0} : 0) {}

  /// Marks [begin, begin + size).
  void set(size_t begin, size_t size, bool value = true);
  /// Whether all of [begin, begin + size) are marked.
  bool all(size_t begin, size_t size) const;

  /// The same for few bytes, which mostly lie in one word.
  void setFew(size_t begin, unsigned size) {
    if (begin % 64 + size > 64)
      return set(begin, size);
    words[begin / 64] |= bitsOf(begin, size);
  }
  bool allFew(size_t begin, unsigned size) const {
    if (begin % 64 + size > 64)
      return all(begin, size);
    uint64_t bits = bitsOf(begin, size);
    return (words[begin / 64] & bits) == bits;
  }

private:
  static uint64_t bitsOf(size_t begin, unsigned size) {
    return (~uint64_t{0} >> (64 - size)) << (begin % 64);
  }

  std::vector<uint64_t> words;
};

/// Where generic addresses of other state spaces start. Allocations lie below
/// all windows; mapped memory of the host may lie anywhere outside them.
constexpr uint64_t globalBase = 0x0000'0100'0000'0000;
constexpr uint64_t sharedWindow = 0x0000'4000'0000'0000;
constexpr uint64_t localWindow = 0x0000'5000'0000'0000;
constexpr uint64_t paramWindow = 0x0000'6000'0000'0000;
constexpr uint64_t windowSize = uint64_t{1} << 32;

/// Devices that run together, and addresses that belong to each.
constexpr unsigned deviceLimit = 8;
constexpr uint64_t deviceSpan = globalBase / deviceLimit;

/// Whether a generic address is a global one.
constexpr bool isGlobalAddress(uint64_t address) {
  return address - sharedWindow >= windowSize &&
         address - localWindow >= windowSize &&
         address - paramWindow >= windowSize;
}

/// A shared address is `rank << 24 | offset`: a CTA's own addresses carry its
/// rank, which kernels rely on to name the barrier of a pair's leader.
constexpr unsigned sharedRankShift = 24;
constexpr uint32_t sharedOffsetMask = (1u << sharedRankShift) - 1;
/// Bytes the system keeps at the start of shared memory.
constexpr uint32_t sharedBaseOffset = 1024;

class DeviceMemory;

/// One allocation of global memory.
struct Allocation {
  uint64_t address = 0;
  uint64_t size = 0;
  std::string name;
  /// The bytes: `storage`, or memory of the host that was mapped.
  uint8_t *data = nullptr;
  std::vector<uint8_t> storage;
  ByteMask written;
  /// The memory that it is in.
  DeviceMemory *owner = nullptr;
};

/// Global memory of a device: a set of allocations, and the memory of other
/// devices that it reaches.
class DeviceMemory {
public:
  /// Allocations lie from an address on that is the device's own.
  explicit DeviceMemory(unsigned device = 0)
      : device(device), nextAddress(globalBase + device * deviceSpan) {}

  /// Lets addresses of `peer` be used here; `peer` must live as long.
  void enablePeer(DeviceMemory &peer) { peers.push_back(&peer); }
  /// The reverse; false if that is not so.
  bool disablePeer(DeviceMemory &peer);
  bool hasPeer(const DeviceMemory &peer) const;
  bool hasPeers() const { return !peers.empty(); }

  /// Reserves `size` bytes (at least one) at a 512-byte aligned address. The
  /// contents are poisoned and count as not written.
  uint64_t allocate(uint64_t size, std::string name = {});
  /// Makes `size` bytes of the host accessible at their own address, which
  /// counts as written. False when they overlap another allocation.
  bool map(void *host, uint64_t size, std::string name = {});
  /// Releases the allocation or mapping that starts at `address`; false if
  /// there is none.
  bool free(uint64_t address);

  /// Copies in or out; false when [address, address + size) is not inside one
  /// allocation.
  bool write(uint64_t address, const void *data, uint64_t size);
  bool read(uint64_t address, void *data, uint64_t size) const;
  bool fill(uint64_t address, uint8_t value, uint64_t size);

  /// For each byte whether it has been written; empty when all have.
  std::vector<uint8_t> writtenMarks(uint64_t address, uint64_t size);

  /// The allocation that holds [address, address + size), here or in the memory
  /// of a peer, or null.
  Allocation *find(uint64_t address, uint64_t size);
  const Allocation *find(uint64_t address, uint64_t size) const {
    return const_cast<DeviceMemory *>(this)->find(address, size);
  }
  /// For diagnostics: the allocation nearest to `address` and how far away.
  std::string describe(uint64_t address) const;

  /// The number of the device.
  const unsigned device;

private:
  std::map<uint64_t, std::unique_ptr<Allocation>> allocations;
  Allocation *last = nullptr;
  std::vector<DeviceMemory *> peers;
  uint64_t nextAddress;
};

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_MACHINE_MEMORY_H
