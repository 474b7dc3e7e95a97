//===- FlopCount.cpp - The work that products do ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks the products of a function and reads the sizes of their groups from the
// arguments that the function was called with.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Tools/FlopCount.h"

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::tools;

namespace {
class Counter {
public:
  Counter(func::FuncOp function, const std::vector<tensorio::Tensor> &arguments)
      : function(function), arguments(arguments) {}

  std::optional<double> count();

private:
  /// The tensor that was passed for `value`, the values of a scaled one, or
  /// null.
  const tensorio::Tensor *argumentOf(Value value) const;
  /// Extent `dim` of an operand that may be block-scaled, or -1.
  int64_t extentOf(const gsg::ScaledOperand &operand, int64_t dim) const;
  /// The sum of the group sizes that the offsets or counts say, or -1.
  int64_t sumOfGroups(gsg::MatmulOp op) const;
  double countMatmul(gsg::MatmulOp op) const;
  double countMatmulList(gsg::MatmulListOp op) const;

  mutable func::FuncOp function;
  const std::vector<tensorio::Tensor> &arguments;
};
} // namespace

const tensorio::Tensor *Counter::argumentOf(Value value) const {
  auto wanted = dyn_cast_or_null<BlockArgument>(value);
  if (!wanted || wanted.getOwner() != &function.getBody().front())
    return nullptr;
  size_t index = 0;
  for (BlockArgument argument : function.getArguments()) {
    if (argument == wanted)
      return index < arguments.size() ? &arguments[index] : nullptr;
    index += isa<gsg::ScaledType>(argument.getType()) ? 2 : 1;
  }
  return nullptr;
}

int64_t Counter::extentOf(const gsg::ScaledOperand &operand,
                          int64_t dim) const {
  auto shaped = dyn_cast<ShapedType>(operand.data.getType());
  if (!operand.type && !shaped)
    return -1;
  int64_t extent =
      operand.type ? operand.type.getDimSize(dim) : shaped.getDimSize(dim);
  if (!ShapedType::isDynamic(extent))
    return extent;
  const tensorio::Tensor *tensor = argumentOf(operand.data);
  bool isPacked =
      operand.type && operand.type.isFP4() && dim == operand.type.getAxis();
  if (!tensor || isPacked || dim >= static_cast<int64_t>(tensor->rank()))
    return -1;
  return tensor->shape()[dim];
}

int64_t Counter::sumOfGroups(gsg::MatmulOp op) const {
  const tensorio::Tensor *tensor = argumentOf(op.getGroups());
  if (!tensor || tensor->numElements() == 0)
    return -1;
  gsg::GroupingAttr grouping = op.getGrouping();
  int64_t count = tensor->numElements();
  auto entry = [&](int64_t i) { return static_cast<int64_t>(tensor->at(i)); };
  int64_t sum = 0;
  if (gsg::getForm(grouping).hasCounts()) {
    for (int64_t i = 0; i < count; ++i)
      sum += entry(i);
    return sum;
  }
  if (grouping.getOffsets() == gsg::OffsetsKind::Starts)
    return entry(count - 1) - entry(0);
  int64_t start = 0;
  for (int64_t i = 0; i < count; ++i) {
    sum += std::max<int64_t>(entry(i) - start, 0);
    start = llvm::alignTo(std::max<int64_t>(entry(i), 0), grouping.getAlign());
  }
  return sum;
}

double Counter::countMatmul(gsg::MatmulOp op) const {
  auto lhs = gsg::getScaledOperands(op.getLhs(), op.getLhsScales(),
                                    op.getLhsTypesAttr());
  auto rhs = gsg::getScaledOperands(op.getRhs(), op.getRhsScales(),
                                    op.getRhsTypesAttr());
  if (lhs.empty() || rhs.empty())
    return -1;
  int64_t rhsRank = rhs[0].type.getRank();
  auto plain = dyn_cast<ShapedType>(lhs[0].data.getType());
  int64_t lhsRank = lhs[0].type ? lhs[0].type.getRank() : plain.getRank();
  double n = extentOf(rhs[0], rhsRank - 2);
  double k = extentOf(rhs[0], rhsRank - 1);
  double m = extentOf(lhs[0], lhsRank - 2);
  double factor = 1;
  const gsg::GroupingForm &form = gsg::getForm(op.getGrouping());
  if (form.cutsK())
    k = sumOfGroups(op);
  else if (!form.coversRows())
    m = sumOfGroups(op);
  else if (form.stacksRows)
    factor = extentOf(lhs[0], 0);
  return m < 0 || n < 0 || k < 0 || factor < 0 ? -1 : 2 * factor * m * n * k;
}

double Counter::countMatmulList(gsg::MatmulListOp op) const {
  auto lhs = gsg::getScaledOperands(op.getLhs(), op.getLhsScales(),
                                    op.getLhsTypesAttr());
  auto rhs = gsg::getScaledOperands(op.getRhs(), op.getRhsScales(),
                                    op.getRhsTypesAttr());
  double sum = 0;
  for (auto [a, b] : llvm::zip(lhs, rhs)) {
    double m = extentOf(a, 0), n = extentOf(b, 0), k = extentOf(b, 1);
    if (m < 0 || n < 0 || k < 0)
      return -1;
    sum += 2 * m * n * k;
  }
  return sum;
}

std::optional<double> Counter::count() {
  double sum = 0;
  bool known = true, found = false;
  function.walk([&](Operation *op) {
    double flops = 0;
    if (isa<CallOpInterface>(op))
      flops = -1;
    else if (auto matmul = dyn_cast<gsg::MatmulOp>(op))
      flops = countMatmul(matmul);
    else if (auto list = dyn_cast<gsg::MatmulListOp>(op))
      flops = countMatmulList(list);
    else
      return;
    found = true;
    known &= flops >= 0 && op->getParentOp() == function;
    sum += flops;
  });
  if (!found || !known)
    return std::nullopt;
  return sum;
}

std::optional<double>
tools::countFlops(ModuleOp module, const Signature &signature,
                  const std::vector<tensorio::Tensor> &arguments) {
  auto function = module.lookupSymbol<func::FuncOp>(signature.name);
  if (!function || function.isExternal())
    return std::nullopt;
  return Counter(function, arguments).count();
}
