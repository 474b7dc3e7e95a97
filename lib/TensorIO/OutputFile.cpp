//===- OutputFile.cpp - A file that appears whole or not at all -*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Write to a file that is not the target, then rename.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/TensorIO/OutputFile.h"
#include "Text.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
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

/// Calls `make` with names beside `target` until one is not taken; the name,
/// empty on failure.
template <typename Callable>
static std::string findName(const std::string &target, Callable make) {
  static std::atomic<unsigned> count{0};
  for (unsigned attempt = 0; attempt < 1000; ++attempt) {
    std::string name = concat(target, ".", ::getpid(), "-", ++count, ".part");
    if (make(name.c_str()))
      return name;
    if (errno != EEXIST)
      break;
  }
  return {};
}

/// Where `path` leads through symbolic links, be there a file or not.
static std::string followLinks(const std::string &path) {
  namespace fs = std::filesystem;
  fs::path target = path;
  std::error_code error;
  // No more than the system itself follows.
  for (int links = 0; links < 40 && fs::is_symlink(target, error); ++links) {
    fs::path next = fs::read_symlink(target, error);
    if (error)
      break;
    target = target.parent_path() / next;
  }
  return target.string();
}

Expected<OutputFile> OutputFile::create(const std::string &path,
                                        unsigned mode) {
  if (path.empty())
    return Error{"expected the name of a file to write, but got none"};
  OutputFile file;
  file.path = path;
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
  if (exists ? ::access(path.c_str(), W_OK) != 0 : errno == ELOOP)
    return file.failure("open the file for writing");
  file.target = followLinks(path);
  if (Status opened = file.open(mode); !opened)
    return opened.takeError();
  // The writer of a file need not own it: the permissions are then new ones.
  if (exists)
    (void)::fchmod(file.descriptor, status.st_mode & 07777);
  return file;
}

Status OutputFile::open(unsigned mode) {
  std::string folder = std::filesystem::path(target).parent_path().string();
  descriptor = ::open(folder.empty() ? "." : folder.c_str(),
                      O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
  if (descriptor >= 0)
    return {};
  temporary = findName(target, [&](const char *name) {
    descriptor = ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    return descriptor >= 0;
  });
  return descriptor >= 0 ? Status() : failure("create the file");
}

Status OutputFile::name() {
  std::string open = concat("/proc/self/fd/", descriptor);
  temporary = findName(target, [&](const char *name) {
    return ::linkat(AT_FDCWD, open.c_str(), AT_FDCWD, name,
                    AT_SYMLINK_FOLLOW) == 0;
  });
  return temporary.empty() ? failure("create the file") : Status();
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
  if (!target.empty() && temporary.empty())
    if (Status status = name(); !status)
      return status;
  // Some file systems report a full disk only here.
  if (::close(std::exchange(descriptor, -1)) != 0)
    return failure("write the file");
  if (target.empty())
    return {};
  if (::rename(temporary.c_str(), target.c_str()) != 0)
    return failure("replace the file");
  temporary.clear();
  return {};
}

Status flushStandardOutput() {
  errno = 0;
  if (std::fflush(stdout) == 0 && !std::ferror(stdout))
    return {};
  // An error that a line before this one met has left no number.
  return Error{
      concat("cannot write to standard output",
             errno ? concat(": ", std::strerror(errno)) : std::string())};
}

} // namespace nvfp4::tensorio
