//===- TileCopy.cpp - moving a box of a tensor ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A box is a list of rows along dimension 0. For each row the outer
// coordinates give a global address or mark it out of range; within it, a run
// of elements is in range.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Async/TileCopy.h"

#include "nvfp4/Simulator/Machine/MiniFloat.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace nvfp4::sim {
namespace {

/// Steps do not apply to dimension 0, whatever the map says.
unsigned extent(const TensorMap &map, unsigned d) {
  if (d == 0)
    return map.box[0];
  return (map.box[d] + map.elementStride[d] - 1) / map.elementStride[d];
}

/// Where row `index` of the box starts.
struct RowPlace {
  bool inRange = true;
  /// Global address of element 0 of the tensor's row.
  uint64_t address = 0;
};

RowPlace rowPlace(const TileBox &box, unsigned index) {
  const TensorMap &map = box.map;
  RowPlace place;
  place.address = map.address;
  for (unsigned d = 1; d < map.rank; ++d) {
    int64_t position;
    if (box.rows4) {
      position = box.row[index];
    } else {
      unsigned count = extent(map, d);
      position = int64_t{box.coordinate[d]} +
                 int64_t{index % count} * map.elementStride[d];
      index /= count;
    }
    if (position < 0 || static_cast<uint64_t>(position) >= map.size(d))
      place.inRange = false;
    else
      place.address += static_cast<uint64_t>(position) * map.stride[d - 1];
  }
  return place;
}

/// Elements of dimension 0 that are in range: [first, last).
void innerRange(const TileBox &box, unsigned count, int64_t &first,
                int64_t &last) {
  int64_t start = box.coordinate[0];
  auto size = static_cast<int64_t>(box.map.size(0));
  first = std::clamp<int64_t>(-start, 0, count);
  last = std::clamp<int64_t>(size - start, first, count);
}

/// Out-of-range elements: zeros, or words of 16 bits that make NaNs of every
/// float type, as an H200 fills them.
void fillElement(const TensorMap &map, uint8_t *out, unsigned bytes,
                 bool marks) {
  std::memset(out, marks, bytes);
  if (marks || !map.fillNan)
    return;
  for (unsigned i = 0; i + 1 < bytes; i += 2) {
    out[i] = 0xf7;
    out[i + 1] = 0x7f;
  }
}

/// Loads round elements to tf32.
void roundToTf32(uint8_t *out, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits;
    std::memcpy(&bits, out + 4 * i, 4);
    if (bits << 1 > 0xff000000u)
      bits = 0x7fffe000; // the only NaN
    bits += 0xfff + (bits >> 13 & 1);
    bits &= ~0x1fffu;
    std::memcpy(out + 4 * i, &bits, 4);
  }
}

/// Where bytes of global memory come from: their values, or for each whether
/// it has been written.
struct Source {
  DeviceMemory &memory;
  TileFault &fault;
  const TileObserver &observe;
  bool marks = false;
  /// Some byte that was read has not been written.
  bool anyUnwritten = false;
  std::vector<uint8_t> scratch;

  /// A run of whole bytes, or null with `fault` set.
  const uint8_t *run(uint64_t address, uint64_t size) {
    Allocation *allocation = memory.find(address, size);
    if (!allocation) {
      fault = {address, size};
      return nullptr;
    }
    uint64_t offset = address - allocation->address;
    if (marks) {
      scratch = memory.writtenMarks(address, size);
      scratch.resize(size, 1);
      return scratch.data();
    }
    if (observe)
      observe(address, size);
    anyUnwritten |= !allocation->written.all(offset, size);
    return &allocation->data[offset];
  }
};

