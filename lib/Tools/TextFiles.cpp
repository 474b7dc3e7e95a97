//===- TextFiles.cpp - What tools read and write ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See TextFiles.h.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Tools/TextFiles.h"

#include "nvfp4/TensorIO/OutputFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace nvfp4;
using namespace nvfp4::tools;
using llvm::MemoryBuffer;
using tensorio::Error;
using tensorio::Expected;
using tensorio::Status;
namespace fs = llvm::sys::fs;

static constexpr size_t kLargestStream = size_t(256) << 20;

/// All that `file` gives, which may have no end.
static llvm::Expected<std::unique_ptr<MemoryBuffer>>
readStream(fs::file_t file, const std::string &path) {
  llvm::SmallVector<char, 0> text;
  constexpr size_t chunk = 1 << 20;
  for (size_t size = 0;;) {
    text.resize_for_overwrite(size + chunk);
    auto got = fs::readNativeFile(file, {text.data() + size, chunk});
    if (!got)
      return got.takeError();
    size += *got;
    if (*got == 0)
      return MemoryBuffer::getMemBufferCopy({text.data(), size}, path);
    if (size > kLargestStream)
      return llvm::createStringError("expected at most " +
                                     llvm::Twine(kLargestStream >> 20) +
                                     " MiB of text, but got more");
  }
}

Expected<std::unique_ptr<MemoryBuffer>>
tools::readText(const std::string &path) {
  auto fail = [&](const std::string &why) {
    return Error{"could not read '" + path + "': " + why};
  };
  fs::file_status status;
  if (path == "-" || (!fs::status(path, status) &&
                      status.type() != fs::file_type::regular_file &&
                      status.type() != fs::file_type::directory_file)) {
    fs::file_t file = fs::getStdinHandle();
    if (path != "-") {
      auto opened = fs::openNativeFileForRead(path);
      if (!opened)
        return fail(llvm::toString(opened.takeError()));
      file = *opened;
    }
    auto text = readStream(file, path == "-" ? "<stdin>" : path);
    if (path != "-")
      fs::closeFile(file);
    if (!text)
      return fail(llvm::toString(text.takeError()));
    return std::move(*text);
  }
  auto buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return fail(buffer.getError().message());
  return std::move(*buffer);
}

Status tools::writeText(const std::string &path, llvm::StringRef bytes,
                        bool executable) {
  if (path == "-") {
    llvm::outs() << bytes;
    return flushStandardOutput();
  }
  auto file = tensorio::OutputFile::create(path, executable ? 0777 : 0666);
  if (!file)
    return file.takeError();
  if (Status status = file->write(std::string_view(bytes)); !status)
    return status;
  return file->commit();
}

Status tools::checkOutputPath(const std::string &path) {
  if (path.empty())
    return Error{"expected the name of a file to write, but got none"};
  if (fs::is_directory(path))
    return Error{"could not write '" + path + "': it is a folder"};
  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  if (!folder.empty() && !fs::is_directory(folder))
    return Error{"could not write '" + path + "': there is no folder '" +
                 folder.str() + "'"};
  return {};
}

Status tools::flushStandardOutput() {
  llvm::raw_fd_ostream &out = llvm::outs();
  out.flush();
  std::error_code code = out.error();
  if (!code)
    return {};
  // An error that is not cleared ends the process in the destructor.
  out.clear_error();
  return Error{"could not write to standard output: " + code.message()};
}
