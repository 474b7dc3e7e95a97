//===- OperandsOfK.cpp - Operands whose groups lie along K ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Groups along K may begin at any element, even within a byte or a block. TMA
// wants none of that, so each group is moved to stages of its own, with zeros
// behind it. Where it goes follows from where it begins, without a sum over the
// groups before, so that a kernel needs its offsets alone.
//
//===----------------------------------------------------------------------===//

#include "Task.h"

#include <algorithm>

using namespace nvfp4;
using namespace nvfp4::runtime;
using nvfp4::format::wgmma::Segment;

/// `count` values of 4 bits from number `begin` on, to the start of `out`.
static void copyNibbles(const uint8_t *row, int64_t begin, int64_t count,
                        uint8_t *out) {
  const uint8_t *from = row + begin / 2;
  if (begin % 2 == 0) {
    std::memcpy(out, from, static_cast<size_t>(count / 2));
    if (count % 2)
      out[count / 2] = from[count / 2] & 15;
    return;
  }
  for (int64_t i = 0; i < count; i += 2) {
    out[i / 2] = from[i / 2] >> 4;
    if (i + 1 < count)
      out[i / 2] |= static_cast<uint8_t>(from[i / 2 + 1] << 4);
  }
}

/// A buffer of `rows` rows of `bytes` zeros that `fill` gets to write in.
template <typename Callable>
static int32_t addFilled(nvfp4_task *task, int64_t rows, int64_t bytes,
                         Callable fill) {
  int32_t number =
      task->addBuffer({nullptr, rows, bytes, bytes, NVFP4_TASK_READ});
  if (task->failed)
    return number;
  std::vector<uint8_t> all(static_cast<size_t>(rows * bytes));
  fill(all.data());
  task->copyIn(task->buffers[number],
               reinterpret_cast<const char *>(all.data()), 0, rows);
  return number;
}

extern "C" int32_t nvfp4_task_k_values(nvfp4_task *task, const void *values,
                                       int64_t rows, int64_t columns,
                                       int32_t bits) {
  int32_t number = -1;
  guarded(task, [&] {
    const TaskGroups &groups = task->groups;
    auto stages = std::max<int64_t>(groups.getStages(columns), 1);
    int64_t bytes = stages * groups.stage * bits / 8;
    int64_t rowBytes = (columns * bits + 7) / 8;
    auto segments = groups.getSegments(columns, 1, columns, false);
    number = addFilled(task, rows, bytes, [&](uint8_t *out) {
      for (int64_t row = 0; row < rows; ++row)
        for (const Segment &segment : segments) {
          const auto *from =
              static_cast<const uint8_t *>(values) + row * rowBytes;
          uint8_t *to = out + row * bytes + segment.target * bits / 8;
          if (bits == 4)
            copyNibbles(from, segment.first, segment.count, to);
          else
            std::memcpy(to, from + segment.first,
                        static_cast<size_t>(segment.count));
        }
    });
  });
  return number;
}

extern "C" int32_t nvfp4_task_k_scales(nvfp4_task *task, const void *scales,
                                       int64_t rows, int64_t columns,
                                       int64_t scaleColumns, int64_t block,
                                       int32_t isCompact) {
  int32_t number = -1;
  guarded(task, [&] {
    constexpr int64_t atomRows = 128, atomColumns = 4, atomBytes = 512;
    const TaskGroups &groups = task->groups;
    auto stages = std::max<int64_t>(groups.getStages(columns), 1);
    int64_t bytes = stages * groups.stage / block / atomColumns * atomBytes;
    auto segments =
        groups.getSegments(columns, block, scaleColumns, isCompact != 0);
    int64_t tiles = (rows + atomRows - 1) / atomRows;
    number = addFilled(task, tiles, bytes, [&](uint8_t *out) {
      for (int64_t row = 0; row < rows; ++row)
        for (const Segment &segment : segments) {
          const auto *from = static_cast<const uint8_t *>(scales) +
                             row * scaleColumns + segment.scale;
          uint8_t *to = out + row / atomRows * bytes + row % 32 * 16 +
                        row % atomRows / 32 * 4;
          int64_t first = segment.target / block;
          int64_t count = (segment.count + block - 1) / block;
          for (int64_t i = first; i < first + count; ++i)
            to[i / atomColumns * atomBytes + i % atomColumns] = from[i - first];
        }
    });
  });
  return number;
}
