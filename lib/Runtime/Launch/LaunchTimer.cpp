//===- LaunchTimer.cpp - How long kernels take ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sum is the process's, as tasks of several threads may be timed.
//
//===----------------------------------------------------------------------===//

#include "LaunchTimer.h"

#include "../Frame/KernelTimes.h"

using namespace nvfp4::runtime;

LaunchTimer::LaunchTimer(nvfp4_task &task)
    : task(task), isOn(areKernelsTimed()) {}

LaunchTimer::~LaunchTimer() {
  for (nvfp4_event *event : {first, last})
    if (event)
      nvfp4_event_destroy(task.device->device, event);
}

bool LaunchTimer::begin() {
  nvfp4_device *device = task.device->device;
  return !isOn || (task.check(nvfp4_event_create(device, 1, &first)) &&
                   task.check(nvfp4_event_create(device, 1, &last)) &&
                   task.check(nvfp4_event_record(device, first, task.stream)));
}

bool LaunchTimer::end() {
  return !isOn ||
         task.check(nvfp4_event_record(task.device->device, last, task.stream));
}

bool LaunchTimer::add() {
  float milliseconds = 0;
  if (!isOn)
    return true;
  if (!task.check(
          nvfp4_event_elapsed(task.device->device, first, last, &milliseconds)))
    return false;
  addKernelTime(1e3 * milliseconds);
  return true;
}
