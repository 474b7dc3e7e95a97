//===- MappedFile.h - A read-only memory-mapped file ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keeps a whole file mapped for as long as a tensor refers to it. Pages are
// read on first use, so a checkpoint larger than memory can be opened.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TENSORIO_MAPPEDFILE_H
#define NVFP4_TENSORIO_MAPPEDFILE_H

#include "nvfp4/TensorIO/Expected.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace nvfp4::tensorio {

/// A regular file mapped read-only. Another process that shortens the file
/// while it is mapped makes the system deliver SIGBUS on access; writers of
/// this library replace files by renaming, which is safe.
class MappedFile {
public:
  /// Maps the regular file at `path`. Fails with the system's reason.
  static Expected<std::shared_ptr<const MappedFile>>
  open(const std::string &path);

  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  std::span<const std::byte> bytes() const { return {begin, size}; }

private:
  MappedFile(const std::byte *begin, size_t size) : begin(begin), size(size) {}

  const std::byte *begin;
  size_t size;
};

} // namespace nvfp4::tensorio

#endif // NVFP4_TENSORIO_MAPPEDFILE_H
