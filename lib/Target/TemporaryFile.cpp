//===- TemporaryFile.cpp - A file for another program -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM removes files when a signal ends the process, and then lets the handlers
// run that were there before.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Target/TemporaryFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace nvfp4::target;

Expected<std::unique_ptr<TemporaryFile>>
TemporaryFile::create(StringRef suffix) {
  std::unique_ptr<TemporaryFile> file(new TemporaryFile());
  int descriptor;
  if (std::error_code code =
          sys::fs::createTemporaryFile("nvfp4", suffix, descriptor, file->path))
    return createStringError("could not make a temporary file: " +
                             code.message());
  sys::Process::SafelyCloseFileDescriptor(descriptor);
  sys::RemoveFileOnSignal(file->path);
  return file;
}

TemporaryFile::~TemporaryFile() {
  if (path.empty())
    return;
  sys::fs::remove(path);
  sys::DontRemoveFileOnSignal(path);
}

Error TemporaryFile::write(StringRef bytes) const {
  std::error_code code;
  raw_fd_ostream os(path, code);
  if (!code) {
    os << bytes;
    os.close();
    code = os.error();
    // An error that is not cleared ends the process in the destructor.
    os.clear_error();
  }
  return code ? createStringError("could not write the temporary file '" +
                                  path + "': " + code.message())
              : Error::success();
}

Expected<std::string> TemporaryFile::read() const {
  auto buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return createStringError("could not read '" + path +
                             "': " + buffer.getError().message());
  return (*buffer)->getBuffer().str();
}
