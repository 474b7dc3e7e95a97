//===- ExpandEpilogue.cpp - Clauses of products as a region -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps from accumulator to result in the order that docs/Spec.md fixes
// (section 3, steps 2 to 12). Targets do not know this order; they lower the
// region. Every product and sum is rounded on its own.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/GsgArithmetic/Activation.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"

namespace nvfp4::gsg {
#define GEN_PASS_DEF_EXPANDEPILOGUEPASS
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h.inc"
} // namespace nvfp4::gsg

using namespace mlir;
using namespace nvfp4::gsg;

namespace {
/// Builds the region of one product. Without `matmul` it is one of a list,
/// which has `alpha` and `beta` at most.
class EpilogueBuilder {
public:
  EpilogueBuilder(Location loc, MLIRContext *context, bool hasAlpha,
                  bool hasBeta, MatmulOp matmul)
      : b(context), loc(loc), hasAlpha(hasAlpha), hasBeta(hasBeta),
        matmul(matmul) {}

  /// Replaces what `region` holds, the activation of a program or nothing.
  void replace(Region &region) {
    Region expanded;
    Block &block = expanded.emplaceBlock();
    b.setInsertionPointToStart(&block);
    Value z = buildPreActivation(block.addArgument(b.getF32Type(), loc));
    Value y = z;
    if (matmul) {
      y = buildActivation(z, region);
      y = applyProb(ProbPosition::PostActivation, y);
      if (matmul.getAmaxOut())
        FoldAmaxOp::create(b, loc, y);
    }
    StoreResultOp::create(b, loc, y);
    region.takeBody(expanded);
  }

private:
  Value load(EpilogueClause clause, std::optional<int64_t> number = {}) {
    return LoadClauseOp::create(b, loc, b.getF32Type(), clause,
                                number ? b.getI64IntegerAttr(*number)
                                       : IntegerAttr());
  }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }

  /// x times prob, if the product has it at `position`.
  Value applyProb(ProbPosition position, Value x) {
    bool isHere =
        matmul && matmul.getProb() && matmul.getProbPosition() == position;
    return isHere ? mul(x, load(EpilogueClause::Prob)) : x;
  }

  /// Steps 2 to 7.
  Value buildPreActivation(Value acc) {
    Value z = acc;
    if (hasAlpha)
      z = mul(load(EpilogueClause::Alpha), z);
    if (matmul && matmul.getRowScale())
      z = mul(z, load(EpilogueClause::RowScale));
    z = applyProb(ProbPosition::Gemm, z);
    if (matmul ? matmul.readsAddend() : hasBeta) {
      Value addend = load(EpilogueClause::Addend);
      if (hasBeta)
        addend = mul(load(EpilogueClause::Beta), addend);
      z = add(z, addend);
    }
    if (matmul && matmul.getBias()) {
      Value bias = load(EpilogueClause::Bias);
      z = add(z, applyProb(ProbPosition::Bias, bias));
    }
    z = applyProb(ProbPosition::PreActivation, z);
    if (matmul && matmul.getPreactOut())
      StorePreactOp::create(b, loc, z);
    return z;
  }

  /// Steps 8 and 9. `program` is the region of a custom activation.
  Value buildActivation(Value z, Region &program) {
    ActivationAttr activation = matmul.getActivationOrIdentity();
    SmallVector<Value> in = {z};
    if (activation.isPaired()) {
      auto pair = PairColumnsOp::create(b, loc, z);
      in = {pair.getGate(), pair.getUp()};
    }
    arithmetic::ActivationParams params;
    if (matmul.getActivationParams())
      params = {load(EpilogueClause::ActivationParams, 0),
                load(EpilogueClause::ActivationParams, 1),
                load(EpilogueClause::ActivationParams, 2)};
    else if (ActivationAttr::hasParameters(activation.getKind()))
      params = arithmetic::emitActivationParams(b, loc, activation);
    bool roundsZ = activation.getRoundBf16();
    if (roundsZ)
      for (Value &value : in)
        value = RoundBf16Op::create(b, loc, value);
    if (activation.getKind() == ActivationKind::Custom)
      return inlineProgram(program.front(), in);
    activation = ActivationAttr::get(
        b.getContext(), activation.getKind(), activation.getGate(),
        activation.getAlpha(), activation.getBeta(), activation.getLimit(),
        /*roundBf16=*/false);
    bool isFast = matmul.getMath() == MathMode::Fast && !roundsZ;
    return arithmetic::emitActivation(
        b, loc, activation, params, in, [&](Value x) -> Value {
          return SigmoidOp::create(b, loc, x.getType(), x,
                                   isFast && x.getType().isF32());
        });
  }

