//===- RegisterDialects.h - What the fuzzer of MLIR text knows --*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place that names the dialects and the pipeline of MlirFuzzer. A
// fuzzer that knows more needs a change here only.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TEST_FUZZ_REGISTERDIALECTS_H
#define NVFP4_TEST_FUZZ_REGISTERDIALECTS_H

#include "mlir/IR/DialectRegistry.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace nvfp4::fuzz {

/// Adds the dialects that inputs may use, with their interface models.
void registerDialects(mlir::DialectRegistry &registry);

/// The dialects of which an input may use operations; others are upstream's.
llvm::ArrayRef<llvm::StringRef> getInputDialects();

/// The passes to run on a valid module, as text for mlir::parsePassPipeline.
/// They may fail with a diagnostic, but not crash.
const char *getPipeline();

} // namespace nvfp4::fuzz

#endif // NVFP4_TEST_FUZZ_REGISTERDIALECTS_H
