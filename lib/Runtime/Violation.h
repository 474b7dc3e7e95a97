//===- Violation.h - Data that break a constraint ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first violation of a call. Checks run on the thread that calls, or on
// threads of a parallel loop, which compiled code hands the call to
// (nvfp4_call_enter). What is found where no call is known belongs to
// nvfp4_take_violation.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_VIOLATION_H
#define NVFP4_LIB_RUNTIME_VIOLATION_H

#include "nvfp4/Runtime/nvfp4_checks.h"
#include "nvfp4/Runtime/nvfp4_runtime.h"

#include <mutex>
#include <string>

namespace nvfp4::runtime {

struct LaunchDevice;

/// Why a call fails that ran to its end.
struct Violation {
  nvfp4_status status = NVFP4_OK;
  std::string message;
};

/// Keeps `message` if it is the first of the running call.
void recordViolation(std::string message,
                     nvfp4_status status = NVFP4_INVALID_DATA) noexcept;

/// Within a handler: the exception as a violation.
void recordException() noexcept;

/// The first violation of a call, or of all code outside of calls. Any thread
/// may record.
class ViolationSlot {
public:
  void keepFirst(nvfp4_status status, std::string message) noexcept;
  /// The violation; NVFP4_OK if there is none. The slot is empty afterwards.
  Violation take();

private:
  std::mutex mutex;
  Violation violation;
};

} // namespace nvfp4::runtime

/// One call of compiled code on this thread. Calls nest.
struct nvfp4_call {
  nvfp4_call();
  ~nvfp4_call();
  nvfp4_call(const nvfp4_call &) = delete;
  nvfp4_call &operator=(const nvfp4_call &) = delete;

  nvfp4::runtime::ViolationSlot slot;
  /// Where its kernels run; null for the device of calls that name none.
  nvfp4::runtime::LaunchDevice *device = nullptr;

private:
  nvfp4_call *outer;
};

#endif // NVFP4_LIB_RUNTIME_VIOLATION_H
