//===- AssemblePtx.cpp - PTX to cubin by ptxas ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NVIDIA's ptxas and fatbinary are programs; what they print is handed on.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Target/GpuTarget.h"
#include "nvfp4/Target/TemporaryFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <cstdlib>

using namespace llvm;
using namespace nvfp4::target;

/// A program of the CUDA Toolkit.
static Expected<std::string> findProgram(StringRef name) {
  SmallVector<StringRef> folders;
  SmallString<128> home;
  if (const char *path = std::getenv("CUDA_HOME")) {
    home = path;
    sys::path::append(home, "bin");
    folders.push_back(home);
    if (auto program = sys::findProgramByName(name, folders))
      return *program;
  }
  if (auto program = sys::findProgramByName(name))
    return *program;
  return createStringError("could not find " + name +
                           " in $CUDA_HOME/bin or PATH; PTX needs none");
}

/// Runs the program `name`; what it prints, or an error that says so.
static Expected<std::string> runProgram(StringRef name,
                                        ArrayRef<StringRef> arguments) {
  Expected<std::string> program = findProgram(name);
  if (!program)
    return program.takeError();
  auto notes = TemporaryFile::create("txt");
  if (!notes)
    return notes.takeError();
  SmallVector<StringRef> all = {*program};
  all.append(arguments.begin(), arguments.end());
  std::optional<StringRef> redirects[] = {StringRef(), (*notes)->getPath(),
                                          (*notes)->getPath()};
  std::string problem;
  int status = sys::ExecuteAndWait(*program, all, std::nullopt, redirects, 0, 0,
                                   &problem);
  Expected<std::string> text = (*notes)->read();
  if (text && status != 0)
    return createStringError(name +
                             " failed: " + (problem.empty() ? *text : problem));
  return text;
}

namespace {
/// The files of one run: PTX, its cubin, and both of them.
struct Files {
  std::unique_ptr<TemporaryFile> ptx, cubin, both;
  /// The text that ptxas prints.
  std::string notes;
};
} // namespace

static Error create(std::unique_ptr<TemporaryFile> &file, StringRef suffix) {
  auto created = TemporaryFile::create(suffix);
  if (!created)
    return created.takeError();
  file = std::move(*created);
  return Error::success();
}

static Expected<Files> runPtxas(StringRef ptx, const GpuTarget &target) {
  Files files;
  if (Error error = create(files.ptx, "ptx"))
    return error;
  if (Error error = create(files.cubin, "cubin"))
    return error;
  if (Error error = files.ptx->write(ptx))
    return error;
  Expected<std::string> notes =
      runProgram("ptxas", {"-arch", target.chip, "-v", files.ptx->getPath(),
                           "-o", files.cubin->getPath()});
  if (!notes)
    return notes.takeError();
  files.notes = std::move(*notes);
  return files;
}

Expected<Cubin> nvfp4::target::assemblePtx(StringRef ptx,
                                           const GpuTarget &target) {
  Expected<Files> files = runPtxas(ptx, target);
  if (!files)
    return files.takeError();
  Expected<std::string> bytes = files->cubin->read();
  if (!bytes)
    return bytes.takeError();
  return Cubin{std::move(*bytes), std::move(files->notes)};
}

Expected<std::string>
nvfp4::target::assembleFatBinary(StringRef ptx, const GpuTarget &target) {
  Expected<Files> files = runPtxas(ptx, target);
  if (!files)
    return files.takeError();
  if (Error error = create(files->both, "fatbin"))
    return error;
  StringRef sm = target.chip;
  sm.consume_front("sm_");
  auto image = [&](StringRef kind, const TemporaryFile &file) {
    return ("--image3=kind=" + kind + ",sm=" + sm + ",file=" + file.getPath())
        .str();
  };
  std::string elf = image("elf", *files->cubin),
              text = image("ptx", *files->ptx);
  std::string output = ("--create=" + files->both->getPath()).str();
  Expected<std::string> notes =
      runProgram("fatbinary", {"-64", output, elf, text});
  if (!notes)
    return notes.takeError();
  return files->both->read();
}
