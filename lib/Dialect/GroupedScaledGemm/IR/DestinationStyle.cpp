//===- DestinationStyle.cpp - Destination style and effects -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which operands an op writes, as DestinationStyleOpInterface and as memory
// effects. The interface is an external model because the verifier of the
// upstream trait counts tensor results against tensor destinations, while a
// result of type `scaled` has no destination in value form.
//
//===----------------------------------------------------------------------===//

#include "DestinationStyle.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

using namespace mlir;
using namespace nvfp4::gsg;

namespace {
template <typename OpTy>
struct DestinationStyleModel
    : DestinationStyleOpInterface::ExternalModel<DestinationStyleModel<OpTy>,
                                                 OpTy> {
  MutableOperandRange getDpsInitsMutable(Operation *op) const {
    return cast<OpTy>(op).getDpsInitsMutable();
  }
};

template <typename... OpTys> void attachTo(MLIRContext *context) {
  (OpTys::template attachInterface<DestinationStyleModel<OpTys>>(*context),
   ...);
}

/// The last `count` operands.
MutableOperandRange getLastOperands(Operation *op, unsigned count) {
  return MutableOperandRange(op, op->getNumOperands() - count, count);
}

/// On memrefs, inputs are read and destinations are read and written (rows
/// outside every group keep their content).
void addMemRefEffects(
    Operation *op, MutableOperandRange inits,
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  unsigned firstInit = op->getNumOperands() - inits.size();
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    effects.emplace_back(MemoryEffects::Read::get(), &operand);
    if (operand.getOperandNumber() >= firstInit)
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
  }
}

/// Ops on tensors may be hoisted and dropped; ops on memrefs may not.
Speculation::Speculatability speculateOnTensors(Operation *op) {
  for (Type type : op->getOperandTypes())
    if (isa<MemRefType>(type))
      return Speculation::NotSpeculatable;
  return Speculation::Speculatable;
}
} // namespace

void nvfp4::gsg::attachDestinationStyle(MLIRContext *context) {
  attachTo<MatmulOp, MatmulListOp, QuantizeOp, DequantizeOp, HadamardOp, GluOp,
           GluBackwardOp, SumRowsOp, AmaxOp, RouteOp, SortTokensOp, PermuteOp,
           CombineOp, RelayoutScalesOp, RelayoutGateOp, RelayoutWeightsOp>(
      context);
}

MutableOperandRange MatmulOp::getDpsInitsMutable() {
  return getLastOperands(*this, !!getPreactOut() + !!getOut() +
                                    !!getOutScales() + !!getAmaxOut() +
                                    !!getProbOut() + getCopyOuts().size() +
                                    getCopyOutScales().size());
}
MutableOperandRange MatmulListOp::getDpsInitsMutable() {
  return getOutsMutable();
}
MutableOperandRange QuantizeOp::getDpsInitsMutable() {
  return getLastOperands(*this, !!getOut() + !!getOutScales());
}
MutableOperandRange RelayoutGateOp::getDpsInitsMutable() {
  return getLastOperands(*this, !!getOut() + !!getOutScales());
}
MutableOperandRange RelayoutWeightsOp::getDpsInitsMutable() {
  return getLastOperands(*this, !!getOut() + !!getOutScales());
}
MutableOperandRange RelayoutScalesOp::getDpsInitsMutable() {
  return getLastOperands(*this, !!getOutScales());
}
MutableOperandRange DequantizeOp::getDpsInitsMutable() {
  return getLastOperands(*this, 1);
}
MutableOperandRange HadamardOp::getDpsInitsMutable() {
  return getLastOperands(*this, 1);
}
MutableOperandRange GluOp::getDpsInitsMutable() {
  return getLastOperands(*this, 1);
}
MutableOperandRange GluBackwardOp::getDpsInitsMutable() {
  return getLastOperands(*this, 1 + !!getProbOut());
}
MutableOperandRange SumRowsOp::getDpsInitsMutable() {
  return getLastOperands(*this, 1);
}
MutableOperandRange AmaxOp::getDpsInitsMutable() {
  return getLastOperands(*this, 1);
}
MutableOperandRange RouteOp::getDpsInitsMutable() {
  return getLastOperands(*this, 2);
}
MutableOperandRange SortTokensOp::getDpsInitsMutable() {
  return getLastOperands(*this, 3);
}
MutableOperandRange PermuteOp::getDpsInitsMutable() {
  return getLastOperands(*this, 1);
}
MutableOperandRange CombineOp::getDpsInitsMutable() {
  return getLastOperands(*this, 1);
}

#define NVFP4_DESTINATION_EFFECTS(OpTy)                                        \
  void OpTy::getEffects(                                                       \
      SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>      \
          &effects) {                                                          \
    addMemRefEffects(*this, getDpsInitsMutable(), effects);                    \
  }                                                                            \
  Speculation::Speculatability OpTy::getSpeculatability() {                    \
    return speculateOnTensors(*this);                                          \
  }
NVFP4_DESTINATION_EFFECTS(MatmulOp)
NVFP4_DESTINATION_EFFECTS(MatmulListOp)
NVFP4_DESTINATION_EFFECTS(QuantizeOp)
NVFP4_DESTINATION_EFFECTS(DequantizeOp)
NVFP4_DESTINATION_EFFECTS(HadamardOp)
NVFP4_DESTINATION_EFFECTS(GluOp)
NVFP4_DESTINATION_EFFECTS(GluBackwardOp)
NVFP4_DESTINATION_EFFECTS(SumRowsOp)
NVFP4_DESTINATION_EFFECTS(AmaxOp)
NVFP4_DESTINATION_EFFECTS(RouteOp)
NVFP4_DESTINATION_EFFECTS(SortTokensOp)
NVFP4_DESTINATION_EFFECTS(PermuteOp)
NVFP4_DESTINATION_EFFECTS(CombineOp)
NVFP4_DESTINATION_EFFECTS(RelayoutScalesOp)
NVFP4_DESTINATION_EFFECTS(RelayoutGateOp)
NVFP4_DESTINATION_EFFECTS(RelayoutWeightsOp)
#undef NVFP4_DESTINATION_EFFECTS
