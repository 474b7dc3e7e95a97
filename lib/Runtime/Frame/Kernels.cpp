//===- Kernels.cpp - Kernels of compiled code -------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See nvfp4_kernels.h. The frame of the running call does the work.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Runtime/nvfp4_kernels.h"

#include "../Error.h"
#include "../Kernels/TableEntries.h"
#include "CallFrame.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace nvfp4::runtime;

/// Does `work` with the frame of the running call.
template <typename Callable>
static bool perform(const char *where, Callable work) noexcept {
  CallFrame *frame = CallFrame::current();
  if (!frame) {
    std::fflush(stdout);
    std::fprintf(stderr,
                 "nvfp4: error: %s: expected a call by nvfp4_function_call or "
                 "nvfp4_function_run around code with kernels\n",
                 where);
    std::_Exit(1);
  }
  return frame->attempt(where, [&] { return work(*frame); });
}

/// Parts of a grid that CUDA takes.
static bool isExtent(int64_t value) { return value >= 0 && value <= INT32_MAX; }

/// target_c9
static nvfp4_status failExtent(int64_t extent) {
  return fail(NVFP4_DEVICE_ERROR,
              "expected extents and numbers of rows below 2147483648 on a GPU, "
              "but got " +
                  std::to_string(extent));
}

extern "C" void nvfp4_kernel_start(const nvfp4_kernel_entry *kernel,
                                   const char *where, int64_t blocks,
                                   nvfp4_stream *, void **parameters) {
  perform(where, [&](CallFrame &frame) -> nvfp4_status {
    if (blocks <= 0)
      return NVFP4_OK;
    KernelLaunch launch{*kernel, {}, /*isPersistent=*/true, parameters};
    launch.launch.grid[0] =
        static_cast<uint32_t>(std::min<int64_t>(blocks, INT32_MAX));
    launch.launch.grid[1] = launch.launch.grid[2] = 1;
    launch.launch.block[0] = static_cast<uint32_t>(kernel->threads);
    launch.launch.block[1] = launch.launch.block[2] = 1;
    launch.launch.shared_memory = static_cast<uint32_t>(kernel->shared_memory);
    launch.launch.flags = kernel->flags;
    return frame.launch(launch);
  });
}

extern "C" void nvfp4_kernel_start_grid(const nvfp4_kernel_entry *kernel,
                                        const char *where, int64_t gridX,
                                        int64_t gridY, int64_t gridZ,
                                        int64_t blockX, int64_t blockY,
                                        int64_t blockZ, int32_t shared,
                                        nvfp4_stream *, void **parameters) {
  perform(where, [&](CallFrame &frame) -> nvfp4_status {
    const int64_t extents[] = {gridX, gridY, gridZ, blockX, blockY, blockZ};
    KernelLaunch launch{*kernel, {}, /*isPersistent=*/false, parameters};
    for (unsigned i = 0; i < 6; ++i) {
      if (!isExtent(extents[i]))
        return failExtent(extents[i]);
      uint32_t *side = i < 3 ? launch.launch.grid : launch.launch.block;
      side[i % 3] = static_cast<uint32_t>(extents[i]);
    }
    if (gridX == 0 || gridY == 0 || gridZ == 0)
      return NVFP4_OK;
    launch.launch.shared_memory =
        static_cast<uint32_t>(kernel->shared_memory + shared);
    launch.launch.flags = kernel->flags;
    return frame.launch(launch);
  });
}

extern "C" int32_t nvfp4_kernel_extent(const char *where, int64_t extent) {
  perform(where, [&](CallFrame &) {
    return isExtent(extent) ? NVFP4_OK : failExtent(extent);
  });
  return isExtent(extent) ? static_cast<int32_t>(extent) : 0;
}

