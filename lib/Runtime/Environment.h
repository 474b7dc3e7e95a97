//===- Environment.h - Numbers in environment variables ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A variable that is set but empty counts as not set. Anything else than a
// number in the range is an error that names the variable and what it holds.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_ENVIRONMENT_H
#define NVFP4_LIB_RUNTIME_ENVIRONMENT_H

#include "nvfp4/Runtime/nvfp4_runtime.h"

#include <cstdint>

namespace nvfp4::runtime {

/// Sets `value` to the decimal number from `low` to `high` in the variable
/// `name`, or leaves it alone where the variable is not set. `what` says in the
/// message what is counted ("a number of threads").
nvfp4_status readEnvironment(const char *name, const char *what, int64_t low,
                             int64_t high, int64_t &value);

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_ENVIRONMENT_H
