//===- compiler.cpp - a compiler on the installed package -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registers the dialects of the installed package and parses a type.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/InitAll.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/MLIRContext.h"

int main() {
  mlir::DialectRegistry registry;
  nvfp4::registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  mlir::Type type = mlir::parseType(
      "!grouped_scaled_gemm.scaled<?x64, nvfp4, blocked>", &context);
  llvm::outs() << (mlir::isa_and_present<nvfp4::gsg::ScaledType>(type)
                       ? "scaled type parsed\n"
                       : "no scaled type\n");
}
