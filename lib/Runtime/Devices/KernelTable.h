//===- KernelTable.h - Kernels of an artefact on devices --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels are loaded per device, all of an artefact at once, and live as long
// as the artefact. Launches then look them up without loading or waiting.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_DEVICES_KERNELTABLE_H
#define NVFP4_LIB_RUNTIME_DEVICES_KERNELTABLE_H

#include "DataRecords.h"
#include "LaunchDevice.h"
#include "nvfp4/Runtime/nvfp4_kernels.h"

#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

namespace nvfp4::runtime {

/// The kernels of an artefact on one device.
class KernelTable {
public:
  ~KernelTable();

  /// Loads `entries`, which end with null; their limits are raised here, so
  /// that launches need not. Makes records for so many functions, if any.
  nvfp4_status load(nvfp4_device *device,
                    const nvfp4_kernel_entry *const *entries, size_t functions);
  /// Null if the artefact does not list it.
  nvfp4_kernel *find(const nvfp4_kernel_entry &entry) const;
  /// Violations that the kernels find.
  DataRecords &getRecords() const { return *records; }

private:
  /// Written by kernels, so that it ends after their modules.
  std::unique_ptr<DataRecords> records = std::make_unique<DataRecords>();
  std::vector<nvfp4_device_module *> modules;
  std::unordered_map<const nvfp4_kernel_entry *, nvfp4_kernel *> kernels;
};

/// The same on every device for which the artefact has been prepared.
class KernelTables {
public:
  /// `listed` is the artefact's symbol `nvfp4_kernels`, or null; so many
  /// functions are on device memory.
  void set(const nvfp4_kernel_entry *const *listed, size_t functions) {
    entries = listed;
    deviceFunctions = functions;
  }
  bool isEmpty() const { return !entries || !*entries; }
  /// The table of `device`, or null if it has none yet.
  const KernelTable *find(const LaunchDevice &device);
  /// The same, loaded if need be.
  nvfp4_status load(const LaunchDevice &device, const KernelTable *&table);

private:
  const nvfp4_kernel_entry *const *entries = nullptr;
  size_t deviceFunctions = 0;
  std::mutex mutex;
  std::map<const LaunchDevice *, std::unique_ptr<KernelTable>> tables;
};

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_DEVICES_KERNELTABLE_H
