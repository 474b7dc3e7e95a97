//===- RegisterDialects.cpp - What the fuzzer of MLIR text knows ----------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dialects and pipeline of MlirFuzzer. Of upstream only what callers write
// around our operations: findings are to be about our dialect.
//
//===----------------------------------------------------------------------===//

#include "RegisterDialects.h"

#include "nvfp4/InitAll.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"

namespace nvfp4::fuzz {

void registerDialects(mlir::DialectRegistry &registry) {
  // With their interface models; a dialect that no pass and no input names is
  // never loaded.
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  nvfp4::registerAllDialects(registry);
}

llvm::ArrayRef<llvm::StringRef> getInputDialects() {
  static constexpr llvm::StringRef kDialects[] = {"builtin",
                                                  "func",
                                                  "arith",
                                                  "tensor",
                                                  "scf",
                                                  "memref",
                                                  "grouped_scaled_gemm"};
  return kDialects;
}

const char *getPipeline() {
  [[maybe_unused]] static const bool registered = [] {
    nvfp4::registerAllPasses();
    return true;
  }();
  return "builtin.module(gsg-to-cpu{threads=false isa=generic})";
}

} // namespace nvfp4::fuzz
