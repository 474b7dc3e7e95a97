//===- Matmul.cpp - matmul --------------------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Records the operands of `matmul` in a frame; everything else happens in the
// functions of the product.
//
//===----------------------------------------------------------------------===//

#include "../Product/ProductEmitter.h"
#include "../Product/ProductOperands.h"
#include "nvfp4/Conversion/GsgArithmetic/EpilogueRegion.h"
#include "nvfp4/Conversion/GsgToCpu/Lower/OpLowerings.h"
#include "nvfp4/Conversion/GsgToLoops/StorageAccess.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/SeparateQuantization.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::cpu;
using namespace nvfp4::gsg::loops;

namespace {
struct LowerMatmul : OpRewritePattern<MatmulOp> {
  LowerMatmul(MLIRContext *context, ArrayRef<Isa> isas)
      : OpRewritePattern(context), isas(isas) {}

  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override;

private:
  SmallVector<Isa> isas;
};

/// Everything about the operands of one op.
struct MatmulOperands {
  MatmulOp op;
  MathBuilder &mb;
  Product &product;
  OperandReader read;
  SmallVector<ScaledOperand> lhs, rhs;
  Value numGroups, rowsPerGroup, totalRows;

  MatmulOperands(MatmulOp op, MathBuilder &mb, Product &product)
      : op(op), mb(mb), product(product), read(mb, product),
        lhs(getScaledOperands(op.getLhs(), op.getLhsScales(),
                              op.getLhsTypesAttr())),
        rhs(getScaledOperands(op.getRhs(), op.getRhsScales(),
                              op.getRhsTypesAttr())) {}

  void readExtents();
  void readMatrices();
  void readEpilogue();
  void fillDiscreteRhs(Value table);
};
} // namespace

void MatmulOperands::readExtents() {
  const GroupingForm &form = getForm(op.getGrouping());
  Value data = lhs.front().data;
  Value groups = op.getGroups();
  if (form.hasOffsets()) {
    numGroups = read.dim(groups, 0);
    if (hasStarts(op.getGrouping()))
      numGroups = mb.maxS(mb.sub(numGroups, mb.i64Constant(1)), 0);
  } else {
    numGroups = form.stacksRows ? read.dim(data, 0) : mb.i64Constant(1);
    if (form.hasCounts())
      numGroups = mb.minS(numGroups, read.dim(groups, 0));
  }
  if (op.hasDiscreteRhs())
    numGroups = mb.minS(numGroups, static_cast<int64_t>(rhs.size()));
  else if (rhs.front().type.getRank() == 3)
    numGroups = mb.minS(numGroups, read.dim(rhs.front().data, 0));
  // Dynamic extents that disagree must not lead outside any buffer: the
  // smallest one counts.
  Value rows = read.dimFromEnd(data, 2);
  Value columns = read.dimFromEnd(rhs.front().data, 2);
  bool paired = op.getActivationOrIdentity().isPaired();
  auto limit = [&](Value memref, int64_t columnFactor) {
    if (!memref)
      return;
    auto type = cast<MemRefType>(memref.getType());
    if (type.isDynamicDim(type.getRank() - 2))
      rows = mb.minS(rows, read.dimFromEnd(memref, 2));
    if (type.isDynamicDim(type.getRank() - 1))
      columns = mb.minS(columns, mb.mul(read.dimFromEnd(memref, 1),
                                        mb.i64Constant(columnFactor)));
  };
  ScaledType quantized = op.getQuantizedType();
  limit(op.getOut(),
        (paired ? 2 : 1) * (quantized && quantized.isFP4() ? 2 : 1));
  limit(op.getAddend(), 1);
  limit(op.getPreactOut(), 1);
  for (const ProductCopy &copy : op.getCopyList()) {
    auto type = cast<MemRefType>(copy.out.data.getType());
    if (type.isDynamicDim(type.getRank() - 1))
      rows = mb.minS(rows, mb.mul(read.dimFromEnd(copy.out.data, 1),
                                  copy.out.type.isFP4() ? 2 : 1));
    if (type.isDynamicDim(type.getRank() - 2))
      columns = mb.minS(
          columns, mb.mul(read.dimFromEnd(copy.out.data, 2), paired ? 2 : 1));
  }
  for (Value factor : {op.getRowScale(), op.getProb()})
    if (factor && form.cutsRows() &&
        cast<MemRefType>(factor.getType()).isDynamicDim(0))
      rows = mb.minS(rows, read.dim(factor, 0));
  if (!form.cutsRows())
    rowsPerGroup = rows;
  totalRows = rowsPerGroup ? mb.mul(numGroups, rowsPerGroup) : rows;
  product.rowsPerGroup =
      product.frame.add(rowsPerGroup ? rowsPerGroup : mb.i64Constant(0));
  product.totalRows = product.frame.add(totalRows);
  product.columns = product.frame.add(columns);
  product.depth = product.frame.add(read.depthOf(lhs.front()));
  if (groups) {
    product.groups = product.frame.add(read.split(groups).address);
    product.groupsBits =
        cast<MemRefType>(groups.getType()).getElementTypeBitWidth();
  }
}

void MatmulOperands::readMatrices() {
  product.lhs = read.matrix(lhs.front().data);
  product.lhsScales = lhs.front().type
                          ? read.scales(lhs.front().type, lhs.front().scales)
                          : read.noScales(product.lhsType);
  product.fixedRhs = op.hasDiscreteRhs();
  if (!product.fixedRhs) {
    product.rhs = read.matrix(rhs.front().data);
    product.rhsScales = read.scales(rhs.front().type, rhs.front().scales);
  }
  product.out = read.matrix(op.getOut());
  if (op.getAddend())
    product.addend = read.matrix(op.getAddend());
  else if (op.getBeta())
    product.addend = product.out;
  if (op.getPreactOut())
    product.preact = read.matrix(op.getPreactOut());
  if (op.getQuantizer()) {
    ScaledType type = op.getQuantizedType();
    product.outFormat = type.getFormat();
    product.outScales = read.scales(type, op.getOutScales());
  }
}

