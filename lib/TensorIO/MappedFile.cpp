//===- MappedFile.cpp - A read-only memory-mapped file ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// open, fstat, mmap, close. Files are mapped, not read: a checkpoint may be
// larger than memory.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/TensorIO/MappedFile.h"
#include "Text.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nvfp4::tensorio {

Expected<std::shared_ptr<const MappedFile>>
MappedFile::open(const std::string &path) {
  auto fail = [&](std::string_view what) {
    return errorIn(path, "cannot ", what, ": ", std::strerror(errno));
  };
  // O_NONBLOCK: opening a named pipe must not wait for a writer.
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return fail("open the file");
  struct stat status;
  if (::fstat(descriptor, &status) != 0) {
    Error error = fail("inspect the file");
    ::close(descriptor);
    return error;
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(descriptor);
    return errorIn(path, "expected a regular file, but got a ",
                   S_ISDIR(status.st_mode) ? "directory" : "special file");
  }
  size_t size = status.st_size;
  void *memory = nullptr;
  // mmap refuses a length of zero.
  if (size) {
    memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (memory == MAP_FAILED) {
      Error error = fail("map the file into memory");
      ::close(descriptor);
      return error;
    }
  }
  ::close(descriptor);
  return std::shared_ptr<const MappedFile>(
      new MappedFile(static_cast<const std::byte *>(memory), size));
}

MappedFile::~MappedFile() {
  if (begin)
    ::munmap(const_cast<std::byte *>(begin), size);
}

} // namespace nvfp4::tensorio
