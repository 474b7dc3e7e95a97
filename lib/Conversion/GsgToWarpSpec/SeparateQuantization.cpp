//===- SeparateQuantization.cpp - gsg-separate-quantization -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel quantises the part of one row that a thread holds. What needs more
// is left to the host, as it is on the CPU where blocks cross tiles.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/GsgToCpu/Lower/OpLowerings.h"
#include "nvfp4/Conversion/GsgToWarpSpec/GsgToWarpSpec.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/KernelSupport.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"

namespace nvfp4::gsg {
#define GEN_PASS_DEF_SEPARATEQUANTIZATIONPASS
#include "nvfp4/Conversion/GsgToWarpSpec/Passes.h.inc"
} // namespace nvfp4::gsg

using namespace mlir;
using namespace nvfp4::gsg;

namespace {
struct SeparateQuantization
    : nvfp4::gsg::impl::SeparateQuantizationPassBase<SeparateQuantization> {
  using SeparateQuantizationPassBase::SeparateQuantizationPassBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](MatmulOp op) {
      // With a destination of scales it is in storage form.
      Value scales = op.getOutScales();
      if (!scales || !isa<MemRefType>(scales.getType()) ||
          !needsSeparateQuantization(op))
        return;
      rewriter.setInsertionPoint(op);
      cpu::separateQuantization(rewriter, op);
    });
  }
};
} // namespace
