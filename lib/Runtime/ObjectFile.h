//===- ObjectFile.h - Whether a shared object is whole ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A check that the dynamic linker does not make before it maps a file: pages
// past the end of a truncated file are a SIGBUS.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_OBJECTFILE_H
#define NVFP4_LIB_RUNTIME_OBJECTFILE_H

#include <string>

namespace nvfp4::runtime {

/// The fault of the shared object `file`: no ELF file, or shorter than its
/// program and section headers say. Empty if there is none, or if the file
/// cannot be opened or is for another machine, which the dynamic linker
/// reports.
std::string problemOfObjectFile(const std::string &file);

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_OBJECTFILE_H
