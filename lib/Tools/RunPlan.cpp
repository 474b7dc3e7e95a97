//===- RunPlan.cpp - What the options of nvfp4-run ask for ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Options of nvfp4-run are checked against each other before anything is
// loaded, so that a slip costs no minutes.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Tools/RunPlan.h"

#include "nvfp4/Tools/ReferenceRun.h"
#include "nvfp4/Tools/TextFiles.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace nvfp4;
using namespace nvfp4::tools;
using tensorio::Error;
using tensorio::Expected;
using tensorio::Status;

static constexpr unsigned kMaxRepeats = 1000000;

/// Whether two names are of one file, by links too, or would be.
static bool isOneFile(const std::string &a, const std::string &b) {
  llvm::sys::fs::UniqueID left, right;
  bool isThere = !llvm::sys::fs::getUniqueID(a, left);
  if (isThere != !llvm::sys::fs::getUniqueID(b, right))
    return false;
  if (isThere)
    return left == right && llvm::sys::fs::is_regular_file(a);
  llvm::SmallString<128> first(a), second(b);
  for (llvm::SmallString<128> *path : {&first, &second}) {
    llvm::sys::fs::make_absolute(*path);
    llvm::sys::path::remove_dots(*path, /*remove_dot_dot=*/true);
  }
  return first == second;
}

/// Two outputs in one file would leave only the later one.
static Status checkOutputPaths(llvm::ArrayRef<std::string> outputs) {
  for (auto [i, output] : llvm::enumerate(outputs)) {
    if (output == "-")
      continue;
    if (Status status = checkOutputPath(output); !status)
      return status;
    for (const std::string &earlier : outputs.take_front(i))
      if (earlier != "-" && isOneFile(earlier, output))
        return Error{"expected a file for each output, but got '" + earlier +
                     "' and '" + output + "', which are one file"};
  }
  return {};
}

bool tools::isGpuDevice(const std::string &device) {
  return device == "sim" || device == "cuda" || device.starts_with("cuda:");
}

Expected<RunPlan> RunPlan::get(const RunOptions &options,
                               std::vector<std::string> &notes) {
  RunPlan plan;
  bool isReference = options.device == "reference";
  if (options.device != "cpu" && !isReference && !isGpuDevice(options.device))
    return Error{"expected --device=cpu, cuda, sim or reference, but got '" +
                 options.device + "'"};
  if (options.exact && options.check.empty())
    return Error{"expected --check=reference with --exact, which says how to "
                 "compare"};
  if (!options.check.empty()) {
    auto spec = CheckSpec::parse(options.check);
    if (!spec)
      return spec.takeError();
    plan.sample = spec->sample;
    if (isReference)
      notes.push_back("--check=reference compares the interpreter with itself "
                      "under --device=reference; --device=cpu checks "
                      "compiled code");
  }
  if (!options.time.empty()) {
    if (llvm::StringRef(options.time).getAsInteger(10, plan.repeats) ||
        !plan.repeats || plan.repeats > kMaxRepeats)
      return Error{"expected a number of calls from 1 to " +
                   std::to_string(kMaxRepeats) + " after --time=, but got '" +
                   options.time + "'"};
    if (isReference) {
      plan.repeats = 0;
      notes.push_back("--time is for compiled code, not for "
                      "--device=reference");
    }
  }
  if (Status status = checkOutputPaths(options.outputs); !status)
    return status.takeError();
  return plan;
}
