//===- MatmulList.cpp - matmul_list -----------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A list of products is a table whose every entry is written where the
// operation stands.
//
//===----------------------------------------------------------------------===//

#include "../Product/ProductOperands.h"
#include "nvfp4/Conversion/GsgToCpu/Lower/OpLowerings.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::cpu;

namespace {
struct LowerMatmulList : OpRewritePattern<MatmulListOp> {
  LowerMatmulList(MLIRContext *context, ArrayRef<Isa> isas)
      : OpRewritePattern(context), isas(isas) {}

  LogicalResult matchAndRewrite(MatmulListOp op,
                                PatternRewriter &rewriter) const override;

private:
  SmallVector<Isa> isas;
};
} // namespace

static void fillProblem(MathBuilder &mb, OperandReader &read,
                        const ScaledOperand &lhs, const ScaledOperand &rhs,
                        Value out, Value entry) {
  auto set = [&](problem::Field field, Value value) {
    mb.store(value, entry, 8 * field);
  };
  Value zero = mb.i64Constant(0);
  set(problem::Rows, read.dim(lhs.data, 0));
  set(problem::Columns, read.dim(rhs.data, 0));
  set(problem::Depth, read.depthOf(lhs));
  for (problem::Field field : {problem::Phase, problem::LhsScaleRow,
                               problem::OutScaleRow, problem::FirstRow})
    set(field, zero);
  MemRefPieces data = read.split(lhs.data), scales = read.split(lhs.scales);
  set(problem::LhsData, data.address);
  set(problem::LhsRowStride, data.strides[0]);
  set(problem::LhsScales, scales.address);
  set(problem::LhsTileStride, scales.strides[0]);
  set(problem::LhsWordStride, wordStrideOf(mb, lhs.type, scales));
  fillWeights(mb, read, rhs, entry);
  MemRefPieces matrix = read.split(out);
  int64_t bytes = cast<MemRefType>(out.getType()).getElementTypeBitWidth() / 8;
  Value stride = mb.mul(matrix.strides[0], bytes);
  set(problem::OutData, matrix.address);
  set(problem::OutRowStride, stride);
  set(problem::AddendData, matrix.address);
  set(problem::AddendRowStride, stride);
}

static Type elementOf(Value memref) {
  return cast<MemRefType>(memref.getType()).getElementType();
}

// One kernel serves all problems, so they have one format and one layout.
std::string cpu::explainUnsupportedMatmulList(MatmulListOp op) {
  if (op.getLhs().size() != op.getRhs().size() ||
      op.getLhs().size() != op.getOuts().size())
    return "expected as many weights and destinations as activations";
  for (size_t i = 1; i < op.getLhs().size(); ++i)
    if (op.getLhsType(i).getFormat() != op.getLhsType(0).getFormat() ||
        op.getRhsType(i).getFormat() != op.getRhsType(0).getFormat() ||
        op.getLhsType(i).getLayout() != op.getLhsType(0).getLayout() ||
        op.getRhsType(i).getLayout() != op.getRhsType(0).getLayout() ||
        elementOf(op.getOuts()[i]) != elementOf(op.getOuts()[0]))
      return "expected problems of one format, scale layout and result type";
  return {};
}

LogicalResult
LowerMatmulList::matchAndRewrite(MatmulListOp op,
                                 PatternRewriter &rewriter) const {
  if (std::string reason = explainUnsupported(op); !reason.empty())
    return rewriter.notifyMatchFailure(op, reason);
  if (!op.hasExpandedEpilogue())
    return rewriter.notifyMatchFailure(op, "has no expanded epilogue");
  auto lhs =
      getScaledOperands(op.getLhs(), op.getLhsScales(), op.getLhsTypesAttr());
  auto rhs =
      getScaledOperands(op.getRhs(), op.getRhsScales(), op.getRhsTypesAttr());
  if (lhs.empty()) {
    rewriter.eraseOp(op);
    return success();
  }
  MathBuilder mb(rewriter, op.getLoc());
  Product product(op.getLoc());
  product.lhsType = lhs.front().type;
  product.rhsType = rhs.front().type;
  product.fixedRhs = true;
  OperandReader read(mb, product);
  product.out.element = elementOf(op.getOuts()[0]);
  product.epilogueRegion = &op.getEpilogue().front();
  if (op.getAlpha())
    product.alpha = read.perGroup(op.getAlpha());
  if (op.getBeta()) {
    product.beta = read.perGroup(op.getBeta());
    product.addend = product.out;
  }
  auto count = static_cast<int64_t>(lhs.size());
  return runProduct(rewriter, op, product, isas, mb.i64Constant(count),
                    [&](MathBuilder &, Value table) {
                      for (int64_t i = 0; i < count; ++i)
                        fillProblem(mb, read, lhs[i], rhs[i], op.getOuts()[i],
                                    mb.ptrAdd(table, 8 * problem::Count * i));
                    });
}

void cpu::populateMatmulListToCpuPatterns(RewritePatternSet &patterns,
                                          ArrayRef<Isa> isas) {
  patterns.add<LowerMatmulList>(patterns.getContext(), isas);
}
