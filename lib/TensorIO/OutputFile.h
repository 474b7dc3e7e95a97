//===- OutputFile.h - A file that appears whole or not at all ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writers go through this class, so that a reader never sees half a file and
// an input that is mapped can be overwritten. Private to the library.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_TENSORIO_OUTPUTFILE_H
#define NVFP4_LIB_TENSORIO_OUTPUTFILE_H

#include "nvfp4/TensorIO/Expected.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace nvfp4::tensorio {

/// Collects bytes in a temporary file beside the target and renames it on
/// commit. Without a commit nothing remains. Targets that are no regular file
/// (a pipe, a device) are written directly.
class OutputFile {
public:
  static Expected<OutputFile> create(const std::string &path);

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

  std::string path;
  std::string target;
  std::string temporary;
  int descriptor = -1;
};

} // namespace nvfp4::tensorio

#endif // NVFP4_LIB_TENSORIO_OUTPUTFILE_H
