//===- ArtefactVersion.h - What compiler and runtime agree on ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled modules carry the number of the agreement that they were made for:
// the description of their functions, and what they call in the runtime.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_RUNTIME_ARTEFACTVERSION_H
#define NVFP4_RUNTIME_ARTEFACTVERSION_H

#include <cstdint>

namespace nvfp4::runtime {

/// Written into the description of a module, and the only one that the runtime
/// reads. To be raised when the meaning of the description or the arguments of
/// a function that compiled code calls change, or it passes a new flag;
/// scripts/check-artefact-version says when.
/// Declarations: 72772b034eed498e
inline constexpr int64_t kArtefactVersion = 6;

} // namespace nvfp4::runtime

#endif // NVFP4_RUNTIME_ARTEFACTVERSION_H
