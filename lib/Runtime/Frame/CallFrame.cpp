//===- CallFrame.cpp - Where the device work of a call goes -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads of a parallel loop work for the call of the thread that began it, and
// so in its frame.
//
//===----------------------------------------------------------------------===//

#include "CallFrame.h"

using namespace nvfp4::runtime;

CallFrame *CallFrame::current() {
  nvfp4_call *call = nvfp4_call_current();
  return call ? call->frame : nullptr;
}
