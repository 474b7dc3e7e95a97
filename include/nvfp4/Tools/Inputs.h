//===- Inputs.h - Arguments from files --------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the specifications on a command line to the arguments of a call, checked
// against what the function takes.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TOOLS_INPUTS_H
#define NVFP4_TOOLS_INPUTS_H

#include "nvfp4/TensorIO/TensorRef.h"
#include "nvfp4/Tools/Signature.h"

namespace nvfp4::tools {

/// Loads one argument for each of `specs` and checks it against `signature`.
/// A specification is one of TensorRef, or `type:value` (`f32:1.5`, `i32:7`)
/// for a scalar. Same-sized integers are accepted for 8-bit floats and for
/// integers of the other sign, one-element tensors for scalars, and scales of
/// another shape with as many bytes; the last two add to `notes`. Results are
/// aligned for compiled code, and writable where the function writes.
tensorio::Expected<std::vector<tensorio::Tensor>>
loadInputs(const Signature &signature, const std::vector<std::string> &specs,
           std::vector<std::string> &notes);

} // namespace nvfp4::tools

#endif // NVFP4_TOOLS_INPUTS_H
