//===- AssemblePtx.cpp - PTX to cubin by ptxas ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ptxas is a program; what it prints is handed on.
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

static Expected<std::string> findPtxas() {
  SmallVector<StringRef> folders;
  SmallString<128> home;
  if (const char *path = std::getenv("CUDA_HOME")) {
    home = path;
    sys::path::append(home, "bin");
    folders.push_back(home);
    if (auto program = sys::findProgramByName("ptxas", folders))
      return *program;
  }
  if (auto program = sys::findProgramByName("ptxas"))
    return *program;
  return createStringError("could not find ptxas in $CUDA_HOME/bin or PATH; "
                           "--emit=ptx needs none");
}

Expected<Cubin> nvfp4::target::assemblePtx(StringRef ptx,
                                           const GpuTarget &target) {
  Expected<std::string> program = findPtxas();
  if (!program)
    return program.takeError();
  auto input = TemporaryFile::create("ptx");
  if (!input)
    return input.takeError();
  auto output = TemporaryFile::create("cubin");
  if (!output)
    return output.takeError();
  auto notes = TemporaryFile::create("txt");
  if (!notes)
    return notes.takeError();
  if (Error error = (*input)->write(ptx))
    return std::move(error);
  StringRef arguments[] = {*program,
                           "-arch",
                           target.chip,
                           "-v",
                           (*input)->getPath(),
                           "-o",
                           (*output)->getPath()};
  std::optional<StringRef> redirects[] = {StringRef(), (*notes)->getPath(),
                                          (*notes)->getPath()};
  std::string problem;
  int status = sys::ExecuteAndWait(*program, arguments, std::nullopt, redirects,
                                   0, 0, &problem);
  Expected<std::string> text = (*notes)->read();
  if (!text)
    return text.takeError();
  if (status != 0)
    return createStringError("ptxas failed: " +
                             (problem.empty() ? *text : problem));
  Expected<std::string> bytes = (*output)->read();
  if (!bytes)
    return bytes.takeError();
  return Cubin{std::move(*bytes), std::move(*text)};
}
