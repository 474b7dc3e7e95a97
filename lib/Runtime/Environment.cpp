//===- Environment.cpp - Numbers in environment variables -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Signs, spaces and trailing text are no part of a number.
//
//===----------------------------------------------------------------------===//

#include "Environment.h"

#include "Error.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

using namespace nvfp4;

nvfp4_status runtime::readEnvironment(const char *name, const char *what,
                                      int64_t low, int64_t high,
                                      int64_t &value) {
  const char *set = std::getenv(name);
  if (!set || !*set)
    return NVFP4_OK;
  std::string_view text = set;
  int64_t number = 0;
  const char *end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || number < low || number > high)
    return fail(NVFP4_INVALID_ARGUMENT,
                "expected " + std::string(what) + " from " +
                    std::to_string(low) + " to " + std::to_string(high) +
                    " in " + name + ", but got '" + std::string(text) + "'");
  value = number;
  return NVFP4_OK;
}
