//===- SeparateQuantization.cpp - gsg-separate-quantization -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel quantises the part of one row that a thread holds. A quantisation
// that needs more becomes an operation beside the product, as it does on the
// CPU where blocks cross tiles.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/SeparateQuantization.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/KernelSupport.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/PatternMatch.h"

namespace nvfp4::gsg {
#define GEN_PASS_DEF_SEPARATEQUANTIZATIONPASS
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h.inc"
} // namespace nvfp4::gsg

using namespace mlir;
using namespace nvfp4::gsg;

/// The extents of y, as far as the type of the result leaves them open.
static SmallVector<Value> getDynamicExtents(OpBuilder &b, MatmulOp op) {
  Location loc = op.getLoc();
  ScaledType type = op.getQuantizedType();
  auto dim = [&](Value memref, int64_t index) -> Value {
    return memref::DimOp::create(b, loc, memref, index);
  };
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  int64_t last = type.getRank() - 1;
  SmallVector<Value> extents;
  for (int64_t d = 0; d < last; ++d)
    if (type.isDynamicDim(d))
      extents.push_back(dim(op.getOut(), d));
  if (!type.isDynamicDim(last))
    return extents;
  Value columns = dim(op.getOut(), last);
  if (type.isFP4()) {
    Value stored = arith::MulIOp::create(b, loc, columns, number(2));
    columns = stored;
    // Blocks along columns are whole: their number is even (matmul_c29). Else
    // the values do not tell an odd number of columns. Coded weights are
    // padded, but there is a scale for each column; an extent that disagrees
    // does not lead outside the values.
    if (!type.isKMajor()) {
      if (op.getRhsType().isCoded()) {
        Value scales = op.getOutScales();
        columns = dim(scales, cast<MemRefType>(scales.getType()).getRank() - 1);
      } else {
        Value weights = op.getRhs().front();
        columns =
            dim(weights, cast<MemRefType>(weights.getType()).getRank() - 2);
        if (op.getActivationOrIdentity().isPaired())
          columns = arith::DivUIOp::create(b, loc, columns, number(2));
      }
      columns = arith::MinSIOp::create(b, loc, columns, stored);
    }
  }
  extents.push_back(columns);
  return extents;
}

/// Bytes of zero for every element of `memref`.
static void clear(OpBuilder &b, Location loc, Value memref) {
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  TypedAttr zero = b.getZeroAttr(element);
  // Of UE8M0 the byte 0 is no zero.
  if (auto type = dyn_cast<FloatType>(element))
    zero = FloatAttr::get(
        type, APFloat(type.getFloatSemantics(), APInt(type.getWidth(), 0)));
  Value value = arith::ConstantOp::create(b, loc, zero);
  linalg::FillOp::create(b, loc, value, memref);
}

void nvfp4::gsg::separateQuantization(RewriterBase &rewriter, MatmulOp op) {
  Location loc = op.getLoc();
  auto type =
      MemRefType::get(op.getQuantizedType().getShape(), rewriter.getF32Type());
  Value y = memref::AllocOp::create(rewriter, loc, type,
                                    getDynamicExtents(rewriter, op),
                                    rewriter.getI64IntegerAttr(64));
  GroupingAttr grouping = op.getGrouping();
  if (op.getTail() == TailMode::Zero) {
    clear(rewriter, loc, op.getOut());
    clear(rewriter, loc, op.getOutScales());
  }
  // Groups along K have a matrix of the result each.
  bool cutsResult = grouping.hasGroupsOperand() && !getForm(grouping).cutsK();
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointAfter(op);
  QuantizeOp::create(rewriter, loc, TypeRange(), op.getQuantizerAttr(), y,
                     cutsResult ? op.getGroups() : Value(),
                     cutsResult ? grouping : GroupingAttr(),
                     op.getGlobalScale(), op.getSeed(), op.getOut(),
                     op.getOutScales(), op.getOutTypesAttr(), HadamardAttr());
  memref::DeallocOp::create(rewriter, loc, y);
  rewriter.modifyOpInPlace(op, [&] {
    op.removeQuantizerAttr();
    op.removeOutTypesAttr();
    op.getGlobalScaleMutable().clear();
    op.getSeedMutable().clear();
    op.getOutScalesMutable().clear();
    op.getOutMutable().assign(y);
  });
}

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
      separateQuantization(rewriter, op);
    });
  }
};
} // namespace
