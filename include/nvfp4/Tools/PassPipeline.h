//===- PassPipeline.h - Passes that a user asks for -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes that a user asks for by their names, before a module is compiled.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TOOLS_PASSPIPELINE_H
#define NVFP4_TOOLS_PASSPIPELINE_H

#include "nvfp4/Tools/Report.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"

namespace nvfp4::tools {

/// Runs a pipeline in MLIR's syntax on `module`, in place:
/// `builtin.module(gsg-fuse-epilogue,cse)` or, without the anchor,
/// `gsg-fuse-epilogue,cse`. Knows all passes of this project and of upstream;
/// an empty text has none. Reports what cannot be parsed and that passes
/// failed; what they refused is a diagnostic. After a failure of a pass the
/// module is good for nothing but being destroyed.
mlir::LogicalResult runPassPipeline(mlir::ModuleOp module, llvm::StringRef text,
                                    const Report &report);

} // namespace nvfp4::tools

#endif // NVFP4_TOOLS_PASSPIPELINE_H
