//===- Violation.cpp - Data that break a constraint -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Violation.h.
//
//===----------------------------------------------------------------------===//

#include "Violation.h"

#include "Error.h"

#include <mutex>
#include <utility>

using namespace nvfp4::runtime;

static thread_local CallScope *current = nullptr;

static std::mutex strayMutex;
static Violation stray;

CallScope::CallScope() : outer(current) { current = this; }

CallScope::~CallScope() { current = outer; }

/// Stores what is told first.
static void keepFirst(Violation &kept, nvfp4_status status,
                      std::string message) {
  if (kept.status == NVFP4_OK)
    kept = {status, std::move(message)};
}

Violation CallScope::takeViolation() {
  return violation.status == NVFP4_OK ? takeStrayViolation()
                                      : std::exchange(violation, Violation());
}

void nvfp4::runtime::recordViolation(std::string message, nvfp4_status status) {
  if (current)
    return keepFirst(current->violation, status, std::move(message));
  std::lock_guard<std::mutex> lock(strayMutex);
  keepFirst(stray, status, std::move(message));
}

Violation nvfp4::runtime::takeStrayViolation() {
  std::lock_guard<std::mutex> lock(strayMutex);
  return std::exchange(stray, Violation());
}

extern "C" nvfp4_status nvfp4_take_violation(void) {
  Violation violation = takeStrayViolation();
  return violation.status == NVFP4_OK
             ? NVFP4_OK
             : fail(violation.status, std::move(violation.message));
}
