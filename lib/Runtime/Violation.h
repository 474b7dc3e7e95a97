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

#include <atomic>
#include <csetjmp>
#include <mutex>
#include <pthread.h>
#include <string>
#include <vector>

namespace nvfp4::runtime {

class CallFrame;

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
  bool isSet() const { return hasOne; }

private:
  std::mutex mutex;
  std::atomic<bool> hasOne{false};
  Violation violation;
};

} // namespace nvfp4::runtime

/// One call of compiled code on this thread. Calls nest.
struct nvfp4_call {
  nvfp4_call();
  ~nvfp4_call();
  nvfp4_call(const nvfp4_call &) = delete;
  nvfp4_call &operator=(const nvfp4_call &) = delete;

  /// Runs compiled code; false if it ended for want of memory, which is then
  /// the violation.
  bool run(void (*entry)(void **), void **values);
  /// Whether this thread can leave the code that `run` entered: it is the one
  /// that entered, and in no parallel loop since.
  bool canEnd() const;
  /// Frees the memory of the call and makes `run` return false.
  [[noreturn]] void end();
  /// Memory that the call frees if it ends; false if there is no room to
  /// remember it.
  bool keep(void *allocated) noexcept;
  void forget(void *freed) noexcept;

  nvfp4::runtime::ViolationSlot slot;
  /// Where its device work goes. Null for calls of code without kernels.
  nvfp4::runtime::CallFrame *frame = nullptr;

private:
  nvfp4_call *outer;
  std::jmp_buf start;
  pthread_t thread{};
  int level = 0;
  std::mutex mutex;
  std::vector<void *> memory;
};

#endif // NVFP4_LIB_RUNTIME_VIOLATION_H
