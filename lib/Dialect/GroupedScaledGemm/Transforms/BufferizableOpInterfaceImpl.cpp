//===- BufferizableOpInterfaceImpl.cpp - Bufferization ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In storage form every op of the dialect bufferizes as a destination-style
// op: the same op on memrefs.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace nvfp4::gsg;

namespace {
template <typename OpTy>
struct DestinationBufferization
    : DstBufferizableOpInterfaceExternalModel<DestinationBufferization<OpTy>,
                                              OpTy> {
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto isScaled = [](Type type) { return isa<ScaledType>(type); };
    if (llvm::any_of(op->getOperandTypes(), isScaled) ||
        llvm::any_of(op->getResultTypes(), isScaled))
      return op->emitOpError(
          "expected storage form for bufferization; run gsg-decompose-scaled "
          "first");
    auto destination = cast<DestinationStyleOpInterface>(op);
    if (destination.hasPureBufferSemantics())
      return success();

    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(op);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      if (!isa<TensorType>(operand.getType())) {
        operands.push_back(operand);
        continue;
      }
      FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
      if (failed(buffer))
        return failure();
      operands.push_back(*buffer);
    }
    OperationState onBuffersState(op->getLoc(), op->getName(), operands,
                                  TypeRange(), op->getAttrs());
    for (unsigned i = 0; i < op->getNumRegions(); ++i)
      onBuffersState.addRegion();
    Operation *onBuffers = rewriter.create(onBuffersState);
    // Upstream's clone() does not accept an empty region.
    for (auto [from, to] :
         llvm::zip_equal(op->getRegions(), onBuffers->getRegions()))
      if (!from.empty())
        rewriter.cloneRegionBefore(from, to, to.begin());
    unsigned numInits = destination.getNumDpsInits();
    replaceOpWithBufferizedValues(rewriter, op,
                                  ValueRange(operands).take_back(numInits));
    return success();
  }
};

template <typename... OpTys> void attachTo(MLIRContext *context) {
  (OpTys::template attachInterface<DestinationBufferization<OpTys>>(*context),
   ...);
}
} // namespace

void nvfp4::gsg::registerBufferizableOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, GroupedScaledGemmDialect *) {
    attachTo<MatmulOp, MatmulListOp, QuantizeOp, DequantizeOp, HadamardOp,
             GluOp, GluBackwardOp, SumRowsOp, AmaxOp, RouteOp, SortTokensOp,
             PermuteOp, CombineOp, RelayoutScalesOp, RelayoutGateOp,
             RelayoutWeightsOp>(context);
  });
}