bool readRow(const TileBox &box, const RowPlace &place, Source &source,
             uint8_t *out) {
  const TensorMap &map = box.map;
  unsigned count = extent(map, 0);
  int64_t first = 0, last = 0;
  innerRange(box, map.box[0], first, last);
  if (!place.inRange)
    first = last = 0;
  unsigned bits = map.globalBits();
  if (bits < 8) {
    // Packed in memory: 16 elements are 8 (fp4) or 12 (fp6) bytes.
    std::memset(out, source.marks, map.sharedBytes(map.box[0]));
    if (first >= last)
      return true;
    uint64_t begin = (box.coordinate[0] + first) * bits / 8;
    uint64_t end = ((box.coordinate[0] + last) * bits + 7) / 8;
    const uint8_t *in = source.run(place.address + begin, end - begin);
    if (!in)
      return false;
    unsigned group = bits * 2; // bytes of 16 elements
    unsigned pitch = map.type == TensorType::U4Packed ? group : 16;
    uint64_t lead = first * bits / 8;
    for (uint64_t i = 0; i < end - begin; ++i) {
      uint64_t byte = lead + i;
      out[byte / group * pitch + byte % group] = in[i];
    }
    return true;
  }
  unsigned bytes = bits / 8;
  for (int64_t i = 0; i < first; ++i)
    fillElement(map, out + i * bytes, bytes, source.marks);
  for (int64_t i = last; i < static_cast<int64_t>(count); ++i)
    fillElement(map, out + i * bytes, bytes, source.marks);
  if (first >= last)
    return true;
  const uint8_t *in =
      source.run(place.address + (box.coordinate[0] + first) * bytes,
                 static_cast<uint64_t>(last - first) * bytes);
  if (!in)
    return false;
  std::memcpy(out + first * bytes, in, (last - first) * bytes);
  if (!source.marks &&
      (map.type == TensorType::TF32 || map.type == TensorType::TF32Ftz))
    roundToTf32(out + first * bytes, static_cast<size_t>(last - first));
  return true;
}

template <typename T>
void reduceInteger(CopyReduction reduction, void *dst, const void *src) {
  T a, b;
  std::memcpy(&a, dst, sizeof a);
  std::memcpy(&b, src, sizeof b);
  using U = std::make_unsigned_t<T>;
  switch (reduction) {
  case CopyReduction::Add:
    a = static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    break;
  case CopyReduction::Min:
    a = std::min(a, b);
    break;
  case CopyReduction::Max:
    a = std::max(a, b);
    break;
  case CopyReduction::Inc:
    a = a >= b ? 0 : a + 1;
    break;
  case CopyReduction::Dec:
    a = a == 0 || a > b ? b : a - 1;
    break;
  case CopyReduction::And:
    a &= b;
    break;
  case CopyReduction::Or:
    a |= b;
    break;
  case CopyReduction::Xor:
    a ^= b;
    break;
  case CopyReduction::None:
    a = b;
    break;
  }
  std::memcpy(dst, &a, sizeof a);
}

void reduceSmallFloat(const FloatFormat &format, CopyReduction reduction,
                      void *dst, const void *src) {
  uint16_t a, b;
  std::memcpy(&a, dst, 2);
  std::memcpy(&b, src, 2);
  double x = decodeFloat(a, format);
  double y = decodeFloat(b, format);
  double r = reduction == CopyReduction::Add   ? x + y
             : reduction == CopyReduction::Min ? minimumNumber(x, y)
                                               : maximumNumber(x, y);
  a = static_cast<uint16_t>(
      encodeFloat(r, format, Rounding::NearestEven, false));
  std::memcpy(dst, &a, 2);
}

} // namespace

unsigned TileBox::rowCount() const {
  if (rows4)
    return 4;
  unsigned count = 1;
  for (unsigned d = 1; d < map.rank; ++d)
    count *= extent(map, d);
  return count;
}

unsigned TileBox::rowBytes() const { return map.sharedBytes(extent(map, 0)); }

unsigned TileBox::rowPitch() const {
  return std::max(rowBytes(), swizzleSpan(map.swizzle));
}

uint32_t TileBox::transactionBytes() const {
  return rowCount() * map.transactionBytes(extent(map, 0));
}

