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
static std::string stray;

CallScope::CallScope() : outer(current) { current = this; }

CallScope::~CallScope() { current = outer; }

std::string CallScope::takeViolation() {
  return violation.empty() ? takeStrayViolation()
                           : std::exchange(violation, std::string());
}

void nvfp4::runtime::recordViolation(std::string message) {
  if (current) {
    if (current->violation.empty())
      current->violation = std::move(message);
    return;
  }
  std::lock_guard<std::mutex> lock(strayMutex);
  if (stray.empty())
    stray = std::move(message);
}

std::string nvfp4::runtime::takeStrayViolation() {
  std::lock_guard<std::mutex> lock(strayMutex);
  return std::exchange(stray, std::string());
}

extern "C" nvfp4_status nvfp4_take_violation(void) {
  std::string message = takeStrayViolation();
  return message.empty() ? NVFP4_OK
                         : fail(NVFP4_INVALID_DATA, std::move(message));
}
