//===- SeparateRows.cpp - gsg-separate-rows ---------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On tensors uses tell who reads rows; on memrefs, of which several tensors may
// have one, they no longer do.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace nvfp4::gsg {
#define GEN_PASS_DEF_SEPARATEROWSPASS
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h.inc"
} // namespace nvfp4::gsg

using namespace mlir;
using namespace nvfp4::gsg;

namespace {
struct SeparateRows : nvfp4::gsg::impl::SeparateRowsPassBase<SeparateRows> {
  using SeparateRowsPassBase::SeparateRowsPassBase;

  void runOnOperation() override {
    getOperation()->walk([](PermuteOp op) {
      auto empty = op.getOut().getDefiningOp<tensor::EmptyOp>();
      if (!empty || !op.getResult() || !op.getResult().hasOneUse() ||
          !isa<QuantizeOp>(*op.getResult().user_begin()))
        return;
      OpBuilder b(op);
      Value own = bufferization::AllocTensorOp::create(
          b, op.getLoc(), cast<RankedTensorType>(empty.getType()),
          empty.getDynamicSizes());
      op.getOutMutable().assign(own);
    });
  }
};
} // namespace
