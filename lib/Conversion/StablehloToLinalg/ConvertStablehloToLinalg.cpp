//===- ConvertStablehloToLinalg.cpp - The pass ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One pattern for all operations, by a table of their names.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/StablehloToLinalg/StablehloToLinalg.h"

#include "HloOp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Func/Transforms/FuncConversions.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/DialectConversion.h"

namespace nvfp4 {
#define GEN_PASS_DEF_CONVERTSTABLEHLOTOLINALGPASS
#include "nvfp4/Conversion/StablehloToLinalg/Passes.h.inc"
} // namespace nvfp4

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::hlo;

namespace {

static bool isHlo(Operation *op) {
  return llvm::is_contained({"stablehlo", "chlo"},
                            op->getName().getDialectNamespace());
}

/// A composite is what its decomposition computes, but for ragged_dot, which
/// would be a product for each group.
static SmallVector<Value> convertComposite(const HloOp &op, LocBuilder &b) {
  if (isRaggedComposite(op.getOperation()))
    return convertRaggedDot(op, b);
  auto callee =
      op.getOperation()->getAttrOfType<FlatSymbolRefAttr>("decomposition");
  if (!callee)
    return op.fail("expected the decomposition of a composite");
  SmallVector<Type> types =
      llvm::map_to_vector(op.getOperation()->getResultTypes(), getSignless);
  return SmallVector<Value>(
      func::CallOp::create(b, callee, types, op.getOperands()).getResults());
}

struct ConvertHlo : ConversionPattern {
  ConvertHlo(const TypeConverter &types, MLIRContext *context,
             const ConversionTable &table)
      : ConversionPattern(types, MatchAnyOpTypeTag(), 1, context),
        table(table) {}

  LogicalResult
  matchAndRewrite(Operation *op, ArrayRef<Value> operands,
                  ConversionPatternRewriter &rewriter) const override {
    if (!isHlo(op))
      return rewriter.notifyMatchFailure(op, "is no operation of StableHLO");
    ImplicitLocOpBuilder b(op->getLoc(), rewriter);
    SmallVector<Value> results =
        table.lookup(op->getName().getStringRef())(HloOp(op, operands), b);
    if (results.empty())
      return failure();
    rewriter.replaceOp(op, results);
    return success();
  }

  const ConversionTable &table;
};

struct ConvertStablehloToLinalg
    : nvfp4::impl::ConvertStablehloToLinalgPassBase<ConvertStablehloToLinalg> {
  void runOnOperation() override {
    ConversionTable table;
    table["stablehlo.composite"] = convertComposite;
    addElementwise(table);
    addShapes(table);
    addReductions(table);
    addIndices(table);
    if (!isKnown(table))
      return signalPassFailure();

    TypeConverter types;
    types.addConversion(getSignless);
    RewritePatternSet patterns(&getContext());
    patterns.add<ConvertHlo>(types, &getContext(), table);
    populateFunctionOpInterfaceTypeConversionPattern<func::FuncOp>(patterns,
                                                                   types);
    populateCallOpTypeConversionPattern(patterns, types);
    populateReturnOpTypeConversionPattern(patterns, types);
    ConversionTarget target(getContext());
    target.addDynamicallyLegalOp<func::FuncOp>([&](func::FuncOp op) {
      return types.isSignatureLegal(op.getFunctionType());
    });
    target.markUnknownOpDynamicallyLegal([&](Operation *op) {
      return !isHlo(op) &&
             (!isa<func::CallOp, func::ReturnOp>(op) || types.isLegal(op));
    });
    if (failed(
            applyFullConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }

private:
  /// Emits an error at each operation that is not in the table or has other
  /// types than static tensors of numbers, or another form.
  bool isKnown(const ConversionTable &table) {
    bool isKnown = true;
    getOperation()->walk([&](Operation *op) {
      StringRef name = op->getName().getStringRef();
      if (!isHlo(op))
        return;
      if (name == "stablehlo.return" && isHlo(op->getParentOp()))
        return;
      if (!table.contains(name)) {
        op->emitError("expected an operation that convert-stablehlo-to-linalg "
                      "converts, but got ")
            << name;
        isKnown = false;
        return;
      }
      for (Type type : llvm::concat<const Type>(op->getOperandTypes(),
                                                op->getResultTypes())) {
        auto tensor = dyn_cast<RankedTensorType>(type);
        if (tensor && tensor.hasStaticShape() &&
            tensor.getElementType().isIntOrFloat())
          continue;
        op->emitError("expected tensors of static shape with integer or "
                      "floating point elements, but got ")
            << type;
        isKnown = false;
        return;
      }
      if (!hasForm(op)) {
        op->emitError("expected operands, results and attributes as the "
                      "specification of StableHLO has them for ")
            << name;
        isKnown = false;
      }
    });
    return isKnown;
  }
};

} // namespace
