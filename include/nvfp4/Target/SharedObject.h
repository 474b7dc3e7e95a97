//===- SharedObject.h - Object file to shared object ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the linker of the machine, found where the compiler runs. No compiler
// driver is needed.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TARGET_SHAREDOBJECT_H
#define NVFP4_TARGET_SHAREDOBJECT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace nvfp4::target {

/// Links the object file `object` into the shared object `output`. Shared
/// libraries in `libraries` (paths) become dependencies if a symbol of theirs
/// is used; their folders become the search path of the result.
///
/// The linker is the program that the environment variable NVFP4_LINKER names,
/// or else the first of ld.lld-22, ld.lld and ld in PATH or beside LLVM's
/// tools. Messages of the linker are part of the error.
llvm::Error linkSharedObject(llvm::StringRef object, llvm::StringRef output,
                             llvm::ArrayRef<std::string> libraries);

} // namespace nvfp4::target

#endif // NVFP4_TARGET_SHAREDOBJECT_H
