//===- RegisterDialects.cpp - What the fuzzer of MLIR text knows ----------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dialects and pipeline of MlirFuzzer.
//
//===----------------------------------------------------------------------===//

#include "RegisterDialects.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/Passes.h"

namespace nvfp4::fuzz {

void registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::memref::MemRefDialect, mlir::tensor::TensorDialect>();
}

const char *getPipeline() {
  [[maybe_unused]] static const bool registered = [] {
    mlir::registerCanonicalizerPass();
    mlir::registerCSEPass();
    return true;
  }();
  return "builtin.module(canonicalize,cse)";
}

} // namespace nvfp4::fuzz
