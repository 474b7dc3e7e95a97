//===- Enums.h - Enumerations that the dialect has as well -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Written by scripts/generate-enums from GroupedScaledGemmEnums.td.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_KERNELTARGET_ENUMS_H
#define NVFP4_KERNELTARGET_ENUMS_H

#include <optional>
#include <string_view>

namespace nvfp4::strategy {

/// Tile scheduler.
enum class Scheduler {
  StaticPersistent = 0,
  DynamicCounter = 1,
  LaunchControl = 2,
};

/// The word of the case in IR and on command lines.
constexpr std::string_view stringify(Scheduler value) {
  switch (value) {
  case Scheduler::StaticPersistent:
    return "static_persistent";
  case Scheduler::DynamicCounter:
    return "dynamic_counter";
  case Scheduler::LaunchControl:
    return "launch_control";
  }
  return "";
}

/// The case of a word, or nothing.
constexpr std::optional<Scheduler> parseScheduler(std::string_view word) {
  for (int number = 0; number < 3; ++number)
    if (stringify(static_cast<Scheduler>(number)) == word)
      return static_cast<Scheduler>(number);
  return std::nullopt;
}

} // namespace nvfp4::strategy

#endif // NVFP4_KERNELTARGET_ENUMS_H
