//===- OutputFile.cpp - A file that appears whole or not at all -*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Write to a temporary file, then rename. A run that fails leaves the old file,
// if there was one, untouched.
//
//===----------------------------------------------------------------------===//

#include "OutputFile.h"
#include "Text.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace nvfp4::tensorio {

Error OutputFile::failure(std::string_view what) const {
  return errorIn(path, "cannot ", what, ": ", std::strerror(errno));
}

Expected<OutputFile> OutputFile::create(const std::string &path) {
  OutputFile file;
  file.path = path;
  file.target = path;
  struct stat status;
  bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode))
    return errorIn(path, "expected a file to write, but got a directory");
  if (exists && !S_ISREG(status.st_mode)) {
    file.descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file.descriptor < 0)
      return file.failure("open the file for writing");
    return file;
  }
  if (exists) {
    // A symbolic link keeps pointing where it did.
    std::error_code error;
    std::filesystem::path real = std::filesystem::canonical(path, error);
    if (!error)
      file.target = real.string();
  }
  file.temporary = concat(file.target, ".", ::getpid(), ".part");
  file.descriptor = ::open(file.temporary.c_str(),
                           O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file.descriptor < 0) {
    Error error = file.failure("create the file");
    file.temporary.clear();
    return error;
  }
  return file;
}

OutputFile::OutputFile(OutputFile &&other) noexcept
    : path(std::move(other.path)), target(std::move(other.target)),
      temporary(std::exchange(other.temporary, {})),
      descriptor(std::exchange(other.descriptor, -1)) {}

OutputFile::~OutputFile() {
  if (descriptor >= 0)
    ::close(descriptor);
  if (!temporary.empty())
    ::unlink(temporary.c_str());
}

Status OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return failure("write the file");
    bytes = bytes.subspan(written);
  }
  return {};
}

Status OutputFile::commit() {
  // Some file systems report a full disk only here.
  if (::close(std::exchange(descriptor, -1)) != 0)
    return failure("write the file");
  if (temporary.empty())
    return {};
  if (::rename(temporary.c_str(), target.c_str()) != 0)
    return failure("replace the file");
  temporary.clear();
  return {};
}

} // namespace nvfp4::tensorio