void MatmulOperands::readEpilogue() {
  if (op.getAlpha())
    product.alpha = read.perGroup(op.getAlpha());
  if (op.getBeta())
    product.beta = read.perGroup(op.getBeta());
  if (op.getBias())
    product.bias = read.perColumn(op.getBias());
  if (op.getRowScale())
    product.rowScale = read.perRow(op.getRowScale());
  if (op.getProb())
    product.prob = read.perRow(op.getProb());
  product.gate = op.getActivationOrIdentity().getGate();
  product.epilogueRegion = &op.getEpilogue().front();
  if (op.getActivationParams())
    product.activationParams = read.perGroup(op.getActivationParams());
  for (Value value : op.getRow())
    product.rowOperands.push_back(read.perRow(value));
  for (Value value : op.getColumn())
    product.columnOperands.push_back(read.perColumn(value));
  for (Value value : op.getGroup())
    product.groupOperands.push_back(read.perGroup(value));
  if (op.getQuantizer())
    product.quantizer = *op.getQuantizer();
  if (op.getGlobalScale())
    product.globalScale = read.perGroup(op.getGlobalScale());
  if (op.getSeed())
    product.seed = product.frame.add(op.getSeed());
  for (const ProductCopy &copy : op.getCopyList()) {
    CopyRef &ref = product.copies.emplace_back();
    ref.attr = copy.attr;
    ref.format = copy.out.type.getFormat();
    ref.out = read.matrix(copy.out.data);
    ref.scales = read.scales(copy.out.type, copy.out.scales);
    if (copy.globalScale)
      ref.globalScale = read.perGroup(copy.globalScale);
    if (copy.seed)
      ref.seed = product.frame.add(copy.seed);
    if (op.getTail() == TailMode::Zero)
      clearCopy(mb.builder, mb.loc, copy);
  }
  if (op.getAmaxOut())
    product.amax = product.frame.add(read.split(op.getAmaxOut()).address);
  product.zeroTail =
      op.getTail() == TailMode::Zero && op.getGrouping().hasGroupsOperand();
  if (op.getTail() == TailMode::Zero && op.getQuantizer()) {
    arithmetic::LoopBuilder loops(mb.builder, mb.loc);
    ScaleLines::get(mb, op.getOutScales(), op.getQuantizedType())
        .fill(loops, 0);
  }
}

void MatmulOperands::fillDiscreteRhs(Value table) {
  // One weight matrix an operand; the slots of the frame are read back by
  // nobody, so the pieces go straight into the table.
  for (auto [group, operand] : llvm::enumerate(rhs)) {
    Value present = mb.cmp(arith::CmpIPredicate::sgt, numGroups,
                           static_cast<int64_t>(group));
    mb.ifThen(present, [&] {
      Value entry =
          mb.ptrAdd(table, 8 * problem::Count * static_cast<int64_t>(group));
      fillWeights(mb, read, operand, entry);
    });
  }
}

std::string cpu::explainUnsupportedMatmul(MatmulOp op) {
  if (op.getLhs().size() != 1 || op.getRhs().empty() ||
      (!op.getOut() && !op.getCopies()))
    return "expected one lhs, weights and a destination";
  if (op.getOuterGate())
    return "expected no outer_gate: addend and preact_outs in the gate layout "
           "of the weights; leave out gsg-assign-scale-layout";
  if (op.getActivationOrIdentity().getKind() == ActivationKind::Custom) {
    if (op.getEpilogue().empty())
      return "expected an epilogue region";
    if (!arithmetic::isVectorizable(op.getEpilogue().front()))
      return "expected an epilogue region of scalar operations that have a "
             "vector form";
  }
  return {};
}

LogicalResult LowerMatmul::matchAndRewrite(MatmulOp op,
                                           PatternRewriter &rewriter) const {
  if (std::string reason = explainUnsupported(op); !reason.empty())
    return rewriter.notifyMatchFailure(op, reason);
  if (!op.hasExpandedEpilogue())
    return rewriter.notifyMatchFailure(op, "has no expanded epilogue");
  if (needsSeparation(op))
    return rewriter.notifyMatchFailure(op, "has parts that tiles leave to "
                                           "other operations");
  MathBuilder mb(rewriter, op.getLoc());
  Product product(op.getLoc());
  product.grouping = op.getGrouping();
  product.lhsType = op.getLhsType();
  product.rhsType = op.getRhsType();
  product.isBatchInvariant = op.getDeterminism() == Determinism::BatchInvariant;
  if (!product.lhsType) {
    product.lhsType =
        product.rhsType.withLayout(ScaleLayout::Linear, GroupStart::Whole);
    auto rows = cast<MemRefType>(op.getLhs()[0].getType()).getElementType();
    product.plainRows = rows.isBF16() ? PlainRows::BF16 : PlainRows::F16;
  }
  MatmulOperands operands(op, mb, product);
  operands.readExtents();
  operands.readMatrices();
  operands.readEpilogue();
  return runProduct(rewriter, op, product, isas, operands.numGroups,
                    [&](MathBuilder &, Value table) {
                      if (product.fixedRhs)
                        operands.fillDiscreteRhs(table);
                    });
}

void cpu::populateMatmulToCpuPatterns(RewritePatternSet &patterns,
                                      ArrayRef<Isa> isas) {
  patterns.add<LowerMatmul>(patterns.getContext(), isas);
}
