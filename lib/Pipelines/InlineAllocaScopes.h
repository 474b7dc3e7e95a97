//===- InlineAllocaScopes.h - Bodies of parallel loops ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_PIPELINES_INLINEALLOCASCOPES_H
#define NVFP4_LIB_PIPELINES_INLINEALLOCASCOPES_H

#include <memory>

namespace mlir {
class Pass;
} // namespace mlir

namespace nvfp4 {

/// A pass that moves the bodies of `memref.alloca_scope` operations without
/// stack allocations to where the operations stand.
std::unique_ptr<mlir::Pass> createInlineAllocaScopesPass();

} // namespace nvfp4

#endif // NVFP4_LIB_PIPELINES_INLINEALLOCASCOPES_H