  /// y of the region of a program for `in`, {z} or {gate, up}.
  Value inlineProgram(Block &program, ValueRange in) {
    IRMapping mapping;
    mapping.map(program.getArguments().take_front(in.size()), in);
    auto rest = program.getArguments().drop_front(in.size()).begin();
    auto loadAll = [&](EpilogueClause clause, size_t count) {
      for (size_t i = 0; i < count; ++i, ++rest)
        if (!rest->use_empty())
          mapping.map(*rest, load(clause, i));
    };
    loadAll(EpilogueClause::Row, matmul.getRow().size());
    loadAll(EpilogueClause::Column, matmul.getColumn().size());
    loadAll(EpilogueClause::Group, matmul.getGroup().size());
    for (Operation &op : program.without_terminator())
      b.clone(op, mapping);
    return mapping.lookup(program.getTerminator()->getOperand(0));
  }

  OpBuilder b;
  Location loc;
  bool hasAlpha, hasBeta;
  MatmulOp matmul;
};

struct ExpandEpilogue
    : nvfp4::gsg::impl::ExpandEpiloguePassBase<ExpandEpilogue> {
  void runOnOperation() override {
    getOperation()->walk([&](Operation *op) {
      if (auto matmul = dyn_cast<MatmulOp>(op))
        expandEpilogue(matmul);
      else if (auto list = dyn_cast<MatmulListOp>(op))
        expandEpilogue(list);
    });
  }
};
} // namespace

void nvfp4::gsg::expandEpilogue(MatmulOp op) {
  if (op.hasExpandedEpilogue() || op.getGradientOf())
    return;
  EpilogueBuilder(op.getLoc(), op.getContext(), bool(op.getAlpha()),
                  bool(op.getBeta()), op)
      .replace(op.getEpilogue());
  // The region says it all but which columns are pairs.
  auto custom = ActivationAttr::get(op.getContext(), ActivationKind::Custom);
  op.setActivationAttr(ActivationAttr::get(
      op.getContext(), custom.getKind(), op.getActivationOrIdentity().getGate(),
      custom.getAlpha(), custom.getBeta(), custom.getLimit(),
      custom.getRoundBf16()));
  op.setProbPosition(ProbPosition::PostActivation);
}

void nvfp4::gsg::expandEpilogue(MatmulListOp op) {
  if (op.hasExpandedEpilogue())
    return;
  EpilogueBuilder(op.getLoc(), op.getContext(), bool(op.getAlpha()),
                  bool(op.getBeta()), /*matmul=*/nullptr)
      .replace(op.getEpilogue());
}

LogicalResult nvfp4::gsg::verifyExpanded(Operation *op) {
  auto matmul = dyn_cast<MatmulOp>(op);
  auto list = dyn_cast<MatmulListOp>(op);
  if (matmul && matmul.getGradientOf())
    return op->emitOpError("expected a product without gradient_of; run "
                           "gsg-decompose-gradient first");
  if ((matmul && !matmul.hasExpandedEpilogue()) ||
      (list && !list.hasExpandedEpilogue()))
    return op->emitOpError("expected an expanded epilogue; run "
                           "gsg-expand-epilogue first");
  return success();
}
