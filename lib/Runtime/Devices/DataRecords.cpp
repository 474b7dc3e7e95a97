//===- DataRecords.cpp - Violations that kernels find -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The memory is the driver's, and has one address for host and device.
//
//===----------------------------------------------------------------------===//

#include "DataRecords.h"

#include "../Checks.h"
#include "Backend.h"
#include "nvfp4/Format/WgmmaFaults.h"

#include <atomic>
#include <cstring>
#include <optional>

using namespace nvfp4;
using namespace nvfp4::runtime;

/// Calls of an artefact on a device that may wait for their work at a time.
static constexpr size_t kOwnRecords = 32;

static_assert(sizeof(nvfp4_data_record) == 64 && sizeof(nvfp4_data_check) == 48,
              "compiled code has these sizes");

static float toFloat(int64_t bits) {
  float value = 0;
  auto word = static_cast<uint32_t>(bits);
  std::memcpy(&value, &word, sizeof value);
  return value;
}

/// As nvfp4_relayout_weights rejects them.
static std::string explainWeights(const nvfp4_data_record &record) {
  const nvfp4_data_check &check = *record.check;
  std::string error =
      record.row < 0 ? format::wgmma::describeSpread(check.numbers[0],
                                                     record.seen, record.before)
      : record.column < 0
          ? format::wgmma::describeSign(record.row)
          : format::wgmma::describeInfinity(record.row, record.column);
  std::string which =
      record.limit < 0 ? "" : " of matrix " + std::to_string(record.limit);
  return std::string(check.where) + ": " + error + which + " [" + check.label +
         "]";
}

static std::string explain(const nvfp4_data_record &record) {
  const nvfp4_data_check &check = *record.check;
  switch (static_cast<nvfp4_data_kind>(check.kind)) {
  case NVFP4_DATA_GROUPS:
    return GroupRule{check.numbers[0], check.numbers[1], record.limit}.explain(
        check.where, record.row, record.column == 1, record.before,
        record.seen);
  case NVFP4_DATA_INDEX: {
    std::optional<int64_t> column;
    if (record.column >= 0)
      column = record.column;
    return explainIndex(check.where, check.label, check.what, record.row,
                        column, record.seen, record.limit);
  }
  case NVFP4_DATA_POSITIVE:
    return explainPositive(check.where, check.label, check.what,
                           toFloat(record.seen));
  case NVFP4_DATA_FACTOR:
    return explainFactor(check.where, toFloat(record.seen), check.numbers[0]);
  case NVFP4_DATA_ROOM:
    return explainRoom(check.where, check.label, check.what, record.seen,
                       record.limit);
  case NVFP4_DATA_WEIGHTS:
    return explainWeights(record);
  }
  return {};
}

std::string nvfp4::runtime::takeViolation(nvfp4_data_record &record) {
  // One of the threads that ask gets the violation. A question without an
  // answer is a load.
  std::atomic_ref<int64_t> isComplete(record.is_complete);
  if (!isComplete.load(std::memory_order_relaxed) ||
      !isComplete.exchange(0, std::memory_order_acquire))
    return {};
  std::string text = explain(record);
  if (text.empty())
    text = std::string(record.check->where) +
           ": a kernel has refused data that the runtime accepts";
  // Kernels may write it again from here on.
  std::atomic_ref<const nvfp4_data_check *>(record.check)
      .store(nullptr, std::memory_order_release);
  return text;
}

DataRecords::~DataRecords() {
  if (records)
    device->freeHost(records);
}

nvfp4_status DataRecords::make(nvfp4_device *device, size_t functions) {
  size_t count = functions + kOwnRecords;
  available.reserve(kOwnRecords);
  void *memory = nullptr;
  if (nvfp4_status status =
          device->allocateHost(count * sizeof(nvfp4_data_record), memory))
    return status;
  std::memset(memory, 0, count * sizeof(nvfp4_data_record));
  this->device = device;
  records = static_cast<nvfp4_data_record *>(memory);
  for (size_t i = functions; i < count; ++i)
    available.push_back(records + i);
  return NVFP4_OK;
}

nvfp4_data_record *DataRecords::acquire() {
  std::unique_lock<std::mutex> lock(mutex);
  isReleased.wait(lock, [&] { return !available.empty(); });
  nvfp4_data_record *record = available.back();
  available.pop_back();
  return record;
}

void DataRecords::release(nvfp4_data_record *record) {
  // The call's work is done, whether or not it could complete the record.
  *record = {};
  {
    std::lock_guard<std::mutex> lock(mutex);
    available.push_back(record);
  }
  isReleased.notify_one();
}
