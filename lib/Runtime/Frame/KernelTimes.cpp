//===- KernelTimes.cpp - How long kernels take ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See KernelTimes.h.
//
//===----------------------------------------------------------------------===//

#include "KernelTimes.h"

#include "nvfp4/Runtime/nvfp4_launch.h"

#include <atomic>

static std::atomic<bool> isTiming{false};
static std::atomic<double> sum{0};

extern "C" void nvfp4_launch_set_timing(int enable) { isTiming = enable != 0; }

extern "C" double nvfp4_launch_take_time(void) { return sum.exchange(0); }

bool nvfp4::runtime::areKernelsTimed() { return isTiming; }

void nvfp4::runtime::addKernelTime(double microseconds) {
  sum.fetch_add(microseconds);
}
