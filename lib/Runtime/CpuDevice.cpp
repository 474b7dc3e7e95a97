//===- CpuDevice.cpp - The host's CPU and its threads -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The number of threads: what the caller chose, else NVFP4_NUM_THREADS, else
// what OpenMP would take.
//
//===----------------------------------------------------------------------===//

#include "Device.h"
#include "Environment.h"
#include "Error.h"

#include <atomic>

using namespace nvfp4::runtime;

// LLVM's OpenMP runtime, which compiled code calls, whatever the compiler that
// builds this file would choose.
extern "C" void omp_set_num_threads(int count);
extern "C" int omp_get_max_threads(void);

/// More threads than any machine has are a slip of the pen.
static constexpr long kMaxThreads = 4096;

/// Threads asked for by nvfp4_set_num_threads; 0 if none were.
static std::atomic<int> chosenThreads = 0;

/// Sets the thread count of parallel regions that this thread starts, which
/// OpenMP keeps per thread.
static nvfp4_status applyThreads() {
  static const int defaultThreads = omp_get_max_threads();
  int64_t count = chosenThreads;
  if (!count)
    if (nvfp4_status status = readEnvironment(
            "NVFP4_NUM_THREADS", "a number of threads", 1, kMaxThreads, count))
      return status;
  // OpenMP read its variable when the process started, and ends the process
  // where the system has no room for so many.
  if (!count && defaultThreads > kMaxThreads)
    return fail(NVFP4_INVALID_ARGUMENT,
                "expected a number of threads from 1 to " +
                    std::to_string(kMaxThreads) +
                    " in OMP_NUM_THREADS, but got " +
                    std::to_string(defaultThreads));
  omp_set_num_threads(count ? static_cast<int>(count) : defaultThreads);
  return NVFP4_OK;
}

extern "C" nvfp4_status nvfp4_set_num_threads(int count) try {
  if (count < 0 || count > kMaxThreads)
    return fail(NVFP4_INVALID_ARGUMENT,
                "expected a number of threads from 0 (default) to " +
                    std::to_string(kMaxThreads) + ", but got " +
                    std::to_string(count));
  chosenThreads = count;
  return NVFP4_OK;
} catch (...) {
  return failWithException();
}

extern "C" int nvfp4_num_threads(void) try {
  return applyThreads() == NVFP4_OK ? omp_get_max_threads() : 0;
} catch (...) {
  return 0;
}

namespace {
class CpuDevice final : public Device {
public:
  const char *name() const override { return "cpu"; }
  DLDevice resultPlace() const override { return {kDLCPU, 0}; }
  bool reaches(DLDevice place) const override {
    return place.device_type == kDLCPU || place.device_type == kDLCUDAHost ||
           place.device_type == kDLROCMHost;
  }
  nvfp4_status prepareCall(void *stream) override {
    if (stream)
      return fail(NVFP4_INVALID_ARGUMENT,
                  "expected a null stream for device cpu");
    int isa = 0;
    if (nvfp4_status status = nvfp4_choose_cpu_isa(&isa))
      return status;
    return applyThreads();
  }
  void release(void *allocation) override { std::free(allocation); }
};
} // namespace

Device &nvfp4::runtime::getCpuDevice() {
  static CpuDevice device;
  return device;
}
