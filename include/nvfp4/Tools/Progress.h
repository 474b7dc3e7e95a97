//===- Progress.h - Signs of life of long steps -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step of a tool that may take long says so while it runs: first after some
// seconds, then now and then, and at the end how long it took. Short steps say
// nothing.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TOOLS_PROGRESS_H
#define NVFP4_TOOLS_PROGRESS_H

#include "nvfp4/Tools/Report.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace nvfp4::tools {

/// One step, from construction to destruction. `report`, which must outlive
/// it, is called from a thread of its own while the step runs.
class Progress {
public:
  using Seconds = std::chrono::duration<double>;

  /// `what` is the step as in "reading the inputs". The first message comes
  /// after `first`, others every `interval`.
  Progress(const Report &report, std::string what, Seconds first = Seconds(2.0),
           Seconds interval = Seconds(10.0));
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

private:
  void watch(Seconds first, Seconds interval);

  const Report &report;
  std::string what;
  std::chrono::steady_clock::time_point start;
  std::mutex mutex;
  std::condition_variable ended;
  bool isDone = false, hasSpoken = false;
  std::thread watcher;
};

} // namespace nvfp4::tools

#endif // NVFP4_TOOLS_PROGRESS_H
