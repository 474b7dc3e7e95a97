//===- MatmulOps.cpp - The products: queries --------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What passes ask of `matmul` and `matmul_list`. Types of operands are the
// logical ones, whatever the form.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"

using namespace mlir;
using namespace nvfp4::gsg;

/// The scaled type of operand `index` of a group of operands.
static ScaledType getTypeOf(OperandRange values, OperandRange scales,
                            ArrayAttr types, int64_t index) {
  auto operands = getScaledOperands(values, scales, types);
  return index < static_cast<int64_t>(operands.size()) ? operands[index].type
                                                       : ScaledType();
}

ScaledType MatmulOp::getLhsType() {
  return getTypeOf(getLhs(), getLhsScales(), getLhsTypesAttr(), 0);
}

ScaledType MatmulOp::getRhsType(int64_t index) {
  return getTypeOf(getRhs(), getRhsScales(), getRhsTypesAttr(), index);
}

bool MatmulOp::hasDiscreteRhs() {
  if (!getForm(getGrouping()).hasOwnWeights)
    return false;
  ScaledType type = getRhsType();
  return getRhs().size() != 1 || (type && type.getRank() == 2);
}

ActivationAttr MatmulOp::getActivationOrIdentity() {
  return getActivation()
             ? *getActivation()
             : ActivationAttr::get(getContext(), ActivationKind::Identity);
}

ScaledType MatmulOp::getQuantizedType() {
  if (ArrayAttr types = getOutTypesAttr(); types && !types.empty())
    if (auto attr = dyn_cast<TypeAttr>(types[0]))
      return dyn_cast<ScaledType>(attr.getValue());
  auto scaled =
      llvm::make_filter_range(getResultTypes(), llvm::IsaPred<ScaledType>);
  // In value form those of copies come last.
  size_t numCopies = getCopies() ? getCopies()->size() : 0;
  return llvm::range_size(scaled) > numCopies
             ? cast<ScaledType>(*scaled.begin())
             : ScaledType();
}

SmallVector<ProductCopy> MatmulOp::getCopyList() {
  SmallVector<ProductCopy> list;
  if (!getCopies())
    return list;
  auto scales = getCopyGlobalScales();
  auto seeds = getCopySeeds();
  auto outs =
      getScaledOperands(getCopyOuts(), getCopyOutScales(), getCopyTypesAttr());
  size_t nextScale = 0, nextSeed = 0, numCopies = getCopies()->size();
  for (auto [i, attr] : llvm::enumerate(getCopies()->getAsRange<CopyAttr>())) {
    ProductCopy &copy = list.emplace_back();
    copy.attr = attr;
    if (attr.getHasGlobalScale() && nextScale < scales.size())
      copy.globalScale = scales[nextScale++];
    if (attr.getQuantizer().getRounding() == Rounding::Stochastic &&
        nextSeed < seeds.size())
      copy.seed = seeds[nextSeed++];
    if (i < outs.size())
      copy.out = outs[i];
    else if (outs.empty() && numCopies <= getNumResults())
      copy.out.type = dyn_cast<ScaledType>(
          getResult(getNumResults() - numCopies + i).getType());
  }
  return list;
}

int64_t MatmulOp::getNumGroups() {
  const GroupingForm &form = getForm(getGrouping());
  if (form.hasOwnWeights) {
    if (hasDiscreteRhs())
      return getRhs().size();
    ScaledType type = getRhsType();
    return type ? type.getDimSize(0) : ShapedType::kDynamic;
  }
  if (!form.hasOffsets())
    return 1;
  if (!getGroups())
    return ShapedType::kDynamic;
  int64_t size = cast<ShapedType>(getGroups().getType()).getDimSize(0);
  if (!ShapedType::isDynamic(size) && hasStarts(getGrouping()))
    --size;
  return size;
}

int64_t MatmulOp::getN() {
  ScaledType rhs = getRhsType();
  if (!rhs || rhs.getRank() < 2)
    return ShapedType::kDynamic;
  return rhs.getDimSize(rhs.getRank() - 2);
}

int64_t MatmulOp::getNumOutputColumns() {
  int64_t n = getN();
  if (ShapedType::isDynamic(n))
    return n;
  if (getGradientOf() && getGradientOf()->isPaired())
    return 2 * n;
  return getActivationOrIdentity().isPaired() ? n / 2 : n;
}

int64_t MatmulOp::getK() {
  if (ScaledType lhs = getLhsType())
    return lhs.getDimSize(lhs.getRank() - 1);
  auto lhs = dyn_cast<ShapedType>(getLhs()[0].getType());
  return lhs ? lhs.getShape().back() : ShapedType::kDynamic;
}

ScaledType MatmulListOp::getLhsType(int64_t index) {
  return getTypeOf(getLhs(), getLhsScales(), getLhsTypesAttr(), index);
}

ScaledType MatmulListOp::getRhsType(int64_t index) {
  return getTypeOf(getRhs(), getRhsScales(), getRhsTypesAttr(), index);
}
