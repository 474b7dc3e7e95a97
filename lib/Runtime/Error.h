//===- Error.h - Status codes with a message --------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The thread's last error, and the text of shapes and types in messages.
// Failures are status codes with a text that nvfp4_last_error returns.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_ERROR_H
#define NVFP4_LIB_RUNTIME_ERROR_H

#include "nvfp4/Runtime/nvfp4_runtime.h"

#include <span>
#include <string>

namespace nvfp4::runtime {

/// Stores `message` as the thread's last error and returns `status`.
nvfp4_status fail(nvfp4_status status, std::string message);

/// Within a handler: the exception as the thread's last error, and its status.
/// Every function of the C interface that may throw ends in one, since callers
/// know of no exceptions.
nvfp4_status failWithException() noexcept;

/// `[2, ?, 3]`; negative extents are `?`.
std::string formatShape(std::span<const int64_t> shape);

/// `f32`, `u8`, `f8E4M3FN`, ... or the numbers of an unknown type.
std::string formatType(DLDataType type);

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_ERROR_H
