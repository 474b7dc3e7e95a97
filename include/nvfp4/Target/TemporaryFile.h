//===- TemporaryFile.h - A file for another program -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linkers and assemblers read and write files with names.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TARGET_TEMPORARYFILE_H
#define NVFP4_TARGET_TEMPORARYFILE_H

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace nvfp4::target {

/// A file in the folder for such, which goes with the object, or if a signal
/// ends the process.
class TemporaryFile {
public:
  /// An empty file whose name ends in `suffix`.
  static llvm::Expected<std::unique_ptr<TemporaryFile>>
  create(llvm::StringRef suffix);

  TemporaryFile(const TemporaryFile &) = delete;
  ~TemporaryFile();

  llvm::StringRef getPath() const { return path; }
  llvm::Error write(llvm::StringRef bytes) const;
  llvm::Expected<std::string> read() const;

private:
  TemporaryFile() = default;
  llvm::SmallString<128> path;
};

} // namespace nvfp4::target

#endif // NVFP4_TARGET_TEMPORARYFILE_H
