//===- Passes.h - Passes that give modules an ABI ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The passes that give a module an interface for callers from outside, by their
// generated constructors.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TARGET_PASSES_H
#define NVFP4_TARGET_PASSES_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/Pass.h"

namespace nvfp4::target {

#define GEN_PASS_DECL
#include "nvfp4/Target/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "nvfp4/Target/Passes.h.inc"

} // namespace nvfp4::target

#endif // NVFP4_TARGET_PASSES_H
