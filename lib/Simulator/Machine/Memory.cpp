//===- Memory.cpp - simulated global memory and byte masks ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Allocations are kept in a map by address; the last one found is cached.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Machine/Memory.h"

#include <algorithm>
#include <cstring>

namespace nvfp4::sim {

void ByteMask::set(size_t begin, size_t size, bool value) {
  size_t end = begin + size;
  while (begin < end) {
    size_t word = begin / 64;
    size_t bit = begin % 64;
    size_t count = std::min(end - begin, 64 - bit);
    uint64_t bits =
        (count == 64 ? ~uint64_t{0} : ((uint64_t{1} << count) - 1) << bit);
    if (value)
      words[word] |= bits;
    else
      words[word] &= ~bits;
    begin += count;
  }
}

bool ByteMask::all(size_t begin, size_t size) const {
  size_t end = begin + size;
  while (begin < end) {
    size_t word = begin / 64;
    size_t bit = begin % 64;
    size_t count = std::min(end - begin, 64 - bit);
    uint64_t bits =
        (count == 64 ? ~uint64_t{0} : ((uint64_t{1} << count) - 1) << bit);
    if ((words[word] & bits) != bits)
      return false;
    begin += count;
  }
  return true;
}

uint64_t DeviceMemory::allocate(uint64_t size, std::string name) {
  size = std::max<uint64_t>(size, 1);
  auto allocation = std::make_unique<Allocation>();
  allocation->address = nextAddress;
  allocation->owner = this;
  allocation->size = size;
  allocation->name = std::move(name);
  allocation->storage.assign(size, 0xCB);
  allocation->data = allocation->storage.data();
  allocation->written = ByteMask(size);
  // At least 4 KiB of nothing between allocations.
  nextAddress = (nextAddress + size + 4096 + 511) / 512 * 512;
  uint64_t address = allocation->address;
  allocations.emplace(address, std::move(allocation));
  return address;
}

bool DeviceMemory::map(void *host, uint64_t size, std::string name) {
  auto address = reinterpret_cast<uint64_t>(host);
  if (size == 0 || address + size < address)
    return false;
  auto next = allocations.lower_bound(address);
  if (next != allocations.end() && next->first - address < size)
    return false;
  if (next != allocations.begin()) {
    const Allocation &before = *std::prev(next)->second;
    if (address - before.address < before.size)
      return false;
  }
  auto allocation = std::make_unique<Allocation>();
  allocation->address = address;
  allocation->owner = this;
  allocation->size = size;
  allocation->name = std::move(name);
  allocation->data = static_cast<uint8_t *>(host);
  allocation->written = ByteMask(size, true);
  allocations.emplace(address, std::move(allocation));
  return true;
}

bool DeviceMemory::free(uint64_t address) {
  last = nullptr;
  return allocations.erase(address) != 0;
}

Allocation *DeviceMemory::find(uint64_t address, uint64_t size) {
  auto holds = [&](const Allocation &a) {
    return address >= a.address && size <= a.size &&
           address - a.address <= a.size - size;
  };
  if (last && holds(*last))
    return last;
  auto above = allocations.upper_bound(address);
  if (above != allocations.begin() && holds(*std::prev(above)->second)) {
    last = std::prev(above)->second.get();
    return last;
  }
  for (DeviceMemory *peer : peers) {
    auto after = peer->allocations.upper_bound(address);
    if (after != peer->allocations.begin() && holds(*std::prev(after)->second))
      return std::prev(after)->second.get();
  }
  return nullptr;
}

bool DeviceMemory::hasPeer(const DeviceMemory &peer) const {
  return std::find(peers.begin(), peers.end(), &peer) != peers.end();
}

bool DeviceMemory::disablePeer(DeviceMemory &peer) {
  return std::erase(peers, &peer) != 0;
}

bool DeviceMemory::write(uint64_t address, const void *data, uint64_t size) {
  Allocation *allocation = find(address, size);
  if (!allocation)
    return false;
  if (size)
    std::memcpy(&allocation->data[address - allocation->address], data, size);
  allocation->written.set(address - allocation->address, size);
  return true;
}

bool DeviceMemory::fill(uint64_t address, uint8_t value, uint64_t size) {
  Allocation *allocation = find(address, size);
  if (!allocation)
    return false;
  std::memset(&allocation->data[address - allocation->address], value, size);
  allocation->written.set(address - allocation->address, size);
  return true;
}

bool DeviceMemory::read(uint64_t address, void *data, uint64_t size) const {
  const Allocation *allocation = find(address, size);
  if (!allocation)
    return false;
  if (size)
    std::memcpy(data, &allocation->data[address - allocation->address], size);
  return true;
}

std::vector<uint8_t> DeviceMemory::writtenMarks(uint64_t address,
                                                uint64_t size) {
  const Allocation *allocation = size ? find(address, size) : nullptr;
  if (!allocation ||
      allocation->written.all(address - allocation->address, size))
    return {};
  std::vector<uint8_t> marks(size);
  for (uint64_t i = 0; i < size; ++i)
    marks[i] = allocation->written.all(address - allocation->address + i, 1);
  return marks;
}

std::string DeviceMemory::describe(uint64_t address) const {
  // Memory that is mapped may lie anywhere, a device's own in its span only.
  uint64_t number = (address - globalBase) / deviceSpan;
  if (address >= globalBase && number < deviceLimit && number != device) {
    for (const DeviceMemory *peer : peers)
      if (peer->device == number)
        return peer->describe(address) + " of device " + std::to_string(number);
    return "memory of device " + std::to_string(number) + ", to which device " +
           std::to_string(device) + " has no peer access";
  }
  const Allocation *nearest = nullptr;
  uint64_t distance = ~uint64_t{0};
  bool after = false;
  for (const auto &[base, allocation] : allocations) {
    uint64_t end = base + allocation->size;
    uint64_t gap = address < base ? base - address : address - end;
    if (address >= base && address < end)
      gap = 0;
    if (gap < distance) {
      distance = gap;
      nearest = allocation.get();
      after = address >= end;
    }
  }
  if (!nearest)
    return "no global memory is allocated";
  std::string name = nearest->name.empty() ? "allocation" : nearest->name;
  bool inside = distance == 0 && !after;
  return std::to_string(distance) + " bytes " +
         (inside  ? "inside"
          : after ? "after"
                  : "before") +
         " '" + name + "' of " + std::to_string(nearest->size) + " bytes";
}

} // namespace nvfp4::sim
