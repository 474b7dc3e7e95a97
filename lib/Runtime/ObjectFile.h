//===- ObjectFile.h - Whether a shared object is whole ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the dynamic linker does not look at before it maps a file: pages behind
// the end of a truncated one are a SIGBUS.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_OBJECTFILE_H
#define NVFP4_LIB_RUNTIME_OBJECTFILE_H

#include <string>

namespace nvfp4::runtime {

/// What is wrong with the shared object `file`: no ELF file, or shorter than
/// its program and section headers say. Empty when nothing is, or when the file
/// cannot be opened or is for another machine, which the dynamic linker says.
std::string problemOfObjectFile(const std::string &file);

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_OBJECTFILE_H
