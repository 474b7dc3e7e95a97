//===- OutputFile.h - A file that appears whole or not at all ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writers and tools go through this class, so that a reader never sees half a
// file, an input can be overwritten by what is made of it, and what fails or is
// interrupted leaves the old file and nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TENSORIO_OUTPUTFILE_H
#define NVFP4_TENSORIO_OUTPUTFILE_H

#include "nvfp4/TensorIO/Expected.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace nvfp4::tensorio {

/// Collects bytes in a file without a name, which ends with the process where
/// the file system has such files (and stands beside the target, with a name of
/// its own, elsewhere); a commit puts it in place of the target. Without one
/// nothing remains. A symbolic link keeps pointing where it did, and a file
/// that is replaced keeps its permissions. Targets that are no regular file (a
/// pipe, a device) are written directly.
class OutputFile {
public:
  /// A new file has the permissions `mode` as far as the umask lets it. An
  /// empty `path` is an error, and so is a file that may not be written.
  static Expected<OutputFile> create(const std::string &path,
                                     unsigned mode = 0666);

  OutputFile(OutputFile &&other) noexcept;
  OutputFile &operator=(OutputFile &&) = delete;
  ~OutputFile();

  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text) {
    return write(std::as_bytes(std::span(text.data(), text.size())));
  }
  Status commit();

private:
  OutputFile() = default;
  Error failure(std::string_view what) const;
  Status open(unsigned mode);
  /// Gives a file without a name one beside the target.
  Status name();

  std::string path;
  /// Where links lead; empty for what is written directly.
  std::string target;
  /// The name beside the target, or empty.
  std::string temporary;
  int descriptor = -1;
};

/// Whether all that was printed to C's standard output has been written.
Status flushStandardOutput();

} // namespace nvfp4::tensorio

#endif // NVFP4_TENSORIO_OUTPUTFILE_H