extern "C" void nvfp4_kernel_tensor_map(const char *where, int32_t type,
                                        int32_t rank, void *address,
                                        const int64_t *sizes,
                                        const int64_t *strides,
                                        const int32_t *box, int32_t swizzle,
                                        void *map) {
  perform(where, [&](CallFrame &frame) -> nvfp4_status {
    // Lines of 128 bytes are promoted.
    constexpr int promotion = 2;
    nvfp4_tensor_map_spec spec{};
    spec.type = static_cast<nvfp4_tensor_map_type>(type);
    spec.rank = static_cast<uint32_t>(rank);
    spec.address = address;
    spec.swizzle = static_cast<nvfp4_tensor_map_swizzle>(swizzle);
    spec.l2_promotion = swizzle ? promotion : 0;
    for (int32_t d = 0; d < rank && d < 5; ++d) {
      // Coordinates are i32.
      if (!isExtent(sizes[d]))
        return failExtent(sizes[d]);
      spec.size[d] = static_cast<uint64_t>(std::max<int64_t>(sizes[d], 1));
      spec.box[d] = static_cast<uint32_t>(box[d]);
      if (d + 1 < rank)
        spec.stride[d] = static_cast<uint64_t>(strides[d]);
    }
    return frame.encode(spec, map);
  });
}

extern "C" void nvfp4_kernel_write_table(const char *where, void *table,
                                         const void *entries, int64_t count,
                                         nvfp4_stream *) {
  constexpr int64_t entryBytes = 128, pairBytes = 16;
  perform(where, [&](CallFrame &frame) -> nvfp4_status {
    for (int64_t first = 0; first < count; first += NVFP4_TABLE_ENTRIES) {
      auto number = std::min<int64_t>(count - first, NVFP4_TABLE_ENTRIES);
      char *target = static_cast<char *>(table) + first * entryBytes;
      auto pairs = static_cast<uint32_t>(number * entryBytes / pairBytes);
      alignas(16) char values[NVFP4_TABLE_ENTRIES * entryBytes] = {};
      std::memcpy(values,
                  static_cast<const char *>(entries) + first * entryBytes,
                  static_cast<size_t>(number * entryBytes));
      void *parameters[] = {&target, &pairs, values};
      nvfp4_launch launch{};
      launch.grid[0] = launch.grid[1] = launch.grid[2] = 1;
      launch.block[0] = NVFP4_TABLE_ENTRIES * entryBytes / pairBytes;
      launch.block[1] = launch.block[2] = 1;
      if (nvfp4_status status =
              frame.launchOwn("nvfp4_write_table", launch, parameters))
        return status;
    }
    return NVFP4_OK;
  });
}

extern "C" void nvfp4_kernel_copy_rows(const char *where, void *target,
                                       int64_t targetPitch, const void *source,
                                       int64_t sourcePitch, int64_t bytes,
                                       int64_t rows, nvfp4_stream *) {
  perform(where, [&](CallFrame &frame) {
    return frame.copy(
        {target, source, static_cast<size_t>(bytes), static_cast<size_t>(rows),
         static_cast<size_t>(targetPitch), static_cast<size_t>(sourcePitch)});
  });
}

extern "C" void nvfp4_kernel_clear(const char *where, void *target,
                                   int64_t bytes, nvfp4_stream *) {
  perform(where, [&](CallFrame &frame) {
    // Whole words where the driver takes them: it fills these faster.
    bool isWords =
        bytes % 4 == 0 && reinterpret_cast<uintptr_t>(target) % 4 == 0;
    unsigned width = isWords ? 4 : 1;
    return frame.fill(target, 0, width, static_cast<size_t>(bytes) / width);
  });
}

extern "C" nvfp4_data_record *nvfp4_kernel_data_record(const char *where) {
  nvfp4_data_record *record = nullptr;
  perform(where, [&](CallFrame &frame) { return frame.getDataRecord(record); });
  return record;
}

extern "C" void *nvfp4_kernel_result(const char *where, int32_t index,
                                     int32_t elementBytes, int32_t rank,
                                     const int64_t *extents) {
  void *pointer = nullptr;
  perform(where, [&](CallFrame &frame) {
    uint64_t bytes = static_cast<uint64_t>(elementBytes);
    for (int32_t d = 0; d < rank; ++d)
      bytes *= static_cast<uint64_t>(extents[d]);
    return frame.allocateResult(static_cast<size_t>(index),
                                {extents, static_cast<size_t>(rank)}, bytes,
                                pointer);
  });
  return pointer;
}
