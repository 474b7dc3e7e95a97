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

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

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

static Expected<std::string> readFile(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return createStringError("could not read '" + path +
                             "': " + buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

Expected<Cubin> nvfp4::target::assemblePtx(StringRef ptx,
                                           const GpuTarget &target) {
  Expected<std::string> program = findPtxas();
  if (!program)
    return program.takeError();
  SmallString<128> input, output, notes;
  int descriptor;
  for (auto [path, suffix] :
       {std::pair(&input, "ptx"), {&output, "cubin"}, {&notes, "txt"}}) {
    if (std::error_code code =
            sys::fs::createTemporaryFile("nvfp4", suffix, descriptor, *path))
      return createStringError("could not make a temporary file: " +
                               code.message());
    raw_fd_ostream os(descriptor, /*shouldClose=*/true);
    if (path == &input)
      os << ptx;
  }
  FileRemover removeInput(input), removeOutput(output), removeNotes(notes);
  StringRef arguments[] = {*program, "-arch", target.chip, "-v",
                           input,    "-o",    output};
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(notes),
                                          StringRef(notes)};
  std::string problem;
  int status = sys::ExecuteAndWait(*program, arguments, std::nullopt, redirects,
                                   0, 0, &problem);
  Expected<std::string> text = readFile(notes);
  if (!text)
    return text.takeError();
  if (status != 0)
    return createStringError("ptxas failed: " +
                             (problem.empty() ? *text : problem));
  Expected<std::string> bytes = readFile(output);
  if (!bytes)
    return bytes.takeError();
  return Cubin{std::move(*bytes), std::move(*text)};
}
