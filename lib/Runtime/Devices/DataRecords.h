//===- DataRecords.h - Violations that kernels find -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory of the host that the kernels of an artefact on one device write: a
// record for the asynchronous calls of each function, and some for calls that
// wait, which each have one of their own. No call allocates or copies any.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_DEVICES_DATARECORDS_H
#define NVFP4_LIB_RUNTIME_DEVICES_DATARECORDS_H

#include "nvfp4/Runtime/nvfp4_kernels.h"

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

namespace nvfp4::runtime {

/// The violation in `record`, or an empty text; the record is empty afterwards.
/// One of the threads that ask at a time gets it.
std::string takeViolation(nvfp4_data_record &record);

class DataRecords {
public:
  DataRecords() = default;
  ~DataRecords();
  DataRecords(const DataRecords &) = delete;
  DataRecords &operator=(const DataRecords &) = delete;

  /// Makes records for so many functions, which `device` can write.
  nvfp4_status make(nvfp4_device *device, size_t functions);
  /// Nobody must ask an empty one for records.
  bool isEmpty() const { return !records; }
  nvfp4_data_record &ofFunction(size_t index) { return records[index]; }

  /// A record that belongs to one call, empty at first. While other calls have
  /// all of them, the call waits for the end of one.
  class Lease {
  public:
    explicit Lease(DataRecords &records)
        : records(records), record(records.acquire()) {}
    ~Lease() { records.release(record); }
    Lease(const Lease &) = delete;
    Lease &operator=(const Lease &) = delete;
    nvfp4_data_record &get() const { return *record; }

  private:
    DataRecords &records;
    nvfp4_data_record *record;
  };

private:
  nvfp4_data_record *acquire();
  void release(nvfp4_data_record *record);

  nvfp4_device *device = nullptr;
  nvfp4_data_record *records = nullptr;
  std::mutex mutex;
  std::condition_variable isReleased;
  /// Records that no call has.
  std::vector<nvfp4_data_record *> available;
};

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_DEVICES_DATARECORDS_H
