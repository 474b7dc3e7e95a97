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

#include <utility>

using namespace nvfp4::runtime;

static thread_local nvfp4_call *current = nullptr;

/// Violations in code outside of any known call.
static ViolationSlot stray;

nvfp4_call::nvfp4_call() : outer(current) { current = this; }

nvfp4_call::~nvfp4_call() { current = outer; }

void ViolationSlot::keepFirst(nvfp4_status status,
                              std::string message) noexcept {
  std::lock_guard<std::mutex> lock(mutex);
  if (violation.status == NVFP4_OK)
    violation = {status, std::move(message)};
  hasOne = true;
}

Violation ViolationSlot::take() {
  std::lock_guard<std::mutex> lock(mutex);
  hasOne = false;
  return std::exchange(violation, Violation());
}

void nvfp4::runtime::recordViolation(std::string message,
                                     nvfp4_status status) noexcept {
  (current ? current->slot : stray).keepFirst(status, std::move(message));
}

void nvfp4::runtime::recordException() noexcept {
  nvfp4_status status = failWithException();
  try {
    recordViolation(nvfp4_last_error(), status);
  } catch (...) {
    // No memory for the text: the status tells it.
    recordViolation({}, status);
  }
}

extern "C" nvfp4_call *nvfp4_call_current(void) { return current; }

extern "C" nvfp4_call *nvfp4_call_enter(nvfp4_call *call) {
  return std::exchange(current, call);
}

extern "C" nvfp4_status nvfp4_take_violation(void) try {
  Violation violation = stray.take();
  return violation.status == NVFP4_OK
             ? NVFP4_OK
             : fail(violation.status, std::move(violation.message));
} catch (...) {
  return failWithException();
}
