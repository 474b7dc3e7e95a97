//===- TextFiles.h - What tools read and write ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Texts go in within a bound and come out whole or not at all, through
// tensorio::OutputFile.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TOOLS_TEXTFILES_H
#define NVFP4_TOOLS_TEXTFILES_H

#include "nvfp4/TensorIO/Expected.h"

#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>

namespace nvfp4::tools {

/// The text in `path`, or on standard input for `-`. A pipe or device may be
/// endless, so at most 256 MiB of it are read.
tensorio::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readText(const std::string &path);

/// Writes `bytes` to `path`, or to standard output for `-`. A new file that is
/// `executable` may be executed.
tensorio::Status writeText(const std::string &path, llvm::StringRef bytes,
                           bool executable = false);

/// Fails if `path` cannot be a new file because its folder does not exist or
/// it is a folder itself.
tensorio::Status checkOutputPath(const std::string &path);

/// Whether all that was printed has been written; further errors are then not
/// reported again.
tensorio::Status flushStandardOutput();

} // namespace nvfp4::tools

#endif // NVFP4_TOOLS_TEXTFILES_H
