//===- InitAll.h - Everything the tools register ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything a tool needs to know of the project, in two calls. Libraries
// register nothing by themselves.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_INITALL_H
#define NVFP4_INITALL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace nvfp4 {

/// Inserts our dialects, their external models and the upstream dialects that
/// our pipelines produce.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Registers our passes and named pipelines.
void registerAllPasses();

} // namespace nvfp4

#endif // NVFP4_INITALL_H
