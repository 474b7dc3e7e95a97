//===- Violation.h - Data that break a constraint ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first violation of a call. Checks run on the thread that calls, which
// makes it the first in program order. Only an operation within a parallel loop
// is checked on another thread, where no call is known: what is found there
// belongs to whoever asks next.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_VIOLATION_H
#define NVFP4_LIB_RUNTIME_VIOLATION_H

#include "nvfp4/Runtime/nvfp4_runtime.h"

#include <string>

namespace nvfp4::runtime {

/// Why a call fails that ran to its end.
struct Violation {
  nvfp4_status status = NVFP4_OK;
  std::string message;
};

/// Keeps `message` if it is the first of the running call.
void recordViolation(std::string message,
                     nvfp4_status status = NVFP4_INVALID_DATA);

/// What was found outside every call of this process; NVFP4_OK if nothing.
Violation takeStrayViolation();

/// One call of compiled code on this thread. Calls nest.
class CallScope {
public:
  CallScope();
  ~CallScope();
  CallScope(const CallScope &) = delete;
  CallScope &operator=(const CallScope &) = delete;

  /// The first violation, or a stray one; NVFP4_OK if there is none.
  Violation takeViolation();

private:
  friend void recordViolation(std::string message, nvfp4_status status);
  CallScope *outer;
  Violation violation;
};

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_VIOLATION_H
