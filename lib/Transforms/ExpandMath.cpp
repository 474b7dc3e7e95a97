//===- ExpandMath.cpp - nvfp4-expand-math -----------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's polynomials, and intrinsics for what is left of them.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace nvfp4 {
#define GEN_PASS_DEF_EXPANDMATHPASS
#include "nvfp4/Transforms/Passes.h.inc"
} // namespace nvfp4

using namespace mlir;

namespace {
template <typename OpTy> struct UseIntrinsic : OpRewritePattern<OpTy> {
  UseIntrinsic(MLIRContext *context, StringRef name)
      : OpRewritePattern<OpTy>(context), name(name) {}

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(
        op, op.getType(), rewriter.getStringAttr(name), op->getOperands());
    return success();
  }

  StringRef name;
};

struct ExpandMath : nvfp4::impl::ExpandMathPassBase<ExpandMath> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa<math::MathDialect>(op->getDialect()))
        ops.push_back(op);
    });
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    math::populateExpansionPatterns(patterns, {"exp2", "rsqrt"});
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      return llvm::is_contained(
          {"math.exp", "math.log", "math.tanh", "math.erf"}, name);
    });
    patterns.add<UseIntrinsic<math::AbsFOp>>(context, "llvm.fabs");
    patterns.add<UseIntrinsic<math::CeilOp>>(context, "llvm.ceil");
    patterns.add<UseIntrinsic<math::CopySignOp>>(context, "llvm.copysign");
    patterns.add<UseIntrinsic<math::FloorOp>>(context, "llvm.floor");
    patterns.add<UseIntrinsic<math::FmaOp>>(context, "llvm.fma");
    patterns.add<UseIntrinsic<math::SqrtOp>>(context, "llvm.sqrt");
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    (void)applyOpPatternsGreedily(ops, std::move(patterns), config);
  }
};
} // namespace
