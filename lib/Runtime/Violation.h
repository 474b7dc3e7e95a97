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

#include <string>

namespace nvfp4::runtime {

/// Keeps `message` if it is the first of the running call.
void recordViolation(std::string message);

/// What was found outside every call of this process; empty if nothing.
std::string takeStrayViolation();

/// One call of compiled code on this thread. Calls nest.
class CallScope {
public:
  CallScope();
  ~CallScope();
  CallScope(const CallScope &) = delete;
  CallScope &operator=(const CallScope &) = delete;

  /// The first violation, or a stray one; empty if there is none.
  std::string takeViolation();

private:
  friend void recordViolation(std::string message);
  CallScope *outer;
  std::string violation;
};

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_VIOLATION_H
