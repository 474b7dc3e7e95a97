//===- LaunchTimer.h - How long kernels take --------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of one task, if nvfp4_launch_set_timing asked for it.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_LAUNCH_LAUNCHTIMER_H
#define NVFP4_LIB_RUNTIME_LAUNCH_LAUNCHTIMER_H

#include "Task.h"

namespace nvfp4::runtime {

/// Events around a launch in the task's stream. False after an error, which is
/// the task's.
class LaunchTimer {
public:
  explicit LaunchTimer(nvfp4_task &task);
  ~LaunchTimer();

  bool begin();
  bool end();
  /// Once the stream is synchronised.
  bool add();

private:
  nvfp4_task &task;
  bool isOn;
  nvfp4_event *first = nullptr, *last = nullptr;
};

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_LAUNCH_LAUNCHTIMER_H
