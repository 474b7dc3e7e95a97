//===- RunOptions.h - run options as text -----------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The options of a run that every front end has in common: the command line of
// nvfp4-sim, and NVFP4_SIM_OPTIONS of the device.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_RUNOPTIONS_H
#define NVFP4_SIMULATOR_RUNOPTIONS_H

#include "nvfp4/Simulator/Machine/Launch.h"

#include <initializer_list>
#include <set>
#include <string>

namespace nvfp4::sim {

/// Whether `name` (with its dashes) is an option of runs, and whether a value
/// follows it.
enum class RunOptionKind { Unknown, Flag, Value };
RunOptionKind runOptionKind(const std::string &name);

/// Sets one option; the value of a flag is empty. Returns what is wrong, or an
/// empty string.
std::string setRunOption(const std::string &name, const std::string &value,
                         RunOptions &options);

/// "unknown option '--name' (nearest: --other)", where the other is an option
/// of runs or one of `others`, which the front end has besides. All of them
/// where none is near.
std::string unknownOption(const std::string &name,
                          std::initializer_list<const char *> others);

/// The conflict between options that are given together, by the names of all of
/// them, or an empty string.
std::string checkTogether(const std::set<std::string> &names);

/// "expected X for --name, but got 'value'".
std::string badOptionValue(const std::string &name, const std::string &value,
                           const std::string &expected);

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_RUNOPTIONS_H
