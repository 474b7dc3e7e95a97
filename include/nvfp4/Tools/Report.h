//===- Report.h - What tools tell their users -------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Errors, notes and progress leave this library through one function, which the
// main file of a tool hands in: only that knows where its standard error is.
// Diagnostics of MLIR go through their own handlers.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TOOLS_REPORT_H
#define NVFP4_TOOLS_REPORT_H

#include <functional>
#include <string>

namespace nvfp4::tools {

/// Takes one message for the user, without a line end. Progress is
/// reported from a thread of its own.
using Report = std::function<void(const std::string &message)>;

} // namespace nvfp4::tools

#endif // NVFP4_TOOLS_REPORT_H
