//===- Task.cpp - One launch by compiled code -------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Buffers are staged through memory of the device. Tensor maps need rows that
// start at multiples of 16 bytes, those of padded FP4 whole rows of 64, so a
// staged row may be longer than the host's.
//
//===----------------------------------------------------------------------===//

#include "Task.h"

#include "../Error.h"
#include "../Violation.h"
#include "LaunchTimer.h"

#include <algorithm>
#include <memory>

using namespace nvfp4::runtime;

nvfp4_task::~nvfp4_task() {
  for (Buffer &buffer : buffers)
    if (buffer.memory)
      nvfp4_device_free(device->device, buffer.memory);
  if (stream)
    nvfp4_stream_destroy(device->device, stream);
}

bool nvfp4_task::fail(const std::string &message, nvfp4_status status) {
  if (!failed)
    recordViolation(where + ": " + message, status);
  failed = true;
  return false;
}

bool nvfp4_task::check(nvfp4_status status) {
  return status == NVFP4_OK ||
         fail(nvfp4_last_error(),
              status == NVFP4_OUT_OF_MEMORY ? status : NVFP4_DEVICE_ERROR);
}

void nvfp4_task::failWithException() noexcept {
  if (!failed)
    recordException();
  failed = true;
}

extern "C" nvfp4_task *nvfp4_task_begin(const char *where, const char *image,
                                        const char *kernel) try {
  auto task = std::make_unique<nvfp4_task>();
  task->where = where;
  task->device = getLaunchDevice();
  if (task->device)
    task->kernel = getLaunchKernel(*task->device, image, kernel);
  if (!task->kernel)
    task->fail(nvfp4_last_error());
  else
    task->check(nvfp4_stream_create(task->device->device, &task->stream));
  return task.release();
} catch (...) {
  recordException();
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

bool nvfp4_task::allocate(Buffer &buffer) {
  // At least one row of at least 16 bytes, for tensor maps have no extent 0.
  // Coded weights of no columns have rows of no bytes.
  size_t bytes = std::max<int64_t>({buffer.getBytes(), buffer.pitch, 16});
  return check(nvfp4_device_alloc(device->device, bytes, &buffer.memory)) &&
         check(nvfp4_device_fill(device->device, buffer.memory, 0, 1, bytes,
                                 stream));
}

/// Scales of 128 rows by 4 columns, which are neighbours.
static constexpr int64_t kTileColumns = 4, kTileBytes = 512;

/// Zeros the last `columns` columns of a tile: NaN there would spread, since it
/// meets the zeros after the end of K.
static void clearPadding(char *tile, int64_t columns) {
  for (int64_t row = 0; row < kTileBytes; row += kTileColumns)
    std::memset(tile + row + kTileColumns - columns, 0,
                static_cast<size_t>(columns));
}

bool nvfp4_task::copyIn(const Buffer &buffer, const char *host, int64_t first,
                        int64_t rows) {
  char *target = static_cast<char *>(buffer.memory) + first * buffer.pitch;
  size_t bytes = rows * buffer.pitch;
  if (!bytes)
    return true;
  bool isOdd = (buffer.access & NVFP4_TASK_ODD) && buffer.rowBytes > 0;
  bool isPadded = buffer.paddingColumns != 0 && buffer.rowBytes > 0;
  if (buffer.pitch == buffer.rowBytes && !isOdd && !isPadded)
    return check(
        nvfp4_device_copy(device->device, target, host, bytes, stream));
  std::vector<char> staged(bytes);
  for (int64_t row = 0; row < rows; ++row) {
    char *to = staged.data() + row * buffer.pitch;
    std::memcpy(to, host + row * buffer.rowBytes, buffer.rowBytes);
    if (isOdd)
      to[buffer.rowBytes - 1] &= 15;
    if (isPadded)
      clearPadding(to + buffer.rowBytes - kTileBytes, buffer.paddingColumns);
  }
  return check(
      nvfp4_device_copy(device->device, target, staged.data(), bytes, stream));
}

bool nvfp4_task::copyOut(const Buffer &buffer) {
  size_t bytes = buffer.getBytes();
  if (!(buffer.access & NVFP4_TASK_WRITE) || !bytes)
    return true;
  if (buffer.pitch == buffer.rowBytes)
    return check(nvfp4_device_copy(device->device, buffer.host, buffer.memory,
                                   bytes, stream)) &&
           synchronize();
  std::vector<char> staged(bytes);
  if (!check(nvfp4_device_copy(device->device, staged.data(), buffer.memory,
                               bytes, stream)) ||
      !synchronize())
    return false;
  for (int64_t row = 0; row < buffer.rows; ++row)
    std::memcpy(buffer.host + row * buffer.rowBytes,
                staged.data() + row * buffer.pitch, buffer.rowBytes);
  return true;
}

int32_t nvfp4_task::addBuffer(const Buffer &buffer) {
  buffers.push_back(buffer);
  if (!failed)
    allocate(buffers.back());
  return static_cast<int32_t>(buffers.size()) - 1;
}

void nvfp4_task::addWord(const void *value, size_t bytes) {
  size_t at = (table->bytes + bytes - 1) / bytes * bytes;
  if (table->entries.empty() || at + bytes > sizeof(Parameter)) {
    fail("expected a row with at most 128 bytes of numbers and pointers");
    return;
  }
  std::memcpy(table->entries[table->words].bytes + at, value, bytes);
  table->bytes = at + bytes;
}

static int64_t getPitch(int64_t rowBytes, int64_t alignment) {
  return (std::max<int64_t>(rowBytes, 1) + alignment - 1) / alignment *
         alignment;
}

extern "C" int32_t nvfp4_task_buffer(nvfp4_task *task, void *host, int64_t rows,
                                     int64_t rowBytes, int64_t alignment,
                                     int32_t access) {
  int32_t number = -1;
  guarded(task, [&] {
    auto *bytes = static_cast<char *>(host);
    number = task->addBuffer(
        {bytes, rows, rowBytes, getPitch(rowBytes, alignment), access});
    // What is written in part keeps the rest, so it is copied there as well.
    if (!task->failed && !(access & NVFP4_TASK_ZERO))
      task->copyIn(task->buffers[number], bytes, 0, rows);
  });
  return number;
}

extern "C" int32_t nvfp4_task_parts(nvfp4_task *task, int64_t count,
                                    int64_t rows, int64_t rowBytes,
                                    int64_t alignment) {
  int32_t number = -1;
  guarded(task, [&] {
    number = task->addBuffer({nullptr, count * rows, rowBytes,
                              getPitch(rowBytes, alignment), NVFP4_TASK_READ});
    task->buffers[number].partRows = rows;
  });
  return number;
}

extern "C" int32_t nvfp4_task_scales(nvfp4_task *task, int64_t count,
                                     int64_t rows, int64_t rowBytes,
                                     int64_t columns) {
  int32_t number = nvfp4_task_parts(task, count, rows, rowBytes, kTileBytes);
  guarded(task, [&] {
    task->buffers[number].paddingColumns = std::clamp<int64_t>(
        rowBytes / kTileBytes * kTileColumns - columns, 0, kTileColumns - 1);
  });
  return number;
}

extern "C" void nvfp4_task_part(nvfp4_task *task, int32_t buffer,
                                int64_t number, const void *host) {
  guarded(task, [&] {
    const Buffer &parts = task->buffers[buffer];
    if (!task->failed)
      task->copyIn(parts, static_cast<const char *>(host),
                   number * parts.partRows, parts.partRows);
  });
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

extern "C" void nvfp4_task_pointer(nvfp4_task *task, int32_t buffer) {
  guarded(task, [&] { task->add(task->buffers[buffer].memory); });
}
extern "C" void nvfp4_task_i32(nvfp4_task *task, int32_t value) {
  guarded(task, [&] { task->add(value); });
}
extern "C" void nvfp4_task_extent(nvfp4_task *task, int64_t extent) {
  guarded(task, [&] {
    if (task->checkExtent(extent))
      task->add(static_cast<int32_t>(extent));
  });
}
extern "C" void nvfp4_task_f32(nvfp4_task *task, float value) {
  guarded(task, [&] { task->add(value); });
}

bool nvfp4_task::checkExtent(int64_t extent) {
  // target_c9
  return (extent >= 0 && extent <= INT32_MAX) ||
         fail("expected extents and numbers of rows below 2147483648 on a "
              "GPU, but got " +
              std::to_string(extent));
}

void nvfp4_task::addMap(const nvfp4_tensor_map_spec &spec) {
  if (failed)
    return;
  // Coordinates are i32.
  for (uint32_t d = 0; d < spec.rank; ++d)
    if (!checkExtent(static_cast<int64_t>(spec.size[d])))
      return;
  char *bytes = table ? table->entries.emplace_back().bytes
                      : parameters.emplace_back().bytes;
  check(nvfp4_tensor_map_encode(device->device, &spec, bytes));
}

extern "C" void nvfp4_task_table_row(nvfp4_task *task) {
  guarded(task, [&] {
    if (!task->table)
      task->table = std::make_unique<Table>();
    Table &table = *task->table;
    table.words = table.entries.size();
    table.bytes = 0;
    table.entries.emplace_back();
  });
}

extern "C" int32_t nvfp4_task_table_end(nvfp4_task *task) {
  int32_t number = -1;
  guarded(task, [&] {
    std::unique_ptr<Table> table = std::move(task->table);
    if (!table)
      table = std::make_unique<Table>();
    constexpr int64_t bytes = sizeof(Parameter);
    auto count = static_cast<int64_t>(table->entries.size());
    number = task->addBuffer({nullptr, count, bytes, bytes, NVFP4_TASK_READ});
    if (!task->failed)
      task->copyIn(task->buffers[number],
                   reinterpret_cast<const char *>(table->entries.data()), 0,
                   count);
  });
  return number;
}

extern "C" void nvfp4_task_matrix_map(nvfp4_task *task, int32_t buffer,
                                      int32_t type, int32_t boxRows,
                                      int32_t boxBytes) {
  guarded(task, [&] {
    const Buffer &matrix = task->buffers[buffer];
    nvfp4_tensor_map_spec spec{};
    spec.type = static_cast<nvfp4_tensor_map_type>(type);
    spec.rank = 2;
    spec.address = matrix.memory;
    // TMA pads whole runs of 128 values: those behind a row's end are zeros.
    bool isPadded = spec.type == NVFP4_TENSOR_U4_PADDED;
    if (isPadded && matrix.pitch % 64 != 0) {
      task->fail("expected rows of a multiple of 64 bytes for a map of padded "
                 "FP4, but got " +
                 std::to_string(matrix.pitch) +
                 "; give the buffer an alignment of 64");
      return;
    }
    spec.size[0] =
        isPadded ? 2 * matrix.pitch : std::max<int64_t>(matrix.rowBytes, 1);
    spec.size[1] = std::max<int64_t>(matrix.rows, 1);
    spec.stride[0] = matrix.pitch;
    spec.box[0] = boxBytes;
    spec.box[1] = boxRows;
    spec.swizzle = boxBytes == 128  ? NVFP4_SWIZZLE_128B
                   : boxBytes == 64 ? NVFP4_SWIZZLE_64B
                                    : NVFP4_SWIZZLE_32B;
    spec.l2_promotion = 2;
    task->addMap(spec);
  });
}

/// Boxes of `boxBlocks` blocks by `boxRows` rows: a matrix is a stack of its
/// columns of blocks, each `blockBytes` wide, so that a box holds whole blocks
/// one after the other.
static nvfp4_tensor_map_spec getBlockSpec(const Buffer &matrix,
                                          nvfp4_tensor_map_type type,
                                          int64_t blockBytes, int32_t boxRows,
                                          int32_t boxBlocks) {
  // Elements of either type that blocks have are two bytes.
  constexpr int64_t elementBytes = 2;
  nvfp4_tensor_map_spec spec{};
  spec.type = type;
  spec.rank = 3;
  spec.address = matrix.memory;
  spec.size[0] = blockBytes / elementBytes;
  spec.size[1] = std::max<int64_t>(matrix.rows, 1);
  spec.size[2] = std::max<int64_t>(matrix.pitch / blockBytes, 1);
  spec.stride[0] = matrix.pitch;
  spec.stride[1] = blockBytes;
  spec.box[0] = blockBytes / elementBytes;
  spec.box[1] = boxRows;
  spec.box[2] = boxBlocks;
  return spec;
}

extern "C" void nvfp4_task_token_map(nvfp4_task *task, int32_t buffer,
                                     int32_t boxRows, int32_t boxBlocks) {
  guarded(task, [&] {
    nvfp4_tensor_map_spec spec =
        getBlockSpec(task->buffers[buffer], NVFP4_TENSOR_BF16,
                     /*blockBytes=*/128, boxRows, boxBlocks);
    spec.swizzle = NVFP4_SWIZZLE_128B;
    spec.l2_promotion = 2;
    task->addMap(spec);
  });
}

extern "C" void nvfp4_task_scale_map(nvfp4_task *task, int32_t buffer,
                                     int32_t boxK, int32_t boxRows) {
  guarded(task, [&] {
    // An atom of scales is a block.
    task->addMap(getBlockSpec(task->buffers[buffer], NVFP4_TENSOR_U16,
                              /*blockBytes=*/512, boxRows, boxK));
  });
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

bool nvfp4_task::launch(int64_t blocks, int32_t threads, int32_t sharedBytes,
                        int32_t cluster, int32_t flags) {
  int64_t slots = 0;
  if (!check(getMaxBlocks(*device, slots)))
    return false;
  slots = slots / cluster * cluster;
  nvfp4_launch launch{};
  launch.grid[0] = static_cast<uint32_t>(
      std::clamp<int64_t>(blocks, 1, std::max<int64_t>(slots, cluster)));
  launch.grid[1] = launch.grid[2] = 1;
  launch.block[0] = static_cast<uint32_t>(threads);
  launch.block[1] = launch.block[2] = 1;
  launch.stream = stream;
  launch.flags = static_cast<uint32_t>(flags);
  launch.shared_memory = static_cast<uint32_t>(sharedBytes);
  std::vector<void *> arguments;
  for (Parameter &parameter : parameters)
    arguments.push_back(parameter.bytes);
  LaunchTimer timer(*this);
  return timer.begin() &&
         check(nvfp4_kernel_launch(kernel, &launch, arguments.data())) &&
         timer.end() && synchronize() && timer.add();
}

extern "C" void nvfp4_task_run(nvfp4_task *task, int64_t blocks,
                               int32_t threads, int32_t sharedBytes,
                               int32_t cluster, int32_t flags) {
  std::unique_ptr<nvfp4_task> owner(task);
  guarded(task, [&] {
    if (task->failed)
      return;
    // Without a tile there is no kernel to run, but there may be zeros to
    // write.
    if (blocks > 0 &&
        !task->launch(blocks, threads, sharedBytes, cluster, flags))
      return;
    for (const Buffer &buffer : task->buffers)
      if (!task->copyOut(buffer))
        return;
  });
}
