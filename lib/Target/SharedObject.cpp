//===- SharedObject.cpp - Object file to shared object ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds a linker, gives it the C libraries by the names that a system without
// -dev packages has, and reports what it printed if it fails.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Target/SharedObject.h"
#include "nvfp4/Target/TemporaryFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace llvm;

static Expected<std::string> findLinker() {
  if (std::optional<std::string> chosen =
          sys::Process::GetEnv("NVFP4_LINKER")) {
    if (ErrorOr<std::string> path = sys::findProgramByName(*chosen))
      return *path;
    return createStringError("no linker '" + *chosen +
                             "', which NVFP4_LINKER names");
  }
  for (StringRef name : {"ld.lld-22", "ld.lld", "ld"}) {
    if (ErrorOr<std::string> path = sys::findProgramByName(name))
      return *path;
    if (ErrorOr<std::string> path =
            sys::findProgramByName(name, {NVFP4_LLVM_TOOLS_DIR}))
      return *path;
  }
  return createStringError(
      "no linker: expected ld.lld-22, ld.lld or ld in PATH, or the path of one "
      "in NVFP4_LINKER (Debian: apt-get install lld-22)");
}

/// The C libraries that generated code calls (memory, floating-point remainder
/// and the like), by the names that the system has without its -dev packages.
static void addSystemLibraries(SmallVectorImpl<std::string> &arguments) {
  for (StringRef library : {"libm.so.6", "libc.so.6"}) {
    for (StringRef folder :
         {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
          "/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib"}) {
      SmallString<128> path(folder);
      sys::path::append(path, library);
      if (!sys::fs::exists(path))
        continue;
      arguments.push_back(path.str().str());
      break;
    }
  }
}

Error nvfp4::target::linkSharedObject(StringRef object, StringRef output,
                                      ArrayRef<std::string> libraries) {
  Expected<std::string> linker = findLinker();
  if (!linker)
    return linker.takeError();
  SmallVector<std::string> arguments = {*linker, "-shared",     "--build-id",
                                        "-z",    "noexecstack", "--as-needed",
                                        "-o",    output.str(),  object.str()};
  for (const std::string &library : libraries) {
    arguments.push_back(library);
    arguments.push_back("-rpath");
    arguments.push_back(sys::path::parent_path(library).str());
  }
  addSystemLibraries(arguments);

  auto log = TemporaryFile::create("txt");
  if (!log)
    return log.takeError();
  SmallVector<StringRef> views(arguments.begin(), arguments.end());
  std::string message;
  int code =
      sys::ExecuteAndWait(*linker, views, /*Env=*/std::nullopt,
                          {StringRef(), (*log)->getPath(), (*log)->getPath()},
                          /*SecondsToWait=*/300, /*MemoryLimit=*/0, &message);
  if (code == 0)
    return Error::success();
  if (Expected<std::string> text = (*log)->read())
    message += (message.empty() ? "" : "\n") + *text;
  else
    consumeError(text.takeError());
  return createStringError("linking '" + output + "' with " + *linker +
                           " failed: " + StringRef(message).trim());
}