bool readTile(const TileBox &box, DeviceMemory &memory,
              std::vector<uint8_t> &bytes, std::vector<uint8_t> &written,
              TileFault &fault, const TileObserver &observe) {
  unsigned rows = box.rowCount();
  unsigned pitch = box.rowBytes();
  Source source{memory, fault, observe, false, false, {}};
  auto readRows = [&](std::vector<uint8_t> &out) {
    out.resize(size_t{rows} * pitch);
    for (unsigned r = 0; r < rows; ++r)
      if (!readRow(box, rowPlace(box, r), source, &out[size_t{r} * pitch]))
        return false;
    return true;
  };
  written.clear();
  if (!readRows(bytes))
    return false;
  source.marks = true;
  return !source.anyUnwritten || readRows(written);
}

bool writeTile(const TileBox &box, DeviceMemory &memory,
               const std::vector<uint8_t> &bytes, CopyReduction reduction,
               TileFault &fault, const TileObserver &observe) {
  const TensorMap &map = box.map;
  unsigned rows = box.rowCount();
  unsigned pitch = box.rowBytes();
  unsigned bits = map.globalBits();
  int64_t first = 0, last = 0;
  innerRange(box, map.box[0], first, last);
  for (unsigned r = 0; r < rows; ++r) {
    RowPlace place = rowPlace(box, r);
    if (!place.inRange || first >= last)
      continue;
    uint64_t begin = (box.coordinate[0] + first) * bits / 8;
    uint64_t size = (last - first) * bits / 8;
    Allocation *allocation = nullptr;
    if (reduction == CopyReduction::None) {
      // An H200 stores 16 bytes at a time, past the end of a row that is no
      // multiple of them.
      uint64_t whole = std::min((size + 15) / 16 * 16,
                                (map.box[0] - first) * uint64_t{bits} / 8);
      if ((allocation = memory.find(place.address + begin, whole)))
        size = whole;
    }
    if (!allocation)
      allocation = memory.find(place.address + begin, size);
    if (!allocation) {
      fault = {place.address + begin, size};
      return false;
    }
    if (observe)
      observe(place.address + begin, size);
    uint64_t offset = place.address + begin - allocation->address;
    const uint8_t *in = &bytes[size_t{r} * pitch + first * bits / 8];
    uint8_t *out = &allocation->data[offset];
    if (reduction == CopyReduction::None) {
      std::memcpy(out, in, size);
    } else {
      unsigned element = bits / 8;
      for (uint64_t i = 0; i + element <= size; i += element)
        reduceElement(map.type, reduction, out + i, in + i);
    }
    allocation->written.set(offset, size);
  }
  return true;
}

void reduceElement(TensorType type, CopyReduction reduction, void *dst,
                   const void *src) {
  switch (type) {
  case TensorType::U8:
    return reduceInteger<uint8_t>(reduction, dst, src);
  case TensorType::U16:
    return reduceInteger<uint16_t>(reduction, dst, src);
  case TensorType::U32:
    return reduceInteger<uint32_t>(reduction, dst, src);
  case TensorType::S32:
    return reduceInteger<int32_t>(reduction, dst, src);
  case TensorType::U64:
    return reduceInteger<uint64_t>(reduction, dst, src);
  case TensorType::S64:
    return reduceInteger<int64_t>(reduction, dst, src);
  case TensorType::F16:
    return reduceSmallFloat(formatF16, reduction, dst, src);
  case TensorType::BF16:
    return reduceSmallFloat(formatBF16, reduction, dst, src);
  case TensorType::F64: {
    double a, b;
    std::memcpy(&a, dst, 8);
    std::memcpy(&b, src, 8);
    a = reduction == CopyReduction::Add   ? addKeepingNan(a, b)
        : reduction == CopyReduction::Min ? minimumNumber(a, b)
                                          : maximumNumber(a, b);
    std::memcpy(dst, &a, 8);
    return;
  }
  default: {
    // The text says that sums flush subnormal numbers; an H200 keeps them.
    float a, b;
    std::memcpy(&a, dst, 4);
    std::memcpy(&b, src, 4);
    a = reduction == CopyReduction::Add ? a + b
        : reduction == CopyReduction::Min
            ? static_cast<float>(minimumNumber(a, b))
            : static_cast<float>(maximumNumber(a, b));
    if (a != a)
      a = std::bit_cast<float>(0x7fffffffu);
    std::memcpy(dst, &a, 4);
    return;
  }
  }
}

} // namespace nvfp4::sim
