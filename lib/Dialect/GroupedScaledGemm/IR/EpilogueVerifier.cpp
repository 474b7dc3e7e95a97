//===- EpilogueVerifier.cpp - Verifier of epilogue regions ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The region of a `matmul` with a custom activation: its arguments, and that it
// computes one element of y without side effects, so that a target may evaluate
// it on whatever vectors and in whatever order it likes.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace nvfp4::gsg;

/// True if an epilogue region may hold `op`: scalar arithmetic.
static bool isScalarArithmetic(Operation &op) {
  return isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
             op.getDialect()) &&
         op.getNumRegions() == 0 && isMemoryEffectFree(&op) &&
         llvm::all_of(op.getResultTypes(),
                      [](Type type) { return type.isIntOrIndexOrFloat(); });
}

// matmul_c38 is the trait IsolatedFromAbove.
LogicalResult MatmulOp::verifyRegions() {
  if (getEpilogue().empty())
    return success();
  Block &block = getEpilogue().front();
  bool paired = getActivationOrIdentity().isPaired();
  size_t expected = (paired ? 2 : 1) + getRow().size() + getColumn().size() +
                    getGroup().size();
  // matmul_c34
  if (block.getNumArguments() != expected)
    return emitOpError("expected an epilogue region with ")
           << expected << " arguments (" << (paired ? "gate, up" : "z")
           << ", then one for each row, column and group operand), but got "
           << block.getNumArguments();
  for (BlockArgument argument : block.getArguments())
    // matmul_c35
    if (!argument.getType().isF32())
      return emitOpError("expected arguments of the epilogue region of type "
                         "f32, but got ")
             << argument.getType();
  // matmul_c36
  if (block.empty() || !isa<YieldOp>(block.back()))
    return emitOpError("expected the epilogue region to end in "
                       "grouped_scaled_gemm.yield, but got ")
           << (block.empty() ? "no operation"
                             : block.back().getName().getStringRef());
  for (Operation &nested : block.without_terminator()) {
    // matmul_c37
    if (isScalarArithmetic(nested))
      continue;
    InFlightDiagnostic diag =
        emitOpError("expected scalar operations of arith and math without "
                    "side effects in the epilogue region");
    diag.attachNote(nested.getLoc()) << "got '" << nested.getName() << "'";
    return diag;
  }
  return success();
}
